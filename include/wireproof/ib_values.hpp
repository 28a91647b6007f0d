// The values that calls of wireproof/ib.hpp take and return: options, what memory allows, and how
// calls and work end. Include that header, not this one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wireproof/export.hpp"
#include "wireproof/result.hpp"

namespace wireproof::rdma {

/// What became of a call. All but `ok` leave everything as it was.
enum class [[nodiscard]] Status : std::uint8_t{
    ok,
    queue_full,     // until something completes: poll and call again
    wrong_state,    // not connected, connected already, or in error
    not_supported,  // by the transport: Reads and Atomics are reliable
    too_long,       // more than 2^31 bytes, than a datagram has, or than the room for inline bytes
    too_many_pieces,  // of this queue pair, or for it
    bad_length,       // of an Atomic: it has 8 bytes
    bad_contact,      // names no host, queue pair or path MTU, or keeps no Read; another Device's
    closed,           // the Device belongs to the parent of this forked process
};

/// Its name, as above.
WIREPROOF_EXPORT std::string_view name_of(Status status);

namespace detail {

/// Ends the program with a line on standard error.
[[noreturn]] WIREPROOF_EXPORT void used_after_move() noexcept;

/// What stands behind a public class: shared, and nothing once it was moved from.
template <class Inside>
class Held {
public:
    explicit Held(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}

    bool is_empty() const { return inside_ == nullptr; }
    const std::shared_ptr<Inside>& get() const {
        if (inside_ == nullptr) used_after_move();
        return inside_;
    }
    Inside* operator->() const { return get().get(); }
    Inside& operator*() const { return *get(); }

private:
    std::shared_ptr<Inside> inside_;
};

}  // namespace detail

struct DeviceOptions {
    /// Of one interface, numeric: 127.0.0.2, 192.168.1.7 or fe80::1%eth0. One Device per address.
    std::string address;
    /// 256, 512, 1024, 2048 or 4096 bytes; 0: the most that the interface carries, which of an
    /// Ethernet of 1500 is 1024.
    std::size_t path_mtu = 0;
    /// Bytes of received packets that the kernel is asked to keep, 4096 to 2^30, with what it needs
    /// beside each packet. An ordinary user is granted 212,992 by default: 25 packets of 4096
    /// bytes. So few are under way to a peer at first.
    std::size_t receive_buffer = std::size_t{4} << 20;
};

/// What somebody listens to: of Linux's rdma_cm, on a port of its TCP port space.
constexpr std::uint64_t service_of_port(std::uint16_t port) {
    return std::uint64_t{0x0106} << 16 | port;
}
/// The same of datagrams: a port of its UDP port space.
constexpr std::uint64_t datagram_service_of_port(std::uint16_t port) {
    return std::uint64_t{0x0111} << 16 | port;
}

/// How work ended.
enum class WorkStatus : std::uint8_t {
    success,
    local_length_error,
    local_operation_error,
    local_protection_error,
    flushed,  // never tried, or not known to be done: the queue pair is in error
    window_bind_error,
    bad_response,
    remote_invalid_request,
    remote_access_error,
    remote_operation_error,
    retry_exceeded,
    receiver_not_ready,  // more often than was to be borne
};

WIREPROOF_EXPORT std::string_view name_of(WorkStatus status);

/// Which work a completion is of.
enum class Operation : std::uint8_t {
    // Posted to be sent.
    send,  // also one that invalidates a key of the peer
    write,
    read,
    compare_swap,
    fetch_add,
    bind,
    invalidate,
    // Posted to receive.
    receive,        // of a Send, or ended in error
    receive_write,  // used by a Write with immediate data
};

/// Its name, as above.
WIREPROOF_EXPORT std::string_view name_of(Operation operation);

class Device;
struct ResolvedService;

/// A queue pair for datagrams on some host, as a sender names it. A value: a copy names the same.
/// It belongs to the Device's thread, and keeps the Device open.
class WIREPROOF_EXPORT AddressHandle {
public:
    /// `host` is numeric, as a Device's address; `queue_pair` has 24 bits. `qkey` is that of the
    /// receiving queue pair; a value with its highest bit set stands for the Q_Key of the sending
    /// one. Does not block, and sends nothing. Failure: the Device cannot send to such a host.
    static Result<AddressHandle> create(const Device& device, std::string_view host,
                                        std::uint32_t queue_pair, std::uint32_t qkey);
    /// Asks the host which queue pair takes the datagrams of a service (SIDR). `tell` is up to 216
    /// bytes, or 180 to a service of rdma_cm, and is copied. Has the device work until the answer
    /// has come. Failure: refused, for the reason named, or no answer until `limit`.
    static Result<ResolvedService> resolve(
        const Device& device, std::string_view host, std::uint64_t service,
        std::span<const std::byte> tell = {},
        std::chrono::milliseconds limit = std::chrono::seconds(30));

