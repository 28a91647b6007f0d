// Tests that a node's memory is out of its peers' reach once the node has ended, or has given up a
// peer that still lives.
#include <sys/wait.h>

#include <chrono>
#include <vector>

#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof {
namespace {

using namespace shm_test;
using std::chrono::milliseconds;

constexpr std::uint64_t end_address = 0x1000;

/// Private memory that a wire shares with one peer, and that keeps its bytes after the wire.
struct Kept {
    explicit Kept(ShmWire& owner, PeerId peer) {
        EXPECT_TRUE(owner.share(peer, end_address, bytes, true, true));
        owner.flush(Instant());
    }
    bool untouched() const { return bytes == std::vector<std::byte>(1000); }

    std::vector<std::byte> bytes = std::vector<std::byte>(1000);
};

const std::vector<std::byte> source(1000, std::byte{7});

TEST(ShmMemoryEnd, APeerReachesNoPrivateMemoryOfANodeThatHasEnded) {
    auto wires = pair();
    std::optional<ShmWire> a(std::move(wires.first));
    ShmWire& b = wires.second;
    Kept kept(*a, one);
    EXPECT_EQ(next(b), "nothing");
    std::vector<std::byte> fetched(10);
    if (copies_are_forbidden()) GTEST_SKIP() << copies_forbidden;
    ASSERT_TRUE(b.read_memory(zero, end_address, fetched));
    a.reset();
    EXPECT_FALSE(b.write_memory(zero, end_address, source));
    EXPECT_FALSE(b.read_memory(zero, end_address, fetched));
    EXPECT_TRUE(kept.untouched());
}

// The node takes another caller for the peer. Nothing tells it whether the old process lives.
TEST(ShmMemoryEnd, APeerThatIsLostAliveReachesNoPrivateMemoryAnyMore) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    ShmWire b = open({.name = name, .node = 1});
    ASSERT_TRUE(meet(a, one, b, zero, time));
    Kept kept(a, one);
    EXPECT_EQ(next(b), "nothing");
    std::vector<std::byte> fetched(10);
    if (copies_are_forbidden()) GTEST_SKIP() << copies_forbidden;
    ASSERT_TRUE(b.read_memory(zero, end_address, fetched));
    a.unshare(one, end_address);
    EXPECT_FALSE(a.unshared(one, end_address));
    auto caller = connect_to({name, 0});
    ASSERT_TRUE(caller.has_value());
    const Segment segment = std::move(*Segment::create(8192));
    std::array<std::byte, Greeting::size> hello{};
    Greeting{.node = 1, .nodes = 2, .frame_max = 16 * 1024 - 8, .lines = 8192}.encode(hello);
    ASSERT_TRUE(caller->send(hello, segment.memory().handle()));
    for (int i = 0; i < 5; ++i) a.receive(time.pass());
    ASSERT_TRUE(a.unshared(one, end_address));
    EXPECT_FALSE(b.write_memory(zero, end_address, source));
    EXPECT_TRUE(kept.untouched());
}

TEST(ShmMemoryEnd, APeerStillReachesMappedMemoryWhichIsItsOwnMapping) {
    auto wires = pair();
    std::optional<ShmWire> a(std::move(wires.first));
    ASSERT_TRUE(a->share(one, end_address, *a->allocate_shared(1000), true, true));
    a->flush(Instant());
    EXPECT_EQ(next(wires.second), "nothing");
    a.reset();
    EXPECT_TRUE(wires.second.write_memory(zero, end_address, source));
}

TEST(ShmMemoryEnd, ACopyShowsItselfWhileItLasts) {
    const Segment segment = std::move(*Segment::create(8192));
    const MemoryGate gate(segment, 1);
    {
        const MemoryGate::Passage copy(gate);
        EXPECT_TRUE(copy.is_open());
        EXPECT_EQ(segment.copying(1).load(), 1U);
        EXPECT_EQ(segment.copying(0).load(), 0U);
    }
    EXPECT_EQ(segment.copying(1).load(), 0U);
    segment.closed(1).store(1);
    EXPECT_TRUE(MemoryGate::Passage(gate).is_open()) << "its own memory";
    segment.closed(0).store(1);
    EXPECT_FALSE(MemoryGate::Passage(gate).is_open());
}

