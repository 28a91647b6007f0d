#include "wireproof/front/ib/device.hpp"

#include <algorithm>
#include <limits>
#include <system_error>

#include "wireproof/base/random.hpp"
#include "wireproof/front/ib/conversions.hpp"
#include "wireproof/front/rdma/opening.hpp"
#include "wireproof/front/rdma/turns.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/transport/peer_window.hpp"

namespace wireproof::ib {
namespace {

// The specification allows a peer to wait up to four times its timeout before it retransmits.
constexpr Duration quiet_time =
    Duration::nanoseconds(4096) * (std::int64_t{1} << proto::ib::Connection().timeout) * 4;
constexpr std::size_t strangers_max = 4096;  // the most hosts that become peers by their packets

/// True: a connected peer sent the packet. Packets of strangers must not keep the device from being
/// idle.
bool is_of_a_peer(RxVerdict verdict) {
    return verdict != RxVerdict::corrupt && verdict != RxVerdict::malformed &&
           verdict != RxVerdict::foreign;
}

constexpr std::size_t completions_max = 1 << 20;
constexpr std::size_t receive_buffer_min = 4096;
constexpr std::size_t receive_buffer_max = std::size_t{1} << 30;

std::uint32_t random_queue_pair() {
    return static_cast<std::uint32_t>(2 + Random(rdma::random_bits()).below(0xFFFFFD));
}

/// The limit of the call that waits ends the wait, not a number of retries: the peer may get no
/// processor for a while.
proto::ib::ConnectionManagement::Config random_management() {
    return {.ca_guid = rdma::random_bits(),
            .first_id = static_cast<std::uint32_t>(rdma::random_bits()),
            .gives_up = false};
}

}  // namespace

proto::ib::Access access_of(const Access& access) {
    return {.local_write = access.local_write,
            .remote_write = access.remote_write,
            .remote_read = access.remote_read,
            .remote_atomic = access.remote_atomic,
            .window_bind = access.window_bind};
}

Result<Device> Device::open(const DeviceOptions& options) {
    if (options.path_mtu != 0 && !proto::ib::is_path_mtu(options.path_mtu)) {
        return Result<Device>::failure("path_mtu is " + std::to_string(options.path_mtu) +
                                       ", not 0, 256, 512, 1024, 2048 or 4096");
    }
    if (options.receive_buffer < receive_buffer_min ||
        options.receive_buffer > receive_buffer_max) {
        return Result<Device>::failure(
            "receive_buffer is " + std::to_string(options.receive_buffer) + ", not " +
            std::to_string(receive_buffer_min) + " to " + std::to_string(receive_buffer_max));
    }
    auto local = Address::parse_host(options.address);
    if (!local) return Result<Device>::failure("address: " + local.error().message);
    local->port = rocev2_port;
    if (const auto why = local->why_no_peer(); !why.empty()) {
        return Result<Device>::failure("address: " + options.address + " " + std::string(why));
    }
    DeviceOptions chosen = options;
    if (chosen.path_mtu == 0) {
        const auto path_mtu = rdma::path_mtu_at(*local);
        if (!path_mtu) return Result<Device>::failure(path_mtu.error().message);
        chosen.path_mtu = *path_mtu;
    }
    auto wire = rdma::open_wire({.local = *local,
                                 .path_mtu = chosen.path_mtu,
                                 .strangers = strangers_max,
                                 .receive_buffer = static_cast<int>(options.receive_buffer),
                                 .congestion = choice_of(options),
                                 .identification = IdentificationSource::shown_if_permitted});
    if (!wire) return Result<Device>::failure(wire.error().message);
    try {
        return Device(std::make_shared<Inside>(std::move(*wire), chosen, random_queue_pair(),
                                               rdma::random_bits()));
    } catch (const std::system_error& error) {  // from LoopHandle
        return Result<Device>::failure(host::no_loop_handle(error));
    }
}

Device::Inside::Inside(Rocev2Wire opened, const DeviceOptions& chosen,
                       std::uint32_t first_queue_pair, std::optional<std::uint64_t> key_seed)
    : options(chosen),
      wire(std::move(opened)),
      any_wire(std::ref(wire)),
      port({.path_mtu = chosen.path_mtu,
            .first_number = first_queue_pair,
            .key_seed = key_seed,
            .peer_window = proto::ib::peer_window_of(chosen.path_mtu)}),
      cm(port, {.path_mtu = chosen.path_mtu, .management = random_management()}) {
    if (!options.publish_counters) return;
    shown = rdma::ShownPort::open(
        {port, wire.counters(), {}, [this](PeerId peer) { return host_of(peer); }},
        {.source = host::CounterSource::ib_device, .details = "address=" + options.address + "\n"},
        clock);
    if (shown) shown->copy();
}

Expected<PeerId> Device::Inside::peer_at(const Address& address) {
    if (const auto known = wire.peer_at(address)) {
        wire.acquaint(*known);
        return *known;
    }
    Address there = address;
    there.port = rocev2_port;
    if (const auto why = there.why_no_peer(); !why.empty()) {
        return unexpected(there.to_string() + " " + std::string(why));
    }
    if (!wire.next_peer()) forget_hosts();
    const auto next = wire.next_peer();
    if (!next) return unexpected(there.to_string() + ": there are too many peers");
    if (const auto set = wire.set_peer(*next, address); !set) return tl::unexpected(set.error());
    return *next;
}

void Device::Inside::forget_hosts() {
    PeerSet used;
    cm.add_used_peers(used);
    for (std::size_t number = 0; number < handles.size(); ++number) {
        if (handles[number] > 0) used.add(static_cast<PeerId>(number));
    }
    rdma::forget_unused_hosts(port, cm.management(), std::move(used),
                              [this](const PeerSet& kept) { return wire.forget_all_but(kept); });
}

std::string Device::Inside::no_answer_of(PeerId peer) const {
    const std::string cause = wire.trouble(peer).cause;
    return cause.empty() ? "no answer" : "no answer: " + cause;
}

proto::ib::Congestion Device::Inside::congestion_to(PeerId peer) {
    return choice_of(options).to(!wire.lane(peer).address().is_loopback());
}

std::string Device::Inside::host_of(PeerId peer) {
    return wire.lane(peer).address().host_text();
}

Instant Device::Inside::next_deadline() const {
    return earliest(earliest(port.next_deadline(), cm.next_deadline()), quiet_at_);
}

// A queue pair with unfinished work either has packets to send, or waits for an answer until a
// deadline.
bool Device::Inside::idle() const {
    return !has_packets() && next_deadline() == never;
}

bool Device::Inside::has_packets() const {
    port.ready_peers(ready_);
    return !ready_.empty() || cm.management().has_outgoing();
}

std::chrono::nanoseconds Device::Inside::next_timeout() const {
    if (poll_is_due || has_packets() || !wire.prepare_to_sleep()) {
        return std::chrono::nanoseconds::zero();
    }
    return host::timeout_until(earliest(next_deadline(), wire.next_deadline()), clock);
}

std::size_t Device::Inside::poll(Instant now) {
    if (fork.forked()) return 0;
    const host::OneUser::Call call(user);
    (void)loop.take_wakes();
    poll_is_due = false;
    // Each packet of this turn may come from a host that is new.
    if (wire.strangers() + rdma::packets_a_turn > strangers_max && now >= forget_at_) {
        forget_at_ = now + rdma::between_forgetting;
        forget_hosts();
    }
    std::size_t received = 0;
    while (received < rdma::packets_a_turn) {
        const auto frame = any_wire.receive(now);
        if (!frame) break;
        if (is_of_a_peer(port.on_frame(now, *frame))) quiet_at_ = now + quiet_time;
        ++received;
    }
    if (quiet_at_ <= now) quiet_at_ = never;
    if (port.next_deadline() <= now) port.on_deadline(now);
    heed_events();
    cm.poll(now);
    const std::size_t sent = transmit(now);
    heed_events();  // work that ended without a packet
    if (shown && shown->polled(now)) shown->copy();
    return received + sent;
}

// Takes all events. Most need no action here, because completions and states show errors.
void Device::Inside::heed_events() {
    while (const auto event = port.next_delivery()) {
        try {
            const proto::ib::CompletionQueueId queue{event->number};
            if (event->what == proto::ib::PortEvent::What::completion) notified.insert(queue);
            cm.on_event(*event);
        } catch (...) {  // no memory
            port.report(*event);
            throw;
        }
    }
}

std::size_t Device::Inside::transmit(Instant now) {
    struct Visit {
        Rocev2Lane& lane;

        static proto::ib::Port::PacketsOf packets() { return proto::ib::Port::PacketsOf::every; }
        TxFrame* claim() const { return lane.claim(); }
        bool commit(const TxFrame&) const { return lane.commit(), true; }
    };
    struct Wires {
        Rocev2Wire& wire;
        Instant now;

        Visit visit(PeerId peer) const { return {wire.lane(peer)}; }
        void flush() const { wire.flush(now); }
    };
    return rdma::send_in_turns(now, port, ready_, Wires{wire, now}).packets;
}

bool Device::Inside::wait(const std::function<bool()>& until, std::chrono::milliseconds limit) {
    if (fork.forked()) return false;
    const host::OneUser::Call call(user);
    const Instant end = clock.now() + host::duration_of(limit);
    if (shown) shown->note();
    while (true) {
        const Instant now = clock.now();
        const std::size_t moved = poll(now);
        if (moved > 0) spin.heard(now);
        const std::uint64_t heard = loop.wakes_taken();
        if (until && until()) return true;
        if (now >= end) return false;
        // The condition may have polled, and so taken a wake. Then the loop must not sleep.
        if (moved > 0 || loop.wakes_taken() != heard || spin.look_again(now)) continue;
        if (next_timeout() == std::chrono::nanoseconds::zero()) continue;
        const Instant due = earliest(end, next_deadline(), before_sleep());
        host::wait_until(any_wire, clock, due, loop.bell());
    }
}

void detail::used_after_move() noexcept {
    host::misused("something of wireproof/ib.hpp is used after it was moved from");
}

// Device::wait shares the ownership of its Inside, because the condition may destroy the Device.
const Device::Inside* Device::open_inside() const {
    return inside_.is_empty() || inside_->fork.forked() ? nullptr : inside_.get().get();
}

bool Device::is_open() const {
    return open_inside() != nullptr;
}

std::size_t Device::poll() {
    return is_open() ? inside_->poll(inside_->clock.now()) : 0;
}

bool Device::wait(const std::function<bool()>& until, std::chrono::milliseconds limit) {
    if (!is_open()) return false;
    const std::shared_ptr<Inside> kept = inside_.get();
    return kept->wait(until, limit);
}

int Device::event_fd() const {
    return is_open() ? inside_->loop.handle() : -1;
}

bool Device::arm() {
    if (!is_open()) return true;
    const host::OneUser::Call call(inside_->user);
    const bool may_sleep = inside_->next_timeout() > std::chrono::nanoseconds::zero();
    if (may_sleep && inside_->shown) {
        inside_->shown->note();
        (void)inside_->before_sleep();
    }
    return may_sleep;
}

std::chrono::nanoseconds Device::next_timeout() const {
    if (!is_open()) return std::chrono::nanoseconds::max();
    const host::OneUser::Call call(inside_->user);
    return inside_->next_timeout();
}

void Device::wake() const {
    if (const Inside* const in = open_inside(); in != nullptr) in->loop.wake();
}

bool Device::idle() const {
    if (!is_open()) return true;
    const host::OneUser::Call call(inside_->user);
    return inside_->idle();
}

bool Device::reads_identifications() const {
    const Inside* const in = open_inside();
    return in != nullptr && in->wire.shows_identifications();
}

std::uint64_t Device::damaged() const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->wire.counters().icrc_wrong : 0;
}

