#include <algorithm>
#include <random>

#include "wireproof/front/ib/conversions.hpp"
#include "wireproof/front/ib/device.hpp"
#include "wireproof/front/ib/timer_codes.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::ib {
namespace {

constexpr std::size_t inlined_max = 4096;
constexpr unsigned retries_max = 7;  // three bits

/// Checks the counts and times of retransmission.
Expected<void> check_retries(const QueuePairOptions& options) {
    const auto wrong = [](const char* name, auto value, const char* unit, const std::string& least,
                          auto most) {
        return unexpected(std::string(name) + " is " + std::to_string(value) + unit + ", not " +
                          least + " to " + std::to_string(most) + unit);
    };
    const auto timeout = options.ack_timeout;
    if (timeout.count() != 0 && (timeout < ack_timeout_min || timeout > ack_timeout_max)) {
        return wrong("ack_timeout", timeout.count(), " ns",
                     "0 or " + std::to_string(ack_timeout_min.count()), ack_timeout_max.count());
    }
    if (options.retry_count > retries_max) {
        return wrong("retry_count", options.retry_count, "", "0", retries_max);
    }
    if (options.rnr_retry_count > retries_max) {
        return wrong("rnr_retry_count", options.rnr_retry_count, "", "0", retries_max);
    }
    const auto timer = options.min_rnr_timer;
    if (timer < rnr_timer_min || timer > rnr_timer_max) {
        return wrong("min_rnr_timer", timer.count(), " us", std::to_string(rnr_timer_min.count()),
                     rnr_timer_max.count());
    }
    return {};
}

Expected<void> check(const QueuePairOptions& options) {
    const auto transport = transport_of(options.transport);
    if (!transport) return unexpected("transport has no valid value");
    // A receive for a datagram needs one more piece in front.
    const std::size_t pieces_max =
        proto::ib::SendEntry::pieces_max - (transport == proto::ib::Transport::ud ? 1 : 0);
    return within("sends", options.sends, 1, queue_max)
        .and_then([&] { return within("receives", options.receives, 1, queue_max); })
        .and_then([&] { return within("pieces", options.pieces, 1, pieces_max); })
        .and_then([&] { return within("inlined", options.inlined, 0, inlined_max); })
        .and_then([&] {
            return within("initiator_depth", options.initiator_depth, 1, outstanding_reads_max);
        })
        .and_then([&] {
            return within("responder_resources", options.responder_resources, 1,
                          outstanding_reads_max);
        })
        .and_then([&] { return check_retries(options); });
}

}  // namespace

Expected<void> within(const char* name, std::size_t value, std::size_t least, std::size_t most) {
    if (value >= least && value <= most) return {};
    return unexpected(std::string(name) + " is " + std::to_string(value) + ", not " +
                      std::to_string(least) + " to " + std::to_string(most));
}

proto::ib::Connection QueuePair::Inside::retries() const {
    return {.min_rnr_timer = rnr_timer_code(options.min_rnr_timer),
            .timeout = ack_timeout_code(options.ack_timeout),
            .retry_count = static_cast<std::uint8_t>(options.retry_count),
            .rnr_retry = static_cast<std::uint8_t>(options.rnr_retry_count)};
}

Result<QueuePair> QueuePair::create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    const QueuePairOptions& options) {
    return create(domain, sends, receives, nullptr, options);
}

Result<QueuePair> QueuePair::create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    const SharedReceiveQueue& shared,
                                    const QueuePairOptions& options) {
    if (shared.inside_->domain != domain.inside_.get()) {
        return Result<QueuePair>::failure("the shared receives are of another domain");
    }
    return create(domain, sends, receives, shared.inside_.get(), options);
}

