// Shows each fate at the inner wire: which frames leave, in which order, at which flush, and which
// memory they point to then.
#include "wireproof/wire/faulty/faulty_wire.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <deque>
#include <string>
#include <string_view>

namespace wireproof {
namespace {

constexpr PeerId first{0};
constexpr PeerId second{1};

ConstBytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

Instant at(std::int64_t microseconds) {
    return Instant(Duration::microseconds(microseconds));
}

/// Reads every frame at the flush and not before, as UDP does, and takes `room` of them for each
/// lane and flush. Promises everything, so that the test sees the promises of the faulty wire
/// around it.
class ShelfWire {
public:
    struct Leaving {
        std::string text;
        bool resent = false;
    };

    class Lane {
    public:
        LaneCapabilities capabilities() const {
            return {.frame_max = 64, .carries_intact = true, .carries_all = true};
        }
        TxFrame* claim() {
            if (shelf_.size() >= room) return nullptr;
            next_.bytes.assign(64, std::byte{0});
            next_.frame.open(next_.bytes, capabilities());
            return &next_.frame;
        }
        void commit() { shelf_.push_back(std::move(next_)); }

        std::size_t room = 1'000;
        std::vector<Leaving> left;

    private:
        friend class ShelfWire;

        struct Slot {
            std::vector<std::byte> bytes;
            TxFrame frame;
        };

        Slot next_;
        std::vector<Slot> shelf_;
    };

    explicit ShelfWire(std::size_t peers = 2) : lanes_(peers) {}

    Lane& lane(PeerId peer) { return lanes_.at(static_cast<std::size_t>(peer)); }
    void flush(Instant) {
        for (Lane& lane : lanes_) {
            for (const Lane::Slot& slot : lane.shelf_) {
                std::string text(slot.frame.size(), '\0');
                slot.frame.gather(std::as_writable_bytes(std::span(text)));
                lane.left.push_back({std::move(text), slot.frame.resent()});
            }
            lane.shelf_.clear();
        }
    }
    std::optional<RxFrame> receive(Instant) {
        if (arriving.empty()) return std::nullopt;
        const RxFrame frame = arriving.front();
        arriving.pop_front();
        return frame;
    }
    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        return std::pair(second, WireEvent::peer_gone);
    }
    Instant next_deadline() const { return deadline; }
    void settle(PeerId peer) { settled = peer; }
    void unsettle(PeerId) { settled = std::nullopt; }

