// The values of wireproof/ib.hpp (options, statuses, completions, contacts) and its classes for
// memory. Include ib.hpp, not this file. The rules for all calls are at the top of ib.hpp.
//
// Words of both files:
//
// - this side, the peer: this side is the program that makes the call, with its Device. The peer is
//   the program at the other end, with its Device or adapter.
// - queue pair: one end of a connection, or an end for datagrams (class QueuePair). Each queue pair
//   has a transport: see Transport.
// - work, to post: the program posts work to a queue pair, and a later Device::poll does the work.
//   Work to be sent is a Send, a Write, a Read, an Atomic, a bind or an invalidate. A receive is
//   work, too.
// - receive: memory for one incoming message.
// - Send: work that sends a message. The message takes a receive of the peer.
// - Write, Read: work that copies bytes into the peer's registered memory, or out of it.
// - Atomic: work that changes 8 bytes in the peer's registered memory and returns their earlier
//   value (QueuePair::fetch_add and QueuePair::compare_swap).
// - completion: the report that work has ended (struct Completion).
// - immediate data: a number of 32 bits that a Send or a Write carries to the completion of the
//   receive. Between two programs that use this library, the number arrives as it was given. On the
//   wire, its most significant byte is the first. So a program that uses libibverbs gets the number
//   by ntohl(imm_data), and gives it by htonl(number).
// - region: registered memory (class MemoryRegion).
// - window: a part of a region (class MemoryWindow). A bind chooses the part. After an invalidate,
//   peers cannot use the window any more.
// - key: the number by which work names a region or a window.
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

/// The result of a call. If it is not `ok`, the call has changed nothing.
enum class [[nodiscard]] Status : std::uint8_t{
    ok,
    queue_full,  // there is no room until earlier work completes: call Device::poll, then try again
    /// From QueuePair::connect: the queue pair was connected before, or has failed. From other
    /// calls: the queue pair is not connected yet.
    wrong_state,
    not_supported,  // the transport, or this queue pair, does not have this work
    /// The message has more than 2^31 bytes, the datagram has more bytes than the path MTU, or an
    /// inline call has more bytes than QueuePairOptions::inlined.
    too_long,
    /// The receive has more pieces than QueuePairOptions::pieces, or than the SharedReceiveQueue
    /// allows.
    too_many_pieces,
    bad_length,  // the piece of an Atomic does not have 8 bytes
    /// From QueuePair::connect: a value of the Contact is not valid. From send_to(),
    /// send_inline_to(), bind() and invalidate(): the AddressHandle, the window or the region
    /// belongs to another Device.
    bad_contact,
    closed,  // this process is a forked child, and the Device belongs to its parent
};

/// The name of the enumerator: "queue_full". The text lives as long as the program. Any thread may
/// call it. This also holds for the other overloads of name_of.
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

/// Says to which peers the reliable queue pairs of a Device send with congestion control. While the
/// network path to one of these peers is congested, a queue pair has fewer packets in flight. Other
/// flows on the path then get a share.
enum class CongestionControl : std::uint8_t {
    between_hosts,  // to each peer whose address is not a loopback address
    always,
    never,
};

/// How a queue pair with congestion control decides how many packets may be in flight. The two ends
/// of a connection may use different algorithms.
enum class CongestionAlgorithm : std::uint8_t {
    // The window shrinks when packets are lost, and it shrinks more while the round trip is long.
    by_loss,
    // The rate and the round trip of the path decide the window. Packets that are lost at random do
    // not shrink it, and the queue of the path stays short.
    by_path,
};

struct DeviceOptions {
    /// The numeric address of one network interface of this host: 127.0.0.2, 192.168.1.7 or
    /// fe80::1%eth0. Only one Device may be open at an address, in all processes of this host:
    /// Device::open fails for a second one.
    std::string address;
    /// The longest payload of a packet: 256, 512, 1024, 2048 or 4096 bytes. 0: the Device uses the
    /// largest of these numbers that the interface carries. An Ethernet interface with an MTU of
    /// 1500 carries 1024.
    std::size_t path_mtu = 0;
    /// The size of the receive buffer that the Device requests from the kernel, in bytes, 4096 to
    /// 2^30. The kernel may grant less, without an error: by default Linux grants an ordinary user
    /// 212,992 bytes. A buffer of 212,992 bytes has room for 25 packets of 4096 bytes, because the
    /// kernel also counts its own data for each packet. A Device does not know the buffer of a
    /// peer. So it begins with fewer packets in flight than a buffer of 212,992 bytes holds.
    std::size_t receive_buffer = std::size_t{4} << 20;
    CongestionControl congestion_control = CongestionControl::between_hosts;
    CongestionAlgorithm congestion_algorithm = CongestionAlgorithm::by_path;
    /// Whether other processes of this user can read the counters (docs/reference/counters.md).
    bool publish_counters = true;
};

