// Makes and ends connections by datagrams to queue pair 1: REQ, REP, RTU or REJ; DREQ, DREP.
// Datagrams may be lost, so a side that waits for an answer sends its datagram again, and a
// repeated request is answered again. IBA volume 1, section 12.9. The engine does not change the
// state of queue pairs: events tell its user when to change it.
//
//   active     connect ─► requesting ──REP─► replied ──confirm─► established
//   passive    REQ ─► requested ──accept─► replying ──RTU, data─► established
//   both       established ──disconnect─► disconnecting ──DREP─► over;  DREQ, REJ, silence ─► over
//
// Services of datagrams have no connections. A host asks which queue pair receives the datagrams of
// a service, and with which Q_Key (section 12.11):
//
//   active     resolve ─► requesting ──SIDR_REP, silence─► over
//   passive    SIDR_REQ ─► requested ──answer, silence─► over
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/core/peer_set.hpp"
#include "wireproof/proto/ib/cm/cm_messages.hpp"

namespace wireproof::proto::ib {

/// Names a connection, by its local identifier in the datagrams. It also names the resolution of a
/// service that this host or another host asked for.
enum class CmId : std::uint32_t {};

/// The time that an answer may take, by its code of five bits: 4.096 us x 2^code. The result is
/// limited to 4 ms to 17 s, because the code may come from an unknown host.
constexpr Duration cm_response_time(std::uint8_t code) {
    constexpr std::uint8_t least = 10;
    constexpr std::uint8_t most = 22;
    return Duration::nanoseconds(4096) * (std::int64_t{1} << std::clamp(code, least, most));
}

struct CmEvent {
    enum class What : std::uint8_t {
        requested,     // a request arrived: `message` is a CmRequest; accept or reject it
        asked,         // a query for a datagram service: a CmServiceRequest; answer it
        replied,       // the other side accepts: a CmReply; confirm or reject it
        established,   // the passive side may send
        rejected,      // a CmReject
        resolved,      // a CmServiceReply, whatever its status
        unanswered,    // no answer to any retry, or an `asked` was not answered for too long
        disconnected,  // by either side; a CmDisconnect of the other side, if it sent one
    };
    What what = What::requested;
    CmId id{};
    PeerId peer{};
    CmMessage message = {};
};

/// Received datagrams by result. Each datagram is in one of these counters. A request that waits
/// for a listener is counted when its wait ends.
struct CmCounters {
    std::array<std::uint64_t, 4> malformed{};  // by NotCm
    std::uint64_t taken = 0;
    std::uint64_t duplicates = 0;    // answered again if the sender waits for an answer
    std::uint64_t unknown = 0;       // no connection and no resolution here
    std::uint64_t out_of_state = 0;  // not allowed in the state of the connection
    std::uint64_t refused = 0;       // requests: no listener in time, or no room

    std::uint64_t resent = 0;  // because no answer came
};

class ConnectionManagement {
public:
    struct Config {
        std::uint64_t ca_guid = 0;
        std::uint32_t first_id = 1;  // hard to guess, so that a late datagram matches nothing
        std::uint8_t response_timeout = 16;  // 4.096 us x 2^n: 268 ms; Linux asks for 4.3 s
        std::uint8_t retries = 15;  // of each datagram that needs an answer, each after that time
        /// False: the user decides how long it waits. A request, a reply and a question about a
        /// service are then sent again until an answer comes or the user ends the wait.
        bool gives_up = true;
        std::uint8_t delay = 20;             // asked for in an MRA while the user decides
        std::size_t connections_max = 4096;  // connections that are not over
        std::size_t resolutions_max = 1024;  // not over; the same limit for queries
        /// A request for a service without a listener waits for this time until a listener exists.
        /// Programs that synchronize by other means may start to listen and to ask at the same
        /// moment.
        Duration grace = {};
        std::size_t over_max = 1024;  // ended, of each kind; still answer duplicates
    };

    explicit ConnectionManagement(const Config& config)
        : config_(config), next_id_(config.first_id) {}

