// Two sides; the test moves the datagrams between them.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "wireproof/proto/ib/cm/connection_management_test_kit.hpp"

namespace wireproof::proto::ib {
namespace {

using namespace test;

TEST_F(Sides, ConnectByThreeDatagramsAndPartByTwo) {
    b.cm.listen(service);
    here = ask();
    EXPECT_EQ(carry(), "REQ ");
    const CmEvent asked = b.event(What::requested);
    EXPECT_EQ(asked.peer, left);
    const auto& request = std::get<CmRequest>(asked.message);
    EXPECT_EQ(request.queue_pair, 0x11U);
    EXPECT_EQ(request.starting_psn, Psn(7));
    EXPECT_EQ(request.ca_guid, 1U);
    EXPECT_EQ(request.private_bytes, bytes<92>(1));
    accept(asked.id);
    EXPECT_EQ(carry(), "REP ");
    const CmEvent replied = a.event(What::replied);
    EXPECT_EQ(replied.id, here);
    EXPECT_EQ(std::get<CmReply>(replied.message).queue_pair, 0x22U);
    EXPECT_EQ(std::get<CmReply>(replied.message).private_bytes, bytes<196>(2));
    EXPECT_TRUE(a.cm.confirm(now, here));
    EXPECT_EQ(carry(), "RTU ");
    EXPECT_EQ(b.event(What::established).id, asked.id);
    EXPECT_EQ(a.cm.next_deadline(), never);
    EXPECT_EQ(b.cm.next_deadline(), never);

    EXPECT_TRUE(b.cm.disconnect(now, asked.id, bytes<220>(3)));
    EXPECT_EQ(carry(), "DREQ DREP ");
    const CmEvent parted = a.event(What::disconnected);
    EXPECT_EQ(std::get<CmDisconnect>(parted.message).private_bytes, bytes<220>(3));
    b.event(What::disconnected);
    EXPECT_EQ(a.cm.counters().resent + b.cm.counters().resent, 0U);
    // It remembers the connection for a while, and then forgets it.
    EXPECT_EQ(a.cm.size(), 1U);
    wait();
    EXPECT_EQ(a.cm.size() + b.cm.size(), 0U);
}

TEST_F(Sides, WhicheverDatagramIsLostIsSentAgain) {
    for (const char* lost :
         {" REQ", " REP", " RTU", " DREQ", " DREP", " REQ REP RTU", " REP REP REP"}) {
        a = Side(of_left);
        b = Side(of_right);
        lose = lost;
        b.cm.listen(service);
        here = ask();
        bool parted = false;
        for (int turns = 0; turns < 20 && !parted; ++turns) {
            carry();
            for (const CmEvent& event : b.events()) {
                if (event.what == What::requested) accept(event.id);
                if (event.what == What::established) a.cm.disconnect(now, here);
            }
            for (const CmEvent& event : a.events()) {
                if (event.what == What::replied) {
                    EXPECT_TRUE(a.cm.confirm(now, here));
                }
                parted = parted || event.what == What::disconnected;
            }
            if (!a.cm.has_outgoing() && !b.cm.has_outgoing() && !parted) wait();
        }
        EXPECT_TRUE(parted) << lost;
        EXPECT_EQ(lose, "") << lost;
        // After a lost REP, both sides send again.
        const std::string names(lost);
        const auto losses = static_cast<std::uint64_t>(std::ranges::count(names, ' '));
        const std::uint64_t resent = a.cm.counters().resent + b.cm.counters().resent;
        EXPECT_GE(resent, losses) << lost;
        EXPECT_LE(resent, 2 * losses) << lost;
    }
}

TEST_F(Sides, ARequestThatComesAgainIsAnsweredAgain) {
    b.cm.listen(service);
    here = ask();
    carry();
    there = b.event(What::requested).id;
    // While the user decides, an MRA tells the other side to wait longer.
    const Instant first = a.cm.next_deadline();
    wait();
    EXPECT_EQ(carry(), "REQ MRA ");
    EXPECT_TRUE(b.silent());
    EXPECT_GT(a.cm.next_deadline(), first + cm_response_time(of_right.delay));
    wait();
    accept(there);
    lose = " REP";
    EXPECT_EQ(carry(), "REQ (REP) REP ");
    a.event(What::replied);
    EXPECT_EQ(b.cm.counters().duplicates, 2U);
    // The REP comes again. The user has not decided yet, so there is no answer.
    wait();
    EXPECT_EQ(carry(), "REP ");
    EXPECT_TRUE(a.silent());
    a.cm.confirm(now, here);
    lose = " RTU";
    carry();
    wait();
    EXPECT_EQ(carry(), "REP RTU ");
    b.event(What::established);
    EXPECT_EQ(a.cm.counters().duplicates, 2U);
}

TEST_F(Sides, WhoAsksToPartIsAnsweredEvenByWhoForgot) {
    connect();
    lose = " DREP";
    a.cm.disconnect(now, here);
    EXPECT_EQ(carry(), "DREQ (DREP) ");
    b.event(What::disconnected);
    a.cm.on_deadline(a.cm.next_deadline());
    EXPECT_EQ(carry(), "DREQ DREP ");
    a.event(What::disconnected);
    EXPECT_TRUE(b.silent());

    a = Side(of_left);
    b = Side(of_right);
    connect();
    b = Side(of_right);
    a.cm.disconnect(now, here);
    EXPECT_EQ(carry(), "DREQ DREP ");
    EXPECT_EQ(b.cm.counters().unknown, 1U);
    a.event(What::disconnected);
}

TEST_F(Sides, BothMayAskToPartAtOnce) {
    connect();
    a.cm.disconnect(now, here);
    b.cm.disconnect(now, there);
    carry();
    a.event(What::disconnected);
    b.event(What::disconnected);
}

TEST_F(Sides, ReasonsAreReported) {
    const auto reason = [](const CmEvent& event) {
        return std::get<CmReject>(event.message).reason;
    };
    here = ask();
    EXPECT_EQ(carry(), "REQ REJ ");
    EXPECT_EQ(reason(a.event(What::rejected)), CmReason::invalid_service);
    EXPECT_EQ(b.cm.counters().refused, 1U);
    EXPECT_EQ(b.cm.size(), 0U);

    b.cm.listen(service);
    here = ask();
    carry();
    there = b.event(What::requested).id;
    EXPECT_TRUE(b.cm.reject(now, there, CmReason::consumer, bytes<148>(4)));
    lose = " REJ";
    EXPECT_EQ(carry(), "(REJ) ");
    wait();
    // A duplicate of the REQ gets the REJ again.
    EXPECT_EQ(carry(), "REQ REJ ");
    const CmEvent refused = a.event(What::rejected);
    EXPECT_EQ(reason(refused), CmReason::consumer);
    EXPECT_EQ(std::get<CmReject>(refused.message).private_bytes, bytes<148>(4));
    EXPECT_FALSE(b.cm.accept(now, there, {}));

    here = ask();
    carry();
    accept(b.event(What::requested).id);
    carry();
    a.event(What::replied);
    EXPECT_TRUE(a.cm.reject(now, here, CmReason::consumer));
    carry();
    EXPECT_EQ(reason(b.event(What::rejected)), CmReason::consumer);
    EXPECT_TRUE(b.cm.stop_listening(service));
    EXPECT_FALSE(b.cm.stop_listening(service));
}

TEST_F(Sides, NoMoreConnectionsAreTakenThanThereIsRoomFor) {
    ConnectionManagement::Config small = of_right;
    small.connections_max = 1;
    b = Side(small);
    connect();
    ask(0x12);
    EXPECT_EQ(carry(), "REQ REJ ");
    EXPECT_EQ(std::get<CmReject>(a.event(What::rejected).message).reason, CmReason::no_resources);
    EXPECT_FALSE(b.cm.connect(now, left, {}));
}

// The host was restarted, so the old connection ends.
TEST_F(Sides, ASecondRequestOfAQueuePairEndsItsOldConnection) {
    connect();
    ConnectionManagement::Config again = of_left;
    again.first_id = 0x1FFF;
    a = Side(again);
    here = ask();
    EXPECT_EQ(carry(), "REQ ");
    const auto events = b.events();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].what, What::disconnected);
    EXPECT_EQ(events[0].id, there);
    EXPECT_EQ(events[1].what, What::requested);
    EXPECT_NE(events[1].id, there);
    accept(events[1].id);
    EXPECT_EQ(carry(), "REP ");
    a.event(What::replied);
    EXPECT_TRUE(a.cm.confirm(now, here));
    EXPECT_EQ(carry(), "RTU ");
    EXPECT_EQ(b.event(What::established).id, events[1].id);
    EXPECT_EQ(b.cm.counters().refused, 0U);
}

