// InfiniBand queue pairs over an ordinary network, with the terms of the verbs interface: a program
// registers memory, posts work and polls completions. The packets are RoCEv2 on UDP port 4791. The
// peer may be another Device, Linux's Soft-RoCE or an RDMA adapter. No privilege is needed.
//
// The rules below hold for all calls. ib_values.hpp explains the words: peer, work, receive, ...
//
// Threads: one thread at a time may use a Device and the objects that were made from it. Different
// threads may use different Devices at the same time. Any thread may call Device::open. While one
// thread uses a Device, any other thread may call wake() of this Device. If the library was built
// with assertions, most calls look for a second thread inside the same Device, and end the program
// if there is one. The library starts no thread: work makes progress only inside calls that poll.
//
// Blocking: a call blocks only if its comment says so. A call that blocks polls the Device until it
// returns. A `limit` below 0 counts as 0, and one above 30 days as 30 days. Only three kinds of
// calls send packets: calls that block, Device::poll, and the destructor of QueuePair.
//
// Memory: a call keeps no pointer to its arguments after it has returned. It copies strings,
// options, arrays of Piece and the bytes of a std::span<const std::byte>. Registered memory stays
// the caller's: see MemoryRegion and QueuePair.
//
// Exceptions: the calls throw only std::bad_alloc. A Result throws if the program asks for a value
// and the Result has none: see result.hpp. The condition of Device::wait may throw: see there.
//
// Lifetime: the classes are references, and the structs are values. A copy of a reference refers to
// the same object, and the object lives until its last reference is destroyed. A Device stays open
// while one of its calls runs or an object exists that was made from it. So the program may destroy
// the Device and these objects in any order.
//
// Closed: in a forked child, each Device of the parent is closed: see Device::is_open. A moved-from
// Device is closed, too. If a program uses a moved-from object of another class, or makes an object
// from a moved-from Device, the program ends with one line on standard error.
//
// Connections: two programs can connect their queue pairs in two ways.
//
// - By contacts: each program carries the Contact of its queue pair to the other program, for
//   example with exchange_as_server() and exchange_as_client(). Then each program calls
//   QueuePair::connect with the Contact from the other program.
// - By connection management, as programs of Linux's rdma_cm do: one program opens a Listener for a
//   service. The other program calls QueuePair::connect with the host of the first program and the
//   service. The first program takes a ConnectionRequest from its Listener and accepts it. Each
//   program may add private data: bytes for the other program.
//
// Queue pairs for datagrams have no connection. To send a datagram, a program needs an
// AddressHandle of the receiving queue pair.
//
// This is how an event loop waits for a Device. Device::wait does the same in one call.
//
//     while (running) {
//         device.poll();
//         // Take completions and requests, post work, take what other threads have handed over.
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

    /// False: the Device is closed. It was moved from, or this process is a forked child of the
    /// process that opened it. All calls on a closed Device return at once. arm() and idle() return
    /// true. The other calls return false, 0, an empty text, or the value that their comments name.
    ///
    /// In the child, the sockets are closed before fork() returns, so the child does not disturb
    /// the parent. The child may still use the objects that were made from the Device, and may make
    /// a CompletionQueue or a ProtectionDomain. But these objects take no work (Status::closed, or
    /// a failure), deliver no completions, and send nothing to peers when they are destroyed. The
    /// child may open other Devices.
    [[nodiscard]] bool is_open() const;

    /// Receives packets that have arrived and sends packets that are due, a few hundred at most.
    /// Returns how many packets it received and sent in all. If this is not 0, more packets may
    /// wait: call poll() again.
    std::size_t poll();
    /// Blocks until `until` returns true, and then returns true. If `limit` passes first, it
    /// returns false. This call polls, then calls `until`, then polls again, and so on. While
    /// nothing arrives, it sleeps; wake() ends the sleep. An empty `until` counts as false.
    ///
    /// `until` may make every call of this header, also poll() and wait() of this Device, and may
    /// move or destroy this Device and its objects. If `until` throws, the exception leaves this
    /// call, and the Device stays usable. A closed Device returns false and does not call `until`.
    bool wait(const std::function<bool()>& until,
              std::chrono::milliseconds limit = std::chrono::hours(24));

    /// A file descriptor for poll(2), epoll(7) and event loops. After arm() has returned true, the
    /// descriptor becomes readable when something arrives or a thread calls wake(). The next poll()
    /// ends that. The Device owns the descriptor: do not read, write or close it. It stays the same
    /// while the Device is open, also when the Device is moved. If the Device is closed: -1.
    [[nodiscard]] int event_fd() const;
    /// Call arm() after poll(), immediately before the thread sleeps. True: there is nothing to do
    /// until event_fd() is readable or next_timeout() has passed. False: something has arrived or
    /// is due, or work was posted since the last poll: call poll() again.
    [[nodiscard]] bool arm();
    /// How long the thread may sleep at most, counted from this call: retransmissions and
    /// acknowledgements have deadlines. Zero: poll() is due now. nanoseconds::max(): there is no
    /// deadline, or the Device is closed. The time is rounded up.
    [[nodiscard]] std::chrono::nanoseconds next_timeout() const;
    /// Makes event_fd() readable until the next poll. If a thread sleeps in wait(), this thread
    /// wakes, polls, and runs its condition. Any thread and any signal handler may call wake()
    /// while no thread moves or destroys the Device. On a closed Device, wake() does nothing.
    void wake() const;

    /// True: at the last poll the Device had nothing left that a peer needs, so the program may
    /// destroy it. All work to be sent has ended, connection management is not making or ending a
    /// connection, and no peer has sent a packet for 268 ms. A peer that misses an acknowledgement
    /// sends again within 268 ms, which is four times the default of QueuePairOptions::ack_timeout.
    /// A program that is about to end can wait for idle() with Device::wait.
    [[nodiscard]] bool idle() const;

    // The counters below count since Device::open. None of these events has a completion.

    /// Received packets that the Device dropped because their checksum (ICRC) was wrong.
    ///
    /// Over IPv4 the ICRC also covers the identification, a field of 16 bits in the IP header.
    /// Often the Device cannot read this field. Then it works backwards: from the ICRC in the
    /// packet, it computes the identification. At most one value fits. If none fits, the packet is
    /// damaged. The Device accepts the packet if the value is 0, or near that of the peer's last
    /// packet (see "identification" in docs/reference/glossary.md).
    ///
    /// So the Device accepts some damaged packets. If it reads the field, or over IPv6, it accepts
    /// a damaged packet with a probability of 1 in 2^32. Otherwise the probability is 256 in 2^32,
    /// and up to 65,536 in 2^32 after the peer has sent nothing for 65 s.
    std::uint64_t damaged() const;
    /// True: the Device can read the identification. For this, the program needs CAP_NET_RAW, and
    /// the Device needs an IPv4 address other than loopback.
    bool reads_identifications() const;
    /// Received packets that the Device dropped because the computed identification (see damaged())
    /// was not near that of the peer's last packet. Such a packet can be undamaged. The Device
    /// accepts the next packet if its identification is near that of the dropped packet.
    std::uint64_t identification_jumps() const;
    /// Received packets that the Device dropped for one of these reasons:
    /// - no queue pair has the number in the packet;
    /// - the queue pair with this number has another peer or another partition (P_Key);
    /// - the packet came from a new host, and the Device already knows 4096 hosts.
    std::uint64_t foreign() const;
    /// Packets that the kernel did not send.
    std::uint64_t packets_refused() const;
    /// The reasons for packets_refused: "Network is unreachable (3 packets)". Empty: none.
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