/// The service for a `port` in the TCP port space of rdma_cm, the connection manager of Linux.
///
/// A service is a number of 64 bits. A program listens to a service by a Listener or a
/// DatagramListener, and other programs send requests to the service. The numbers from 0x01000000
/// to 0x01FFFFFF are services of rdma_cm. A request to a service of rdma_cm carries the addresses
/// of both hosts. These addresses take 36 bytes of its private data.
constexpr std::uint64_t service_of_port(std::uint16_t port) {
    return std::uint64_t{0x0106} << 16 | port;
}
/// The service for a `port` in the UDP port space of rdma_cm.
constexpr std::uint64_t datagram_service_of_port(std::uint16_t port) {
    return std::uint64_t{0x0111} << 16 | port;
}

/// How work ended. If the status is not `success`, the queue pair of the work has failed. There is
/// one exception: see remote_invalid_request.
enum class WorkStatus : std::uint8_t {
    success,
    local_length_error,     // a receive: the message was longer than the receive
    local_operation_error,  // a Read or an Atomic: the peer has 0 responder_resources
    /// There are three reasons:
    /// - a piece does not lie in a region of the queue pair's domain;
    /// - the work writes to a piece, and the region of the piece does not have Access::local_write;
    /// - the work is an invalidate of a window that this queue pair did not bind.
    local_protection_error,
    flushed,            // the queue pair has failed: the work may have been done or not
    window_bind_error,  // see QueuePair::bind
    bad_response,       // the answer of the peer to a Read or an Atomic has the wrong form
    /// For work to be sent: the peer rejects the work for one of three reasons:
    /// - the receive of the peer is too short;
    /// - the queue pair of the peer does not allow the work: see QueuePairOptions::peer;
    /// - the address of an Atomic is no multiple of 8.
    ///
    /// For a receive: a message began to arrive in it, and a later packet of this message was lost.
    /// Only a receive of a SharedReceiveQueue ends like this, and only on a queue pair with
    /// Transport::unreliable. The queue pair has not failed then.
    remote_invalid_request,
    remote_access_error,     // the key of the peer is not valid, or gives no right to these bytes
    remote_operation_error,  // the receive of the peer ended with local_protection_error
    retry_exceeded,          // no acknowledgement came: see QueuePairOptions::retry_count
    receiver_not_ready,      // the peer had no receive: see QueuePairOptions::rnr_retry_count
};

/// The name of the enumerator: "success".
WIREPROOF_EXPORT std::string_view name_of(WorkStatus status);

/// The kind of the work that a completion reports.
enum class Operation : std::uint8_t {
    // Work to be sent.
    send,   // by send(), send_inline(), send_to(), send_inline_to() or send_invalidate()
    write,  // by write() or write_inline()
    read,
    compare_swap,
    fetch_add,
    bind,
    invalidate,
    // A receive.
    receive,        // a Send or a datagram took it, or it ended with an error
    receive_write,  // a Write with immediate data took it
};

/// The name of the enumerator: "send".
WIREPROOF_EXPORT std::string_view name_of(Operation operation);

class Device;
struct ResolvedService;

