// The receiving half of UC (docs/rules/ib.md, UC responder). Duplicates behind the expected PSN are
// dropped (uc_drop_behind), unless a test says otherwise.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/port/port_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;
using Verdicts = std::vector<RxVerdict>;

PairSettings with_behind(bool drops) {
    return {.queue_pair = {.uc_drop_behind = drops}};
}

PacketBytes with_psn(PacketBytes packet, std::uint32_t psn) {
    Bth bth = Bth::decode(std::span<const std::byte>(packet).first<Bth::size>());
    bth.psn = Psn(psn);
    bth.encode(std::span(packet).first<Bth::size>());
    return packet;
}

// UC-6: opcodes of another transport, and UC opcodes that do not exist.
TEST(UcReceive, TakesItsTwelveOpcodesAndNoOther) {
    Pair pair;
    pair.send(10);
    const PacketBytes good = pair.a.leaving(pair.now).at(0);
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        if (opcode >= 0x20 && opcode <= 0x2B) continue;
        PacketBytes packet = good;
        packet[0] = static_cast<std::byte>(opcode);
        packet.resize(200);
        pair.receives(0);
        const RxVerdict verdict = pair.b.give(pair.now, packet);
        const bool congestion = opcode == 0x81;
        const bool known = find_opcode(static_cast<std::uint8_t>(opcode)) != nullptr;
        const bool uc = transport_of(static_cast<std::uint8_t>(opcode)) == Transport::uc;
        EXPECT_EQ(verdict, congestion ? control : uc && !known ? malformed : refused) << opcode;
    }
    EXPECT_EQ(pair.b.counters().not_allowed, 20U);
    EXPECT_EQ(pair.b.port.counters().wrong_transport, 223U);
    pair.receives(1);
    EXPECT_EQ(pair.b.give(pair.now, good), accepted);
}

// UC-11: for any packet.
TEST(UcReceive, NeverAnswers) {
    Pair pair;
    pair.receives(1);
    for (const std::size_t length : {600U, 10U, 300U}) pair.send(length);
    auto packets = pair.a.leaving(pair.now);
    std::swap(packets[1], packets[2]);
    packets.push_back(packets[0]);
    for (PacketBytes& packet : packets) {
        packet[8] |= std::byte{0x80};  // AckReq
        pair.b.give(pair.now, packet);
        EXPECT_TRUE(pair.b.leaving(pair.now).empty());
    }
}

// UC-12, UC-13, UC-14, UC-15, UC-16, in both modes.
TEST(UcReceive, LosingAnyOnePacketLosesItsMessageAndNoOther) {
    for (const bool drops : {true, false}) {
        for (std::size_t lost = 0; lost < 7; ++lost) {
            Pair pair(with_behind(drops));
            pair.receives(3);
            pair.send(600);
            pair.send(10);
            pair.send(600);
            auto packets = pair.a.leaving(pair.now);
            ASSERT_EQ(packets.size(), 7U);
            packets.erase(packets.begin() + static_cast<std::ptrdiff_t>(lost));
            pair.give(packets);
            const std::size_t message = lost < 3 ? 0 : lost == 3 ? 1 : 2;
            const auto received = pair.b.received();
            ASSERT_EQ(received.size(), 2U) << lost;
            const std::array<std::size_t, 3> lengths = {600, 10, 600};
            std::size_t n = 0;
            for (std::size_t i = 0; i < 3; ++i) {
                if (i == message) continue;
                EXPECT_EQ(received[n].id, 100 + n) << lost;
                EXPECT_EQ(received[n].length, lengths[i]) << lost;
                EXPECT_EQ(pair.got(n, lengths[i]),
                          pattern(lengths[i], static_cast<unsigned>(i + 1)));
                ++n;
            }
            // Only the next packet shows a loss at the end.
            EXPECT_EQ(pair.b.counters().messages_lost, lost == 6 ? 0U : 1U) << lost;
        }
    }
}