std::uint64_t Device::packets_refused() const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->wire.counters().udp.send_failed : 0;
}

std::string Device::send_errors() const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->wire.counters().udp.send_errors.to_string() : std::string();
}

std::uint64_t Device::identification_jumps() const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->wire.counters().identification_jumped : 0;
}

std::uint64_t Device::foreign() const {
    const Inside* const in = open_inside();
    if (in == nullptr) return 0;
    const proto::ib::PortCounters& counters = in->port.counters();
    return in->wire.counters().udp.unknown_source + counters.unknown_queue_pair +
           counters.foreign_partition + counters.foreign_source;
}

CompletionQueue::CompletionQueue(const Device& device, std::size_t capacity)
    : inside_(std::make_shared<Inside>()) {
    Device::Inside& opened = *device.inside_;
    if (!opened.fork.forked()) {
        const host::OneUser::Call call(opened.user);
        inside_->id =
            opened.port.add_completion_queue(std::clamp<std::size_t>(capacity, 1, completions_max));
    }
    inside_->device = device.inside_.get();
}

std::optional<Completion> CompletionQueue::poll() {
    Device::Inside& device = *inside_->device;
    if (device.fork.forked()) return std::nullopt;
    const host::OneUser::Call call(device.user);
    const auto one = device.port.poll(inside_->id);
    if (!one) {
        // RC-38: the next poll finds it, so the user must not sleep before.
        if (device.port.completion_queue(inside_->id).size() > 0) device.poll_is_due = true;
        return std::nullopt;
    }
    Completion completion{.id = one->id,
                          .status = work_status_of(one->status),
                          .operation = operation_of(one->kind),
                          .queue_pair = one->queue_pair,
                          .length = one->length,
                          .immediate = one->immediate,
                          .invalidated = one->invalidated};
    if (!completion.is_receive() || completion.status != WorkStatus::success) return completion;
    const proto::ib::QueuePairCore* const pair = device.port.queue_pair(one->queue_pair);
    if (pair != nullptr && pair->config().transport == proto::ib::Transport::ud) {
        completion.length -= proto::ib::UdQueuePair::front_room;
        completion.sender = AddressHandle(std::make_shared<const AddressHandle::Inside>(
            inside_->device, one->from, one->from_queue_pair, pair->attributes().qkey));
    }
    return completion;
}