    void listen(std::uint64_t service) {
        services_.insert(service);
        early_due_ = !early_.empty();
    }
    /// Returns false if there was no listener.
    bool stop_listening(std::uint64_t service) { return services_.erase(service) > 0; }
    // Services of datagrams. A service of connections may have the same number.
    void listen_datagrams(std::uint64_t service) {
        datagram_services_.insert(service);
        early_due_ = !early_.empty();
    }
    bool stop_listening_datagrams(std::uint64_t service) {
        return datagram_services_.erase(service) > 0;
    }

    /// Fills in identifier, timeouts, retries and GUID. Returns empty if there is no room.
    std::optional<CmId> connect(Instant now, PeerId to, CmRequest request);
    // These return false if the state of the connection does not allow the call.
    bool accept(Instant now, CmId id, CmReply reply);
    bool confirm(Instant now, CmId id, const CmReady& ready = {});
    /// Allowed before the connection is established. If the other side has not answered yet, the
    /// reason that is sent is always `timeout`. `detail` says what would be accepted, in at most 72
    /// bytes, for reasons that have such a detail.
    bool reject(Instant now, CmId id, CmReason reason, const PrivateBytes<148>& why = {},
                ConstBytes detail = {});
    bool disconnect(Instant now, CmId id, const PrivateBytes<220>& why = {});
    /// A packet arrived on the queue pair of the connection before the RTU.
    bool note_first_packet(CmId id);

    /// The other side is known to be gone without a DREQ. The connection becomes `disconnected`,
    /// and no datagram is sent. Returns false if the connection is over, or if the other side has
    /// not answered yet.
    bool lose(Instant now, CmId id);

    /// Asks for the queue pair of a datagram service. The request is repeated as often as that of
    /// `connect`. The event `resolved` or `unanswered` ends the resolution. Fills in the identifier
    /// of the request. Returns empty if there is no room.
    std::optional<CmId> resolve(Instant now, PeerId to, CmServiceRequest request);
    /// Ends a resolution: the caller needs no answer, and no event will come.
    bool give_up(CmId id);
    /// Answers an `asked` with the queue pair and the Q_Key, or with a status that says why not.
    /// Fills in identifier and service. Returns false if the query was answered already, or if the
    /// asker does not wait any more.
    bool answer(Instant now, CmId id, CmServiceReply reply);

    RxVerdict on_datagram(Instant now, PeerId from, ConstBytes bytes);
    std::optional<CmEvent> next_event();
    /// The same in two steps, for a user who may fail in between: the oldest event, or null, and
    /// its end. No event is lost, and each datagram and each timer makes at most one.
    const CmEvent* first_event() const { return events_.empty() ? nullptr : &events_.front(); }
    void end_event() { events_.pop_front(); }
    void on_deadline(Instant now);
    Instant next_deadline() const {
        if (early_due_) return {};
        const Instant early = early_.empty() ? never : early_.front().deadline;
        return deadlines_.empty() ? early : earliest(early, deadlines_.begin()->first);
    }

    struct Outgoing {
        PeerId to{};
        CmDatagram datagram;
    };
    std::optional<Outgoing> poll_transmit();
    bool has_outgoing() const { return !outgoing_.empty(); }

    /// Adds the peers of connections, resolutions and queries that are not over, of requests
    /// without a listener, and of datagrams and events that wait. While a peer is in use, its
    /// number must not become that of another host.
    void add_used_peers(PeerSet& to) const;
    /// Adds the peers of ended entries, whose duplicates are still answered.
    void add_ended_peers(PeerSet& to) const;
    /// The numbers of these peers belong to no host any more. They are not in use.
    void forget_peers(const PeerSet& peers);