// The old connection is ended before the check for room.
TEST_F(Sides, AHostThatBeganAnewFindsRoomWhereItsOldConnectionWas) {
    ConnectionManagement::Config small = of_right;
    small.connections_max = 1;
    b = Side(small);
    connect();
    ConnectionManagement::Config again = of_left;
    again.first_id = 0x1FFF;
    a = Side(again);
    ask();
    EXPECT_EQ(carry(), "REQ ");
    EXPECT_EQ(b.events().size(), 2U);
    ask(0x12);  // of another queue pair
    EXPECT_EQ(carry(), "REQ REJ ");
    EXPECT_EQ(std::get<CmReject>(a.event(What::rejected).message).reason, CmReason::no_resources);
}

TEST_F(Sides, WhoIsNeverAnsweredGivesUpAndSaysSo) {
    ask();
    const Instant began = now;
    std::size_t sent = 0;
    std::string last;
    while (a.cm.next_deadline() != never) {
        while (const auto one = a.cm.poll_transmit()) {
            last = name_of(one->datagram.message);
            sent += last == "REQ" ? 1U : 0U;
        }
        now = a.cm.next_deadline();
        a.cm.on_deadline(now);
        const auto events = a.events();
        if (!events.empty()) {
            EXPECT_EQ(events[0].what, What::unanswered);
            EXPECT_EQ(now - began, cm_response_time(16) * 16);
        }
    }
    EXPECT_EQ(sent, 16U);
    EXPECT_EQ(last, "REJ");
    EXPECT_EQ(a.cm.size(), 0U);
}