std::optional<Completion> CompletionQueue::wait(std::chrono::milliseconds limit) {
    Device::Inside& device = *inside_->device;
    if (device.fork.forked()) return std::nullopt;
    const host::OneUser::Call call(device.user);
    return wait_for(device, limit, [this] { return poll(); });
}

bool CompletionQueue::overrun() const {
    Device::Inside& device = *inside_->device;
    if (device.fork.forked()) return false;
    const host::OneUser::Call call(device.user);
    return device.port.completion_queue(inside_->id).overrun();
}

void CompletionQueue::request_notify(bool solicited_only) {
    Device::Inside& device = *inside_->device;
    if (device.fork.forked()) return;
    const host::OneUser::Call call(device.user);
    device.port.request_notify(inside_->id, solicited_only);
}

bool CompletionQueue::notified() {
    Device::Inside& device = *inside_->device;
    if (device.fork.forked()) return false;
    const host::OneUser::Call call(device.user);
    return device.notified.erase(inside_->id) > 0;
}

bool CompletionQueue::wait_notified(std::chrono::milliseconds limit) {
    Device::Inside& device = *inside_->device;
    return device.wait([&] { return device.notified.erase(inside_->id) > 0; }, limit);
}

ProtectionDomain::ProtectionDomain(const Device& device)
    : inside_(std::make_shared<Inside>(Inside{device.inside_.get()})) {
    Device::Inside& opened = *inside_->device;
    if (opened.fork.forked()) return;
    const host::OneUser::Call call(opened.user);
    inside_->number = ++opened.domains;
}

