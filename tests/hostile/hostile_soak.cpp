#include "tests/hostile/hostile_soak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tests/hostile/attacked_device.hpp"
#include "tests/hostile/honest_pair.hpp"
#include "tests/hostile/hostile_host.hpp"

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/loopback_host.hpp"
#include "wireproof/app/common/progress.hpp"

namespace wireproof::hostile {
namespace {

constexpr std::size_t soak_path_mtu = 1024;
constexpr std::size_t hostile_connections = 4;
constexpr std::uint64_t packets_per_turn = 48;  // fits in each socket buffer
constexpr std::uint64_t service = proto::ib::service_of_port(7174);
constexpr std::uint64_t turns_between_checks = 32;
constexpr double begun_anew = 1.0 / 256;  // share of working connections that begin again in a turn
// Time is counted, not measured. So the same seed gives the same run, as far as the kernel allows.
constexpr Duration turn_time = Duration::microseconds(50);
constexpr int quiet_turns = 20'000;  // one second, longer than any timer

std::unique_ptr<ib::Device::Inside> opened_device(std::uint64_t number) {
    Rocev2Wire wire = app::opened_on_free_host(number, [](const Address& host) {
        return Rocev2Wire::open({.local = host, .frame_max = proto::ib::packet_max(soak_path_mtu)});
    });
    const std::string address = wire.local_address().host_text();
    return std::make_unique<ib::Device::Inside>(
        std::move(wire), ib::DeviceOptions{.address = address, .path_mtu = soak_path_mtu});
}

UdpWire opened_mouth(std::uint64_t number) {
    return app::opened_on_free_host(number, [](const Address& host) {
        // The kernel sends each datagram by itself, so the IPv4 identification is 0.
        return UdpWire::open({.local = host, .frame_max = 8192, .segments = false});
    });
}

class HostileSoak {
public:
    explicit HostileSoak(const HostileSoakConfig& config)
        : config_(config),
          dice_(config.seed),
          device_(opened_device(0)),
          friend_(opened_device(1)),
          attacked_(*device_, dice_.next()),
          honest_(*device_, *friend_, transport_of(0), dice_.next()),
          hostile_(opened_mouth(2), opened_mouth(3),
                   {.target = device_->wire.local_address(),
                    .impostor = friend_->wire.local_address(),
                    .path_mtu = soak_path_mtu,
                    .seed = dice_.next()}) {
        device_->cm.listen(service);
        device_->cm.listen_datagrams(service);
        const auto peer = device_->peer_at(hostile_.address());
        if (!peer) throw app::Failure(peer.error().message);
        peer_ = *peer;
        for (std::size_t i = 0; i < hostile_connections; ++i) {
            attacked_.add_conversation(transport_of(i), dice_.next()).set_remote(hostile_.open());
            hostile_.add_conversation(transport_of(i), dice_.next()).set_remote(attacked_.open());
            connect(i);
        }
        attacked_.also_count(honest_.number(0));
        attacked_.also_count(proto::ib::cm_queue_pair);
        HostileAims aims{.transport = transport_of(0),
                         .service = service,
                         .packet_max = proto::ib::packet_max(soak_path_mtu)};
        attacked_.add_aims(aims);
        aims.regions.push_back(honest_.memory(0));
        hostile_.aim(aims);
    }

    HostileSoakResult run() {
        app::Progress progress("packets", config_.packets, "packets");
        std::uint64_t sent = 0;
        for (std::uint64_t turns = 0; sent < config_.packets && violation_.empty(); ++turns) {
            app::check_interrupt();
            const std::uint64_t count = std::min(packets_per_turn, config_.packets - sent);
            hostile_.attack(now_, count);
            sent += count;
            turn(true);
            if (turns % turns_between_checks == 0) check_memory();
            progress.show(sent);
        }
        come_to_rest();
        check_memory();
        HostileSoakResult result = counted();
        if (violation_.empty()) violation_ = check_counts(result);
        result.violation = violation_;
        return result;
    }

private:
    /// The transport of the configuration; otherwise RC and UC in turn.
    proto::ib::Transport transport_of(std::size_t i) const {
        return config_.transport.value_or(i % 2 == 0 ? proto::ib::Transport::rc
                                                     : proto::ib::Transport::uc);
    }

    void connect(std::size_t i) {
        Conversation& here = attacked_.conversations()[i];
        Conversation& there = hostile_.conversations()[i];
        const auto psn = [this] {
            return proto::ib::Psn(
                static_cast<std::uint32_t>(dice_.below(proto::ib::wire_circle.modulus())));
        };
        proto::ib::Connection ours{.peer = peer_,
                                   .path_mtu = soak_path_mtu,
                                   .dest_queue_pair = there.number(),
                                   .receive_psn = psn(),
                                   .send_psn = psn(),
                                   .max_dest_rd_atomic = 4,
                                   .max_rd_atomic = 4,
                                   .min_rnr_timer = 1,
                                   .timeout = 8};
        here.connect(ours);
        ours.peer = PeerId{0};
        ours.dest_queue_pair = here.number();
        std::swap(ours.receive_psn, ours.send_psn);
        there.connect(ours);
    }

