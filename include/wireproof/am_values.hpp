// The values of am.hpp: what calls take and return, what a handler reads, and the options.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/export.hpp"

namespace wireproof::am {

/// The result of a call.
enum class Status : std::uint8_t {
    ok,
    would_block,  // there is no room now, and nothing was queued: call poll(), then call again
    // The message has more than message_max() bytes, and store() has room for more; or the transfer
    // has more than 2^62.
    too_long,
    not_allowed,   // the call is not allowed here, or not with this argument: see the call
    no_such_peer,  // no peer has this number, or the address of the peer is not known yet
    peer_lost,     // the session with the peer ended: nobody knows whether the message arrived
    no_handler,    // the peer has no handler of this number, so no handler ran
    forbidden,     // the peer did not register this memory for this node, or not with this right
    closed,        // this Endpoint is closed, or it was closed before the transfer had ended
    timed_out,     // the limit of flush() or close() passed first
};

/// The name of the enumerator: "would_block". The text lives as long as the program. Any thread may
/// call it.
[[nodiscard]] WIREPROOF_EXPORT std::string_view name_of(Status status);

/// The bytes of a message, read as 32-bit words, little-endian. A Words object does not copy the
/// bytes: the words of a received message are valid only in the handler of this message.
class WIREPROOF_EXPORT Words {
public:
    explicit Words(std::span<const std::byte> bytes) : bytes_(bytes) {}
    /// The number of whole words. The peer chooses this number.
    std::size_t size() const { return bytes_.size() / 4; }
    /// The word at `index`; 0 if the message has fewer words.
    std::uint32_t operator[](std::size_t index) const;
    /// All bytes, also those after the last whole word.
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

/// The argument of a handler. It is valid until the handler returns, and only in the thread that
/// runs the handler. A handler must not block. It may send one reply, by reply(), and nothing else.
class WIREPROOF_EXPORT Message {
public:
    /// The number of the node that sent the message.
    std::size_t peer() const { return peer_; }
    /// The bytes of a request or a reply, as the peer gave them. A store has none.
    std::span<const std::byte> bytes() const { return words_.bytes(); }
    /// The same bytes as 32-bit words.
    const Words& words() const { return words_; }
    /// The bytes of a store, in the registered memory of this node. The span stays valid after the
    /// handler has returned. It is empty if the message is a request or a reply, or if the store
    /// has 0 bytes.
    std::span<std::byte> memory() const { return memory_; }
    /// The `argument` that the peer gave to store() or store_async(). 0 if the message is a request
    /// or a reply.
    std::uint32_t argument() const { return argument_; }

    /// Sends a reply with these bytes or words. The reply runs `handler` at the peer. The call
    /// copies the bytes or words, and returns at once. ok: the reply is queued or sent; there is
    /// always room for it. not_allowed: this message is a reply, its handler has replied already,
    /// or `handler` is 0. too_long: more than Endpoint::message_max bytes.
    Status reply(std::uint16_t handler, std::span<const std::byte> bytes) const;
    Status reply(std::uint16_t handler, std::span<const std::uint32_t> words = {}) const;
    Status reply(std::uint16_t handler, std::initializer_list<std::uint32_t> words) const {
        return reply(handler, std::span(words.begin(), words.size()));
    }

private:
    friend class Node;
    Message(class Node* node, std::size_t peer, std::span<const std::byte> bytes)
        : node_(node), peer_(peer), words_(bytes) {}

