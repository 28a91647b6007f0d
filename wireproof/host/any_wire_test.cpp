// Checks that an AnyWire returns and does the same as the wire inside it.
#include "wireproof/host/any_wire.hpp"

#include <gtest/gtest.h>

#include <array>

namespace wireproof::host {
namespace {

constexpr PeerId peer{3};
constexpr Instant now{};

/// Records its calls. It meets the contract and has no optional calls.
class NotingWire {
public:
    class Lane {
    public:
        LaneCapabilities capabilities() const { return {.frame_max = 77}; }
        TxFrame* claim() {
            if (full) return nullptr;
            frame.open(room, capabilities());
            return &frame;
        }
        void commit() { committed = frame.size(); }

        bool full = false;
        std::array<std::byte, 16> room{};
        TxFrame frame;
        std::size_t committed = 0;
    };

    Lane& lane(PeerId which) { return lanes_.at(static_cast<std::size_t>(which)); }
    std::optional<RxFrame> receive(Instant) { return RxFrame{{}, peer, Integrity::intact}; }
    void flush(Instant when) { flushed = when; }
    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        return std::pair(peer, WireEvent::new_life);
    }
    Instant next_deadline() const { return Instant(Duration(9)); }

    Instant flushed = never;

private:
    std::array<Lane, 8> lanes_;
};

/// Also has all optional calls.
class OfferingWire : public NotingWire {
public:
    class Lane : public NotingWire::Lane {
    public:
        FrameRun claim_run(std::size_t size, std::size_t most) {
            return {Bytes(room).first(size * most), most, size};
        }
        void commit_run(const FrameRun& run) { committed = run.room.size(); }
        void publish() { ++shown; }

        int shown = 0;
    };
    Lane& lane(PeerId which) { return running.at(static_cast<std::size_t>(which)); }
    std::array<Lane, 8> running;

    int wait_handle() const { return 42; }
    bool prepare_to_sleep() { return false; }
    void settle(PeerId which) { settled = which; }
    void unsettle(PeerId which) { unsettled = which; }

    Expected<Bytes> allocate_shared(std::size_t bytes) { return Bytes(memory).first(bytes); }
    bool free_shared(Bytes bytes) { return bytes.size() == 6; }
    bool share(PeerId, std::uint64_t, Bytes bytes, bool readable, bool writable) {
        return bytes.size() == 4 && readable && !writable;
    }
    void unshare(PeerId which, std::uint64_t address) { unshared_from = {which, address}; }
    bool unshared(PeerId, std::uint64_t address) const { return address == 7; }
    bool write_memory(PeerId, std::uint64_t, ConstBytes source) { return source.size() == 3; }
    bool read_memory(PeerId, std::uint64_t, Bytes destination) { return destination.size() == 5; }

    RxRun following() const { return {memory.data(), 2, 3}; }
    void take_following(std::size_t frames) { taken = frames; }
    std::size_t taken = 0;

    bool is_still(Instant at) const { return at == Instant(Duration(6)); }
    void expect_single() { expects_single = true; }
    bool expects_single = false;

