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
    would_block,  // the window is full; nothing was queued: poll and call again
    too_long,     // more words than one packet holds
    not_allowed,  // from inside a handler; a second reply; a reply to a reply; handler 0
    no_such_peer,
    peer_lost,   // the peer is silent or was restarted: whether the message arrived is not known
    no_handler,  // the peer has no handler of that number, so none ran
    forbidden,   // the peer registered no such memory for us, or not with that right
    closed,      // this Endpoint was moved from, is being destroyed, or is a forked child's
};

/// Its name, as above.
WIREPROOF_EXPORT std::string_view name_of(Status status);

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
    /// Every node's "address:port", our own included, all of IPv4 or all of IPv6 and no two alike;
    /// our own may be 0.0.0.0 or [::] and a port, for every address of this host. Or, for processes
    /// of one host, "shm:NAME" for each, the same NAME, which leaves no file. With '/' in it NAME
    /// is the beginning of a path, for containers that share a folder. At most 65,536 nodes on UDP
    /// and 256 on shared memory, where each peer takes one file descriptor, and each allocation
    /// that it maps another.
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
/// Threads: it belongs to one thread at a time. Where the library was built with assertions, two
/// threads in it at once end the program with one line.
///
/// Exceptions: what a handler, a callback or the condition of a wait throws leaves the call that
/// ran it (poll, wait, store, request), and nothing else throws but std::bad_alloc. The Endpoint
/// stays usable: the message counts as handled, a reply that its handler made is sent, and what
/// else had arrived is handled by the next poll. A request that is left in this way was not posted.
/// A store that is may or may not have begun; nobody is told its status, and its source stays lent
/// until idle() is true.
///
/// Moved from: every call on it does nothing and answers `closed`, 0, false, true (idle) or a
/// failure. An Endpoint may be moved from inside its own handlers and callbacks: the new one goes
/// on. To destroy it there, or to assign another to it, ends the program with one line.
///
/// fork: in a child the Endpoint is closed, as if it were moved from; is_open() says so. Its
/// socket, and its rings of shared memory, are the parent's alone; the child may destroy it, or
/// exit, and runs no callbacks. Only memory of allocate() stays shared with the parent. A child
/// that was forked inside a handler must not return from it: let it exec or exit.
class WIREPROOF_EXPORT Endpoint {
public:
    /// Binds the own address; peers need not be there yet. A failure names the option.
    [[nodiscard]] static Result<Endpoint> open(const Options& options);

    Endpoint(Endpoint&&) noexcept;
    Endpoint& operator=(Endpoint&&) noexcept;
    /// Callbacks of transfers that have not ended are called with `closed`, so what they refer to
    /// must live as long. Whether those transfers take place is not known. Messages that are not
    /// acknowledged may be lost; wait until idle() to avoid that.
    ~Endpoint();

    /// False: moved from, or in a forked child.
    bool is_open() const;
    std::size_t self() const;
    std::size_t nodes() const;
    /// The longest request or reply, in 32-bit words.
    std::size_t words_max() const;

    /// Calls `run` for each message that arrives for `handler`. It replaces an earlier function; an
    /// empty one removes it. A call from inside a handler takes effect when that handler has
    /// returned. not_allowed: handler 0, which no message can name.
    Status handle(std::uint16_t handler, Handler run);
    /// Has `report` hear of peers that are lost. Without one, losses show only in statuses.
    void on_peer_lost(std::function<void(const PeerLost&)> report);

    /// Has `report` hear of requests and stores that named a handler the peer does not have; a
    /// store's own status says so, too.
    void on_refused(std::function<void(std::size_t peer, std::uint16_t handler)> report);