    class Node* node_;
    std::size_t peer_;
    Words words_;
    std::span<std::byte> memory_;
    std::uint32_t argument_ = 0;
};

/// A function with a number. The Endpoint runs it for each message that names this number, in the
/// thread that calls the Endpoint. The function may throw: see "Exceptions" at Endpoint.
using Handler = std::function<void(const Message&)>;
/// A callback of store_async() or get_async(). When the transfer has ended, the Endpoint calls the
/// Done once, inside a call that polls. From then on the bytes of the transfer are the caller's
/// again. A Done may begin another transfer. The caller may also give an empty Done, and learn from
/// flush() or idle() when the transfer has ended.
///
/// The status is `closed` if the destructor, close() or a move assignment closed the Endpoint
/// before the transfer had ended. Nobody knows then how much of a store is in the memory of the
/// peer. A Done must not throw if the status is `closed`.
using Done = std::function<void(Status)>;

/// A message or transfer of this node that had not ended when the session with the peer ended.
/// Nobody knows whether it arrived. If the caller sends it again, it may arrive twice.
struct Undelivered {
    enum class Kind : std::uint8_t { request, reply, store, get };
    Kind kind = Kind::request;
    std::uint16_t handler = 0;     // 0 for a get
    std::vector<std::byte> bytes;  // empty for a store or a get
    Words words() const { return Words(bytes); }
};

/// The report that a peer was lost: the session of the two nodes has ended, and so have all
/// messages and transfers between them. See "Sessions" at Endpoint.
struct WIREPROOF_EXPORT PeerLost {
    enum class Why : std::uint8_t {
        silent,      // no frame of the peer arrived within Options::peer_timeout
        restarted,   // the peer has a new session: its process or its Endpoint was started again
        gone,        // on shared memory: the process of the peer, or the memory, is gone
        unanswered,  // the peer answers, but one packet never arrived though it was sent many times
    };
    std::size_t peer = 0;
    Why why = Why::silent;
    // Only if `why` is unanswered:
    std::size_t packet_bytes = 0;    // the length of the packet without the headers of IP and UDP
    std::uint32_t packet_times = 0;  // how many times its sender retransmitted the packet
    /// False: this node ended the session. True: the peer ended the session, and told this node
    /// why. `why` is then what the peer saw:
    /// - silent: no frame of this node arrived at the peer within the peer_timeout of the peer.
    /// - unanswered: a packet that the peer sent never arrived at this node.
    bool by_peer = false;
    /// The last error that the operating system reported for frames to the peer, and the system
    /// call: "Network is unreachable (sendmsg)". A frame that arrives from the peer clears the
    /// error, but not "Message too long". On shared memory: what kept the two nodes from meeting,
    /// for example "cannot make 1052672 bytes of shared memory: Too many open files". Empty: there
    /// is no error, or nobody has come.
    std::string cause;
    /// The messages and transfers that had not ended, in this order:
    /// - requests, stores and gets that the peer had not acknowledged, in the order of sending;
    /// - replies, in the order of sending;
    /// - stores and gets that the peer had acknowledged in part.
    std::vector<Undelivered> undelivered;

