// What a device does as time passes. The sockets are real, and time is modelled: it passes only
// when no packet is on its way.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>

#include "wireproof/front/ib/device.hpp"
#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::ib::test {
namespace {

constexpr std::size_t timed_path_mtu = 1024;
constexpr std::uint32_t timed_domain = 1;
constexpr Duration hour = Duration::milliseconds(3'600'000);

/// A device with one reliable queue pair.
struct TimedDevice {
    explicit TimedDevice(unsigned number)
        : address(*Address::parse_host(host(number))),
          inside(*Rocev2Wire::open(
                     {.local = address, .frame_max = proto::ib::packet_max(timed_path_mtu)}),
                 {.address = host(number), .path_mtu = timed_path_mtu}),
          memory(1'000) {
        completions = inside.port.add_completion_queue(64);
        key = inside.port.memory()
                  .add_region({.domain = timed_domain,
                               .address = base,
                               .memory = memory,
                               .access = {.local_write = true}})
                  .value();
        pair = inside.port
                   .add_queue_pair({.transport = proto::ib::Transport::rc,
                                    .domain = timed_domain,
                                    .send_completions = completions,
                                    .receive_completions = completions})
                   .value();
        EXPECT_EQ(inside.port.modify(pair, proto::ib::to_init({})), proto::ib::ModifyStatus::done);
    }
    void connect(const TimedDevice& peer) {
        EXPECT_EQ(proto::ib::connect(inside.port, pair,
                                     {.peer = inside.peer_at(peer.address).value(),
                                      .path_mtu = timed_path_mtu,
                                      .dest_queue_pair = peer.pair}),
                  proto::ib::ModifyStatus::done);
    }
    void post_receive() {
        const proto::ib::Piece into{base, 8, key};
        EXPECT_EQ(inside.port.post_receive(pair, {.id = 7, .pieces = std::span(&into, 1)}),
                  proto::ib::PostStatus::accepted);
    }
    void send() {
        const proto::ib::Piece from{base + 100, 8, key};
        EXPECT_EQ(inside.port.post_send(pair, {.terms = {.id = 1}, .pieces = std::span(&from, 1)}),
                  proto::ib::PostStatus::accepted);
    }
    /// How many receives have completed since the last call.
    int received() {
        int count = 0;
        while (const auto one = inside.port.poll(completions)) {
            EXPECT_EQ(one->status, proto::ib::CompletionStatus::success);
            count += one->id == 7 ? 1 : 0;
        }
        return count;
    }

    static constexpr std::uint64_t base = 0x10000;
    Address address;
    Device::Inside inside;
    std::vector<std::byte> memory;
    proto::ib::CompletionQueueId completions{};
    std::uint32_t key = 0;
    std::uint32_t pair = 0;
};

/// Two devices in one event loop that does as ib.hpp says.
class TimedLoop {
public:
    TimedLoop(TimedDevice& a, TimedDevice& b) : devices_{&a.inside, &b.inside} {}

    /// False: `end` has come first.
    template <class Until>
    bool run(Until&& until, Instant end) {
        while (true) {
            for (Device::Inside* const device : devices_) device->poll(now);
            if (until()) return true;
            if (now >= end) return false;
            ++wakes;
            if (!packets_come()) now = std::max(now, earliest(end, next_deadline()));
        }
    }
    Instant next_deadline() const {
        return earliest(devices_[0]->next_deadline(), devices_[1]->next_deadline());
    }

    Instant now{Duration::milliseconds(1)};
    int wakes = 0;

private:
    /// Waits for a packet if one is on its way.
    bool packets_come() const {
        const auto are_on_their_way = [](const Device::Inside& from, const Device::Inside& to) {
            return from.wire.counters().udp.frames_sent != to.wire.counters().udp.frames_received;
        };
        if (!are_on_their_way(*devices_[0], *devices_[1]) &&
            !are_on_their_way(*devices_[1], *devices_[0])) {
            return false;
        }
        std::array<pollfd, 2> wanted{};
        for (std::size_t i = 0; i < 2; ++i) {
            if (!devices_[i]->wire.prepare_to_sleep()) return true;
            wanted[i] = {.fd = devices_[i]->wire.wait_handle(), .events = POLLIN, .revents = 0};
        }
        EXPECT_GT(::poll(wanted.data(), wanted.size(), static_cast<int>(patience.count())), 0);
        return true;
    }

    std::array<Device::Inside*, 2> devices_;
};

TEST(DeviceAtRest, WakesSeldom) {
    TimedDevice a(61);
    TimedDevice b(62);
    a.connect(b);
    b.connect(a);
    TimedLoop loop(a, b);
    constexpr int rounds = 100;
    for (int round = 0; round < rounds; ++round) {
        a.post_receive();
        b.post_receive();
        a.send();
        ASSERT_TRUE(loop.run([&] { return b.received() == 1; }, loop.now + hour)) << round;
        b.send();
        ASSERT_TRUE(loop.run([&] { return a.received() == 1; }, loop.now + hour)) << round;
        loop.now = loop.now + Duration::microseconds(20);
    }
    EXPECT_LE(loop.wakes, 2 * rounds);

    // Each device waits until its peer does not send again. Then nothing is due any more.
    loop.wakes = 0;
    EXPECT_TRUE(loop.run([&] { return loop.next_deadline() == never; }, loop.now + hour));
    EXPECT_LE(loop.wakes, 2);
    loop.wakes = 0;
    EXPECT_FALSE(loop.run([] { return false; }, loop.now + hour));
    EXPECT_LE(loop.wakes, 1) << "only the limit ends the sleep";
}

// The limit of the call that waits ends the wait. A peer may get no processor for a minute.
TEST(DeviceMeeting, AsksUntilItsCallerGivesUp) {
    TimedDevice a(63);
    const PeerId peer =
        a.inside.peer_at(*Address::parse_host(host(64))).value();  // nobody is there
    Instant now{Duration::milliseconds(1)};
    const auto asked =
        a.inside.cm.management().connect(now, peer,
                                         {.service = service_of_port(7178),
                                          .queue_pair = a.pair,
                                          .path_mtu = proto::ib::path_mtu_code(timed_path_mtu)});
    ASSERT_TRUE(asked);
    a.inside.cm.join(*asked, a.pair);
    const auto resolved =
        a.inside.cm.resolve(now, peer, {.service = datagram_service_of_port(7178)});
    ASSERT_TRUE(resolved);
    for (const Instant end = now + hour; now < end; now = a.inside.next_deadline()) {
        a.inside.poll(now);
        ASSERT_FALSE(a.inside.cm.has_answer(*asked) || a.inside.cm.has_answer(*resolved));
    }
    EXPECT_GT(a.inside.cm.management().counters().resent, 1'000U);
    a.inside.cm.give_up(*resolved);
    a.inside.cm.part(now, a.pair);
    while (a.inside.next_deadline() != never) a.inside.poll(a.inside.next_deadline());
}

}  // namespace
}  // namespace wireproof::ib::test
