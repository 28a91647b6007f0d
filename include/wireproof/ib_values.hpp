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

namespace wireproof::ib {

/// The result of a call. After any result but `ok`, the call has changed nothing.
enum class [[nodiscard]] Status : std::uint8_t{
    ok,
    queue_full,       // there is no room until earlier work completes: poll and call again
    wrong_state,      // the queue pair is not connected; of connect: it is connected, or has failed
    not_supported,    // the transport, or this kind of queue pair, does not have this work
    too_long,         // over 2^31 bytes, over the path MTU (datagram), or over `inlined` (inline)
    too_many_pieces,  // more than QueuePairOptions::pieces
    bad_length,       // the piece of an Atomic does not have 8 bytes
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
    /// fe80::1%eth0. Only one Device may be open at an address, in all processes of this host:
    /// Device::open fails for a second one.
    std::string address;
    /// The longest payload of a packet: 256, 512, 1024, 2048 or 4096 bytes. 0: the largest of these
    /// that the interface carries. An Ethernet interface with an MTU of 1500 carries 1024.
    std::size_t path_mtu = 0;
    /// The size of the receive buffer that the Device requests from the kernel for its socket, in
    /// bytes, 4096 to 2^30. The kernel may grant less, without an error: by default Linux grants an
    /// ordinary user 212,992 bytes. That is room for 25 packets of 4096 bytes, because the kernel
    /// counts its own data for each packet, too. A Device does not know the buffer of its peer. So
    /// it begins with fewer packets in flight to a peer than a buffer of 212,992 bytes holds.
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

/// How work ended. After any status but success, the queue pair of the work has failed, with one
/// exception at remote_invalid_request.
enum class WorkStatus : std::uint8_t {
    success,
    local_length_error,     // of a receive: the message was longer than the receive
    local_operation_error,  // a Read or an Atomic, and the peer has 0 responder_resources
    /// A piece does not lie in a region of this domain, or the region does not have local_write and
    /// the work writes to it. Also an invalidate of a key that this queue pair did not bind.
    local_protection_error,
    flushed,            // the queue pair had failed: nobody knows whether the work was done
    window_bind_error,  // see QueuePair::bind
    bad_response,       // the answer of the peer to a Read or an Atomic has the wrong form
    /// The peer rejects the work: its receive is too short, its QueuePairOptions::peer does not
    /// give the right, or the address of an Atomic is no multiple of 8. A shared receive of an
    /// unreliable queue pair also ends with this status if the rest of its message was lost. In
    /// this one case the queue pair has not failed.
    remote_invalid_request,
    remote_access_error,     // the key of the peer is not valid, or gives no right to these bytes
    remote_operation_error,  // the receive of the peer names memory that it may not write
    retry_exceeded,          // no acknowledgement came: see QueuePairOptions::retry_count
    receiver_not_ready,      // the peer had no receive: see QueuePairOptions::rnr_retry_count
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
/// the thread that uses the Device may use it. While it exists, the Device stays open.
class WIREPROOF_EXPORT AddressHandle {
public:
    /// `host` is numeric, as DeviceOptions::address. `queue_pair` is a number of 24 bits. `qkey` is
    /// the Q_Key of the receiving queue pair. If its highest bit is set, a datagram carries the
    /// Q_Key of the sending queue pair instead. The call does not block, and sends nothing.
    /// Failure: an argument is not valid, `host` is of the other IP version or is no address of one
    /// host (multicast, for example), or the Device is closed.
    static Result<AddressHandle> create(const Device& device, std::string_view host,
                                        std::uint32_t queue_pair, std::uint32_t qkey);
    /// Asks `host` which queue pair takes the datagrams of `service` (SIDR), and sends `tell` with
    /// the question: up to 216 bytes, or 180 to a service of rdma_cm. Blocks until the answer has
    /// come, at most for `limit`. Failure: the host refused, or did not answer within `limit`, an
    /// argument is not valid, or the Device is closed. The text names the reason.
    static Result<ResolvedService> resolve(
        const Device& device, std::string_view host, std::uint64_t service,
        std::span<const std::byte> tell = {},
        std::chrono::milliseconds limit = std::chrono::seconds(30));

    /// The host, the number of the queue pair and the Q_Key to which this handle sends.
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

/// The answer of a host for a datagram service.
struct ResolvedService {
    AddressHandle address;        // the queue pair that takes the datagrams
    std::vector<std::byte> told;  // 136 bytes of private data; unused bytes are 0
};

/// The report that work has ended.
struct Completion {
    std::uint64_t id = 0;  // the `id` of the call that posted the work
    WorkStatus status = WorkStatus::success;
    Operation operation = Operation::send;
    std::uint32_t queue_pair = 0;  // the number of the queue pair of this side
    std::uint32_t length = 0;      // of a successful receive, Read or Atomic: its bytes
    std::optional<std::uint32_t> immediate = {};    // of a receive: what the sender gave
    std::optional<std::uint32_t> invalidated = {};  // of a receive: the key that the Send ended
    /// Of a received datagram: its sender, as the address for a reply. The Q_Key of this address is
    /// that of the receiving queue pair.
    std::optional<AddressHandle> sender = {};

