// InfiniBand queue pairs over an ordinary network, with the terms of the verbs interface: a program
// registers memory, posts work and polls completions. Packets are those of RoCEv2 on UDP port 4791.
// The peer may be another Device, Linux's Soft-RoCE or an RDMA adapter. No privilege is needed.
//
// Threads: one thread at a time may use a Device and the objects that were made from it. Any thread
// may call Device::wake. If the library was built with assertions, a second thread inside a call
// ends the program. The library starts no thread: work makes progress only inside polls and waits.
//
// Blocking: a call blocks only if its comment says so. A call that blocks polls the Device until it
// returns. A `limit` below 0 counts as 0, one above 30 days as 30 days. Of the other calls, only
// Device::poll and the destructor of QueuePair send packets.
//
// Memory: each call copies the bytes that it takes as std::span<const std::byte>. Registered memory
// stays the caller's: see MemoryRegion and QueuePair.
//
// Lifetime: these classes are references. A copy refers to the same object, and the object lives
// until its last reference is destroyed. A Device stays open while an object made from it exists or
// a call of it runs. So the program may destroy them in any order, and the condition of a wait may
// move or destroy them. In a forked child each Device of the parent is closed: see Device::is_open.
// A moved-from Device is closed, too. If a program uses a moved-from object of another class, or
// makes an object from a moved-from Device, the program ends with one line on standard error.
//
// An event loop waits for a Device like this. Device::wait does the same in one call.
//
//     while (running) {
//         device.poll();
//         // Take completions and requests, post work, look at what other threads have handed over.
//         if (!device.arm()) continue;
//         // Sleep until device.event_fd() is readable or device.next_timeout() has passed.
//     }
//
// This header includes only the standard library and other public headers of Wireproof.
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

namespace wireproof::ib {

using wireproof::Result;

/// An InfiniBand adapter in software, at one address of this host.
class WIREPROOF_EXPORT Device {
public:
    /// Opens a UDP socket at `options.address`. Failure: error() of the Result names the wrong
    /// option, or the error of the system.
    static Result<Device> open(const DeviceOptions& options);

    /// False: the Device was moved from, or this process is a forked child of the one that opened
    /// it. Each call on a closed Device returns at once, and its counters are 0. In the child the
    /// sockets are closed before fork returns, so the child does not disturb the parent. Objects
    /// made from the Device take no work there (Status::closed, or a failure), deliver no
    /// completions, and send nothing to peers when they are destroyed. The child may open other
    /// Devices.
    [[nodiscard]] bool is_open() const;

    /// Receives packets that have arrived and sends packets that are due, a few hundred at most.
    /// Returns how many packets these were. If that is not 0, more may wait: poll again.
    std::size_t poll();
    /// Blocks until `until` returns true, and then returns true. If `limit` passes first, it
    /// returns false. It polls first, calls `until` after each poll, and sleeps while nothing
    /// arrives; wake() ends the sleep. If `until` throws, the exception leaves this call, and the
    /// Device stays usable. On a closed Device it returns false and does not call `until`.
    bool wait(const std::function<bool()>& until,
              std::chrono::milliseconds limit = std::chrono::hours(24));

    /// A file descriptor for poll(2), epoll(7) and event loops. After arm() has returned true, it
    /// becomes readable when something arrives or wake() is called; poll() ends that. The Device
    /// owns it: do not read, write or close it. It stays the same when the Device is moved, and as
    /// long as the Device stays open. -1: the Device is closed.
    [[nodiscard]] int event_fd() const;
    /// Call it after poll(), immediately before the thread sleeps. True: there is nothing to do
    /// until event_fd() is readable or next_timeout() has passed. False: something has arrived or
    /// is due, or work was posted since the last poll: poll again. A closed Device returns true.
    [[nodiscard]] bool arm();
    /// How long the thread may sleep at most, counted from this call: retransmissions and
    /// acknowledgements have deadlines. Zero: poll() is due now. nanoseconds::max(): there is no
    /// deadline, or the Device is closed. The time is rounded up.
    [[nodiscard]] std::chrono::nanoseconds next_timeout() const;
    /// Makes event_fd() readable until the next poll, and ends the sleep of wait(), which then
    /// polls and calls its condition again. Any thread and any signal handler may call this while
    /// no thread moves or destroys the Device. On a closed Device it does nothing.
    void wake() const;

