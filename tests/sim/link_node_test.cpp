// Messages over whole links in a simulated network: engine, sequenced wire, resets and silence.
#include <gtest/gtest.h>

#include "wireproof/front/link/node.hpp"
#include "wireproof/proto/cxl/link.hpp"
#include "wireproof/proto/flit/link.hpp"
#include "wireproof/proto/hippi/link.hpp"
#include "wireproof/proto/pcie/link.hpp"
#include "wireproof/proto/ue/link.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"
#include "wireproof/wire/sequenced/sequenced_wire.hpp"

namespace wireproof::link {
namespace {

// ue_patient never flushes, as over datagrams.
enum class Protocol : std::uint8_t { pcie, hippi, flit, ue, ue_patient, cxl };

// The engine must know of each frame that is missing.
constexpr bool counts_frames(Protocol protocol) {
    return protocol == Protocol::flit || protocol == Protocol::cxl;
}

constexpr std::size_t long_frame = 1000;

FrameInfo describe_bytes(ConstBytes bytes) {
    FrameInfo info = describe_nothing(bytes);
    info.kind = bytes.size() > long_frame ? "long" : "short";
    return info;
}

class World {
public:
    World(Protocol protocol, FaultRates faults, std::uint64_t seed)
        : network_(config(faults, seed)) {
        for (std::size_t node = 0; node < 2; ++node) nodes_[node] = make(protocol, node, seed);
    }

    void send(std::size_t node, std::size_t size) {
        std::vector<std::byte> message(size);
        for (std::size_t i = 0; i < size; ++i) {
            message[i] = static_cast<std::byte>(i * 3 + wanted[node].size());
        }
        nodes_[node]->send(message);
        wanted[node].push_back(std::move(message));
    }

    sim::RunEnd run(Duration limit) {
        const auto step = [&](std::size_t node, Instant now) {
            nodes_[node]->poll(now);
            return nodes_[node]->next_deadline();
        };
        const auto done = [&] { return nodes_[0]->idle() && nodes_[1]->idle(); };
        schedule.wake(0, schedule.now());
        schedule.wake(1, schedule.now());
        return sim::run(network_, schedule, step, done, {.until = schedule.now() + limit}).end;
    }

    void expect_all() const {
        EXPECT_EQ(got[1], wanted[0]);
        EXPECT_EQ(got[0], wanted[1]);
        EXPECT_TRUE(lost[0].empty() && lost[1].empty());
    }

    sim::Network& network() { return network_; }
    /// From now on, datagrams of more than long_frame bytes do not arrive at the other node.
    void lose_long_frames(std::size_t from) {
        network_.faults(from, 1 - from).add_rule({.kind = "long", .fate = {.lost = true}});
    }
    Node& node(std::size_t node) { return *nodes_[node]; }
    void restart(Protocol protocol, std::size_t node, std::uint64_t seed) {
        nodes_[node] = make(protocol, node, seed);
    }

    sim::Schedule schedule{2};
    std::array<std::vector<std::vector<std::byte>>, 2> wanted;
    std::array<std::vector<std::vector<std::byte>>, 2> got;
    std::array<std::vector<Lost>, 2> lost;

private:
    static sim::NetworkConfig config(FaultRates faults, std::uint64_t seed) {
        sim::NetworkConfig network;
        network.frame_max = 1472;
        network.faults = faults;
        network.flip_bits = faults.bit_error > 0;
        network.latency = Duration::microseconds(10);
        network.seed = seed;
        network.describe = describe_bytes;
        return network;
    }

    static AnyLink make_link(Protocol protocol, std::size_t node, std::uint64_t seed,
                             std::size_t frame_max) {
        if (protocol == Protocol::pcie) {
            return AnyLink(pcie::Link(pcie::Config::of_datagrams(frame_max)));
        }
        if (protocol == Protocol::flit) {
            return AnyLink(flit::Link(flit::Config::of_datagrams(frame_max)));
        }
        if (protocol == Protocol::ue || protocol == Protocol::ue_patient) {
            ue::Config ue = ue::Config::of_datagrams(frame_max);
            ue.first_init_data = static_cast<std::uint16_t>(mix64(seed + 5) + node);
            if (protocol == Protocol::ue) ue.replay_ct_max = 3;
            return AnyLink(ue::Link(ue));
        }
        if (protocol == Protocol::cxl) {
            cxl::Config cxl = cxl::Config::of_datagrams();
            cxl.max_num_retry = 2;
            return AnyLink(cxl::Link(cxl));
        }
        hippi::Config hippi = hippi::Config::of_datagrams();
        hippi.seed = mix64(seed + 5) + node;
        hippi.retries_max = 3;
        return AnyLink(hippi::Link(hippi));
    }