/// Names a queue pair for datagrams. QueuePair::send_to sends to this queue pair. A copy names the
/// same queue pair. While an AddressHandle exists, its Device stays open. The rule for threads in
/// ib.hpp applies to an AddressHandle, too.
class WIREPROOF_EXPORT AddressHandle {
public:
    /// `host` is numeric, as DeviceOptions::address. `queue_pair` is the number of the receiving
    /// queue pair, 24 bits. `qkey` is its Q_Key: see QueuePairOptions::qkey. If the highest bit of
    /// `qkey` is set, a datagram carries the Q_Key of the sending queue pair instead. The call does
    /// not block, and it sends no packet. Failure: `queue_pair` has more than 24 bits; `host` is
    /// not numeric, has another IP version than the Device, or is no address of one host (a
    /// multicast address, for example); or the Device is closed.
    static Result<AddressHandle> create(const Device& device, std::string_view host,
                                        std::uint32_t queue_pair, std::uint32_t qkey);
    /// Asks `host` which queue pair takes the datagrams of `service`. The name of this exchange is
    /// SIDR. `tell` goes to the program that answers: at most 216 bytes, or 180 if `service` is one
    /// of rdma_cm. The call blocks until the answer has come, at most for `limit`.
    /// Failure: the host refused or did not answer within `limit`, an argument is not valid, or the
    /// Device is closed. The text names the reason.
    static Result<ResolvedService> resolve(
        const Device& device, std::string_view host, std::uint64_t service,
        std::span<const std::byte> tell = {},
        std::chrono::milliseconds limit = std::chrono::seconds(30));

    /// The numeric address of the host.
    std::string host() const;
    /// The number of the receiving queue pair, and the Q_Key for it.
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
    std::uint32_t queue_pair = 0;  // QueuePair::number of the queue pair of this side
    /// If a receive succeeded: how many bytes the message has. If a Write with immediate data took
    /// the receive: how many bytes the Write wrote. If a Read or an Atomic succeeded: how many
    /// bytes this side got.
    std::uint32_t length = 0;
    std::optional<std::uint32_t> immediate = {};  // for a receive: the immediate data, if any
    /// For a receive: the key that QueuePair::send_invalidate of the peer invalidated, if any.
    std::optional<std::uint32_t> invalidated = {};
    /// For a received datagram: the address for a reply. The datagram does not carry the Q_Key of
    /// its sender. So this address has the Q_Key of the queue pair of this side.
    std::optional<AddressHandle> sender = {};

