#include "wireproof/front/verbs/device/device.hpp"

#include <endian.h>
#include <poll.h>

#include <string>

#include "wireproof/base/random.hpp"
#include "wireproof/front/rdma/opening.hpp"
#include "wireproof/front/rdma/turns.hpp"
#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/device/counters.hpp"
#include "wireproof/front/verbs/device/identity.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/host/memory_guard.hpp"
#include "wireproof/host/relax.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/transport/peer_window.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::verbs {
namespace {

// The limit is for peers that send without a pause. All that a ring or the socket's usual buffer
// holds is less.
constexpr int turns_most = 64;

Address loopback(std::uint8_t last) {
    Address address;
    address.family = Address::Family::ipv4;
    address.port = rocev2_port;
    address.host = {127, 0, 0, last};
    return address;
}

Expected<Rocev2Wire> open_wire(const Address& local, std::size_t path_mtu,
                               const Settings& settings) {
    return rdma::open_wire({.local = local,
                            .path_mtu = path_mtu,
                            .strangers = limits::strangers,
                            .receive_buffer = settings.receive_buffer,
                            .congestion = settings.congestion});
}

// Processes share the addresses out by binding sockets: only one process can bind an address, and
// the kernel releases the address when the process is killed.
Expected<Rocev2Wire> open_first_free(std::size_t path_mtu, const Settings& settings) {
    constexpr std::uint8_t last = 254;
    for (std::uint8_t host = 1;; ++host) {
        auto wire = open_wire(loopback(host), path_mtu, settings);
        if (wire || host == last) return wire;
    }
}

}  // namespace

Expected<std::shared_ptr<Device>> Device::open(const Settings& settings) {
    const Address first = settings.address.value_or(loopback(1));
    if (settings.link == Link::infiniband && lid_of(first) == 0) {
        return unexpected(
            first.to_string() +
            " gives no LID for InfiniBand: the last 16 bits of an IPv4 address do, if "
            "they are from 1 to 49151");
    }
    const auto path_mtu = rdma::path_mtu_at(first);
    if (!path_mtu) return tl::unexpected(path_mtu.error());
    auto wire = settings.address ? open_wire(*settings.address, *path_mtu, settings)
                                 : open_first_free(*path_mtu, settings);
    if (!wire) return tl::unexpected(wire.error());
    const bool tampers = !settings.faults.empty() || !settings.packet_log.empty();
    auto device = std::make_shared<Device>(
        std::move(*wire), Setup{.path_mtu = *path_mtu,
                                .seed = settings.seed ? *settings.seed : rdma::random_bits(),
                                .link = settings.link,
                                .shared_memory = settings.shared_memory && !tampers,
                                .congestion = settings.congestion,
                                .empty_poll = settings.empty_poll});
    if (const auto done = device->tamper(settings); !done) return tl::unexpected(done.error());
    return device;
}

Device::Device(Rocev2Wire wire, const Setup& setup)
    : address_(wire.local_address()),
      path_mtu_(setup.path_mtu),
      seed_(setup.seed),
      link_(setup.link),
      congestion_(setup.congestion),
      empty_poll_(setup.empty_poll),
      peers_(std::move(wire), setup.shared_memory),
      port_({.path_mtu = path_mtu_,
             .first_number = static_cast<std::uint32_t>(2 + Random(seed_).below(0xFFFFFD)),
             .key_seed = mix64(seed_),
             .peer_window = proto::ib::peer_window_of(path_mtu_)}),
      connections_(port_, {.ca_guid = ::be64toh(device_guid()),
                           .first_id = static_cast<std::uint32_t>(mix64(seed_ ^ 0x434D)),
                           .response_timeout = 20,  // 4.3 s, as Linux asks for
                           .grace = limits::early_most}) {
    port_.neighbours().set_own_gid(gid_of(address_));
    port_.memory().copy_with(&host::copy_guarded);
    shown_ = rdma::ShownPort::open(
        {.port = port_,
         .wire = peers_.udp().counters(),
         .shared = [this] { return peers_.shared_counters(); },
         .host_of = [this](PeerId peer) { return peers_.udp().lane(peer).address().host_text(); }},
        {.source = host::CounterSource::verbs_device,
         .details = "name=" + std::string(device_name) + "\naddress=" + address_.host_text() + "\n",
         .more = adapter_counters()},
        clock_);
    if (shown_) shown_->copy();
}

Expected<void> Device::tamper(const Settings& settings) {
    if (settings.faults.empty() && settings.packet_log.empty()) return {};
    const Instant now = clock_.now();
    std::optional<PacketLog> log;
    if (!settings.packet_log.empty()) {
        auto made = PacketLog::create(settings.packet_log, now);
        if (!made) return tl::unexpected(made.error());
        log.emplace(std::move(*made));
    }
    faults_ = std::make_unique<Faults>(settings.faults, seed_, std::move(log), address_,
                                       port_.config().first_number);
    faults_->begin(now);
    if (faults_->keeps_time()) start_keeper();
    return {};
}