    void turn(bool more) {
        now_ = now_ + turn_time;
        for (Conversation& one : attacked_.conversations()) {
            if (more) one.go_on();
            one.draw();
        }
        honest_.work(more);
        device_->poll(now_);
        answer_requests();
        for (Conversation& one : attacked_.conversations()) {
            one.draw();
            fail(one.violation());
        }
        hostile_.take_answers(now_);
        friend_->poll(now_);
        honest_.work(false);
        fail(honest_.violation());
        for (std::size_t i = 0; i < hostile_connections; ++i) {
            const bool broken =
                attacked_.conversations()[i].failed() || hostile_.conversations()[i].failed();
            if (!broken && !(more && dice_.chance(begun_anew))) continue;
            connect(i);
            ++reconnected_;
        }
    }

    /// Accepts or refuses each waiting request. In half of the turns it leaves all requests
    /// waiting.
    void answer_requests() {
        if (dice_.chance(0.5)) return;
        while (const auto request = device_->cm.next_request(service)) {
            proto::ib::ConnectionManagement& cm = device_->cm.management();
            const bool done = dice_.chance(0.5)
                                  ? cm.accept(now_, request->id, {})
                                  : cm.reject(now_, request->id, proto::ib::CmReason::consumer);
            if (!done) fail("a request for a connection cannot be answered");
        }
        while (const auto query = device_->cm.next_query(service)) {
            proto::ib::CmServiceReply reply{.queue_pair = honest_.number(0), .qkey = 1};
            if (dice_.chance(0.5)) reply.status = proto::ib::CmServiceStatus::rejected;
            if (!device_->cm.management().answer(now_, query->id, reply)) {
                fail("a question for a queue pair cannot be answered");
            }
        }
    }

    /// Afterwards no packet is in flight, and the kernel has reported the packets that it dropped.
    void come_to_rest() {
        for (int i = 0; i < quiet_turns && violation_.empty(); ++i) {
            // The honest pair sends once more after a quiet time. With this datagram the kernel
            // reports how many it has dropped before.
            turn(i < 2 || i == quiet_turns / 2);
        }
        if (violation_.empty() && !honest_.idle()) fail("the honest connection has come to a halt");
    }

    void check_memory() {
        ++memory_checks_;
        fail(attacked_.check_memory());
    }

    HostileSoakResult counted() const {
        HostileSoakResult result;
        for (std::size_t i = 0; i < result.sent_as.size(); ++i) {
            result.sent_as[i] = hostile_.sent(static_cast<Hostility>(i));
            result.hostile += result.sent_as[i];
        }
        result.harmless = hostile_.good();
        result.honest = friend_->wire.counters().udp.frames_sent;
        result.datagrams = hostile_.datagrams() + result.honest;
        result.kernel_dropped = device_->wire.counters().udp.kernel_dropped;
        result.received = attacked_.received();
        result.reconnected = reconnected_;
        for (const Conversation& one : attacked_.conversations()) {
            result.completed += one.completed();
        }
        result.honest_messages = honest_.delivered();
        result.honest_lost = honest_.lost();
        result.memory_checks = memory_checks_;
        return result;
    }

    std::string check_counts(const HostileSoakResult& result) const {
        const proto::ib::CmCounters& cm = device_->cm.management().counters();
        std::uint64_t datagrams =
            cm.taken + cm.duplicates + cm.unknown + cm.out_of_state + cm.refused;
        for (const std::uint64_t count : cm.malformed) datagrams += count;
        const std::uint64_t executed =
            device_->port.queue_pair(proto::ib::cm_queue_pair)->counters.executed;
        if (datagrams != executed) {
            return fmt::format("queue pair 1 took {} datagrams, and its counters tell of {}",
                               executed, datagrams);
        }
        std::uint64_t sum = result.kernel_dropped;
        for (const auto& [reason, count] : result.received) sum += count;
        if (sum != result.datagrams) {
            return fmt::format("{} datagrams were sent, and the counters tell of {}",
                               result.datagrams, sum);
        }
        if (result.honest_lost > result.kernel_dropped) {
            return fmt::format("the honest connection lost {} messages, and the kernel {} packets",
                               result.honest_lost, result.kernel_dropped);
        }
        return "";
    }

    void fail(const std::string& what) {
        if (violation_.empty()) violation_ = what;
    }

    HostileSoakConfig config_;
    Random dice_;
    std::unique_ptr<ib::Device::Inside> device_;
    std::unique_ptr<ib::Device::Inside> friend_;
    AttackedDevice attacked_;
    HonestPair honest_;
    HostileHost hostile_;
    PeerId peer_{};
    Instant now_{};
    std::uint64_t reconnected_ = 0;
    std::uint64_t memory_checks_ = 0;
    std::string violation_;
};

}  // namespace

HostileSoakResult run_hostile_soak(const HostileSoakConfig& config) {
    return HostileSoak(config).run();
}

}  // namespace wireproof::hostile
