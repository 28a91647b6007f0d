// What the receiving half of RC refuses (docs/rules/ib.md, RC responder), and with which answer.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;
using Verdicts = std::vector<RxVerdict>;

// RC-17, RC-30
TEST(RcReceive, AForbiddenWriteIsRefusedByTheNameOfItsFirstPacketAndLeavesNoByte) {
    RcPair pair;
    const std::vector<std::byte> before = pair.b.memory;
    pair.receives(1);
    pair.send(10);
    WorkTerms terms{.id = 9,
                    .request = Request::write,
                    .remote_address = End::base + 65536 - 599,
                    .remote_key = pair.b.key};
    pair.a.fill(0, pattern(600, 4));
    EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 600)), PostStatus::accepted);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()),
              (Statuses{CompletionStatus::success, CompletionStatus::remote_access_error}));
    EXPECT_EQ(pair.b.bytes(65536 - 599, 599), std::vector<std::byte>(599));
    EXPECT_EQ(pair.a.state(), QueuePairState::error);
    EXPECT_EQ(pair.b.state(), QueuePairState::error);
    EXPECT_EQ(pair.b.counters().naks_sent, 1U);
    EXPECT_EQ(pair.b.events(), (std::vector{PortEvent{PortEvent::What::access_refused, 0x101}}));
}

// RC-30
TEST(RcReceive, TheNakOfAForbiddenRequestNamesWhereItBegan) {
    RcPair pair;
    const WorkTerms terms{.request = Request::write,
                          .remote_address = End::base + 65536 - 599,
                          .remote_key = pair.b.key};
    EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 600)), PostStatus::accepted);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b_says(), Names{"NAK remote access fffffe/0"});
}

// RC-18, RC-30
TEST(RcReceive, ASendTooLongIsAnInvalidRequestAtThePacketThatOverflows) {
    RcPair pair;
    pair.receives(1, 300);
    pair.receives(1);
    pair.send(600);
    EXPECT_EQ(pair.give(pair.a_leaving()), (Verdicts{accepted, refused, refused}));
    EXPECT_EQ(statuses(pair.b.received()),
              (Statuses{CompletionStatus::local_length_error, CompletionStatus::flushed}));
    const auto answers = pair.b.leaving(pair.now);
    EXPECT_EQ(names(answers), Names{"NAK invalid request ffffff"});
    pair.a.give(pair.now, answers[0]);
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::remote_invalid_request});
}

// RC-18
TEST(RcReceive, AFaultyReceiveRequestIsARemoteOperationError) {
    RcPair pair;
    Piece elsewhere = pair.b.piece(0, 100);
    elsewhere.key += 256;
    EXPECT_EQ(pair.b.receive(1, elsewhere), PostStatus::accepted);
    pair.send(10);
    pair.settle();
    EXPECT_EQ(statuses(pair.b.received()), Statuses{CompletionStatus::local_protection_error});
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::remote_operation_error});
    EXPECT_EQ(pair.b.events(), (std::vector{PortEvent{PortEvent::What::receive_faulty, 0x101}}));
}

/// The answer to one packet in sequence, which ends the queue pair.
std::string refusal_of(const PacketBytes& packet, const QueuePairChange& connection = {}) {
    RcPair pair(connection);
    pair.receives(1);
    pair.give({packet});
    EXPECT_EQ(pair.b.state(), QueuePairState::error);
    const Names says = pair.b_says();
    pair.give({packet});
    EXPECT_EQ(pair.b_says(), Names{});  // no answers after an error
    return says.empty() ? "" : says[0];
}

