// InfiniBand queue pairs over an ordinary network, in the vocabulary of verbs: memory is
// registered, work is posted, completions are polled. Packets are RoCEv2's on UDP port 4791, so the
// other end may be another of these, Linux's Soft-RoCE or an adapter. No privilege is needed.
//
// A Device and all that was made from it belong to one thread at a time, Device::wake apart; a
// build of the library with assertions ends the program where two are inside at once. Work moves
// while that thread polls or waits, and not otherwise. What was made from a Device keeps it open,
// and so does a call of it that runs: the condition of a wait may move or destroy everything. A
// forked child has closed Devices: see Device::is_open.
//
// An event loop waits for a Device like this. Device::wait does the same by itself.
//
//     while (running) {
//         device.poll();
//         // Take completions and requests, post work, look at what other threads have handed over.
//         if (!device.arm()) continue;
//         // Sleep until device.event_fd() is readable or device.next_timeout() has passed.
//     }
//
// A call returns at once, unless it takes a limit: then it returns when it has what it waits for or
// the limit has passed. The device works meanwhile, except in an exchange of contacts. Spans and
// texts that a call takes are the caller's again when it returns; those that it returns live as
// long as the object that it was asked of. Memory of a MemoryRegion is the caller's: work uses it
// until its completion.
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
#include "wireproof/ib_values.hpp"
#include "wireproof/result.hpp"

namespace wireproof::rdma {

using wireproof::Result;

class WIREPROOF_EXPORT Device {
public:
    static Result<Device> open(const DeviceOptions& options);

    /// False if it was moved from, or in a forked child of the process that opened it. A closed
    /// Device polls and waits in vain, at once, and counts nothing. In a forked child its sockets
    /// are closed as soon as fork returns, so that the parent is not disturbed; what was made from
    /// it takes no work (Status::closed, or a failure that says so) and completes none, and is
    /// destroyed without a word to any peer. The child may open Devices of its own.
    [[nodiscard]] bool is_open() const;

    /// Takes what has arrived and sends what is due, a few hundred packets at most. Does not block.
    /// Returns the packets moved: not 0, there may be more.
    std::size_t poll();
    /// Polls until `until` says so: true; or for `limit`: false. Sleeps while nothing comes.
    /// `until` is called after each poll, and again after wake().
    bool wait(const std::function<bool()>& until,
              std::chrono::milliseconds limit = std::chrono::hours(24));

    /// A descriptor for poll(2), epoll(7) and event loops. After arm() has returned true it becomes
    /// readable when something arrives or wake() is called, and poll() ends that. It belongs to the
    /// Device: do not read, write or close it. It stays the same when the Device is moved, and is
    /// closed when the Device and all that was made from it have been destroyed. -1: the Device is
    /// closed. Does not block; of the Device's thread.
    [[nodiscard]] int event_fd() const;
    /// Called after poll(), immediately before the thread sleeps. True: there is nothing to do
    /// until event_fd() is readable or next_timeout() has passed. False: something has arrived or
    /// is due, or work was posted since the last poll; poll again. Does not block; of the Device's
    /// thread. A closed Device returns true.
    [[nodiscard]] bool arm();
    /// How long the thread may sleep at most: retransmissions and acknowledgements have deadlines.
    /// Zero: poll() is due now. nanoseconds::max(): there is no deadline, as of a closed Device.
    /// Counted from this call, and rounded up. Does not block; of the Device's thread.
    [[nodiscard]] std::chrono::nanoseconds next_timeout() const;
    /// Makes event_fd() readable, and ends the sleep of wait(), which calls its condition again.
    /// The next poll takes it; several before that are one. Any thread and any signal handler may
    /// call this while the Device is neither moved nor destroyed. Does not block, and does nothing
    /// to a closed Device.
    void wake() const;

