// The receiving half of a link: which frame is taken, and which ACK or NACK leaves
// (docs/rules/ue.md). Numbers start 6 before the wrap.
#include <gtest/gtest.h>

#include "wireproof/proto/ue/pair_test_kit.hpp"

namespace wireproof::ue {
namespace {

using enum RxVerdict;
using ReceiverState = Receiver::State;

struct Arrivals : Pair {
    explicit Arrivals(std::size_t count, const Config& config = test_config()) : Pair(config) {
        submit(count);
        sent = frames(a);
    }
    RxVerdict arrive(std::size_t i, Integrity integrity = Integrity::check) {
        return b.give(now, sent.at(i), integrity);
    }
    ReceiverState state() const { return b.link.receiver().state(); }
    std::vector<Frame> sent;
};

// LLR-1
TEST(UeReceive, TakesEachExpectedFrameAndAcknowledgesTheLast) {
    Arrivals pair(8);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(pair.arrive(i), accepted);
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048572"});
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    for (std::size_t i = 3; i < 8; ++i) EXPECT_EQ(pair.arrive(i), accepted);
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1"});
    EXPECT_EQ(pair.b.stats().rx_expected_seq_good, 8U);
    EXPECT_EQ(pair.b.link.receiver().next_rx_seq(), 2U);
    pair.expect_all();
}

// LLR-6
TEST(UeReceive, SendsOneNackForOneGapHoweverManyFramesFollow) {
    Arrivals pair(6);
    pair.arrive(0);
    for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(pair.arrive(i), out_of_sequence);
    EXPECT_EQ(pair.state(), ReceiverState::send_nack);
    EXPECT_EQ(pair.leaving(pair.b), Names{"NACK 1048570"});  // in place of the ACK
    EXPECT_EQ(pair.state(), ReceiverState::nack_sent);
    EXPECT_EQ(pair.arrive(5), out_of_sequence);
    EXPECT_EQ(pair.arrive(0), duplicate);
    EXPECT_EQ(pair.arrive(1, Integrity::damaged), corrupt);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.arrive(1), accepted);
    EXPECT_EQ(pair.state(), ReceiverState::send_acks);
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048571"});
    EXPECT_EQ(pair.b.stats().rx_replay, 1U);
    EXPECT_EQ(pair.b.stats().naks, 1U);
    EXPECT_EQ(pair.b.stats().rx_missing_seq, 4U);
    expect_identity(pair.b.stats());
}

// LLR-6
TEST(UeReceive, ABadExpectedFrameDrawsOneNack) {
    Arrivals pair(3);
    EXPECT_EQ(pair.arrive(0, Integrity::damaged), corrupt);
    EXPECT_EQ(pair.leaving(pair.b), Names{"NACK 1048569"});
    EXPECT_EQ(pair.arrive(0, Integrity::damaged), corrupt);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.b.stats().rx_expected_seq_bad, 2U);
    EXPECT_TRUE(pair.b.got.empty());
    expect_identity(pair.b.stats());
}

// LLR-6
TEST(UeReceive, ANackThatTheExpectedFrameOvertakesIsDropped) {
    Arrivals pair(3);
    pair.arrive(0);
    EXPECT_EQ(pair.arrive(2), out_of_sequence);
    EXPECT_EQ(pair.arrive(1), accepted);
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048571"});
    EXPECT_EQ(pair.b.stats().naks, 0U);
    EXPECT_EQ(pair.b.stats().rx_replay, 0U);  // no NACK was sent
}

// LLR-7
TEST(UeReceive, ADuplicateIsAcknowledged) {
    Arrivals pair(2);
    pair.arrive(0);
    pair.arrive(1);
    pair.leaving(pair.b);
    EXPECT_EQ(pair.arrive(0), duplicate);
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048571"});
    EXPECT_EQ(pair.b.got.size(), 2U);
    EXPECT_EQ(pair.b.stats().rx_duplicate_seq, 1U);

    Config config = test_config();
    config.mends.duplicates_acknowledged = false;
    Arrivals defective(2, config);
    defective.arrive(0);
    defective.leaving(defective.b);
    EXPECT_EQ(defective.arrive(0), duplicate);
    EXPECT_EQ(defective.leaving(defective.b), Names{});
}