void Device::start_keeper() {
    const std::lock_guard guard(lock_);
    run_keeper();
}

void Device::run_keeper() {
    keeper_.start(peers_.wait_handles(), [this] { return keepers_turn(); });
}

// If another thread holds the lock for too long, nothing is sent: the program may exit in a signal
// handler that interrupted one of our calls, and then that call holds the lock.
void Device::release_all_acks() {
    constexpr Duration patience_at_exit = Duration::milliseconds(2);
    std::unique_lock guard(lock_, std::try_to_lock);
    for (const Instant until = clock_.now() + patience_at_exit;
         !guard.owns_lock() && clock_.now() < until;) {
        host::relax();
        (void)guard.try_lock();
    }
    if (!guard.owns_lock()) return;
    (void)errno_of([this] {
        for (const std::uint32_t number : port_.numbers()) port_.release_acks(number);
        send(clock_.now());
        return 0;
    });
}

void Device::forget_all(const void* owner) {
    const std::lock_guard guard(lock_);
    take_arrived();
    device_hearers_.erase(owner);
    for (auto one = hearers_.begin(); one != hearers_.end();) {
        if (one->second.owner != owner) {
            ++one;
            continue;
        }
        const auto& [what, number] = one->first;
        if (what == About::queue_pair) port_.remove_queue_pair(number);
        one = hearers_.erase(one);
    }
}

void Device::wait_for(std::unique_lock<std::mutex>& guard) const {
    constexpr int tries = 100;
    const int step = empty_poll_ == EmptyPoll::spins ? 0 : 1;
    for (int left = tries; left > 0; left -= step) {
        host::relax();
        if (guard.try_lock()) return;
    }
    guard.lock();
}

Device::Moved Device::turn(Instant now) {
    host::keep_memory_guard(now);
    untold_ = false;
    tell_device(now);
    // Each packet of this turn may come from a host that is new.
    if (peers_.udp().strangers() + rdma::packets_a_turn > limits::strangers && now >= forget_at_) {
        forget_at_ = now + rdma::between_forgetting;
        forget_hosts();
    }
    std::size_t received = 0;
    while (received < rdma::packets_a_turn) {
        const auto frame = receive(now);
        if (!frame) break;
        learn_address(frame->from);
        port_.on_frame(now, *frame);
        // Queue pair 1 drops datagrams that come before it has its receives back.
        if (++received % rdma::packets_a_visit == 0) manage(now);
    }
    while (const auto ended = peers_.next_ended()) {
        if (connection_hearer_ != nullptr) connection_hearer_->on_peer_end(now, *ended);
    }
    // A peer may ask whether this process is stopped while the program makes no call. The keeper
    // answers. If no thread can be started, the peer gets no answer, as from a stopped process.
    if (peers_.met_anyone()) (void)errno_of([this] { return run_keeper(), 0; });
    if (port_.timeout_is_due(now)) peers_.judge(now, port_.neighbours());
    if (port_.next_deadline() <= now) port_.on_deadline(now);
    manage(now);
    if (may_expire(now, received)) expire_connections(now);
    tell_events();
    const std::size_t sent = send(now);
    tell_events();  // send() may complete work
    unfinished_ = unfinished_ || unread_turns_ > 0 || received == rdma::packets_a_turn ||
                  !peers_.udp().prepare_to_sleep();
    if (received > 0 && habit_.anyone_naps()) bell_.ring();
    if (received > 0 && shown_) shown_->note();
    if (shown_ && shown_->due(now)) shown_->copy();
    return {received, sent};
}

// This process may have had no processor, and the peer may have ended since. So the timers of
// connections wait until what the peer sent before has been read.
bool Device::may_expire(Instant now, std::size_t received) {
    const bool due = deadline_of_connections() <= now;
    // The wire of UDP may say "nothing" once although its socket has packets.
    const auto socket_has_more = [this] {
        pollfd wanted{peers_.udp().wait_handle(), POLLIN, 0};
        return ::poll(&wanted, 1, 0) == 1 && (wanted.revents & POLLIN) != 0;
    };
    const bool unread = due && (received == rdma::packets_a_turn || !peers_.prepare_to_sleep() ||
                                socket_has_more());
    unread_turns_ = unread && unread_turns_ < turns_most ? unread_turns_ + 1 : 0;
    return due && unread_turns_ == 0;
}

void Device::take_arrived() {
    peers_.woke();
    for (int i = 0; i < turns_most; ++i) {
        if (turn(clock_.now()).received == 0) return;
    }
}

std::optional<RxFrame> Device::receive(Instant now) {
    if (!faults_) return peers_.receive(now);
    return faults_->receive(now, port_, peers_.udp(), [&] { return peers_.receive(now); });
}

// Reads the program's memory. If the memory was unmapped just now, this packet is lost. When it is
// due again, the port finds that the memory is gone.
bool Device::commit(Instant now, PeerId peer, PeerLane& lane, const TxFrame& frame) {
    if (!faults_) return host::guarded([&lane] { lane.commit(); });
    return faults_->send(now, port_, peer, lane.address(), frame);
}