// UC-13
TEST(UcReceive, AfterAGapEverythingUpToTheNextFirstIsIgnored) {
    Pair pair;
    pair.receives(2);
    pair.send(1100);
    pair.send(10);
    const auto packets = pair.a.leaving(pair.now);  // F M M M L O
    EXPECT_EQ(pair.give({packets[0], packets[2], packets[3], packets[4], packets[5]}),
              (Verdicts{accepted, out_of_sequence, out_of_sequence, out_of_sequence, accepted}));
    EXPECT_EQ(pair.b.counters().gaps, 4U);
    EXPECT_EQ(pair.b.counters().abandoned, 1U);
}

// UC-15, UC-16
TEST(UcReceive, ALostLastIsAbandonedAtTheNextFirstAndItsReceiveIsUsedAgain) {
    Pair pair;
    pair.receives(1);
    pair.send(600);
    pair.send(300);
    auto packets = pair.a.leaving(pair.now);
    packets.erase(packets.begin() + 2);
    EXPECT_EQ(pair.give(packets), (Verdicts{accepted, accepted, accepted, accepted}));
    EXPECT_EQ(ids(pair.b.received()), std::vector<std::uint64_t>{100});
    EXPECT_EQ(pair.b.counters().abandoned, 1U);
}

// UC-16: the receive of a shared queue completes in error, because other queue pairs may have used
// later ones.
TEST(UcReceive, AnAbandonedSharedReceiveCompletesInError) {
    Pair pair({.shared_receives = 4});
    pair.receives(2);
    pair.send(600);
    pair.send(300);
    auto packets = pair.a.leaving(pair.now);
    packets.erase(packets.begin() + 2);
    pair.give(packets);
    const auto received = pair.b.received();
    EXPECT_EQ(ids(received), (std::vector<std::uint64_t>{100, 101}));
    EXPECT_EQ(statuses(received),
              (Statuses{CompletionStatus::remote_invalid_request, CompletionStatus::success}));
}

// UC-17, UC-26
TEST(UcReceive, ADuplicateOfAnyPacketAtAnyLaterTimeChangesNothing) {
    const auto run = [](std::size_t of, std::size_t after) {
        Pair pair;
        pair.receives(3);
        pair.send(600);
        pair.post(Request::write, 600, 0x3000);
        pair.send(10);
        const auto packets = pair.a.leaving(pair.now);  // S F M L, W F M L, S O
        for (std::size_t i = 0; i < packets.size(); ++i) {
            EXPECT_EQ(pair.b.give(pair.now, packets[i]), accepted) << of << " " << after;
            if (i == after) {
                Fingerprint before;
                pair.b.port.fingerprint(pair.now, before);
                EXPECT_EQ(pair.b.give(pair.now, packets[of]), duplicate);
                Fingerprint then;
                pair.b.port.fingerprint(pair.now, then);
                EXPECT_EQ(before.value(), then.value());
            }
        }
        EXPECT_EQ(ids(pair.b.received()), (std::vector<std::uint64_t>{100, 101}));
        EXPECT_EQ(pair.got(0, 600), pattern(600, 1));
        EXPECT_EQ(pair.got(1, 10), pattern(10, 3));
        EXPECT_EQ(pair.b.counters().duplicates, 1U);
        EXPECT_EQ(pair.b.counters().messages_lost, 0U);
    };
    for (std::size_t of = 0; of < 7; ++of) {
        for (std::size_t after = of; after < 7; ++after) run(of, after);
    }
}

// With uc_drop_behind off, as in Soft-RoCE.
TEST(UcReceive, WithoutDropBehindARepeatedOnlyIsNewAndARepeatedMiddleKills) {
    Pair pair(with_behind(false));
    pair.receives(3);
    pair.send(10);
    pair.send(600);
    const auto packets = pair.a.leaving(pair.now);
    EXPECT_EQ(pair.give({packets[0], packets[0]}), (Verdicts{accepted, accepted}));
    EXPECT_EQ(pair.give({packets[1], packets[2], packets[2], packets[3]}),
              (Verdicts{accepted, accepted, out_of_sequence, out_of_sequence}));
    EXPECT_EQ(pair.b.received().size(), 2U);
}

