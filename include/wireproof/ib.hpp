// InfiniBand queue pairs over an ordinary network, in the vocabulary of verbs: memory is
// registered, work is posted, completions are polled. Packets are RoCEv2's on UDP port 4791, so the
// other end may be another of these, Linux's Soft-RoCE or an adapter. No privilege is needed.
//
// A Device and all that was made from it belong to one thread at a time; a build of the library
// with assertions ends the program where two are inside at once. Work moves while that thread polls
// or waits, and not otherwise. What was made from a Device keeps it open, and so does a call of it
// that runs: the condition of a wait may move or destroy everything. A forked child has closed
// Devices: see Device::is_open.
//
// A moved-from Device is closed. Anything else that is used after it was moved from, or made from a
// moved-from Device, ends the program with a line on standard error. This header stands alone: it
// includes the standard library only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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

using wireproof::Result;

/// What became of a call. All but `ok` leave everything as it was.
enum class Status : std::uint8_t {
    ok,
    queue_full,       // until something completes: poll and call again
    wrong_state,      // not connected, connected already, or in error
    not_supported,    // by the transport: Reads and Atomics are reliable
    too_long,         // more than 2^31 bytes, or more inline than the queue pair has room for
    too_many_pieces,  // of this queue pair, or for it
    bad_length,       // of an Atomic: it has 8 bytes
    bad_contact,      // names no host, queue pair or path MTU, or keeps no Read
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

class WIREPROOF_EXPORT Device {
public:
    static Result<Device> open(const DeviceOptions& options);

    /// False if it was moved from, or in a forked child of the process that opened it. A closed
    /// Device polls and waits in vain, at once, and counts nothing. In a forked child its sockets
    /// are closed as soon as fork returns, so that the parent is not disturbed; what was made from
    /// it takes no work (Status::closed, or a failure that says so) and completes none, and is
    /// destroyed without a word to any peer. The child may open Devices of its own.
    bool is_open() const;

    /// Takes what has arrived and sends what is due, a few hundred packets at most. Does not block.
    /// Returns the packets moved: not 0, there may be more.
    std::size_t poll();
    /// Polls until `until` says so: true; or for `limit`: false. Sleeps while nothing comes.
    bool wait(const std::function<bool()>& until,
              std::chrono::milliseconds limit = std::chrono::hours(24));

    /// As of the last poll: the device may be destroyed without harm to its peers. Nothing that was
    /// posted to be sent is unfinished, no connection is being made or ended by connection
    /// management, and no peer that misses an acknowledgement is likely to ask for it: none has
    /// sent for 268 ms, which is four times the acknowledgement timeout of a queue pair, and the
    /// longest that InfiniBand allows a peer with that timeout to wait before it sends again. To
    /// end in good order: `device.wait([&] { return device.idle(); }, limit)`.
    bool idle() const;

