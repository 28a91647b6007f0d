// SP Active Messages over a real network. An Endpoint is one node, usually one process. A message
// runs a handler at the peer. A store copies bytes into memory that the peer registered, and a get
// copies bytes out of it. The program at the peer makes no call for that.
//
// Each message arrives exactly once and in order, even if the wire loses, duplicates, damages or
// reorders frames. If a message cannot be delivered, the Endpoint reports that to the caller. This
// header includes only the standard library and other public headers of Wireproof.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/am_values.hpp"
#include "wireproof/export.hpp"
#include "wireproof/result.hpp"

namespace wireproof::am {

using wireproof::Result;

/// One node of a job. A peer is another node of the job. The number of a node is its index in
/// Options::peers, or its rank (see join()). Calls take the number of a peer. If no peer has this
/// number, the call returns no_such_peer or a failure, and counters() returns only zeros.
///
/// Threads: one thread at a time may call an Endpoint. This need not be the thread that opened it.
/// Different threads may use different Endpoints at the same time. Any thread may call wake(). If
/// the library was built with assertions, a second thread inside one Endpoint ends the program with
/// one line on standard error. The library starts no thread: an Endpoint sends and receives only
/// inside its calls.
///
/// Blocking: a call does not block unless its description says so. While a call blocks, it polls,
/// so handlers and callbacks run.
///
/// Handlers and callbacks: a callback is a Done or a report (on_peer_lost(), on_refused()). Inside
/// these functions, some calls are limited:
/// - Inside a handler or callback: store(), get(), flush() and close() return not_allowed. poll()
///   does nothing, and wait() does not block.
/// - Inside a handler, but not inside a callback: request(), store_async() and get_async() return
///   not_allowed.
/// All other calls are allowed there. The condition of wait() may make all calls except close().
///
/// Sessions: a session of two nodes begins when one of them sends to the other. The session ends
/// when the peer is lost: see PeerLost. A peer that has never answered is lost after
/// Options::peer_timeout, too. When a peer is lost, the Endpoint calls the `done` of each open
/// transfer with peer_lost. After that it calls the report of on_peer_lost(). Until then,
/// request(), store_async() and get_async() to the peer return would_block. From the report on, the
/// caller may send to the peer again: this begins a new session. Handlers and registered memory
/// stay.
///
/// Memory: request() and reply() copy the bytes of the message before they return. The caller lends
/// the bytes of a transfer (`source` or `destination`) to the Endpoint until store() or get()
/// returns, or until the Endpoint calls the `done` of store_async() or get_async(). The Endpoint
/// owns and frees only the memory that allocate() returned.
///
/// Exceptions: the calls themselves throw only std::bad_alloc. If a handler, a callback or the
/// condition of wait() throws, the exception leaves the call that ran this function: poll(),
/// wait(), store(), get(), flush(), close() or request(). The Endpoint stays usable. If a handler
/// threw, its message counts as handled. If this handler has replied, the reply is sent. The next
/// poll handles the other messages that had arrived. If the exception leaves request(), this
/// request is not posted. If the exception leaves store() or get(), the transfer may have begun or
/// not. Nobody learns the status of this transfer, and its bytes stay lent until idle() is true.
///
/// Closed: an Endpoint is closed after close() or after it was moved from. A call on a closed
/// Endpoint does nothing and returns `closed`, 0, -1, false, an empty text or a failure. But idle()
/// and arm() return true, and next_timeout() returns nanoseconds::max().
///
/// Moves: a handler, a callback or the condition of wait() may move the Endpoint whose call runs
/// this function. The new Endpoint then continues the call. The function must not destroy the
/// Endpoint whose call runs it, and must not assign another Endpoint to it: the program then ends
/// with one line on standard error.
///
/// fork: in a child process the Endpoint is closed. The socket and the rings in shared memory
/// belong to the parent. The child may destroy the Endpoint or exit: no callback runs then. If a
/// peer is on shared memory, the parent and the child share the memory of allocate(), and nothing
/// else. A child that was forked inside a handler must not return from the handler: it must call
/// exec() or exit().
class WIREPROOF_EXPORT Endpoint {
public:
    /// Opens the node `options.self` at the address of this node. The call copies `options`, and
    /// does not wait for peers. Any thread may call it. Failure: error() of the Result names the
    /// wrong option, or the error of the system.
    [[nodiscard]] static Result<Endpoint> open(const Options& options);

