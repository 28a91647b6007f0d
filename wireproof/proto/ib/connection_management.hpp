// Connections being made and ended by datagrams to queue pair 1: REQ, REP, RTU, or REJ; DREQ, DREP.
// Datagrams get lost: who waits for an answer sends again, and a question that comes again is
// answered again. IBA volume 1, section 12.9. It moves no queue pair: its user does, as told by
// events.
//
//   active     connect ─► requesting ──REP─► replied ──confirm─► established
//   passive    REQ ─► requested ──accept─► replying ──RTU, data─► established
//   both       established ──disconnect─► disconnecting ──DREP─► over;  DREQ, REJ, silence ─► over
//
// Services of datagrams have no connections. A host asks which queue pair takes the datagrams of a
// service, and with which Q_Key (section 12.11):
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
#include "wireproof/proto/ib/cm_messages.hpp"

namespace wireproof::proto::ib {

/// A connection, by the number that the datagrams call its local identifier; or the resolution of
/// a service, asked for here or by another host.
enum class CmId : std::uint32_t {};

/// How long an answer may take, by its code of five bits: 4.096 us x 2^code. What a stranger says
/// is kept between 4 ms and 17 s.
constexpr Duration cm_response_time(std::uint8_t code) {
    constexpr std::uint8_t least = 10;
    constexpr std::uint8_t most = 22;
    return Duration::nanoseconds(4096) * (std::int64_t{1} << std::clamp(code, least, most));
}

struct CmEvent {
    enum class What : std::uint8_t {
        requested,     // somebody asks: `message` is a CmRequest; accept or reject
        asked,         // likewise, for a datagram service: a CmServiceRequest; answer
        replied,       // the other side accepts: a CmReply; confirm or reject
        established,   // the passive side may send
        rejected,      // a CmReject
        resolved,      // a CmServiceReply, whatever its status
        unanswered,    // every retry was; or `asked` was, for so long that nobody waits any more
        disconnected,  // by either side: a CmDisconnect of the other's, if there was one
    };
    What what = What::requested;
    CmId id{};
    PeerId peer{};
    CmMessage message = {};
};

/// Datagrams received, by what became of them: each is in one of these.
struct CmCounters {
    std::array<std::uint64_t, 4> malformed{};  // by NotCm
    std::uint64_t taken = 0;
    std::uint64_t duplicates = 0;    // answered again if that is what they wait for
    std::uint64_t unknown = 0;       // of no connection and no resolution here
    std::uint64_t out_of_state = 0;  // which the connection has not come to, or has left
    std::uint64_t refused = 0;       // requests: nobody listens, no room

    std::uint64_t resent = 0;  // for want of an answer
};

class ConnectionManagement {
public:
    struct Config {
        std::uint64_t ca_guid = 0;
        std::uint32_t first_id = 1;  // not to be guessed, so that a late datagram finds nobody
        std::uint8_t response_timeout = 16;  // 4.096 us x 2^n: 268 ms; Linux asks for 4.3 s
        std::uint8_t retries = 15;           // of each datagram that wants an answer
        std::uint8_t delay = 20;             // asked for in an MRA while the user thinks
        std::size_t connections_max = 4096;  // that are not over
        std::size_t resolutions_max = 1024;  // that are not over; as many again of other hosts
        /// What comes for a service that nobody listens to waits so long for a listener: programs
        /// that agree by other means begin at once, one to listen and one to ask.
        Duration grace = {};
        std::size_t over_max = 1024;  // of each kind that are, and have duplicates answered still
    };

    explicit ConnectionManagement(const Config& config)
        : config_(config), next_id_(config.first_id) {}

    void listen(std::uint64_t service) {
        services_.insert(service);
        early_due_ = !early_.empty();
    }
    /// False: nobody listened.
    bool stop_listening(std::uint64_t service) { return services_.erase(service) > 0; }
    // Services of datagrams; the same number may also be one of connections.
    void listen_datagrams(std::uint64_t service) {
        datagram_services_.insert(service);
        early_due_ = !early_.empty();
    }
    bool stop_listening_datagrams(std::uint64_t service) {
        return datagram_services_.erase(service) > 0;
    }