// UC-27: F0, L2, M1.
TEST(UcReceive, AMiddleThatFitsAgainWhileDroppingIsDiscarded) {
    for (const bool drops : {true, false}) {
        Pair pair(with_behind(drops));
        pair.receives(1);
        pair.send(600);
        const auto packets = pair.a.leaving(pair.now);
        EXPECT_EQ(pair.give({packets[0], packets[2], packets[1]}),
                  (Verdicts{accepted, out_of_sequence, out_of_sequence}));
        EXPECT_EQ(pair.b.counters().rest_dropped, 1U);
        EXPECT_TRUE(pair.b.received().empty());
    }
}

// UC-14, UC-28: the limit is at 65536.
TEST(UcReceive, SoFarBehindIsADuplicateAndOneMoreIsNew) {
    constexpr std::uint32_t window = 65536;
    Pair pair;
    pair.receives(2);
    pair.send(10);
    const auto packet = pair.a.leaving(pair.now).at(0);
    EXPECT_EQ(pair.b.give(pair.now, with_psn(packet, 0x20000)), accepted);
    EXPECT_EQ(pair.b.give(pair.now, with_psn(packet, 0x20001 - window)), duplicate);
    EXPECT_EQ(pair.b.give(pair.now, with_psn(packet, 0x20001 - window - 1)), accepted);
}

// UC-28: it drops at most W packets as duplicates, not all.
TEST(UcReceive, AfterAJumpBackByTheWindowItTakesTheFirstPacketBeyond) {
    Pair pair({.queue_pair = {.uc_behind_max = 1000}});
    pair.receives(2);
    pair.send(10);
    const auto packet = pair.a.leaving(pair.now).at(0);
    EXPECT_EQ(pair.b.give(pair.now, with_psn(packet, 499)), accepted);
    const std::uint32_t back = (500 - 1000) & 0xFFFFFF;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(pair.b.give(pair.now, with_psn(packet, (back + i) & 0xFFFFFF)), duplicate) << i;
    }
    EXPECT_EQ(pair.b.give(pair.now, with_psn(packet, 500)), accepted);
    EXPECT_EQ(pair.b.counters().duplicates, 1000U);
}

// UC-14
TEST(UcReceive, AnOnlyAfterAGapIsTakenWhateverItsPsn) {
    for (const std::uint32_t psn : {0xFFFFFFU, 5U, 0x7FFFFDU, 0x7FFFFEU, 0x800000U, 0xFEFFFDU}) {
        Pair pair;
        pair.receives(2);
        pair.send(10);
        const auto packet = pair.a.leaving(pair.now).at(0);
        EXPECT_EQ(pair.b.give(pair.now, with_psn(packet, psn)), accepted) << psn;
        EXPECT_EQ(pair.b.give(pair.now, with_psn(packet, (psn + 1) & 0xFFFFFF)), accepted) << psn;
        EXPECT_EQ(pair.b.counters().gaps, 1U);
        EXPECT_EQ(pair.b.counters().resumed, 1U);
    }
}