    std::deque<RxFrame> arriving;
    Instant deadline = never;
    std::optional<PeerId> settled;

private:
    std::deque<Lane> lanes_;
};

static_assert(Wire<ShelfWire>);
static_assert(Wire<FaultyWire<ShelfWire>>);

using Tested = FaultyWire<ShelfWire>;

/// Writes the first letter in place and points to the rest.
bool commit(Tested& wire, std::string_view text, PeerId to = first) {
    TxFrame* frame = wire.lane(to).claim();
    if (frame == nullptr) return false;
    frame->add_header<1>()[0] = static_cast<std::byte>(text.front());
    frame->add_payload(bytes_of(text.substr(1)));
    wire.lane(to).commit();
    return true;
}

/// All frames that have left the inner wire, as "one two three".
std::string left(Tested& wire, PeerId to = first) {
    std::string all;
    for (const auto& frame : wire.inner().lane(to).left) {
        all += (all.empty() ? "" : " ") + frame.text;
    }
    return all;
}

/// Commits single letters before one flush, with a rule for one of them. Returns what leaves.
std::string fate_of(std::uint64_t nth, const Fate& fate, std::string_view letters) {
    Tested wire(ShelfWire(), {.script = {{.nth_first = nth, .nth_last = nth, .fate = fate}}});
    for (std::size_t i = 0; i < letters.size(); ++i) commit(wire, letters.substr(i, 1));
    wire.flush(at(0));
    return left(wire);
}

TEST(FaultyWire, PassesOnWhatItHasNothingAgainst) {
    Tested wire(ShelfWire(), {});
    const std::string payload = "payload";
    TxFrame* frame = wire.lane(first).claim();
    ASSERT_NE(frame, nullptr);
    frame->add_header<1>()[0] = std::byte{'<'};
    frame->add_payload(bytes_of(payload));
    frame->add_header<1>()[0] = std::byte{'>'};
    frame->mark_resent();
    wire.lane(first).commit();
    ASSERT_TRUE(commit(wire, "second"));
    EXPECT_EQ(left(wire), "");
    wire.flush(at(0));
    EXPECT_EQ(left(wire), "<payload> second");
    EXPECT_TRUE(wire.inner().lane(first).left[0].resent);
    EXPECT_FALSE(wire.inner().lane(first).left[1].resent);
}

TEST(FaultyWire, PointsAtThePayloadOfAnUntouchedFrameInsteadOfCopyingIt) {
    Tested wire(ShelfWire(), {});
    std::string text = "early";
    ASSERT_TRUE(commit(wire, text));
    text = "Later";
    wire.flush(at(0));
    EXPECT_EQ(left(wire), "eater");
}

TEST(FaultyWire, LosesTheFrameNamed) {
    EXPECT_EQ(fate_of(2, {.lost = true}, "abc"), "a c");
}

TEST(FaultyWire, RepeatsTheFrameNamed) {
    EXPECT_EQ(fate_of(2, {.duplicated = true}, "abc"), "a b b c");
}

TEST(FaultyWire, HoldsAFrameBehindExactlyAsManyOthers) {
    EXPECT_EQ(fate_of(1, {.held_behind = 1}, "abcd"), "b a c d");
    EXPECT_EQ(fate_of(1, {.held_behind = 3}, "abcde"), "b c d a e");
    EXPECT_EQ(fate_of(2, {.duplicated = true, .held_behind = 2}, "abcde"), "a c d b b e");
}

TEST(FaultyWire, AHeldOrLostFrameOvertakesNobody) {
    Tested wire(ShelfWire(),
                {.script = {{.nth_first = 1, .nth_last = 2, .fate = {.held_behind = 1}},
                            {.nth_first = 3, .nth_last = 3, .fate = {.lost = true}}}});
    for (const char* letter : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(commit(wire, letter));
    wire.flush(at(0));
    EXPECT_EQ(left(wire), "d a b e");
}

TEST(FaultyWire, FlipsExactlyTheBitsPlanned) {
    const FaultRates rates{.bit_error = 0.01};
    Tested wire(ShelfWire(), {.rates = rates, .seed = 5});
    const FaultPlan before = wire.plan(first);
    FaultPlan plan = before;
    std::string wanted;
    const std::string original = "twenty bytes of text";
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(commit(wire, original));
        wire.flush(at(0));
        std::string text = original;
        const Fate fate = plan.decide({.length = text.size()});
        if (fate.damaged) plan.damage(std::as_writable_bytes(std::span(text)));
        EXPECT_EQ(fate.damaged, text != original);
        wanted += (i == 0 ? "" : " ") + text;
    }
    EXPECT_EQ(left(wire), wanted);
    EXPECT_EQ(original, "twenty bytes of text");
    EXPECT_EQ(wire.counts(first).damaged, plan.counts().damaged);
    EXPECT_GT(plan.counts().damaged, 50U);
}

TEST(FaultyWire, DamagesBothCopiesAlikeAndTheLentPayloadNot) {
    Tested wire(ShelfWire(), {.script = {{.fate = {.damaged = true, .duplicated = true}}}});
    const std::string original = "text";
    ASSERT_TRUE(commit(wire, original));
    wire.flush(at(0));
    const auto& frames = wire.inner().lane(first).left;
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0].text, frames[1].text);
    EXPECT_NE(frames[0].text, original);
    EXPECT_EQ(original, "text");
}

