// How devices of one host meet, and how they learn of the end of the other.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "wireproof/front/verbs/peers/peers_link.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::verbs {
namespace {

constexpr int messages_at_once = 16;

std::size_t longest_packet() {
    return proto::ib::packet_max(proto::ib::path_mtus.back());
}

/// If two processes call each other at the same time, both ends use this order to drop the same
/// call.
bool is_greater(const Address& a, const Address& b) {
    return std::pair(a.family, a.host) > std::pair(b.family, b.host);
}

}  // namespace

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
    const bool lives = link.state == Link::State::living && !link.life.ends_within(0);
    // Another process has the address now, although a child may still have the former one's socket.
    note_end(link);
    end(link);
    if (!lives && link.memory) {
        link.successor = {std::move(caller), hello, std::move(offered)};
        return;
    }
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
        if (received == ControlSocket::Received::ended) note_end(link);
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

void Peers::note_end(Link& link) {
    if (link.state == Link::State::living) link.ended = any_ended_ = true;
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