/// What the side sends in vain until it gives up, and when, in units of 4.096 us x 2^16 (268 ms).
std::vector<std::int64_t> sent_after(Side& side, Instant began, std::string_view name) {
    std::vector<std::int64_t> times;
    for (Instant now = began;; side.cm.on_deadline(now)) {
        while (const auto one = side.cm.poll_transmit()) {
            const bool counts = name_of(one->datagram.message) == name;
            if (counts)
                times.push_back((now - began).picoseconds() / cm_response_time(16).picoseconds());
        }
        if (!side.silent()) {
            times.push_back((now - began).picoseconds() / cm_response_time(16).picoseconds());
            return times;
        }
        now = side.cm.next_deadline();
        if (now == never) return {};
    }
}

// Linux asks sixteen times, 4.3 s apart. A process of the peer may get no processor for seconds.
TEST_F(Sides, AnAnswerMayTakeLongButALostDatagramDoesNot) {
    ConnectionManagement::Config slow = of_left;
    slow.response_timeout = 20;
    std::vector<std::int64_t> times = {0, 1, 2, 4, 8};
    for (std::int64_t wait = 1; wait <= 16; ++wait) times.push_back(16 * wait);
    a = Side(slow);
    ask();
    EXPECT_EQ(sent_after(a, now, "REQ"), times);

    a = Side(slow);
    b.cm.listen(service);
    ask();
    carry();
    accept(b.event(What::requested).id);
    EXPECT_EQ(sent_after(b, now, "REP"), times) << "as long as the request says";

    a = Side(slow);
    b = Side(of_right);
    connect();
    EXPECT_TRUE(a.cm.disconnect(now, here));
    EXPECT_EQ(sent_after(a, now, "DREQ"), times);
}

TEST_F(Sides, WhoseUserDecidesHowLongItWaitsAskUntilThen) {
    ConnectionManagement::Config patient = of_left;
    patient.gives_up = false;
    a = Side(patient);
    here = ask();
    EXPECT_EQ(sent_in_vain(a), std::set<std::string>{"REQ"});
    EXPECT_TRUE(a.cm.reject(now, here, CmReason::consumer));
    while (a.cm.poll_transmit()) {
    }
    while (a.cm.next_deadline() != never) a.cm.on_deadline(a.cm.next_deadline());
    EXPECT_FALSE(a.cm.has_outgoing()) << "no more once the wait is over";
    EXPECT_EQ(a.cm.size(), 0U);

    patient.ca_guid = of_right.ca_guid;
    b = Side(patient);
    b.cm.listen(service);
    here = ask();
    carry();
    there = b.event(What::requested).id;
    accept(there);
    EXPECT_EQ(sent_in_vain(b), std::set<std::string>{"REP"});
    EXPECT_TRUE(b.cm.disconnect(now, there));
    while (b.cm.next_deadline() != never) b.cm.on_deadline(b.cm.next_deadline());
    EXPECT_EQ(b.event(What::disconnected).id, there) << "a DREQ has no user that waits";
}

// A side received the request, but its answers were lost. The REJ tells it that the other side gave
// up.
TEST_F(Sides, GivingUpEndsWhatTheOtherSideBegan) {
    b.cm.listen(service);
    ask();
    carry();
    there = b.event(What::requested).id;
    while (a.events().empty()) {
        now = a.cm.next_deadline();
        a.cm.on_deadline(now);
    }
    carry();
    EXPECT_EQ(std::get<CmReject>(b.event(What::rejected).message).reason, CmReason::timeout);
    EXPECT_FALSE(b.cm.accept(now, there, {}));
}

TEST_F(Sides, WhoeverGivesUpUnansweredIsUnderstood) {
    b.cm.listen(service);
    here = ask();
    carry();
    there = b.event(What::requested).id;
    EXPECT_TRUE(a.cm.reject(now, here, CmReason::consumer));  // it knows no identifier of b
    carry();
    EXPECT_EQ(std::get<CmReject>(b.event(What::rejected).message).reason, CmReason::timeout);
    EXPECT_EQ(b.cm.counters().unknown, 0U);
    EXPECT_FALSE(b.cm.accept(now, there, {}));
}

