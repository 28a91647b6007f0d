// A node on UDP that does not know its peer's address until the peer sends, like a receiver of
// files; and the counts of its wire. The sockets are real and time is modelled: it passes between
// the turns.
#include "wireproof/front/am/udp_node.hpp"

#include <gtest/gtest.h>

#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using test::pattern;
using test::words;

Address loopback() {
    return *Address::parse("127.0.0.1:0");
}

/// Opens a socket on a port that the kernel chooses, and sets that address as the node's own.
UdpNode open(std::size_t self, UdpNode::Options options) {
    options.local = loopback();
    auto opened = UdpNode::open(options);
    WIREPROOF_CHECK(opened.has_value());
    UdpWire& socket = opened->socket();
    WIREPROOF_CHECK(socket.set_peer(PeerId(self), socket.local_address()).has_value());
    return std::move(*opened);
}

Config config_of(std::size_t node) {
    Config config = test::quick();
    config.node = static_cast<std::uint16_t>(node);
    config.seed = 1 + node;
    return config;
}

/// Node 0. Its peer may have any address. It echoes.
struct Server {
    Server() : udp(open(0, {.peers = {Address{}, Address{}}})), node(udp.wire(), config_of(0), 2) {
        node.handle(ask, [](const Message& m) { (void)m.reply(answer, {m.words()[0]}); });
        node.on_peer_lost([this](const PeerLost&) { ++lost; });
    }
    Address address() { return udp.socket().local_address(); }

    UdpNode udp;
    Node node;
    int lost = 0;
};

/// Node 1. It knows the address of the server.
struct Client {
    explicit Client(Server& server, std::uint64_t seed, FaultRates faults = {})
        : udp(open(1, {.peers = {server.address(), Address{}}, .faults = faults, .seed = seed})),
          node(udp.wire(), seeded(seed), 2) {
        node.handle(answer, [this](const Message&) { ++answers; });
    }
    static Config seeded(std::uint64_t seed) {
        Config config = config_of(1);
        config.seed = seed;
        return config;
    }

    UdpNode udp;
    Node node;
    std::uint32_t answers = 0;
};