Result<MemoryRegion> ProtectionDomain::register_memory(std::span<std::byte> memory,
                                                       const Access& access) const {
    if (inside_->device->fork.forked()) return Result<MemoryRegion>::failure(closed_in_child);
    const host::OneUser::Call call(inside_->device->user);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const auto key = inside_->device->port.memory().add_region({.domain = inside_->number,
                                                                .address = address,
                                                                .memory = memory,
                                                                .access = access_of(access)});
    if (!key) return Result<MemoryRegion>::failure(key.error().message);
    auto region = std::make_shared<MemoryRegion::Inside>();
    region->domain = inside_.get();
    region->memory = memory;
    region->key = *key;
    return MemoryRegion(std::move(region));
}

MemoryWindow ProtectionDomain::create_window(WindowType type) const {
    auto window = std::make_shared<MemoryWindow::Inside>();
    Device::Inside& device = *inside_->device;
    if (!device.fork.forked()) {
        const host::OneUser::Call call(device.user);
        window->key = device.port.memory().add_window(inside_->number, window_type_of(type));
    }
    window->domain = inside_.get();
    return MemoryWindow(std::move(window));
}

std::uint32_t MemoryWindow::key() const {
    return inside_->key;
}

std::uint64_t MemoryRegion::address() const {
    return reinterpret_cast<std::uintptr_t>(inside_->memory.data());
}

std::size_t MemoryRegion::length() const {
    return inside_->memory.size();
}

std::uint32_t MemoryRegion::key() const {
    return inside_->key;
}

Piece MemoryRegion::piece(std::size_t offset, std::size_t length) const {
    // A length that does not fit into a piece is longer than any message may be.
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    return {address() + offset, static_cast<std::uint32_t>(std::min(length, most)), key()};
}

}  // namespace wireproof::ib