    /// Opens this process as a node of the job that a launcher started: mpirun or srun (PMIx, PMI2,
    /// PMI-1), `wireproof launch`, or any launcher that sets environment variables
    /// (docs/guide/messages/jobs.md). The number of the node is the rank of the process. The call
    /// finds the addresses of all nodes, so Options::peers, self and job must not be set. It blocks
    /// until all processes of the job have called join(), at most for `limit`, and as long as the
    /// launcher's own library takes to begin and to end. If WIREPROOF_PEERS names the addresses, it
    /// does not wait. A process calls it once.
    ///
    /// Two nodes share memory if each has shown the other that it can: they are in one network
    /// namespace and belong to one user. At most 256 nodes of a host share memory, and fewer if a
    /// process may have few descriptors. All other pairs are on UDP, and so are all pairs of
    /// WIREPROOF_PEERS. PeerCounters::path says which. The address of this node is that of the
    /// network interface that leads to the others, or of the interface that the environment
    /// variable WIREPROOF_INTERFACE names. message_max() is the same wherever the processes run.
    /// Options::active_peers holds for peers that share memory, and again for the others.
    ///
    /// Failure: error() names each way to a launcher and what is missing there, the option that is
    /// wrong, or the process that failed.
    [[nodiscard]] static Result<Endpoint> join(
        const Options& options = {}, std::chrono::milliseconds limit = std::chrono::minutes(1));
    /// As join(), for a process in which several threads use Active Messages. It returns an
    /// Endpoint for each of them: thread t of process r is node r * `threads` + t of the job. All
    /// processes must have the same number of threads. One thread makes the call, and gives each
    /// Endpoint to its thread. The nodes of one process share memory, too. Failure: also if
    /// `threads` is 0.
    [[nodiscard]] static Result<std::vector<Endpoint>> join_threads(
        std::size_t threads, const Options& options = {},
        std::chrono::milliseconds limit = std::chrono::minutes(1));

    /// A move takes all that the other Endpoint has, and closes the other Endpoint. The memory of
    /// allocate() stays in place, and event_fd() stays the same. An assignment also ends the node
    /// that this Endpoint had before, as the destructor does.
    Endpoint(Endpoint&&) noexcept;
    Endpoint& operator=(Endpoint&&) noexcept;
    /// Ends the node without waiting for acknowledgements. It calls the `done` of each open
    /// transfer with `closed`, so the objects that those callbacks use must still exist. A message
    /// that the peer has not acknowledged yet may be lost. To wait for the acknowledgements, call
    /// close() first. On shared memory, the destructor waits while a peer copies bytes into or out
    /// of registered memory of this node. If the peer stops in the middle of a copy, the destructor
    /// waits a second at most.
    ~Endpoint();
    /// Blocks until leave() is true, at most for `limit`. Then it does what the destructor does.
    /// ok: the peers have acknowledged all messages. peer_lost: while the call waited, a peer was
    /// lost that had not acknowledged all; a peer that had may close its Endpoint first. timed_out:
    /// `limit` passed first, and messages may be lost. The Endpoint is closed in all three cases.
    /// not_allowed: called inside a handler, a callback or the condition of wait(); the Endpoint
    /// stays open.
    Status close(std::chrono::milliseconds limit = std::chrono::seconds(10));
    /// For an event loop: what close() waits for, without waiting. A program that ends calls it,
    /// and sends nothing more. True: idle() is true, and no peer waits for this node; now destroy
    /// the Endpoint. False: poll, and call it again later. If this node is idle(), the call also
    /// lets the next poll() ask the peers whether they have the last acknowledgements, because a
    /// frame with them may be lost. A peer that does not answer is asked six times; over UDP this
    /// takes 40 ms at most, or some round trips if these are longer. A peer on shared memory is not
    /// asked. True also if the Endpoint is closed. False inside a handler or a callback.
    bool leave();

    /// False: the Endpoint was moved from, close() ended it, or this process is a forked child.
    [[nodiscard]] bool is_open() const;
    /// The number of this node, and how many nodes the job has, this node included.
    [[nodiscard]] std::size_t self() const;
    [[nodiscard]] std::size_t nodes() const;
    /// The length of the longest request or reply, in bytes.
    [[nodiscard]] std::size_t message_max() const;
    /// The address at which this node listens, with the port that the system chose:
    /// "127.0.0.1:40123". On shared memory "shm:NAME".
    [[nodiscard]] std::string local_address() const;
    /// Sets the address of a peer on UDP. The call copies `address` ("address:port"). Call it if
    /// Options::peers had no address for the peer, or if the peer has another address now. While a
    /// peer has no address, request(), store() and get() to this peer return no_such_peer, and the
    /// Endpoint drops frames from it. A session with the peer continues at the new address, and
    /// frames from the old address are dropped. If another Endpoint answers at the new address, the
    /// peer is lost (restarted). Failure: the peer is on shared memory, no peer has this number,
    /// `address` is not valid or not of the IP version of this node, or another peer has this
    /// address.
    Result<void> set_peer_address(std::size_t peer, std::string_view address);