/// How often a node waits for a millisecond until the copy of its peer is over. The copy ends, or
/// the peer dies, in one of these waits, if at all.
int waits(int copy_ends_in, int peer_dies_in) {
    const Segment segment = std::move(*Segment::create(8192));
    segment.copying(1).store(1);
    int waited = 0;
    wait_for_copy(segment.copying(1), [&] {
        ++waited;
        if (waited == copy_ends_in) segment.copying(1).store(0);
        return waited == peer_dies_in;
    });
    return waited;
}

TEST(ShmMemoryEnd, ANodeThatEndsWaitsForACopyUnderWay) {
    EXPECT_EQ(waits(500, 0), 500);
}

TEST(ShmMemoryEnd, ANodeThatEndsDoesNotWaitForAPeerThatDiedInACopyAndOnlyBrieflyForAStoppedOne) {
    EXPECT_EQ(waits(0, 3), 3);
    EXPECT_EQ(waits(0, 0), copy_waits_max);
}

// Nothing waits inside receive(): the wire looks at the word again and again, for at most a second.
TEST(ShmMemoryEnd, APeerThatIsGivenUpInACopyIsGoneOnceTheCopyIsOver) {
    enum class End { copied, died, stopped };
    for (const End how : {End::copied, End::died, End::stopped}) {
        PeerByHand peer;
        ShmWire& wire = *peer.wire;
        const Kept kept(wire, one);
        Time time;
        peer.set_copying(true);
        shared_word<std::uint32_t>(peer.segment.ring_filled_by(1).lines_at).store(~0U);
        EXPECT_EQ(next(wire, time.pass()), "nothing");
        EXPECT_EQ(wire.counters().malformed_peers, 1U);
        EXPECT_FALSE(wire.connected(one));
        EXPECT_EQ(peer.segment.closed(0).load(), 1U) << "no other copy begins";
        wire.unshare(one, end_address);
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(event(wire), "none");
            EXPECT_FALSE(wire.unshared(one, end_address));
            EXPECT_EQ(wire.lane(one).claim(), nullptr);
            EXPECT_TRUE(wire.prepare_to_sleep());
            EXPECT_EQ(wire.next_deadline(), time.now() + Duration::milliseconds(1));
            EXPECT_EQ(next(wire, time.pass()), "nothing");
        }
        if (how == End::copied) peer.set_copying(false);
        if (how == End::died) peer.socket.close();
        if (how == End::stopped) {
            for (int i = 0; i < copy_waits_max; ++i) time.pass();
        }
        EXPECT_EQ(next(wire, time.pass()), "nothing");
        EXPECT_EQ(event(wire), "1 gone");
        EXPECT_TRUE(wire.unshared(one, end_address));
        EXPECT_EQ(wire.next_deadline(), never);
        EXPECT_EQ(wire.counters().peers_gone, 1U);
    }
}

TEST(ShmMemoryEnd, APeerThatKnowsOfNoMemoryIsNotWaitedFor) {
    PeerByHand peer;
    Time time;
    peer.set_copying(true);
    shared_word<std::uint32_t>(peer.segment.ring_filled_by(1).lines_at).store(~0U);
    EXPECT_EQ(next(*peer.wire, time.pass()), "nothing");
    EXPECT_EQ(event(*peer.wire), "1 gone");
}

TEST(ShmMemoryEnd, AWireThatEndsClosesItsMemoryAndWaitsForACopy) {
    for (const bool dies : {true, false}) {
        PeerByHand peer;
        const Kept kept(*peer.wire, one);
        peer.set_copying(true);
        if (dies) peer.socket.close();
        const auto began = std::chrono::steady_clock::now();
        peer.wire.reset();
        const auto took = std::chrono::steady_clock::now() - began;
        EXPECT_EQ(peer.segment.closed(0).load(), 1U) << "no other copy begins";
        EXPECT_GE(took, milliseconds(dies ? 0 : copy_waits_max / 2));
    }
}

TEST(ShmMemoryEnd, AForkedChildThatDropsItsCopyOfTheWireClosesNoMemoryOfItsParent) {
    auto wires = pair();
    std::optional<ShmWire> a(std::move(wires.first));
    ShmWire& b = wires.second;
    Kept kept(*a, one);
    EXPECT_EQ(next(b), "nothing");
    if (copies_are_forbidden()) GTEST_SKIP() << copies_forbidden;
    ASSERT_TRUE(b.write_memory(zero, end_address, source));
    const pid_t child = ::fork();
    if (child == 0) {
        a.reset();
        ::_exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(b.write_memory(zero, end_address, source));
}

}  // namespace
}  // namespace wireproof