    std::optional<PeerId> settled;
    std::optional<PeerId> unsettled;
    std::array<std::byte, 8> memory{};
    std::pair<PeerId, std::uint64_t> unshared_from;
};

static_assert(ReachesMemory<OfferingWire>);
static_assert(!ReachesMemory<NotingWire>);
static_assert(has_whole_groups<OfferingWire> && has_whole_groups<NotingWire>);

struct HalfStillWire {
    bool is_still(Instant) const { return true; }
};
struct HalfSharingWire {
    bool share(PeerId, std::uint64_t, Bytes, bool, bool) { return true; }
};
static_assert(!has_whole_groups<HalfStillWire> && !has_whole_groups<HalfSharingWire>);

TEST(AnyWire, PassesEveryCallToTheWireInside) {
    OfferingWire inside;
    AnyWire wire{std::ref(inside)};
    EXPECT_EQ(wire.lane(peer).capabilities().frame_max, 77U);
    TxFrame* frame = wire.lane(peer).claim();
    ASSERT_EQ(frame, &inside.lane(peer).frame);
    frame->add_header<5>();
    wire.lane(peer).commit();
    EXPECT_EQ(inside.lane(peer).committed, 5U);
    inside.lane(peer).full = true;
    EXPECT_EQ(wire.lane(peer).claim(), nullptr);
    EXPECT_NE(wire.lane(PeerId{0}).claim(), nullptr);
    EXPECT_EQ(wire.receive(now)->from, peer);
    wire.flush(Instant(Duration(5)));
    EXPECT_EQ(inside.flushed, Instant(Duration(5)));
    EXPECT_EQ(wire.next_event()->second, WireEvent::new_life);
    EXPECT_EQ(wire.next_deadline(), Instant(Duration(9)));
    EXPECT_TRUE(wire.is_still(Instant(Duration(6))));
    EXPECT_FALSE(wire.is_still(now));
    EXPECT_FALSE(inside.expects_single);
    wire.expect_single();
    EXPECT_TRUE(inside.expects_single);
    EXPECT_EQ(wire.wait_handle(), 42);
    EXPECT_FALSE(wire.prepare_to_sleep());
    wire.settle(peer);
    EXPECT_EQ(inside.settled, peer);
    EXPECT_FALSE(inside.unsettled);
    wire.unsettle(PeerId{1});
    EXPECT_EQ(inside.unsettled, PeerId{1});
}

TEST(AnyWire, PassesWhatReachesAPeersMemory) {
    OfferingWire inside;
    AnyWire wire{std::ref(inside)};
    const auto allocated = wire.allocate_shared(4);
    ASSERT_TRUE(allocated.has_value());
    EXPECT_EQ(allocated->data(), inside.memory.data());
    EXPECT_FALSE(wire.free_shared(*allocated));
    EXPECT_TRUE(wire.free_shared(Bytes(inside.memory).first(6)));
    EXPECT_TRUE(wire.share(peer, 1, *allocated, true, false));
    EXPECT_FALSE(wire.share(peer, 1, *allocated, false, true));
    wire.unshare(peer, 9);
    EXPECT_EQ(inside.unshared_from, std::pair(peer, std::uint64_t{9}));
    EXPECT_TRUE(wire.unshared(peer, 7));
    EXPECT_FALSE(wire.unshared(peer, 8));
    EXPECT_TRUE(wire.write_memory(peer, 1, allocated->first(3)));
    EXPECT_FALSE(wire.write_memory(peer, 1, *allocated));
    EXPECT_TRUE(wire.read_memory(peer, 1, Bytes(inside.memory).first(5)));
    EXPECT_FALSE(wire.read_memory(peer, 1, *allocated));
}

TEST(AnyWire, IsNeutralWhereTheWireInsideOffersNothing) {
    AnyWire wire{NotingWire()};
    std::array<std::byte, 8> memory{};
    EXPECT_EQ(wire.allocate_shared(1).error().message, "this wire shares no memory");
    EXPECT_FALSE(wire.free_shared(memory));
    EXPECT_FALSE(wire.share(peer, 1, memory, true, true));
    wire.unshare(peer, 1);
    EXPECT_TRUE(wire.unshared(peer, 1));
    EXPECT_FALSE(wire.write_memory(peer, 1, memory));
    EXPECT_FALSE(wire.read_memory(peer, 1, memory));
    EXPECT_FALSE(wire.is_still(now)) << "it cannot tell";
    wire.expect_single();
    EXPECT_EQ(wire.wait_handle(), -1);
    EXPECT_TRUE(wire.prepare_to_sleep());
    wire.settle(peer);
    wire.unsettle(peer);
    EXPECT_EQ(wire.lane(peer).capabilities().frame_max, 77U);
}

TEST(AnyWire, RunsOfFramesGoStraightToAndFromAWireThatHasThem) {
    OfferingWire inside;
    AnyWire wire{std::ref(inside)};
    const FrameRun run = wire.lane(peer).claim_run(4, 3);
    EXPECT_EQ(run.frames, 3U);
    EXPECT_EQ(run.room.data(), inside.lane(peer).room.data());
    wire.lane(peer).commit_run(run);
    EXPECT_EQ(inside.lane(peer).committed, 12U);
    wire.lane(peer).publish();
    EXPECT_EQ(inside.lane(peer).shown, 1);

    const RxRun came = wire.following();
    EXPECT_EQ(came.data, inside.memory.data());
    EXPECT_EQ(came.frames, 2U);
    EXPECT_EQ(came.size, 3U);
    wire.take_following(2);
    EXPECT_EQ(inside.taken, 2U);

    NotingWire other;
    AnyWire without{std::ref(other)};
    EXPECT_EQ(without.following().frames, 0U);
    EXPECT_EQ(without.lane(peer).claim_run(4, 3).frames, 0U);
    without.lane(peer).publish();  // the flush publishes
}

TEST(AnyWire, TheWireInsideIsGivenToWhoKnowsIt) {
    OfferingWire inside;
    AnyWire lent{std::ref(inside)};
    EXPECT_EQ(lent.as<OfferingWire>(), &inside);
    EXPECT_EQ(lent.as<NotingWire>(), nullptr) << "it is another, though made from this";
    AnyWire held{NotingWire()};
    ASSERT_NE(held.as<NotingWire>(), nullptr);
    held.flush(Instant(Duration(5)));
    EXPECT_EQ(held.as<NotingWire>()->flushed, Instant(Duration(5)));
    EXPECT_EQ(held.as<OfferingWire>(), nullptr);
}

// A wire may learn of a peer after the caller has asked AnyWire for its lane.
TEST(AnyWire, TheLaneInsideIsAskedForWhenItIsNeeded) {
    struct Learning : NotingWire {
        Lane& lane(PeerId which) {
            asked.push_back(which);
            return NotingWire::lane(which);
        }
        std::vector<PeerId> asked;
    } inside;
    AnyWire wire{std::ref(inside)};
    AnyLane& lane = wire.lane(peer);
    EXPECT_TRUE(inside.asked.empty());
    for (int i = 0; i < 3; ++i) {
        lane.claim();
        lane.commit();
    }
    EXPECT_EQ(inside.asked, std::vector<PeerId>{peer});
}

TEST(AnyWire, LanesStayWhereTheyAreWhenOthersComeAndTheWireMoves) {
    NotingWire inside;
    AnyWire wire{std::ref(inside)};
    AnyLane& lane = wire.lane(PeerId{0});
    wire.lane(PeerId{7});
    AnyWire moved = std::move(wire);
    EXPECT_EQ(&moved.lane(PeerId{0}), &lane);
    lane.claim()->add_header<2>();
    lane.commit();
    EXPECT_EQ(inside.lane(PeerId{0}).committed, 2U);
}

}  // namespace
}  // namespace wireproof::host
