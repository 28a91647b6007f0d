// Addresses that become known after an Endpoint was opened: its own port and the addresses of its
// peers.
#include <gtest/gtest.h>

#include "wireproof/front/am/endpoint_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

Options unknown(std::size_t nodes, std::size_t self, const std::string& own = "127.0.0.1:0") {
    Options options;
    options.peers.resize(nodes);
    options.peers[self] = own;
    return options;
}

TEST(AmEndpointAddress, PeersMeetOnceTheyKnowThePortsThatTheSystemChose) {
    Endpoint a = open(unknown(2, 0), 0, 1);
    Endpoint b = open(unknown(2, 1), 1, 2);
    b.handle(ask, echo());
    std::uint32_t answered = 0;
    a.handle(answer, [&](const Message& m) { answered = m.words()[0]; });
    std::vector<std::byte> bytes(8);
    EXPECT_EQ(a.request(1, ask, {7}), Status::no_such_peer);
    EXPECT_EQ(a.store(1, 0, bytes, stored), Status::no_such_peer);
    EXPECT_EQ(a.store_async(1, 0, bytes, stored, 0, nullptr), Status::no_such_peer);
    EXPECT_EQ(a.get(1, 0, bytes), Status::no_such_peer);
    EXPECT_EQ(a.get_async(1, 0, bytes, nullptr), Status::no_such_peer);
    EXPECT_TRUE(a.idle());

    EXPECT_NE(a.local_address(), "127.0.0.1:0");
    EXPECT_EQ(a.local_address().rfind("127.0.0.1:", 0), 0U);
    EXPECT_NE(a.local_address(), b.local_address());
    ASSERT_TRUE(a.set_peer_address(1, b.local_address()));
    ASSERT_EQ(a.request(1, ask, {7}), Status::ok);
    for (int i = 0; i < 20; ++i) {  // b does not know a's address yet
        a.poll();
        b.poll();
    }
    EXPECT_EQ(answered, 0U);
    ASSERT_TRUE(b.set_peer_address(0, a.local_address()));
    ASSERT_TRUE(run({&a, &b}, [&] { return answered == 7; }));
}

TEST(AmEndpointAddress, APeerThatMovedIsReachedAtItsNewAddress) {
    Endpoint a = open(unknown(2, 0), 0, 1);
    Endpoint b = open(unknown(2, 1), 1, 2);
    std::uint32_t answers = 0;
    a.handle(answer, [&](const Message&) { ++answers; });
    for (std::uint32_t life = 1; life <= 2; ++life) {
        ASSERT_TRUE(a.set_peer_address(1, b.local_address()));
        ASSERT_TRUE(b.set_peer_address(0, a.local_address()));
        b.handle(ask, echo());
        ASSERT_TRUE(run({&a, &b}, [&] {
            if (answers < life && a.idle()) {
                EXPECT_EQ(a.request(1, ask, {life}), Status::ok);
            }
            return answers >= life;
        }));
        b = open(unknown(2, 1), 1, 2 + life);
    }
}

TEST(AmEndpointAddress, ANodeAtEachAddressOfItsHostIsReachedAtEachOfThem) {
    Endpoint a = open(unknown(2, 0, "0.0.0.0:0"), 0, 1);
    Endpoint b = open(unknown(2, 1), 1, 2);
    ASSERT_TRUE(a.set_peer_address(1, b.local_address()));
    a.handle(ask, echo());
    std::uint32_t answers = 0;
    b.handle(answer, [&](const Message&) { ++answers; });
    const std::string port = a.local_address().substr(a.local_address().rfind(':'));
    for (const char* const host : {"127.0.0.2", "127.0.0.1", "127.0.0.3"}) {
        const std::uint32_t before = answers;
        ASSERT_TRUE(b.set_peer_address(0, host + port));
        ASSERT_EQ(b.request(0, ask, {7}), Status::ok);
        ASSERT_TRUE(run({&a, &b}, [&] { return answers > before; })) << host;
    }
    EXPECT_EQ(b.counters(0).sessions, 1U);
}

TEST(AmEndpointAddress, SaysWhyAnAddressCannotBeAPeers) {
    Endpoint a = open(unknown(3, 0), 0, 1);
    const auto why = [&](std::size_t peer, const char* address) {
        const auto set = a.set_peer_address(peer, address);
        return set ? std::string("ok") : set.error();
    };
    EXPECT_EQ(why(1, "127.0.0.1:7000"), "ok");
    EXPECT_EQ(why(2, "127.0.0.1:7000"), "peer 127.0.0.1:7000: already the address of peer 1");
    EXPECT_EQ(why(0, "127.0.0.1:7001"), "no peer 0");
    EXPECT_EQ(why(3, "127.0.0.1:7001"), "no peer 3");
    EXPECT_EQ(why(2, "127.0.0.1:0"), "127.0.0.1:0 has port 0, which no peer can have");
    EXPECT_EQ(why(2, "0.0.0.0:1"), "0.0.0.0:1 means every address of a host, and names no peer");
    EXPECT_EQ(why(2, "[::1]:7000"),
              "peer [::1]:7000: not of the same family as local " + a.local_address());
    EXPECT_NE(why(2, "nowhere"), "ok");

    Options shm;
    shm.peers = {"shm:address-" + std::to_string(::getpid())};
    shm.peers.push_back(shm.peers[0]);
    Endpoint b = open(shm, 0, 1);
    EXPECT_EQ(b.local_address(), shm.peers[0]);
    EXPECT_EQ(b.set_peer_address(1, "127.0.0.1:1").error(),
              "peers on shared memory have no address");
}

TEST(AmEndpointAddress, OnlyAPeersMayBeUnknown) {
    const auto why = [](Options options) { return Endpoint::open(options).error(); };
    Options options = unknown(2, 0, "");
    EXPECT_EQ(why(options).rfind("peers[0]: ", 0), 0U) << why(options);
    options.peers = {"127.0.0.1:0", "127.0.0.1:0"};
    EXPECT_EQ(why(options), "peers[1]: 127.0.0.1:0 has port 0, which no peer can have");
    options.peers = {"", "127.0.0.1:7000", "[::1]:7000"};
    options.self = 1;
    EXPECT_EQ(why(options),
              "peers[2] is [::1]:7000 and peers[1] is 127.0.0.1:7000: all are IPv4, or all are "
              "IPv6");
    options.peers = {"127.0.0.1:0", "", ""};
    options.self = 0;
    EXPECT_TRUE(Endpoint::open(options));
}

}  // namespace
}  // namespace wireproof::am
