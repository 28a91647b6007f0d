// Queue pairs that connect by communication management. The starting PSN in a request or reply is
// the PSN of the first packet that its sender will receive.
#include <algorithm>

#include "wireproof/front/ib/device.hpp"
#include "wireproof/front/ib/private_data.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/proto/ib/port/connection.hpp"

namespace wireproof::ib {
namespace {

constexpr std::uint16_t permissive_lid = 0xFFFF;  // as Linux does for hosts with IP addresses
constexpr std::uint8_t hop_limit = 64;
constexpr std::uint8_t target_ack_delay = 15;  // 134 ms, because a process may sleep

/// `ours`: the settings by which this side retransmits.
proto::ib::CmRequest request_of(const Address& from, const Address& to, std::uint64_t service,
                                const proto::ib::Connection& ours) {
    proto::ib::CmRequest request{.service = service};
    request.primary = {.local_lid = permissive_lid,
                       .remote_lid = permissive_lid,
                       .local_gid = gid_of(from),
                       .remote_gid = gid_of(to),
                       .hop_limit = hop_limit,
                       .ack_timeout = ours.timeout};
    request.retry_count = ours.retry_count;
    request.rnr_retry = ours.rnr_retry;
    if (proto::ib::is_ip_service(service)) {
        put_addresses(from, to, service, request.private_bytes);
    }
    return request;
}

std::string why(const Device::Inside& device, const proto::ib::CmEvent& event) {
    if (event.what != proto::ib::CmEvent::What::rejected) return device.no_answer_of(event.peer);
    const proto::ib::CmReason reason = std::get<proto::ib::CmReject>(event.message).reason;
    const std::string_view name = proto::ib::name_of(reason);
    return "refused: " + (name.empty() ? "reason " + std::to_string(static_cast<int>(reason))
                                       : std::string(name));
}

/// Waits for the answer to the request or reply of this side. Nothing: the limit has passed, or the
/// other side has disconnected.
std::optional<proto::ib::CmEvent> answer_to(Device::Inside& device, proto::ib::CmId id,
                                            std::chrono::milliseconds limit) {
    device.wait([&] { return device.cm.has_answer(id) || !device.cm.is_joined(id); }, limit);
    return device.cm.take_answer(id);
}

}  // namespace

QueuePair::Inside::~Inside() {
    if (device().fork.forked()) return;
    const host::OneUser::Call call(device().user);
    const Instant now = device().clock.now();
    device().cm.part(now, number);
    // The device may be destroyed next, so the message about the end must leave now.
    if (device().cm.management().has_outgoing()) device().poll(now);
    port().remove_queue_pair(number);
    if (is_datagram()) port().memory().end_region(front_key);
}

void QueuePair::disconnect() {
    Device::Inside& device = inside_->device();
    if (device.fork.forked()) return;
    const host::OneUser::Call call(device.user);
    device.cm.part(device.clock.now(), inside_->number);
    inside_->fail();
}

Result<std::vector<std::byte>> QueuePair::connect(std::string_view host, std::uint64_t service,
                                                  std::span<const std::byte> told,
                                                  std::chrono::milliseconds limit) {
    using Answer = Result<std::vector<std::byte>>;
    Device::Inside& device = inside_->device();
    proto::ib::Port& port = inside_->port();
    const auto failed = [&host](const std::string& reason) {
        return Answer::failure("connection to " + std::string(host) + ": " + reason);
    };
    if (device.fork.forked()) return failed(closed_in_child);
    const host::OneUser::Call call(device.user);
    if (inside_->is_datagram()) return failed("a queue pair for datagrams has no connection");
    if (port.queue_pair(inside_->number)->state() != proto::ib::QueuePairState::init) {
        return failed("the queue pair has been connected before");
    }
    const auto address = Address::parse_host(host);
    if (!address) return failed(address.error().message);
    const auto peer = device.peer_at(*address);
    if (!peer) return failed(peer.error().message);
    // The path may carry less than the interface. The kernel may know that.
    const auto room = Rocev2Wire::frame_max_between(device.wire.local_address(), *address);
    if (!room) return failed(room.error().message);
    const std::size_t path_mtu =
        std::min(device.options.path_mtu, proto::ib::path_mtu_within(*room));
    if (path_mtu == 0) return failed("the path carries no path MTU, not even 256");
    proto::ib::CmRequest request =
        request_of(device.wire.local_address(), *address, service, inside_->retries());
    if (!put(told, told_at(service), request.private_bytes))
        return failed("there are too many private bytes");
    const bool reliable = inside_->options.transport == Transport::reliable;
    request.queue_pair = inside_->number;
    request.starting_psn = proto::ib::Psn(inside_->psn);
    request.transport = reliable ? 0 : 1;
    request.path_mtu = proto::ib::path_mtu_code(path_mtu);
    if (reliable) {
        request.responder_resources = inside_->responder_resources();
        request.initiator_depth = inside_->initiator_depth(outstanding_reads_max);
    }
    proto::ib::CmQueuePair& cm = device.cm;
    const auto id = cm.management().connect(device.clock.now(), *peer, request);
    if (!id) return failed("too many connections");
    cm.join(*id, inside_->number);

    const auto event = answer_to(device, *id, limit);
    if (!event || event->what != proto::ib::CmEvent::What::replied) {
        disconnect();
        return failed(event ? why(device, *event) : device.no_answer_of(*peer));
    }
    const auto& reply = std::get<proto::ib::CmReply>(event->message);
    proto::ib::Connection connection = inside_->retries();
    connection.peer = *peer;
    connection.congestion = device.congestion_to(*peer);
    connection.path_mtu = path_mtu;
    connection.dest_queue_pair = reply.queue_pair;
    connection.receive_psn = proto::ib::Psn(inside_->psn);
    connection.send_psn = reply.starting_psn;
    connection.max_dest_rd_atomic = inside_->responder_resources(reply.initiator_depth);
    connection.max_rd_atomic = inside_->initiator_depth(reply.responder_resources);
    const auto connected = proto::ib::connect(port, inside_->number, connection);
    if (connected != proto::ib::ModifyStatus::done ||
        !cm.management().confirm(device.clock.now(), *id)) {
        disconnect();
        return failed("the answer is not valid");
    }
    device.poll(device.clock.now());
    return std::vector<std::byte>(reply.private_bytes.begin(), reply.private_bytes.end());
}

ConnectionRequest::Inside::~Inside() {
    if (answered || device->fork.forked()) return;
    const host::OneUser::Call call(device->user);
    device->cm.management().reject(device->clock.now(), event.id, proto::ib::CmReason::consumer);
}

const std::string& ConnectionRequest::address() const {
    return inside_->address;
}

Transport ConnectionRequest::transport() const {
    const auto& request = std::get<proto::ib::CmRequest>(inside_->event.message);
    return request.transport == 0 ? Transport::reliable : Transport::unreliable;
}

std::span<const std::byte> ConnectionRequest::told() const {
    const auto& request = std::get<proto::ib::CmRequest>(inside_->event.message);
    return std::span(request.private_bytes).subspan(told_at(request.service));
}

void ConnectionRequest::reject(std::span<const std::byte> why) {
    proto::ib::PrivateBytes<148> bytes{};
    put(why.first(std::min(why.size(), bytes.size())), 0, bytes);
    if (inside_->answered || inside_->device->fork.forked()) return;
    const host::OneUser::Call call(inside_->device->user);
    inside_->answered = true;
    inside_->device->cm.management().reject(inside_->device->clock.now(), inside_->event.id,
                                            proto::ib::CmReason::consumer, bytes);
}

Result<void> ConnectionRequest::accept(QueuePair& pair, std::span<const std::byte> tell,
                                       std::chrono::milliseconds limit) {
    const auto failed = [this](const std::string& reason) {
        return Result<void>::failure("connection from " + inside_->address + ": " + reason);
    };
    QueuePair::Inside& inside = *pair.inside_;
    Device::Inside& device = *inside_->device;
    proto::ib::Port& port = device.port;
    if (device.fork.forked()) return failed(closed_in_child);
    const host::OneUser::Call call(device.user);
    if (inside_->answered) return failed("answered before");
    if (&inside.device() != &device) return failed("the queue pair is of another device");
    if (inside.options.transport != transport())
        return failed("the other side asks for another transport");
    if (port.queue_pair(inside.number)->state() != proto::ib::QueuePairState::init) {
        return failed("the queue pair has been connected before");
    }
    const auto& request = std::get<proto::ib::CmRequest>(inside_->event.message);
    proto::ib::Connection connection = inside.retries();
    connection.peer = inside_->event.peer;
    connection.congestion = device.congestion_to(connection.peer);
    connection.path_mtu = proto::ib::path_mtu_of(request.path_mtu).value();
    connection.dest_queue_pair = request.queue_pair;
    connection.receive_psn = proto::ib::Psn(inside.psn);
    connection.send_psn = request.starting_psn;
    connection.max_dest_rd_atomic = inside.responder_resources(request.initiator_depth);
    connection.max_rd_atomic = inside.initiator_depth(request.responder_resources);
    proto::ib::CmReply reply{.queue_pair = inside.number,
                             .starting_psn = connection.receive_psn,
                             .responder_resources = connection.max_dest_rd_atomic,
                             .initiator_depth = connection.max_rd_atomic,
                             .target_ack_delay = target_ack_delay,
                             .rnr_retry = connection.rnr_retry};
    if (!put(tell, 0, reply.private_bytes)) return failed("there are too many private bytes");
    inside_->answered = true;
    // The queue pair must be ready before the first packet can arrive.
    const proto::ib::Transport kind = port.queue_pair(inside.number)->config().transport;
    const proto::ib::CmId id = inside_->event.id;
    device.cm.join(id, inside.number);
    const bool ready =
        port.modify(inside.number, to_rtr(kind, connection)) == proto::ib::ModifyStatus::done &&
        device.cm.management().accept(device.clock.now(), id, reply);
    const auto event = ready ? answer_to(device, id, limit) : std::nullopt;
    const bool up =
        event && event->what == proto::ib::CmEvent::What::established &&
        port.modify(inside.number, to_rts(kind, connection)) == proto::ib::ModifyStatus::done;
    if (up) return {};
    const bool gone = !ready || !device.cm.is_joined(id);
    pair.disconnect();
    return failed(event  ? why(device, *event)
                  : gone ? "the other side has gone"
                         : device.no_answer_of(connection.peer));
}

Listener::Inside::~Inside() {
    if (device->fork.forked()) return;
    const host::OneUser::Call call(device->user);
    device->cm.stop_listening(device->clock.now(), service);
}

Result<Listener> Listener::open(const Device& device, std::uint64_t service) {
    Device::Inside& inside = *device.inside_;
    if (inside.fork.forked()) return Result<Listener>::failure(closed_in_child);
    const host::OneUser::Call call(inside.user);
    if (!inside.cm.listen(service)) {
        return Result<Listener>::failure("service " + std::to_string(service) +
                                         " already has a listener");
    }
    auto listener = std::make_shared<Inside>();
    listener->device = device.inside_.get();
    listener->service = service;
    return Listener(std::move(listener));
}

std::optional<ConnectionRequest> Listener::poll() {
    if (inside_->device->fork.forked()) return std::nullopt;
    const host::OneUser::Call call(inside_->device->user);
    auto event = inside_->device->cm.next_request(inside_->service);
    if (!event) return std::nullopt;
    auto request = std::make_shared<ConnectionRequest::Inside>();
    request->device = inside_->device;
    request->address = inside_->device->host_of(event->peer);
    request->event = std::move(*event);
    return ConnectionRequest(std::move(request));
}

std::optional<ConnectionRequest> Listener::wait(std::chrono::milliseconds limit) {
    return wait_for(*inside_->device, limit, [this] { return poll(); });
}

}  // namespace wireproof::ib