    /// True: at the last poll the Device had nothing left that a peer needs, so the program may
    /// destroy it. All work that was posted to be sent has ended, no connection is being made or
    /// ended by connection management, and no peer has sent a packet for 268 ms. A peer that misses
    /// an acknowledgement sends again within that time, which is four times the default of
    /// QueuePairOptions::ack_timeout. Before a program ends, it can wait until this is true
    /// (Device::wait). A closed Device returns true.
    [[nodiscard]] bool idle() const;

    /// How many received packets the Device dropped because their checksum (ICRC) was wrong. Over
    /// IPv4 the ICRC covers the identification field of the IP header. If the Device cannot read
    /// this field, it computes the value with which the ICRC is right, and accepts the packet if
    /// this value is 0 or near the last value of the peer (see identification in docs/glossary.md).
    /// So the Device accepts a damaged packet with a probability of 256 in 2^32, or 65,536 in 2^32
    /// after 65 s of silence. If it can read the field, or over IPv6, the probability is 1 in 2^32.
    std::uint64_t damaged() const;
    /// True: the Device can read that field. The program needs CAP_NET_RAW for this, and the Device
    /// an IPv4 address that is not a loopback address.
    bool reads_identifications() const;
    /// How many received packets the Device dropped because the value that it computed (see
    /// damaged) was not near the last value of the peer. Such a packet may be undamaged. The Device
    /// accepts the next packet if its value is near that of the dropped packet.
    std::uint64_t identification_jumps() const;
    /// How many received packets the Device dropped because no queue pair has their number, or that
    /// queue pair has another peer or partition (P_Key), or the Device already knows 4096 hosts.
    std::uint64_t foreign() const;
    /// How many packets the kernel did not send, and the reasons: "Network is unreachable (3
    /// packets)". The text is empty if there were none. No completion reports this.
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

/// Holds completions until the program polls them. It must have room for all work that can complete
/// between two polls: if it is full, the next completion is lost, and the queue pair of that
/// completion fails. When a queue pair is destroyed, its completions in the queue are removed.
class WIREPROOF_EXPORT CompletionQueue {
public:
    /// `capacity`: how many completions it holds, 1 to 1,048,576. 0 counts as 1, more as 1,048,576.
    CompletionQueue(const Device& device, std::size_t capacity);

    /// Takes the oldest completion; nothing if there is none. Moves no packets: see Device::poll.
    [[nodiscard]] std::optional<Completion> poll();
    /// As `poll`, but blocks until there is a completion; nothing if `limit` passes first. If the
    /// Device is closed, it returns nothing at once.
    [[nodiscard]] std::optional<Completion> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));
    /// True: the queue was full once, and a completion was lost.
    [[nodiscard]] bool overrun() const;

