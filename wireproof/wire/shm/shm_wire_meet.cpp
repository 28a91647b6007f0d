// How nodes find and greet each other.
//
//      j (greater number)                           i
//      connect, make the segment  ── hello + fd ──►  checked: of this job, shape and user?
//      rings are open             ◄── welcome ─────  rings are open
//                                 ◄── refused ─────  no; called again later
#include <sys/epoll.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof {
namespace {

constexpr std::size_t nodes_max = 65'536;
constexpr std::size_t callers_max = 64;
constexpr Duration longest_call_interval = Duration::milliseconds(64);
// Of one peer or listener in one look. What is left keeps watch_ readable.
constexpr std::size_t callers_at_once = 64;
constexpr std::size_t messages_at_once = 16;
constexpr const char* cannot_watch = "cannot watch a socket";

// The data of an epoll event: a peer's number, a caller's descriptor, or the listener.
constexpr std::uint64_t caller_tag = std::uint64_t{1} << 32;
constexpr std::uint64_t listener_tag = std::uint64_t{2} << 32;

Expected<void> check(const ShmWire::Config& config) {
    const auto refused = [](const std::string& why) { return unexpected("shm wire: " + why); };
    if (config.nodes < 2 || config.nodes > nodes_max) {
        return refused("nodes is " + std::to_string(config.nodes) + ", not 2 to 65536");
    }
    if (config.node >= config.nodes) {
        return refused("node " + std::to_string(config.node) + " of " +
                       std::to_string(config.nodes));
    }
    if (!config.members.empty()) {
        if (config.members.size() != config.nodes) {
            return refused("members has " + std::to_string(config.members.size()) +
                           " entries for " + std::to_string(config.nodes) + " nodes");
        }
        if (!config.members[config.node]) {
            return refused("node " + std::to_string(config.node) + " is no member");
        }
    }
    if (!Segment::fits(config.lines)) {
        return refused("lines is " + std::to_string(config.lines) +
                       ", not a power of two in whole pages up to 4194304");
    }
    const std::size_t longest = longest_frame(config.lines);
    if (config.frame_max < ShareNote::size || config.frame_max > longest) {
        return refused("frame_max is " + std::to_string(config.frame_max) + ", not 48 to " +
                       std::to_string(longest));
    }
    if (config.batch == 0) return refused("batch is 0");
    return {};
}

std::uint64_t random_nonce() {
    std::uint64_t nonce = 0;
    WIREPROOF_CHECK(::getrandom(&nonce, sizeof nonce, 0) == ssize_t{sizeof nonce});
    return nonce;
}

bool send_greeting(const ControlSocket& socket, const Greeting& greeting, int descriptor = -1) {
    std::array<std::byte, Greeting::size> message{};
    greeting.encode(message);
    return socket.send(message, descriptor);
}

std::string with_errno(const std::string& what) {
    return what + ": " + std::generic_category().message(errno);
}

}  // namespace

ShmWire::ShmWire(const Config& config)
    : config_(config),
      barrier_(!config.sleeps_often && join_barrier()),
      lanes_(std::make_unique<ShmLanes>()),
      nonce_(std::make_unique<Nonce>(Nonce{random_nonce()})),
      frame_(config.frame_max),
      peers_(config.nodes) {
    callers_.reserve(callers_max);  // it never moves, so a fork in another thread finds it whole
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        ShmPeer& peer = peers_[i];
        peer.number = i;
        peer.side = config.node < i ? 0 : 1;
        peer.we_call = i < config.node && is_member(config, i);
        if (peer.we_call) called_.push_back(i);
        if (is_member(config, i)) ++members_;
        peer.call_interval = ShmPeer::first_call_interval;
        peer.lane.lanes_ = lanes_.get();
        peer.lane.capabilities_ = {
            .frame_max = config.frame_max, .carries_intact = true, .carries_all = true};
    }
}

Expected<ShmWire> ShmWire::make(const Config& config) {
    if (const auto checked = check(config); !checked) return tl::unexpected(checked.error());
    ShmWire wire(config);
    wire.watch_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!wire.watch_.is_open()) {
        return unexpected(with_errno("shm wire: cannot make an epoll descriptor"));
    }
    return wire;
}