    /// True: a receive has ended. False: work that was posted to be sent has ended.
    bool is_receive() const {
        return operation == Operation::receive || operation == Operation::receive_write;
    }
};

/// The rights on a memory region or window. This side may always read its own memory.
struct Access {
    bool local_write = false;    // receives, Reads and Atomics of this side may write to it
    bool remote_write = false;   // peers may write it, by Write
    bool remote_read = false;    // peers may read it, by Read
    bool remote_atomic = false;  // peers may change it, by Atomics
    bool window_bind = false;    // windows may be bound to this region
};

/// Some registered bytes of this side: see MemoryRegion::piece.
struct Piece {
    std::uint64_t address = 0;  // of the first byte
    std::uint32_t length = 0;   // bytes
    std::uint32_t key = 0;      // of the region
};

/// Where a Write, a Read or an Atomic begins in the registered memory of the peer. The peer tells
/// both numbers to this side, for example in a Contact or a message.
struct Remote {
    std::uint64_t address = 0;  // of the first byte
    std::uint32_t key = 0;      // of a region or window of the peer
};

/// Which queue pairs of this side let their peer use the key of a window. type_1: all queue pairs
/// of the domain. type_2a and type_2b: only the queue pair that bound the window. These two do not
/// differ here. A window of type 1 may be bound again at any time. A window of type 2 must be
/// invalidated first.
enum class WindowType : std::uint8_t { type_1, type_2a, type_2b };

/// What one side must know of the other side to connect. QueuePair::contact makes it, and the
/// program carries it to the other side, for example with exchange_as_server.
struct Contact {
    std::string address;           // the numeric address of its Device
    std::uint32_t queue_pair = 0;  // QueuePair::number(), 24 bits
    std::uint32_t psn = 0;         // the sequence number of its first packet, 24 bits
    std::size_t path_mtu = 1024;   // the longest payload of its packets in bytes
    // The memory that it offers; length 0: none.
    std::uint64_t memory = 0;  // the address of the first byte, for Remote::address
    std::uint64_t length = 0;  // bytes
    std::uint32_t key = 0;     // for Remote::key
    /// How many Reads and Atomics of the other side the queue pair remembers. If an answer is lost,
    /// the queue pair can answer these again. The other side has at most this many outstanding.
    std::size_t responder_resources = 1;
};

enum class Transport : std::uint8_t {
    reliable,    // RC: each message arrives exactly once and in order, or its work fails
    unreliable,  // UC: whole messages arrive in order; some may be lost
    datagram,    // UD: messages of one packet, to any peer; some may be lost, late or duplicated
};

struct QueuePairOptions {
    Transport transport = Transport::reliable;
    // The largest number of each:
    std::size_t sends = 64;     // work posted to be sent and not completed; 1 to 65,536
    std::size_t receives = 64;  // receives posted and not taken by messages; 1 to 65,536
    std::size_t pieces = 4;     // pieces of one receive, 1 to 32; for datagrams 1 to 31
    std::size_t inlined = 64;   // bytes of one inline call; 0 to 4096
    // For reliable queue pairs, 1 to 16 each. A side has at most as many Reads and Atomics
    // outstanding as the smaller of its own initiator_depth and the other side's
    // responder_resources.
    std::size_t initiator_depth = 16;      // Reads and Atomics of this side that are outstanding
    std::size_t responder_resources = 16;  // Reads and Atomics of the peer: see Contact
    /// What the peer may do through this queue pair. A Write, a Read or an Atomic of the peer needs
    /// two rights: this one, and that of the region or window whose key it carries. local_write and
    /// window_bind mean nothing here. Not for datagrams.
    Access peer = {.remote_write = true, .remote_read = true, .remote_atomic = true};

    /// For datagrams: the queue pair drops a datagram that has another Q_Key. Programs that use
    /// rdma_cm have the same default.
    std::uint32_t qkey = 0x01234567;

    // For reliable queue pairs. InfiniBand has a fixed list of times for ack_timeout and for
    // min_rnr_timer: the queue pair uses the shortest of the list that is not shorter than the
    // option. Each side uses its own options. But if this side requests a connection to a service,
    // and the program that accepts it does not use this library, that program may use the
    // ack_timeout, the retry_count and the rnr_retry_count of this side for its own packets.
    /// How long a packet waits for its acknowledgement before it is sent again: at least this time,
    /// and at most four times as long. The list has 8.192 us times each power of 2, up to 8796 s.
    /// 0: the packet waits for ever.
    std::chrono::nanoseconds ack_timeout = std::chrono::nanoseconds(67'108'864);
    /// How many times in a row this side sends a packet again if no acknowledgement comes. After
    /// that its work ends with retry_exceeded. 0 to 7.
    unsigned retry_count = 7;
    /// How many times in a row this side sends a message again if the peer has no receive for it.
    /// After that its work ends with receiver_not_ready. 0 to 6; 7: for ever.
    unsigned rnr_retry_count = 7;
    /// How long the peer waits before it sends a message again for which this side had no receive.
    /// 10 us to 655.36 ms.
    std::chrono::microseconds min_rnr_timer = std::chrono::microseconds(640);
};

/// Options of work that is posted to be sent.
struct WorkOptions {
    bool signalled = true;   // false: the work has a completion only if it fails
    bool solicited = false;  // true: the peer's completion counts for request_notify(true) there
    bool fence = false;      // true: the work begins when all earlier Reads and Atomics have ended
};

/// The part of a region that peers may use by a window after a bind.
struct WindowBind {
    std::uint64_t address = 0;  // of the first byte: MemoryRegion::address() plus an offset
    std::uint64_t length = 0;   // bytes; 0, for type 1 only: peers may use nothing by this window
    Access peer = {};           // the rights of peers; local_write and window_bind mean nothing
    bool zero_based = false;    // true: peers name the first byte by address 0; not for type 1
};

}  // namespace wireproof::ib