/// Holds completions until the program polls them. The queue must have room for all work that can
/// complete between two polls. If it has no room for a completion, the completion is lost, and its
/// queue pair fails. When a queue pair is destroyed, its completions are removed from the queue.
class WIREPROOF_EXPORT CompletionQueue {
public:
    /// `capacity`: 1 to 1,048,576 completions. Another number counts as the nearest of these.
    CompletionQueue(const Device& device, std::size_t capacity);

    /// Takes the oldest completion; nothing if there is none. Moves no packets: see Device::poll.
    /// Nothing once before a message, if a Read, an Atomic or a Write that completed before it
    /// still waits in another queue: the message may say that this work is done.
    [[nodiscard]] std::optional<Completion> poll();
    /// As poll(), but blocks until there is a completion. Returns nothing if `limit` passes first,
    /// or if the Device is closed.
    [[nodiscard]] std::optional<Completion> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));
    /// True: the queue was full once, and a completion was lost.
    [[nodiscard]] bool overrun() const;

    /// Requests one notification: notified() returns true after the next completion. If
    /// `solicited_only` is true, only two kinds of completions count: those of work that failed,
    /// and those of messages that the peer sent with WorkOptions::solicited.
    ///
    /// Completions that are already in the queue cause no notification. So call poll() until the
    /// queue is empty, make this call, and call poll() once more. Several calls before the
    /// notification make only one request. If `solicited_only` is false in one of these calls, all
    /// completions count.
    void request_notify(bool solicited_only = false);
    /// True: a requested notification has come since the last time that this call returned true.
    /// Several of them count as one. Without a request: false. If the Device is closed: false. This
    /// call moves no packets: call it after each Device::poll.
    [[nodiscard]] bool notified();
    /// As notified(), but blocks until the notification comes, and returns true. If `limit` passes
    /// first, it returns false, and the request is still valid. Without a request, it blocks until
    /// `limit` has passed. If the Device is closed, it returns false at once.
    [[nodiscard]] bool wait_notified(std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class QueuePair;
    detail::Held<Inside> inside_;
};