    std::string host() const;
    std::uint32_t queue_pair() const;
    std::uint32_t qkey() const;

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class CompletionQueue;
    friend class QueuePair;
    explicit AddressHandle(std::shared_ptr<const Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<const Inside> inside_;
};

/// What a host has answered for a datagram service: its queue pair, and 136 bytes that came along.
struct ResolvedService {
    AddressHandle address;
    std::vector<std::byte> told;
};

struct Completion {
    std::uint64_t id = 0;  // given with the work
    WorkStatus status = WorkStatus::success;
    Operation operation = Operation::send;
    std::uint32_t queue_pair = 0;  // its number
    std::uint32_t length = 0;      // bytes received or read, if it succeeded
    std::optional<std::uint32_t> immediate = {};
    std::optional<std::uint32_t> invalidated = {};  // the window's key that a Send ended here
    /// Of a datagram received: its sender, with the Q_Key that it has sent.
    std::optional<AddressHandle> sender = {};

    /// Of a posted receive, not of work that was posted to be sent.
    bool is_receive() const {
        return operation == Operation::receive || operation == Operation::receive_write;
    }
};

/// What may be done with memory. Reading by its own side always may.
struct Access {
    bool local_write = false;  // receives, and what Reads bring
    bool remote_write = false;
    bool remote_read = false;
    bool remote_atomic = false;
    bool window_bind = false;  // of regions: windows may be bound to it
};

/// Some registered bytes of this side.
struct Piece {
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    std::uint32_t key = 0;
};

/// Some registered bytes of the other side.
struct Remote {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
};

/// Whom a window's key serves: of type 1, all queue pairs of the domain; of type 2A, the one that
/// bound it; of type 2B, the same, while it is of the domain.
enum class WindowType : std::uint8_t { type_1, type_2a, type_2b };

/// What one side must know of the other, however it comes to know it.
struct Contact {
    std::string address;  // of the device
    std::uint32_t queue_pair = 0;
    std::uint32_t psn = 0;  // of its first packet
    std::size_t path_mtu = 1024;
    // Memory it offers, if any.
    std::uint64_t memory = 0;
    std::uint64_t length = 0;
    std::uint32_t key = 0;
    /// Reads and Atomics of its peer that it keeps, to answer them again: no more of them are
    /// outstanding to it. 1 is what a peer has that says nothing of it, as many tools do.
    std::size_t responder_resources = 1;
};

enum class Transport : std::uint8_t {
    reliable,    // RC: exactly once and in order, or an error completion
    unreliable,  // UC: whole messages in order, some missing
    datagram,    // UD: messages of one packet to any queue pair; some missing, late or twice
};

struct QueuePairOptions {
    Transport transport = Transport::reliable;
    std::size_t sends = 64;     // posted and not completed, at most; 1 to 65536
    std::size_t receives = 64;  // posted and not used, at most; 1 to 65536
    std::size_t pieces = 4;     // of one of those, 1 to 32; of datagrams 1 to 31
    std::size_t inlined = 64;   // bytes of an inline request, at most; 0 to 4096
    // Of reliable pairs, 1 to 16 each. What the two sides of a connection say is matched: the
    // smaller number is used.
    std::size_t initiator_depth = 16;      // Reads and Atomics of ours outstanding, at most
    std::size_t responder_resources = 16;  // of the peer's that are kept, to answer them again
    Access peer = {.remote_write = true, .remote_read = true, .remote_atomic = true};

    /// Of datagrams: those that come with another Q_Key are dropped. This one is that of programs
    /// that use rdma_cm.
    std::uint32_t qkey = 0x01234567;

    // Of reliable pairs. InfiniBand has 31 times of each kind: the shortest one is used that is not
    // shorter than what is said here. Each side uses its own; a peer that is met by a service may
    // adopt ours, but for min_rnr_timer.
    /// How long a packet waits for its acknowledgement before it is sent again: at least so long,
    /// and up to four times. 8.192 us times a power of 2, up to 8796 s; 0: for ever.
    std::chrono::nanoseconds ack_timeout = std::chrono::nanoseconds(67'108'864);
    /// How often in a row a packet is sent again for want of an acknowledgement, before its work
    /// ends in retry_exceeded; 0 to 7.
    unsigned retry_count = 7;
    /// How often in a row a message is tried again where the peer has no receive for it, before its
    /// work ends in receiver_not_ready; 0 to 6, or 7: for ever.
    unsigned rnr_retry_count = 7;
    /// How long a peer is asked to wait where this side has no receive for its message; 10 us to
    /// 655.36 ms.
    std::chrono::microseconds min_rnr_timer = std::chrono::microseconds(640);
};

/// Of work that is posted to be sent.
struct WorkOptions {
    bool signalled = true;   // else it has a completion only if it fails
    bool solicited = false;  // the peer's completion is told to who asked for those only
    bool fence = false;      // begins once earlier Reads and Atomics have ended
};

/// What a window shows after a bind.
struct WindowBind {
    std::uint64_t address = 0;  // in the region
    std::uint64_t length = 0;   // bytes; none: a window of type 1 shows nothing more
    Access peer = {};
    bool zero_based = false;  // peers count addresses from 0; not with type 1
};

}  // namespace wireproof::rdma
