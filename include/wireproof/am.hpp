// SP Active Messages over a real network: an Endpoint in each process, messages that run a handler
// at the other end, and one-sided stores and gets into memory that was registered for them.
//
// Each message arrives exactly once and in order, whatever the wire loses, duplicates, damages or
// reorders. If a message cannot be delivered, the Endpoint reports that to the caller. This header
// includes only the standard library and other public headers of Wireproof.
#pragma once

#include <array>
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

#include "wireproof/export.hpp"
#include "wireproof/result.hpp"

namespace wireproof::am {

using wireproof::Result;

/// The result of a call.
enum class Status : std::uint8_t {
    ok,
    would_block,   // there is no room now, and nothing was queued: poll and call again
    too_long,      // more than words_max() words, or a transfer of more than 2^62 bytes
    not_allowed,   // the call is not allowed here, or not with this argument: see the call
    no_such_peer,  // no peer has this number, or the address of the peer is not known yet
    peer_lost,     // the session with the peer ended: nobody knows whether the message arrived
    no_handler,    // the peer has no handler of this number, so no handler ran
    forbidden,     // the peer did not register this memory for this node, or not with this right
    closed,        // this Endpoint is closed, or a transfer had not ended when it was closed
    timed_out,     // the limit of flush or close passed first
};

/// The name of the enumerator: "would_block".
[[nodiscard]] WIREPROOF_EXPORT std::string_view name_of(Status status);

/// The 32-bit words of a received message. They are no copy, so they are valid in the handler only.
class WIREPROOF_EXPORT Words {
public:
    explicit Words(std::span<const std::byte> bytes) : bytes_(bytes) {}
    /// The number of words. The peer chooses it.
    std::size_t size() const { return bytes_.size() / 4; }
    /// The word at `index`; 0 if the message has fewer words.
    std::uint32_t operator[](std::size_t index) const;
    /// The same words as bytes, little-endian.
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

/// The argument of a handler, valid until the handler returns, and only in its thread. A handler
/// must not block. It may send one reply, by `reply`, and nothing else.
class WIREPROOF_EXPORT Message {
public:
    /// The number of the node that sent the message.
    std::size_t peer() const { return peer_; }
    /// The words of a request or a reply. A store has none.
    const Words& words() const { return words_; }
    /// The registered memory of this node that a store has written. It stays valid after the
    /// handler. An empty span: the message is a request or a reply, or the store has 0 bytes.
    std::span<std::byte> memory() const { return memory_; }
    /// The `argument` that the peer gave to store(). 0 if the message is a request or a reply.
    std::uint32_t argument() const { return argument_; }

    /// Sends a reply that runs `handler` at the peer. The call copies the words and returns at
    /// once. ok: the reply is queued or sent; there is always room for it. not_allowed: this
    /// message is a reply, its handler has replied already, or `handler` is 0. too_long: `words`
    /// has more than Endpoint::words_max() words.
    Status reply(std::uint16_t handler, std::span<const std::uint32_t> words = {}) const;
    Status reply(std::uint16_t handler, std::initializer_list<std::uint32_t> words) const {
        return reply(handler, std::span(words.begin(), words.size()));
    }

private:
    friend class Node;
    Message(class Node* node, std::size_t peer, std::span<const std::byte> words)
        : node_(node), peer_(peer), words_(words) {}

