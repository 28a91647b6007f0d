// SP Active Messages over a real network: an Endpoint in each process, messages that run a handler
// at the other end, and one-sided stores and gets into memory that was registered for them.
//
// Each message arrives exactly once and in order, whatever the wire loses, duplicates, damages or
// reorders. If a message cannot be delivered, the Endpoint reports that to the caller. This header
// includes only the standard library and other public headers of Wireproof.
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

#include "wireproof/am_values.hpp"
#include "wireproof/export.hpp"
#include "wireproof/result.hpp"

namespace wireproof::am {

using wireproof::Result;

/// One node of a job. A peer is named by its number: the index in Options::peers.
///
/// Threads: one thread at a time may call an Endpoint. Any thread may call wake(). If the library
/// was built with assertions, a second thread inside it ends the program with one line on standard
/// error. The library starts no thread: an Endpoint sends and receives only inside its calls.
///
/// Blocking: a call does not block unless its description says so. A call that blocks polls until
/// it returns, so handlers and callbacks run.
///
/// Handlers and callbacks: a callback is a Done or a report (on_peer_lost, on_refused). Inside a
/// handler or callback, store, get, flush and close return not_allowed, poll does nothing, and wait
/// does not block. Inside a handler, request, store_async and get_async also return not_allowed.
/// Other calls are allowed. The condition of a wait may make all calls except close.
///
/// Sessions: two nodes begin a session when one of them sends to the other. It ends when the peer
/// is lost: see PeerLost. A peer that never answers is lost after Options::peer_timeout, too. The
/// Endpoint calls the `done` of each open transfer with peer_lost, then the report of on_peer_lost.
/// From that report on, the caller may send to the peer again, which begins a new session; until
/// then, new messages to the peer return would_block. Handlers and registered memory stay.
///
/// Memory: each call copies its message before it returns. The caller lends the bytes of a
/// transfer, `source` or `destination`, to the Endpoint until store or get returns, or until the
/// Endpoint calls `done`. The Endpoint owns, and frees, only the memory that allocate() returned.
///
/// Exceptions: if a handler, a callback or the condition of a wait throws, the exception leaves the
/// call that ran it (poll, wait, store, get, flush, close or request). The calls themselves throw
/// only std::bad_alloc. The Endpoint stays usable. The message counts as handled, a reply that its
/// handler made is sent, and the next poll handles the other messages that had arrived. If the call
/// was a request, that request is not posted. If it was a store or a get, that transfer may have
/// begun or not. Nobody learns its status, and its bytes stay lent until idle() is true.
///
/// Closed: an Endpoint is closed after close() or after it was moved from. Each call on it does
/// nothing. It returns `closed`, 0, -1, false, an empty text, a failure, or true (idle, arm). A
/// handler, callback or condition may move the Endpoint that runs it; the new Endpoint continues.
/// If it destroys that Endpoint, or assigns another to it, the program ends with one line of text.
///
/// fork: in a child process the Endpoint is closed. The socket and the rings in shared memory
/// belong to the parent. The child may destroy the Endpoint or exit; no callback runs then. The
/// parent and the child share only memory of allocate(). A child that was forked inside a handler
/// must call exec or exit and must not return from the handler.
class WIREPROOF_EXPORT Endpoint {
public:
    /// Opens the node `options.self`: it binds the address of this node. It does not wait for
    /// peers. Failure: error() of the Result names the wrong option, or the error of the system.
    [[nodiscard]] static Result<Endpoint> open(const Options& options);

    /// A move closes the other Endpoint. An assignment first does what the destructor does.
    Endpoint(Endpoint&&) noexcept;
    Endpoint& operator=(Endpoint&&) noexcept;
    /// Ends the node without waiting for peers. It calls the `done` of each open transfer with
    /// `closed`, so the objects that those callbacks use must still exist. Messages that are not
    /// acknowledged may be lost: close() waits for them.
    ~Endpoint();
    /// Blocks until idle() is true, at most for `limit`; then it does what the destructor does. ok:
    /// the peers have acknowledged all messages. peer_lost: a peer was lost meanwhile, as
    /// on_peer_lost reports. timed_out: `limit` passed first, and messages may be lost. The
    /// Endpoint is closed in all three cases. not_allowed: called inside a handler, a callback or
    /// the condition of a wait; the Endpoint stays open.
    Status close(std::chrono::milliseconds limit = std::chrono::seconds(10));