    /// True: a receive has ended. False: work to be sent has ended.
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

/// Some bytes of a region of this side: see MemoryRegion::piece.
struct Piece {
    std::uint64_t address = 0;  // of the first byte
    std::uint32_t length = 0;   // bytes
    std::uint32_t key = 0;      // of the region
};

/// Where a Write, a Read or an Atomic begins in the registered memory of the peer. The program of
/// the peer gives both numbers to this side, for example in a Contact or in a message.
struct Remote {
    std::uint64_t address = 0;  // of the first byte
    std::uint32_t key = 0;      // of a region or window of the peer
};

/// The type of a window decides two things.
///
/// - Who may use the key of the window. type_1: the peers of all queue pairs of the domain. type_2a
///   and type_2b: only the peer of the queue pair that bound the window.
/// - When the program may bind the window again. type_1: at any time. type_2a and type_2b: after an
///   invalidate.
///
/// In this library, type_2a and type_2b are the same.
enum class WindowType : std::uint8_t { type_1, type_2a, type_2b };

/// Registered memory. The memory belongs to the caller. While the MemoryRegion exists, the Device
/// may read and write the memory, for work of this side and for peers that have the key. So the
/// caller keeps the memory in place until the MemoryRegion is destroyed. After that the Device does
/// not touch the memory, and work that still names the region ends with an error.
class WIREPROOF_EXPORT MemoryRegion {
public:
    /// The address of the first byte, for Piece::address here and for Remote::address at the peers.
    std::uint64_t address() const;
    /// How many bytes the region has.
    std::size_t length() const;
    /// The key for Piece::key here and for Remote::key at the peers.
    std::uint32_t key() const;
    /// The Piece for `length` bytes of the region, from `offset` on. The call does not check that
    /// these bytes lie in the region. If they do not, the work that uses the Piece ends with an
    /// error, and touches nothing outside the region. A Piece cannot have more than 2^32 - 1 bytes:
    /// a larger `length` counts as 2^32 - 1. Work to be sent has at most 2^31 bytes.
    Piece piece(std::size_t offset, std::size_t length) const;
    /// All bytes of the region, or its first 2^32 - 1 bytes if the region is longer.
    Piece all() const { return piece(0, length()); }

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class ProtectionDomain;
    friend class QueuePair;
    explicit MemoryRegion(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// A part of a region. The part has a key of its own. The program chooses the part by a bind, and
/// may choose another part later. Peers use the part by the key: see QueuePair::bind.
class WIREPROOF_EXPORT MemoryWindow {
public:
    /// The key for Remote::key at the peers. Each posted bind changes it. The key gives no access
    /// before the first bind, or if its bind failed. The key of a bind is valid from the completion
    /// of this bind until one of these events:
    /// - the next bind of this window, or an invalidate of this window, is done;
    /// - the region or this window is destroyed;
    /// - type 2: the queue pair that bound the window is destroyed.
    std::uint32_t key() const;

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class ProtectionDomain;
    friend class QueuePair;
    explicit MemoryWindow(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// A group of regions, windows and queue pairs. A queue pair uses only memory of its own domain.
class WIREPROOF_EXPORT ProtectionDomain {
public:
    /// Makes a domain that is different from all other domains of the Device. It cannot fail.
    explicit ProtectionDomain(const Device& device);

    /// Registers memory of the caller: see MemoryRegion. The memory may have 0 bytes. Regions may
    /// overlap: each region has its own key and its own rights. Failure: `access` has remote_write
    /// or remote_atomic but not local_write, or the Device is closed.
    Result<MemoryRegion> register_memory(std::span<std::byte> memory, const Access& access) const;
    /// Makes a window that is not bound yet. It cannot fail.
    [[nodiscard]] MemoryWindow create_window(WindowType type) const;

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    friend class SharedReceiveQueue;
    detail::Held<Inside> inside_;
};

/// A queue of receives for several queue pairs. A message that begins to arrive at one of these
/// queue pairs takes the oldest receive of the queue. The completion of this receive goes to the
/// CompletionQueue that this queue pair has for its receives. If a queue pair fails, the other
/// receives stay in the queue. When the SharedReceiveQueue and its queue pairs are destroyed, the
/// receives that are left have no completions, and the Device does not use their memory any more.
class WIREPROOF_EXPORT SharedReceiveQueue {
public:
    /// `receives`: how many receives the queue can hold, 1 to 65,536. `pieces`: how many pieces
    /// each receive may have, 0 to 32. Failure: one of the two is out of range, or the Device is
    /// closed.
    static Result<SharedReceiveQueue> create(const ProtectionDomain& domain,
                                             std::size_t receives = 64, std::size_t pieces = 4);

    /// Posts a receive, as QueuePair::post_receive. Returns ok, queue_full, too_many_pieces or
    /// closed.
    Status post_receive(std::uint64_t id, std::span<const Piece> to);
    Status post_receive(std::uint64_t id, const Piece& to) {
        return post_receive(id, std::span(&to, 1));
    }

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    explicit SharedReceiveQueue(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// The data by which one side connects to a queue pair of the other side. QueuePair::contact makes
/// a Contact, and the program carries it to the other side, for example with exchange_as_server().
struct Contact {
    std::string address;           // the numeric address of the Device that has the queue pair
    std::uint32_t queue_pair = 0;  // QueuePair::number, 24 bits
    std::uint32_t psn = 0;         // the sequence number of its first packet, 24 bits
    std::size_t path_mtu = 1024;   // the longest payload of its packets in bytes
    // Memory that the Contact offers to the other side. Length 0: it offers none.
    std::uint64_t memory = 0;  // the address of the first byte, for Remote::address
    std::uint64_t length = 0;  // bytes
    std::uint32_t key = 0;     // for Remote::key
    /// How many answered Reads and Atomics the queue pair remembers, 1 or more. If an answer is
    /// lost, the queue pair can answer again. The other side never has more Reads and Atomics
    /// outstanding than this number.
    std::size_t responder_resources = 1;
};

/// Exchanges the contacts of both sides over a TCP connection. `listen` and `connect` are numeric:
/// "address:port". The server waits for a connection. The client tries again while nobody listens.
/// Both calls block until the exchange is done, at most for `limit`. They return the contact of the
/// other side, or a failure that says why there is none. They use no Device: any thread may call
/// them. There is no authentication: the server takes the contact of any host that connects.
WIREPROOF_EXPORT Result<Contact> exchange_as_server(std::string_view listen, const Contact& ours,
                                                    std::chrono::milliseconds limit);
WIREPROOF_EXPORT Result<Contact> exchange_as_client(std::string_view connect, const Contact& ours,
                                                    std::chrono::milliseconds limit);

/// The kind of a queue pair, with its InfiniBand name.
enum class Transport : std::uint8_t {
    reliable,    // RC: each message arrives exactly once and in order, or its work fails
    unreliable,  // UC: whole messages arrive in order; some may be lost
    datagram,    // UD: messages of one packet, to any peer; some may be lost, late or duplicated
};

struct QueuePairOptions {
    Transport transport = Transport::reliable;
    // The next four options are limits. Each is the largest number of:
    std::size_t sends = 64;     // work to be sent that has not completed; 1 to 65,536
    std::size_t receives = 64;  // receives that have not completed; 1 to 65,536
    std::size_t pieces = 4;     // pieces of one receive, 1 to 32; for datagrams 1 to 31
    std::size_t inlined = 64;   // bytes of one inline call; 0 to 4096
    // The next two options limit the outstanding Reads and Atomics of reliable queue pairs, 1 to 16
    // each. A Read or an Atomic is outstanding from its first packet until its answer has come. The
    // Reads and Atomics of this side have two limits: its initiator_depth, and the peer's
    // responder_resources. The smaller limit decides.
    std::size_t initiator_depth = 16;      // for the Reads and Atomics of this side
    std::size_t responder_resources = 16;  // for the Reads and Atomics of the peer: see Contact
    /// What the peer may do through this queue pair. A Write, a Read or an Atomic of the peer needs
    /// this right. It also needs the right of the region or window whose key it carries.
    /// local_write and window_bind mean nothing here. Not for datagrams.
    Access peer = {.remote_write = true, .remote_read = true, .remote_atomic = true};

    /// For datagrams: the Q_Key, a number that a sender must know. The queue pair drops a datagram
    /// that carries another Q_Key. This default is also the default of programs that use rdma_cm.
    std::uint32_t qkey = 0x01234567;

    // The last four options are for reliable queue pairs. A queue pair of this library uses only
    // its own options. Connection management also tells the peer some of them: the request of
    // QueuePair::connect to a service carries ack_timeout, retry_count and rnr_retry_count, and the
    // answer of ConnectionRequest::accept carries rnr_retry_count. A peer that does not use this
    // library may use these values for its own packets.
    //
    // InfiniBand has a fixed list of times for ack_timeout, and another list for min_rnr_timer. If
    // a value is not in the list, the queue pair uses the next longer time of the list.

    /// How long this side waits for the acknowledgement of a packet before it sends the packet
    /// again. It waits at least this time, and at most four times as long. The list has 8.192 us
    /// times each power of 2, up to 8796 s. 0: this side waits for ever.
    std::chrono::nanoseconds ack_timeout = std::chrono::nanoseconds(67'108'864);
    /// How many times in a row this side sends a packet again if no acknowledgement comes, 0 to 7.
    /// After that the work ends with retry_exceeded.
    unsigned retry_count = 7;
    /// How many times in a row this side sends a message again if the peer has no receive for it: 0
    /// to 6, or 7 for no limit. After that the work ends with receiver_not_ready.
    unsigned rnr_retry_count = 7;
    /// If this side has no receive for a message, it tells the peer to send the message again after
    /// this time, 10 us to 655.36 ms.
    std::chrono::microseconds min_rnr_timer = std::chrono::microseconds(640);
};

/// Options of work to be sent.
struct WorkOptions {
    bool signalled = true;  // false: the work has a completion only if it fails
    /// True: the completion of the peer's receive causes the notification that the peer requested
    /// by CompletionQueue::request_notify(true). If the message takes no receive, the option has no
    /// effect.
    bool solicited = false;
    bool fence = false;  // true: the work begins when all earlier Reads and Atomics have ended
};

/// The part of a region that peers may use by the key of a window: see QueuePair::bind.
struct WindowBind {
    std::uint64_t address = 0;  // of the first byte: MemoryRegion::address plus an offset
    std::uint64_t length = 0;   // bytes; 0, for type 1 only: peers may use nothing by this window
    Access peer = {};           // the rights of peers; local_write and window_bind mean nothing
    bool zero_based = false;    // true: peers name the first byte by address 0; not for type 1
};

}  // namespace wireproof::ib
