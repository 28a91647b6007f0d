#include "wireproof/host/rendezvous/rendezvous_server.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "wireproof/os/socket_address.hpp"

namespace wireproof::host {
namespace {

constexpr Duration pause_without_descriptors = Duration::milliseconds(100);
constexpr int connections_waiting_max = 1024;
constexpr std::uint64_t listening = 0;  // in the place of the number of a connection

bool watch(int events, int operation, int socket, std::uint32_t what, std::uint64_t number) {
    epoll_event event{};
    event.events = what;
    event.data.u64 = number;
    return ::epoll_ctl(events, operation, socket, &event) == 0;
}

Descriptor listen_on(const Address& address) {
    const SocketAddress at = to_socket_address(address);
    Descriptor socket(::socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) return {};
    if (address.port != 0) {
        const int on = 1;  // else the port would stay occupied for a minute after an earlier job
        ::setsockopt(socket.handle(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    const int off = 0;  // so that the socket also takes IPv4
    if (address.family == Address::Family::ipv6) {
        ::setsockopt(socket.handle(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(socket.handle(), &at.any, length_of(at)) != 0 ||
        ::listen(socket.handle(), connections_waiting_max) != 0)
        return {};
    return socket;
}

/// The system chooses the port.
Descriptor listen_for(RendezvousServer::Reach reach) {
    if (reach == RendezvousServer::Reach::this_host)
        return listen_on(*Address::parse("127.0.0.1:0"));
    Descriptor socket = listen_on(*Address::parse("[::]:0"));
    if (socket.is_open()) return socket;
    return listen_on(*Address::parse("0.0.0.0:0"));  // this host has no IPv6
}

/// If bytes of the peer were left unread, the kernel would answer them with a reset, and the peer
/// might see that before it has read the reply.
void take_rest(int socket) {
    std::array<std::byte, 8192> bytes;
    constexpr int reads_max = 16;
    for (int i = 0; i < reads_max; ++i) {
        if (::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT) <= 0) return;
    }
}

}  // namespace

Expected<RendezvousServer> RendezvousServer::open(RendezvousTable::Config config, Reach reach) {
    return on(std::move(config), listen_for(reach));
}

Expected<RendezvousServer> RendezvousServer::open_at(RendezvousTable::Config config,
                                                     const std::string& address) {
    const auto at = Address::parse(address);
    if (!at) return tl::unexpected(at.error());
    auto server = on(std::move(config), listen_on(*at));
    if (!server) return unexpected(address + ": " + server.error().message);
    return server;
}

Expected<RendezvousServer> RendezvousServer::on(RendezvousTable::Config config,
                                                Descriptor listening_socket) {
    RendezvousServer server(std::move(config));
    server.listening_ = std::move(listening_socket);
    if (server.listening_.is_open()) {
        server.events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
        server.port_ = own_address_of(server.listening_.handle()).port;
    }
    if (server.port_ == 0 || !watch(server.events_.handle(), EPOLL_CTL_ADD,
                                    server.listening_.handle(), EPOLLIN, listening)) {
        return unexpected(std::string("cannot listen for the ranks: ") + std::strerror(errno));
    }
    return server;
}

void RendezvousServer::turn(Instant now) {
    if (accept_at_ <= now) accept_again(true);
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(events_.handle(), events.data(), int{events.size()}, 0);
    for (int i = 0; i < count; ++i) {
        const Connection number = events[static_cast<std::size_t>(i)].data.u64;
        if (number == listening) {
            accept_all(now);
        } else {
            serve(number, now);
        }
    }
    table_.on_deadline(now);
    send_replies(now);
    std::erase_if(peers_, [&](const auto& one) { return one.second.deadline <= now; });
}

Instant RendezvousServer::next_deadline() const {
    Instant next = earliest(table_.next_deadline(), accept_at_);
    for (const auto& [number, peer] : peers_) next = earliest(next, peer.deadline);
    return next;
}

void RendezvousServer::on_rank_ended(std::uint32_t rank, Instant now) {
    table_.on_rank_ended(rank);
    send_replies(now);
}

void RendezvousServer::accept_all(Instant now) {
    while (true) {
        Descriptor socket(
            ::accept4(listening_.handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket.is_open()) {
            if (errno == ECONNABORTED || errno == EINTR) continue;
            if (errno == EAGAIN) return;
            accept_again(false);
            accept_at_ = now + pause_without_descriptors;
            return;
        }
        const Connection number = ++last_;
        if (!watch(events_.handle(), EPOLL_CTL_ADD, socket.handle(), EPOLLIN, number)) continue;
        peers_.emplace(number, Peer{std::move(socket), nullptr, 0, never});
        table_.on_open(number, now);
        send_replies(now);
    }
}

// The listening socket stays readable, so the loop would not sleep.
void RendezvousServer::accept_again(bool possible) {
    watch(events_.handle(), EPOLL_CTL_MOD, listening_.handle(), possible ? EPOLLIN : 0U, listening);
    accept_at_ = never;
}

void RendezvousServer::serve(Connection connection, Instant now) {
    const auto found = peers_.find(connection);
    if (found == peers_.end()) return;
    Peer& peer = found->second;
    std::array<std::byte, 8192> bytes;
    const ssize_t got = ::recv(peer.socket.handle(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
        table_.on_bytes(connection, std::span(bytes).first(static_cast<std::size_t>(got)));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        table_.on_close(connection);
        peers_.erase(found);
        return;
    }
    send_replies(now);
    const auto still = peers_.find(connection);
    if (still != peers_.end() && still->second.reply != nullptr) send_rest(connection);
}

void RendezvousServer::put(std::string_view request, Instant now) {
    own_answer_ = nullptr;
    own_ = ++last_;
    table_.on_open(own_, now);
    table_.on_bytes(own_, std::as_bytes(std::span(request)));
    send_replies(now);
}

bool RendezvousServer::all_sent() const {
    return std::none_of(peers_.begin(), peers_.end(),
                        [](const auto& one) { return one.second.reply != nullptr; });
}

void RendezvousServer::send_replies(Instant now) {
    while (auto reply = table_.next_reply()) {
        if (reply->to == own_) own_answer_ = reply->bytes;
        const auto found = peers_.find(reply->to);
        if (found == peers_.end()) continue;
        found->second.reply = std::move(reply->bytes);
        found->second.deadline = now + RendezvousTable::patience;
        send_rest(reply->to);
    }
}

void RendezvousServer::send_rest(Connection connection) {
    const auto found = peers_.find(connection);
    Peer& peer = found->second;
    const std::string& bytes = *peer.reply;
    while (peer.sent < bytes.size()) {
        const ssize_t now = ::send(peer.socket.handle(), bytes.data() + peer.sent,
                                   bytes.size() - peer.sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EAGAIN) {
            watch(events_.handle(), EPOLL_CTL_MOD, peer.socket.handle(), EPOLLIN | EPOLLOUT,
                  connection);
            return;
        }
        if (now < 0) break;  // the peer is gone
        peer.sent += static_cast<std::size_t>(now);
    }
    take_rest(peer.socket.handle());
    peers_.erase(found);
}

}  // namespace wireproof::host
