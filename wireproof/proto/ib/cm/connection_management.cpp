#include "wireproof/proto/ib/cm/connection_management.hpp"

#include <algorithm>
#include <utility>

namespace wireproof::proto::ib {
namespace {

constexpr std::int64_t kept_for = 4;  // how long an ended entry is kept, in waits for an answer
constexpr Duration first_pause = cm_response_time(16);  // 268 ms

}  // namespace

ConnectionManagement::Connection* ConnectionManagement::find(std::uint32_t local_id, PeerId peer,
                                                             Kind kind) {
    Connection* found = find(CmId(local_id), kind);
    return found != nullptr && found->peer == peer ? found : nullptr;
}

ConnectionManagement::Connection* ConnectionManagement::find(CmId id, Kind kind) {
    const auto found = connections_.find(static_cast<std::uint32_t>(id));
    if (found == connections_.end() || found->second.kind != kind) return nullptr;
    return &found->second;
}

bool ConnectionManagement::has_room(Kind kind) const {
    const std::size_t limit =
        kind == Kind::connection ? config_.connections_max : config_.resolutions_max;
    return ledgers_[static_cast<std::size_t>(kind)].living < limit;
}

ConnectionManagement::Connection& ConnectionManagement::begin(Kind kind, PeerId peer) {
    // 0 is never an identifier: a host that got no answer writes 0 in its REJ.
    while (next_id_ == 0 || connections_.contains(next_id_)) ++next_id_;
    Connection& connection = connections_[next_id_];
    connection.kind = kind;
    connection.peer = peer;
    connection.local_id = next_id_++;
    ++ledgers_[static_cast<std::size_t>(kind)].living;
    return connection;
}

void ConnectionManagement::send(Connection& connection, CmMessage message) {
    connection.last = CmDatagram{connection.transaction, std::move(message)};
    outgoing_.push_back({connection.peer, *connection.last});
}

void ConnectionManagement::ask(Instant now, Connection& connection, CmMessage message) {
    send(connection, std::move(message));
    connection.tries_left = connection.retries;
    connection.waited = {};
    set_deadline(connection, now + pause_of(connection));
}

/// Until the datagram is sent again. The peer may take long to answer, but a datagram that was lost
/// should not cost so much time. So within the first wait for an answer it is sent again after
/// `first_pause`, and whenever the time since the question has doubled. This uses up no retry.
Duration ConnectionManagement::pause_of(const Connection& one) {
    if (one.waited >= one.patience) return one.patience;
    if (one.waited == Duration()) return std::min(first_pause, one.patience);
    return std::min(one.waited, one.patience - one.waited);
}

// Any host can cause entries by requests that are refused, so the ended entries are limited.
void ConnectionManagement::end(Instant now, Connection& connection) {
    if (connection.state == State::over) return;
    connection.state = State::over;
    set_deadline(connection, now + connection.patience * kept_for);
    Ledger& ledger = ledgers_[static_cast<std::size_t>(connection.kind)];
    --ledger.living;
    ledger.over.push_back(connection.local_id);
    if (ledger.over.size() <= config_.over_max) return;
    forget(ledger.over.front());
}

void ConnectionManagement::set_deadline(Connection& connection, Instant deadline) {
    deadlines_.erase({connection.deadline, connection.local_id});
    connection.deadline = deadline;
    if (deadline != never) deadlines_.insert({deadline, connection.local_id});
}

void ConnectionManagement::forget(std::uint32_t id) {
    const auto at = connections_.find(id);
    const Connection& one = at->second;
    Ledger& ledger = ledgers_[static_cast<std::size_t>(one.kind)];
    if (one.state == State::over) {
        std::erase(ledger.over, id);
    } else {
        --ledger.living;
    }
    if (one.kind == Kind::query) queries_.erase(key_of(one));
    deadlines_.erase({one.deadline, id});
    connections_.erase(at);
}

void ConnectionManagement::add_used_peers(PeerSet& to) const {
    for (const auto& [id, one] : connections_) {
        if (one.state != State::over) to.add(one.peer);
    }
    for (const Early& one : early_) to.add(one.from);
    for (const Outgoing& one : outgoing_) to.add(one.to);
    for (const CmEvent& one : events_) to.add(one.peer);
}

void ConnectionManagement::add_ended_peers(PeerSet& to) const {
    for (const Ledger& ledger : ledgers_) {
        for (const std::uint32_t id : ledger.over) to.add(connections_.at(id).peer);
    }
}

void ConnectionManagement::forget_peers(const PeerSet& peers) {
    for (const Ledger& ledger : ledgers_) {
        for (std::size_t i = ledger.over.size(); i > 0; --i) {
            const std::uint32_t id = ledger.over[i - 1];
            if (peers.contains(connections_.at(id).peer)) forget(id);
        }
    }
}

void ConnectionManagement::tell(CmEvent::What what, const Connection& connection,
                                CmMessage message) {
    events_.push_back({what, CmId(connection.local_id), connection.peer, std::move(message)});
}

std::optional<CmEvent> ConnectionManagement::next_event() {
    if (events_.empty()) return std::nullopt;
    CmEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

std::optional<ConnectionManagement::Outgoing> ConnectionManagement::poll_transmit() {
    if (outgoing_.empty()) return std::nullopt;
    Outgoing one = std::move(outgoing_.front());
    outgoing_.pop_front();
    return one;
}

std::optional<CmId> ConnectionManagement::connect(Instant now, PeerId to, CmRequest request) {
    if (!has_room(Kind::connection)) return std::nullopt;
    Connection& connection = begin(Kind::connection, to);
    request.local_id = connection.local_id;
    request.ca_guid = config_.ca_guid;
    request.remote_response_timeout = request.local_response_timeout = config_.response_timeout;
    request.max_retries = config_.retries;
    connection.active = true;
    connection.transaction = request.local_id;
    connection.local_queue_pair = request.queue_pair;
    connection.patience = cm_response_time(config_.response_timeout);
    connection.retries = config_.retries;
    ask(now, connection, request);
    return CmId(request.local_id);
}

bool ConnectionManagement::accept(Instant now, CmId id, CmReply reply) {
    Connection* connection = find(id);
    if (connection == nullptr || connection->state != State::requested) return false;
    reply.local_id = connection->local_id;
    reply.remote_id = connection->remote_id;
    reply.ca_guid = config_.ca_guid;
    connection->local_queue_pair = reply.queue_pair;
    connection->state = State::replying;
    ask(now, *connection, reply);
    return true;
}

bool ConnectionManagement::confirm(Instant, CmId id, const CmReady& told) {
    Connection* connection = find(id);
    if (connection == nullptr || connection->state != State::replied) return false;
    CmReady ready = told;
    ready.local_id = connection->local_id;
    ready.remote_id = connection->remote_id;
    connection->state = State::established;
    set_deadline(*connection, never);
    send(*connection, ready);
    return true;
}

bool ConnectionManagement::reject(Instant now, CmId id, CmReason reason,
                                  const PrivateBytes<148>& why, ConstBytes detail) {
    Connection* connection = find(id);
    if (connection == nullptr || connection->state >= State::established) return false;
    const bool unheard = connection->state == State::requesting;
    const bool before_reply = connection->state == State::requested || unheard;
    CmReject message{.local_id = connection->local_id,
                     .remote_id = connection->remote_id,
                     .subject = before_reply ? CmSubject::request : CmSubject::reply,
                     .detail_length = static_cast<std::uint8_t>(detail.size()),
                     .reason = unheard ? CmReason::timeout : reason,
                     .private_bytes = why};
    std::copy(detail.begin(), detail.end(), message.detail.begin());
    send(*connection, message);
    end(now, *connection);
    return true;
}

bool ConnectionManagement::disconnect(Instant now, CmId id, const PrivateBytes<220>& why) {
    Connection* connection = find(id);
    if (connection == nullptr) return false;
    if (connection->state != State::established && connection->state != State::replying) {
        return false;
    }
    connection->state = State::disconnecting;
    ask(now, *connection,
        CmDisconnect{.local_id = connection->local_id,
                     .remote_id = connection->remote_id,
                     .remote_queue_pair = connection->remote_queue_pair,
                     .private_bytes = why});
    return true;
}

bool ConnectionManagement::lose(Instant now, CmId id) {
    Connection* connection = find(id);
    if (connection == nullptr || connection->state == State::requesting ||
        connection->state == State::over) {
        return false;
    }
    tell(CmEvent::What::disconnected, *connection);
    connection->last.reset();
    end(now, *connection);
    return true;
}

bool ConnectionManagement::note_first_packet(CmId id) {
    Connection* connection = find(id);
    if (connection == nullptr || connection->state != State::replying) return false;
    connection->state = State::established;
    set_deadline(*connection, never);
    tell(CmEvent::What::established, *connection);
    return true;
}

void ConnectionManagement::on_deadline(Instant now) {
    take_early(now);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        on_overdue(now, connections_.at(deadlines_.begin()->second));
    }
}

bool ConnectionManagement::tries_again(Connection& one) const {
    one.waited = std::min(one.waited + pause_of(one), one.patience);
    if (one.waited < one.patience) return true;
    const bool user_waits = one.state == State::requesting || one.state == State::replying;
    if (user_waits && !config_.gives_up) return true;
    if (one.tries_left == 0) return false;
    --one.tries_left;
    return true;
}

void ConnectionManagement::on_overdue(Instant now, Connection& one) {
    if (one.state == State::over) {
        forget(one.local_id);
    } else if (one.kind != Kind::query && tries_again(one)) {
        ++counters_.resent;
        set_deadline(one, now + pause_of(one));
        outgoing_.push_back({one.peer, *one.last});
    } else if (one.kind != Kind::connection) {
        tell(CmEvent::What::unanswered, one);
        forget(one.local_id);
    } else if (one.state == State::disconnecting) {
        tell(CmEvent::What::disconnected, one);
        one.last.reset();
        end(now, one);
    } else {
        // The other side may have received the datagram and may wait, too. The REJ ends its wait.
        tell(CmEvent::What::unanswered, one);
        reject(now, CmId(one.local_id), CmReason::timeout);
    }
}

}  // namespace wireproof::proto::ib