/// Does the work that the program posts. A queue pair is connected to one peer. But a queue pair
/// for datagrams sends to any peer, and receives from any peer.
///
/// Posting: a call that posts work moves no packets (see Device::poll). If it returns ok, the work
/// is posted, and its Completion will have the `id` of the call. If it returns another status,
/// nothing is posted. A failed queue pair takes work, too, and completes it as flushed; the comment
/// of failed() has an exception to this rule. A message may have 0 bytes. Completions of work to be
/// sent come in the order in which the work was posted.
///
/// Memory: the caller keeps the memory of the pieces in place until the work has completed. Until
/// then, the caller does not change bytes that are to be sent, and does not use bytes that the work
/// writes. Work that is not signalled (WorkOptions) has no Completion if it succeeds. When later
/// work to be sent on this queue pair has a Completion, the earlier work has completed, too. When
/// the queue pair is destroyed, all its work ends: there are no more completions, and the Device
/// does not use the memory any more.
///
/// Inline: the inline calls copy their bytes before they return, at most QueuePairOptions::inlined.
/// The memory of these bytes need not be registered.
///
/// Datagrams: a queue pair for datagrams has no connection: it sends and receives as soon as it is
/// created. It drops a datagram if no receive is posted, or if the oldest receive is too short. The
/// payload begins at the first byte of the receive: there is no global route header before it.
class WIREPROOF_EXPORT QueuePair {
public:
    /// The completions of work to be sent go to `sends`, those of receives go to `receives`. Both
    /// may be the same queue. Failure: an option is out of range, `sends` or `receives` is of
    /// another Device, or the Device is closed.
    static Result<QueuePair> create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    const QueuePairOptions& options = {});
    /// The same, but messages take the receives of `shared`. The options `receives` and `pieces`
    /// mean nothing here, but must be in their ranges. It also fails if `shared` is of another
    /// domain, or if the queue pair is for datagrams.
    static Result<QueuePair> create(const ProtectionDomain& domain, const CompletionQueue& sends,
                                    const CompletionQueue& receives,
                                    const SharedReceiveQueue& shared,
                                    const QueuePairOptions& options = {});

    /// The number of this queue pair, 24 bits: see Contact::queue_pair and Completion::queue_pair.
    std::uint32_t number() const;
    /// The data by which a peer connects to this queue pair. With `offered`, the Contact also names
    /// this memory.
    Contact contact() const;
    Contact contact(const MemoryRegion& offered) const;
    /// Connects this queue pair to the queue pair of `peer`. This is possible only once. The call
    /// sends no packet: the peer must connect to this queue pair in the same way. Both use the
    /// smaller of the two path MTUs. This side will have at most `peer.responder_resources` Reads
    /// and Atomics outstanding. Returns:
    /// - ok or closed;
    /// - bad_contact: a value of `peer` is not valid, or its address has another IP version;
    /// - wrong_state: the queue pair was connected before, or has failed;
    /// - not_supported: the queue pair is for datagrams.
    Status connect(const Contact& peer);
    /// Connects this queue pair to the program that listens to `service` on `host` (numeric). This,
    /// too, is possible only once. Blocks until the queue pair is connected, at most for `limit`.
    /// The path MTU is that of this Device, or a smaller one if the path to `host` carries less. If
    /// the peer does not allow this path MTU, the peer refuses. `told` is private data for the
    /// listening program: at most 92 bytes, or 56 if `service` is one of rdma_cm. Returns the
    /// private data of the answer: 196 bytes, and unused bytes are 0.
    /// Failure: the text names the reason. If the peer refused, or did not answer within `limit`,
    /// the queue pair has failed. If the call sent no request (for example, because `told` is too
    /// long), the queue pair has not failed.
    Result<std::vector<std::byte>> connect(
        std::string_view host, std::uint64_t service, std::span<const std::byte> told = {},
        std::chrono::milliseconds limit = std::chrono::seconds(30));
    /// Ends the connection: the queue pair fails. If connection management made the connection, one
    /// of the next polls tells the peer. The destructor of the queue pair does the same, and polls
    /// the Device if there is something to tell.
    void disconnect();
    /// True: the queue pair has failed, or the Device is closed. A failed queue pair stays failed.
    /// It sends and receives no more, and all its work has completed. There is one exception: if
    /// work to be sent fails on an unreliable queue pair or one for datagrams, the queue pair still
    /// receives.
    [[nodiscard]] bool failed() const;

    /// Posts a receive: room for one incoming message, in one or more pieces. No pieces: room for a
    /// message of 0 bytes. The queue pair need not be connected. Returns ok, queue_full,
    /// too_many_pieces or closed; not_supported: this queue pair uses a SharedReceiveQueue.
    Status post_receive(std::uint64_t id, std::span<const Piece> to);
    Status post_receive(std::uint64_t id, const Piece& to) {
        return post_receive(id, std::span(&to, 1));
    }

    // The calls below post work to be sent. `immediate` is the immediate data that the message
    // carries. Each call may return ok, queue_full, too_long or closed, and also:
    // - wrong_state: the queue pair is not connected yet;
    // - not_supported: the transport of the queue pair does not have this work. "Reliable only":
    //   only queue pairs with Transport::reliable have it.

    /// Sends a message into a receive of the peer. Not for datagrams.
    Status send(std::uint64_t id, const Piece& from,
                std::optional<std::uint32_t> immediate = std::nullopt,
                const WorkOptions& options = {});
    /// As send(), but inline.
    Status send_inline(std::uint64_t id, std::span<const std::byte> bytes,
                       std::optional<std::uint32_t> immediate = std::nullopt,
                       const WorkOptions& options = {});
    /// Sends a datagram, up to the path MTU of the Device, into a receive of the queue pair `to`.
    /// The work completes when the datagram leaves. The datagram may be lost. The caller may
    /// destroy `to` after the call. bad_contact: `to` belongs to another Device. Datagrams only.
    Status send_to(std::uint64_t id, const Piece& from, const AddressHandle& to,
                   std::optional<std::uint32_t> immediate = std::nullopt,
                   const WorkOptions& options = {});
    /// As send_to(), but inline: at most QueuePairOptions::inlined bytes and the path MTU.
    Status send_inline_to(std::uint64_t id, std::span<const std::byte> bytes,
                          const AddressHandle& to,
                          std::optional<std::uint32_t> immediate = std::nullopt,
                          const WorkOptions& options = {});
    /// Sends a message that also invalidates `peers_key`, the key of a window of the peer. The
    /// window must be of type 2, and the peer must have bound it by the queue pair that receives
    /// the message. Reliable only.
    Status send_invalidate(std::uint64_t id, const Piece& from, std::uint32_t peers_key,
                           const WorkOptions& options = {});
    /// Copies `from` into the peer's memory. A Write without immediate data has no completion at
    /// the peer. A Write with immediate data takes a receive of the peer, and this receive
    /// completes. Not for datagrams.
    Status write(std::uint64_t id, const Piece& from, const Remote& to,
                 std::optional<std::uint32_t> immediate = std::nullopt,
                 const WorkOptions& options = {});
    /// As write(), but inline.
    Status write_inline(std::uint64_t id, std::span<const std::byte> bytes, const Remote& to,
                        std::optional<std::uint32_t> immediate = std::nullopt,
                        const WorkOptions& options = {});
    /// Copies the peer's memory into `into`. Reliable only.
    Status read(std::uint64_t id, const Piece& into, const Remote& from,
                const WorkOptions& options = {});

    // The two Atomics change an integer of 8 bytes in the peer's memory, and write its earlier
    // value to `before`. `before` must have 8 bytes: otherwise the call returns bad_length. The
    // integer has the byte order of the peer's host, and `before` has that of this host: the
    // Devices convert. No other Atomic of the peer's Device changes the integer at the same time.
    // But a thread of the peer's program may do so. If the address of the integer is no multiple of
    // 8, the queue pairs of both sides fail. Reliable only.

    /// Adds `add` to the integer.
    Status fetch_add(std::uint64_t id, const Piece& before, const Remote& at, std::uint64_t add,
                     const WorkOptions& options = {});
    /// Writes `desired` to the integer if it is equal to `expected`.
    Status compare_swap(std::uint64_t id, const Piece& before, const Remote& at,
                        std::uint64_t expected, std::uint64_t desired,
                        const WorkOptions& options = {});

    // The next two calls post work that sends no packet. This work runs in order with the other
    // posted work. The caller does not destroy `window` or `region` before the work has completed.
    // Not for datagrams.

    /// Ends the key of `window`, and gives `window` a new key. By the new key, peers may use the
    /// part of `region` that the argument `bind` names. In each of these cases, the work completes
    /// as window_bind_error, and the queue pair fails:
    /// - `region` does not have Access::window_bind, or the part does not lie in `region`;
    /// - `bind` lets peers write or do Atomics, and `region` does not have Access::local_write;
    /// - a value of `bind` is not allowed for this type of window: see WindowBind;
    /// - `window` or `region` is of another domain;
    /// - `window` is of type 2 and still bound.
    Status bind(std::uint64_t id, MemoryWindow& window, const MemoryRegion& region,
                const WindowBind& bind, const WorkOptions& options = {});
    /// Ends the key of a window of type 2 that this queue pair bound. Then a new bind is possible.
    /// For any other window, the work completes as local_protection_error, and the queue pair
    /// fails.
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

