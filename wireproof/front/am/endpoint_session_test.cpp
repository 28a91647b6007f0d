// Which senders an endpoint on UDP accepts as its peer: it drops frames of strangers and of nodes
// of another job, and it takes a restarted peer for a new one.
#include <gtest/gtest.h>

#include "wireproof/am.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/am/node_test_kit.hpp"
#include "wireproof/proto/am/session/handshake.hpp"

namespace wireproof::am {
namespace {

using namespace test;

TEST(AmEndpoint, CountsForeignFramesAndDeliversNone) {  // AM-49
    const RawSocket peer;
    const RawSocket stranger;
    const std::string own = free_addresses(1)[0];
    const auto port = static_cast<std::uint16_t>(std::stoi(own.substr(own.find(':') + 1)));
    Options options;
    options.peers = {own, peer.address()};
    options.job = 5;
    Endpoint a = open(options, 0, 1);
    for (std::uint16_t id = 1; id < 20; ++id) {
        a.handle(id, [](const Message&) { ADD_FAILURE() << "a stranger's message"; });
    }
    a.on_peer_lost([](const PeerLost&) { ADD_FAILURE() << "there was none to lose"; });

    Config config = Config::ethernet();
    config.node = 1;
    config.peer = 0;
    const auto sealed = [](const Header& header, ConstBytes data) {
        std::vector<std::byte> packet(48 + data.size());
        const Bytes head = Bytes(packet).first(48);
        encode(header, Layout::ethernet, head);
        std::copy(data.begin(), data.end(), packet.begin() + 48);
        store_checksum(Layout::ethernet, head, checksum(Layout::ethernet, head, data));
        return packet;
    };
    const auto hello = [&](std::uint64_t job, std::uint64_t terms) {
        std::array<std::byte, HelloBody::size> body{};
        HelloBody{job, 99, 0, terms}.encode(body);
        return sealed({.dst = 0, .src = 1, .kind = Kind::hello, .count = 1}, body);
    };
    Header request{.dst = 0, .src = 1, .kind = Kind::request, .count = 1, .cookie = 1234};
    request.number = config.first_number[0];
    request.id = 1;
    const auto word = test::words({7});
    auto to_other = request;
    to_other.dst = 3;
    auto damaged = sealed(request, word);
    damaged[50] ^= std::byte{1};

    const std::vector<std::pair<RxVerdict, std::vector<std::byte>>> frames = {
        {RxVerdict::malformed, {}},
        {RxVerdict::malformed, pattern(47)},
        {RxVerdict::malformed, pattern(1473)},
        {RxVerdict::corrupt, pattern(48)},
        {RxVerdict::corrupt, pattern(1472)},
        {RxVerdict::corrupt, damaged},
        {RxVerdict::foreign, sealed(request, word)},
        {RxVerdict::foreign, sealed(to_other, word)},
        {RxVerdict::foreign, hello(6, config.terms())},
        {RxVerdict::foreign, hello(5, config.terms() + 1)},
    };
    std::array<std::uint64_t, 10> expected{};
    for (const auto& [verdict, bytes] : frames) {
        peer.send(port, bytes);
        stranger.send(port, bytes);
        if (bytes.size() > 1472) continue;  // longer than the wire accepts
        ++expected[static_cast<std::size_t>(verdict)];
    }
    EXPECT_TRUE(run({&a}, [&] { return a.counters(1).received == expected; }))
        << testing::PrintToString(a.counters(1).received);
    EXPECT_EQ(a.counters(1).mismatched, 1U);
    EXPECT_EQ(a.counters(1).sent, 0U) << "and nobody was answered";
    EXPECT_EQ(a.counters(1).sessions, 0U);
}

TEST(AmEndpoint, NodesOfDifferentJobsOrMtusNeverMeet) {
    Options options = options_for(2);
    options.peer_timeout = milliseconds(200);
    for (const bool other_job : {true, false}) {
        Options other = options;
        (other_job ? other.job : other.mtu) += 1000;
        Endpoint a = open(options, 0);
        Endpoint b = open(other, 1);
        b.handle(ask, [](const Message&) { ADD_FAILURE(); });
        bool lost = false;
        a.on_peer_lost([&](const PeerLost& report) {
            lost = true;
            EXPECT_EQ(report.undelivered.size(), 1U);
        });
        ASSERT_EQ(a.request(1, ask), Status::ok);
        EXPECT_TRUE(run({&a, &b}, [&] { return lost; }));
        EXPECT_GT(received(b, RxVerdict::foreign, 0), 0U);
        EXPECT_EQ(b.counters(0).mismatched, other_job ? 0 : received(b, RxVerdict::foreign, 0));
        EXPECT_EQ(b.counters(0).sent, 0U);
    }
}

TEST(AmEndpoint, ARestartedPeerIsReportedAndTrafficGoesOn) {  // AM-49
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    a.handle(ask, echo());
    std::uint32_t answers = 0;
    a.handle(answer, [&](const Message&) { ++answers; });
    std::vector<PeerLost::Why> lost;
    a.on_peer_lost([&](const PeerLost& report) { lost.push_back(report.why); });
    {
        Endpoint b = open(options, 1, 10);
        b.handle(ask, echo());
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        ASSERT_TRUE(run({&a, &b}, [&] { return answers == 1 && a.idle() && b.idle(); }));
    }
    Endpoint b = open(options, 1, 11);
    b.handle(ask, echo());
    b.on_peer_lost([](const PeerLost&) { ADD_FAILURE() << "the new life lost nobody"; });
    std::uint32_t answers_of_b = 0;
    b.handle(answer, [&](const Message&) { ++answers_of_b; });
    ASSERT_EQ(b.request(0, ask, {2}), Status::ok);
    ASSERT_TRUE(run({&a, &b}, [&] { return answers_of_b == 1; }));
    EXPECT_EQ(lost, std::vector<PeerLost::Why>{PeerLost::Why::restarted});
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(a.request(1, ask, {i}), Status::ok);
    ASSERT_TRUE(settle(a, b));
    EXPECT_EQ(answers, 101U);
    EXPECT_EQ(lost.size(), 1U);
    EXPECT_EQ(a.counters(1).sessions, 2U);
}

}  // namespace
}  // namespace wireproof::am