    /// The report as one line without a newline: "node 1 is silent", "node 1 is unreachable:
    /// Network is unreachable (sendmsg)", "node 1 was restarted", "node 1 is gone". For an
    /// unanswered packet the line has its size.
    std::string message() const;
};

/// For tests: faults of the frames that the Endpoint sends. Each value is a probability, 0 to 1.
struct Faults {
    double loss = 0;       // that a frame is lost
    double bit_error = 0;  // that a bit of a frame is inverted
    double duplicate = 0;  // that a frame leaves twice
    double reorder = 0;    // that a frame leaves after the next 1 to 8 frames
};

/// Says to which peers an Endpoint sends with congestion control. While the network path to one of
/// these peers is congested, the Endpoint sends fewer packets than its windows allow. Other flows
/// on the path then get a share. open() decides for each peer, and set_peer_address() does not
/// change the decision. If one peer is of this kind, all frames of the Endpoint allow routers to
/// mark them (ECN). The sender then slows down before the router must drop frames.
enum class CongestionControl : std::uint8_t {
    // On UDP, to each peer whose address is not a loopback address. If the address of the peer is
    // not known, the address of this node counts.
    between_hosts,
    always,  // on UDP, to each peer
    never,
};

/// How an Endpoint with congestion control decides how many packets may be in flight to a peer. The
/// two nodes of a connection may use different algorithms.
enum class CongestionAlgorithm : std::uint8_t {
    // The window shrinks when packets are lost, and it shrinks more while the round trip is long.
    // On a path that loses 1 packet in 100 at random, about 100 packets are in flight.
    by_loss,
    // The rate and the round trip of the path decide the window. Packets that are lost at random do
    // not shrink it, and the queue of the path stays short.
    by_path,
};

struct Options {
    /// The address of each node of the job, this node included. The index is the node's number.
    ///
    /// On UDP: numeric "address:port", all IPv4 or all IPv6, each different. The address of this
    /// node may be 0.0.0.0 or [::]: the node then listens at each address of this host, and its
    /// frames to a peer leave from the address at which the latest frame of this peer arrived;
    /// before the first one, the system chooses it. The port of this node may be 0: the system then
    /// chooses a port, see Endpoint::local_address. The address of a peer may be empty if it is not
    /// known yet: see Endpoint::set_peer_address. At most 65,536 nodes.
    ///
    /// On shared memory, for processes of one host: "shm:NAME" for each node, with one NAME for all
    /// of them. If NAME has no '/', the job makes no file. If NAME has a '/', each node makes a
    /// socket file: node 0 makes NAME.0, node 1 makes NAME.1, and so on. Use a '/' for containers
    /// that share a folder. At most 256 nodes. The Endpoint takes one file descriptor for each
    /// peer, and two for each block of memory that Endpoint::allocate returned. If a peer allocates
    /// such a block and registers it for this node, this Endpoint takes one or two more.
    std::vector<std::string> peers;
    std::size_t self = 0;   // the number of this node: an index of `peers`
    std::uint64_t job = 0;  // the same in all nodes; frames of another job are dropped and counted
    /// On UDP: the longest IP packet in bytes, 108 (IPv6: 128) to 65,535. The same in all nodes.
    std::size_t mtu = 1500;
    /// How long a peer may be silent before it is lost, 1 ms to 24 hours. The time counts only
    /// while the Endpoint waits for an answer or for bytes of the peer, or while a call blocks.
    std::chrono::milliseconds peer_timeout{10'000};
    CongestionControl congestion_control = CongestionControl::between_hosts;
    CongestionAlgorithm congestion_algorithm = CongestionAlgorithm::by_path;
    /// On UDP. True: the bytes of stores and gets have no CRC-32C; only the checks of UDP and of
    /// the link find damage to them. Headers, messages and the first packet of a store keep their
    /// CRC-32C. The same in all nodes.
    bool trust_payload = false;
    /// To how many peers this node may send requests, stores and gets at once, 1 to 65,535. Each of
    /// these peers has a set of windows and send buffers, about 1 MiB, until the traffic with this
    /// peer has ended. Other peers may only send requests, stores and gets to this node: for
    /// them the Endpoint has additional sets, one eighth of this number. A peer without a set takes
    /// about 6 KiB. If a peer needs a set and none is free:
    /// - request(), store_async() and get_async() to the peer return would_block.
    /// - store() and get() to the peer wait until a set is free.
    /// - A message from the peer stays at the peer until a set is free.
    std::size_t active_peers = 256;
    /// The seed of the random numbers for session numbers and `faults`. 0: the system chooses it.
    std::uint64_t seed = 0;
    Faults faults{};
    /// True: other processes of this user can read the counters of this Endpoint (`wireproof stat`,
    /// docs/reference/counters.md). All Endpoints of a process need one file descriptor for that.
    /// If the process can have none, its counters are not published, and open() succeeds. False, or
    /// the environment variable WIREPROOF_NO_COUNTERS is set and not 0: they are not published.
    bool publish_counters = true;
};

/// What a peer may do with registered memory.
struct Rights {
    bool get = false;    // the peer may read it, by get()
    bool store = false;  // the peer may write it, by store()
};

/// The names of the entries of PeerCounters::received. They say what the Endpoint did with a
/// received frame.
///
/// - accepted: the frame is the next one.
/// - held: an earlier frame is missing, and the Endpoint keeps this one.
/// - control: the frame carries no message, for example an acknowledgement.
/// - duplicate: the frame has arrived before.
/// - out_of_sequence: an earlier frame is missing, and there is no room to keep this one.
/// - stale: the number of the frame is not in the window.
/// - corrupt: the checksum of the frame is wrong.
/// - malformed: the bytes are no frame of this protocol.
/// - foreign: the frame is of another session, node or job.
/// - refused: there is no room for the frame now.
inline constexpr std::array<std::string_view, 10> verdict_names = {
    "accepted", "held",    "control",   "duplicate", "out_of_sequence",
    "stale",    "corrupt", "malformed", "foreign",   "refused"};
/// Counters of the traffic with one peer since the Endpoint was opened.
struct PeerCounters {
    /// How frames travel between this node and the peer.
    enum class Path : std::uint8_t {
        udp,
        shared_memory,
        // On UDP, although Endpoint::join() found that the peer runs on the same host: it is in
        // another network namespace or belongs to another user, or too many nodes of the host would
        // share memory.
        udp_on_one_host,
    };
    Path path = Path::udp;
    /// Received frames, counted in the order of `verdict_names`.
    std::array<std::uint64_t, verdict_names.size()> received{};
    /// Received HELLO frames of this job from a node with other options, for example another MTU.
    std::uint64_t mismatched = 0;
    std::uint64_t sent = 0;    // frames, retransmissions included
    std::uint64_t resent = 0;  // retransmissions
    std::uint64_t acks = 0;    // sent frames that only acknowledge
    std::uint64_t nacks = 0;   // sent frames that name missing packets
    /// How often this node began to retransmit because the peer's host had no room for frames.
    std::uint64_t overruns = 0;
    /// Received frames with the mark of a router whose queue is long (ECN, RFC 3168).
    std::uint64_t marked = 0;
    /// Frames of this node that reached the peer with such a mark, as far as the peer has told.
    std::uint64_t marked_at_peer = 0;
    std::uint64_t keepalives = 0;         // sent frames that ask the peer what has arrived
    std::uint64_t hellos = 0;             // sent frames that agree on a session
    std::uint64_t timeouts = 0;           // keep-alive timers that expired
    std::uint64_t sessions = 0;           // sessions that began
    std::uint64_t unhandled_replies = 0;  // received replies for which this node has no handler
    std::uint64_t unsent = 0;             // frames that the operating system did not send
    std::uint64_t refused = 0;            // calls that found no free set, see Options::active_peers
};

/// "udp", "shared memory" or "udp on one host". The text lives as long as the program. Any thread
/// may call it.
[[nodiscard]] WIREPROOF_EXPORT std::string_view name_of(PeerCounters::Path path);

}  // namespace wireproof::am
