// Devices whose sockets have the receive buffer that Linux gives to an ordinary user.
#include <gtest/gtest.h>

#include "wireproof/front/ib/device.hpp"
#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::ib::test {
namespace {

constexpr std::size_t message = 65'536;
constexpr unsigned messages = 300;
constexpr unsigned posted_max = 8;  // for each queue pair
constexpr std::uint32_t domain = 1;

struct Host {
    Host(unsigned number, std::size_t path_mtu)
        : options{.address = host(number), .path_mtu = path_mtu},
          inside(opened(options), options),
          memory(message) {
        completions = inside.port.add_completion_queue(1024);
        key = inside.port.memory()
                  .add_region(
                      {.domain = domain,
                       .address = base,
                       .memory = memory,
                       .access = {.local_write = true, .remote_write = true, .remote_read = true}})
                  .value();
    }
    /// The kernel doubles the requested size, so the buffer has 212,992 bytes.
    static Rocev2Wire opened(const DeviceOptions& options) {
        auto local = Address::parse(options.address + ":4791");
        auto wire = Rocev2Wire::open({.local = *local,
                                      .frame_max = proto::ib::packet_max(options.path_mtu),
                                      .receive_buffer = 106'496});
        EXPECT_TRUE(wire);
        return std::move(*wire);
    }
    std::uint32_t add() {
        const auto number = inside.port
                                .add_queue_pair({.transport = proto::ib::Transport::rc,
                                                 .domain = domain,
                                                 .send_completions = completions,
                                                 .receive_completions = completions})
                                .value();
        EXPECT_EQ(inside.port.modify(
                      number, proto::ib::to_init({.remote_write = true, .remote_read = true})),
                  proto::ib::ModifyStatus::done);
        return number;
    }
    void connect(std::uint32_t own, Host& peer, std::uint32_t to,
                 proto::ib::Congestion congestion) {
        const auto there = Address::parse(peer.options.address + ":4791");
        EXPECT_EQ(proto::ib::connect(inside.port, own,
                                     {.peer = inside.peer_at(*there).value(),
                                      .path_mtu = options.path_mtu,
                                      .dest_queue_pair = to,
                                      .max_dest_rd_atomic = 4,
                                      .max_rd_atomic = 4,
                                      .congestion = congestion}),
                  proto::ib::ModifyStatus::done);
    }

    static constexpr std::uint64_t base = 0x10000;
    DeviceOptions options;
    Device::Inside inside;
    std::vector<std::byte> memory;
    proto::ib::CompletionQueueId completions{};
    std::uint32_t key = 0;
};

struct Traffic {
    std::uint64_t packets = 0;
    std::uint64_t again = 0;       // retransmitted packets, and requests that were answered again
    std::uint64_t recoveries = 0;  // timeouts and starts of go-back-N
};

/// Each device polls until nothing more happens, and then the other does, like two processes on one
/// processor. Time passes only between the turns, so no timer expires because a turn took long.
Traffic move_all(proto::ib::Request request, std::size_t path_mtu, unsigned queue_pairs,
                 proto::ib::Congestion congestion = proto::ib::Congestion::off) {
    Host a(1, path_mtu);
    Host b(2, path_mtu);
    std::vector<std::uint32_t> pairs;
    std::vector<std::uint32_t> peers;
    for (unsigned i = 0; i < queue_pairs; ++i) {
        pairs.push_back(a.add());
        peers.push_back(b.add());
        a.connect(pairs.back(), b, peers.back(), congestion);
        b.connect(peers.back(), a, pairs.back(), congestion);
    }
    std::vector<unsigned> outstanding(queue_pairs);
    unsigned posted = 0;
    unsigned ended = 0;
    Instant now(Duration::milliseconds(1));
    const auto end_of_patience = std::chrono::steady_clock::now() + patience;
    while (ended < messages && std::chrono::steady_clock::now() < end_of_patience) {
        for (unsigned i = 0; i < queue_pairs; ++i) {
            for (; posted < messages && outstanding[i] < posted_max; ++posted, ++outstanding[i]) {
                const proto::ib::Piece local{Host::base, message, a.key};
                EXPECT_EQ(a.inside.port.post_send(pairs[i], {.terms = {.id = i,
                                                                       .request = request,
                                                                       .remote_address = Host::base,
                                                                       .remote_key = b.key},
                                                             .pieces = std::span(&local, 1)}),
                          proto::ib::PostStatus::accepted);
            }
        }
        now = now + Duration::microseconds(20);
        a.inside.poll(now);
        b.inside.poll(now);
        while (const auto one = a.inside.port.poll(a.completions)) {
            EXPECT_EQ(one->status, proto::ib::CompletionStatus::success);
            ++ended;
            --outstanding[static_cast<std::size_t>(one->id)];
        }
    }
    EXPECT_EQ(ended, messages);
    Traffic traffic;
    for (unsigned i = 0; i < queue_pairs; ++i) {
        const proto::ib::QueuePairCounters& out = a.inside.port.queue_pair(pairs[i])->counters;
        const proto::ib::QueuePairCounters& in = b.inside.port.queue_pair(peers[i])->counters;
        traffic.packets += out.sent + in.responses_sent;
        traffic.again += out.resent + in.replayed;
        traffic.recoveries += out.timeouts + out.went_back;
    }
    return traffic;
}

TEST(PeerWindow, ManyWritesFitAStockReceiveBuffer) {
    for (const std::size_t path_mtu : {std::size_t{1024}, std::size_t{4096}}) {
        for (const unsigned queue_pairs : {1U, 4U}) {
            const Traffic traffic = move_all(proto::ib::Request::write, path_mtu, queue_pairs);
            EXPECT_LE(traffic.again * 100, traffic.packets) << path_mtu << ", " << queue_pairs;
        }
    }
}

TEST(PeerWindow, ManyReadsFitADefaultReceiveBuffer) {
    for (const std::size_t path_mtu : {std::size_t{1024}, std::size_t{4096}}) {
        for (const unsigned queue_pairs : {1U, 4U}) {
            const Traffic traffic = move_all(proto::ib::Request::read, path_mtu, queue_pairs);
            const std::uint64_t needed = std::uint64_t{messages} * message / path_mtu;
            EXPECT_LE(traffic.recoveries, 4U) << path_mtu << ", " << queue_pairs;
            EXPECT_LE(traffic.packets, needed + needed / 10) << path_mtu << ", " << queue_pairs;
        }
    }
}

// Also if random losses do not shrink the window.
TEST(PeerWindow, QueuePairsWithCongestionControlFitAStockReceiveBuffer) {
    for (const auto request : {proto::ib::Request::write, proto::ib::Request::read}) {
        for (const unsigned queue_pairs : {1U, 4U}) {
            const Traffic traffic =
                move_all(request, 1024, queue_pairs, proto::ib::Congestion::by_path);
            EXPECT_LE(traffic.again * 20, traffic.packets) << queue_pairs;
        }
    }
}

TEST(DeviceCongestion, IsDecidedForEachPeerByItsAddress) {
    using proto::ib::Congestion;
    Host between(1, 1024);
    const auto to = [](Host& host, const char* address) {
        return host.inside.congestion_to(host.inside.peer_at(*Address::parse(address)).value());
    };
    EXPECT_EQ(to(between, "127.0.0.9:4791"), Congestion::off);
    EXPECT_EQ(to(between, "192.0.2.1:4791"), Congestion::by_path);
    between.inside.options.congestion_algorithm = CongestionAlgorithm::by_loss;
    EXPECT_EQ(to(between, "192.0.2.1:4791"), Congestion::by_loss);
    between.inside.options.congestion_control = CongestionControl::always;
    EXPECT_EQ(to(between, "127.0.0.9:4791"), Congestion::by_loss);
    between.inside.options.congestion_control = CongestionControl::never;
    EXPECT_EQ(to(between, "192.0.2.1:4791"), Congestion::off);
}

}  // namespace
}  // namespace wireproof::ib::test