// LLR-9: whatever its FCS says, and it is never delivered.
TEST(UeReceive, AFrameThatIsNotExpectedIsTreatedByItsNumberOnly) {
    for (const bool poisoned : {false, true}) {
        Pair pair;
        if (poisoned) pair.a.link.poison_next();
        pair.submit(1);
        pair.a.link.poison_next();
        pair.submit(1);
        if (poisoned) pair.a.link.poison_next();
        pair.submit(1);
        const auto sent = pair.frames(pair.a);
        const Integrity integrity = poisoned ? Integrity::check : Integrity::damaged;
        pair.b.give(pair.now, sent[0]);
        pair.leaving(pair.b);
        EXPECT_EQ(pair.b.give(pair.now, sent[0], integrity), duplicate);
        EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048570"});
        EXPECT_EQ(pair.b.give(pair.now, sent[2], integrity), out_of_sequence);
        EXPECT_EQ(pair.leaving(pair.b), Names{"NACK 1048570"});
        EXPECT_EQ(pair.b.got.size(), poisoned ? 0U : 1U);
        EXPECT_EQ(poisoned ? pair.b.stats().rx_poisoned : pair.b.stats().rx_bad,
                  poisoned ? 3U : 2U);
        EXPECT_EQ(pair.b.stats().rx_missing_seq, 1U);
        expect_identity(pair.b.stats());
    }
}

// LLR-10: a carrier that vouches for the frame may carry a poisoned one, with or without an FCS.
TEST(UeReceive, APoisonedFrameUsesItsNumberAndIsDeliveredOnlyWithItsMark) {
    for (const bool delivers : {false, true}) {
        for (const Integrity integrity : {Integrity::check, Integrity::intact}) {
            for (const bool wants_check : {true, false}) {
                if (integrity == Integrity::check && !wants_check) continue;
                Config config = test_config();
                config.delivers_poisoned = delivers;
                Pair pair(config);
                pair.submit(1);
                pair.a.link.poison_next();
                pair.submit(2);
                while (const auto frame = pair.a.poll(pair.now, wants_check)) {
                    EXPECT_EQ(pair.b.give(pair.now, *frame, integrity), accepted);
                }
                EXPECT_EQ(pair.b.got.size(), delivers ? 3U : 2U);
                EXPECT_EQ(pair.b.poisoned, delivers ? 1 : 0);
                EXPECT_EQ(pair.b.stats().rx_expected_seq_poisoned, 1U);
                EXPECT_EQ(pair.carry(pair.b, pair.a), Names{"ACK 1048572"});
                EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
            }
        }
    }
}

// LLR-10
TEST(UeReceive, ThePoisonPatternIsASetting) {
    Config config = test_config();
    config.poison_pattern = 0x12345678;
    Pair pair(config);
    pair.a.link.poison_next();
    pair.submit(1);
    Frame frame = pair.frames(pair.a).at(0);
    EXPECT_EQ(pair.b.give(pair.now, frame), accepted);
    EXPECT_EQ(pair.b.stats().rx_poisoned, 1U);
    Pair other;
    EXPECT_EQ(other.b.give(other.now, frame), corrupt);
    EXPECT_EQ(other.b.stats().rx_bad, 1U);
}

// LLR-3
TEST(UeReceive, DistinguishesDuplicatesFromGapsAtTheBoundaries) {
    for (const std::uint32_t modulus : {8U, Config::numbers}) {
        for (const bool mended : {true, false}) {
            Config config = test_config();
            config.modulus = modulus;
            config.first_number = modulus - 3;
            config.mends.half_is_duplicate = mended;
            const auto verdict = [&](std::uint32_t ahead) {
                Receiver receiver(config);
                receiver.on_init({CtlType::init, config.first_number});
                Stats stats;
                return receiver.on_frame((config.first_number + ahead) % modulus, FcsVerdict::good,
                                         stats);
            };
            EXPECT_EQ(verdict(0), accepted);
            EXPECT_EQ(verdict(1), out_of_sequence);
            EXPECT_EQ(verdict(modulus / 2 - 1), out_of_sequence);
            EXPECT_EQ(verdict(modulus / 2), mended ? duplicate : out_of_sequence);
            EXPECT_EQ(verdict(modulus / 2 + 1), duplicate);
            EXPECT_EQ(verdict(modulus - 1), duplicate);
        }
    }
    Config config = test_config();
    config.modulus = 8;
    config.first_number = 0;
    Receiver receiver(config);
    receiver.on_init({CtlType::init, 0});
    Stats stats;
    EXPECT_EQ(receiver.on_frame(8, FcsVerdict::good, stats), malformed);
}