// UC-13, UC-15: the expected PSN, but an opcode that may not follow.
TEST(UcReceive, AnIllegalSequenceAbandonsWhatIsOpen) {
    Pair pair;
    pair.receives(2);
    pair.send(600);
    const auto sends = pair.a.leaving(pair.now);
    pair.post(Request::write, 600);
    const auto writes = pair.a.leaving(pair.now);
    // A Middle of a Write inside a Send is dropped, and all packets up to the next First.
    EXPECT_EQ(pair.give({sends[0], with_psn(writes[1], 0xFFFFFF), with_psn(sends[1], 0xFFFFFF)}),
              (Verdicts{accepted, out_of_sequence, out_of_sequence}));
    EXPECT_EQ(pair.b.counters().sequence_broken, 1U);
    // A First while a message is open begins a new message.
    EXPECT_EQ(pair.give({with_psn(sends[0], 0), with_psn(sends[0], 1), with_psn(sends[1], 2),
                         with_psn(sends[2], 3)}),
              (Verdicts{accepted, accepted, accepted, accepted}));
    EXPECT_EQ(ids(pair.b.received()), std::vector<std::uint64_t>{100});
    // A Middle without a First.
    EXPECT_EQ(pair.b.give(pair.now, with_psn(sends[1], 4)), out_of_sequence);
    EXPECT_EQ(pair.b.counters().sequence_broken, 2U);
}

// UC-18
TEST(UcReceive, PsnsWrapInsideAMessage) {
    Pair pair;
    pair.receives(1);
    pair.send(1000);
    EXPECT_EQ(pair.give(pair.a.leaving(pair.now)), Verdicts(4, accepted));
    EXPECT_EQ(pair.got(0, 1000), pattern(1000, 1));
}

// UC-19
TEST(UcReceive, WithoutAReceiveRequestAMessageIsLostAndTheNextIsNot) {
    Pair pair;
    pair.send(600);
    pair.send(10);
    const auto packets = pair.a.leaving(pair.now);
    EXPECT_EQ(pair.give({packets[0], packets[1], packets[2]}),
              (Verdicts{refused, out_of_sequence, out_of_sequence}));
    // The same packet again is a duplicate, although it was refused.
    pair.receives(1);
    EXPECT_EQ(pair.b.give(pair.now, packets[0]), duplicate);
    EXPECT_EQ(pair.b.give(pair.now, packets[3]), accepted);
    EXPECT_EQ(pair.b.counters().not_ready, 1U);
    EXPECT_EQ(pair.b.counters().messages_lost, 1U);
    EXPECT_EQ(pair.got(0, 10), pattern(10, 2));
}

// UC-20: wrong key, wrong end, no right.
TEST(UcReceive, AWriteWithoutRightIsDroppedWhole) {
    Pair pair;
    const auto expect_refused = [&pair](const WorkTerms& terms) {
        const std::vector<std::byte> before = pair.b.memory;
        EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 600)), PostStatus::accepted);
        EXPECT_EQ(pair.give(pair.a.leaving(pair.now)),
                  (Verdicts{refused, out_of_sequence, out_of_sequence}));
        EXPECT_EQ(pair.b.memory, before);
        EXPECT_EQ(pair.b.state(), QueuePairState::rts);
    };
    pair.a.fill(0, pattern(600, 9));
    WorkTerms terms{
        .request = Request::write, .remote_address = End::base, .remote_key = pair.b.key ^ 1};
    expect_refused(terms);
    terms.remote_key = pair.b.key;
    terms.remote_address = End::base + 65536 - 599;  // only the bytes of its Last are outside
    expect_refused(terms);
    EXPECT_EQ(pair.b.counters().bad_key, 2U);
    terms.remote_address = End::base;
    QueuePairChange no_writes{.access = Access{.remote_read = true}};
    pair.b.modify(no_writes);
    expect_refused(terms);
    EXPECT_EQ(pair.b.counters().not_allowed, 1U);
    pair.receives(1);
    pair.send(10);
    pair.settle();
    EXPECT_EQ(pair.b.received().size(), 1U);
}

// UC-21
TEST(UcReceive, AWriteWithImmediateUsesOneReceiveAndReportsLengthAndImmediate) {
    Pair pair;
    pair.receives(2);
    pair.post(Request::write_immediate, 600);
    pair.settle();
    EXPECT_EQ(pair.b.received(), (std::vector{Completion{.id = 100,
                                                         .kind = CompletionKind::receive_write,
                                                         .queue_pair = 0x101,
                                                         .length = 600,
                                                         .immediate = 0xC0DE0000}}));
    EXPECT_EQ(pair.b.bytes(0x4000, 600), pattern(600, 1));
}