    class Node* node_;
    std::size_t peer_;
    Words words_;
    std::span<std::byte> memory_;
    std::uint32_t argument_ = 0;
};

/// A function that the Endpoint runs for each message with its number. It runs in the thread that
/// calls the Endpoint. It may throw: see "Exceptions" at Endpoint.
using Handler = std::function<void(const Message&)>;
/// A callback of store_async or get_async. The Endpoint calls it once, when the transfer has ended,
/// inside a call that polls. From then on the bytes of the transfer are the caller's again. A Done
/// may begin another transfer. It may be empty: then flush() or idle() tells when the transfer has
/// ended. The status is `closed` if the destructor, close() or a move assignment closed the
/// Endpoint before the transfer had ended. Nobody knows then how much of a store is in the memory
/// of the peer. A Done must not throw if the status is `closed`.
using Done = std::function<void(Status)>;

/// A message or transfer of this node that had not ended when the session with the peer ended.
/// Nobody knows whether it arrived. If the caller sends it again, it may take place twice.
struct Undelivered {
    enum class Kind : std::uint8_t { request, reply, store, get };
    Kind kind = Kind::request;
    std::uint16_t handler = 0;         // 0 if it is a get
    std::vector<std::uint32_t> words;  // empty unless it is a request or a reply
};

/// The report that a peer was lost: the session with it ended, and with it all messages and
/// transfers between the two nodes. See "Sessions" at Endpoint.
struct WIREPROOF_EXPORT PeerLost {
    enum class Why : std::uint8_t {
        silent,      // no frame of the peer arrived for Options::peer_timeout
        restarted,   // the peer has a new session: its process or its Endpoint was started again
        gone,        // on shared memory: the process of the peer, or the memory, is gone
        unanswered,  // the peer answers, but one packet never arrived though it was sent many times
    };
    std::size_t peer = 0;
    Why why = Why::silent;
    // If `why` is unanswered:
    std::size_t packet_bytes = 0;    // the length of the packet without the headers of IP and UDP
    std::uint32_t packet_times = 0;  // how many times its sender retransmitted the packet
    /// True: the peer ended the session and told this node why. If `why` is silent, no frame of
    /// this node arrived at the peer. If it is unanswered, a packet of the peer never arrived here.
    bool by_peer = false;
    /// The last error of the operating system for frames to the peer, and the system call: "Network
    /// is unreachable (sendmsg)". A frame that arrives from the peer clears the error, but not
    /// "Message too long". Empty: there is no error.
    std::string cause;
    /// First the requests, stores and gets that the peer had not acknowledged, then the replies,
    /// then the other transfers that had not ended; each group in the order of sending.
    std::vector<Undelivered> undelivered;