// LLR-3: a full window of half the circle is delivered, all ACKs are lost, and the timer replays.
TEST(UeReceive, ReadsAReplayOfAFullWindowOfHalfTheCircleAsDuplicates) {
    for (const std::uint32_t modulus : {8U, Config::numbers}) {
        Config config = test_config();
        config.modulus = modulus;
        config.first_number = modulus - 3;
        config.payload_max = 4;
        config.frame_min = 0;
        config.outstanding_seq_max = modulus / 2;
        config.replay_slots = modulus / 2;
        config.replay_timer_max = Duration::microseconds(1);
        ASSERT_TRUE(config.check());
        Pair pair(config);
        pair.submit(modulus / 2, 4);
        std::size_t frames = 0;
        while (const auto frame = pair.a.poll(pair.now, false)) {
            ++frames;
            ASSERT_EQ(pair.b.give(pair.now, *frame, Integrity::intact), accepted);
        }
        EXPECT_EQ(frames, modulus / 2);
        pair.leaving(pair.b);  // the ACK is lost
        pair.wait();
        const auto head = pair.a.poll(pair.now, false);
        EXPECT_EQ(head->number(), config.first_number);
        EXPECT_EQ(pair.b.give(pair.now, *head, Integrity::intact), duplicate);
        pair.carry(pair.b, pair.a);
        EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
        EXPECT_EQ(pair.a.link.transmitter().state(), Transmitter::State::advance);
        EXPECT_EQ(pair.b.stats().naks, 0U);
        EXPECT_EQ(pair.a.stats().rx_ack_nack_seq_error, 0U);
    }
}

// LLR-3: with the defect, the receiver asks for its own past.
TEST(UeReceive, WithoutTheMendAReplayOfAFullWindowDrawsANack) {
    Config config = test_config();
    config.modulus = 8;
    config.first_number = 5;
    config.outstanding_seq_max = 4;
    config.mends.half_is_duplicate = false;
    Pair pair(config);
    pair.submit(4);
    pair.carry(pair.a, pair.b);
    pair.leaving(pair.b);
    pair.wait();
    pair.b.give(pair.now, *pair.a.poll(pair.now));
    EXPECT_EQ(pair.leaving(pair.b), Names{"NACK 0"});
}

// LLR-30: the ACK names the frame before the expected one, so the sender resends that one.
TEST(UeReceive, ADuplicateAfterANackIsAcknowledgedIfItShould) {
    for (const bool acks : {false, true}) {
        Config config = test_config();
        config.acks_after_nack = acks;
        Arrivals pair(3, config);
        pair.arrive(0);
        pair.arrive(2);
        EXPECT_EQ(pair.arrive(0), duplicate);  // before the NACK leaves, which says the same
        EXPECT_EQ(pair.leaving(pair.b), Names{"NACK 1048570"});
        EXPECT_EQ(pair.arrive(0), duplicate);
        EXPECT_EQ(pair.arrive(2), out_of_sequence);
        EXPECT_EQ(pair.leaving(pair.b), acks ? Names{"ACK 1048570"} : Names{});
        EXPECT_EQ(pair.state(), ReceiverState::nack_sent);
        EXPECT_EQ(pair.arrive(1), accepted);
    }
}

// LLR-31
TEST(UeReceive, CountsAGapOnceIfItShould) {
    Config config = test_config();
    config.missing_once = true;
    Arrivals pair(5, config);
    for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(pair.arrive(i), out_of_sequence);
    EXPECT_EQ(pair.b.stats().rx_missing_seq, 1U);
    EXPECT_EQ(pair.b.stats().rx_ok, 4U);
}

