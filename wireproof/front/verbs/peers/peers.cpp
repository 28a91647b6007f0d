#include "wireproof/front/verbs/peers/peers.hpp"

#include <sys/epoll.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::verbs {
namespace {

constexpr Duration between_udp = Duration::microseconds(20);
constexpr Duration longest_hold = Duration::milliseconds(100);
constexpr Duration between_pings = Duration::milliseconds(50);
constexpr std::size_t callers_max = 64;
constexpr std::size_t datagrams_at_once = 32;
constexpr int messages_at_once = 16;

MeetingPlace place_of(const Address& address) {
    return {"verbs-" + address.host_text(), 0};
}

std::uint64_t random_life() {
    std::uint64_t life = 0;
    WIREPROOF_CHECK(::getrandom(&life, sizeof life, 0) == ssize_t{sizeof life});
    return life;
}

std::size_t longest_packet() {
    return proto::ib::packet_max(proto::ib::path_mtus.back());
}

/// If two processes call each other at the same time, both ends use this order to drop the same
/// call.
bool is_greater(const Address& a, const Address& b) {
    return std::pair(a.family, a.host) > std::pair(b.family, b.host);
}

}  // namespace

/// A peer that is a process of this host, or that was asked whether it is one.
struct Peers::Link {
    enum class State : std::uint8_t { none, calling, living };

    PeerId peer{};
    State state = State::none;
    ControlSocket life;
    std::uint64_t their_life = 0;
    ControlSocket own_end;            // of the pair that we offered, until it is taken
    std::unique_ptr<ShmWire> memory;  // a wire of two nodes
    PeerId other{};                   // the number of the peer on that wire
    bool begun = false;               // the memory has been connected
    bool drains = false;              // first receive what it sent by UDP before
    std::optional<Instant> held_until;
    std::optional<Instant> pinged;
    bool answered = false;  // the peer has answered the last ping
    Link* next = nullptr;
};

Peers::Peers(Rocev2Wire udp, bool shared_memory)
    : udp_(std::move(udp)),
      shared_memory_(shared_memory),
      life_(random_life()),
      watch_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!watch_.is_open()) throw std::system_error(errno, std::generic_category());
    callers_.reserve(callers_max);
    // Without a listener, the processes of this host reach us by UDP, as other hosts do.
    auto listener = Listener::open(place_of(udp_.local_address()));
    if (listener && watch(listener->handle(), Tag::listener)) listener_ = std::move(*listener);
}

Peers::~Peers() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next);
}

void Peers::abandon() {
    udp_.abandon();
    listener_.abandon();
    watch_.close();
    for (ControlSocket& caller : callers_) caller.close();
    for (Link* link = first_; link != nullptr; link = link->next) {
        link->life.close();
        link->own_end.close();
        if (link->memory) link->memory->abandon();
    }
}

// False: the kernel refuses, because it has no memory or this user watches too many descriptors.
// UDP then reaches the peer.
bool Peers::watch(int handle, Tag tag, std::uint64_t which) {
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLRDHUP;
    wanted.data.u64 = static_cast<std::uint64_t>(tag) << 32 | which;
    return ::epoll_ctl(watch_.handle(), EPOLL_CTL_ADD, handle, &wanted) == 0;
}

// Closing the descriptor is not enough if a child still has a copy of it.
void Peers::unwatch(int handle) {
    if (handle >= 0) ::epoll_ctl(watch_.handle(), EPOLL_CTL_DEL, handle, nullptr);
}

std::optional<PeerId> Peers::find(const Address& address, std::size_t most) {
    const auto known = udp_.peer_at(address);
    if (known && !udp_.is_stranger(*known)) return known;
    if (udp_.peers() - udp_.strangers() >= most) return std::nullopt;
    if (known) {
        udp_.acquaint(*known);
        return known;
    }
    const auto next = udp_.next_peer();
    if (!next || !udp_.set_peer(*next, address)) return std::nullopt;
    return next;
}

void Peers::add_used_peers(PeerSet& to) const {
    for (const Link* link = first_; link != nullptr; link = link->next) {
        if (link->state != Link::State::none || link->memory) to.add(link->peer);
    }
}

