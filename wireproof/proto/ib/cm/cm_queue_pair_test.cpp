// Queue pair 1 of two hosts. The test moves the packets between them: services of datagrams, and
// requests that wait. front/ib tests connections over sockets.
#include "wireproof/proto/ib/cm/cm_queue_pair.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/ib/packet/packet_test_kit.hpp"

namespace wireproof::proto::ib {
namespace {

using What = CmEvent::What;

constexpr PeerId peer{3};
constexpr std::uint64_t services_of_host = service_of_port(9, PortSpace::udp);

struct Host {
    explicit Host(std::uint64_t guid)
        : cm(port, {.management = {.ca_guid = guid, .first_id = 0xFFFFFFFF}}) {}

    Port port{{.path_mtu = 1024}};
    CmQueuePair cm;
};

class CmServices : public testing::Test {
protected:
    /// Moves the packets that leave `from` to `to`, except the first `lost` packets of the test.
    std::size_t move(Host& from, Host& to) {
        from.cm.poll(now);
        std::size_t packets = 0;
        while (true) {
            std::vector<std::byte> room(packet_max(1024));
            TxFrame out;
            out.open(room, {.frame_max = room.size()});
            if (!from.port.poll_transmit(now, out)) return packets;
            std::vector<std::byte> packet(out.size());
            out.gather(packet);
            ++packets;
            if (lost > 0) {
                --lost;
                continue;
            }
            to.port.on_frame(now, {.bytes = packet, .from = peer, .integrity = Integrity::intact});
        }
    }
    /// Moves packets until none is left.
    std::size_t settle() {
        std::size_t packets = 0;
        while (true) {
            const std::size_t moved = move(active, passive) + move(passive, active);
            active.cm.poll(now);
            passive.cm.poll(now);
            if (moved == 0) return packets;
            packets += moved;
        }
    }
    CmId resolve() {
        const auto id = active.cm.resolve(now, peer, {.service = services_of_host});
        EXPECT_TRUE(id);
        return id.value_or(CmId{});
    }
    CmServiceStatus status_of(CmId id) {
        const auto answer = active.cm.take_answer(id);
        EXPECT_TRUE(answer && answer->what == What::resolved);
        if (!answer || answer->what != What::resolved) return CmServiceStatus(255);
        return std::get<CmServiceReply>(answer->message).status;
    }

