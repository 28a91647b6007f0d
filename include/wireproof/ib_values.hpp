// The values that calls of wireproof/ib.hpp take and return: options, rights on memory, statuses
// and completions. Include that header, not this one.
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

/// The result of a call. After any result but `ok`, the call has changed nothing.
enum class [[nodiscard]] Status : std::uint8_t{
    ok,
    queue_full,       // there is no room until earlier work completes: poll and call again
    wrong_state,      // the queue pair is not connected; of connect: it is connected, or has failed
    not_supported,    // the transport, or this kind of queue pair, does not have this work
    too_long,         // over 2^31 bytes, over the path MTU (datagram), or over `inlined` (inline)
    too_many_pieces,  // more than QueuePairOptions::pieces
    bad_length,       // the piece of an Atomic has not 8 bytes
    bad_contact,      // a value of the Contact is not valid; the AddressHandle is another Device's
    closed,           // this process is a forked child, and the Device belongs to its parent
};

/// The name of the enumerator: "queue_full".
WIREPROOF_EXPORT std::string_view name_of(Status status);

namespace detail {

/// Ends the program with a line on standard error.
[[noreturn]] WIREPROOF_EXPORT void used_after_move() noexcept;

/// A shared pointer to the implementation of a public class. It is null after it was moved from.
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
    /// The numeric address of one network interface of this host: 127.0.0.2, 192.168.1.7 or
    /// fe80::1%eth0. Only one Device may have an address.
    std::string address;
    /// The longest payload of a packet: 256, 512, 1024, 2048 or 4096 bytes. 0: the largest of these
    /// that the interface carries. An Ethernet interface with an MTU of 1500 carries 1024.
    std::size_t path_mtu = 0;
    /// The size of the socket's receive buffer that the Device requests from the kernel, in bytes,
    /// 4096 to 2^30. The kernel's own data for each packet counts, too. By default Linux grants an
    /// ordinary user 212,992 bytes: 25 packets of 4096 bytes. So a Device at first has no more than
    /// that in flight to a peer.
    std::size_t receive_buffer = std::size_t{4} << 20;
};

/// The number of a service: a `port` in the TCP port space of Linux's rdma_cm.
constexpr std::uint64_t service_of_port(std::uint16_t port) {
    return std::uint64_t{0x0106} << 16 | port;
}
/// The number of a datagram service: a `port` in the UDP port space of Linux's rdma_cm.
constexpr std::uint64_t datagram_service_of_port(std::uint16_t port) {
    return std::uint64_t{0x0111} << 16 | port;
}

/// How work ended. The counts are those of QueuePairOptions.
enum class WorkStatus : std::uint8_t {
    success,
    local_length_error,
    local_operation_error,
    local_protection_error,
    flushed,  // the queue pair has failed: the work was not tried, or nobody knows if it was done
    window_bind_error,
    bad_response,
    remote_invalid_request,
    remote_access_error,
    remote_operation_error,
    retry_exceeded,      // no acknowledgement came after `retry_count` resends
    receiver_not_ready,  // the peer still had no receive after `rnr_retry_count` resends
};

/// The name of the enumerator: "success".
WIREPROOF_EXPORT std::string_view name_of(WorkStatus status);

/// The kind of the work that a completion reports.
enum class Operation : std::uint8_t {
    // Work that was posted to be sent.
    send,  // also by send_invalidate
    write,
    read,
    compare_swap,
    fetch_add,
    bind,
    invalidate,
    // A receive that was posted.
    receive,        // a Send took it, or it ended with an error
    receive_write,  // a Write with immediate data took it
};

/// The name of the enumerator: "send".
WIREPROOF_EXPORT std::string_view name_of(Operation operation);

class Device;
struct ResolvedService;

/// The address of a queue pair for datagrams, for a sender. A copy names the same queue pair. Only
/// the thread of the Device may use it. While it exists, the Device stays open.
class WIREPROOF_EXPORT AddressHandle {
public:
    /// `host` is numeric, as DeviceOptions::address; `queue_pair` is a number of 24 bits. `qkey` is
    /// the Q_Key of the receiving queue pair; if its highest bit is set, a datagram carries the
    /// Q_Key of the sending queue pair instead. Does not block, and sends nothing. Failure: an
    /// argument is not valid, the Device cannot send to such a host, or it is closed.
    static Result<AddressHandle> create(const Device& device, std::string_view host,
                                        std::uint32_t queue_pair, std::uint32_t qkey);
    /// Asks `host` which queue pair takes the datagrams of `service` (SIDR). `tell` goes along: up
    /// to 216 bytes, or 180 to a service of rdma_cm. Blocks until the answer has come, at most for
    /// `limit`. Failure: the host refused, or did not answer within `limit`; the text names the
    /// reason.
    static Result<ResolvedService> resolve(
        const Device& device, std::string_view host, std::uint64_t service,
        std::span<const std::byte> tell = {},
        std::chrono::milliseconds limit = std::chrono::seconds(30));

    /// The three values that the handle was made of.
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

/// The answer of a host for a datagram service: its queue pair, and 136 bytes of private data.
struct ResolvedService {
    AddressHandle address;
    std::vector<std::byte> told;
};

/// The report that work has ended.
struct Completion {
    std::uint64_t id = 0;  // the `id` of the call that posted the work
    WorkStatus status = WorkStatus::success;
    Operation operation = Operation::send;
    std::uint32_t queue_pair = 0;  // the number of the queue pair of this side
    std::uint32_t length = 0;      // bytes received or read, if the work succeeded
    std::optional<std::uint32_t> immediate = {};
    std::optional<std::uint32_t> invalidated = {};  // the key of this side that a Send ended
    /// If a datagram was received: its sender, for a reply with the Q_Key of this queue pair.
    std::optional<AddressHandle> sender = {};

