// Nodes 0 and 1 share memory. Node 2 reaches both over UDP only, as on another host.
#include <gtest/gtest.h>
#include <poll.h>

#include "wireproof/front/am/node_test_kit.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/host/split_wire.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof::am {
namespace {

using test::pattern;
using test::words;

constexpr std::size_t count = 3;
constexpr std::size_t far_node = 2;
constexpr int patience_ms = 120'000;  // ms; it only ends a test that hangs

bool is_near(std::size_t node, std::size_t peer) {
    return node != peer && node != far_node && peer != far_node;
}

class SplitNodes : public testing::Test {
protected:
    SplitNodes() {
        const std::string name = shm_test::unique_name();
        for (std::size_t i = 0; i < count; ++i) {
            UdpNode::Options options{.local = *Address::parse("127.0.0.1:0"),
                                     .peers = std::vector<Address>(count),
                                     .unset_is_open = false};
            auto opened = UdpNode::open(options);
            WIREPROOF_CHECK(opened.has_value());
            udp.push_back(std::move(*opened));
        }
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < count; ++j) {
                if (i == j || is_near(i, j)) continue;
                const Address there = udp[j].socket().local_address();
                WIREPROOF_CHECK(udp[i].socket().set_peer(PeerId(j), there).has_value());
            }
            nodes.push_back(make(i, name));
            serve(i);
        }
    }

    std::unique_ptr<Node> make(std::size_t i, const std::string& name) {
        Config far = Config::ethernet();
        far.node = static_cast<std::uint16_t>(i);
        far.seed = i + 1;
        const std::vector<Congestion> congestion(count, Congestion::off);
        if (i == far_node) {
            return std::make_unique<Node>(udp[i].wire(), far, congestion, active_peers);
        }
        Config near = Config::shared_memory();
        near.node = far.node;
        near.seed = far.seed;
        auto shm = ShmWire::open({.name = name,
                                  .node = i,
                                  .nodes = count,
                                  .members = {true, true, false},
                                  .frame_max = near.packet_max});
        WIREPROOF_CHECK(shm.has_value());
        std::vector<bool> are_near(count);
        are_near[1 - i] = true;
        auto wire = host::SplitWire::make(host::AnyWire(std::move(*shm)), udp[i].wire(), are_near);
        WIREPROOF_CHECK(wire.has_value());
        return std::make_unique<Node>(host::AnyWire(std::move(*wire)), far, congestion,
                                      active_peers, NearPeers{near, are_near});
    }
    void serve(std::size_t i) {
        Node& node = *nodes[i];
        node.handle(ask, [](const Message& m) { (void)m.reply(answer, {m.words()[0]}); });
        node.handle(answer, [this, i](const Message&) { ++answers[i]; });
        node.handle(stored, [this, i](const Message&) { ++stores[i]; });
        node.on_peer_lost([this, i](const PeerLost& lost) {
            losses[i].push_back(lost.peer);
            reasons.push_back(lost.why);
        });
    }
    template <class Done>
    [[nodiscard]] bool run(Done&& done) {
        const Instant end = clock.now() + Duration::milliseconds(patience_ms);
        while (!done()) {
            if (clock.now() > end) return false;
            for (auto& node : nodes) {
                if (node) node->poll(clock.now());
            }
        }
        return true;
    }
    bool idle() const {
        return std::all_of(nodes.begin(), nodes.end(), [](const auto& n) { return n->idle(); });
    }
    Status request(std::size_t from, std::size_t to) {
        return nodes[from]->request(clock.now(), to, ask, words({7}));
    }
    host::SplitWire& split(std::size_t node) { return *nodes[node]->wire().as<host::SplitWire>(); }
    const ShmCounters& shm(std::size_t node) {
        return split(node).near().as<ShmWire>()->counters();
    }

    std::size_t active_peers = 4;
    host::SteadyClock clock;
    std::vector<UdpNode> udp;
    std::vector<std::unique_ptr<Node>> nodes;
    std::array<int, count> answers{};
    std::array<int, count> stores{};
    std::array<std::vector<std::size_t>, count> losses;
    std::vector<PeerLost::Why> reasons;
};

TEST_F(SplitNodes, EachPairUsesItsOwnWire) {
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < count; ++j) {
            if (i == j) continue;
            ASSERT_EQ(request(i, j), Status::ok);
        }
    }
    ASSERT_TRUE(run([&] { return answers == std::array{2, 2, 2} && idle(); }));
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_GT(shm(i).frames_sent, 0U);
        EXPECT_EQ(shm(i).connections, 1U);
        // Every frame on the socket is of the connection to the far node.
        EXPECT_EQ(udp[i].counts().frames_sent, nodes[i]->counters(far_node).sent);
        EXPECT_EQ(shm(i).frames_sent, nodes[i]->counters(1 - i).sent);
    }
    EXPECT_EQ(nodes[0]->counters(1).resent, 0U);
}