// Their links stay in the list, for the next hosts with these numbers.
PeerSet Peers::forget_all_but(const PeerSet& kept) {
    PeerSet gone = udp_.forget_all_but(kept);
    for (Link* link = first_; link != nullptr; link = link->next) {
        if (!gone.contains(link->peer)) continue;
        WIREPROOF_CHECK(link->state == Link::State::none && !link->memory);
        link->their_life = 0;
        link->held_until.reset();
        link->pinged.reset();
        link->answered = false;
    }
    return gone;
}

Peers::Link* Peers::known_link(PeerId peer) const {
    const auto number = static_cast<std::size_t>(peer);
    return number < links_.size() ? links_[number] : nullptr;
}

Peers::Link& Peers::link_of(PeerId peer) {
    if (Link* const known = known_link(peer)) return *known;
    const auto number = static_cast<std::size_t>(peer);
    if (links_.size() <= number) links_.resize(number + 1);
    Link* const made = new Link{};
    made->peer = peer;
    made->next = first_;
    first_ = made;
    return *(links_[number] = made);
}

bool Peers::is_shared(const Link& link) const {
    return link.begun && link.memory->connected(link.other);
}

bool Peers::acks_unasked(PeerId peer) const {
    const Link* const link = known_link(peer);
    return link != nullptr && link->state == Link::State::living;
}

bool Peers::is_unsettled(const Link& link) const {
    return link.state == Link::State::calling || (link.memory && !link.begun);
}

void Peers::call(PeerId peer) {
    const Address& address = udp_.lane(peer).address();
    if (!listener_.is_open() || address.host == udp_.local_address().host) return;
    Link* const known = known_link(peer);
    if (known != nullptr && (known->state != Link::State::none || known->memory)) return;
    auto socket = connect_to(place_of(address));
    if (!socket || !socket->of_this_user()) return;
    auto ends = shared_memory_ ? ControlSocket::pair()
                               : Expected<std::pair<ControlSocket, ControlSocket>>{};
    const bool offers = shared_memory_ && ends.has_value();
    const int offered = offers ? ends->second.handle() : -1;
    if (!watch(socket->handle(), Tag::life, static_cast<std::uint32_t>(peer))) return;
    if (!send(*socket, PeerMessage::Kind::hello, offers, offered)) {
        return unwatch(socket->handle());
    }
    Link& link = link_of(peer);
    link.life = std::move(*socket);
    if (offers) link.own_end = std::move(ends->first);
    link.state = Link::State::calling;
    link.held_until.reset();
    link.pinged.reset();
}

bool Peers::send(const ControlSocket& to, PeerMessage::Kind kind, bool memory,
                 int descriptor) const {
    std::array<std::byte, PeerMessage::size> message{};
    PeerMessage{.kind = kind, .memory = memory, .life = life_, .address = udp_.local_address()}
        .encode(message);
    return to.send(message, descriptor);
}

bool Peers::holds(Instant now, PeerId peer) {
    Link* const link = known_link(peer);
    if (link == nullptr || !is_unsettled(*link)) return false;
    if (!link->held_until) link->held_until = now + longest_hold;
    if (now >= *link->held_until) return false;
    held_until_ = earliest(held_until_, *link->held_until);
    return true;
}

PeerLane Peers::lane(PeerId peer) {
    Link* const link = known_link(peer);
    ShmLane* const shared =
        link != nullptr && is_shared(*link) ? &link->memory->lane(link->other) : nullptr;
    return {udp_.lane(peer), shared};
}

void Peers::flush(Instant now) {
    udp_.flush(now);
    if (sharing_ == 0) return;
    for (Link* link = first_; link != nullptr; link = link->next) {
        if (link->memory) link->memory->flush(now);
    }
}

std::optional<RxFrame> Peers::receive(Instant now) {
    if (now >= look_at_) look(now);
    if (sharing_ == 0) return udp_.receive(now);
    for (;;) {
        if (auto frame = receive_udp(now)) return frame;
        if (auto frame = receive_shared(now)) return frame;
        if (now < udp_at_) return std::nullopt;
        udp_left_ = datagrams_at_once;
    }
}

std::optional<RxFrame> Peers::receive_udp(Instant now) {
    if (udp_left_ == 0) return std::nullopt;
    --udp_left_;
    auto frame = udp_.receive(now);
    // The wire may once say "nothing" without looking at the socket. The rings may go on only when
    // the socket is really empty, so ask it twice.
    if (!frame && drains()) frame = udp_.receive(now);
    if (frame) return frame;
    udp_left_ = 0;
    udp_at_ = now + between_udp;
    for (Link* link = first_; link != nullptr; link = link->next) link->drains = false;
    return std::nullopt;
}