    /// Identifier, timeouts, retries and GUID are filled in here. Nothing: there is no room.
    std::optional<CmId> connect(Instant now, PeerId to, CmRequest request);
    // False: the connection is not where this could be done.
    bool accept(Instant now, CmId id, CmReply reply);
    bool confirm(Instant now, CmId id, const CmReady& ready = {});
    /// Before it is established. Who has not heard from the other side yet cannot say more than
    /// that it waited too long.
    /// `detail`: what would be accepted, of at most 72 bytes, where the reason has such a thing.
    bool reject(Instant now, CmId id, CmReason reason, const PrivateBytes<148>& why = {},
                ConstBytes detail = {});
    bool disconnect(Instant now, CmId id, const PrivateBytes<220>& why = {});
    /// A packet came on the connection's queue pair before RTU did.
    bool note_first_packet(CmId id);

    /// The other side is known to have gone without a word: the connection is `disconnected`, and
    /// nobody is told. False: it is over, or the other side has not been heard of.
    bool lose(Instant now, CmId id);

    /// Asks for the queue pair behind a datagram service, as often as `connect` would; `resolved`
    /// or `unanswered` ends it. The request's identifier is filled in here. Nothing: there is no
    /// room.
    std::optional<CmId> resolve(Instant now, PeerId to, CmServiceRequest request);
    /// Of `resolve`: no answer is wanted any more, and none will come.
    bool give_up(CmId id);
    /// What `asked` asks: queue pair and Q_Key, or a status that says why not. Identifier and
    /// service are filled in here. False: it was answered, or took so long that nobody waits any
    /// more.
    bool answer(Instant now, CmId id, CmServiceReply reply);

    RxVerdict on_datagram(Instant now, PeerId from, ConstBytes bytes);
    std::optional<CmEvent> next_event();
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

    const CmCounters& counters() const { return counters_; }
    /// Connections and resolutions, those that are over included for a while: their duplicates are
    /// answered.
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
        resolution,  // of a service of another host
        query,       // of another host about a service here
    };
    /// Or a resolution or query, which have fewer states.
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
        std::uint64_t service = 0;            // of a query
        std::optional<CmDatagram> last = {};  // sent; to be sent again for a duplicate, or in time
        Instant deadline = never;
        Duration patience = {};
        std::uint8_t tries_left = 0;
        std::uint8_t retries = 0;
    };
    /// Came before anybody listened: a CmRequest or CmServiceRequest.
    struct Early {
        Instant deadline;
        PeerId from;
        CmDatagram datagram;
    };
    using Connections = std::map<std::uint32_t, Connection>;
    /// How many of a kind live, and those that are over, oldest first.
    struct Ledger {
        std::size_t living = 0;
        std::deque<std::uint32_t> over;
    };
    /// What makes a SIDR_REQ the same as another: host, its identifier, transaction, service.
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
    /// Nothing: it cannot wait.
    std::optional<RxVerdict> keep_early(Instant now, PeerId from, const CmDatagram& datagram);
    void take_early(Instant now);
    bool is_heard(const CmMessage& request) const;
    RxVerdict refuse(PeerId from, std::uint64_t transaction, const CmRequest& request,
                     CmReason reason);
    RxVerdict refuse(PeerId from, std::uint64_t transaction, const CmServiceRequest& request,
                     CmServiceStatus status);

    /// Answers to whoever asks that may wait to leave; what connections have to say is bounded by
    /// their number.
    static constexpr std::size_t answers_max = 16384;
    static constexpr std::size_t early_max = 256;

    // Of this kind; of another is none.
    Connection* find(std::uint32_t local_id, PeerId peer, Kind kind = Kind::connection);
    Connection* find(CmId id, Kind kind = Kind::connection);
    Connection* find_passive(std::uint32_t remote_id, PeerId peer);
    Connection* find_stale(std::uint32_t remote_queue_pair, PeerId peer);
    bool has_room(Kind kind) const;
    static QueryKey key_of(const Connection& query) {
        return {query.peer, query.remote_id, query.transaction, query.service};
    }
    /// A new one of a number that no other has.
    Connection& begin(Kind kind, PeerId peer);
    void send(Connection& connection, CmMessage message);
    /// Sends, and again until an answer comes.
    void ask(Instant now, Connection& connection, CmMessage message);
    void end(Instant now, Connection& connection);
    void on_overdue(Instant now, Connection& one);
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
    bool early_due_ = false;   // somebody listens who did not
    std::deque<Outgoing> outgoing_;
    std::deque<CmEvent> events_;
    CmCounters counters_;
};

}  // namespace wireproof::proto::ib
