// Tests the times of a cable to the picosecond, its order, and each fault by script.
#include "wireproof/sim/cable.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/sim/compose.hpp"

namespace wireproof::sim {
namespace {

constexpr Instant cable_at(std::int64_t nanoseconds) {
    return Instant(Duration::nanoseconds(nanoseconds));
}

// 1 byte per nanosecond, 100 ns of flight.
CableConfig slow() {
    return {.frame_max = 64,
            .bytes_per_second = 1'000'000'000,
            .latency = Duration::nanoseconds(100),
            .hold_limit = Duration::nanoseconds(1000)};
}

Cable cable_with(const CableConfig& config) {
    return Cable(config, 1, 0, 1);
}

// A frame of `size` bytes. The first byte is `name`.
void commit_frame(Cable& cable, char name, std::size_t size = 10) {
    TxFrame* room = cable.claim();
    ASSERT_NE(room, nullptr);
    const Bytes bytes = room->add_room(size);
    bytes[0] = static_cast<std::byte>(name);
    cable.commit();
}

void send_frames(Cable& cable, Instant now, std::string_view names) {
    for (const char name : names) commit_frame(cable, name);
    cable.flush(now);
}

// "A110 B120": each frame's name and the nanosecond of its arrival.
std::string arrivals(Cable& cable) {
    std::string text;
    while (cable.next_arrival() != never) {
        const Instant when = cable.next_arrival();
        EXPECT_FALSE(cable.take(when + Duration(-1)));
        const auto frame = cable.take(when);
        if (!text.empty()) text += ' ';
        text += std::to_integer<char>(frame->bytes[0]);
        text += std::to_string(when.since_start().nanoseconds());
    }
    return text;
}

FaultRule nth(std::uint64_t n, Fate fate) {
    FaultRule rule;
    rule.nth_first = rule.nth_last = n;
    rule.fate = fate;
    return rule;
}

TEST(Compose, MovesTrailersBehindPayloadThatIsPointedAt) {
    std::vector<std::byte> room(8);
    const std::vector<std::byte> payload{std::byte{'b'}, std::byte{'c'}, std::byte{'d'}};
    TxFrame frame;
    frame.open(room, {.frame_max = 8});
    frame.add_room(1)[0] = std::byte{'a'};
    frame.add_payload(payload);
    const Bytes trailer = frame.add_room(2);
    trailer[0] = std::byte{'e'};
    trailer[1] = std::byte{'f'};
    std::string text;
    for (const std::byte byte : compose(frame, room)) text += std::to_integer<char>(byte);
    EXPECT_EQ(text, "abcdef");
}

TEST(Compose, MovesAHeaderThatFollowsPayload) {
    std::vector<std::byte> room(5);
    const std::vector<std::byte> payload{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
    TxFrame frame;
    frame.open(room, {.frame_max = 5});
    frame.add_payload(payload);
    const Bytes trailer = frame.add_room(2);
    trailer[0] = std::byte{'d'};
    trailer[1] = std::byte{'e'};
    std::string text;
    for (const std::byte byte : compose(frame, room)) text += std::to_integer<char>(byte);
    EXPECT_EQ(text, "abcde");
}

TEST(Cable, SerialisesFramesOneAfterAnotherAndAddsLatency) {
    Cable cable = cable_with(slow());
    commit_frame(cable, 'A', 10);
    commit_frame(cable, 'B', 30);
    EXPECT_EQ(cable.next_arrival(), never) << "nothing leaves before flush";
    cable.flush(cable_at(5));
    commit_frame(cable, 'C', 10);
    cable.flush(cable_at(20));
    commit_frame(cable, 'D', 10);
    cable.flush(cable_at(500));
    EXPECT_EQ(arrivals(cable), "A115 B145 C155 D610");
    EXPECT_EQ(cable.counts().frames, 4u);
    EXPECT_EQ(cable.counts().bytes, 60u);
}

TEST(Cable, ExactToThePicosecondAtFortyMegabytesPerSecond) {
    Cable cable = cable_with({.frame_max = 256, .bytes_per_second = 40'000'000});
    commit_frame(cable, 'A', 256);
    cable.flush(Instant());
    EXPECT_EQ(cable.next_arrival(), Instant(Duration(6'400'000 + 1'000'000)));
}

TEST(Cable, LosesWhatItsQueueDoesNotHold) {
    CableConfig config = slow();
    config.queue_max = 25;
    Cable cable = cable_with(config);
    send_frames(cable, Instant(), "ABCD");  // 20 bytes wait: no room for C and D
    commit_frame(cable, 'E', 10);
    cable.flush(cable_at(6));  // four bytes of A are left
    commit_frame(cable, 'F', 10);
    cable.flush(cable_at(6));
    EXPECT_EQ(arrivals(cable), "A110 B120 E130");
    EXPECT_EQ(cable.counts().overflowed, 3u);
    EXPECT_EQ(cable.counts().frames, 6u);
}

/// "A! B": the frames that arrive, and which of them have a mark.
std::string marks(Cable& cable) {
    std::string text;
    while (cable.next_arrival() != never) {
        const auto frame = cable.take(cable.next_arrival());
        if (!text.empty()) text += ' ';
        text += std::to_integer<char>(frame->bytes[0]);
        if (frame->marked) text += '!';
    }
    return text;
}

TEST(Cable, MarksFramesThatFindALongQueue) {
    CableConfig config = slow();
    config.queue_max = 45;
    config.mark_above = 19;
    Cable cable = cable_with(config);
    send_frames(cable, Instant(), "ABCDE");  // 0, 10, 20, 30 and 40 bytes wait before each
    EXPECT_EQ(marks(cable), "A B C! D!");
    EXPECT_EQ(cable.counts().overflowed, 1U);
    EXPECT_EQ(cable.counts().marked, 2U);
    send_frames(cable, cable_at(1'000), "FG");  // in the slots of frames that had a mark
    EXPECT_EQ(marks(cable), "F G");
}

TEST(Cable, MarksFramesAsItsFaultPlanSays) {
    Cable cable = cable_with(slow());
    cable.faults().add_rule(nth(2, {.marked = true}));
    cable.faults().add_rule(nth(3, {.duplicated = true, .marked = true}));
    send_frames(cable, Instant(), "ABCD");
    EXPECT_EQ(marks(cable), "A B! C! C! D");
    EXPECT_EQ(cable.counts().marked, 2U);
    CableConfig config = slow();
    config.faults.mark = 1;
    Cable router = cable_with(config);
    send_frames(router, Instant(), "AB");
    EXPECT_EQ(marks(router), "A! B!");
    EXPECT_EQ(router.counts().marked, 2U);
}

TEST(Cable, AFrameThatIsLongerThanTheQueueIsLostOnAnIdleCableToo) {
    CableConfig config = slow();
    config.queue_max = 25;
    Cable cable = cable_with(config);
    commit_frame(cable, 'A', 26);
    commit_frame(cable, 'B', 25);
    cable.flush(Instant());
    EXPECT_EQ(arrivals(cable), "B125");
    EXPECT_EQ(cable.counts().overflowed, 1u);
}

// If jitter and loss used the same random numbers, the frames that are not lost would have a biased
// delay.
TEST(Cable, JitterDoesNotDependOnWhatIsLost) {
    CableConfig config = slow();
    config.bytes_per_second = 0;
    config.jitter = Duration::nanoseconds(1'000);
    config.faults = {.loss = 0.5};
    Cable cable = cable_with(config);
    double sum = 0;
    int arrived = 0;
    for (int i = 0; i < 4'000; ++i) {
        send_frames(cable, Instant(), "A");
        if (cable.next_arrival() == never) continue;
        const Duration late = cable.next_arrival() - cable_at(100);
        sum += static_cast<double>(late.picoseconds()) / 1e6;
        ++arrived;
        ASSERT_TRUE(cable.take(cable.next_arrival()));
    }
    EXPECT_NEAR(arrived, 2'000, 160);
    EXPECT_NEAR(sum / arrived, 0.5, 4 * 0.289 / std::sqrt(arrived));
}

TEST(Cable, WithoutABandwidthFramesLeaveTogether) {
    CableConfig config = slow();
    config.bytes_per_second = 0;
    Cable cable = cable_with(config);
    send_frames(cable, cable_at(7), "AB");
    EXPECT_EQ(arrivals(cable), "A107 B107");
}

TEST(Cable, SaysHowMuchOfADamagedFrameIsIntactOrFlipsABitBehindIt) {
    for (const bool flips : {false, true}) {
        CableConfig config = slow();
        config.flip_bits = flips;
        Cable cable = cable_with(config);
        cable.faults().add_rule(nth(2, {.damaged = true, .intact_front = 9}));
        cable.faults().add_rule(nth(4, {.damaged = true}));
        send_frames(cable, cable_at(0), "ABCD");
        for (const std::size_t front : {0U, 9U, 0U, 0U}) {
            const auto frame = cable.take(cable.next_arrival());
            ASSERT_TRUE(frame);
            EXPECT_EQ(frame->intact_front, flips ? 0 : front);
            if (front == 0) continue;
            EXPECT_EQ(frame->bytes[9] != std::byte{0}, flips);
        }
    }
}

TEST(Cable, LosesDamagesAndDuplicatesByScript) {
    Cable cable = cable_with(slow());
    cable.faults().add_rule(nth(1, {.lost = true}));
    cable.faults().add_rule(nth(2, {.damaged = true}));
    cable.faults().add_rule(nth(3, {.duplicated = true}));
    send_frames(cable, Instant(), "ABCD");
    const auto damaged = cable.take(cable_at(120));
    ASSERT_TRUE(damaged);
    EXPECT_EQ(damaged->bytes[0], std::byte{'B'});
    EXPECT_EQ(damaged->integrity, Integrity::damaged);
    EXPECT_EQ(cable.take(cable_at(130))->integrity, Integrity::intact);
    EXPECT_EQ(arrivals(cable), "C140 D150");
    CableCounts expected;
    expected.frames = 4;
    expected.bytes = 40;
    expected.lost = expected.damaged = expected.duplicated = 1;
    EXPECT_EQ(cable.counts(), expected);
}

TEST(Cable, HoldsAFrameBehindExactlyThoseThatOvertakeIt) {
    Cable cable = cable_with(slow());
    cable.faults().add_rule(nth(1, {.held_behind = 2}));
    send_frames(cable, Instant(), "ABCD");
    EXPECT_EQ(arrivals(cable), "B120 C130 A130 D140");
    EXPECT_EQ(cable.counts().held, 1u);
}

TEST(Cable, NeitherLostNorHeldFramesCountAsOvertaking) {
    Cable cable = cable_with(slow());
    cable.faults().add_rule(nth(1, {.held_behind = 1}));
    cable.faults().add_rule(nth(2, {.lost = true}));
    cable.faults().add_rule(nth(3, {.held_behind = 1}));
    send_frames(cable, Instant(), "ABCDE");
    EXPECT_EQ(arrivals(cable), "D140 A140 C140 E150");
}

TEST(Cable, AHeldFrameThatNothingOvertakesArrivesAtItsLimit) {
    Cable cable = cable_with(slow());
    cable.faults().add_rule(nth(2, {.duplicated = true, .held_behind = 3}));
    send_frames(cable, Instant(), "AB");
    EXPECT_EQ(arrivals(cable), "A110 B1120 B1130");
    send_frames(cable, cable_at(2000), "CDEF");
    EXPECT_EQ(arrivals(cable), "C2110 D2120 E2130 F2140") << "the held frame left the books";
}

TEST(Cable, ALateOvertakerDoesNotHoldAFrameBeyondItsLimit) {
    Cable cable = cable_with(slow());
    cable.faults().add_rule(nth(1, {.held_behind = 1}));
    send_frames(cable, Instant(), "A");
    send_frames(cable, cable_at(1050), "B");
    EXPECT_EQ(arrivals(cable), "A1110 B1160");
}

TEST(Cable, FlipsRealBitsWhenAskedAndThenVouchesForNothing) {
    CableConfig config = slow();
    config.flip_bits = true;
    Cable cable = cable_with(config);
    EXPECT_FALSE(cable.capabilities().carries_intact);
    cable.faults().add_rule(nth(1, {.damaged = true}));
    for (int i = 0; i < 2; ++i) {
        const Bytes bytes = cable.claim()->add_room(8);
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
        cable.commit();
    }
    cable.flush(Instant());
    int flipped[2] = {};
    for (int& bits : flipped) {
        const auto frame = cable.take(cable_at(1000));
        EXPECT_EQ(frame->integrity, Integrity::check);
        for (const std::byte byte : frame->bytes) {
            bits += std::popcount(std::to_integer<unsigned>(byte));
        }
    }
    EXPECT_EQ(flipped[0], 1);
    EXPECT_EQ(flipped[1], 0);
}

TEST(Cable, JitterReordersAndIsTheSameForTheSameSeed) {
    CableConfig config = slow();
    config.jitter = Duration::nanoseconds(50);
    Cable cable = cable_with(config);
    Cable same = cable_with(config);
    Cable other(config, 2, 0, 1);
    for (Cable* each : {&cable, &same, &other}) send_frames(*each, Instant(), "ABCDEFGH");
    const std::string text = arrivals(cable);
    EXPECT_EQ(text, arrivals(same));
    EXPECT_NE(text, arrivals(other));
    std::string names = text;
    std::erase_if(names, [](char c) { return c < 'A'; });
    EXPECT_NE(names, "ABCDEFGH");
    EXPECT_EQ(names.size(), 8u);
}

TEST(Cable, LendsNoRoomBeyondItsLimitAndSaysWhenThereIsSome) {
    CableConfig config = slow();
    config.in_flight_max = 2;
    Cable cable = cable_with(config);
    commit_frame(cable, 'A');
    EXPECT_EQ(cable.claim(), cable.claim()) << "uncommitted room is lent again";
    commit_frame(cable, 'B');
    EXPECT_EQ(cable.claim(), nullptr) << "committed frames count before they leave";
    cable.flush(Instant());
    EXPECT_EQ(cable.claim(), nullptr);
    EXPECT_EQ(cable.room_since(), never);
    ASSERT_TRUE(cable.take(cable_at(300)));
    EXPECT_EQ(cable.room_since(), cable_at(300));
    send_frames(cable, cable_at(310), "C");
    EXPECT_EQ(cable.room_since(), never);
    // No claim was refused since then, so an arrival does not change room_since().
    Cable later = cable;
    ASSERT_TRUE(later.take(cable_at(310)));
    EXPECT_EQ(later.room_since(), never);
    EXPECT_EQ(arrivals(cable), "B120 C420");
}

TEST(Cable, LosesWhatIsSentIntoACutAndKeepsThePlanForLater) {
    Cable cable = cable_with(slow());
    cable.faults().add_rule(nth(2, {.lost = true}));
    send_frames(cable, Instant(), "A");
    cable.cut();
    send_frames(cable, cable_at(50), "BC");
    cable.mend();
    send_frames(cable, cable_at(100), "DE");
    EXPECT_EQ(arrivals(cable), "A110 E220");
    EXPECT_EQ(cable.counts().cut, 2u);
    EXPECT_EQ(cable.counts().lost, 1u);
    EXPECT_EQ(cable.faults().counts().frames, 3u);
}

TEST(Cable, ACopyMeetsTheSameFuture) {
    CableConfig config = slow();
    config.jitter = Duration::nanoseconds(30);
    config.faults = {.loss = 0.2, .duplicate = 0.2, .reorder = 0.2};
    Cable cable = cable_with(config);
    send_frames(cable, Instant(), "ABCDEFGH");
    ASSERT_NE(cable.claim(), nullptr);
    Cable copy = cable;
    for (Cable* each : {&cable, &copy}) send_frames(*each, cable_at(20), "IJKLMNOP");
    EXPECT_EQ(arrivals(cable), arrivals(copy));
    EXPECT_EQ(cable.counts(), copy.counts());
}

TEST(Cable, LendsRoomForOneFrameAtATimeIfAskedTo) {
    CableConfig config = slow();
    config.one_at_a_time = true;
    Cable cable = cable_with(config);
    cable.look(cable_at(0));
    commit_frame(cable, 'A');
    EXPECT_EQ(cable.claim(), nullptr);  // also not before the flush
    cable.flush(cable_at(0));
    EXPECT_EQ(cable.claim(), nullptr);
    EXPECT_EQ(cable.room_since(), cable_at(10));
    cable.look(cable_at(9));
    EXPECT_EQ(cable.room_since(), never);  // no claim since look()
    EXPECT_EQ(cable.claim(), nullptr);
    cable.look(cable_at(10));
    commit_frame(cable, 'B');
    cable.flush(cable_at(10));
    EXPECT_EQ(arrivals(cable), "A110 B120");
}

TEST(Cable, ADuplicateIsARetransmissionIfTheFrameIs) {
    CableConfig config = slow();
    config.faults = {.duplicate = 1};
    Cable cable = cable_with(config);
    ASSERT_NE(cable.claim(), nullptr);
    cable.claim()->mark_resent();
    cable.commit();
    cable.flush(cable_at(0));
    for (int copy = 0; copy < 2; ++copy) {
        ASSERT_NE(cable.front(), nullptr);
        EXPECT_TRUE(cable.front()->resent) << copy;
        EXPECT_TRUE(cable.take(cable_at(1000)));
    }
    EXPECT_EQ(cable.counts().resent, 1U) << "the sender sent one frame";
}

TEST(Cable, CarriesPayloadByReferenceIfAskedTo) {
    CableConfig config = slow();
    config.lend_payload = true;
    config.faults = {.duplicate = 1};
    Cable cable = cable_with(config);
    const std::vector<std::byte> payload(40, std::byte{7});
    TxFrame* room = cable.claim();
    ASSERT_NE(room, nullptr);
    room->add_room(3)[0] = std::byte{'A'};
    room->add_payload(payload);
    room->add_room(2)[1] = std::byte{'Z'};
    cable.commit();
    commit_frame(cable, 'B');  // no payload
    cable.flush(cable_at(0));
    EXPECT_EQ(cable.counts().bytes, 55u);
    EXPECT_EQ(cable.next_arrival(), cable_at(145));
    for (int copy = 0; copy < 2; ++copy) {
        const auto frame = cable.take(cable_at(1000));
        ASSERT_TRUE(frame);
        EXPECT_EQ(frame->bytes.size(), 5u);
        EXPECT_EQ(frame->bytes[4], std::byte{'Z'});
        EXPECT_EQ(frame->lent.data(), payload.data());
        EXPECT_EQ(frame->lent.size(), 40u);
        EXPECT_EQ(frame->lent_at, 3u);
        EXPECT_EQ(frame->size(), 45u);
    }
    const auto frame = cable.take(cable_at(1000));
    ASSERT_TRUE(frame);
    EXPECT_TRUE(frame->lent.empty());
    EXPECT_EQ(frame->bytes.size(), 10u);
}

TEST(Cable, AFrameIsLentUntilTheNextTakeHoweverManyAreSent) {
    Cable cable = cable_with(slow());
    send_frames(cable, Instant(), "A");
    const auto frame = cable.take(cable_at(200));
    for (int i = 0; i < 100; ++i) send_frames(cable, cable_at(200), "ZZZZ");
    EXPECT_EQ(frame->bytes[0], std::byte{'A'});
}

}  // namespace
}  // namespace wireproof::sim