    Instant now{};
    std::size_t lost = 0;
    Host active{1};
    Host passive{2};
};

TEST_F(CmServices, AreResolvedThoughPacketsGetLost) {
    ASSERT_TRUE(passive.cm.listen_datagrams(services_of_host));
    EXPECT_FALSE(passive.cm.listen_datagrams(services_of_host));
    const CmId id = resolve();
    lost = 1;
    EXPECT_EQ(settle(), 1U);
    EXPECT_FALSE(passive.cm.next_query(services_of_host));
    now = active.cm.next_deadline();
    EXPECT_EQ(settle(), 1U);
    const auto query = passive.cm.next_query(services_of_host);
    ASSERT_TRUE(query);
    EXPECT_FALSE(passive.cm.next_query(services_of_host));
    EXPECT_FALSE(passive.cm.next_request(services_of_host));
    lost = 1;
    EXPECT_TRUE(passive.cm.management().answer(now, query->id, {.queue_pair = 0x55, .qkey = 66}));
    EXPECT_EQ(settle(), 1U);
    EXPECT_FALSE(active.cm.has_answer(id));
    now = active.cm.next_deadline();
    EXPECT_EQ(settle(), 2U);
    ASSERT_TRUE(active.cm.has_answer(id));
    const auto answer = active.cm.take_answer(id);
    EXPECT_EQ(answer->what, What::resolved);
    const auto& reply = std::get<CmServiceReply>(answer->message);
    EXPECT_EQ(reply.status, CmServiceStatus::valid);
    EXPECT_EQ(reply.queue_pair, 0x55U);
    EXPECT_EQ(reply.qkey, 66U);
    EXPECT_FALSE(active.cm.take_answer(id));
    EXPECT_EQ(active.cm.management().counters().resent, 2U);
}

TEST_F(CmServices, ThatNobodyOffersAreRefused) {
    const CmId first = resolve();
    EXPECT_EQ(settle(), 2U);
    EXPECT_EQ(status_of(first), CmServiceStatus::unsupported);
    // A query that waits when its service ends is also refused.
    ASSERT_TRUE(passive.cm.listen_datagrams(services_of_host));
    const CmId second = resolve();
    EXPECT_EQ(settle(), 1U);
    passive.cm.stop_listening_datagrams(now, services_of_host);
    passive.cm.stop_listening_datagrams(now, services_of_host);
    EXPECT_EQ(settle(), 1U);
    EXPECT_EQ(status_of(second), CmServiceStatus::unsupported);
    EXPECT_FALSE(passive.cm.next_query(services_of_host));
    EXPECT_TRUE(passive.cm.listen_datagrams(services_of_host));
}

TEST_F(CmServices, WhoGivesUpGetsNoAnswerAndSendsNoMore) {
    ASSERT_TRUE(passive.cm.listen_datagrams(services_of_host));
    const CmId before = resolve();
    settle();
    active.cm.give_up(before);
    EXPECT_EQ(active.cm.next_deadline(), never);
    const auto query = passive.cm.next_query(services_of_host);
    ASSERT_TRUE(query);
    EXPECT_TRUE(passive.cm.management().answer(now, query->id, {}));
    EXPECT_EQ(settle(), 1U);
    EXPECT_FALSE(active.cm.take_answer(before));
    // give_up also removes an answer that has arrived.
    const CmId after = resolve();
    settle();
    EXPECT_TRUE(
        passive.cm.management().answer(now, passive.cm.next_query(services_of_host)->id, {}));
    settle();
    EXPECT_TRUE(active.cm.has_answer(after));
    active.cm.give_up(after);
    EXPECT_FALSE(active.cm.take_answer(after));
}

TEST_F(CmServices, SilenceIsReportedToBothSides) {
    ASSERT_TRUE(passive.cm.listen_datagrams(services_of_host));
    const CmId id = resolve();
    std::size_t packets = settle();
    while (active.cm.next_deadline() != never) {
        now = active.cm.next_deadline();
        packets += settle();
    }
    EXPECT_EQ(packets, 16U);
    const auto answer = active.cm.take_answer(id);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->what, What::unanswered);
    // The query waits no longer than its asker waits for the answer.
    now = passive.cm.next_deadline();
    passive.cm.poll(now);
    EXPECT_EQ(passive.cm.next_deadline(), never);
    EXPECT_FALSE(passive.cm.next_query(services_of_host));
}

// The management may have a listener that CmQueuePair does not know.
TEST_F(CmServices, ARequestThatNobodyKeepsIsRefusedAndLeavesNoListener) {
    passive.cm.management().listen(services_of_host);
    passive.cm.management().listen_datagrams(services_of_host);
    const CmId query = resolve();
    const auto request = active.cm.management().connect(
        now, peer, {.service = services_of_host, .path_mtu = path_mtu_code(1024)});
    ASSERT_TRUE(request);
    active.cm.join(*request, 0x11);
    EXPECT_EQ(settle(), 4U);
    EXPECT_EQ(status_of(query), CmServiceStatus::unsupported);
    const auto answer = active.cm.take_answer(*request);
    ASSERT_TRUE(answer && answer->what == What::rejected);
    EXPECT_EQ(std::get<CmReject>(answer->message).reason, CmReason::invalid_service);
    passive.cm.stop_listening(now, services_of_host);
    EXPECT_TRUE(passive.cm.listen(services_of_host));
    EXPECT_TRUE(passive.cm.listen_datagrams(services_of_host));
}

TEST_F(CmServices, AQueuePairThatFailsReceivesNoDatagram) {
    ASSERT_TRUE(passive.cm.listen_datagrams(services_of_host));
    resolve();
    const QueuePairChange fails{.state = QueuePairState::error};
    ASSERT_EQ(passive.port.modify(cm_queue_pair, fails), ModifyStatus::done);
    EXPECT_EQ(settle(), 1U);
    EXPECT_FALSE(passive.cm.next_query(services_of_host));
    const CmCounters& counters = passive.cm.management().counters();
    EXPECT_EQ(counters.malformed, (std::array<std::uint64_t, 4>{}));
}

// Otherwise the request would take the place of requests that still wait.
TEST_F(CmServices, ARequestForAConnectionThatItsAskerTakesBackIsNotGivenOut) {
    ASSERT_TRUE(passive.cm.listen(services_of_host));
    const auto connect = [&](std::uint32_t queue_pair) {
        return active.cm.management().connect(now, peer,
                                              {.service = services_of_host,
                                               .queue_pair = queue_pair,
                                               .path_mtu = path_mtu_code(1024)});
    };
    const auto first = connect(0x11);
    const auto second = connect(0x12);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(settle(), 2U);
    EXPECT_TRUE(active.cm.management().reject(now, *first, CmReason::consumer));
    EXPECT_EQ(settle(), 1U);
    const auto request = passive.cm.next_request(services_of_host);
    ASSERT_TRUE(request);
    EXPECT_EQ(std::get<CmRequest>(request->message).queue_pair, 0x12U);
    EXPECT_FALSE(passive.cm.next_request(services_of_host));
}

}  // namespace
}  // namespace wireproof::proto::ib