    /// False: the Endpoint was moved from or close() ended it, or this is a forked child.
    [[nodiscard]] bool is_open() const;
    /// The number of this node, and how many nodes the job has, this node included.
    [[nodiscard]] std::size_t self() const;
    [[nodiscard]] std::size_t nodes() const;
    /// The length of the longest request or reply, in bytes.
    [[nodiscard]] std::size_t message_max() const;
    /// The address at which this node listens, with the port that the system chose:
    /// "127.0.0.1:40123". On shared memory "shm:NAME".
    [[nodiscard]] std::string local_address() const;
    /// Sets the "address:port" of a peer on UDP, if Options::peers had none for it, or if the peer
    /// has another address now. While a peer has no address, a request, store or get to it returns
    /// no_such_peer, and the Endpoint drops its frames. A session with the peer goes on with the
    /// new address, and frames from the old one are dropped. If another Endpoint answers there, the
    /// peer is lost (restarted). Failure: this node is on shared memory, no peer has this number,
    /// `address` is not valid or not of the IP version of this node, or another peer has it.
    Result<void> set_peer_address(std::size_t peer, std::string_view address);

    // Handlers and reports. The Endpoint calls them inside calls that poll, in the thread of the
    // caller: poll, wait, store, get, flush, close and request.

    /// Registers `run`, in place of an earlier function: from now on the Endpoint calls it for each
    /// message that names `handler`. An empty `run` removes the handler. Inside a handler, the
    /// change takes effect when that handler returns. not_allowed: `handler` is 0. Otherwise ok.
    Status handle(std::uint16_t handler, Handler run);
    /// Registers `report`: the Endpoint calls it when a peer is lost. It replaces an earlier one.
    /// Without a report, only statuses and the `done` of transfers show the loss.
    void on_peer_lost(std::function<void(const PeerLost&)> report);
    /// Registers `report`, in place of an earlier one: the Endpoint calls it for each request or
    /// store of this node that the peer refused because it has no such handler. Such a store also
    /// ends with no_handler.
    void on_refused(std::function<void(std::size_t peer, std::uint16_t handler)> report);

    // Messages.