    // Handlers and reports. The Endpoint calls them in the thread of the caller, inside the calls
    // that poll: poll(), wait(), store(), get(), flush(), close() and request(). The Endpoint keeps
    // each function, with the objects that it captured, until another function replaces it, an
    // empty function removes it, or the Endpoint is closed or destroyed.

    /// Registers `run`: from now on the Endpoint calls `run` for each message that names `handler`.
    /// This replaces an earlier function. An empty `run` removes the handler. Inside a handler, the
    /// change takes effect when that handler returns or throws. not_allowed: `handler` is 0.
    /// Otherwise ok.
    Status handle(std::uint16_t handler, Handler run);
    /// Registers `report`: the Endpoint calls `report` when a peer is lost. This replaces an
    /// earlier report. An empty `report` removes it. Without a report, only statuses and the `done`
    /// of transfers show the loss. The PeerLost is valid until the report returns. A report may
    /// call on_peer_lost(): the change takes effect at the next loss.
    void on_peer_lost(std::function<void(const PeerLost&)> report);
    /// Registers `report`: the Endpoint calls `report` for each request or store of this node for
    /// which the peer has no handler. The store also ends with no_handler. This replaces an earlier
    /// report. An empty `report` removes it. A report may call on_refused(): the change takes
    /// effect at the next refusal.
    void on_refused(std::function<void(std::size_t peer, std::uint16_t handler)> report);

    // Messages.