// RC-18
TEST(RcReceive, WhatIsNoRequestIsInvalid) {
    RcPair from;
    from.send(600);
    const auto send = from.a_leaving();
    from.post(Request::write, 600);
    const auto write = from.a_leaving();
    from.read(10);
    const auto read = from.a_leaving();
    const auto first = [](PacketBytes packet) {
        return with_bth(std::move(packet), [](Bth& bth) { bth.psn = Psn(0xFFFFFE); });
    };
    const std::string invalid = "NAK invalid request fffffe/0";
    EXPECT_EQ(refusal_of(first(send[1])), invalid);  // a Middle without First
    EXPECT_EQ(refusal_of(first(write[2])), invalid);
    PacketBytes cut = first(send[0]);
    cut.resize(cut.size() - 4);  // a First shorter than the path MTU
    EXPECT_EQ(refusal_of(cut), invalid);
    PacketBytes padded = first(write[0]);
    padded = with_bth(padded, [](Bth& bth) { bth.pad = 1; });
    EXPECT_EQ(refusal_of(padded), invalid);
    for (const int reserved : {0x15, 0x18, 0x1F}) {
        PacketBytes unknown = first(send[0]);
        unknown[0] = static_cast<std::byte>(reserved);
        EXPECT_EQ(refusal_of(unknown), invalid) << reserved;
    }
    EXPECT_EQ(refusal_of(first(read[0]), {.max_dest_rd_atomic = std::uint8_t{0}}), invalid);
    PacketBytes huge = first(read[0]);
    huge[Bth::size + 12] = std::byte{0x81};  // a byte of the length
    EXPECT_EQ(refusal_of(huge), invalid);
    PacketBytes foreign_key = first(read[0]);
    foreign_key[Bth::size + 8] ^= std::byte{1};
    EXPECT_EQ(refusal_of(foreign_key), "NAK remote access fffffe/0");
}

/// A Write of 256-byte packets whose First says `length` bytes.
std::vector<PacketBytes> write_that_says(std::uint32_t length) {
    RcPair from;
    from.post(Request::write, 600);
    auto packets = from.a_leaving();
    const auto field = std::span(packets[0]).subspan(Bth::size + 12, 4);
    for (std::size_t i = 0; i < 4; ++i) field[i] = static_cast<std::byte>(length >> (24 - 8 * i));
    return packets;
}

// RC-18: only the Last may complete the length of a Write.
TEST(RcReceive, AWriteThatIsFullBeforeItsLastIsRefusedThere) {
    for (const std::uint32_t length : {511U, 512U}) {
        RcPair pair;
        const auto packets = write_that_says(length);
        EXPECT_EQ(pair.give({packets[0], packets[1]}), (Verdicts{accepted, refused})) << length;
        EXPECT_EQ(pair.b_says(), Names{"NAK invalid request ffffff/0"});
        EXPECT_EQ(pair.b.bytes(0x4000 + 256, 256), std::vector<std::byte>(256));
    }
    RcPair pair;
    EXPECT_EQ(pair.give({write_that_says(256)[0]}), Verdicts{refused});
    EXPECT_EQ(pair.b_says(), Names{"NAK invalid request fffffe/0"});
    for (const std::uint32_t length : {599U, 601U}) {
        RcPair other;
        EXPECT_EQ(other.give(write_that_says(length)), (Verdicts{accepted, accepted, refused}));
        EXPECT_EQ(other.b_says(), Names{"NAK invalid request 000000/0"});
    }
}

// RC-17: the key is checked again for every packet.
TEST(RcReceive, AWriteWhoseMemoryGoesAwayIsRefusedThere) {
    RcPair pair;
    pair.post(Request::write, 600);
    const auto packets = pair.a_leaving();
    pair.give({packets[0]});
    pair.b.port.memory().end_region(pair.b.key);
    EXPECT_EQ(pair.give({packets[1]}), Verdicts{refused});
    EXPECT_EQ(pair.b_says(), Names{"NAK remote access ffffff/0"});
    EXPECT_EQ(pair.b.counters().bad_key, 1U);
}

// RC-18
TEST(RcReceive, AWriteOfMoreThanAMessageMayHaveIsInvalid) {
    EXPECT_EQ(refusal_of(write_that_says(0x80000001)[0]), "NAK invalid request fffffe/0");
    // One byte less is a possible length, so only the memory is missing.
    EXPECT_EQ(refusal_of(write_that_says(0x80000000)[0]), "NAK remote access fffffe/0");
}

// RC-18: payload and pad together are a multiple of 4 bytes.
TEST(RcReceive, AMessageWithAWrongPadIsInvalid) {
    RcPair from;
    from.send(10);
    from.post(Request::write, 10);
    const auto packets = from.a_leaving();
    for (std::size_t i = 0; i < 2; ++i) {
        PacketBytes packet = with_bth(packets[i], [](Bth& bth) {
            bth.psn = Psn(0xFFFFFE);
            bth.pad = 1;
        });
        packet.pop_back();  // still ten bytes
        EXPECT_EQ(refusal_of(packet), "NAK invalid request fffffe/0") << i;
    }
}