Expected<ShmWire> ShmWire::open(const Config& config) {
    const MeetingPlace longest{config.name, config.nodes - 1};
    if (const auto checked = check_place(longest); !checked) {
        return tl::unexpected(checked.error());
    }
    auto wire = make(config);
    if (!wire) return wire;
    auto listener = Listener::open({config.name, config.node});
    if (!listener) return tl::unexpected(listener.error());
    wire->listener_ = std::move(*listener);
    if (!wire->watch(wire->listener_.handle(), listener_tag)) {
        return unexpected(with_errno(std::string("shm wire: ") + cannot_watch));
    }
    wire->call_the_absent(Instant());
    return wire;
}

Expected<ShmWire> ShmWire::adopt(const Config& config, ControlSocket socket) {
    auto wire = make(config);
    if (!wire) return wire;
    if (!socket.is_open()) return unexpected("shm wire: the adopted socket is closed");
    if (config.nodes != 2) return unexpected("shm wire: an adopted socket joins 2 nodes");
    wire->meeting_ = false;
    ShmPeer& peer = wire->peers_[1 - config.node];
    if (peer.we_call) {
        if (!wire->greet(peer, std::move(socket))) {
            return unexpected("shm wire: cannot greet over the adopted socket: " + peer.trouble);
        }
    } else {
        const auto handle = static_cast<std::uint64_t>(socket.handle());
        if (!wire->watch(socket.handle(), caller_tag | handle)) {
            return unexpected(with_errno(std::string("shm wire: ") + cannot_watch));
        }
        wire->callers_.push_back(std::move(socket));
    }
    return wire;
}

Expected<std::pair<ShmWire, ShmWire>> ShmWire::pair(Config config) {
    auto sockets = ControlSocket::pair();
    if (!sockets) return tl::unexpected(sockets.error());
    config.nodes = 2;
    config.node = 1;
    auto second = adopt(config, std::move(sockets->second));
    if (!second) return tl::unexpected(second.error());
    config.node = 0;
    auto first = adopt(config, std::move(sockets->first));
    if (!first) return tl::unexpected(first.error());
    first->look();
    second->look();
    if (!first->connected(PeerId{1}) || !second->connected(PeerId{0})) {
        return unexpected("shm wire: the two ends did not meet");
    }
    return std::pair(std::move(*first), std::move(*second));
}

void ShmWire::abandon() {
    meeting_ = false;
    listener_.abandon();
    accept_at_ = never;
    watch_.close();
    for (ControlSocket& caller : callers_) caller.close();
    for (ShmPeer& peer : peers_) {
        peer.socket.close();
        peer.segment.abandon();
        peer.former.abandon();
        if (!peer.successor) continue;
        peer.successor->socket.close();
        peer.successor->segment.abandon();
    }
}

// False: the kernel refuses, because it has no memory or this user watches too many descriptors.
bool ShmWire::watch(int handle, std::uint64_t tag) {
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLRDHUP;
    wanted.data.u64 = tag;
    return ::epoll_ctl(watch_.handle(), EPOLL_CTL_ADD, handle, &wanted) == 0;
}

// Closing alone is not enough if a forked child still has the socket.
void ShmWire::unwatch(const ControlSocket& socket) {
    if (socket.is_open()) unwatch(socket.handle());
}

void ShmWire::unwatch(int handle) {
    ::epoll_ctl(watch_.handle(), EPOLL_CTL_DEL, handle, nullptr);
}

