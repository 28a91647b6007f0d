// Services of datagrams: two sides; the test moves the datagrams between them.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "wireproof/proto/ib/cm/connection_management_test_kit.hpp"

namespace wireproof::proto::ib {
namespace {

using namespace test;

constexpr std::uint64_t datagrams = service_of_port(7174, PortSpace::udp);

class Services : public Sides {
protected:
    CmId resolve(std::uint64_t service_id = datagrams) {
        const auto id = a.cm.resolve(
            now, right,
            {.partition = 0x8001, .service = service_id, .private_bytes = bytes<216>(1)});
        EXPECT_TRUE(id);
        return id.value_or(CmId{});
    }
    bool answer(CmId id) {
        return b.cm.answer(now, id,
                           {.status = CmServiceStatus::valid,
                            .queue_pair = 0x22,
                            .qkey = 0x1234567,
                            .private_bytes = bytes<136>(2)});
    }
    static CmServiceReply reply_of(const CmEvent& event) {
        return std::get<CmServiceReply>(event.message);
    }
    RxVerdict give(ConnectionManagement& to, PeerId from, const CmMessage& message,
                   std::uint64_t transaction = 5) {
        std::array<std::byte, cm_datagram_size> bytes{};
        CmDatagram{.transaction = transaction, .message = message}.encode(bytes);
        return to.on_datagram(now, from, bytes);
    }
    /// Gives the right side a question of the left side.
    RxVerdict query(std::uint32_t request_id, std::uint64_t transaction = 5,
                    std::uint64_t service_id = datagrams) {
        return give(b.cm, left, CmServiceRequest{.request_id = request_id, .service = service_id},
                    transaction);
    }
};

TEST_F(Services, AreResolvedByTwoDatagrams) {
    b.cm.listen_datagrams(datagrams);
    here = resolve();
    EXPECT_EQ(carry(), "SIDR_REQ ");
    const CmEvent asked = b.event(What::asked);
    EXPECT_EQ(asked.peer, left);
    const auto& request = std::get<CmServiceRequest>(asked.message);
    EXPECT_EQ(request.request_id, static_cast<std::uint32_t>(here));
    EXPECT_EQ(request.partition, 0x8001);
    EXPECT_EQ(request.service, datagrams);
    EXPECT_EQ(request.private_bytes, bytes<216>(1));
    EXPECT_TRUE(answer(asked.id));
    EXPECT_FALSE(answer(asked.id)) << "answered already";
    EXPECT_EQ(carry(), "SIDR_REP ");
    const CmEvent resolved = a.event(What::resolved);
    EXPECT_EQ(resolved.id, here);
    EXPECT_EQ(resolved.peer, right);
    EXPECT_EQ(reply_of(resolved), (CmServiceReply{.request_id = static_cast<std::uint32_t>(here),
                                                  .queue_pair = 0x22,
                                                  .service = datagrams,
                                                  .qkey = 0x1234567,
                                                  .private_bytes = bytes<136>(2)}));
    EXPECT_EQ(a.cm.counters().taken + b.cm.counters().taken, 2U);
    EXPECT_EQ(a.cm.counters().resent + b.cm.counters().resent, 0U);
    // Both sides remember it for a while, and then forget it.
    EXPECT_EQ(a.cm.size() + b.cm.size(), 2U);
    while (earliest(a.cm.next_deadline(), b.cm.next_deadline()) != never) wait();
    EXPECT_EQ(a.cm.size() + b.cm.size(), 0U);
    EXPECT_FALSE(a.cm.has_outgoing() || b.cm.has_outgoing());
}

TEST_F(Services, AQuestionOrAnswerThatIsLostIsSentAgain) {
    for (const char* lost :
         {" SIDR_REQ", " SIDR_REP", " SIDR_REQ SIDR_REP", " SIDR_REP SIDR_REP SIDR_REQ"}) {
        a = Side(of_left);
        b = Side(of_right);
        lose = lost;
        b.cm.listen_datagrams(datagrams);
        resolve();
        std::size_t resolved = 0;
        std::size_t asked = 0;
        for (int turns = 0; turns < 20 && resolved == 0; ++turns) {
            carry();
            for (const CmEvent& event : b.events()) {
                ++asked;
                EXPECT_TRUE(answer(event.id));
            }
            carry();
            resolved += a.events().size();
            if (resolved == 0) wait();
        }
        EXPECT_EQ(resolved, 1U) << lost;
        EXPECT_EQ(asked, 1U) << lost;
        EXPECT_EQ(lose, "") << lost;
        const std::string names(lost);
        const auto losses = static_cast<std::uint64_t>(std::ranges::count(names, ' '));
        EXPECT_EQ(a.cm.counters().resent, losses) << lost;
        EXPECT_EQ(b.cm.counters().resent, 0U) << lost;
    }
}

TEST_F(Services, AQuestionThatComesAgainGetsTheSameAnswerForAWhile) {
    b.cm.listen_datagrams(datagrams);
    EXPECT_EQ(query(7), RxVerdict::accepted);
    there = b.event(What::asked).id;
    // While the user decides, a duplicate gets no answer.
    EXPECT_EQ(query(7), RxVerdict::duplicate);
    EXPECT_TRUE(b.silent());
    EXPECT_FALSE(b.cm.has_outgoing());
    EXPECT_TRUE(answer(there));
    const auto first = b.cm.poll_transmit();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->datagram.transaction, 5U);
    // Linux asks again after 4.1 s.
    for (int i = 0; i < 3; ++i) {
        now = now + Duration::milliseconds(4096);
        b.cm.on_deadline(now);
        EXPECT_EQ(query(7), RxVerdict::duplicate);
        const auto again = b.cm.poll_transmit();
        ASSERT_TRUE(again);
        EXPECT_EQ(again->datagram, first->datagram);
        EXPECT_EQ(again->to, left);
    }
    EXPECT_TRUE(b.silent());
    EXPECT_EQ(b.cm.counters().duplicates, 4U);
    // A different transaction or service makes a different question, even with the same identifier.
    EXPECT_EQ(query(7, 6), RxVerdict::accepted);
    b.cm.listen_datagrams(datagrams + 1);
    EXPECT_EQ(query(7, 5, datagrams + 1), RxVerdict::accepted);
    EXPECT_EQ(give(b.cm, PeerId{77}, CmServiceRequest{.request_id = 7, .service = datagrams}),
              RxVerdict::accepted);
    EXPECT_EQ(b.events().size(), 3U);
    now = now + Duration::milliseconds(20'000);
    b.cm.on_deadline(now);
    EXPECT_EQ(query(7), RxVerdict::accepted) << "forgotten, so the user is asked again";
    b.event(What::asked);
}

TEST_F(Services, AStatusSaysWhyNot) {
    b.cm.listen(datagrams);  // a listener for connections only
    resolve();
    EXPECT_EQ(carry(), "SIDR_REQ SIDR_REP ");
    CmServiceReply told = reply_of(a.event(What::resolved));
    EXPECT_EQ(told.status, CmServiceStatus::unsupported);
    EXPECT_EQ(told.service, datagrams);
    EXPECT_EQ(told.queue_pair, 0U);
    EXPECT_EQ(b.cm.counters().refused, 1U);
    EXPECT_EQ(b.cm.size(), 0U);
    EXPECT_TRUE(b.silent());

    b.cm.listen_datagrams(datagrams);
    resolve();
    carry();
    EXPECT_TRUE(b.cm.answer(now, b.event(What::asked).id,
                            {.status = CmServiceStatus::rejected, .private_bytes = bytes<136>(4)}));
    EXPECT_EQ(carry(), "SIDR_REP ");
    told = reply_of(a.event(What::resolved));
    EXPECT_EQ(told.status, CmServiceStatus::rejected);
    EXPECT_EQ(told.private_bytes, bytes<136>(4));

    EXPECT_TRUE(b.cm.stop_listening_datagrams(datagrams));
    EXPECT_FALSE(b.cm.stop_listening_datagrams(datagrams));
    resolve();
    EXPECT_EQ(carry(), "SIDR_REQ SIDR_REP ");
    EXPECT_EQ(reply_of(a.event(What::resolved)).status, CmServiceStatus::unsupported);
}

TEST_F(Services, OfDatagramsTakeNoConnections) {
    b.cm.listen_datagrams(service);
    ask();
    EXPECT_EQ(carry(), "REQ REJ ");
    EXPECT_EQ(std::get<CmReject>(a.event(What::rejected).message).reason,
              CmReason::invalid_service);
}

// Some older kernels leave the service out of a refusal. An answer may also have an unknown status.
TEST_F(Services, AnyAnswerOfTheHostThatWasAskedIsUnderstood) {
    here = resolve();
    EXPECT_EQ(give(a.cm, right,
                   CmServiceReply{.request_id = static_cast<std::uint32_t>(here),
                                  .status = CmServiceStatus(200)}),
              RxVerdict::accepted);
    EXPECT_EQ(reply_of(a.event(What::resolved)).status, CmServiceStatus(200));
}

TEST_F(Services, WhoseUserDecidesHowLongItWaitsAreAskedForUntilThen) {
    ConnectionManagement::Config patient = of_left;
    patient.gives_up = false;
    a = Side(patient);
    here = resolve();
    EXPECT_EQ(sent_in_vain(a), std::set<std::string>{"SIDR_REQ"});
    EXPECT_TRUE(a.cm.give_up(here));
    EXPECT_EQ(a.cm.next_deadline(), never);
}

TEST_F(Services, WhoIsNeverAnsweredGivesUpAndSaysSo) {
    here = resolve();
    const Instant began = now;
    std::size_t sent = 0;
    while (a.cm.next_deadline() != never) {
        while (const auto one = a.cm.poll_transmit()) {
            EXPECT_EQ(name_of(one->datagram.message), "SIDR_REQ");
            ++sent;
        }
        EXPECT_TRUE(a.silent());
        now = a.cm.next_deadline();
        a.cm.on_deadline(now);
    }
    a.event(What::unanswered);
    EXPECT_EQ(now - began, cm_response_time(of_left.response_timeout) * 16);
    EXPECT_EQ(sent, 16U);
    EXPECT_EQ(a.cm.counters().resent, 15U);
    EXPECT_FALSE(a.cm.has_outgoing());
    EXPECT_EQ(a.cm.size(), 0U);
    // A late duplicate of the answer.
    EXPECT_EQ(give(a.cm, right, CmServiceReply{.request_id = static_cast<std::uint32_t>(here)}),
              RxVerdict::foreign);
    EXPECT_TRUE(a.silent());
}

TEST_F(Services, WhoGivesUpGetsNoMoreEvents) {
    b.cm.listen_datagrams(datagrams);
    here = resolve();
    carry();
    EXPECT_TRUE(answer(b.event(What::asked).id));
    EXPECT_TRUE(a.cm.give_up(here));
    EXPECT_FALSE(a.cm.give_up(here));
    EXPECT_EQ(carry(), "SIDR_REP ");
    EXPECT_TRUE(a.silent());
    EXPECT_EQ(a.cm.counters().unknown, 1U);
    EXPECT_EQ(a.cm.next_deadline(), never);
    EXPECT_EQ(a.cm.size(), 0U);
}

TEST_F(Services, AQuestionThatItsUserLeavesIsDroppedWhenNobodyWaitsAnyMore) {
    b.cm.listen_datagrams(datagrams);
    query(7);
    there = b.event(What::asked).id;
    const Instant began = now;
    now = b.cm.next_deadline();
    EXPECT_GT(now - began, Duration::milliseconds(16 * 4096));
    EXPECT_LT(now - began, Duration::milliseconds(120'000));
    b.cm.on_deadline(now);
    EXPECT_EQ(b.event(What::unanswered).id, there);
    EXPECT_FALSE(answer(there));
    EXPECT_FALSE(b.cm.has_outgoing());
    EXPECT_EQ(b.cm.size(), 0U);
    EXPECT_EQ(query(7), RxVerdict::accepted) << "a new question";
}

TEST_F(Services, NoMoreQuestionsAreTakenThanThereIsRoomFor) {
    ConnectionManagement::Config small = of_right;
    small.connections_max = 1;
    small.resolutions_max = 2;
    b = Side(small);
    b.cm.listen_datagrams(datagrams);
    for (std::uint32_t id = 1; id <= 3; ++id) {
        EXPECT_EQ(query(id), id < 3 ? RxVerdict::accepted : RxVerdict::refused);
    }
    const auto refused = b.cm.poll_transmit();
    ASSERT_TRUE(refused);
    const auto& told = std::get<CmServiceReply>(refused->datagram.message);
    EXPECT_EQ(told.status, CmServiceStatus::no_queue_pair);
    EXPECT_EQ(told.request_id, 3U);
    EXPECT_EQ(b.cm.size(), 2U);
    const auto asked = b.events();
    ASSERT_EQ(asked.size(), 2U);
    // The queries take no room from connections or from the questions of this side.
    connect();
    EXPECT_TRUE(b.cm.resolve(now, left, {}));
    const auto second = b.cm.resolve(now, left, {});
    ASSERT_TRUE(second);
    EXPECT_FALSE(b.cm.resolve(now, left, {}));
    EXPECT_TRUE(b.cm.give_up(*second));
    EXPECT_TRUE(b.cm.resolve(now, left, {}));
    // After an answer, there is room again.
    EXPECT_TRUE(answer(asked[0].id));
    EXPECT_EQ(query(3), RxVerdict::accepted);
    EXPECT_EQ(query(4), RxVerdict::refused);
}

TEST_F(Services, QuestionsThatWereAnsweredLeaveNoMoreThanTheyMay) {
    ConnectionManagement::Config config = of_right;
    config.over_max = 10;
    b = Side(config);
    b.cm.listen(service);
    b.cm.listen_datagrams(datagrams);
    ask();
    carry();
    EXPECT_TRUE(b.cm.reject(now, b.event(What::requested).id, CmReason::consumer));
    lose = " REJ";
    carry();
    for (std::uint32_t id = 1; id <= 100; ++id) {
        ASSERT_EQ(query(id), RxVerdict::accepted);
        ASSERT_TRUE(answer(b.event(What::asked).id));
        ASSERT_TRUE(b.cm.poll_transmit());
        EXPECT_EQ(b.cm.size(), 1 + std::min(id, 10U));
    }
    EXPECT_EQ(query(91), RxVerdict::duplicate);
    EXPECT_EQ(query(90), RxVerdict::accepted) << "forgotten, so it asks anew";
    EXPECT_TRUE(answer(b.event(What::asked).id));
    while (b.cm.poll_transmit()) {
    }
    // A refused connection is also remembered.
    a.cm.on_deadline(a.cm.next_deadline());
    EXPECT_EQ(carry(), "REQ REJ ");
    a.event(What::rejected);
    while (b.cm.next_deadline() != never) {
        now = b.cm.next_deadline();
        b.cm.on_deadline(now);
    }
    EXPECT_EQ(b.cm.size(), 0U);
}

TEST_F(Services, StrangersAndMessagesOfConnectionsChangeNothing) {
    b.cm.listen(service);
    b.cm.listen_datagrams(datagrams);
    here = resolve();
    const auto asked = static_cast<std::uint32_t>(here);
    carry();
    there = b.event(What::asked).id;
    EXPECT_EQ(give(a.cm, PeerId{77}, CmServiceReply{.request_id = asked}), RxVerdict::foreign);
    EXPECT_EQ(give(a.cm, right, CmServiceReply{.request_id = asked + 1}), RxVerdict::foreign);
    EXPECT_EQ(give(b.cm, left, CmServiceReply{.request_id = static_cast<std::uint32_t>(there)}),
              RxVerdict::foreign);
    std::uint64_t strange = 2;
    for (Side* side : {&a, &b}) {
        const PeerId from = side == &a ? right : left;
        const CmId own_id = side == &a ? here : there;
        const auto own = static_cast<std::uint32_t>(own_id);
        for (const CmMessage& message : std::vector<CmMessage>{
                 CmDelay{.local_id = asked, .remote_id = own},
                 CmReject{.local_id = asked, .remote_id = own, .reason = CmReason::timeout},
                 CmReply{.local_id = asked, .remote_id = own},
                 CmReady{.local_id = asked, .remote_id = own},
                 CmDisconnect{.local_id = asked, .remote_id = own},
                 CmDisconnected{.local_id = asked, .remote_id = own}}) {
            EXPECT_EQ(give(side->cm, from, message), RxVerdict::foreign) << name_of(message);
            ++strange;
        }
        EXPECT_FALSE(side->cm.accept(now, own_id, {}));
        EXPECT_FALSE(side->cm.confirm(now, own_id));
        EXPECT_FALSE(side->cm.reject(now, own_id, CmReason::consumer));
        EXPECT_FALSE(side->cm.disconnect(now, own_id));
        EXPECT_FALSE(side->cm.note_first_packet(own_id));
    }
    EXPECT_EQ(a.cm.counters().unknown + b.cm.counters().unknown, strange + 1);
    while (a.cm.poll_transmit()) {
    }
    while (b.cm.poll_transmit()) {
    }
    EXPECT_FALSE(a.cm.answer(now, here, {}));
    EXPECT_FALSE(b.cm.give_up(there));
    // A request for a connection with the same identifier and queue pair 0 is not a query.
    EXPECT_EQ(give(b.cm, left, CmRequest{.local_id = asked, .service = service}),
              RxVerdict::accepted);
    const CmId connection = b.event(What::requested).id;
    EXPECT_FALSE(b.cm.answer(now, connection, {}));
    EXPECT_FALSE(b.cm.give_up(connection));
    EXPECT_EQ(
        give(b.cm, left, CmServiceReply{.request_id = static_cast<std::uint32_t>(connection)}),
        RxVerdict::foreign);

    EXPECT_TRUE(answer(there));
    EXPECT_EQ(carry(), "SIDR_REP ");
    a.event(What::resolved);
    EXPECT_EQ(give(a.cm, right, CmServiceReply{.request_id = asked}), RxVerdict::duplicate);
    EXPECT_TRUE(a.silent());
}

TEST_F(Services, IdentifiersGoOnPastTheWrapAndAreNobodyElses) {
    ConnectionManagement::Config config = of_left;
    config.first_id = 0xFFFFFFFE;
    a = Side(config);
    b.cm.listen(service);
    b.cm.listen_datagrams(datagrams);
    std::set<CmId> ids;
    for (int i = 0; i < 4; ++i) {
        ids.insert(resolve());
        ids.insert(ask(0x30U + static_cast<std::uint32_t>(i)));
    }
    EXPECT_EQ(ids.size(), 8U);
    EXPECT_TRUE(ids.contains(CmId(0xFFFFFFFF)) && ids.contains(CmId(6)));
    EXPECT_FALSE(ids.contains(CmId(0)));
    carry();
    std::size_t answered = 0;
    for (const CmEvent& event : b.events()) {
        if (event.what == What::asked) answered += answer(event.id) ? 1U : 0U;
    }
    EXPECT_EQ(answered, 4U);
    carry();
    const auto events = a.events();
    EXPECT_EQ(events.size(), 4U);
    for (const CmEvent& event : events) {
        EXPECT_EQ(event.what, What::resolved);
        EXPECT_EQ(ids.erase(event.id), 1U);
    }
}

}  // namespace
}  // namespace wireproof::proto::ib