bool Peers::drains() const {
    for (const Link* link = first_; link != nullptr; link = link->next) {
        if (link->drains) return true;
    }
    return false;
}

// Each ring is asked until it says "nothing". A ring may sometimes say that although it has
// packets.
std::optional<RxFrame> Peers::receive_shared(Instant now) {
    for (Link* link = turn_ != nullptr ? turn_ : first_; link != nullptr; link = link->next) {
        if (!link->memory) continue;
        if (!link->drains) {
            turn_ = link;
            if (const auto frame = link->memory->receive(now)) {
                return RxFrame{frame->bytes, link->peer, Integrity::intact};
            }
        }
        note_begun(*link);
        while (link->memory && link->memory->has_event()) {
            const auto event = link->memory->next_event();
            if (event->second == WireEvent::peer_gone) unshare(*link);
        }
    }
    turn_ = nullptr;
    return std::nullopt;
}

/// Returns true if the memory is connected now. From then on it carries the packets to the peer.
bool Peers::note_begun(Link& link) {
    if (link.begun || !link.memory->connected(link.other)) return false;
    begin(link);
    return true;
}

void Peers::begin(Link& link) {
    link.begun = link.drains = true;
    udp_at_ = Instant();
}

bool Peers::prepare_to_sleep() {
    bool nothing = udp_.prepare_to_sleep();
    if (sharing_ == 0) return nothing;
    for (Link* link = first_; link != nullptr && nothing; link = link->next) {
        if (!link->memory) continue;
        nothing = link->memory->prepare_to_sleep() && !note_begun(*link) && !link->drains;
    }
    return nothing;
}

void Peers::judge(Instant now, proto::ib::Neighbours& neighbours) {
    for (Link* link = first_; link != nullptr; link = link->next) {
        const bool lives = link->state == Link::State::living;
        neighbours.set_alive(link->peer, lives && !link->answered);
        if (!lives || (link->pinged && now - *link->pinged < between_pings)) continue;
        if (link->pinged && !link->answered) continue;
        link->answered = false;
        if (send(link->life, PeerMessage::Kind::ping)) link->pinged = now;
    }
}

ShmCounters Peers::shared_counters() const {
    ShmCounters sum = former_;
    for (const Link* link = first_; link != nullptr; link = link->next) {
        if (link->memory) sum += link->memory->counters();
    }
    return sum;
}