    /// Asks for one notification, of the next completion. With `solicited_only`: of the next one
    /// that failed, or whose sender set WorkOptions::solicited. Completions already in the queue
    /// cause no notification: poll until the queue is empty, make this call, and poll once more.
    void request_notify(bool solicited_only = false);
    /// True, once for each request_notify: the completion has come. It moves no packets: call it
    /// after each Device::poll. If the Device is closed, false.
    [[nodiscard]] bool notified();
    /// As `notified`, but blocks until the completion comes, and then returns true. If `limit`
    /// passes first, it returns false, and the request is still valid.
    [[nodiscard]] bool wait_notified(std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    detail::Held<Inside> inside_;
};

/// A registration of memory. While it exists, posted work may use the memory, and so may peers that
/// have its key. The memory belongs to the caller, who keeps it until the MemoryRegion is
/// destroyed. Work that names the region after that ends with an error.
class WIREPROOF_EXPORT MemoryRegion {
public:
    /// The address by which work and peers name the first byte, and the length in bytes.
    std::uint64_t address() const;
    std::size_t length() const;
    /// The key for Piece::key here and for Remote::key at the peers.
    std::uint32_t key() const;
    /// `length` bytes from `offset` on. The call does not check that they lie in the region: if
    /// they do not, the work ends with an error, and touches nothing outside the region. The call
    /// cuts a `length` of more than 2^32 - 1 bytes. Work to be sent has at most 2^31 bytes.
    Piece piece(std::size_t offset, std::size_t length) const;
    Piece all() const { return piece(0, length()); }

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class ProtectionDomain;
    explicit MemoryRegion(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Gives peers a key for a part of a region, for a while: see QueuePair::bind.
class WIREPROOF_EXPORT MemoryWindow {
public:
    /// The key of the last bind that was posted, for Remote::key at the peers. It is valid from the
    /// completion of that bind until the next bind, an invalidation, or the destruction of the
    /// region or of this window. Before the first bind, the key gives no access.
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
    explicit ProtectionDomain(const Device& device);

    /// Registers memory of the caller: see MemoryRegion. Failure: `access` lets peers write but not
    /// this side, or the Device is closed.
    Result<MemoryRegion> register_memory(std::span<std::byte> memory, const Access& access) const;
    /// Makes a window that is not bound yet. It cannot fail.
    [[nodiscard]] MemoryWindow create_window(WindowType type) const;

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    friend class SharedReceiveQueue;
    detail::Held<Inside> inside_;
};

/// Exchanges the contacts of both sides over a TCP connection. `listen` and `connect` are a numeric
/// "address:port". The server waits for a connection. The client tries again while nobody listens.
/// Both block until the exchange is done, at most for `limit`, and return the contact of the other
/// side, or why there is none. They use no Device: any thread may call them. There is no
/// authentication: the server takes the contact of any host that connects.
WIREPROOF_EXPORT Result<Contact> exchange_as_server(std::string_view listen, const Contact& ours,
                                                    std::chrono::milliseconds limit);
WIREPROOF_EXPORT Result<Contact> exchange_as_client(std::string_view connect, const Contact& ours,
                                                    std::chrono::milliseconds limit);

// Instead, both sides can use connection management, as programs of Linux's rdma_cm do: one side
// listens to a service, and the other requests a connection to it. Each side may add private data:
// bytes for the other program.

/// A queue of receives for several queue pairs. A message that begins to arrive takes the oldest.
class WIREPROOF_EXPORT SharedReceiveQueue {
public:
    /// `receives`: how many receives it can hold, 1 or more. `pieces`: how many pieces each may
    /// have, 0 to 32. Failure: one of the two is out of range, or the Device is closed.
    static Result<SharedReceiveQueue> create(const ProtectionDomain& domain,
                                             std::size_t receives = 64, std::size_t pieces = 4);

    /// As QueuePair::post_receive: ok, queue_full, too_many_pieces or closed.
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

/// Sends work and receives messages: to and from one peer, or datagrams to and from any peer.
///
/// A call that posts work moves no packets: see Device::poll. ok: the work is posted, and its
/// Completion will have the `id` of the call. Any other status: nothing is posted. On a failed
/// queue pair, posted work completes as flushed. A message may have 0 bytes.
///
/// The caller keeps the memory of the pieces in place, and unchanged if it is to be sent, until the
/// work has completed. Work that is not signalled (see WorkOptions) has completed when later work
/// to be sent on the same queue pair has its completion. The inline calls copy their bytes at once:
/// at most QueuePairOptions::inlined bytes, which need not be registered.
///
/// A queue pair for datagrams sends and receives as soon as it is created; it connects to nobody.
/// It drops a datagram if no receive is posted, or if the oldest receive is too short. The payload
/// begins at the first byte of the receive: there is no global route header before it.
class WIREPROOF_EXPORT QueuePair {
public:
    /// `sends` takes the completions of work to be sent, `receives` those of receives; both may be
    /// one queue. Failure: an option is out of range, or a queue is of another or a closed Device.
    static Result<QueuePair> create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    const QueuePairOptions& options = {});
    /// The same with the receives of `shared`, which must be of the same domain. Not for datagrams.
    static Result<QueuePair> create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    const SharedReceiveQueue& shared,
                                    const QueuePairOptions& options = {});

    /// The number of 24 bits by which peers and Completion::queue_pair name it.
    std::uint32_t number() const;
    /// What the peer needs to connect to this queue pair, and where the memory `offered` is.
    Contact contact() const;
    Contact contact(const MemoryRegion& offered) const;
    /// Connects to the queue pair of `peer`, once. It sends no packet: the peer must connect to
    /// this queue pair in the same way. Both use the smaller of the two path MTUs. This side has at
    /// most `peer.responder_resources` Reads and Atomics outstanding. ok or closed; bad_contact: a
    /// value of `peer` is not valid, or its address is of the other IP version; wrong_state:
    /// connected or failed before; not_supported: for datagrams.
    Status connect(const Contact& peer);
    /// Connects, once, to the program that listens to `service` on `host` (numeric). Blocks until
    /// it is connected, at most for `limit`. The path MTU is that of this Device, or less if the
    /// path carries less; the peer must accept it. `told` goes to the listener: up to 92 bytes, or
    /// 56 to a service of rdma_cm. Returns the 196 bytes that came with the answer. Failure: the
    /// text names the reason. If the peer refused, or did not answer within `limit`, the queue pair
    /// has failed. It has not failed if the call sent no request (for example, `told` is too long).
    Result<std::vector<std::byte>> connect(
        std::string_view host, std::uint64_t service, std::span<const std::byte> told = {},
        std::chrono::milliseconds limit = std::chrono::seconds(30));
    /// Ends the connection: the queue pair fails. If connection management made the connection,
    /// one of the next polls tells the peer. The destructor does the same, and polls the Device.
    void disconnect();
    /// True: the queue pair has failed, for good: it sends and receives no more, and all its work
    /// has completed. Exception: if work to be sent has failed on a queue pair that is not
    /// reliable, it still receives. Also true if the Device is closed.
    [[nodiscard]] bool failed() const;

    /// Posts room for one incoming message, in one or more pieces; also before connect. ok,
    /// queue_full, too_many_pieces or closed; not_supported: this queue pair has shared receives.
    Status post_receive(std::uint64_t id, std::span<const Piece> to);
    Status post_receive(std::uint64_t id, const Piece& to) {
        return post_receive(id, std::span(&to, 1));
    }

    // The calls below return ok, queue_full, too_long or closed; wrong_state: not connected yet;
    // not_supported: the transport has no such work. "Reliable only": not for UC and UD.

    /// Sends a message into a receive of the peer. Not for datagrams.
    Status send(std::uint64_t id, const Piece& from,
                std::optional<std::uint32_t> immediate = std::nullopt,
                const WorkOptions& options = {});
    /// The same, inline.
    Status send_inline(std::uint64_t id, std::span<const std::byte> bytes,
                       std::optional<std::uint32_t> immediate = std::nullopt,
                       const WorkOptions& options = {});
    /// Sends a datagram, up to the path MTU of the Device, into a receive of the queue pair `to`.
    /// It completes when it leaves, and may be lost. bad_contact: `to` belongs to another Device.
    Status send_to(std::uint64_t id, const Piece& from, const AddressHandle& to,
                   std::optional<std::uint32_t> immediate = std::nullopt,
                   const WorkOptions& options = {});
    /// The same, inline: at most QueuePairOptions::inlined bytes, and at most the path MTU.
    Status send_inline_to(std::uint64_t id, std::span<const std::byte> bytes,
                          const AddressHandle& to,
                          std::optional<std::uint32_t> immediate = std::nullopt,
                          const WorkOptions& options = {});
    /// Sends a message that also invalidates `peers_key`, the key of a window of type 2. The peer
    /// must have bound this window by the queue pair that receives the message. Reliable only.
    Status send_invalidate(std::uint64_t id, const Piece& from, std::uint32_t peers_key,
                           const WorkOptions& options = {});
    /// Copies `from` into the peer's memory. Only a Write with immediate data takes a receive of
    /// the peer, whose completion tells the program there.
    Status write(std::uint64_t id, const Piece& from, const Remote& to,
                 std::optional<std::uint32_t> immediate = std::nullopt,
                 const WorkOptions& options = {});
    /// The same, inline.
    Status write_inline(std::uint64_t id, std::span<const std::byte> bytes, const Remote& to,
                        std::optional<std::uint32_t> immediate = std::nullopt,
                        const WorkOptions& options = {});
    /// Copies the peer's memory into `into`. Reliable only.
    Status read(std::uint64_t id, const Piece& into, const Remote& from,
                const WorkOptions& options = {});
    /// Adds `add` to an integer of 8 bytes in the peer's memory, or writes `desired` if it equals
    /// `expected`. No other Atomic of that Device comes between; a store of a thread there may.
    /// `before` (8 bytes, else bad_length) receives the earlier value. Each host has its own byte
    /// order. Both queue pairs fail if the address is no multiple of 8. Reliable only.
    Status fetch_add(std::uint64_t id, const Piece& before, const Remote& at, std::uint64_t add,
                     const WorkOptions& options = {});
    Status compare_swap(std::uint64_t id, const Piece& before, const Remote& at,
                        std::uint64_t expected, std::uint64_t desired,
                        const WorkOptions& options = {});

    // The next two send no packet. They run in order with the other posted work.
    /// Gives `window` a new key, for a part of a region of the same domain that has
    /// Access::window_bind. If the region does not allow the bind, or a window of type 2 is still
    /// bound, the work completes as window_bind_error, and the queue pair fails.
    Status bind(std::uint64_t id, MemoryWindow& window, const MemoryRegion& region,
                const WindowBind& bind, const WorkOptions& options = {});
    /// Ends the key of a window of type 2 that this queue pair bound, so that a new bind is
    /// possible. On another window the work completes as local_protection_error.
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

/// A request for a connection, from a Listener. accept or reject answers it, once. If it is
/// destroyed without an answer, the Device refuses it.
class WIREPROOF_EXPORT ConnectionRequest {
public:
    /// The numeric address of the requesting host. Valid while this request exists.
    const std::string& address() const;
    Transport transport() const;
    /// 92 bytes of private data, or 56 to a service of rdma_cm; unused bytes are 0. Valid while
    /// this request exists.
    std::span<const std::byte> told() const;

    /// Connects `pair`, which must be of the same Device and transport and not connected yet, and
    /// answers with up to 196 bytes. Blocks until `pair` may send, at most for `limit`. Failure:
    /// the text names the reason. If the requesting host has gone, or did not answer within
    /// `limit`, `pair` has failed. If an argument was wrong, or this is the second answer, nothing
    /// has changed.
    Result<void> accept(QueuePair& pair, std::span<const std::byte> tell = {},
                        std::chrono::milliseconds limit = std::chrono::seconds(30));
    /// Refuses the request, with up to 148 bytes; the rest is cut off. The next poll sends it. A
    /// second answer does nothing.
    void reject(std::span<const std::byte> why = {});

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class Listener;
    explicit ConnectionRequest(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Keeps up to 1024 connection requests for one service until the program takes them. It refuses
/// any more, and its destructor refuses those it keeps. Without a Listener, the Device refuses all.
class WIREPROOF_EXPORT Listener {
public:
    /// Failure: this service has a listener on this Device already, or the Device is closed.
    static Result<Listener> open(const Device& device, std::uint64_t service);

    /// Takes the oldest request; nothing if there is none. It moves no packets: see Device::poll.
    [[nodiscard]] std::optional<ConnectionRequest> poll();
    /// As `poll`, but blocks until there is one; nothing after `limit`, or on a closed Device.
    [[nodiscard]] std::optional<ConnectionRequest> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    explicit Listener(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// A question of a host (SIDR): which queue pair receives the datagrams of a service? The program
/// answers it once, by `answer` or `reject`. If the DatagramQuery is destroyed without an answer,
/// the Device refuses the question.
class WIREPROOF_EXPORT DatagramQuery {
public:
    /// The numeric address of the host that asks. Valid while this question exists.
    const std::string& address() const;
    /// The private data of the question: 216 bytes, or 180 to a service of rdma_cm; unused bytes
    /// are 0. Valid while this question exists.
    std::span<const std::byte> told() const;

    /// Answers with the number and the Q_Key of `pair`, which must be of the same Device and for
    /// datagrams, and with up to 136 bytes. Failure: the host no longer waits, the question was
    /// answered before, or an argument is wrong. In the last case, the question stays open.
    Result<void> answer(const QueuePair& pair, std::span<const std::byte> tell = {});
    /// Refuses the question, as ConnectionRequest::reject, with up to 136 bytes.
    void reject(std::span<const std::byte> why = {});

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class DatagramListener;
    explicit DatagramQuery(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Keeps questions about one datagram service until the program takes them: as Listener.
class WIREPROOF_EXPORT DatagramListener {
public:
    /// Failure: this service has a listener on this Device already, or the Device is closed.
    static Result<DatagramListener> open(const Device& device, std::uint64_t service);

    /// Takes the oldest question; nothing if there is none. It moves no packets: see Device::poll.
    [[nodiscard]] std::optional<DatagramQuery> poll();
    /// As `poll`, but blocks until there is one; nothing after `limit`, or on a closed Device.
    [[nodiscard]] std::optional<DatagramQuery> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    explicit DatagramListener(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

}  // namespace wireproof::ib
