// Events for which there was no memory when they came.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <optional>

#include "wireproof/front/verbs/cm/channel.hpp"
#include "wireproof/front/verbs/device/device.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"

namespace wireproof::verbs::untold_events_test {
namespace {

namespace ib = proto::ib;

std::shared_ptr<Device> new_device(unsigned last) {
    Address address = wireproof::test::own_host(last);
    address.port = rocev2_port;
    auto device = Device::open({.address = address});
    WIREPROOF_CHECK(device.has_value());
    return *device;
}

// RC-42
TEST(UntoldEvents, OfAnArmedQueueAreToldInTheNextTurn) {
    const auto device = new_device(1);
    const auto queue = device->locked([](ib::Port& port) { return port.add_completion_queue(4); });
    int calls = 0;
    int told = 0;
    device->hear(&calls, Device::About::completion_queue, static_cast<std::uint32_t>(queue),
                 [&](ib::PortEvent::What what) {
                     if (++calls <= 2) throw std::bad_alloc();
                     EXPECT_EQ(what, ib::PortEvent::What::completion);
                     ++told;
                 });
    const auto nothing = [](ib::Port&) { return 0; };
    const int fails = device->locked([&](ib::Port& port) {
        const auto pair = port.add_queue_pair({.transport = ib::Transport::ud,
                                               .send_completions = queue,
                                               .receive_completions = queue,
                                               .limits = {.sends = 1, .receives = 1}})
                              .value();
        port.modify(
            pair, {.state = ib::QueuePairState::init, .partition_index = 0, .port = 1, .qkey = 1});
        EXPECT_EQ(port.post_receive(pair, {}), ib::PostStatus::accepted);
        port.request_notify(queue, false);
        EXPECT_EQ(port.modify(pair, {.state = ib::QueuePairState::error}), ib::ModifyStatus::done);
        return 0;
    });
    EXPECT_EQ(fails, 0);
    EXPECT_EQ(calls, 1);
    device->posting(nothing);
    EXPECT_EQ(told, 0);
    device->ending(0, nothing);  // it makes turns
    EXPECT_EQ(told, 1);
    device->posting(nothing);
    EXPECT_EQ(calls, 3);
    device->forget(Device::About::completion_queue, static_cast<std::uint32_t>(queue));
}

/// A hearer that has no memory when the first event comes.
class Poor : public Device::ConnectionHearer {
public:
    void on_event(Instant now, ib::ConnectionManagement& management,
                  const ib::CmEvent& event) override {
        if (++calls == 1) throw std::bad_alloc();
        told = event.what;
        management.reject(now, event.id, ib::CmReason::consumer);
    }
    void on_deadline(Instant, ib::ConnectionManagement&) override {}
    void on_peer_end(Instant, PeerId) override {}
    Instant next_deadline() const override { return never; }

    int calls = 0;
    std::optional<ib::CmEvent::What> told;
};

TEST(UntoldEvents, OfConnectionManagementAreToldInTheNextTurn) {
    const auto asks = new_device(1);
    const auto hears = new_device(2);
    Poor hearer;
    hears->hear_connections(hearer);
    hears->managing([](Instant, ib::ConnectionManagement& management) {
        management.listen(1);
        return 0;
    });
    asks->managing([&](Instant now, ib::ConnectionManagement& management) {
        const auto peer = asks->find_peer(hears->address());
        EXPECT_TRUE(peer && management.connect(now, *peer, {.service = 1}));
        return 0;
    });
    // The keeper of the device may call the hearer, too.
    const auto calls = [&] { return hears->locked([&](ib::Port&) { return hearer.calls; }); };
    while (calls() < 2) hears->ending(0, [](ib::Port&) { return 0; });
    hears->forget_connections(hearer);
    EXPECT_EQ(hearer.told, ib::CmEvent::What::requested);
    EXPECT_EQ(hearer.calls, 2);
}

TEST(UntoldEvents, AChannelKeepsItsRoomForTheNextEvent) {
    CmChannel channel;
    ASSERT_EQ(::fcntl(channel.handle(), F_SETFL, O_NONBLOCK), 0);
    const auto taken = std::make_shared<std::uint32_t>(0);
    const auto event = [&](std::uint32_t of) {
        CmChannelEvent event{.of = of, .taken = taken};
        event.response.id = of;
        return event;
    };
    channel.make_room();
    channel.make_room();
    EXPECT_EQ(channel.await(), EAGAIN) << "room is no event";
    for (std::uint32_t of = 1; of <= 3; ++of) channel.push(event(of));
    EXPECT_EQ(channel.remove(2).size(), 1U);
    for (const std::uint32_t of : {1U, 3U}) {
        rdma_ucm_event_resp got{};
        ASSERT_EQ(channel.await(), 0);
        ASSERT_EQ(channel.take(&got, sizeof got), 0);
        EXPECT_EQ(got.id, of);
    }
    EXPECT_EQ(channel.await(), EAGAIN);
    EXPECT_EQ(*taken, 2U);
}

}  // namespace
}  // namespace wireproof::verbs::untold_events_test
