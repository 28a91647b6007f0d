// Exchanges contacts over TCP, each as one line of text:
//
//     wireproof-ib 1 ADDRESS QUEUE_PAIR PSN PATH_MTU MEMORY LENGTH KEY RESPONDER_RESOURCES
//
// Older versions do not send the last field; its value is then 1.
//
// Anyone may connect, so a line is read only up to a limit, and it is accepted only if it parses.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <system_error>

#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/ib.hpp"
#include "wireproof/os/descriptor.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::ib {
namespace {

constexpr std::size_t line_max = 512;
constexpr std::string_view greeting = "wireproof-ib 1";

struct Patience {
    explicit Patience(std::chrono::milliseconds limit)
        : end(clock.now() + host::duration_of(limit)) {}

    /// Milliseconds that are left, for poll(2).
    int left() const {
        const std::int64_t left = (end - clock.now()).nanoseconds() / 1'000'000;
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
    }
    /// False: the time has run out.
    bool until(int handle, short event) const {
        for (int rest = left(); rest > 0; rest = left()) {
            pollfd waiting{.fd = handle, .events = event, .revents = 0};
            if (::poll(&waiting, 1, rest) > 0) return true;
        }
        return false;
    }

    host::SteadyClock clock;
    Instant end;
};

std::string line_of(const Contact& contact) {
    std::ostringstream line;
    line << greeting << ' ' << contact.address << ' ' << contact.queue_pair << ' ' << contact.psn
         << ' ' << contact.path_mtu << ' ' << contact.memory << ' ' << contact.length << ' '
         << contact.key << ' ' << contact.responder_resources << '\n';
    return line.str();
}

std::optional<Contact> contact_of(const std::string& text) {
    std::istringstream line(text);
    std::string name;
    std::string version;
    Contact contact;
    line >> name >> version >> contact.address >> contact.queue_pair >> contact.psn >>
        contact.path_mtu >> contact.memory >> contact.length >> contact.key;
    if (!line || name + ' ' + version != greeting) return std::nullopt;
    if ((line >> std::ws).eof()) return contact;
    line >> contact.responder_resources;
    if (!line) return std::nullopt;
    return contact;
}

Result<Contact> failed(const std::string& what) {
    return Result<Contact>::failure("contact exchange: " + what);
}

Result<Contact> failed_call(const std::string& what) {
    return failed(what + ": " + std::generic_category().message(errno));
}

Descriptor open_socket(const Address& address) {
    const int family = address.family == Address::Family::ipv6 ? AF_INET6 : AF_INET;
    return Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Sends this side's line and receives the other side's.
Result<Contact> exchange_over(const Descriptor& connection, const Contact& ours,
                              const Patience& patience) {
    const std::string mine = line_of(ours);
    for (std::size_t sent = 0; sent < mine.size();) {
        if (!patience.until(connection.handle(), POLLOUT))
            return failed("the other side accepts no data");
        const ssize_t now =
            ::send(connection.handle(), mine.data() + sent, mine.size() - sent, MSG_NOSIGNAL);
        if (now < 0 && errno != EAGAIN && errno != EINTR) return failed_call("send");
        if (now > 0) sent += static_cast<std::size_t>(now);
    }
    std::string theirs;
    while (theirs.find('\n') == std::string::npos) {
        if (theirs.size() >= line_max) return failed("the other side did not send its contact");
        if (!patience.until(connection.handle(), POLLIN)) return failed("the other side is silent");
        std::array<char, line_max> part;
        const ssize_t now = ::recv(connection.handle(), part.data(), part.size(), 0);
        if (now < 0 && errno != EAGAIN && errno != EINTR) return failed_call("receive");
        if (now == 0) return failed("the other side has gone");
        if (now > 0) theirs.append(part.data(), static_cast<std::size_t>(now));
    }
    const auto contact = contact_of(theirs);
    if (!contact) return failed("the other side did not send its contact");
    return *contact;
}

}  // namespace

Result<Contact> exchange_as_server(std::string_view listen, const Contact& ours,
                                   std::chrono::milliseconds limit) {
    const Patience patience(limit);
    const auto address = Address::parse(listen);
    if (!address) return failed(address.error().message);
    const Descriptor door = open_socket(*address);
    const int reuse = 1;
    const SocketAddress at = to_socket_address(*address);
    if (!door.is_open() ||
        ::setsockopt(door.handle(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) != 0 ||
        ::bind(door.handle(), &at.any, length_of(at)) != 0 || ::listen(door.handle(), 1) != 0) {
        return failed_call(address->to_string());
    }
    if (!patience.until(door.handle(), POLLIN)) return failed("nobody has connected");
    const Descriptor connection(
        ::accept4(door.handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection.is_open()) return failed_call("accept");
    return exchange_over(connection, ours, patience);
}

Result<Contact> exchange_as_client(std::string_view connect, const Contact& ours,
                                   std::chrono::milliseconds limit) {
    const Patience patience(limit);
    const auto address = Address::parse(connect);
    if (!address) return failed(address.error().message);
    const SocketAddress to = to_socket_address(*address);
    while (true) {
        const Descriptor connection = open_socket(*address);
        if (!connection.is_open()) return failed_call(address->to_string());
        int error = ::connect(connection.handle(), &to.any, length_of(to)) == 0 ? 0 : errno;
        if (error == EINPROGRESS) {
            socklen_t length = sizeof error;
            const bool answered = patience.until(connection.handle(), POLLOUT);
            if (!answered) return failed(address->to_string() + " does not answer");
            ::getsockopt(connection.handle(), SOL_SOCKET, SO_ERROR, &error, &length);
        }
        if (error == 0) return exchange_over(connection, ours, patience);
        // The server may not listen yet.
        errno = error;
        if (error != ECONNREFUSED || patience.left() == 0) {
            return failed_call(address->to_string());
        }
        ::poll(nullptr, 0, std::min(20, patience.left()));
    }
}

}  // namespace wireproof::ib