std::size_t Device::send(Instant now) {
    struct Visit {
        Device& device;
        Instant now;
        PeerId peer;
        PeerLane lane;
        proto::ib::Port::PacketsOf which;

        proto::ib::Port::PacketsOf packets() const { return which; }
        TxFrame* claim() {
            TxFrame* const room = lane.claim();
            if (room == nullptr) device.stalled_ = device.stalled_ || lane.is_shared();
            return room;
        }
        bool commit(const TxFrame& frame) { return device.commit(now, peer, lane, frame); }
    };
    struct Wires {
        Device& device;
        Instant now;

        Visit visit(PeerId peer) const {
            const PeerLane lane = device.peers_.lane(peer);
            device.port_.set_near(peer, lane.is_shared());
            device.port_.neighbours().set_acks_unasked(peer, device.peers_.has_met(peer));
            // UD has no order to keep. A datagram must not wait, because the program may overwrite
            // its memory: after the peer's answer UCX reuses the memory of a datagram without
            // waiting for the completion.
            using Of = proto::ib::Port::PacketsOf;
            const bool holds = device.peers_.holds(now, peer);
            return {device, now, peer, lane, holds ? Of::datagrams : Of::every};
        }
        void flush() const {
            if (device.faults_) device.faults_->leave(now, device.peers_.udp());
            device.peers_.flush(now);
        }
    };
    host::keep_memory_guard(now);
    const rdma::Sent sent = rdma::send_in_turns(now, port_, ready_, Wires{*this, now});
    if (faults_) faults_->flush_log();
    gather_.left();
    unfinished_ = sent.unfinished;
    if (sent.packets > 0 && shown_) shown_->note();
    return sent.packets;
}

void Device::leave_posting(Instant now) {
    if (gather_.any()) keeper_.wake_by(now + habit_.patience(now));
    // The keeper rests while a thread sleeps in a poll, so that thread has to go on.
    if ((unfinished_ || stalled_) && habit_.anyone_naps()) bell_.ring();
    keeper_.wake_by(std::exchange(stalled_, false) ? now : keepers_deadline(now, now));
}

// While the program polls, its polls receive packets, and the keeper only looks from time to time
// whether it still does. If the program does not come back after a poll that found a completion,
// the keeper receives its packets.
void Device::leave_polling(Instant now, bool found) {
    const Instant later = now + habit_.patience(now);
    if (found) {
        habit_.found(habit_.comes_back() ? now : clock_.now());
        if (!habit_.comes_back() && let_keeper_listen(now, later)) return;
    }
    if (peers_.needs_preparing()) {
        stalled_ = false;
        return keeper_.wake_by(later);
    }
    keeper_.wake_by(unfinished_ ? later : std::max(next_deadline(), later));
}

// From now on, packets that arrive wake the keeper. Before `not_before`, no deadline wakes it.
// Returns false if there is more to do than this call can.
bool Device::let_keeper_listen(Instant now, Instant not_before) {
    constexpr int looks = 2;
    stalled_ = false;
    for (int look = 0; look < looks && !unfinished_; ++look) {
        if (peers_.prepare_to_sleep()) {
            keeper_.listen(std::max(next_deadline(), not_before));
            return true;
        }
        turn(now);
    }
    return false;
}

bool Device::keepers_turn() {
    const Instant now = clock_.now();
    const auto rest = [this](Instant until) { keeper_.plan(until, false); };
    if (habit_.keeper_rests_again(now, rest)) return true;
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock()) return false;
    // Nobody would catch an exception of this thread. It tries again later, when there may be
    // memory.
    peers_.woke();
    Moved moved;
    if (errno_of([&] { return moved = turn(now), 0; }) != 0) return false;
    stalled_ = false;
    habit_.keeper_worked(now, moved.received > 0);
    unfinished_ = unfinished_ || !peers_.prepare_to_sleep();
    keeper_.plan(keepers_deadline(now, habit_.polled_at()), true);
    return true;
}

PollRound& Device::round_of_thread() {
    thread_local constinit PollRound round;
    return round;
}

host::WaitSteps::Step Device::next_step(Instant now, PolledQueue& queue) {
    using Step = host::WaitSteps::Step;
    if (empty_poll_ == EmptyPoll::spins) return Step::poll;
    PollRound& round = round_of_thread();
    round.looked(queue.rounds_seen, rounds_);
    const Step next = steps_.next(now);
    if (next != Step::sleep) return next;
    if (!round.may_sleep() || !peers_.prepare_to_sleep()) return Step::poll;
    round.slept(rounds_);
    return Step::sleep;
}

void Device::nap(Instant until) {
    const auto [messages, packets] = peers_.wait_handles();
    host::wait_until(std::array{messages, packets, bell_.handle()}, clock_, until);
    habit_.awakes();
    bell_.silence();
}

}  // namespace wireproof::verbs
