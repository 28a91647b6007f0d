// A unix socket that carries whole small messages and descriptors: what two nodes tell each other
// beside the rings. Nothing here blocks. Its end tells that the peer died.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/wire/shm/descriptor.hpp"

namespace wireproof {

class ControlSocket {
public:
    static constexpr std::size_t message_max = 128;  // bytes

    struct Message {
        std::array<std::byte, message_max> room;
        std::size_t size = 0;
        Descriptor descriptor;  // the first that came along; any other is closed
        pid_t sender = 0;       // as this process would call it; 0: cannot be named here

        ConstBytes bytes() const { return ConstBytes(room).first(size); }
    };
    enum class Received : std::uint8_t { message, nothing, ended };

    ControlSocket() = default;
    explicit ControlSocket(Descriptor socket);

    static Expected<std::pair<ControlSocket, ControlSocket>> pair();
    /// What a peer passed on as an end of such a pair. Nothing: it is something else, or of another
    /// user.
    static std::optional<ControlSocket> adopt(Descriptor socket);

    int handle() const { return socket_.handle(); }
    bool is_open() const { return socket_.is_open(); }
    void close() { socket_.close(); }

    /// False: the socket is full or the peer has gone.
    bool send(ConstBytes message, int descriptor = -1) const;
    Received receive(Message& message) const;

    /// Whether the other end is a process of this user, or of root.
    bool of_this_user() const;

private:
    Descriptor socket_;
};

/// Where a node of a job can be found. A name without '/' leaves no file: it lies in the abstract
/// namespace of the network namespace. With '/', it is the beginning of a path, for nodes in
/// containers that share a volume; permissions of the path then say who may come.
struct MeetingPlace {
    std::string name;
    std::size_t node = 0;

    bool is_path() const { return name.find('/') != std::string::npos; }
    std::string to_string() const;
};

/// A node's own place, kept until the end. A path is then removed, unless by a forked child.
class Listener {
public:
    Listener() = default;
    Listener(Listener&& other) noexcept = default;
    Listener& operator=(Listener&& other) noexcept;
    ~Listener();

    /// Takes the place of a path that nobody listens at any more.
    static Expected<Listener> open(const MeetingPlace& place);

    /// In a forked child: the parent alone listens here, and removes its path.
    void abandon() {
        socket_.close();
        owner_ = 0;
    }

    int handle() const { return socket_.handle(); }
    bool is_open() const { return socket_.is_open(); }
    /// Nothing: nobody calls, or errno says why none can be had.
    std::optional<ControlSocket> accept() const;

private:
    Descriptor socket_;
    std::string path_;  // empty: nothing to remove
    pid_t owner_ = 0;
};

/// Nothing: nobody listens there now.
std::optional<ControlSocket> connect_to(const MeetingPlace& place);

/// Whether the place's name is short enough.
Expected<void> check_place(const MeetingPlace& place);

}  // namespace wireproof