// LLR-32
TEST(UeReceive, AQuietReceiverRepeatsItsAckIfItShould) {
    Config config = test_config();
    config.ack_idle = Duration::microseconds(5);
    Arrivals pair(2, config);
    pair.arrive(0);
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048570"});
    for (int i = 0; i < 3; ++i) {
        pair.pass(Duration::microseconds(5));
        EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048570"});
    }
    pair.b.link.on_wire_event(pair.now, WireEvent::peer_gone);
    EXPECT_EQ(pair.b.link.next_deadline(), never);

    Arrivals silent(2);
    silent.arrive(0);
    silent.leaving(silent.b);
    EXPECT_EQ(silent.b.link.next_deadline(), never);
}

// LLR-33: the number has no check of its own. If it is wrong under a good FCS, the receiver takes
// the wrong frame.
TEST(UeReceive, AWrongNumberUnderAGoodFcsCanMisdeliver) {
    Arrivals pair(2);
    Preamble{pair.sent[0].number()}.encode(Bytes(pair.sent[1].bytes).first<preamble_size>(),
                                           PreambleOrder::number_first);
    EXPECT_EQ(pair.arrive(1), accepted);
    EXPECT_EQ(pair.b.got.at(0), message(8, 1));
}

// LLR-26: as if it were lost.
TEST(UeReceive, ADamagedCtlOsChangesNothing) {
    Arrivals pair(2);
    EXPECT_EQ(pair.a.give(pair.now, ack(1'048'570), Integrity::damaged), corrupt);
    Frame torn = ack(1'048'570);
    torn.bytes.pop_back();
    EXPECT_EQ(pair.a.give(pair.now, torn), corrupt);
    EXPECT_EQ(pair.a.stats().bad_ctl_os, 2U);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 2U);
    EXPECT_EQ(pair.a.give(pair.now, made({CtlType::cf_update})), control);
}

// LLR-25
TEST(UeReceive, BytesThatAreNoFrameAreMalformed) {
    Arrivals pair(1);
    EXPECT_EQ(pair.b.give(pair.now, Frame{}), malformed);
    EXPECT_EQ(pair.b.give(pair.now, Frame{{5, start_byte}}), malformed);
    EXPECT_EQ(pair.b.give(pair.now, Frame{{40, start_byte}}), malformed);
    Frame torn = pair.sent[0];
    torn.bytes.resize(20);
    EXPECT_EQ(pair.b.give(pair.now, torn), corrupt);
    EXPECT_EQ(pair.leaving(pair.b), Names{"NACK 1048569"});
    Frame other = pair.sent[0];  // another type uses its number, too
    other.bytes[20] = std::byte{0x08};
    EXPECT_EQ(pair.b.give(pair.now, other, Integrity::intact), malformed);
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048570"});
    EXPECT_TRUE(pair.b.got.empty());
}

// LLR-19: distances on the line from begin to begin; 1 byte takes 1 ns.
TEST(UeReceive, AcksKeepTheirDistanceAndANackTakesTheNextSlot) {
    Config config = test_config();
    config.byte_time = Duration::nanoseconds(1);
    config.init_every = {};
    config.replay_timer_max = Duration::nanoseconds(60'000);
    Pair pair(config, config);
    for (pair.settle(); !(pair.a.link.has_room() && pair.b.link.has_room()); pair.settle()) {
        pair.wait();
    }
    pair.pass(Duration::microseconds(10));
    pair.submit(8);
    const auto sent = pair.frames(pair.a);
    const Instant start = pair.now;
    pair.b.give(pair.now, sent[0]);
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048570"});
    pair.b.give(pair.now, sent[1]);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.b.link.next_deadline(), start + Duration::nanoseconds(2048));
    pair.pass(Duration::nanoseconds(300));
    pair.b.give(pair.now, sent[3]);  // a gap
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.pass_to(start + Duration::nanoseconds(399));
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.pass_to(start + Duration::nanoseconds(400));
    EXPECT_EQ(pair.leaving(pair.b), Names{"NACK 1048571"});
    pair.b.give(pair.now, sent[2]);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.pass_to(start + Duration::nanoseconds(2447));  // 2047 after the NACK
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.b.link.next_deadline(), start + Duration::nanoseconds(2448));
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.b), Names{"ACK 1048572"});
    EXPECT_EQ(pair.b.link.next_deadline(), never);
}

}  // namespace
}  // namespace wireproof::ue
