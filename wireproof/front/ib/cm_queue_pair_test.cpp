// Queue pair 1 of each of two hosts on the loopback network. Packets are lost and damaged between
// the socket and the ICRC check. Time is simulated, so waiting takes no real time.
#include "wireproof/proto/ib/cm/cm_queue_pair.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/front/ib/icrc_wire.hpp"
#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::ib::test {
namespace {

constexpr std::size_t path_mtu = 1024;
constexpr PeerId peer{0};
constexpr std::uint64_t managed_service = service_of_port(9);

Address address_of(unsigned number) {
    return Address::parse(host(number) + ":4791").value();
}

struct LossyHost {
    using Faulty = FaultyWire<UdpWire>;

    static Faulty faulty(unsigned own, unsigned other, const FaultRates& rates,
                         std::uint64_t seed) {
        auto udp = UdpWire::open({.local = address_of(own),
                                  .peers = {address_of(other)},
                                  .frame_max = proto::ib::packet_max(path_mtu) + 4,
                                  .segments = false});
        EXPECT_TRUE(udp) << udp.error().message;
        return Faulty(std::move(*udp), {.rates = rates, .seed = seed});
    }

    LossyHost(unsigned own, unsigned other, const FaultRates& rates, std::uint64_t seed)
        : wire(faulty(own, other, rates, seed),
               {.local = address_of(own), .peers = {address_of(other)}}),
          port({.path_mtu = path_mtu}),
          cm(port,
             {.path_mtu = path_mtu, .management = {.ca_guid = seed, .first_id = 0xFFFFFFFE}}) {
        completions = port.add_completion_queue(16);
        pair = port.add_queue_pair({.transport = proto::ib::Transport::rc,
                                    .domain = 1,
                                    .send_completions = completions,
                                    .receive_completions = completions})
                   .value();
        EXPECT_EQ(port.modify(pair, proto::ib::to_init({})), proto::ib::ModifyStatus::done);
    }

    void turn(Instant now) {
        while (const auto frame = wire.receive(now)) port.on_frame(now, *frame);
        if (port.next_deadline() <= now) port.on_deadline(now);
        while (const auto event = port.next_delivery()) cm.on_event(*event);
        cm.poll(now);
        auto& lane = wire.lane(peer);
        while (TxFrame* room = lane.claim()) {
            if (!port.poll_transmit(now, *room)) break;
            lane.commit();
        }
        wire.flush(now);
    }
    bool failed() const {
        return port.queue_pair(pair)->state() == proto::ib::QueuePairState::error;
    }

    proto::ib::IcrcWire<Faulty> wire;
    proto::ib::Port port;
    proto::ib::CmQueuePair cm;
    proto::ib::CompletionQueueId completions{};
    std::uint32_t pair = 0;
};

TEST(CmQueuePair, ConnectionsAreMadeAndEndedThoughPacketsGetLost) {
    std::uint64_t resent = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const FaultRates rates{.loss = 0.3, .bit_error = 1e-4, .duplicate = 0.2, .reorder = 0.2};
        LossyHost active(21, 22, rates, 2 * seed);
        LossyHost passive(22, 21, rates, 2 * seed + 1);
        ASSERT_TRUE(passive.cm.listen(managed_service));
        Instant now{};
        const auto asked =
            active.cm.management().connect(now, peer,
                                           {.service = managed_service,
                                            .queue_pair = active.pair,
                                            .path_mtu = proto::ib::path_mtu_code(path_mtu)});
        ASSERT_TRUE(asked);
        active.cm.join(*asked, active.pair);
        std::optional<proto::ib::CmId> id;
        bool up = false;
        bool told = false;
        for (int i = 0; i < 4000 && !(active.failed() && passive.failed()); ++i) {
            now = now + Duration::milliseconds(5);
            active.turn(now);
            passive.turn(now);
            if (const auto request = passive.cm.next_request(managed_service)) {
                EXPECT_FALSE(id) << "asked twice";
                id = request->id;
                passive.cm.join(*id, passive.pair);
                EXPECT_TRUE(passive.cm.management().accept(now, *id, {.queue_pair = passive.pair}));
            }
            if (const auto answer = active.cm.take_answer(*asked)) {
                EXPECT_EQ(answer->what, proto::ib::CmEvent::What::replied);
                EXPECT_TRUE(active.cm.management().confirm(now, *asked));
            }
            if (id && passive.cm.take_answer(*id)) up = true;
            // The passive side ends the connection; the active side ends because it is told.
            if (up && !told) {
                told = true;
                passive.cm.part(now, passive.pair);
                passive.port.modify(passive.pair, {.state = proto::ib::QueuePairState::error});
            }
        }
        EXPECT_TRUE(up) << seed;
        EXPECT_TRUE(active.failed()) << seed;
        resent += active.cm.management().counters().resent;
        resent += passive.cm.management().counters().resent;
    }
    EXPECT_GT(resent, 20U);
}

TEST(CmQueuePair, WhoWaitsForAnAskerIsNotifiedThatItHasDisconnected) {
    LossyHost active(23, 24, {}, 1);
    LossyHost passive(24, 23, {}, 2);
    ASSERT_TRUE(passive.cm.listen(managed_service));
    Instant now{};
    const auto turn_until = [&](const std::function<bool()>& until) {
        for (int i = 0; i < 400; ++i) {
            if (until()) return true;
            now = now + Duration::milliseconds(1);
            active.turn(now);
            passive.turn(now);
        }
        return false;
    };
    const auto asked =
        active.cm.management().connect(now, peer,
                                       {.service = managed_service,
                                        .queue_pair = active.pair,
                                        .path_mtu = proto::ib::path_mtu_code(path_mtu)});
    ASSERT_TRUE(asked);
    active.cm.join(*asked, active.pair);
    std::optional<proto::ib::CmEvent> request;
    ASSERT_TRUE(turn_until(
        [&] { return (request = passive.cm.next_request(managed_service)).has_value(); }));
    passive.cm.join(request->id, passive.pair);
    ASSERT_TRUE(passive.cm.management().accept(now, request->id, {.queue_pair = passive.pair}));
    ASSERT_TRUE(turn_until([&] { return active.cm.has_answer(*asked); }));
    // The active side confirms, but the confirmation is lost, and it disconnects at once.
    ASSERT_TRUE(active.cm.management().confirm(now, *asked));
    ASSERT_TRUE(active.cm.management().poll_transmit());
    active.cm.part(now, active.pair);
    EXPECT_TRUE(passive.cm.is_joined(request->id));
    EXPECT_TRUE(turn_until([&] { return !passive.cm.is_joined(request->id); }));
    EXPECT_FALSE(passive.cm.has_answer(request->id));
    EXPECT_TRUE(passive.failed());
}

}  // namespace
}  // namespace wireproof::ib::test
