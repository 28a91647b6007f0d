// A unix socket that carries small whole messages and descriptors between two nodes, beside the
// rings. When it ends, the peer has died. Only Listener::open(), for the lock of a folder, and
// ends_within() may wait.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof {

class ControlSocket {
public:
    static constexpr std::size_t message_max = 128;  // bytes

    struct Message {
        std::array<std::byte, message_max> room;
        std::size_t size = 0;
        Descriptor descriptor;  // the first one received; any other is closed
        pid_t sender = 0;       // as seen by this process; 0: it has no number here

        ConstBytes bytes() const { return ConstBytes(room).first(size); }
    };
    enum class Received : std::uint8_t { message, nothing, ended };

    ControlSocket() = default;
    explicit ControlSocket(Descriptor socket);

    static Expected<std::pair<ControlSocket, ControlSocket>> pair();
    /// Takes an end of such a pair that a peer passed on. Nothing: the descriptor is something
    /// else, or its other end belongs to another user.
    static std::optional<ControlSocket> adopt(Descriptor socket);

    int handle() const { return socket_.handle(); }
    bool is_open() const { return socket_.is_open(); }
    void close() { socket_.close(); }

    /// False: the socket is full or the peer has gone; errno has the reason.
    bool send(ConstBytes message, int descriptor = -1) const;
    Received receive(Message& message) const;

    /// Whether the other end is a process of this user, or of root.
    bool of_this_user() const;
    /// Waits until the other end is closed, at most for `limit` milliseconds. True: it is closed.
    bool ends_within(int limit) const;

private:
    Descriptor socket_;
};

/// A node that is awake looks at its sockets once in this time, because a look is a system call.
/// Only meetings and ends wait for it.
inline constexpr Duration between_socket_looks = Duration::milliseconds(1);
/// While a process has no free descriptor, it does not listen: a caller that waits would keep the
/// listener readable. It tries again after this time.
inline constexpr Duration accept_pause = Duration::milliseconds(10);

/// Where a node of a job listens. A name without '/' is in the abstract namespace of the network
/// namespace, so there is no file. A name with '/' is the beginning of a path, for nodes in
/// containers that share a volume; the permissions of the path then say who may connect.
struct MeetingPlace {
    std::string name;
    std::size_t node = 0;

    bool is_path() const { return name.find('/') != std::string::npos; }
    std::string to_string() const;
};

/// The place where this node listens. The destructor removes a path, except in a forked child.
class Listener {
public:
    Listener() = default;
    Listener(Listener&& other) noexcept = default;
    Listener& operator=(Listener&& other) noexcept;
    ~Listener();

    /// Replaces the socket of a path at which nobody listens any more.
    static Expected<Listener> open(const MeetingPlace& place);

    /// For a forked child: only the parent listens here, and removes its path.
    void abandon() {
        socket_.close();
        owner_ = 0;
    }

    int handle() const { return socket_.handle(); }
    bool is_open() const { return socket_.is_open(); }
    /// Nothing: nobody calls, or accept failed (errno has the reason).
    std::optional<ControlSocket> accept() const;

private:
    Descriptor socket_;
    std::string path_;  // empty: nothing to remove
    pid_t owner_ = 0;
};

/// Nothing: errno has the reason. ECONNREFUSED and ENOENT: nobody listens there now.
std::optional<ControlSocket> connect_to(const MeetingPlace& place);

/// Whether the place's name is short enough.
Expected<void> check_place(const MeetingPlace& place);

}  // namespace wireproof
