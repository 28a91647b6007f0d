// SP Active Messages over a real network: an Endpoint in each process, messages that run a handler
// at the other end, and one-sided stores and gets into memory that was registered for them.
//
// Messages arrive exactly once and in order, whatever the wire loses, repeats, damages or reorders;
// or the caller hears of it. This header stands alone: it includes the standard library only.
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

/// What became of a call.
enum class Status : std::uint8_t {
    ok,
    would_block,   // there is no room now and nothing was queued: poll and call again
    too_long,      // more words than one packet holds
    not_allowed,   // not from inside a handler or callback; or see the call
    no_such_peer,  // or its address is not known yet
    peer_lost,     // the peer is silent or was restarted: whether the message arrived is not known
    no_handler,    // the peer has no handler of that number, so none ran
    forbidden,     // the peer registered no such memory for us, or not with that right
    closed,        // this Endpoint was moved from, is being destroyed, or is a forked child's
    timed_out,     // the limit of flush or close passed first
};

/// Its name, as above.
[[nodiscard]] WIREPROOF_EXPORT std::string_view name_of(Status status);

/// The words a message came with, read where they lie. Dead when the handler returns.
class WIREPROOF_EXPORT Words {
public:
    explicit Words(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::size_t size() const { return bytes_.size() / 4; }
    /// 0 beyond the end: how many came is the peer's choice.
    std::uint32_t operator[](std::size_t index) const;
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

/// What a handler is called with. Handlers must not block, and may send nothing but `reply`.
class WIREPROOF_EXPORT Message {
public:
    /// The node that sent it.
    std::size_t peer() const { return peer_; }
    const Words& words() const { return words_; }
    /// Of a store: the bytes that are now in place, and the word that came with them.
    std::span<std::byte> memory() const { return memory_; }
    std::uint32_t argument() const { return argument_; }

    /// Answers a request or a store, at most once; not_allowed otherwise. Never fails for room.
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

/// May throw: the exception leaves the call that ran the handler, see Endpoint.
using Handler = std::function<void(const Message&)>;
/// Called once, from within poll or wait, when a transfer has ended; or with `closed` from the
/// Endpoint's destructor, where it must not throw. It may begin another transfer. May be empty.
using Done = std::function<void(Status)>;

/// A message whose fate is unknown because its session ended.
struct Undelivered {
    enum class Kind : std::uint8_t { request, reply, store, get };
    Kind kind = Kind::request;
    std::uint16_t handler = 0;         // 0 for a get
    std::vector<std::uint32_t> words;  // of a request or reply
};

/// The end of all that was under way with a peer.
struct WIREPROOF_EXPORT PeerLost {
    enum class Why : std::uint8_t {
        silent,      // nothing was heard of it for the peer timeout
        restarted,   // it began anew
        gone,        // its process is gone, or its memory
        unanswered,  // it answers, but one packet was sent again and again and never arrived
    };
    std::size_t peer = 0;
    Why why = Why::silent;
    std::size_t packet_bytes = 0;    // of an unanswered packet, headers of IP and UDP not counted
    std::uint32_t packet_times = 0;  // and how often it was sent again
    /// The peer ended what was under way, and said why: it was silent to it, or a packet of the
    /// peer's never arrived here.
    bool by_peer = false;
    /// What the system answered instead of carrying frames to it, since it was last heard:
    /// "Network is unreachable (sendmsg)". Empty: nothing.
    std::string cause;
    std::vector<Undelivered> undelivered;  // in the order they were sent, channel by channel

    /// One line without an end: "node 1 is silent", "node 1 is unreachable: Network is unreachable
    /// (sendmsg)", "node 1 was restarted", "node 1 is gone", and of an unanswered packet its
    /// size.
    std::string message() const;
};

/// Faults put on every frame sent, for tests; all probabilities, 0 to 1.
struct Faults {
    double loss = 0;
    double bit_error = 0;  // per bit
    double duplicate = 0;
    double reorder = 0;  // held back behind the next 1 to 8
};

/// Whether an Endpoint sends less than its windows allow when the path is full, so that flows that
/// share it get about the same.
enum class CongestionControl : std::uint8_t {
    between_hosts,  // to peers on UDP whose address is not a loopback one
    always,         // to all peers on UDP
    never,
};

struct Options {
    /// Every node's "address:port", our own included, all of IPv4 or all of IPv6 and no two alike.
    /// Our own may be 0.0.0.0 or [::] and a port, for every address of this host, and its port may
    /// be 0: the system chooses one, see Endpoint::local_address. A peer's may be empty: it is not
    /// known yet, see Endpoint::set_peer_address.
    ///
    /// Or, for processes of one host, "shm:NAME" for each, the same NAME, which leaves no file.
    /// With '/' in it NAME is the beginning of a path, for containers that share a folder.
    ///
    /// At most 65,536 nodes on UDP and 256 on shared memory, where each peer takes one file
    /// descriptor, and each allocation that it maps another.
    std::vector<std::string> peers;
    std::size_t self = 0;    // which of them we are
    std::uint64_t job = 0;   // frames of another job are dropped and counted
    std::size_t mtu = 1500;  // bytes of an IP packet, 108 (IPv6: 128) to 65535; the same in all
                             // nodes; not of shm
    std::chrono::milliseconds peer_timeout{10'000};  // 1 ms to a day
    CongestionControl congestion_control = CongestionControl::between_hosts;
    /// On UDP: bytes of stores and gets are trusted to the carrier, whose own checks are then all
    /// there is; headers, messages and a store's first packet keep their CRC-32C. The same in all
    /// nodes.
    bool trust_payload = false;
    /// How many peers may be asked for something at once, 1 to 65,535. The Endpoint lends each of
    /// them a set of windows and send buffers, about 1 MiB, and takes it back when that traffic has
    /// ended. It keeps an eighth as many sets for peers that only ask us. A peer without a set
    /// takes about 6 KiB. When all sets are lent, a request, a store or a get to another peer
    /// returns would_block, and messages from another peer wait at their sender.
    std::size_t active_peers = 256;
    std::uint64_t seed = 0;  // of session nonces and faults; 0: from the system
    Faults faults{};
};

/// Rights that a peer has on registered memory.
struct Rights {
    bool get = false;
    bool store = false;
};

/// Counters of the traffic with one peer, since the Endpoint was opened. `received` counts frames
/// by what became of them, in the order of `verdict_names`.
inline constexpr std::array<std::string_view, 10> verdict_names = {
    "accepted", "held",    "control",   "duplicate", "out_of_sequence",
    "stale",    "corrupt", "malformed", "foreign",   "refused"};
struct PeerCounters {
    std::array<std::uint64_t, verdict_names.size()> received{};
    std::uint64_t mismatched = 0;  // hellos of our job from another configuration, an MTU say
    std::uint64_t sent = 0;        // frames, resent ones too
    std::uint64_t resent = 0;
    std::uint64_t acks = 0;  // frames that only acknowledge
    std::uint64_t nacks = 0;
    std::uint64_t overruns = 0;  // of the peer's: what is missing found no room at its host
    std::uint64_t keepalives = 0;
    std::uint64_t hellos = 0;
    std::uint64_t timeouts = 0;  // keep-alive timers that ran out
    std::uint64_t sessions = 0;
    std::uint64_t unhandled_replies = 0;  // to handlers that we do not have
    std::uint64_t unsent = 0;             // frames that the system refused to send
    std::uint64_t refused = 0;            // would_block for Options::active_peers
};

/// One node of a job.
///
/// Threads: an Endpoint belongs to one thread at a time; only wake() may be called by any thread.
/// Where the library was built with assertions, two threads in it at once end the program with one
/// line. Nothing moves while no call of it runs: no thread works behind the program's back.
///
/// Blocking: a call does not block unless its description says so. While a call blocks it polls, so
/// handlers and callbacks run. Blocking calls are refused (not_allowed) inside handlers and
/// callbacks.
///
/// Memory: words are copied before a call returns. A source or destination of bytes is lent until
/// the call, or its `done`, has told the end. The Endpoint never frees memory of the caller's.
///
/// Exceptions: what a handler, a callback or the condition of a wait throws leaves the call that
/// ran it (poll, wait, store, get, flush, close, request), and nothing else throws but
/// std::bad_alloc. The Endpoint stays usable: the message counts as handled, a reply that its
/// handler made is sent, and what else had arrived is handled by the next poll. A request that is
/// left in this way was not posted. A store or get that is may or may not have begun; nobody is
/// told its status, and its bytes stay lent until idle() is true.
///
/// Moved from: every call on it does nothing and answers `closed`, 0, false, true (idle, arm) or a
/// failure. An Endpoint may be moved from inside its own handlers and callbacks: the new one goes
/// on. To destroy it there, or to assign another to it, ends the program with one line.
///
/// fork: in a child the Endpoint is closed, as if it were moved from; is_open() says so. Its
/// socket, and its rings of shared memory, are the parent's alone; the child may destroy it, or
/// exit, and runs no callbacks. Only memory of allocate() stays shared with the parent. A child
/// that was forked inside a handler must not return from it: let it exec or exit.
class WIREPROOF_EXPORT Endpoint {
public:
    /// Binds the own address and returns; peers need not be there yet. A failure is one line that
    /// names the option.
    [[nodiscard]] static Result<Endpoint> open(const Options& options);

    Endpoint(Endpoint&&) noexcept;
    Endpoint& operator=(Endpoint&&) noexcept;
    /// Ends at once. Callbacks of transfers that have not ended are called with `closed`, so what
    /// they refer to must live as long. Whether those transfers take place is not known. Messages
    /// that are not acknowledged may be lost: close() waits for them.
    ~Endpoint();
    /// Blocks until idle(), or for `limit`, then ends as the destructor does. ok: the peers have
    /// all that was sent to them. timed_out: perhaps not; it has ended all the same. not_allowed:
    /// inside a handler or callback, and nothing has happened.
    Status close(std::chrono::milliseconds limit = std::chrono::seconds(10));

    /// False: moved from, ended by close(), or in a forked child.
    [[nodiscard]] bool is_open() const;
    [[nodiscard]] std::size_t self() const;
    [[nodiscard]] std::size_t nodes() const;
    /// The longest request or reply, in 32-bit words.
    [[nodiscard]] std::size_t words_max() const;
    /// Where this node listens, with the port that the system chose: "127.0.0.1:40123"; on shared
    /// memory "shm:NAME".
    [[nodiscard]] std::string local_address() const;
    /// Tells the "address:port" of a peer for which Options::peers had none, or which has moved.
    /// Until then calls that name it answer no_such_peer, and its frames are dropped. Failure: it
    /// cannot be a peer's address, or another peer has it.
    Result<void> set_peer_address(std::size_t peer, std::string_view address);

    // Handlers and reports. They run inside the calls that poll, in the thread that calls.

    /// Calls `run` for each message that arrives for `handler`. It replaces an earlier function; an
    /// empty one removes it. A call from inside a handler takes effect when that handler has
    /// returned. not_allowed: handler 0, which no message can name.
    Status handle(std::uint16_t handler, Handler run);
    /// Calls `report` when a peer is lost. Without one, losses show only in statuses.
    void on_peer_lost(std::function<void(const PeerLost&)> report);
    /// Calls `report` for each request and store that named a handler the peer does not have; a
    /// store's own status says so, too.
    void on_refused(std::function<void(std::size_t peer, std::uint16_t handler)> report);

    // Messages.

    /// Sends a request, with the next poll; on shared memory at once where the peer has
    /// acknowledged all of ours and nothing else waits to leave to it. Returns before the peer has
    /// it: flush() waits for that. The words are copied. Polls at every 32nd call. ok, would_block,
    /// too_long, no_such_peer; not_allowed: from a handler; handler 0.
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::span<const std::uint32_t> words = {});
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::initializer_list<std::uint32_t> words) {
        return request(peer, handler, std::span(words.begin(), words.size()));
    }

    /// Blocks until the peer has acknowledged all that was sent to it and every transfer with it
    /// has ended; or for `limit`: timed_out. peer_lost: the peer was lost meanwhile. Also
    /// no_such_peer, and not_allowed inside a handler or callback.
    [[nodiscard]] Status flush(std::size_t peer,
                               std::chrono::milliseconds limit = std::chrono::hours(24));

    // Memory of a peer. An address is a number that the peer's register_memory returned, or that
    // plus an offset in bytes.

    /// Copies `source` to `address` in the peer's registered memory, then runs the peer's `handler`
    /// with the memory and `argument`. Blocks until the bytes are in place or the peer is lost. On
    /// shared memory the bytes may be in place before the peer has handled earlier messages.
    ///
    /// no_handler: the peer does not have the handler when the first packet of the store arrives,
    /// or no longer has it when the last one does. No handler runs; the bytes may be in place or
    /// not. On shared memory the first store to a handler waits until the peer polls, later ones do
    /// not, unless the peer has removed a handler since: of one that it removes before it next
    /// polls, on_refused tells. forbidden: the peer gave no right to store there. A store of no
    /// bytes needs it, too. Also peer_lost, no_such_peer, not_allowed.
    [[nodiscard]] Status store(std::size_t peer, std::uint64_t address,
                               std::span<const std::byte> source, std::uint16_t handler,
                               std::uint32_t argument = 0);
    /// As `store`, but returns at once: ok, would_block, no_such_peer or not_allowed (from a
    /// handler; handler 0). After ok, `source` stays unchanged until `done` was called with the
    /// end: ok, no_handler, forbidden, peer_lost or closed.
    [[nodiscard]] Status store_async(std::size_t peer, std::uint64_t address,
                                     std::span<const std::byte> source, std::uint16_t handler,
                                     std::uint32_t argument, Done done);

    /// Copies the peer's registered memory at `address` into `destination`. Blocks until all of it
    /// has arrived or the peer is lost. forbidden: the peer gave no right to get there. A get of no
    /// bytes needs it, too. Also peer_lost, no_such_peer, not_allowed.
    [[nodiscard]] Status get(std::size_t peer, std::uint64_t address,
                             std::span<std::byte> destination);
    /// As `get`, but returns at once: ok, would_block, no_such_peer or not_allowed (from a
    /// handler). After ok, `destination` stays the Endpoint's until `done` was called with the end:
    /// ok, forbidden, peer_lost or closed.
    [[nodiscard]] Status get_async(std::size_t peer, std::uint64_t address,
                                   std::span<std::byte> destination, Done done);

    // Memory of ours.

    /// Zeroed memory that lasts until deallocate() or as long as the Endpoint. Registered, peers on
    /// shared memory store to it and get from it with one copy, without the kernel. Failure: no
    /// bytes were asked for, or there is not so much memory.
    [[nodiscard]] Result<std::span<std::byte>> allocate(std::size_t bytes);
    /// Frees what allocate() returned. would_block: some of it is registered, a transfer uses it,
    /// or a peer may still reach it. not_allowed: allocate() did not return it.
    [[nodiscard]] Status deallocate(std::span<std::byte> memory);

    /// Lets `peer`, or every peer, reach `memory`, which stays in place until it is unregistered.
    /// Peers name its first byte by the number returned. Failure: no such peer, or the memory
    /// overlaps other memory that is registered for that peer.
    [[nodiscard]] Result<std::uint64_t> register_memory(std::size_t peer,
                                                        std::span<std::byte> memory, Rights rights);
    [[nodiscard]] Result<std::uint64_t> register_memory(std::span<std::byte> memory, Rights rights);
    /// Takes it back, from `peer` or from every peer. Only after ok may the memory go. would_block:
    /// a transfer is using it, or a peer may still reach it: poll and call again. not_allowed:
    /// nothing is registered at `address`. A store that was under way may end as forbidden though
    /// its bytes are in place.
    [[nodiscard]] Status unregister_memory(std::size_t peer, std::uint64_t address);
    [[nodiscard]] Status unregister_memory(std::uint64_t address);

    // Turns.

    /// Takes what has arrived, runs handlers, sends what is due. Returns the messages handled. From
    /// inside a handler or a callback it does nothing.
    ///
    /// It may hold back requests, stores and gets that were made since the last poll, to send more
    /// of them together: while 128 packets to the peer are in flight, or transfers that it has not
    /// answered, and polls follow one another within 50 us (10 us on shared memory). It holds them
    /// for that long at most where polls go on. On shared memory with one peer it does not look for
    /// frames before the last waits show that one can be there, and so for a microsecond at most.
    std::size_t poll();

    /// Blocks until `until` is true: true; or for `limit`: false. It asks `until` after each poll.
    /// A limit below 0 is as 0, one above 30 days is 30 days. Sleeps while there is nothing to do;
    /// wake() ends the sleep. From inside a handler or a callback it only asks `until`. While it
    /// waits, peers with a session are asked for a sign of life, so a dead one is reported.
    bool wait(const std::function<bool()>& until,
              std::chrono::milliseconds limit = std::chrono::hours(24));

    // Turns in an event loop (examples/event_loop.cpp):
    //
    //     poll();
    //     if (arm()) wait until event_fd() is readable, or next_timeout() has passed
    //
    // again and again. One loop may hold any number of Endpoints.

    /// A descriptor that is readable when frames have arrived or wake() was called. It stays the
    /// Endpoint's and the same: poll, select or epoll it, and do not read, write or close it. -1:
    /// closed, or the process may have no more descriptors.
    [[nodiscard]] int event_fd() const;
    /// Asked last before the loop waits. true: wait. false: something has arrived or is due, so
    /// poll first.
    [[nodiscard]] bool arm();
    /// How long the loop may wait, as of now: zero if something is due, nanoseconds::max() if
    /// nothing will be.
    [[nodiscard]] std::chrono::nanoseconds next_timeout() const;
    /// Ends the sleep of a wait(), which asks its condition again, and makes event_fd() readable
    /// until the next poll. Any thread may call it, and a signal handler, while this Endpoint is
    /// neither moved nor destroyed.
    void wake() const;

    /// Nothing of ours is unacknowledged or under way, and no acknowledgement of ours is held back:
    /// an Endpoint that is closed now, or does not poll for a while, leaves nobody waiting.
    [[nodiscard]] bool idle() const;

    /// All 0 of ourselves, and of a number that no peer has.
    [[nodiscard]] PeerCounters counters(std::size_t peer) const;

private:
    struct WIREPROOF_HIDDEN Inside;
    explicit Endpoint(std::unique_ptr<Inside> inside);
    /// What the calls work on; nullptr: `closed`.
    Inside* open_inside() const;
    static Result<Endpoint> open_as(const Options& options);
    static void end(std::unique_ptr<Inside> inside);
    std::unique_ptr<Inside> inside_;
};

}  // namespace wireproof::am
