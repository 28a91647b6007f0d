#include "wireproof/app/perf/perf_datagrams.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <optional>

namespace wireproof::app {
namespace {

using Came = BareDatagrams::Came;

/// Two loopback sockets; one is connected to the other.
struct Sockets {
    UdpSocket answering;
    UdpSocket asking;

    static std::optional<Sockets> open() {
        UdpSocket::Config config;
        config.receive_buffer = config.send_buffer = 1 << 18;
        config.local = *Address::parse("127.0.0.1:0");
        auto answering = UdpSocket::open(config);
        auto asking = UdpSocket::open(config);
        if (!answering || !asking || !asking->connect(answering->local_address())) {
            return std::nullopt;
        }
        return Sockets{std::move(*answering), std::move(*asking)};
    }
};

/// Waits until something arrives. The limit only ends a test that hangs.
Came await(BareDatagrams& datagrams, const UdpSocket& socket) {
    pollfd readable{socket.handle(), POLLIN, 0};
    if (::poll(&readable, 1, 120'000) != 1) return Came::nothing;
    return datagrams.receive(socket.handle());
}

Came await_whole(BareDatagrams& datagrams, const UdpSocket& socket) {
    Came came = Came::part;
    while (came == Came::part) came = await(datagrams, socket);
    return came;
}

TEST(BareDatagrams, SendsAMessageInSeveralAndAnswersItWithAnother) {
    auto sockets = Sockets::open();
    ASSERT_TRUE(sockets);
    for (const auto& [there, back] : {std::pair(1, 1), std::pair(1000, 16), std::pair(16, 1001)}) {
        const auto one = static_cast<std::size_t>(there);
        const auto other = static_cast<std::size_t>(back);
        BareDatagrams asks(one, other, 100);
        BareDatagrams answers(other, one, 100);
        for (int i = 0; i < 3; ++i) {
            asks.send(sockets->asking.handle(), true);
            ASSERT_EQ(await_whole(answers, sockets->answering), Came::whole);
            answers.send(sockets->answering.handle(), false);
            ASSERT_EQ(await_whole(asks, sockets->asking), Came::whole);
        }
    }
}

TEST(BareDatagrams, DoesNotCountWhatIsLeftOfAMessageThatWasLostInPart) {
    auto sockets = Sockets::open();
    ASSERT_TRUE(sockets);
    BareDatagrams part(200, 1, 100);  // the message below without its end
    BareDatagrams whole(300, 1, 100);
    BareDatagrams answers(1, 300, 100);
    part.send(sockets->asking.handle(), true);
    EXPECT_EQ(await(answers, sockets->answering), Came::part);
    part.send(sockets->asking.handle(), true);
    EXPECT_EQ(await(answers, sockets->answering), Came::part);
    whole.send(sockets->asking.handle(), true);
    EXPECT_EQ(await_whole(answers, sockets->answering), Came::whole);
}

TEST(BareDatagrams, EndWithAnEmptyOne) {
    auto sockets = Sockets::open();
    ASSERT_TRUE(sockets);
    BareDatagrams answers(1, 1, 100);
    ASSERT_EQ(::send(sockets->asking.handle(), nullptr, 0, 0), 0);
    EXPECT_EQ(await(answers, sockets->answering), Came::end);
}

}  // namespace
}  // namespace wireproof::app
