#include "wireproof/host/rendezvous/rendezvous.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "wireproof/host/rendezvous/rendezvous_server.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/wait.hpp"

namespace wireproof::host {
namespace {

/// It only ends a test that hangs.
constexpr std::chrono::milliseconds patience(120'000);

/// A service in a thread of its own.
class Service {
public:
    explicit Service(std::uint32_t size)
        : size_(size),
          server_(
              RendezvousServer::open({size, "secret"}, RendezvousServer::Reach::this_host).value()),
          loop_([this] { run(); }) {}
    ~Service() {
        stop_ = true;
        loop_.join();
    }

    RendezvousPlace place(std::uint32_t rank) const {
        return {"127.0.0.1:" + std::to_string(server_.port()), "secret", rank, size_};
    }
    void end_rank(std::uint32_t rank) { ended_ = static_cast<int>(rank); }

private:
    void run() {
        const SteadyClock clock;
        while (!stop_) {
            const Instant look = clock.now() + Duration::milliseconds(5);
            wait_until(server_.handle(), clock, earliest(look, server_.next_deadline()));
            server_.turn(clock.now());
            const int ended = ended_.exchange(-1);
            if (ended >= 0) server_.on_rank_ended(static_cast<std::uint32_t>(ended), clock.now());
        }
    }

    std::uint32_t size_;
    RendezvousServer server_;
    std::atomic<bool> stop_ = false;
    std::atomic<int> ended_ = -1;
    std::thread loop_;
};

/// The first exchange of a rank.
Expected<std::vector<std::string>> rendezvous(const RendezvousPlace& place, std::string_view entry,
                                              std::chrono::milliseconds limit) {
    auto connection = Rendezvous::connect(place, limit);
    if (!connection) return tl::unexpected(connection.error());
    return connection->exchange(entry, limit);
}

Descriptor connected_to(std::uint16_t port) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int small = 4096;  // so that an answer does not fit
    ::setsockopt(socket.handle(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
        ::connect(socket.handle(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
}

TEST(Rendezvous, EachRankGetsTheEntriesOfAll) {
    constexpr std::uint32_t size = 40;
    const Service service(size);
    std::vector<std::string> entries;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        entries.emplace_back(rank * 100, static_cast<char>(rank));
    }
    std::vector<Expected<std::vector<std::string>>> got(size);
    std::vector<std::thread> ranks;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        ranks.emplace_back(
            [&, rank] { got[rank] = rendezvous(service.place(rank), entries[rank], patience); });
    }
    for (std::thread& rank : ranks) rank.join();
    for (const auto& one : got) {
        ASSERT_TRUE(one) << one.error().message;
        EXPECT_EQ(*one, entries);
    }
}

// A socket holds less than the answers of all, so the service must send the rest later.
TEST(Rendezvous, ALongAnswerArrivesWhole) {
    constexpr std::uint32_t size = 150;
    const SteadyClock clock;
    auto server =
        RendezvousServer::open({size, "secret"}, RendezvousServer::Reach::this_host).value();
    const std::string entry(rendezvous_entry_max, 'x');
    std::vector<Descriptor> sockets;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        sockets.push_back(connected_to(server.port()));
        const std::string text = request_line({"secret", rank, entry.size()}) + entry;
        ASSERT_EQ(::send(sockets.back().handle(), text.data(), text.size(), 0),
                  ssize_t(text.size()));
        server.turn(clock.now());
    }
    const Instant limit = clock.now() + duration_of(patience);
    while (server.exchanges() == 0 && clock.now() < limit) server.turn(clock.now());
    const std::size_t whole = answer_of(std::vector<std::string>(size, entry)).size();
    std::string answer;
    while (answer.size() < whole) {
        std::array<char, 65'536> part;
        ASSERT_LT(clock.now(), limit) << "only " << answer.size() << " bytes arrived";
        server.turn(clock.now());
        const ssize_t now =
            ::recv(sockets.front().handle(), part.data(), part.size(), MSG_DONTWAIT);
        ASSERT_NE(now, 0) << "only " << answer.size() << " bytes arrived";
        if (now > 0) answer.append(part.data(), static_cast<std::size_t>(now));
    }
    const auto entries = parse_answer(answer, size);
    ASSERT_TRUE(entries && *entries);
    EXPECT_EQ((*entries)->back(), entry);
}

TEST(Rendezvous, ARefusalIsReported) {
    const Service service(2);
    RendezvousPlace place = service.place(1);
    place.token = "wrong";
    const auto refused = rendezvous(place, "x", patience);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "rendezvous at " + place.service + ": the token is that of another job");
    EXPECT_FALSE(
        rendezvous(service.place(1), std::string(rendezvous_entry_max + 1, 'x'), patience));
}

TEST(Rendezvous, NobodyWaitsForARankThatHasEnded) {
    Service service(2);
    service.end_rank(1);
    const auto refused = rendezvous(service.place(0), "x", patience);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("rank 1 has ended"), std::string::npos);
}

TEST(Rendezvous, ARankGivesUpInTimeAndMayTryAgain) {
    const Service service(2);
    const auto late = rendezvous(service.place(0), "x", std::chrono::milliseconds(50));
    ASSERT_FALSE(late);
    EXPECT_NE(late.error().message.find("not all ranks arrived"), std::string::npos);
    Expected<std::vector<std::string>> again;
    std::thread rank([&] { again = rendezvous(service.place(0), "y", patience); });
    EXPECT_EQ(rendezvous(service.place(1), "z", patience).value()[0], "y");
    rank.join();
    EXPECT_TRUE(again);
}

TEST(Rendezvous, AMissingServiceIsReportedInOneLine) {
    std::uint16_t port = 0;
    {
        auto gone = RendezvousServer::open({1, "secret"}, RendezvousServer::Reach::other_hosts);
        ASSERT_TRUE(gone);
        port = gone->port();
    }
    const RendezvousPlace place{"127.0.0.1:" + std::to_string(port), "secret", 0, 1};
    const auto refused = rendezvous(place, "", patience);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "rendezvous at " + place.service + ": no connection: Connection refused");
    for (const char* service : {"", "host", "localhost:1", "127.0.0.1", "127.0.0.1:http"}) {
        EXPECT_FALSE(rendezvous({service, "secret", 0, 1}, "", patience)) << service;
    }
}

TEST(RendezvousPlace, IsReadFromTheEnvironment) {
    const auto set = [](const char* rank, const char* size) {
        ::setenv("WIREPROOF_RENDEZVOUS", "[::1]:7", 1);
        ::setenv("WIREPROOF_TOKEN", "secret", 1);
        ::setenv("WIREPROOF_RANK", rank, 1);
        ::setenv("WIREPROOF_SIZE", size, 1);
        return RendezvousPlace::of_environment();
    };
    const auto place = set("3", "4");
    ASSERT_TRUE(place);
    EXPECT_EQ(place->service, "[::1]:7");
    EXPECT_EQ(place->token, "secret");
    EXPECT_EQ(place->rank, 3U);
    EXPECT_EQ(place->size, 4U);
    EXPECT_EQ(set("4", "4").error().message, "WIREPROOF_RANK is no number from 0 to 3");
    EXPECT_FALSE(set("", "4"));
    EXPECT_FALSE(set("0", "0"));
    EXPECT_FALSE(set("0", "65537"));
    ::unsetenv("WIREPROOF_TOKEN");
    EXPECT_EQ(RendezvousPlace::of_environment().error().message, "WIREPROOF_TOKEN is not set");
}

}  // namespace
}  // namespace wireproof::host
