// Sequenced packets over a unix socket: they keep the borders of messages, report the end of the
// socket, and say which process sent each message (SO_PASSCRED), however this process got the
// socket.
#include "wireproof/wire/shm/control_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace wireproof {
namespace {

constexpr int socket_type = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;

auto failed(const std::string& what) {
    return unexpected(what + ": " + std::generic_category().message(errno));
}

struct SocketName {
    sockaddr_un name{};
    socklen_t length = 0;

    const sockaddr* any() const {
        return static_cast<const sockaddr*>(static_cast<const void*>(&name));
    }
};

// An abstract name begins with a zero byte. Only its length says where it ends.
SocketName name_of(const MeetingPlace& place) {
    SocketName result;
    result.name.sun_family = AF_UNIX;
    std::string path = place.to_string();
    if (!place.is_path()) path[0] = '\0';
    const std::size_t size = std::min(path.size(), sizeof result.name.sun_path - 1);
    std::copy_n(path.begin(), size, result.name.sun_path);
    const std::size_t end = place.is_path() ? 1 : 0;
    result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + end);
    return result;
}

Descriptor new_socket() {
    return Descriptor(::socket(AF_UNIX, socket_type, 0));
}

// Room for one descriptor and the credentials of the sender. The kernel closes further descriptors.
union Ancillary {
    cmsghdr header;
    std::array<char, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))> bytes;
};

void take_ancillary(msghdr& header, ControlSocket::Message& message) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_CREDENTIALS && part->cmsg_len == CMSG_LEN(sizeof(ucred))) {
            ucred who{};
            std::memcpy(&who, CMSG_DATA(part), sizeof who);
            message.sender = who.pid;
        } else if (part->cmsg_type == SCM_RIGHTS) {
            // Because of padding, a second one may have fitted.
            for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len;
                 at += sizeof(int)) {
                int handle = -1;
                std::memcpy(&handle, CMSG_DATA(part) + (at - CMSG_LEN(0)), sizeof handle);
                Descriptor descriptor(handle);
                if (!message.descriptor.is_open()) message.descriptor = std::move(descriptor);
            }
        }
    }
}