    /// The report as one line without a newline: "node 1 is silent", "node 1 is unreachable:
    /// Network is unreachable (sendmsg)", "node 1 was restarted", "node 1 is gone". For an
    /// unanswered packet the line has its size.
    std::string message() const;
};

/// Faults that the Endpoint applies to the frames that it sends, for tests: probabilities, 0 to 1.
struct Faults {
    double loss = 0;       // that a frame is lost
    double bit_error = 0;  // that a bit of a frame is inverted
    double duplicate = 0;  // that a frame leaves twice
    double reorder = 0;    // that a frame leaves after the next 1 to 8 frames
};

/// To which peers an Endpoint uses congestion control. With it, the Endpoint sends fewer packets
/// than its windows allow while the network path is congested, so that all flows on that path get
/// about the same share. open() decides it for each peer; set_peer_address does not change it.
enum class CongestionControl : std::uint8_t {
    // On UDP, to each peer whose address is not a loopback address. If the address of the peer is
    // not known, the address of this node counts.
    between_hosts,
    always,  // on UDP, to each peer
    never,
};

struct Options {
    /// The address of each node of the job, this node included. The index is the node's number.
    ///
    /// On UDP: numeric "address:port", all IPv4 or all IPv6, each different. The address of this
    /// node may be 0.0.0.0 or [::]: it listens at each address of this host. Its port may be 0: the
    /// system chooses one, see Endpoint::local_address. The address of a peer may be empty: it is
    /// not known yet, see Endpoint::set_peer_address. At most 65,536 nodes.
    ///
    /// On shared memory, for processes of one host: "shm:NAME" for each node, with one NAME for all
    /// of them. The job then leaves no file. If NAME has a '/', it is the beginning of a path, for
    /// containers that share a folder. At most 256 nodes. The Endpoint takes one file descriptor
    /// for each peer, and one for each allocation of a peer that it maps.
    std::vector<std::string> peers;
    std::size_t self = 0;   // the number of this node: an index of `peers`
    std::uint64_t job = 0;  // the same in all nodes; frames of another job are dropped and counted
    /// On UDP: the longest IP packet in bytes, 108 (IPv6: 128) to 65,535. The same in all nodes.
    std::size_t mtu = 1500;
    /// How long a peer may be silent before it is lost, 1 ms to 24 hours. This counts only while
    /// the Endpoint waits for an answer or for bytes of the peer, or while a call blocks.
    std::chrono::milliseconds peer_timeout{10'000};
    CongestionControl congestion_control = CongestionControl::between_hosts;
    /// On UDP. True: the bytes of stores and gets have no CRC-32C; only the checks of UDP and of
    /// the link find damage to them. Headers, messages and the first packet of a store keep their
    /// CRC-32C. The same in all nodes.
    bool trust_payload = false;
    /// To how many peers this node may send requests, stores and gets at once, 1 to 65,535. Each
    /// such peer has a set of windows and send buffers, about 1 MiB, until the traffic with it has
    /// ended. The Endpoint has further sets, one eighth of this number, for peers that only send
    /// requests, stores and gets to this node. A peer without a set takes about 6 KiB. While no set
    /// is free, request, store_async and get_async to a peer without one return would_block, store
    /// and get wait for a set, and messages from such a peer wait at that peer.
    std::size_t active_peers = 256;
    /// The seed of the random numbers for session numbers and `faults`. 0: the system chooses it.
    std::uint64_t seed = 0;
    Faults faults{};
};

/// What a peer may do with registered memory.
struct Rights {
    bool get = false;    // the peer may read it, by get()
    bool store = false;  // the peer may write it, by store()
};

/// The names of the entries of PeerCounters::received: what the Endpoint did with a received frame.
///
/// accepted: the frame is the next one. held: an earlier frame is missing, and the Endpoint keeps
/// this one. control: the frame carries no message, for example an acknowledgement. duplicate: it
/// has arrived before. out_of_sequence: an earlier frame is missing, and there is no room to keep
/// this one. stale: its number is not in the window. corrupt: its checksum is wrong. malformed: it
/// is no frame of this protocol. foreign: it is of another session, node or job. refused: there is
/// no room for it now.
inline constexpr std::array<std::string_view, 10> verdict_names = {
    "accepted", "held",    "control",   "duplicate", "out_of_sequence",
    "stale",    "corrupt", "malformed", "foreign",   "refused"};
/// Counters of the traffic with one peer since the Endpoint was opened.
struct PeerCounters {
    /// Frames received, by what the Endpoint did with them, in the order of `verdict_names`.
    std::array<std::uint64_t, verdict_names.size()> received{};
    /// Received HELLO frames of this job from a node with other options, for example another MTU.
    std::uint64_t mismatched = 0;
    std::uint64_t sent = 0;    // frames, retransmissions included
    std::uint64_t resent = 0;  // retransmissions
    std::uint64_t acks = 0;    // frames sent that only acknowledge
    std::uint64_t nacks = 0;   // frames sent that name missing packets
    /// How often this node began to retransmit because the peer's host had no room for frames.
    std::uint64_t overruns = 0;
    std::uint64_t keepalives = 0;         // frames sent that ask the peer what has arrived
    std::uint64_t hellos = 0;             // frames sent to agree on a session
    std::uint64_t timeouts = 0;           // keep-alive timers that expired
    std::uint64_t sessions = 0;           // sessions that began
    std::uint64_t unhandled_replies = 0;  // replies received for which this node has no handler
    std::uint64_t unsent = 0;             // frames that the operating system did not send
    std::uint64_t refused = 0;            // calls that found no free set: Options::active_peers
};

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
/// Memory: each call copies its words before it returns. The caller lends the bytes of a transfer,
/// `source` or `destination`, to the Endpoint until store or get returns, or until the Endpoint
/// calls `done`. The Endpoint owns, and frees, only the memory that allocate() returned.
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
    /// The longest request or reply, in 32-bit words.
    [[nodiscard]] std::size_t words_max() const;
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

    /// Queues a request that runs `handler` at the peer. The next poll sends it. On shared memory
    /// the call itself sends it, if the peer has acknowledged all earlier requests and nothing else
    /// waits to be sent to that peer. The call returns before the request arrives: flush() waits
    /// for that. Each 32nd call also polls, so handlers may run.
    ///
    /// ok: queued or sent. would_block: too many messages to the peer are not acknowledged yet, no
    /// set is free (see Options::active_peers), or the loss of the peer is not reported yet.
    /// too_long: more than words_max() words. Also no_such_peer. not_allowed: called inside a
    /// handler, or `handler` is 0.
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
    /// On shared memory with one peer, polls may begin to look for frames only some time after this
    /// node has sent a message: at most 1 us, and less if earlier answers came sooner.
    std::size_t poll();

    /// Blocks until `until` returns true, at most for `limit`. Returns the last result of `until`:
    /// false if `limit` has passed. It calls `until` first and then after each poll, and sleeps
    /// while there is nothing to do; wake() ends the sleep. In wait, flush and close, a limit below
    /// 0 counts as 0, and one above 30 days as 30 days. Inside a handler or a callback the call
    /// only returns what `until` returns. While it waits, it sends keep-alives to each silent peer
    /// with which it has a session, so that it notices the death of a peer.
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