// UC-22
TEST(UcReceive, AWriteUsesNoReceiveAndCompletesNothing) {
    Pair pair;
    pair.receives(1);
    pair.post(Request::write, 600);
    pair.settle();
    EXPECT_TRUE(pair.b.received().empty());
    EXPECT_EQ(pair.b.bytes(0x4000, 600), pattern(600, 1));
    pair.send(5);
    pair.settle();
    EXPECT_EQ(ids(pair.b.received()), std::vector<std::uint64_t>{100});
}

TEST(UcReceive, ASendLongerThanItsReceiveIsDroppedAndTheReceiveStays) {
    Pair pair;
    pair.receives(1, 300);
    pair.send(600);
    pair.send(300);
    EXPECT_EQ(pair.give(pair.a.leaving(pair.now)),
              (Verdicts{accepted, refused, out_of_sequence, accepted, accepted}));
    EXPECT_EQ(pair.b.counters().bad_length, 1U);
    EXPECT_EQ(ids(pair.b.received()), std::vector<std::uint64_t>{100});
    EXPECT_EQ(pair.got(0, 300), pattern(300, 2));
}

TEST(UcReceive, WritesMustBeAsLongAsTheyAnnounced) {
    Pair pair;
    pair.post(Request::write, 600);
    const auto packets = pair.a.leaving(pair.now);
    PacketBytes shorter = packets[0];
    shorter[Bth::size + 15] = std::byte{0xFF};  // a byte of the length, now 0x02FF
    EXPECT_EQ(pair.give({shorter, packets[1], packets[2]}),
              (Verdicts{accepted, accepted, refused}));
    EXPECT_EQ(pair.b.counters().bad_length, 1U);
}

TEST(UcReceive, ALostMessageIsReportedOnRequest) {
    Pair pair({.queue_pair = {.tell_lost = true}});
    pair.receives(2);
    pair.send(600);
    pair.send(10);
    auto packets = pair.a.leaving(pair.now);
    packets.erase(packets.begin() + 1);
    pair.give(packets);
    EXPECT_EQ(pair.b.events(), (std::vector{PortEvent{PortEvent::What::message_lost, 0x101}}));
}

TEST(UcReceive, ASolicitedMessageWakesWhoAskedForIt) {
    Pair pair;
    pair.receives(3);
    pair.b.port.request_notify(pair.b.receives, true);
    pair.send(600);
    pair.settle();
    EXPECT_TRUE(pair.b.events().empty());
    EXPECT_EQ(pair.a.post({.id = 2, .solicited = true}, pair.a.piece(0, 600)),
              PostStatus::accepted);
    pair.settle();
    const PortEvent told{PortEvent::What::completion, static_cast<std::uint32_t>(pair.b.receives)};
    EXPECT_EQ(pair.b.events(), std::vector{told});
}

TEST(UcReceive, AFaultyReceiveRequestEndsTheQueuePair) {
    Pair pair;
    Piece elsewhere = pair.b.piece(0, 100);
    elsewhere.key += 256;
    EXPECT_EQ(pair.b.receive(1, elsewhere), PostStatus::accepted);
    EXPECT_EQ(pair.b.receive(2, pair.b.piece(0, 100)), PostStatus::accepted);
    pair.send(10);
    EXPECT_EQ(pair.give(pair.a.leaving(pair.now)), Verdicts{refused});
    EXPECT_EQ(statuses(pair.b.received()),
              (Statuses{CompletionStatus::local_protection_error, CompletionStatus::flushed}));
    EXPECT_EQ(pair.b.state(), QueuePairState::error);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