    /// Packets that were dropped because their check (ICRC) was wrong.
    ///
    /// Over IPv4 the ICRC covers the identification of the IP header. A process with CAP_NET_RAW
    /// reads it, except on a loopback address. Then a damaged packet passes with a chance of 1 in
    /// 2^32, as over IPv6. Other processes work it out from the ICRC and believe it if it is 0,
    /// continues a super-packet, is the peer's first, or is near the peer's last: 32 behind to 223
    /// ahead, and one further ahead for each millisecond since then, as Linux counts. A damaged
    /// packet passes with a chance of 256 in 2^32, or of more where the peer was silent: 65,536 in
    /// 2^32 after 65 s and later.
    std::uint64_t damaged() const;
    /// Whether received identifications are read. False over IPv6, which has none, and on loopback.
    bool reads_identifications() const;
    /// Packets that were dropped though they may have been whole: their identification was far from
    /// the peer's last. The next one near it is believed.
    std::uint64_t identification_jumps() const;
    /// Packets that were dropped because they were meant for no queue pair here or came from
    /// another host than its peer.
    std::uint64_t foreign() const;
    /// Packets that the kernel refused to send, and why: "Network is unreachable (3 packets)". The
    /// peer only seems silent then. Empty if there were none.
    std::uint64_t packets_refused() const;
    std::string send_errors() const;

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class ProtectionDomain;
    friend class CompletionQueue;
    friend class Listener;
    WIREPROOF_HIDDEN const Inside* open_inside() const;
    explicit Device(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

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

struct Completion {
    std::uint64_t id = 0;  // given with the work
    WorkStatus status = WorkStatus::success;
    bool received = false;         // of a receive, else of work that was posted to be sent
    std::uint32_t queue_pair = 0;  // its number
    std::uint32_t length = 0;      // bytes received or read
    std::optional<std::uint32_t> immediate = {};
    std::optional<std::uint32_t> invalidated = {};  // the window's key that a Send ended here
};

/// Holds completions until they are polled. It must have room for all that can complete between two
/// polls: one more is lost, and the queue pair that it is of fails. Completions of a queue pair
/// that goes, and that were not polled, go with it.
class WIREPROOF_EXPORT CompletionQueue {
public:
    CompletionQueue(const Device& device, std::size_t capacity);

    /// The oldest, if there is any. Moves no work: see Device::poll.
    std::optional<Completion> poll();
    /// Has the device work until there is one; nothing if `limit` passes before.
    std::optional<Completion> wait(std::chrono::milliseconds limit = std::chrono::hours(24));
    /// Completions were lost for want of room.
    bool overrun() const;

    /// Asks to be told of the next completion, or of the next that failed or was solicited by who
    /// sent it; once.
    void request_notify(bool solicited_only = false);
    /// Has the device work until that comes: true; or for `limit`: false, and it may still come.
    bool wait_notified(std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    detail::Held<Inside> inside_;
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

/// Memory that work and, with its key, peers may use while this lives; it is not owned. Work that
/// names it later ends in error.
class WIREPROOF_EXPORT MemoryRegion {
public:
    /// As which it is named: the address of its first byte.
    std::uint64_t address() const;
    std::size_t length() const;
    std::uint32_t key() const;
    /// Nothing outside of it is ever touched, whatever is asked for here.
    Piece piece(std::size_t offset, std::size_t length) const;
    Piece all() const { return piece(0, length()); }

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class ProtectionDomain;
    explicit MemoryRegion(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Whom a window's key serves: of type 1, all queue pairs of the domain; of type 2A, the one that
/// bound it; of type 2B, the same, while it is of the domain.
enum class WindowType : std::uint8_t { type_1, type_2a, type_2b };

/// A key that shows part of a region to peers for a while. Nothing, until QueuePair::bind.
class WIREPROOF_EXPORT MemoryWindow {
public:
    /// That of the latest bind which was posted; good once that has completed, until the next, an
    /// invalidation, or the end of the region or of this.
    std::uint32_t key() const;

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class ProtectionDomain;
    friend class QueuePair;
    explicit MemoryWindow(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Queue pairs use memory of their own domain only.
class WIREPROOF_EXPORT ProtectionDomain {
public:
    explicit ProtectionDomain(const Device& device);

    /// Failure: peers may write what its own side may not.
    Result<MemoryRegion> register_memory(std::span<std::byte> memory, const Access& access) const;
    MemoryWindow create_window(WindowType type) const;

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    friend class SharedReceiveQueue;
    detail::Held<Inside> inside_;
};

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

/// Both sides' contacts over a TCP connection, given as "address:port": one waits for it, the other
/// makes it, again and again until `limit`. Anything else that tells contacts will do as well. Who
/// can connect there is believed.
WIREPROOF_EXPORT Result<Contact> exchange_as_server(std::string_view listen, const Contact& ours,
                                                    std::chrono::milliseconds limit);
WIREPROOF_EXPORT Result<Contact> exchange_as_client(std::string_view connect, const Contact& ours,
                                                    std::chrono::milliseconds limit);

// Or both sides meet by the datagrams of communication management, as programs of Linux's rdma_cm
// do: one listens to a service, the other asks for a connection to it. Private data goes along.

enum class Transport : std::uint8_t {
    reliable,    // RC: exactly once and in order, or an error completion
    unreliable,  // UC: whole messages in order, some missing
};

struct QueuePairOptions {
    Transport transport = Transport::reliable;
    std::size_t sends = 64;     // posted and not completed, at most; 1 to 65536
    std::size_t receives = 64;  // posted and not used, at most; 1 to 65536
    std::size_t pieces = 4;     // of one of those, 1 to 32
    std::size_t inlined = 64;   // bytes of an inline request, at most; 0 to 4096
    // Of reliable pairs, 1 to 16 each. What the two sides of a connection say is matched: the
    // smaller number is used.
    std::size_t initiator_depth = 16;      // Reads and Atomics of ours outstanding, at most
    std::size_t responder_resources = 16;  // of the peer's that are kept, to answer them again
    Access peer = {.remote_write = true, .remote_read = true, .remote_atomic = true};
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

/// Receives that several queue pairs use, in the order in which messages begin.
class WIREPROOF_EXPORT SharedReceiveQueue {
public:
    /// Failure: a limit is not one that this can have.
    static Result<SharedReceiveQueue> create(const ProtectionDomain& domain,
                                             std::size_t receives = 64, std::size_t pieces = 4);

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

/// A message's memory stays put until its completion. Messages of no bytes are messages.
class WIREPROOF_EXPORT QueuePair {
public:
    /// Failure: an option is not one that this can have; the text names it.
    static Result<QueuePair> create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    const QueuePairOptions& options = {});
    /// With the receives of a shared queue of the same domain; it has none of its own.
    static Result<QueuePair> create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    const SharedReceiveQueue& shared,
                                    const QueuePairOptions& options = {});

    std::uint32_t number() const;
    /// What the peer needs to connect to this.
    Contact contact() const;
    Contact contact(const MemoryRegion& offered) const;
    /// Once. The smaller path MTU of both is used, and at most as many Reads and Atomics are
    /// outstanding as the peer keeps.
    Status connect(const Contact& peer);
    /// Once: to whoever listens to that service on that host, which must take our path MTU: the
    /// device's, or less if the way there carries less. `told` is up to 92 bytes, or 56 to a
    /// service of rdma_cm. Returns the 196 bytes that came with the answer. Failure: refused, for
    /// the reason named, or no answer until `limit`; then the queue pair has failed.
    Result<std::vector<std::byte>> connect(
        std::string_view host, std::uint64_t service, std::span<const std::byte> told = {},
        std::chrono::milliseconds limit = std::chrono::seconds(30));
    /// Nothing more is sent or received; a peer that was met by a service is told once the device
    /// works. The same when this goes.
    void disconnect();
    /// Nothing more will be sent, and what was posted to be has ended as flushed. A reliable pair
    /// receives no more either; an unreliable one does, after work of its own that failed.
    bool failed() const;

    Status post_receive(std::uint64_t id, std::span<const Piece> to);
    Status post_receive(std::uint64_t id, const Piece& to) {
        return post_receive(id, std::span(&to, 1));
    }

    /// Into a receive of the peer's.
    Status send(std::uint64_t id, const Piece& from,
                std::optional<std::uint32_t> immediate = std::nullopt,
                const WorkOptions& options = {});
    /// The same, of any bytes, which are the caller's again at once.
    Status send_inline(std::uint64_t id, std::span<const std::byte> bytes,
                       std::optional<std::uint32_t> immediate = std::nullopt,
                       const WorkOptions& options = {});
    /// With the end of a key: of a window of type 2 that the peer bound to this connection.
    Status send_invalidate(std::uint64_t id, const Piece& from, std::uint32_t peers_key,
                           const WorkOptions& options = {});
    /// Into the peer's memory. With immediate data it uses a receive of the peer's, which then
    /// learns of it.
    Status write(std::uint64_t id, const Piece& from, const Remote& to,
                 std::optional<std::uint32_t> immediate = std::nullopt,
                 const WorkOptions& options = {});
    Status write_inline(std::uint64_t id, std::span<const std::byte> bytes, const Remote& to,
                        std::optional<std::uint32_t> immediate = std::nullopt,
                        const WorkOptions& options = {});
    /// Out of the peer's memory.
    Status read(std::uint64_t id, const Piece& into, const Remote& from,
                const WorkOptions& options = {});
    /// On 8 bytes of the peer's memory, of its byte order, at a multiple of 8. What they were
    /// before comes to `before`.
    Status fetch_add(std::uint64_t id, const Piece& before, const Remote& at, std::uint64_t add,
                     const WorkOptions& options = {});
    Status compare_swap(std::uint64_t id, const Piece& before, const Remote& at,
                        std::uint64_t expected, std::uint64_t desired,
                        const WorkOptions& options = {});

    // These leave no packet, and run in the order of posting.
    /// Gives the window a new key, for part of a region of the same domain that allows it. A bind
    /// that a rule forbids ends in window_bind_error, and ends the queue pair's work.
    Status bind(std::uint64_t id, MemoryWindow& window, const MemoryRegion& region,
                const WindowBind& bind, const WorkOptions& options = {});
    /// Ends the key of a window of type 2 that this queue pair bound; it may be bound again.
    Status invalidate(std::uint64_t id, const MemoryWindow& window,
                      const WorkOptions& options = {});

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class ConnectionRequest;
    static Result<QueuePair> create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    std::shared_ptr<SharedReceiveQueue::Inside> shared,
                                    const QueuePairOptions& options);
    explicit QueuePair(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Somebody who asks for a connection. Refused when it goes unanswered.
class WIREPROOF_EXPORT ConnectionRequest {
public:
    /// Of the host that asks.
    const std::string& address() const;
    Transport transport() const;
    /// What came along: 92 bytes, or 56 to a service of rdma_cm; zeros behind what was given.
    std::span<const std::byte> told() const;

    /// Makes `pair`, of the same device and transport, the other end, and tells up to 196 bytes;
    /// returns once the pair may send. Failure: the asker has gone, or does not answer until
    /// `limit`; then the pair has failed, unless it was none for this.
    Result<bool> accept(QueuePair& pair, std::span<const std::byte> tell = {},
                        std::chrono::milliseconds limit = std::chrono::seconds(30));
    /// Tells up to 148 bytes.
    void reject(std::span<const std::byte> why = {});

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class Listener;
    explicit ConnectionRequest(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// While this lives, requests for connections to a service are kept until they are answered. A
/// device refuses requests for every other service at once.
class WIREPROOF_EXPORT Listener {
public:
    /// Failure: somebody listens to it on this device already.
    static Result<Listener> open(const Device& device, std::uint64_t service);

    /// The oldest request, if there is any. Moves no work: see Device::poll.
    std::optional<ConnectionRequest> poll();
    /// Has the device work until there is one; nothing if `limit` passes before.
    std::optional<ConnectionRequest> wait(std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    explicit Listener(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

}  // namespace wireproof::rdma
