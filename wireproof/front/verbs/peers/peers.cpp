#include "wireproof/front/verbs/peers/peers.hpp"

#include <sys/epoll.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "wireproof/front/verbs/peers/peers_link.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::verbs {
namespace {

constexpr Duration between_udp = Duration::microseconds(20);
constexpr Duration longest_hold = Duration::milliseconds(100);
constexpr Duration between_pings = Duration::milliseconds(50);
constexpr std::size_t datagrams_at_once = 32;

std::uint64_t random_life() {
    std::uint64_t life = 0;
    WIREPROOF_CHECK(::getrandom(&life, sizeof life, 0) == ssize_t{sizeof life});
    return life;
}

}  // namespace

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
        link->successor.reset();
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
        link->ended = false;
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

bool Peers::has_met(PeerId peer) const {
    const Link* const link = known_link(peer);
    return link != nullptr && link->state == Link::State::living;
}

std::optional<PeerId> Peers::next_ended() {
    for (Link* link = any_ended_ ? first_ : nullptr; link != nullptr; link = link->next) {
        if (std::exchange(link->ended, false)) return link->peer;
    }
    any_ended_ = false;
    return std::nullopt;
}

bool Peers::is_unsettled(const Link& link) const {
    return link.state == Link::State::calling || (link.memory && !link.begun);
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
            if (event->second != WireEvent::peer_gone) continue;
            unshare(*link);
            if (auto next = std::exchange(link->successor, std::nullopt)) {
                welcome(std::move(next->socket), next->hello, std::move(next->offered));
            }
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

}  // namespace wireproof::verbs