/// A request for a connection, from a Listener. The program answers once, by accept() or reject().
/// If the ConnectionRequest is destroyed without an answer, the Device refuses the request.
class WIREPROOF_EXPORT ConnectionRequest {
public:
    /// The numeric address of the requesting host. Valid while this request exists.
    const std::string& address() const;
    /// The transport that the queue pair of the requesting program has: reliable or unreliable.
    Transport transport() const;
    /// The private data of the request: 92 bytes, or 56 if the service is one of rdma_cm. Unused
    /// bytes are 0. Valid while this request exists.
    std::span<const std::byte> told() const;

    /// Connects `pair`, and answers with `tell`: at most 196 bytes of private data. `pair` must be
    /// of the same Device and transport, and not connected yet. Blocks until `pair` may send, at
    /// most for `limit`. Failure: the text names the reason. If the requesting host has gone, or
    /// did not answer within `limit`, `pair` has failed. If an argument was wrong, or this is the
    /// second answer, the call has changed nothing.
    Result<void> accept(QueuePair& pair, std::span<const std::byte> tell = {},
                        std::chrono::milliseconds limit = std::chrono::seconds(30));
    /// Refuses the request, and answers with the first 148 bytes of `why`. The next poll sends
    /// this. A second answer does nothing.
    void reject(std::span<const std::byte> why = {});

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class Listener;
    explicit ConnectionRequest(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Receives the requests for connections to one service of a Device. It keeps at most 1024 requests
/// until the program takes them, and refuses more. Its destructor refuses the requests that it
/// still keeps. If a service has no Listener, the Device refuses all requests.
class WIREPROOF_EXPORT Listener {
public:
    /// Failure: this service has a listener on this Device already, or the Device is closed.
    static Result<Listener> open(const Device& device, std::uint64_t service);

    /// Takes the oldest request; nothing if there is none. It moves no packets: see Device::poll.
    [[nodiscard]] std::optional<ConnectionRequest> poll();
    /// As poll(), but blocks until there is one. Returns nothing if `limit` passes first, or if the
    /// Device is closed.
    [[nodiscard]] std::optional<ConnectionRequest> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    explicit Listener(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// A question that a DatagramListener received. A host asks which queue pair receives the datagrams
/// of the service: see AddressHandle::resolve. The program answers once, by answer() or reject().
/// If the DatagramQuery is destroyed without an answer, the Device refuses the question.
class WIREPROOF_EXPORT DatagramQuery {
public:
    /// The numeric address of the host that asks. Valid while this question exists.
    const std::string& address() const;
    /// The private data of the question: 216 bytes, or 180 if the service is one of rdma_cm. Unused
    /// bytes are 0. Valid while this question exists.
    std::span<const std::byte> told() const;

    /// Answers with the number and the Q_Key of `pair`, and with `tell`: at most 136 bytes of
    /// private data. `pair` must be of the same Device, and for datagrams. Failure: the host no
    /// longer waits, the question was answered before, or an argument is wrong. If an argument is
    /// wrong, the program may answer again.
    Result<void> answer(const QueuePair& pair, std::span<const std::byte> tell = {});
    /// Refuses the question, and answers with the first 136 bytes of `why`. The next poll sends
    /// this. A second answer does nothing.
    void reject(std::span<const std::byte> why = {});

    struct WIREPROOF_HIDDEN Inside;

private:
    friend class DatagramListener;
    explicit DatagramQuery(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

/// Receives the questions for one datagram service of a Device. It keeps and refuses questions as a
/// Listener keeps and refuses requests.
class WIREPROOF_EXPORT DatagramListener {
public:
    /// Failure: this service has a listener on this Device already, or the Device is closed.
    static Result<DatagramListener> open(const Device& device, std::uint64_t service);

    /// Takes the oldest question; nothing if there is none. It moves no packets: see Device::poll.
    [[nodiscard]] std::optional<DatagramQuery> poll();
    /// As poll(), but blocks until there is one. Returns nothing if `limit` passes first, or if the
    /// Device is closed.
    [[nodiscard]] std::optional<DatagramQuery> wait(
        std::chrono::milliseconds limit = std::chrono::hours(24));

    struct WIREPROOF_HIDDEN Inside;

private:
    explicit DatagramListener(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
    detail::Held<Inside> inside_;
};

}  // namespace wireproof::ib