    std::unique_ptr<Node> make(Protocol protocol, std::size_t node, std::uint64_t seed) {
        const PeerId peer{static_cast<std::uint16_t>(1 - node)};
        SequencedWire<host::AnyWire> wire(host::AnyWire(std::ref(network_.wire(node))),
                                          {.link = 9,
                                           .peer = peer,
                                           .seed = mix64(seed) + node,
                                           .missing_max = counts_frames(protocol) ? 65'536U : 0U});
        AnyLink link = make_link(protocol, node, seed, wire.capabilities().frame_max);
        Node::Config config;
        config.peer_timeout = Duration::milliseconds(2'000);
        config.stream.life = mix64(seed + 9) + node;
        auto made =
            std::make_unique<Node>(host::AnyWire(std::move(wire)), peer, std::move(link), config);
        made->on_message([this, node](ConstBytes message) {
            got[node].emplace_back(message.begin(), message.end());
        });
        made->on_lost([this, node](Lost why) { lost[node].push_back(why); });
        return made;
    }

    sim::Network network_;
    std::array<std::unique_ptr<Node>, 2> nodes_;
};

std::string name_of(Protocol protocol) {
    switch (protocol) {
        case Protocol::pcie: return "pcie";
        case Protocol::hippi: return "hippi6400";
        case Protocol::flit: return "flit";
        case Protocol::ue:
        case Protocol::ue_patient: return "ue";
        case Protocol::cxl: return "cxl";
    }
    return "";
}

class LinkNode : public testing::TestWithParam<Protocol> {};

constexpr Duration minute = Duration::milliseconds(60'000);

// PCIE-39, HIPPI-37, LLR-30: repeated and reordered datagrams cost only time.
TEST_P(LinkNode, CarriesMessagesBothWaysOverAWireThatDoesEverything) {
    World world(GetParam(), {.loss = 0.03, .bit_error = 1e-6, .duplicate = 0.03, .reorder = 0.03},
                11);
    for (const std::size_t size : {0U, 1U, 32U, 4080U, 100'000U, 7U, 300'000U}) {
        world.send(0, size);
        world.send(1, size / 2);
    }
    EXPECT_EQ(world.run(minute), sim::RunEnd::done);
    world.expect_all();
    for (std::size_t node = 0; node < 2; ++node) {
        const LinkStats& stats = world.node(node).engine().stats();
        EXPECT_EQ(stats.received_as(RxVerdict::stale), 0U);
        EXPECT_LE(stats.resent, stats.numbered);
    }
}

// The wire is cut until HIPPI resets its link, Ultra Ethernet flushes (LLR-17) and the others
// retrain. No message is lost.
TEST_P(LinkNode, AResetLosesNothing) {
    World world(GetParam(), {.loss = 0.01}, 12);
    for (int i = 0; i < 40; ++i) world.send(0, 20'000);
    for (int i = 0; i < 10; ++i) world.send(1, 5'000);
    for (int cut = 0; cut < 4; ++cut) {
        world.run(Duration::microseconds(300));
        world.network().cut(0, 1);
        if (cut % 2 == 1) world.network().cut(1, 0);
        world.run(Duration::milliseconds(300));
        world.network().mend(0, 1);
        world.network().mend(1, 0);
    }
    EXPECT_EQ(world.run(minute), sim::RunEnd::done);
    world.expect_all();
    EXPECT_GE(world.node(0).engine().stats().resets, 1U);
}

TEST_P(LinkNode, ASilentPeerIsReportedAfterTheTimeoutAndNotBefore) {
    World world(GetParam(), {}, 13);
    world.send(0, 10);
    EXPECT_EQ(world.run(minute), sim::RunEnd::done);
    world.network().cut(0, 1);
    world.network().cut(1, 0);
    world.send(0, 10);
    world.run(Duration::milliseconds(1'900));
    EXPECT_TRUE(world.lost[0].empty());
    world.run(Duration::milliseconds(300));
    EXPECT_EQ(world.lost[0], std::vector<Lost>{Lost::silent});
    EXPECT_TRUE(world.lost[1].empty());  // it has nothing to send and expects nothing
}

// Both nodes expect messages and none comes. An idle peer answers the questions of the other.
TEST_P(LinkNode, AnIdlePeerIsNotTakenForDead) {
    World world(GetParam(), {}, 14);
    world.send(0, 10);
    EXPECT_EQ(world.run(minute), sim::RunEnd::done);
    world.node(0).set_awaiting(true);
    world.node(1).set_awaiting(true);
    const auto never_done = [] { return false; };
    const auto step = [&](std::size_t node, Instant now) {
        world.node(node).poll(now);
        return world.node(node).next_deadline();
    };
    sim::run(world.network(), world.schedule, step, never_done,
             {.until = world.schedule.now() + minute});
    EXPECT_TRUE(world.lost[0].empty() && world.lost[1].empty());
}

TEST_P(LinkNode, APeerThatBeganAnewIsReported) {
    World world(GetParam(), {}, 15);
    world.send(0, 10);
    EXPECT_EQ(world.run(minute), sim::RunEnd::done);
    world.restart(GetParam(), 1, 99);
    world.send(0, 10);
    world.run(minute);
    EXPECT_EQ(world.lost[0], std::vector<Lost>{Lost::restarted});
}

// The MTU of the path is smaller than both ends know. A TLP is one frame and cannot be cut, so the
// link ends and reports the size of the frame. HIPPI, CXL and flits can put fewer frames into a
// datagram.
TEST_P(LinkNode, OnAPathThatLosesLongFramesATransferEndsOrAdapts) {
    // A flush would forget for how long there was no answer.
    const Protocol protocol = GetParam() == Protocol::ue ? Protocol::ue_patient : GetParam();
    for (const bool both_ways : {false, true}) {
        World world(protocol, {}, 16);
        world.node(0).set_awaiting(true);
        world.node(1).set_awaiting(true);
        world.send(0, 10);
        EXPECT_EQ(world.run(minute), sim::RunEnd::done);
        world.lose_long_frames(0);
        if (both_ways) world.lose_long_frames(1);
        const Instant begun = world.schedule.now();
        const std::uint64_t before = world.network().totals().frames;
        world.send(0, 300'000);
        const auto done = [&] {
            return (world.node(0).idle() && world.node(1).idle()) || !world.lost[0].empty();
        };
        const auto step = [&](std::size_t node, Instant now) {
            world.node(node).poll(now);
            return world.node(node).next_deadline();
        };
        world.schedule.wake(0, begun);
        EXPECT_EQ(
            sim::run(world.network(), world.schedule, step, done, {.until = begun + minute}).end,
            sim::RunEnd::done);
        const std::uint64_t frames = world.network().totals().frames - before;
        if (GetParam() != Protocol::pcie && GetParam() != Protocol::ue) {
            world.expect_all();
            // They send each window of about 5 kB in long datagrams first, without success, and
            // then in short ones.
            EXPECT_LT(frames, 3'000U);
            EXPECT_LE(world.node(0).engine().stats().timeouts, 100U);
            continue;
        }
        EXPECT_EQ(world.lost[0], std::vector<Lost>{Lost::unanswered});
        EXPECT_TRUE(world.lost[1].empty());  // it hears the other side and has nothing to send
        EXPECT_LE(world.schedule.now() - begun, world.node(0).peer_timeout() * 3);
        EXPECT_LT(frames, 200U);
        const Unanswered lost = world.node(0).engine().unanswered();
        EXPECT_GE(lost.times, 6U);
        EXPECT_GT(lost.bytes, long_frame);
        EXPECT_LE(lost.bytes, world.node(0).frame_max());
    }
}

INSTANTIATE_TEST_SUITE_P(Links, LinkNode,
                         testing::Values(Protocol::pcie, Protocol::hippi, Protocol::flit,
                                         Protocol::ue, Protocol::cxl),
                         [](const auto& link) { return name_of(link.param); });

}  // namespace
}  // namespace wireproof::link