void Peers::look(Instant now) {
    look_at_ = now + between_socket_looks;
    if (now >= held_until_) held_until_ = never;
    if (now >= listen_again_) {
        const bool watched = watch(listener_.handle(), Tag::listener);
        listen_again_ = watched ? never : now + accept_pause;
    }
    std::array<epoll_event, 32> events{};
    const int count =
        ::epoll_wait(watch_.handle(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
        const auto which = static_cast<std::uint32_t>(data);
        switch (static_cast<Tag>(data >> 32)) {
            case Tag::listener: accept_callers(now); break;
            case Tag::caller: hear_caller(static_cast<int>(which)); break;
            case Tag::life: hear(*links_[which]); break;
            case Tag::memory:
                if (ShmWire* const memory = links_[which]->memory.get()) memory->look_soon();
                break;
        }
    }
}

// If there are too many callers, the oldest one that has not said hello loses its place.
void Peers::accept_callers(Instant now) {
    for (int i = 0; i < messages_at_once; ++i) {
        auto caller = listener_.accept();
        if (!caller) {
            if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
            // No descriptor is left. The caller that waits would keep the epoll descriptor
            // readable, so the listener is not watched for a while.
            unwatch(listener_.handle());
            listen_again_ = now + accept_pause;
            return;
        }
        if (!caller->of_this_user()) continue;
        const int handle = caller->handle();
        if (!watch(handle, Tag::caller, static_cast<std::uint32_t>(handle))) continue;
        if (callers_.size() == callers_max) {
            unwatch(callers_.front().handle());
            callers_.erase(callers_.begin());
        }
        callers_.push_back(std::move(*caller));
    }
}

void Peers::hear_caller(int handle) {
    const auto found = std::ranges::find(callers_, handle, &ControlSocket::handle);
    if (found == callers_.end()) return;
    ControlSocket::Message message;
    const auto received = found->receive(message);
    if (received == ControlSocket::Received::nothing) return;
    ControlSocket caller = std::move(*found);
    callers_.erase(found);
    unwatch(caller.handle());
    if (received == ControlSocket::Received::ended) return;
    const auto hello = PeerMessage::decode(message.bytes());
    if (!hello || hello->kind != PeerMessage::Kind::hello) return;
    welcome(std::move(caller), *hello, std::move(message.descriptor));
}

void Peers::welcome(ControlSocket caller, const PeerMessage& hello, Descriptor offered) {
    const Address own = udp_.local_address();
    if (hello.address.host == own.host || hello.address.family != own.family) return;
    auto peer = udp_.peer_at(hello.address);
    if (!peer) peer = udp_.add_stranger(hello.address);
    if (!peer) return;
    Link& link = link_of(*peer);
    // If two calls cross, the call of the device with the greater address stays.
    if (link.state == Link::State::calling && is_greater(own, hello.address)) return;
    if (link.state == Link::State::living && link.their_life == hello.life) return;
    end(link);
    unshare(link);
    auto socket = shared_memory_ && hello.memory && offered.is_open()
                      ? ControlSocket::adopt(std::move(offered))
                      : std::nullopt;
    link.life = std::move(caller);
    link.state = Link::State::living;
    link.their_life = hello.life;
    link.pinged.reset();
    link.answered = false;
    link.held_until.reset();
    if (!watch(link.life.handle(), Tag::life, static_cast<std::uint32_t>(*peer))) return end(link);
    met_ = true;
    if (socket) share(link, std::move(*socket), 0);
    if (!send(link.life, PeerMessage::Kind::welcome, link.memory != nullptr)) {
        end(link);
        unshare(link);
    }
}

void Peers::hear(Link& link) {
    ControlSocket::Message message;
    for (int i = 0; i < messages_at_once && link.life.is_open(); ++i) {
        const auto received = link.life.receive(message);
        if (received == ControlSocket::Received::nothing) return;
        const auto decoded = received == ControlSocket::Received::message
                                 ? PeerMessage::decode(message.bytes())
                                 : std::nullopt;
        // A message that no device of ours sends ends the link, as the end of the socket does.
        if (!decoded || !hear_message(link, *decoded)) end(link);
    }
}

/// Returns false if no device of ours sends such a message now.
bool Peers::hear_message(Link& link, const PeerMessage& message) {
    const bool calling = link.state == Link::State::calling;
    switch (message.kind) {
        case PeerMessage::Kind::welcome: {
            if (!calling) return false;
            link.state = Link::State::living;
            link.their_life = message.life;
            met_ = true;
            ControlSocket own_end = std::exchange(link.own_end, ControlSocket());
            if (message.memory && own_end.is_open()) share(link, std::move(own_end), 1);
            return true;
        }
        case PeerMessage::Kind::ping: return !calling && send(link.life, PeerMessage::Kind::pong);
        case PeerMessage::Kind::pong: link.answered = true; return !calling;
        case PeerMessage::Kind::hello: break;
    }
    return false;
}

/// If this fails, UDP still reaches the peer.
void Peers::share(Link& link, ControlSocket socket, std::size_t node) {
    ShmWire::Config config;
    config.node = node;
    config.frame_max = longest_packet();
    config.open_private_memory = config.maps_peers = false;
    config.sleeps_often = true;
    auto memory = ShmWire::adopt(config, std::move(socket));
    const auto which = static_cast<std::uint32_t>(link.peer);
    if (!memory || !watch(memory->wait_handle(), Tag::memory, which)) return;
    link.other = static_cast<PeerId>(1 - node);
    link.begun = link.drains = false;
    link.memory = std::make_unique<ShmWire>(std::move(*memory));
    ++sharing_;
}

void Peers::unshare(Link& link) {
    if (!link.memory) return;
    unwatch(link.memory->wait_handle());
    former_ += link.memory->counters();
    --sharing_;
    link.begun = link.drains = false;
    const std::unique_ptr<ShmWire> ended = std::move(link.memory);
}

/// The peer's process is gone or closed its device. Packets that it left in its ring are still
/// received: the peer may have used the memory although this process has not seen it connected.
void Peers::end(Link& link) {
    unwatch(link.life.handle());
    link.life.close();
    link.own_end.close();
    link.state = Link::State::none;
    if (!link.memory || link.begun) return;
    if (link.memory->look_for(link.other)) {
        begin(link);
    } else {
        unshare(link);
    }
}

}  // namespace wireproof::verbs