    /// As of the last poll: the device may be destroyed without harm to its peers. Nothing that was
    /// posted to be sent is unfinished, no connection is being made or ended by connection
    /// management, and no peer that misses an acknowledgement is likely to ask for it: none has
    /// sent for 268 ms, which is four times the default of QueuePairOptions::ack_timeout, and the
    /// longest that InfiniBand allows a peer with that timeout to wait before it sends again. To
    /// end in good order: `device.wait([&] { return device.idle(); }, limit)`.
    [[nodiscard]] bool idle() const;

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
    friend class AddressHandle;
    friend class DatagramListener;
    WIREPROOF_HIDDEN const Inside* open_inside() const;
    explicit Device(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Holds completions until they are polled. It must have room for all that can complete between two
/// polls: one more is lost, and the queue pair that it is of fails. Completions of a queue pair
/// that goes, and that were not polled, go with it.
class WIREPROOF_EXPORT CompletionQueue {
public:
    CompletionQueue(const Device& device, std::size_t capacity);

    /// The oldest, if there is any. Does not block, and moves no work: see Device::poll.
    [[nodiscard]] std::optional<Completion> poll();
    /// Has the device work until there is one, or for `limit`: nothing. Of a closed Device nothing,
    /// at once.
    [[nodiscard]] std::optional<Completion> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));
    /// Completions were lost for want of room.
    [[nodiscard]] bool overrun() const;

    /// Asks for one notification: of the next completion, or of the next that failed or whose
    /// sender solicited it. Completions that are there already do not count: poll() until there is
    /// none, request, and poll() once more. Does not block.
    void request_notify(bool solicited_only = false);
    /// True once after request_notify: the completion has come. Does not block, and moves no work:
    /// ask after each Device::poll. Of a closed Device false.
    [[nodiscard]] bool notified();
    /// The same, but has the device work until the completion comes: true; or for `limit`: false,
    /// and it may still come.
    [[nodiscard]] bool wait_notified(std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    detail::Held<Inside> inside_;
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
    [[nodiscard]] MemoryWindow create_window(WindowType type) const;

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    friend class SharedReceiveQueue;
    detail::Held<Inside> inside_;
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
///
/// A queue pair for datagrams sends and receives as soon as it is created, and connects to nobody.
/// A datagram for which there is no receive, or whose oldest receive is too short, is dropped. The
/// payload begins at the first byte of a receive: the 40 bytes of a global route header that other
/// libraries put there are left out, and not counted in Completion::length.
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
    [[nodiscard]] bool failed() const;

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
    /// A datagram: up to the device's path MTU, into a receive of the queue pair that `to` names.
    /// It completes when it has left, and may be lost. `from` stays put until then. Does not block.
    Status send_to(std::uint64_t id, const Piece& from, const AddressHandle& to,
                   std::optional<std::uint32_t> immediate = std::nullopt,
                   const WorkOptions& options = {});
    /// The same, of any bytes, which are the caller's again at once.
    Status send_inline_to(std::uint64_t id, std::span<const std::byte> bytes,
                          const AddressHandle& to,
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
    friend class DatagramQuery;
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
    Result<void> accept(QueuePair& pair, std::span<const std::byte> tell = {},
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
    [[nodiscard]] std::optional<ConnectionRequest> poll();
    /// Has the device work until there is one; nothing if `limit` passes before.
    [[nodiscard]] std::optional<ConnectionRequest> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    explicit Listener(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// A host that asks for the queue pair behind a datagram service. Refused when it goes unanswered.
class WIREPROOF_EXPORT DatagramQuery {
public:
    /// Of the host that asks.
    const std::string& address() const;
    /// What came along: 216 bytes, or 180 to a service of rdma_cm; zeros behind what was given.
    std::span<const std::byte> told() const;

    /// Names `pair`, of the same device and for datagrams, and its Q_Key, and tells up to 136
    /// bytes. Does not block: the answer leaves when the device works. Failure: the host no longer
    /// waits, or the pair is none for this.
    Result<void> answer(const QueuePair& pair, std::span<const std::byte> tell = {});
    /// Tells up to 136 bytes. Does not block.
    void reject(std::span<const std::byte> why = {});

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class DatagramListener;
    explicit DatagramQuery(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// While this lives, questions about a datagram service are kept until they are answered. A device
/// refuses questions about every other service at once.
class WIREPROOF_EXPORT DatagramListener {
public:
    /// Failure: somebody listens to it on this device already.
    static Result<DatagramListener> open(const Device& device, std::uint64_t service);

    /// The oldest question, if there is any. Does not block, and moves no work: see Device::poll.
    [[nodiscard]] std::optional<DatagramQuery> poll();
    /// Has the device work until there is one; nothing if `limit` passes before.
    [[nodiscard]] std::optional<DatagramQuery> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    explicit DatagramListener(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

}  // namespace wireproof::rdma