Result<QueuePair> QueuePair::create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    std::shared_ptr<SharedReceiveQueue::Inside> shared,
                                    const QueuePairOptions& options) {
    if (const auto checked = check(options); !checked) {
        return Result<QueuePair>::failure(checked.error().message);
    }
    if (domain.inside_->device->fork.forked()) return Result<QueuePair>::failure(closed_in_child);
    const host::OneUser::Call call(domain.inside_->device->user);
    if (sends.inside_->device != domain.inside_->device ||
        receives.inside_->device != domain.inside_->device) {
        return Result<QueuePair>::failure("the completion queues are of another device");
    }
    proto::ib::QueuePairConfig config;
    const bool datagram = options.transport == Transport::datagram;
    if (datagram && shared != nullptr) {
        return Result<QueuePair>::failure("a queue pair for datagrams cannot use shared receives");
    }
    config.transport = *transport_of(options.transport);
    config.message_hold = proto::ib::usual_message_hold;
    config.domain = domain.inside_->number;
    config.send_completions = sends.inside_->id;
    config.receive_completions = receives.inside_->id;
    if (shared != nullptr) config.shared_receives = shared->id;
    config.limits = {.sends = options.sends,
                     .receives = options.receives,
                     .pieces = options.pieces + (datagram ? 1 : 0),
                     .inlined = options.inlined};
    const auto number = domain.inside_->device->port.add_queue_pair(config);
    if (!number) return Result<QueuePair>::failure(number.error().message);

    auto inside = std::make_shared<Inside>();
    inside->domain = domain.inside_.get();
    inside->sends = sends.inside_.get();
    inside->receives = receives.inside_.get();
    inside->shared = std::move(shared);
    inside->options = options;
    inside->number = *number;
    // Random, so that a late packet of an earlier connection does not fit this one.
    std::random_device system;
    inside->psn = static_cast<std::uint32_t>(system() % proto::ib::wire_circle.modulus());
    if (datagram) {
        inside->begin_datagrams();
    } else {
        // Receives may be posted before the peer is known.
        const auto status =
            inside->port().modify(*number, proto::ib::to_init(access_of(options.peer)));
        WIREPROOF_CHECK(status == proto::ib::ModifyStatus::done);
    }
    return QueuePair(std::move(inside));
}

std::uint32_t QueuePair::number() const {
    return inside_->number;
}

Contact QueuePair::contact() const {
    const DeviceOptions& device = inside_->domain->device->options;
    return {.address = device.address,
            .queue_pair = inside_->number,
            .psn = inside_->psn,
            .path_mtu = device.path_mtu,
            .responder_resources = inside_->options.responder_resources};
}

Contact QueuePair::contact(const MemoryRegion& offered) const {
    Contact contact = this->contact();
    contact.memory = offered.address();
    contact.length = offered.length();
    contact.key = offered.key();
    return contact;
}

Status QueuePair::connect(const Contact& peer) {
    if (inside_->device().fork.forked()) return Status::closed;
    const host::OneUser::Call call(inside_->device().user);
    if (inside_->is_datagram()) return Status::not_supported;
    proto::ib::Port& port = inside_->port();
    if (port.queue_pair(inside_->number)->state() != proto::ib::QueuePairState::init) {
        return Status::wrong_state;
    }
    const auto host = Address::parse_host(peer.address);
    if (!host || !proto::ib::is_path_mtu(peer.path_mtu) ||
        !proto::ib::wire_circle.holds(peer.psn) || !proto::ib::wire_circle.holds(peer.queue_pair) ||
        peer.responder_resources == 0) {
        return Status::bad_contact;
    }
    const auto address = inside_->domain->device->peer_at(*host);
    if (!address) return Status::bad_contact;
    proto::ib::Connection connection = inside_->retries();
    connection.peer = *address;
    connection.congestion = inside_->device().congestion_to(*address);
    connection.path_mtu = std::min(peer.path_mtu, inside_->domain->device->options.path_mtu);
    connection.dest_queue_pair = peer.queue_pair;
    connection.receive_psn = proto::ib::Psn(peer.psn);
    connection.send_psn = proto::ib::Psn(inside_->psn);
    // Our contact limits the Reads and Atomics of the peer. The peer's contact says how many of
    // ours it remembers.
    connection.max_dest_rd_atomic = inside_->responder_resources();
    connection.max_rd_atomic = inside_->initiator_depth(peer.responder_resources);
    const bool done =
        proto::ib::connect(port, inside_->number, connection) == proto::ib::ModifyStatus::done;
    return done ? Status::ok : Status::bad_contact;
}

bool QueuePair::failed() const {
    if (inside_->device().fork.forked()) return true;
    const host::OneUser::Call call(inside_->device().user);
    const proto::ib::QueuePairState state = inside_->port().queue_pair(inside_->number)->state();
    return state == proto::ib::QueuePairState::error || state == proto::ib::QueuePairState::sqe;
}

}  // namespace wireproof::ib