// Only one node at a time replaces the socket that a dead owner left. The lock is on the folder, so
// no lock file stays behind.
Descriptor lock_folder(const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    Descriptor locked(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (locked.is_open()) ::flock(locked.handle(), LOCK_EX);
    return locked;
}

/// Returns 0, or the error of the system.
int error_of_connecting(const Descriptor& socket, const MeetingPlace& place) {
    const SocketName name = name_of(place);
    return ::connect(socket.handle(), name.any(), name.length) == 0 ? 0 : errno;
}

// Whether the place is the path of a socket that a dead owner left. Only a refused connection shows
// that. The owner of a full queue (EAGAIN), or of a socket that this user must not use (EACCES),
// may live. The kernel also refuses a connection to a file that is no socket, so that is checked.
Expected<void> check_left(const MeetingPlace& place) {
    const Descriptor caller = new_socket();
    const int error = error_of_connecting(caller, place);
    if (!place.is_path() || error == 0 || error == EAGAIN) {
        return unexpected("another node listens there");
    }
    if (error == ENOENT) return {};  // it has ended meanwhile
    if (error != ECONNREFUSED) return unexpected(std::generic_category().message(error));
    struct stat status {};
    const bool is_socket =
        ::lstat(place.to_string().c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
    if (!is_socket) return unexpected("a file that is no socket is there");
    return {};
}

bool bind_to(const Descriptor& socket, const SocketName& name) {
    return ::bind(socket.handle(), name.any(), name.length) == 0;
}

}  // namespace

ControlSocket::ControlSocket(Descriptor socket) : socket_(std::move(socket)) {
    const int on = 1;
    ::setsockopt(socket_.handle(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

Expected<std::pair<ControlSocket, ControlSocket>> ControlSocket::pair() {
    std::array<int, 2> handles{};
    if (::socketpair(AF_UNIX, socket_type, 0, handles.data()) != 0) {
        return failed("cannot make a pair of unix sockets");
    }
    return std::pair(ControlSocket(Descriptor(handles[0])), ControlSocket(Descriptor(handles[1])));
}

std::optional<ControlSocket> ControlSocket::adopt(Descriptor socket) {
    const auto is = [&socket](int option, int wanted) {
        int value = -1;
        socklen_t length = sizeof value;
        return ::getsockopt(socket.handle(), SOL_SOCKET, option, &value, &length) == 0 &&
               value == wanted;
    };
    if (!is(SO_DOMAIN, AF_UNIX) || !is(SO_TYPE, SOCK_SEQPACKET) || !is(SO_ACCEPTCONN, 0)) {
        return std::nullopt;
    }
    ControlSocket adopted(std::move(socket));
    if (!adopted.of_this_user()) return std::nullopt;
    return adopted;
}

bool ControlSocket::send(ConstBytes message, int descriptor) const {
    std::array<std::byte, message_max> copy{};
    std::copy(message.begin(), message.end(), copy.begin());
    iovec part{copy.data(), message.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    Ancillary ancillary{};
    if (descriptor >= 0) {
        header.msg_control = ancillary.bytes.data();
        header.msg_controllen = CMSG_SPACE(sizeof descriptor);
        cmsghdr* const rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    }
    ssize_t sent = -1;
    do {
        sent = ::sendmsg(socket_.handle(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(message.size());
}

ControlSocket::Received ControlSocket::receive(Message& message) const {
    message.descriptor.close();
    message.sender = 0;
    iovec part{message.room.data(), message.room.size()};
    Ancillary ancillary{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = ancillary.bytes.data();
    header.msg_controllen = sizeof ancillary.bytes;
    const ssize_t size = ::recvmsg(socket_.handle(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) {
        const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        return later ? Received::nothing : Received::ended;
    }
    take_ancillary(header, message);
    message.size = static_cast<std::size_t>(size);
    return size == 0 ? Received::ended : Received::message;  // nobody sends empty messages
}

bool ControlSocket::of_this_user() const {
    ucred who{};
    socklen_t length = sizeof who;
    if (::getsockopt(socket_.handle(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return false;
    return who.uid == ::geteuid() || who.uid == 0;
}

bool ControlSocket::ends_within(int limit) const {
    pollfd end{socket_.handle(), 0, 0};  // the kernel always reports the end
    return ::poll(&end, 1, limit) > 0;
}

std::string MeetingPlace::to_string() const {
    return is_path() ? name + "." + std::to_string(node)
                     : "@wireproof/" + name + "/" + std::to_string(node);
}

Expected<void> check_place(const MeetingPlace& place) {
    constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
    if (place.name.empty()) return unexpected("shm wire: no name of the job to meet at");
    if (place.to_string().size() <= longest) return {};
    return unexpected("shm wire: " + place.to_string() + " is longer than " +
                      std::to_string(longest) + " bytes");
}

Listener& Listener::operator=(Listener&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(path_, other.path_);
    std::swap(owner_, other.owner_);
    return *this;
}

Listener::~Listener() {
    if (socket_.is_open() && !path_.empty() && owner_ == ::getpid()) ::unlink(path_.c_str());
}

Expected<Listener> Listener::open(const MeetingPlace& place) {
    const std::string what = "shm wire: cannot listen at " + place.to_string();
    const SocketName name = name_of(place);
    Listener listener;
    listener.owner_ = ::getpid();
    listener.socket_ = new_socket();
    if (!listener.is_open()) return failed(what);
    Descriptor lock;
    if (place.is_path()) lock = lock_folder(place.to_string());
    bool bound = bind_to(listener.socket_, name);
    if (!bound && errno == EADDRINUSE) {
        if (const auto left = check_left(place); !left) {
            return unexpected(what + ": " + left.error().message);
        }
        ::unlink(place.to_string().c_str());
        bound = bind_to(listener.socket_, name);
    }
    if (!bound) return failed(what);
    if (place.is_path()) listener.path_ = place.to_string();
    constexpr int waiting_max = 128;
    if (::listen(listener.handle(), waiting_max) != 0) return failed(what);
    return listener;
}

std::optional<ControlSocket> Listener::accept() const {
    Descriptor socket(::accept4(handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) return std::nullopt;
    return ControlSocket(std::move(socket));
}

std::optional<ControlSocket> connect_to(const MeetingPlace& place) {
    Descriptor socket = new_socket();
    if (!socket.is_open() || error_of_connecting(socket, place) != 0) return std::nullopt;
    return ControlSocket(std::move(socket));
}

}  // namespace wireproof