void ShmWire::look() {
    std::array<epoll_event, 32> events{};
    const int count =
        ::epoll_wait(watch_.handle(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) look_at(events[static_cast<std::size_t>(i)].data.u64);
}

void ShmWire::look_at(std::uint64_t tag) {
    if (tag == listener_tag) {
        accept_callers();
    } else if ((tag & caller_tag) != 0) {
        hear_caller(static_cast<int>(tag & ~caller_tag));
    } else {
        ShmPeer& peer = peers_[static_cast<std::size_t>(tag)];
        if (!hear(peer)) condemn(peer);
    }
}

// A caller that sends no hello can only displace another such caller.
void ShmWire::accept_callers() {
    for (std::size_t i = 0; i < callers_at_once; ++i) {
        auto caller = listener_.accept();
        if (!caller) {
            const bool later = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
            if (!later) accept_later("cannot accept a caller");
            return;
        }
        const int handle = caller->handle();
        // The caller sees the end of its socket and calls again.
        if (!watch(handle, caller_tag | static_cast<std::uint64_t>(handle))) {
            return accept_later(cannot_watch);
        }
        if (callers_.size() == callers_max) {
            unwatch(callers_.front());
            callers_.erase(callers_.begin());
            ++lanes_->counters.refused_hellos;
        }
        callers_.push_back(std::move(*caller));
    }
}

/// The system refuses, as errno says.
void ShmWire::accept_later(const char* what) {
    accept_trouble_ = with_errno(what);
    unwatch(listener_.handle());
    accept_at_ = now_ + accept_pause;
    look_at_ = std::min(look_at_, accept_at_);
}

void ShmWire::accept_again(Instant now) {
    if (now >= accept_at_) {
        accept_at_ = never;
        if (watch(listener_.handle(), listener_tag)) {
            accept_trouble_.clear();
            accept_callers();
        } else {
            accept_later(cannot_watch);
        }
    }
    look_at_ = std::min(look_at_, accept_at_);
}

bool ShmWire::matches(const Greeting& greeting) const {
    return greeting.version == Greeting::this_version && greeting.job == config_.job &&
           greeting.nodes == config_.nodes && greeting.frame_max == config_.frame_max &&
           greeting.lines == config_.lines;
}

Greeting ShmWire::greeting(ShmMessage kind) const {
    Greeting greeting;
    greeting.kind = kind;
    greeting.job = config_.job;
    greeting.node = static_cast<std::uint32_t>(config_.node);
    greeting.nodes = static_cast<std::uint32_t>(config_.nodes);
    greeting.frame_max = static_cast<std::uint32_t>(config_.frame_max);
    greeting.lines = static_cast<std::uint32_t>(config_.lines);
    greeting.barrier = barrier_;
    greeting.nonce = nonce_->value;
    greeting.nonce_address = reinterpret_cast<std::uintptr_t>(&nonce_->value);
    return greeting;
}

void ShmWire::hear_caller(int handle) {
    const auto found =
        std::find_if(callers_.begin(), callers_.end(),
                     [handle](const ControlSocket& caller) { return caller.handle() == handle; });
    if (found == callers_.end()) return;
    ControlSocket::Message message;
    const auto received = found->receive(message);
    if (received == ControlSocket::Received::nothing) return;
    ControlSocket caller = std::move(*found);
    callers_.erase(found);
    unwatch(caller);
    if (received == ControlSocket::Received::ended) return;

    const auto refuse = [&] {
        std::array<std::byte, 4> answer{};
        store_le<std::uint32_t>(answer, static_cast<std::uint32_t>(ShmMessage::refused));
        caller.send(answer);
        ++lanes_->counters.refused_hellos;
    };
    const auto hello = Greeting::decode(message.bytes());
    const bool known = hello && hello->kind == ShmMessage::hello && matches(*hello) &&
                       hello->node > config_.node && hello->node < config_.nodes &&
                       is_member(config_, hello->node);
    // For a path, its permissions say who may connect.
    const bool trusted = MeetingPlace{config_.name}.is_path() || caller.of_this_user();
    if (!known || !trusted) return refuse();
    ShmPeer& peer = peers_[hello->node];
    auto segment = Segment::adopt(std::move(message.descriptor), config_.lines);
    if (!segment) {
        peer.trouble = segment.error().message;
        return refuse();
    }
    peer.successor.emplace(
        ShmPeer::Successor{std::move(caller), *hello, message.sender, std::move(*segment)});
    if (peer.state == ShmPeer::State::absent) {
        welcome(peer);
    } else if (peer.state != ShmPeer::State::ending) {
        lose(peer);
    }
}

void ShmWire::welcome(ShmPeer& peer) {
    ShmPeer::Successor next = std::move(*peer.successor);
    peer.successor.reset();
    if (!watch(next.socket.handle(), peer.number)) {
        peer.trouble = with_errno(cannot_watch);
        return;
    }
    if (!send_greeting(next.socket, greeting(ShmMessage::welcome))) return unwatch(next.socket);
    peer.socket = std::move(next.socket);
    peer.segment = std::move(next.segment);
    begin_life(peer, next.hello, next.pid);
}

void ShmWire::call_the_absent(Instant now) {
    next_call_ = never;
    if (!meeting_) return;
    for (const std::size_t number : called_) {
        ShmPeer& peer = peers_[number];
        if (peer.state != ShmPeer::State::absent) continue;
        if (now >= peer.call_at && call(peer)) continue;
        if (now >= peer.call_at) call_later(peer);
        next_call_ = std::min(next_call_, peer.call_at);
    }
    look_at_ = std::min(look_at_, next_call_);
}

void ShmWire::call_later(ShmPeer& peer) {
    if (!peer.we_call || !meeting_) return;
    peer.call_at = now_ + peer.call_interval;
    peer.call_interval = std::min(peer.call_interval * 2, longest_call_interval);
    next_call_ = std::min(next_call_, peer.call_at);
    look_at_ = std::min(look_at_, next_call_);
}

bool ShmWire::call(ShmPeer& peer) {
    const MeetingPlace place{config_.name, peer.number};
    auto socket = connect_to(place);
    if (!socket) {
        const bool nobody = errno == ECONNREFUSED || errno == ENOENT;
        peer.trouble = nobody ? std::string() : with_errno("cannot call " + place.to_string());
        return false;
    }
    if (!place.is_path() && !socket->of_this_user()) {
        peer.trouble = "a process of another user listens at " + place.to_string();
        return false;
    }
    return greet(peer, std::move(*socket));
}

bool ShmWire::greet(ShmPeer& peer, ControlSocket socket) {
    auto segment = Segment::create(config_.lines);
    if (!segment) {
        peer.trouble = segment.error().message;
        return false;
    }
    if (!watch(socket.handle(), peer.number)) {
        peer.trouble = with_errno(cannot_watch);
        return false;
    }
    if (!send_greeting(socket, greeting(ShmMessage::hello), segment->memory().handle())) {
        peer.trouble = with_errno("cannot send a greeting");
        unwatch(socket);
        return false;
    }
    peer.socket = std::move(socket);
    peer.segment = std::move(*segment);
    peer.state = ShmPeer::State::greeting;
    return true;
}

// False: the peer sent an invalid message.
bool ShmWire::hear(ShmPeer& peer) {
    ControlSocket::Message message;
    for (std::size_t i = 0; i < messages_at_once; ++i) {
        const bool may_speak =
            peer.state == ShmPeer::State::living || peer.state == ShmPeer::State::greeting;
        if (!may_speak) break;
        const auto received = peer.socket.receive(message);
        if (received == ControlSocket::Received::nothing) break;
        if (received == ControlSocket::Received::ended) {
            lose(peer);
        } else if (!hear_message(peer, message)) {
            return false;
        }
    }
    return true;
}

bool ShmWire::hear_message(ShmPeer& peer, ControlSocket::Message& message) {
    const auto kind = message_kind(message.bytes());
    if (!kind) return false;
    const bool greeting = peer.state == ShmPeer::State::greeting;
    switch (*kind) {
        case ShmMessage::bell: return !greeting;
        case ShmMessage::memory: {
            const auto note = MemoryNote::decode(message.bytes());
            return note && !greeting &&
                   peer.memory.add_allocation(*note, std::move(message.descriptor));
        }
        case ShmMessage::refused:
            if (!greeting) return false;
            ++lanes_->counters.refused_by_peers;
            peer.trouble =
                "the node there refuses this one: it is of another job, has other settings, or has "
                "no memory";
            lose(peer);
            return true;
        case ShmMessage::welcome: {
            const auto theirs = Greeting::decode(message.bytes());
            if (!greeting || !theirs || !matches(*theirs) || theirs->node != peer.number) {
                return false;
            }
            begin_life(peer, *theirs, message.sender);
            return true;
        }
        case ShmMessage::hello: break;
    }
    return false;
}

}  // namespace wireproof