TEST(FaultyWire, AHeldFrameIsACopyAndLeavesAtItsDeadline) {
    Tested wire(ShelfWire(), {.script = {{.nth_last = 1, .fate = {.held_behind = 2}}},
                              .hold_time = Duration::microseconds(100)});
    EXPECT_FALSE(wire.receive(at(7)));
    std::string text = "early";
    TxFrame* frame = wire.lane(first).claim();
    ASSERT_NE(frame, nullptr);
    frame->add_payload(bytes_of(text));
    frame->mark_resent();
    wire.lane(first).commit();
    wire.flush(at(8));
    text = "later";
    EXPECT_EQ(wire.next_deadline(), at(107));
    wire.flush(at(106));
    EXPECT_EQ(left(wire), "");
    wire.flush(at(107));
    EXPECT_EQ(left(wire), "early");
    EXPECT_TRUE(wire.inner().lane(first).left[0].resent);
    EXPECT_EQ(wire.next_deadline(), never);
}

TEST(FaultyWire, TheEarlierDeadlineOfItsOwnAndTheWireInsideCounts) {
    Tested wire(ShelfWire(), {.script = {{.fate = {.held_behind = 2}}},
                              .hold_time = Duration::microseconds(100)});
    wire.inner().deadline = at(50);
    ASSERT_TRUE(commit(wire, "a"));
    EXPECT_EQ(wire.next_deadline(), at(50));
    wire.inner().deadline = at(500);
    EXPECT_EQ(wire.next_deadline(), at(100));
}

TEST(FaultyWire, LendsNoRoomWhereTheWireInsideHasNone) {
    Tested wire(ShelfWire(), {});
    wire.inner().lane(first).room = 2;
    EXPECT_TRUE(commit(wire, "a"));
    EXPECT_TRUE(commit(wire, "b"));
    EXPECT_FALSE(commit(wire, "c"));
    EXPECT_TRUE(commit(wire, "other", second));
    wire.flush(at(0));
    EXPECT_TRUE(commit(wire, "c"));
    wire.flush(at(0));
    EXPECT_EQ(left(wire), "a b c");
    EXPECT_EQ(wire.counts(first).frames, 3U);
}

TEST(FaultyWire, ARepeatedFrameWithoutRoomWaitsForTheFlushAndLetsNothingPass) {
    Tested wire(ShelfWire(), {.script = {{.nth_last = 1, .fate = {.duplicated = true}}}});
    wire.inner().lane(first).room = 1;
    EXPECT_TRUE(commit(wire, "a"));
    EXPECT_FALSE(commit(wire, "b"));
    EXPECT_NE(wire.next_deadline(), never);
    wire.flush(at(0));  // in two turns
    EXPECT_EQ(left(wire), "a a");
    EXPECT_EQ(wire.next_deadline(), never);
    EXPECT_TRUE(commit(wire, "b"));
    wire.flush(at(0));
    EXPECT_EQ(left(wire), "a a b");
}

TEST(FaultyWire, KeepsNoMoreFramesThanItMay) {
    Tested wire(ShelfWire(), {.script = {{.fate = {.held_behind = 8}}},
                              .hold_time = Duration::microseconds(100),
                              .kept_max = 3});
    for (const char* letter : {"a", "b", "c"}) EXPECT_TRUE(commit(wire, letter));
    EXPECT_FALSE(commit(wire, "d"));
    wire.flush(at(0));
    EXPECT_FALSE(commit(wire, "d"));
    wire.flush(at(100));
    EXPECT_EQ(left(wire), "a b c");
    EXPECT_TRUE(commit(wire, "d"));
}