// The REJ names identifier 0 of the other side, and no connection has this identifier.
TEST_F(Sides, AnAskerThatTakesItsRequestBackEndsNoOther) {
    ConnectionManagement::Config config = of_right;
    config.first_id = 0xFFFFFFFF;
    b = Side(config);
    b.cm.listen(service);
    here = ask(0x11);
    ask(0x12);
    carry();
    const auto asked = b.events();
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_EQ(asked[1].id, CmId(1));
    EXPECT_TRUE(a.cm.reject(now, here, CmReason::consumer));
    EXPECT_EQ(carry(), "REJ ");
    EXPECT_EQ(b.event(What::rejected).id, asked[0].id);
    accept(asked[1].id);
    EXPECT_EQ(carry(), "REP ");
    a.event(What::replied);
}

TEST_F(Sides, AskersThatWereRefusedLeaveNoMoreThanTheyMay) {
    ConnectionManagement::Config config = of_right;
    config.over_max = 10;
    b = Side(config);
    b.cm.listen(service);
    const auto answer = [&](std::uint32_t id) {
        std::array<std::byte, cm_datagram_size> bytes{};
        CmDatagram{id, CmRequest{.local_id = id, .service = service, .queue_pair = id}}.encode(
            bytes);
        return b.cm.on_datagram(now, left, bytes);
    };
    for (std::uint32_t id = 1; id <= 100; ++id) {
        now = now + Duration::microseconds(1);
        ASSERT_EQ(answer(id), RxVerdict::accepted);
        ASSERT_TRUE(b.cm.reject(now, b.event(What::requested).id, CmReason::consumer));
        EXPECT_EQ(b.cm.size(), std::min(id, 10U));
    }
    EXPECT_EQ(answer(91), RxVerdict::duplicate);
    EXPECT_EQ(answer(90), RxVerdict::accepted) << "forgotten, so it asks anew";
    b.events();
    while (b.cm.next_deadline() != never) {
        now = b.cm.next_deadline();
        b.cm.on_deadline(now);
    }
    EXPECT_EQ(b.cm.size(), 1U) << "which waits for its user";
}

TEST_F(Sides, APacketOnTheQueuePairIsAsGoodAsRtu) {
    b.cm.listen(service);
    here = ask();
    carry();
    there = b.event(What::requested).id;
    EXPECT_FALSE(b.cm.note_first_packet(there));
    accept(there);
    carry();
    a.cm.confirm(now, here);
    EXPECT_TRUE(b.cm.note_first_packet(there));
    b.event(What::established);
    carry();
    EXPECT_TRUE(b.silent());
    EXPECT_EQ(b.cm.counters().duplicates, 1U);
}

TEST_F(Sides, WhatIsOfNobodyOrNotOfThisStateIsCountedAndChangesNothing) {
    connect();
    const auto give = [&](PeerId from, const CmMessage& message) {
        std::array<std::byte, cm_datagram_size> bytes{};
        CmDatagram{.transaction = 5, .message = message}.encode(bytes);
        return b.cm.on_datagram(now, from, bytes);
    };
    const auto own = static_cast<std::uint32_t>(there);
    const std::uint32_t theirs = static_cast<std::uint32_t>(here);
    for (const CmMessage& message : std::vector<CmMessage>{
             CmDelay{.local_id = theirs, .remote_id = own},
             CmReject{.local_id = theirs, .remote_id = own},
             CmDisconnected{.local_id = theirs, .remote_id = own},
             CmDisconnect{.local_id = theirs, .remote_id = own, .remote_queue_pair = 0x23}}) {
        EXPECT_EQ(give(left, message), RxVerdict::stale) << name_of(message);
    }
    EXPECT_EQ(b.cm.counters().out_of_state, 4U);
    // Right identifier, wrong host.
    for (const CmMessage& message : std::vector<CmMessage>{
             CmDelay{.remote_id = own}, CmReject{.remote_id = own}, CmReply{.remote_id = own},
             CmReady{.remote_id = own}, CmDisconnected{.remote_id = own},
             CmDisconnect{.remote_id = own, .remote_queue_pair = 0x22}}) {
        EXPECT_EQ(give(PeerId{77}, message), RxVerdict::foreign) << name_of(message);
    }
    EXPECT_EQ(b.cm.counters().unknown, 6U);
    EXPECT_EQ(b.cm.on_datagram(now, left, {}), RxVerdict::malformed);
    EXPECT_EQ(b.cm.counters().malformed[static_cast<std::size_t>(NotCm::length)], 1U);
    EXPECT_TRUE(b.silent());
    EXPECT_TRUE(b.cm.disconnect(now, there));
}

}  // namespace
}  // namespace wireproof::proto::ib