TEST_F(SplitNodes, StoresReachNearMemoryWithOneCopyAndFarMemoryInPackets) {
    std::array<std::vector<std::byte>, count> memory;
    const auto source = pattern(300'000);
    for (const std::size_t i : {1U, 2U}) {
        memory[i].resize(source.size());
        ASSERT_TRUE(nodes[i]->register_for_all(4096, memory[i], {.get = true, .store = true}));
    }
    ASSERT_EQ(request(0, 1), Status::ok);
    ASSERT_EQ(request(0, 2), Status::ok);
    ASSERT_TRUE(run([&] { return answers[0] == 2 && idle(); }));
    const std::uint64_t far_frames = nodes[0]->counters(2).sent;
    int ended = 0;
    for (const std::size_t to : {1U, 2U}) {
        ASSERT_EQ(nodes[0]->store_async(to, 4096, source, stored, 0,
                                        [&](Status status) { ended += status == Status::ok; }),
                  Status::ok);
    }
    ASSERT_TRUE(run([&] { return ended == 2 && stores[1] == 1 && stores[2] == 1; }));
    EXPECT_EQ(memory[1], source);
    EXPECT_EQ(memory[2], source);
    EXPECT_EQ(nodes[0]->stores_at_once(), 1U);
    EXPECT_GT(nodes[0]->counters(2).sent - far_frames, 200U);

    std::vector<std::byte> back(source.size());
    for (const std::size_t from : {1U, 2U}) {
        std::fill(back.begin(), back.end(), std::byte{});
        bool got = false;
        ASSERT_EQ(nodes[0]->get(from, 4096, back, [&](Status) { got = true; }), Status::ok);
        ASSERT_TRUE(run([&] { return got; }));
        EXPECT_EQ(back, source);
    }
    EXPECT_EQ(nodes[0]->gets_at_once(), 1U);
    for (const std::size_t i : {1U, 2U}) {
        ASSERT_TRUE(run([&] { return nodes[i]->unregister_for_all(4096) != Status::would_block; }));
    }
}

TEST_F(SplitNodes, AHandleWakesForFramesOfEitherKind) {
    ASSERT_EQ(request(0, 1), Status::ok);
    ASSERT_EQ(request(0, 2), Status::ok);
    ASSERT_TRUE(run([&] { return answers[0] == 2 && idle(); }));
    for (const std::size_t from : {1U, 2U}) {
        const auto sleeps = [&] {
            nodes[0]->poll(clock.now());
            return nodes[0]->wire().prepare_to_sleep();
        };
        const Instant end = clock.now() + Duration::milliseconds(patience_ms);
        while (!sleeps()) ASSERT_LT(clock.now(), end);
        pollfd handle{.fd = nodes[0]->wire().wait_handle(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&handle, 1, 0), 0);
        ASSERT_EQ(request(from, 0), Status::ok);
        nodes[from]->poll(clock.now());
        EXPECT_EQ(::poll(&handle, 1, patience_ms), 1);
        ASSERT_TRUE(run([&] { return idle(); }));
    }
    EXPECT_EQ(answers[1] + answers[2], 2);
}

TEST_F(SplitNodes, ANearPeerThatDiesIsGoneAtOnceAndTheOthersStay) {
    ASSERT_EQ(request(0, 1), Status::ok);
    ASSERT_EQ(request(0, 2), Status::ok);
    ASSERT_TRUE(run([&] { return answers[0] == 2 && idle(); }));
    nodes[1].reset();
    ASSERT_TRUE(run([&] { return !losses[0].empty(); }));
    EXPECT_EQ(losses[0], std::vector<std::size_t>{1});
    EXPECT_EQ(reasons.front(), PeerLost::Why::gone);
    ASSERT_EQ(request(0, 2), Status::ok);
    ASSERT_TRUE(run([&] { return answers[0] == 3; }));
}

// A far peer that keeps the only set for far peers does not keep a near peer waiting.
TEST_F(SplitNodes, TheTwoKindsOfPeersHaveSetsOfTheirOwn) {
    active_peers = 1;
    const std::string name = shm_test::unique_name();
    nodes[0] = make(0, name);
    nodes[1] = make(1, name);
    serve(0);
    serve(1);
    ASSERT_EQ(request(0, 2), Status::ok);
    ASSERT_EQ(request(0, 1), Status::ok);
    ASSERT_TRUE(run([&] { return answers[0] == 2; }));
    EXPECT_EQ(nodes[0]->counters(1).refused + nodes[0]->counters(2).refused, 0U);
}

}  // namespace
}  // namespace wireproof::am