// RC-20, RC-17: a key that the peer may not invalidate.
TEST(RcReceive, ASendThatInvalidatesWhatItMayNotIsAnAccessErrorAndLeavesNoByte) {
    RcPair pair;
    pair.receives(1);
    const WorkTerms send{.request = Request::send_invalidate, .remote_key = pair.b.key};
    pair.a.fill(0, pattern(10, 1));
    EXPECT_EQ(pair.a.post(send, pair.a.piece(0, 10)), PostStatus::accepted);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b_says(), Names{"NAK remote access fffffe/0"});
    EXPECT_EQ(pair.got(0, 10), std::vector<std::byte>(10));
    EXPECT_EQ(statuses(pair.b.received()), Statuses{CompletionStatus::flushed});
}

// RC-18: neither has a payload.
TEST(RcReceive, AReadOrAnAtomicWithPayloadIsInvalid) {
    RcPair from;
    from.read(10);
    from.atomic(Request::fetch_add, 1);
    const auto packets = from.a_leaving();
    for (std::size_t i = 0; i < 2; ++i) {
        PacketBytes longer = with_bth(packets[i], [](Bth& bth) { bth.psn = Psn(0xFFFFFE); });
        longer.resize(longer.size() + 4);
        EXPECT_EQ(refusal_of(longer), "NAK invalid request fffffe/0") << i;
        longer = with_bth(longer, [](Bth& bth) { bth.pad = 3; });
        EXPECT_EQ(refusal_of(longer), "NAK invalid request fffffe/0") << i;
        longer.pop_back();  // a pad alone
        EXPECT_EQ(refusal_of(longer), "NAK invalid request fffffe/0") << i;
    }
}

// RC-18: the queue pair checks the right that the operation needs.
TEST(RcReceive, AnOperationThatTheQueuePairDoesNotAllowIsInvalid) {
    for (const Request request : {Request::write, Request::read, Request::fetch_add}) {
        RcPair pair;
        pair.b.modify({.access = Access{.remote_write = request != Request::write,
                                        .remote_read = request != Request::read,
                                        .remote_atomic = request != Request::fetch_add}});
        const WorkTerms terms{.request = request,
                              .remote_address = End::base + 0x6000,
                              .remote_key = pair.b.key,
                              .swap_or_add = 1};
        EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 8)), PostStatus::accepted);
        pair.settle();
        EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::remote_invalid_request});
        EXPECT_EQ(pair.b.events(),
                  (std::vector{PortEvent{PortEvent::What::request_refused, 0x101}}));
        EXPECT_EQ(pair.target(), 0U);
    }
}

// RC-17: the memory checks it, too.
TEST(RcReceive, AnOperationThatTheMemoryDoesNotAllowIsAnAccessError) {
    for (const Request request : {Request::write, Request::read, Request::fetch_add}) {
        RcPair pair;
        const std::uint32_t key =
            pair.b.port.memory()
                .add_region({.domain = domain,
                             .address = End::base,
                             .memory = pair.b.memory,
                             .access = {.local_write = true,
                                        .remote_write = request != Request::write,
                                        .remote_read = request != Request::read,
                                        .remote_atomic = request != Request::fetch_add}})
                .value();
        const WorkTerms terms{.request = request,
                              .remote_address = End::base + 0x6000,
                              .remote_key = key,
                              .swap_or_add = 1};
        EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 8)), PostStatus::accepted);
        pair.settle();
        EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::remote_access_error});
        EXPECT_EQ(pair.b.counters().bad_key, 1U);
        EXPECT_EQ(pair.target(), 0U);
    }
}

// RC-18: the address of an Atomic and its right.
TEST(RcReceive, AnAtomicMustBeAlignedAndAllowed) {
    RcPair from;
    from.atomic(Request::fetch_add, 1);
    PacketBytes packet = from.a_leaving().at(0);
    packet[Bth::size + 7] |= std::byte{4};  // a byte of the address
    EXPECT_EQ(refusal_of(packet), "NAK invalid request fffffe/0");
    RcPair pair;
    pair.b.modify({.access = Access{.remote_write = true, .remote_read = true}});
    pair.atomic(Request::compare_swap, 1);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::remote_invalid_request});
}

}  // namespace
}  // namespace wireproof::proto::ib::test