    /// Queues a request of these bytes, or of these words, that runs `handler` at the peer. The
    /// next poll sends it. On shared memory the call itself sends it, if the peer has acknowledged
    /// all earlier requests and nothing else waits to be sent to that peer. The call returns before
    /// the request arrives: flush() waits for that. Each 32nd call also polls, so handlers may run.
    ///
    /// ok: queued or sent. would_block: too many messages to the peer are not acknowledged yet, no
    /// set is free (see Options::active_peers), or the loss of the peer is not reported yet.
    /// too_long: more than message_max() bytes. Also no_such_peer. not_allowed: called inside a
    /// handler, or `handler` is 0.
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::span<const std::byte> bytes);
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::span<const std::uint32_t> words = {});
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::initializer_list<std::uint32_t> words) {
        return request(peer, handler, std::span(words.begin(), words.size()));
    }

    /// Blocks until the peer has acknowledged all messages to it and each transfer with it has
    /// ended, then returns ok. If there is nothing to wait for, it returns ok at once. The Endpoint
    /// of the peer has then received each message, but a handler there may still run. A reply can
    /// tell the caller that the handler has finished. timed_out: `limit` passed first; the messages
    /// are still under way. peer_lost: the peer was lost while the call waited. no_such_peer: no
    /// peer has this number. not_allowed: called inside a handler or callback.
    [[nodiscard]] Status flush(std::size_t peer,
                               std::chrono::milliseconds limit = std::chrono::hours(24));

    // Memory of a peer. An address is the number that register_memory returned at the peer, plus an
    // offset in bytes. The peer tells that number to this node, for example in a message.

    /// Copies `source` to `address` in the peer's registered memory. After that the peer runs
    /// `handler` with the memory and `argument`. The call blocks until the bytes are in place or
    /// the peer is lost. It does not wait for the handler. It never returns would_block: while
    /// there is no room for the store, it waits. On shared memory the bytes may be in place before
    /// the peer has handled earlier messages.
    ///
    /// ok: the bytes are in place. no_handler: the peer does not have `handler` when the first
    /// packet of the store arrives, or when the last packet arrives. No handler runs then, and the
    /// bytes may be in place or not. forbidden: the peer did not give this node the right to store
    /// there. A store of 0 bytes needs the right, too. Also peer_lost, no_such_peer and too_long.
    /// not_allowed: called inside a handler or callback, or `handler` is 0.
    ///
    /// On shared memory, the first store to a handler waits until the peer polls. Later stores to
    /// it do not wait, unless the peer has removed a handler since then. If a later store has
    /// returned ok, and the peer removes the handler before its next poll, the handler does not run
    /// for this store. Only on_refused reports that.
    [[nodiscard]] Status store(std::size_t peer, std::uint64_t address,
                               std::span<const std::byte> source, std::uint16_t handler,
                               std::uint32_t argument = 0);
    /// As `store`, but does not block. ok: the store is queued. The caller must keep `source`
    /// unchanged until the Endpoint calls `done` with the result: ok, no_handler, forbidden,
    /// peer_lost or closed. After any other status the Endpoint does not call `done`: would_block
    /// (see request(); or too many stores to the peer are under way), no_such_peer, too_long, or
    /// not_allowed (called inside a handler, or `handler` is 0).
    [[nodiscard]] Status store_async(std::size_t peer, std::uint64_t address,
                                     std::span<const std::byte> source, std::uint16_t handler,
                                     std::uint32_t argument, Done done);

    /// Copies the peer's registered memory at `address` into `destination`. The call blocks until
    /// all bytes have arrived or the peer is lost. It never returns would_block: while there is no
    /// room for the get, it waits. ok: the bytes have arrived. forbidden: the peer did not give
    /// this node the right to get there. A get of 0 bytes needs the right, too. Also peer_lost,
    /// no_such_peer and too_long. not_allowed: called inside a handler or callback. After any
    /// status but ok, `destination` may hold some of the bytes.
    [[nodiscard]] Status get(std::size_t peer, std::uint64_t address,
                             std::span<std::byte> destination);
    /// As `get`, but does not block. ok: the get is queued. The caller must not use `destination`
    /// until the Endpoint calls `done` with the result: ok, forbidden, peer_lost or closed. After
    /// any other status the Endpoint does not call `done`: would_block (see request(); or too many
    /// gets from the peer are under way), no_such_peer, too_long, or not_allowed (inside a
    /// handler).
    [[nodiscard]] Status get_async(std::size_t peer, std::uint64_t address,
                                   std::span<std::byte> destination, Done done);

    // Memory of this node.

    /// Allocates `bytes` bytes, all 0. The Endpoint owns them and frees them in deallocate(),
    /// close() or the destructor. If the memory is registered, a store or get over shared memory
    /// copies them once, not through the kernel. Failure: `bytes` is 0, or no memory is left.
    [[nodiscard]] Result<std::span<std::byte>> allocate(std::size_t bytes);
    /// Frees memory of allocate(). `memory` is the span that allocate() returned. ok: it is freed.
    /// would_block: it is still registered, a transfer uses it, or a peer may still reach it. The
    /// memory stays; poll and call again. not_allowed: allocate() did not return this span.
    [[nodiscard]] Status deallocate(std::span<std::byte> memory);

    /// Lets `peer`, or each peer, get from or store to `memory`, as `rights` says. The memory stays
    /// the caller's, and the caller must keep it until unregister_memory has returned ok or the
    /// Endpoint has ended. Returns the address by which peers name its first byte. Failure: no peer
    /// has this number, or the memory overlaps other memory that is registered for such a peer.
    [[nodiscard]] Result<std::uint64_t> register_memory(std::size_t peer,
                                                        std::span<std::byte> memory, Rights rights);
    [[nodiscard]] Result<std::uint64_t> register_memory(std::span<std::byte> memory, Rights rights);
    /// Ends the registration of the memory at `address`, for `peer` or for each peer. `address` is
    /// the number that register_memory returned. The overload with `peer` also works for memory
    /// that is registered for each peer: the other peers keep it. ok: the peer, or each peer,
    /// cannot reach the memory any more. would_block: a transfer uses it, or a peer may still reach
    /// it: poll and call again. not_allowed: there is no such registration. Also no_such_peer. A
    /// store of a peer that is under way may end with forbidden though its bytes are in place.
    [[nodiscard]] Status unregister_memory(std::size_t peer, std::uint64_t address);
    [[nodiscard]] Status unregister_memory(std::uint64_t address);

    // Polling.

    /// Receives frames, runs handlers, and sends what is due. Returns how many messages and other
    /// events, for example ends of transfers, it handled. Inside a handler or a callback it does
    /// nothing and returns 0.
    ///
    /// A poll may hold back requests, stores and gets that were made since the last poll, so that a
    /// later poll sends more of them together. It does so only if (a) and (b) are true. (a) At
    /// least 128 packets to the peer are in flight, or the peer has not answered a transfer yet.
    /// (b) The last poll was less than 50 us ago (10 us on shared memory). No message waits longer
    /// than this time if the program continues to poll. If the program makes no new request, store
    /// or get, the next poll sends all that wait.
    ///
    /// On shared memory with one peer: after this node has sent a message, the next polls may
    /// return 0 without looking for frames. They do so for at most 1 us, and for less time if
    /// earlier answers came sooner.
    std::size_t poll();

    /// Blocks until `until` returns true, at most for `limit`. Returns the last result of `until`:
    /// false if `limit` has passed, or if `until` is empty. It calls `until` first and then after
    /// each poll, and sleeps while there is nothing to do; wake() ends the sleep. In wait, flush
    /// and close, a limit below 0 counts as 0, and one above 30 days as 30 days. Inside a handler
    /// or a callback the call only returns what `until` returns. While it waits, it sends
    /// keep-alives to each silent peer with which it has a session, so that it notices the death of
    /// a peer.
    bool wait(const std::function<bool()>& until,
              std::chrono::milliseconds limit = std::chrono::hours(24));

    // Polling in an event loop (examples/event_loop.cpp):
    //
    //     poll();
    //     if (arm()) wait until event_fd() is readable, or next_timeout() has passed
    //
    // The loop repeats this. One loop may serve any number of Endpoints.

    /// A file descriptor that becomes readable when frames arrive or wake() is called. The Endpoint
    /// owns it, and it stays the same: pass it to poll, select or epoll; do not read, write or
    /// close it. -1: the Endpoint is closed.
    [[nodiscard]] int event_fd() const;
    /// Call it after poll(), immediately before the loop waits. True: the loop may wait. False:
    /// something has arrived or is due: call poll() first.
    [[nodiscard]] bool arm();
    /// How long the loop may wait, counted from this call. Zero: poll() is due now.
    /// nanoseconds::max(): there is no deadline.
    [[nodiscard]] std::chrono::nanoseconds next_timeout() const;
    /// Ends the sleep of wait(), which then polls and calls its condition again, and makes
    /// event_fd() readable until the next poll. Any thread and any signal handler may call it while
    /// no thread moves or destroys this Endpoint.
    void wake() const;

    /// True: each message of this node is acknowledged or its peer was lost, each transfer has
    /// ended, and this node holds back no acknowledgement. If the Endpoint is closed now, or does
    /// not poll for a while, no peer waits for it.
    [[nodiscard]] bool idle() const;

    /// The counters of the traffic with `peer`. All are 0 if `peer` is this node or no node at all.
    [[nodiscard]] PeerCounters counters(std::size_t peer) const;

private:
    struct WIREPROOF_HIDDEN Inside;
    explicit Endpoint(std::unique_ptr<Inside> inside);
    /// The state that the calls use; nullptr: the Endpoint is closed.
    Inside* open_inside() const;
    static Result<Endpoint> open_as(const Options& options);
    static void end(std::unique_ptr<Inside> inside);
    std::unique_ptr<Inside> inside_;
};

}  // namespace wireproof::am