TEST(FaultyWire, AWireInsideThatStaysFullStopsTheLaneAndLosesNothing) {
    Tested wire(ShelfWire(), {.script = {{.nth_last = 1, .fate = {.held_behind = 5}}}});
    ASSERT_TRUE(commit(wire, "a"));
    wire.inner().lane(first).room = 0;
    wire.flush(at(1'000));
    EXPECT_EQ(left(wire), "");
    EXPECT_FALSE(commit(wire, "b"));
    EXPECT_EQ(wire.next_deadline(), at(2'000));  // tries again
    wire.inner().lane(first).room = 1;
    wire.flush(at(2'000));
    EXPECT_EQ(left(wire), "a");
}

TEST(FaultyWire, LendsUncommittedRoomAgainAndEmpty) {
    Tested wire(ShelfWire(), {});
    TxFrame* abandoned = wire.lane(first).claim();
    ASSERT_NE(abandoned, nullptr);
    abandoned->add_header<8>();
    abandoned->mark_resent();
    ASSERT_TRUE(commit(wire, "a"));
    wire.flush(at(0));
    EXPECT_EQ(left(wire), "a");
    EXPECT_FALSE(wire.inner().lane(first).left[0].resent);
    EXPECT_EQ(wire.sent(first).frames, 1U);
}

TEST(FaultyWire, ScriptsSeeFramesAsTheProtocolDescribesThem) {
    const auto describe = [](ConstBytes bytes) {
        FrameInfo info;
        info.kind = bytes.size() > 1 && bytes[1] == std::byte{'!'} ? "LOUD" : "QUIET";
        info.number = std::to_integer<std::uint32_t>(bytes[0]) - 'a';
        return info;
    };
    Tested wire(ShelfWire(),
                {.script = {{.kind = "LOUD", .number_first = 1, .fate = {.lost = true}}},
                 .describe = describe});
    for (const char* text : {"a!", "b", "b!", "c!", "c"}) ASSERT_TRUE(commit(wire, text));
    wire.flush(at(0));
    EXPECT_EQ(left(wire), "a! b c");
}

TEST(FaultyWire, EachPeerMeetsItsOwnFaults) {
    Tested wire(ShelfWire(), {.rates = {.loss = 0.5}, .script = {}, .seed = 3});
    std::string fates[2];
    for (int i = 0; i < 100; ++i) {
        for (const PeerId peer : {first, second}) {
            const auto before = wire.counts(peer).lost;
            ASSERT_TRUE(commit(wire, "x", peer));
            fates[static_cast<std::size_t>(peer)] += wire.counts(peer).lost > before ? 'x' : '.';
        }
    }
    EXPECT_NE(fates[0], fates[1]);
    EXPECT_EQ(wire.total_counts().frames, 200U);
    EXPECT_EQ(wire.total_counts().lost, wire.counts(first).lost + wire.counts(second).lost);
}

TEST(FaultyWire, CountsWhatItWasGivenToSend) {
    Tested wire(ShelfWire(), {.script = {{.nth_first = 2, .nth_last = 2, .fate = {.lost = true}}}});
    ASSERT_TRUE(commit(wire, "four"));
    TxFrame* frame = wire.lane(first).claim();
    ASSERT_NE(frame, nullptr);
    frame->add_header<6>();
    frame->mark_resent();
    wire.lane(first).commit();
    ASSERT_TRUE(commit(wire, "other", second));
    EXPECT_EQ(wire.sent(first).frames, 2U);
    EXPECT_EQ(wire.sent(first).bytes, 10U);
    EXPECT_EQ(wire.sent(first).resent, 1U);
    EXPECT_EQ(wire.total_sent().frames, 3U);
    EXPECT_EQ(wire.total_sent().bytes, 15U);
    EXPECT_EQ(wire.counts(first).lost, 1U);
    EXPECT_EQ(wire.counts(second).lost, 0U);
}

TEST(FaultyWire, TheSeedAloneDecidesWhatLeaves) {
    const auto run = [](std::uint64_t seed) {
        Tested wire(ShelfWire(),
                    {.rates = {.loss = 0.1, .bit_error = 1e-3, .duplicate = 0.1, .reorder = 0.1},
                     .bursts = {.begin = 0.01, .end = 0.2},
                     .seed = seed});
        std::deque<std::string> texts;
        for (int i = 0; i < 2'000; ++i) {
            const std::string& text = texts.emplace_back("frame " + std::to_string(i));
            while (!commit(wire, text)) wire.flush(at(i));
            if (i % 5 == 0) wire.flush(at(i));
        }
        wire.flush(at(1'000'000));
        return left(wire);
    };
    EXPECT_EQ(run(1), run(1));
    EXPECT_NE(run(1), run(2));
}

TEST(FaultyWire, WhatLeavesIsWhatTheRatesSay) {
    constexpr int frames = 40'000;
    Tested wire(ShelfWire(),
                {.rates = {.loss = 0.05, .duplicate = 0.02, .reorder = 0.1}, .seed = 11});
    std::deque<std::string> texts;
    for (int i = 0; i < frames; ++i) {
        const std::string& text = texts.emplace_back(std::to_string(i));
        while (!commit(wire, text)) wire.flush(at(i));
    }
    wire.flush(at(1'000'000));
    std::vector<int> times(frames);
    int behind = 0;
    int furthest = 0;
    int newest = -1;
    for (const auto& frame : wire.inner().lane(first).left) {
        const int number = std::stoi(frame.text);
        ++times.at(static_cast<std::size_t>(number));
        if (number < newest) ++behind;
        furthest = std::max(furthest, newest - number);
        newest = std::max(newest, number);
    }
    const auto count = [&times](int wanted) {
        return double(std::count(times.begin(), times.end(), wanted));
    };
    const auto five_sigma = [](double p) { return 5 * std::sqrt(frames * p * (1 - p)); };
    EXPECT_NEAR(count(0), frames * 0.05, five_sigma(0.05));
    EXPECT_NEAR(count(2), frames * 0.95 * 0.02, five_sigma(0.95 * 0.02));
    EXPECT_EQ(count(0) + count(1) + count(2), frames);
    EXPECT_NEAR(behind, frames * 0.95 * 0.1 * 1.02, five_sigma(0.95 * 0.1 * 1.02) * 1.1);
    EXPECT_GE(furthest, 8);
    EXPECT_LE(furthest, 40);  // 8 that pass, and those lost or held among them
}

TEST(FaultyWire, PromisesNothingAndPassesNothingUpAsIntact) {
    Tested wire(ShelfWire(), {});
    EXPECT_FALSE(wire.lane(first).capabilities().carries_intact);
    EXPECT_FALSE(wire.lane(first).capabilities().carries_all);
    EXPECT_EQ(wire.lane(first).capabilities().frame_max, 64U);
    EXPECT_TRUE(wire.lane(first).claim()->wants_check());
    EXPECT_TRUE(wire.lane(first).claim()->wants_copy());
    for (const Integrity integrity : {Integrity::intact, Integrity::damaged, Integrity::check}) {
        wire.inner().arriving.push_back({bytes_of("x"), second, integrity});
    }
    const auto frame = wire.receive(at(0));
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->integrity, Integrity::check);
    EXPECT_EQ(frame->from, second);
    EXPECT_EQ(wire.receive(at(0))->integrity, Integrity::damaged);
    EXPECT_EQ(wire.receive(at(0))->integrity, Integrity::check);
    EXPECT_FALSE(wire.receive(at(0)));
}

TEST(FaultyWire, PassesOnWhatTheWireInsideOffersAndIsNeutralInTheRest) {
    Tested wire(ShelfWire(), {});
    EXPECT_EQ(wire.next_event()->second, WireEvent::peer_gone);
    wire.settle(second);
    EXPECT_EQ(wire.inner().settled, second);
    wire.unsettle(second);
    EXPECT_FALSE(wire.inner().settled);
    EXPECT_EQ(wire.wait_handle(), -1);
    EXPECT_TRUE(wire.prepare_to_sleep());
}

TEST(FaultyWire, WorksOnAfterItWasMoved) {
    Tested wire(ShelfWire(), {.script = {{.nth_last = 1, .fate = {.held_behind = 1}}}});
    ASSERT_TRUE(commit(wire, "a"));
    Tested moved = std::move(wire);
    ASSERT_TRUE(commit(moved, "b"));
    moved.flush(at(0));
    EXPECT_EQ(left(moved), "b a");
}

}  // namespace
}  // namespace wireproof