    /// Queues a request with these bytes or words. The request runs `handler` at the peer. The next
    /// poll sends the request. On shared memory, if the peer has acknowledged all earlier requests
    /// and nothing else waits to be sent to that peer, the call itself sends the request. The call
    /// does not wait until the request has arrived: flush() does. Each 32nd call also polls, so
    /// handlers may run.
    ///
    /// ok: queued or sent. would_block: too many messages to the peer are not acknowledged yet, no
    /// set is free (see Options::active_peers), or the loss of the peer is not reported yet.
    /// too_long: more than message_max() bytes. not_allowed: called inside a handler, or `handler`
    /// is 0. Also no_such_peer.
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::span<const std::byte> bytes);
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::span<const std::uint32_t> words = {});
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::initializer_list<std::uint32_t> words) {
        return request(peer, handler, std::span(words.begin(), words.size()));
    }

    /// Blocks until the peer has acknowledged all messages and each transfer with the peer has
    /// ended. Then it returns ok. If there is nothing to wait for, it returns ok at once. The
    /// Endpoint of the peer has then received each message, but a handler there may still run. If
    /// the handler replies, the reply shows that the handler has run. timed_out: `limit` passed
    /// first; the messages are still under way. peer_lost: the peer was lost while the call waited.
    /// no_such_peer: no peer has this number. not_allowed: called inside a handler or callback.
    [[nodiscard]] Status flush(std::size_t peer,
                               std::chrono::milliseconds limit = std::chrono::hours(24));

    // Memory of a peer. An address is the number that register_memory() returned at the peer, plus
    // an offset in bytes. The program at the peer tells this node the number, for example in a
    // message.

    /// Copies `source` to `address` in the peer's registered memory. After that the peer runs
    /// `handler` with the memory and `argument`. The call blocks until the bytes are in place or
    /// the peer is lost. It does not wait for the handler. It never returns would_block: if there
    /// is no room for the store, the call waits. On shared memory the bytes may be in place before
    /// the peer has handled earlier messages.
    ///
    /// ok: the bytes are in place. no_handler: the peer does not have `handler` when the first
    /// packet of the store arrives, or when the last packet arrives. No handler runs then, and the
    /// bytes may be in place or not. forbidden: the peer did not give this node Rights::store for
    /// these bytes. A store of 0 bytes needs it, too. not_allowed: called inside a handler or
    /// callback, or `handler` is 0. Also peer_lost, no_such_peer and too_long.
    ///
    /// On shared memory, the first store that names a handler waits until the peer polls. Later
    /// stores that name the same handler need not wait. After the peer has removed a handler, this
    /// one or another, the next store waits again. A store that does not wait returns ok before the
    /// peer learns of the store. If the peer removes the handler before its next poll, the handler
    /// does not run, and only the report of on_refused() shows that.
    [[nodiscard]] Status store(std::size_t peer, std::uint64_t address,
                               std::span<const std::byte> source, std::uint16_t handler,
                               std::uint32_t argument = 0);
    /// As store(), but does not block. ok: the store is queued. The caller must keep `source`
    /// unchanged until the Endpoint calls `done` with the result: ok, no_handler, forbidden,
    /// peer_lost or closed. If this call returns another status than ok, the Endpoint does not call
    /// `done`. would_block: see request(), or too many stores to the peer are under way.
    /// not_allowed: called inside a handler, or `handler` is 0. Also no_such_peer and too_long.
    [[nodiscard]] Status store_async(std::size_t peer, std::uint64_t address,
                                     std::span<const std::byte> source, std::uint16_t handler,
                                     std::uint32_t argument, Done done);

    /// Copies the peer's registered memory at `address` into `destination`. The call blocks until
    /// all bytes have arrived or the peer is lost. It never returns would_block: if there is no
    /// room for the get, the call waits. ok: the bytes have arrived. forbidden: the peer did not
    /// give this node Rights::get for these bytes. A get of 0 bytes needs it, too. not_allowed:
    /// called inside a handler or callback. Also peer_lost, no_such_peer and too_long. If the
    /// status is not ok, `destination` may hold some of the bytes.
    [[nodiscard]] Status get(std::size_t peer, std::uint64_t address,
                             std::span<std::byte> destination);
    /// As get(), but does not block. ok: the get is queued. The caller must not use `destination`
    /// until the Endpoint calls `done` with the result: ok, forbidden, peer_lost or closed. If this
    /// call returns another status than ok, the Endpoint does not call `done`. would_block: see
    /// request(), or too many gets are under way or wait for the poll that calls their `done`.
    /// not_allowed: called inside a handler. Also no_such_peer and too_long.
    [[nodiscard]] Status get_async(std::size_t peer, std::uint64_t address,
                                   std::span<std::byte> destination, Done done);

    // Memory of this node.

    /// Allocates `bytes` bytes, all 0, with the alignment of malloc(). The Endpoint owns this
    /// memory, and frees it in deallocate(), close() or the destructor. If the Endpoint is moved,
    /// the memory stays at its address, and the new Endpoint owns it. Failure: `bytes` is 0, or no
    /// memory is left.
    ///
    /// On shared memory, if this memory is registered for a peer, the peer can map it. A store or
    /// get of that peer then copies the bytes once, without a system call. To and from other
    /// registered memory, the kernel copies the bytes, or they travel in packets.
    [[nodiscard]] Result<std::span<std::byte>> allocate(std::size_t bytes);
    /// Frees memory of allocate(). `memory` is the span that allocate() returned. ok: the memory is
    /// freed. would_block: it is not freed, because it is still registered, a transfer uses it, or
    /// a peer may still reach it. Call unregister_memory() if necessary, then poll(), then call
    /// again. not_allowed: allocate() did not return this span.
    [[nodiscard]] Status deallocate(std::span<std::byte> memory);

    /// Registers `memory`: `peer`, or each peer, may then use it in get() and store(), as `rights`
    /// says. The memory stays the caller's, and the caller must keep it until unregister_memory()
    /// has returned ok or the Endpoint has ended. Returns the address by which peers name the first
    /// byte. `memory` may have 0 bytes: it then permits stores and gets of 0 bytes. Failure:
    /// - no peer has this number;
    /// - `memory` overlaps memory that is registered already for this peer; in the overload without
    ///   `peer`, for any peer (0 bytes count as 1 byte here);
    /// - an earlier registration at this address has not ended yet: unregister_memory() returned
    ///   would_block.
    [[nodiscard]] Result<std::uint64_t> register_memory(std::size_t peer,
                                                        std::span<std::byte> memory, Rights rights);
    [[nodiscard]] Result<std::uint64_t> register_memory(std::span<std::byte> memory, Rights rights);
    /// Ends the registration of the memory at `address`, for `peer` or for each peer. `address` is
    /// the number that register_memory() returned. The overload with `peer` also works for memory
    /// that is registered for each peer: the other peers can still reach it. ok: `peer`, or each
    /// peer, cannot reach the memory any more. would_block: a transfer uses the memory, or a peer
    /// may still reach it: call poll(), then call again. not_allowed: there is no registration at
    /// `address`. Also no_such_peer. If a store of a peer is under way, the store may end with
    /// forbidden although its bytes are in place.
    [[nodiscard]] Status unregister_memory(std::size_t peer, std::uint64_t address);
    [[nodiscard]] Status unregister_memory(std::uint64_t address);

    // Polling.

    /// Receives frames, runs handlers, and sends what is due. Returns how many messages and other
    /// events it handled. The end of a transfer is an event, for example. Inside a handler or a
    /// callback it does nothing and returns 0.
    ///
    /// The call ends when it finds no more frames, or when it has received about 4096 (256 on
    /// shared memory). So a peer that sends without end does not keep the call; the next call
    /// receives the other frames. A result of 0 does not mean that nothing more waits. Before the
    /// program sleeps, it must call arm().
    ///
    /// A poll may hold back requests, stores and gets that the program made since the last poll. A
    /// later poll then sends more of them together. A poll holds them back only if both conditions
    /// are true:
    /// - At least 128 packets to the peer are in flight, or a store or get to the peer has not
    /// ended.
    /// - The last poll was less than 50 us ago (10 us on shared memory).
    /// If the program continues to poll, no message waits longer than these 50 or 10 us. If the
    /// program makes no new request, store or get, the next poll sends all that wait.
    ///
    /// On shared memory with one peer: after this node has sent a message, the next polls may
    /// return 0 without looking for frames. This lasts 1 us at most. The time depends on how soon
    /// the peer answered earlier messages.
    std::size_t poll();

    /// Blocks until `until` returns true, at most for `limit`. Returns the last result of `until`.
    /// If `limit` passes first, this is false. An empty `until` counts as false. The call runs
    /// `until` first, and again after each poll. It sleeps while there is nothing to do; wake()
    /// ends the sleep. Inside a handler or a callback, wait() runs `until` once and returns its
    /// result. In wait(), flush() and close(), a limit below 0 counts as 0, and one above 30 days
    /// as 30 days. While the call waits, it sends keep-alives to each silent peer with which this
    /// node has a session. So the call notices when one of these peers dies.
    bool wait(const std::function<bool()>& until,
              std::chrono::milliseconds limit = std::chrono::hours(24));

    // Polling in an event loop (examples/event_loop.cpp):
    //
    //     poll();
    //     if (arm()) wait until event_fd() is readable, or next_timeout() has passed
    //
    // The loop repeats this. One loop may serve any number of Endpoints.

    /// A file descriptor for poll(2), select(2) or epoll(7). It becomes readable when wake() is
    /// called. After arm() has returned true, it also becomes readable when frames arrive. The
    /// Endpoint owns the descriptor: do not read, write or close it. It stays the same. -1: the
    /// Endpoint is closed.
    [[nodiscard]] int event_fd() const;
    /// Call arm() after poll(), immediately before the loop waits. True: the loop may wait. False:
    /// something has arrived or is due: call poll() first.
    [[nodiscard]] bool arm();
    /// How long the loop may wait, counted from this call. Zero: poll() is due now.
    /// nanoseconds::max(): there is no deadline, or the Endpoint is closed.
    [[nodiscard]] std::chrono::nanoseconds next_timeout() const;
    /// Makes event_fd() readable until the next poll. If a thread sleeps in wait(), this thread
    /// wakes, polls, and runs its condition again. Any thread and any signal handler may call
    /// wake() while no thread moves or destroys this Endpoint.
    void wake() const;

    /// True: the peers have acknowledged each message of this node, or were lost; each transfer has
    /// ended; and this node holds back no acknowledgement. The program may then stop polling for a
    /// while: no peer waits for it, unless the last acknowledgement was lost. Before it ends, it
    /// calls close() or leave().
    [[nodiscard]] bool idle() const;

    /// The counters of the traffic with `peer`. All are 0 if no peer has this number.
    [[nodiscard]] PeerCounters counters(std::size_t peer) const;

private:
    struct WIREPROOF_HIDDEN Inside;
    explicit Endpoint(std::unique_ptr<Inside> inside);
    /// The state that the calls use; nullptr: the Endpoint is closed.
    Inside* open_inside() const;
    static Result<Endpoint> open_as(const Options& options);
    class WIREPROOF_HIDDEN Joining;
    static void end(std::unique_ptr<Inside> inside);
    std::unique_ptr<Inside> inside_;
};

}  // namespace wireproof::am