    /// Sends a request, with the next poll; on shared memory at once where the peer has
    /// acknowledged all of ours and nothing else waits to leave to it. The words are copied. Polls
    /// at every 32nd call. would_block: poll, call again. not_allowed: from a handler; handler 0.
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::span<const std::uint32_t> words = {});
    [[nodiscard]] Status request(std::size_t peer, std::uint16_t handler,
                                 std::initializer_list<std::uint32_t> words) {
        return request(peer, handler, std::span(words.begin(), words.size()));
    }

    /// Copies `source` to `address` in the peer's registered memory, then runs the peer's `handler`
    /// with the memory and `argument`. Blocks until the bytes are in place or the peer is lost. On
    /// shared memory the bytes may be in place before the peer has handled earlier messages.
    /// no_handler: the peer does not have the handler when the first packet of the store arrives,
    /// or no longer has it when the last one does. No handler runs; the bytes may be in place or
    /// not. On shared memory the first store to a handler waits until the peer polls, later ones do
    /// not, unless the peer has removed a handler since: of one that it removes before it next
    /// polls, on_refused tells. forbidden: the peer gave no right to store there. A store of no
    /// bytes needs it, too.
    [[nodiscard]] Status store(std::size_t peer, std::uint64_t address,
                               std::span<const std::byte> source, std::uint16_t handler,
                               std::uint32_t argument = 0);

    /// As `store`, but returns at once: `source` stays put until `done` was called.
    [[nodiscard]] Status store_async(std::size_t peer, std::uint64_t address,
                                     std::span<const std::byte> source, std::uint16_t handler,
                                     std::uint32_t argument, Done done);

    /// Copies the peer's registered memory at `address` into `destination`, which stays put until
    /// `done` was called. forbidden: the peer gave no right to get there. A get of no bytes needs
    /// it, too.
    [[nodiscard]] Status get(std::size_t peer, std::uint64_t address,
                             std::span<std::byte> destination, Done done);

    /// Zeroed memory that lasts as long as the Endpoint. Registered, peers on shared memory store
    /// to it and get from it with one copy, without the kernel. Failure: no bytes were asked for,
    /// or there is not so much memory.
    [[nodiscard]] Result<std::span<std::byte>> allocate(std::size_t bytes);

    /// Lets `peer` reach `memory`, which stays put until it is unregistered. Peers name its first
    /// byte by the number returned. Failure: no such peer, or the memory overlaps other of that
    /// peer's.
    [[nodiscard]] Result<std::uint64_t> register_memory(std::size_t peer,
                                                        std::span<std::byte> memory, Rights rights);
    /// not_allowed: nothing is registered at `address`; would_block: a transfer is using it, or the
    /// peer may still reach it: poll and call again. Only after ok may the memory go. A store that
    /// was under way may end as forbidden though its bytes are in place.
    [[nodiscard]] Status unregister_memory(std::size_t peer, std::uint64_t address);

    /// Takes what has arrived, runs handlers, sends what is due. Returns the messages handled. Does
    /// not block. From inside a handler or a callback it does nothing. While 128 packets of
    /// requests and stores to a peer are under way, or stores and gets that it has not answered,
    /// and polls follow one another within 50 us (10 us on shared memory), those made since the
    /// last poll may leave with a later one, so long after at most where polls go on. On shared
    /// memory, with one peer, polls do not look while by the last waits no message can be there
    /// yet: for a microsecond at most.
    std::size_t poll();

    /// Polls until `until` says so: true; or for `limit`: false. A limit below 0 is as 0, one above
    /// 30 days is 30 days. Sleeps while there is nothing to do. From inside a handler or a callback
    /// it only asks `until`. While it waits, peers with a session are asked for a sign of life, so
    /// a dead one is reported.
    bool wait(const std::function<bool()>& until,
              std::chrono::milliseconds limit = std::chrono::hours(24));

    /// Nothing of ours is unacknowledged or under way, and no acknowledgement of ours is held back:
    /// an Endpoint that is closed now, or does not poll for a while, leaves nobody waiting.
    bool idle() const;

    /// All 0 of ourselves, and of a number that no peer has.
    PeerCounters counters(std::size_t peer) const;

private:
    struct WIREPROOF_HIDDEN Inside;
    explicit Endpoint(std::unique_ptr<Inside> inside);
    /// What the calls work on; nullptr: `closed`.
    Inside* open_inside() const;
    static void close(std::unique_ptr<Inside> inside);
    std::unique_ptr<Inside> inside_;
};

}  // namespace wireproof::am
