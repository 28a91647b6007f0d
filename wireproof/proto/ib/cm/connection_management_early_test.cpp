// Requests that arrive before there is a listener, refusals with details, and hosts that disappear
// without a DREQ.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/cm/connection_management_test_kit.hpp"

namespace wireproof::proto::ib {
namespace {

using namespace test;

constexpr Duration grace = Duration::milliseconds(1000);

class Early : public Sides {
protected:
    Early() {
        ConnectionManagement::Config config = of_right;
        config.grace = grace;
        b = Side(config);
    }
    /// Gives the right side a request of the left side.
    RxVerdict give(std::uint32_t id) {
        std::array<std::byte, cm_datagram_size> bytes{};
        CmDatagram{id, CmRequest{.local_id = id, .service = service, .queue_pair = id}}.encode(
            bytes);
        return b.cm.on_datagram(now, left, bytes);
    }
};

TEST_F(Early, ARequestWaitsForAListener) {
    here = ask();
    EXPECT_EQ(carry(), "REQ ");
    EXPECT_EQ(last_verdict, RxVerdict::control);
    wait();  // no answer yet: the request is sent again
    EXPECT_EQ(carry(), "REQ ");
    EXPECT_EQ(last_verdict, RxVerdict::duplicate);
    EXPECT_TRUE(b.silent());

    b.cm.listen(service_of_port(7175));  // not the service of the request
    b.cm.on_deadline(now);
    EXPECT_TRUE(b.silent());
    EXPECT_GT(b.cm.next_deadline(), now);
    b.cm.listen(service);
    EXPECT_LE(b.cm.next_deadline(), now);
    b.cm.on_deadline(now);
    accept(b.event(What::requested).id);
    EXPECT_EQ(carry(), "REP ");
    a.event(What::replied);
    EXPECT_EQ(b.cm.counters().taken, 1U);
    EXPECT_EQ(b.cm.counters().refused, 0U);
}

TEST_F(Early, ARequestThatNobodyListensToInTimeIsRefused) {
    const Instant began = now;
    here = ask();
    carry();
    for (int tries = 0; tries < 3; ++tries) {
        wait();
        EXPECT_EQ(carry(), "REQ ");
        EXPECT_LT(now, began + grace);
    }
    EXPECT_EQ(b.cm.next_deadline(), began + grace);
    now = began + grace;
    b.cm.on_deadline(now);
    EXPECT_EQ(carry(), "REJ ");
    EXPECT_EQ(std::get<CmReject>(a.event(What::rejected).message).reason,
              CmReason::invalid_service);
    EXPECT_EQ(b.cm.counters().refused, 1U);
    b.cm.listen(service);
    b.cm.on_deadline(now);
    EXPECT_TRUE(b.silent());
}

TEST_F(Early, AQuestionAboutADatagramServiceWaitsLikewise) {
    const std::uint64_t datagrams = service_of_port(7174, PortSpace::udp);
    ASSERT_TRUE(a.cm.resolve(now, right, {.service = datagrams}));
    ASSERT_TRUE(a.cm.resolve(now, right, {.service = datagrams + 1}));
    EXPECT_EQ(carry(), "SIDR_REQ SIDR_REQ ");
    b.cm.listen_datagrams(datagrams);
    b.cm.on_deadline(now);
    EXPECT_TRUE(b.cm.answer(now, b.event(What::asked).id, {}));
    EXPECT_EQ(carry(), "SIDR_REP ");
    a.event(What::resolved);
    now = now + grace;
    b.cm.on_deadline(now);
    carry();
    EXPECT_EQ(std::get<CmServiceReply>(a.event(What::resolved).message).status,
              CmServiceStatus::unsupported);
}

TEST_F(Early, ARequestThatItsAskerTakesBackWaitsNoMore) {
    here = ask();
    carry();
    EXPECT_TRUE(a.cm.reject(now, here, CmReason::consumer));
    EXPECT_EQ(carry(), "REJ ");
    EXPECT_EQ(last_verdict, RxVerdict::accepted);
    EXPECT_EQ(b.cm.counters().refused, 1U) << "the request";
    EXPECT_EQ(b.cm.counters().taken, 1U) << "the REJ";
    EXPECT_EQ(b.cm.counters().unknown, 0U);
    b.cm.listen(service);
    b.cm.on_deadline(now);
    EXPECT_TRUE(b.silent());
    EXPECT_EQ(b.cm.next_deadline(), never);
}

TEST_F(Early, NoMoreRequestsWaitThanThereIsRoomFor) {
    constexpr std::uint32_t room = 256;
    for (std::uint32_t id = 1; id <= room; ++id) EXPECT_EQ(give(id), RxVerdict::control);
    EXPECT_EQ(give(room + 1), RxVerdict::refused);
    b.cm.listen(service);
    b.cm.on_deadline(now);
    EXPECT_EQ(b.events().size(), room);
}

TEST_F(Sides, ARefusalSaysWhatWouldBeAccepted) {
    b.cm.listen(service);
    here = ask();
    carry();
    const std::byte most{path_mtu_code(1024)};
    ASSERT_TRUE(b.cm.reject(now, b.event(What::requested).id, CmReason::invalid_path_mtu, {},
                            std::span(&most, 1)));
    carry();
    const auto refusal = std::get<CmReject>(a.event(What::rejected).message);
    EXPECT_EQ(refusal.reason, CmReason::invalid_path_mtu);
    EXPECT_EQ(refusal.detail_length, 1);
    EXPECT_EQ(refusal.detail[0], std::byte{3});
}

TEST_F(Sides, AConnectionWithAHostThatIsGoneIsOver) {
    connect();
    const CmId asked = ask(0x12);
    carry();
    const CmId waiting = b.event(What::requested).id;
    for (const CmId id : {there, waiting}) {
        EXPECT_TRUE(b.cm.lose(now, id));
        EXPECT_EQ(b.event(What::disconnected).id, id);
        EXPECT_FALSE(b.cm.lose(now, id));
    }
    EXPECT_FALSE(b.cm.disconnect(now, there));
    EXPECT_FALSE(b.cm.accept(now, waiting, {}));
    EXPECT_EQ(carry(), "") << "nobody is there to be told";
    EXPECT_FALSE(a.cm.lose(now, asked)) << "has not been answered: time tells";
    EXPECT_TRUE(a.silent());
    EXPECT_TRUE(a.cm.lose(now, here));
    EXPECT_EQ(a.event(What::disconnected).id, here);
}

}  // namespace
}  // namespace wireproof::proto::ib