class AmUdpNode : public testing::Test {
protected:
    template <class Done>
    [[nodiscard]] bool run(std::initializer_list<Node*> nodes, Done&& done) {
        const Instant end = now + Duration::milliseconds(30'000);
        while (!done()) {
            if (now > end) return false;
            for (Node* node : nodes) node->poll(now);
            now = now + Duration::microseconds(50);
        }
        return true;
    }

    Instant now{Duration::milliseconds(1)};
};

TEST_F(AmUdpNode, KeepsWhoTookAnOpenPlaceUntilItIsLost) {
    Server server;
    {
        Client first(server, 10);
        UdpWire stranger = *UdpWire::open({.local = loopback(), .peers = {server.address()}});
        const auto garbage = pattern(100);
        std::uint32_t posted = 0;
        ASSERT_TRUE(run({&server.node, &first.node}, [&] {
            if (posted == first.answers && posted < 20) {
                EXPECT_EQ(first.node.request(now, 0, ask, words({posted++})), Status::ok);
            }
            if (first.answers == 0) return false;
            stranger.lane(PeerId{0}).claim()->add_payload(garbage);
            stranger.lane(PeerId{0}).commit();
            stranger.flush(now);
            return first.answers == 20;
        }));
        EXPECT_GT(server.udp.counts().unknown_source, 0U) << "the place was not open any more";
        EXPECT_EQ(first.node.counters(0).resent, 0U) << "no answer went to the stranger";
    }
    Client second(server, 11);
    server.node.set_awaiting(true);
    ASSERT_TRUE(run({&server.node}, [&] { return server.lost == 1; }));
    server.node.set_awaiting(false);
    ASSERT_EQ(second.node.request(now, 0, ask, words({1})), Status::ok);
    ASSERT_TRUE(run({&server.node, &second.node}, [&] { return second.answers == 1; }));
    EXPECT_EQ(server.node.counters(1).sessions, 2U);
}

TEST_F(AmUdpNode, SendsInOneTurnMoreThanTheWireTakesAtOnce) {
    Server server;
    Client client(server, 10);
    ASSERT_EQ(client.node.request(now, 0, ask, words({0})), Status::ok);
    ASSERT_TRUE(run({&server.node, &client.node}, [&] { return client.answers == 1; }));
    for (std::uint32_t i = 0; i < 300; ++i) {
        // Two of these do not fit into one packet.
        ASSERT_EQ(client.node.request(now, 0, ask, words(std::vector<std::uint32_t>(180, i))),
                  Status::ok);
    }
    const std::uint64_t before = client.udp.counts().frames_sent;
    client.node.poll(now);
    client.node.poll(now);  // the first poll may hold some back
    EXPECT_GE(client.udp.counts().frames_sent, before + 300);
}

TEST_F(AmUdpNode, CountsWhatGoesThroughItsWire) {
    Server server;
    Client client(server, 10, {.loss = 0.2, .bit_error = 1e-4, .duplicate = 0.2});
    std::uint32_t posted = 0;
    ASSERT_TRUE(run({&server.node, &client.node}, [&] {
        if (posted < 200 && client.node.request(now, 0, ask, words({posted})) == Status::ok) {
            ++posted;
        }
        return client.answers == 200;
    }));
    const UdpNode::Counts counts = client.udp.counts();
    EXPECT_EQ(counts.frames_sent, client.node.counters(0).sent);
    EXPECT_GE(counts.bytes_sent, counts.frames_sent * 48);
    EXPECT_GT(counts.lost, 0U);
    EXPECT_GT(counts.damaged, 0U);
    EXPECT_GT(counts.duplicated, 0U);
    EXPECT_EQ(server.udp.counts().lost, 0U);
}

/// Counts the frames that the engine took with the frame before them.
struct CountingWire {
    host::AnyLane& lane(PeerId peer) { return inside.lane(peer); }
    std::optional<RxFrame> receive(Instant now) { return inside.receive(now); }
    RxRun following() const { return inside.following(); }
    void take_following(std::size_t frames) {
        taken += frames;
        inside.take_following(frames);
    }
    void flush(Instant now) { inside.flush(now); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return inside.next_event(); }
    Instant next_deadline() const { return inside.next_deadline(); }
    void settle(PeerId peer) { inside.settle(peer); }
    void unsettle(PeerId peer) { inside.unsettle(peer); }

    host::AnyWire inside;
    std::size_t taken = 0;
};

TEST_F(AmUdpNode, TakesThePacketsOfAStoreAtOnceAlsoWhereSomeAreLost) {
    constexpr std::uint64_t place = 0x1000;
    const auto source = pattern(1 << 20);
    for (const double loss : {0.0, 0.01}) {
        UdpNode udp = open(0, {.peers = {Address{}, Address{}}, .faults = {.loss = loss}});
        CountingWire wire{udp.wire()};
        Node node(host::AnyWire(std::ref(wire)), config_of(0), 2);
        std::vector<std::byte> memory(source.size());
        ASSERT_TRUE(node.register_memory(1, place, memory, {.store = true}));
        node.handle(ask, [](const Message&) {});
        UdpNode other = open(1, {.peers = {udp.socket().local_address(), Address{}},
                                 .faults = {.loss = loss},
                                 .seed = 7});
        Node sender(other.wire(), config_of(1), 2);
        std::optional<Status> ended;
        ASSERT_EQ(sender.store_async(0, place, source, ask, 0, [&](Status how) { ended = how; }),
                  Status::ok);
        ASSERT_TRUE(run({&sender, &node}, [&] { return ended.has_value(); }));
        EXPECT_EQ(*ended, Status::ok);
        EXPECT_TRUE(memory == source);
        EXPECT_GT(wire.taken, 100U) << "of 736";
        EXPECT_LE(wire.taken, node.counters(1).received[0]);
    }
}

TEST_F(AmUdpNode, SaysWhyItDoesNotOpen) {
    const auto error = [](const UdpNode::Options& options) {
        const auto opened = UdpNode::open(options);
        return opened ? "none" : opened.error().message;
    };
    EXPECT_EQ(error({}), "UDP wire: no local address");
    EXPECT_EQ(error({.local = loopback(), .frame_max = 0}),
              "UDP wire: frame_max is 0, not 1 to 65507");
}

}  // namespace
}  // namespace wireproof::am