    /// True: a receive has ended. False: work that was posted to be sent has ended.
    bool is_receive() const {
        return operation == Operation::receive || operation == Operation::receive_write;
    }
};

/// The rights on a memory region or window. This side may always read its own memory.
struct Access {
    bool local_write = false;    // this side: receives, Reads and Atomics may write to it
    bool remote_write = false;   // peers, by Write
    bool remote_read = false;    // peers, by Read
    bool remote_atomic = false;  // peers, by Atomics
    bool window_bind = false;    // windows may be bound to this region
};

/// Some registered bytes of this side: see MemoryRegion::piece.
struct Piece {
    std::uint64_t address = 0;
    std::uint32_t length = 0;  // bytes
    std::uint32_t key = 0;     // of the region
};

/// The first of some registered bytes of the peer. The peer tells both numbers to this side.
struct Remote {
    std::uint64_t address = 0;
    std::uint32_t key = 0;  // of a region or window
};

/// By which queue pairs of this side a peer may use the key of a window. type_1: all of the domain.
/// type_2a: the one that bound the window. type_2b: the same, if it is of the window's domain.
enum class WindowType : std::uint8_t { type_1, type_2a, type_2b };

/// What one side must know of the other to connect. The program carries it there.
struct Contact {
    std::string address;  // of the Device, numeric
    std::uint32_t queue_pair = 0;
    std::uint32_t psn = 0;        // the sequence number of the first packet that it sends
    std::size_t path_mtu = 1024;  // bytes
    // The memory that it offers, if any: address of the first byte, bytes, key.
    std::uint64_t memory = 0;
    std::uint64_t length = 0;
    std::uint32_t key = 0;
    /// How many Reads and Atomics of the other side it keeps, so that it can answer a repeated one
    /// again. The other side has no more than this outstanding. 1 if it does not say a number.
    std::size_t responder_resources = 1;
};

enum class Transport : std::uint8_t {
    reliable,    // RC: each message arrives exactly once and in order, or its work fails
    unreliable,  // UC: whole messages arrive in order; some may be lost
    datagram,    // UD: messages of one packet, to any peer; some lost, late or duplicated
};

struct QueuePairOptions {
    Transport transport = Transport::reliable;
    // Each a maximum.
    std::size_t sends = 64;     // work posted to be sent and not completed; 1 to 65,536
    std::size_t receives = 64;  // receives posted and not taken; 1 to 65,536
    std::size_t pieces = 4;     // pieces of one send or receive, 1 to 32; for datagrams 1 to 31
    std::size_t inlined = 64;   // bytes of one inline call; 0 to 4096
    // For reliable queue pairs, 1 to 16 each. This side's initiator_depth is used with the peer's
    // responder_resources, and the other way round: the smaller of the two is in force.
    std::size_t initiator_depth = 16;      // Reads and Atomics of this side that are outstanding
    std::size_t responder_resources = 16;  // Reads and Atomics of the peer kept for a repetition
    /// The rights of the peer on memory, as far as the key gives them, too. Not for datagrams.
    Access peer = {.remote_write = true, .remote_read = true, .remote_atomic = true};

    /// For datagrams: the queue pair drops a datagram that has another Q_Key. Programs that use
    /// rdma_cm have this default.
    std::uint32_t qkey = 0x01234567;

    // For reliable queue pairs. InfiniBand has a fixed list of times for ack_timeout and for
    // min_rnr_timer: the queue pair uses the shortest of the list that is not shorter than the
    // option. Each side uses its own options. A peer that is connected by a service may adopt the
    // options of the side that asks, but not min_rnr_timer.
    /// How long a packet waits for its acknowledgement before it is sent again: at least this time,
    /// and at most four times as long. 8.192 us times a power of 2, up to 8796 s; 0: for ever.
    std::chrono::nanoseconds ack_timeout = std::chrono::nanoseconds(67'108'864);
    /// How many times in a row this side sends a packet again if no acknowledgement comes. After
    /// that its work ends with retry_exceeded. 0 to 7.
    unsigned retry_count = 7;
    /// How many times in a row this side sends a message again if the peer has no receive for it.
    /// After that its work ends with receiver_not_ready. 0 to 6; 7: for ever.
    unsigned rnr_retry_count = 7;
    /// How long this side asks the peer to wait if it has no receive for the peer's message. 10 us
    /// to 655.36 ms.
    std::chrono::microseconds min_rnr_timer = std::chrono::microseconds(640);
};

/// Options of work that is posted to be sent.
struct WorkOptions {
    bool signalled = true;   // false: the work has a completion only if it fails
    bool solicited = false;  // the completion at the peer counts for request_notify(true) there
    bool fence = false;      // the work begins when all earlier Reads and Atomics have ended
};

/// The part of a region that peers may use by a window after a bind.
struct WindowBind {
    std::uint64_t address = 0;  // of the first byte, within the region
    std::uint64_t length = 0;   // bytes; 0, for type 1 only: peers may use nothing by this window
    Access peer = {};           // the rights of peers
    bool zero_based = false;    // peers address the first byte as 0; not for type 1
};

}  // namespace wireproof::rdma