    const CmCounters& counters() const { return counters_; }
    /// The number of connections, resolutions and queries. It includes those that ended a short
    /// time ago and whose duplicates are still answered.
    std::size_t size() const { return connections_.size(); }

private:
    enum class State : std::uint8_t {
        requesting,
        replied,
        requested,
        replying,
        established,
        disconnecting,
        over,
    };
    enum class Kind : std::uint8_t {
        connection,
        resolution,  // our question about a service of another host
        query,       // question of another host about a service here
    };
    /// A connection, a resolution or a query. The last two use only some of the states.
    struct Connection {
        Kind kind = Kind::connection;
        State state = State::requesting;
        bool active = false;
        PeerId peer{};
        std::uint64_t transaction = 0;
        std::uint32_t local_id = 0;
        std::uint32_t remote_id = 0;
        std::uint32_t local_queue_pair = 0;
        std::uint32_t remote_queue_pair = 0;
        std::uint64_t service = 0;            // only for a query
        std::optional<CmDatagram> last = {};  // the last one sent, for repetition
        Instant deadline = never;
        Duration patience = {};
        Duration waited = {};  // since the question, at most `patience`
        std::uint8_t tries_left = 0;
        std::uint8_t retries = 0;
    };
    /// A CmRequest or CmServiceRequest that arrived before its service had a listener.
    struct Early {
        Instant deadline;
        PeerId from;
        CmDatagram datagram;
    };
    using Connections = std::map<std::uint32_t, Connection>;
    /// The number of living entries of one kind, and the ended entries, oldest first.
    struct Ledger {
        std::size_t living = 0;
        std::deque<std::uint32_t> over;
    };
    /// Two SIDR_REQs are the same if these are equal: host, the host's identifier, transaction,
    /// service.
    using QueryKey = std::tuple<PeerId, std::uint32_t, std::uint64_t, std::uint64_t>;

    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction, const CmRequest& request);
    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction, const CmDelay& delay);
    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction, const CmReject& reject);
    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction, const CmReply& reply);
    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction, const CmReady& ready);
    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction, const CmDisconnect& ask);
    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction, const CmDisconnected& told);
    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction,
                   const CmServiceRequest& request);
    RxVerdict take(Instant now, PeerId from, std::uint64_t transaction,
                   const CmServiceReply& reply);
    RxVerdict take_again(Instant now, Connection& connection);
    /// Empty if the request cannot wait.
    std::optional<RxVerdict> keep_early(Instant now, PeerId from, const CmDatagram& datagram);
    void take_early(Instant now);
    bool is_heard(const CmMessage& request) const;
    RxVerdict refuse(PeerId from, std::uint64_t transaction, const CmRequest& request,
                     CmReason reason);
    RxVerdict refuse(PeerId from, std::uint64_t transaction, const CmServiceRequest& request,
                     CmServiceStatus status);

    /// Limits the answers to hosts without a connection that wait to leave. The datagrams of
    /// connections are limited by the number of connections.
    static constexpr std::size_t answers_max = 16384;
    static constexpr std::size_t early_max = 256;

    // Returns null if the identifier belongs to another kind.
    Connection* find(std::uint32_t local_id, PeerId peer, Kind kind = Kind::connection);
    Connection* find(CmId id, Kind kind = Kind::connection);
    Connection* find_passive(std::uint32_t remote_id, PeerId peer);
    Connection* find_stale(std::uint32_t remote_queue_pair, PeerId peer);
    bool has_room(Kind kind) const;
    static QueryKey key_of(const Connection& query) {
        return {query.peer, query.remote_id, query.transaction, query.service};
    }
    /// Makes a new entry with an unused identifier.
    Connection& begin(Kind kind, PeerId peer);
    void send(Connection& connection, CmMessage message);
    /// Sends the message, and sends it again until an answer comes.
    void ask(Instant now, Connection& connection, CmMessage message);
    void end(Instant now, Connection& connection);
    void on_overdue(Instant now, Connection& one);
    static Duration pause_of(const Connection& one);
    bool tries_again(Connection& one) const;
    void set_deadline(Connection& connection, Instant deadline);
    void forget(std::uint32_t id);
    void tell(CmEvent::What what, const Connection& connection, CmMessage message = {});
    RxVerdict counted(std::uint64_t CmCounters::*reason, RxVerdict verdict);

    Config config_;
    std::uint32_t next_id_;
    std::set<std::uint64_t> services_;
    std::set<std::uint64_t> datagram_services_;
    Connections connections_;
    std::array<Ledger, 3> ledgers_;  // by Kind
    std::map<QueryKey, std::uint32_t> queries_;
    std::set<std::pair<Instant, std::uint32_t>> deadlines_;
    std::deque<Early> early_;  // by deadline
    bool early_due_ = false;   // a new listener exists
    std::deque<Outgoing> outgoing_;
    std::deque<CmEvent> events_;
    CmCounters counters_;
};

}  // namespace wireproof::proto::ib
