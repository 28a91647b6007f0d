// The effects of datagrams from the other side, and the answers to duplicates.
#include <algorithm>
#include <utility>

#include "wireproof/proto/ib/cm/connection_management.hpp"

namespace wireproof::proto::ib {

RxVerdict ConnectionManagement::counted(std::uint64_t CmCounters::*reason, RxVerdict verdict) {
    ++(counters_.*reason);
    return verdict;
}

ConnectionManagement::Connection* ConnectionManagement::find_passive(std::uint32_t remote_id,
                                                                     PeerId peer) {
    for (auto& [id, one] : connections_) {
        const bool passive = one.kind == Kind::connection && !one.active;
        if (passive && one.remote_id == remote_id && one.peer == peer) return &one;
    }
    return nullptr;
}

ConnectionManagement::Connection* ConnectionManagement::find_stale(std::uint32_t remote_queue_pair,
                                                                   PeerId peer) {
    for (auto& [id, one] : connections_) {
        const bool lives = one.kind == Kind::connection && one.state != State::over &&
                           one.state != State::requesting;
        if (lives && one.remote_queue_pair == remote_queue_pair && one.peer == peer) return &one;
    }
    return nullptr;
}

RxVerdict ConnectionManagement::on_datagram(Instant now, PeerId from, ConstBytes bytes) {
    const auto datagram = CmDatagram::decode(bytes);
    if (!datagram) {
        ++counters_.malformed[static_cast<std::size_t>(datagram.error())];
        return RxVerdict::malformed;
    }
    return std::visit(
        [&](const auto& message) { return take(now, from, datagram->transaction, message); },
        datagram->message);
}

RxVerdict ConnectionManagement::take(Instant now, PeerId from, std::uint64_t transaction,
                                     const CmRequest& request) {
    if (Connection* known = find_passive(request.local_id, from)) return take_again(now, *known);
    if (!services_.contains(request.service)) {
        if (const auto kept = keep_early(now, from, {transaction, request})) return *kept;
        return refuse(from, transaction, request, CmReason::invalid_service);
    }
    if (Connection* old = find_stale(request.queue_pair, from)) {
        // The peer gave up the queue pair without a DREQ, or its host was restarted. The old
        // connection is over, and this request is handled like any other.
        tell(CmEvent::What::disconnected, *old);
        end(now, *old);
        old->last.reset();
    }
    if (!has_room(Kind::connection)) {
        return refuse(from, transaction, request, CmReason::no_resources);
    }
    Connection& connection = begin(Kind::connection, from);
    connection.state = State::requested;
    connection.transaction = transaction;
    connection.remote_id = request.local_id;
    connection.remote_queue_pair = request.queue_pair;
    connection.patience = cm_response_time(request.local_response_timeout);
    connection.retries = request.max_retries;
    tell(CmEvent::What::requested, connection, request);
    return counted(&CmCounters::taken, RxVerdict::accepted);
}

/// A request that came before: the answer was lost, or the user has not decided yet.
RxVerdict ConnectionManagement::take_again(Instant, Connection& connection) {
    if (connection.state == State::requested) {
        connection.last =
            CmDatagram{connection.transaction, CmDelay{.local_id = connection.local_id,
                                                       .remote_id = connection.remote_id,
                                                       .subject = CmSubject::request,
                                                       .service_timeout = config_.delay}};
    }
    const bool answers = connection.state == State::requested ||
                         connection.state == State::replying || connection.state == State::over;
    const bool may_answer = connection.last && outgoing_.size() < answers_max;
    if (answers && may_answer) outgoing_.push_back({connection.peer, *connection.last});
    return counted(&CmCounters::duplicates, RxVerdict::duplicate);
}

RxVerdict ConnectionManagement::refuse(PeerId from, std::uint64_t transaction,
                                       const CmRequest& request, CmReason reason) {
    if (outgoing_.size() < answers_max) {
        outgoing_.push_back(
            {from, {transaction, CmReject{.remote_id = request.local_id, .reason = reason}}});
    }
    return counted(&CmCounters::refused, RxVerdict::refused);
}

bool ConnectionManagement::is_heard(const CmMessage& request) const {
    const auto* const connection = std::get_if<CmRequest>(&request);
    return connection != nullptr
               ? services_.contains(connection->service)
               : datagram_services_.contains(std::get<CmServiceRequest>(request).service);
}

std::optional<RxVerdict> ConnectionManagement::keep_early(Instant now, PeerId from,
                                                          const CmDatagram& datagram) {
    if (config_.grace <= Duration()) return std::nullopt;
    const bool again = std::any_of(early_.begin(), early_.end(), [&](const Early& one) {
        return one.from == from && one.datagram == datagram;
    });
    if (again) return counted(&CmCounters::duplicates, RxVerdict::duplicate);
    if (early_.size() >= early_max) return std::nullopt;
    early_.push_back({now + config_.grace, from, datagram});
    return RxVerdict::control;  // counted later, when it is taken or refused
}

/// Takes the requests whose service has a listener now, and refuses those that waited long enough.
void ConnectionManagement::take_early(Instant now) {
    if (!early_due_ && (early_.empty() || early_.front().deadline > now)) return;
    early_due_ = false;
    std::deque<Early> all;
    all.swap(early_);
    for (Early& one : all) {
        const std::uint64_t transaction = one.datagram.transaction;
        const CmMessage& message = one.datagram.message;
        if (is_heard(message)) {
            std::visit([&](const auto& heard) { take(now, one.from, transaction, heard); },
                       message);
        } else if (one.deadline > now) {
            early_.push_back(std::move(one));
        } else if (const auto* const request = std::get_if<CmRequest>(&message)) {
            refuse(one.from, transaction, *request, CmReason::invalid_service);
        } else {
            refuse(one.from, transaction, std::get<CmServiceRequest>(message),
                   CmServiceStatus::unsupported);
        }
    }
}

RxVerdict ConnectionManagement::take(Instant now, PeerId from, std::uint64_t,
                                     const CmDelay& delay) {
    Connection* connection = find(delay.remote_id, from);
    if (connection == nullptr) return counted(&CmCounters::unknown, RxVerdict::foreign);
    const bool of_request =
        connection->state == State::requesting && delay.subject == CmSubject::request;
    const bool of_reply = connection->state == State::replying && delay.subject == CmSubject::reply;
    if (!of_request && !of_reply) return counted(&CmCounters::out_of_state, RxVerdict::stale);
    set_deadline(*connection, now + cm_response_time(delay.service_timeout) + connection->patience);
    return counted(&CmCounters::taken, RxVerdict::control);
}

RxVerdict ConnectionManagement::take(Instant now, PeerId from, std::uint64_t,
                                     const CmReject& reject) {
    Connection* connection = find(reject.remote_id, from);
    // A host that received no answer does not know our identifier.
    if (connection == nullptr && reject.reason == CmReason::timeout) {
        connection = find_passive(reject.local_id, from);
    }
    if (connection == nullptr) {
        const std::size_t taken_back = std::erase_if(early_, [&](const Early& one) {
            const auto* const request = std::get_if<CmRequest>(&one.datagram.message);
            return request != nullptr && one.from == from && request->local_id == reject.local_id;
        });
        if (taken_back == 0) return counted(&CmCounters::unknown, RxVerdict::foreign);
        counters_.refused += taken_back;  // nobody listened in time
        return counted(&CmCounters::taken, RxVerdict::accepted);
    }
    if (connection->state >= State::established) {
        return counted(&CmCounters::out_of_state, RxVerdict::stale);
    }
    tell(CmEvent::What::rejected, *connection, reject);
    end(now, *connection);
    connection->last.reset();
    return counted(&CmCounters::taken, RxVerdict::accepted);
}

RxVerdict ConnectionManagement::take(Instant, PeerId from, std::uint64_t transaction,
                                     const CmReply& reply) {
    Connection* connection = find(reply.remote_id, from);
    if (connection == nullptr || !connection->active) {
        if (outgoing_.size() < answers_max) {
            outgoing_.push_back({from,
                                 {transaction, CmReject{.local_id = reply.remote_id,
                                                        .remote_id = reply.local_id,
                                                        .subject = CmSubject::reply,
                                                        .reason = CmReason::invalid_id}}});
        }
        return counted(&CmCounters::unknown, RxVerdict::foreign);
    }
    if (connection->state == State::requesting) {
        connection->state = State::replied;
        set_deadline(*connection, never);
        connection->remote_id = reply.local_id;
        connection->remote_queue_pair = reply.queue_pair;
        connection->last.reset();
        tell(CmEvent::What::replied, *connection, reply);
        return counted(&CmCounters::taken, RxVerdict::accepted);
    }
    // Our RTU or our REJ was lost, or the user has not decided yet.
    if (connection->last && connection->state != State::disconnecting) {
        outgoing_.push_back({connection->peer, *connection->last});
    }
    return counted(&CmCounters::duplicates, RxVerdict::duplicate);
}

RxVerdict ConnectionManagement::take(Instant, PeerId from, std::uint64_t, const CmReady& ready) {
    Connection* connection = find(ready.remote_id, from);
    if (connection == nullptr || connection->active) {
        return counted(&CmCounters::unknown, RxVerdict::foreign);
    }
    if (connection->state == State::established) {
        return counted(&CmCounters::duplicates, RxVerdict::duplicate);
    }
    if (!note_first_packet(CmId(connection->local_id))) {
        return counted(&CmCounters::out_of_state, RxVerdict::stale);
    }
    return counted(&CmCounters::taken, RxVerdict::accepted);
}

RxVerdict ConnectionManagement::take(Instant now, PeerId from, std::uint64_t transaction,
                                     const CmDisconnect& ask) {
    const auto answer = [&] {
        return CmDisconnected{.local_id = ask.remote_id, .remote_id = ask.local_id};
    };
    Connection* connection = find(ask.remote_id, from);
    if (connection == nullptr) {
        // The connection is over and forgotten here. The answer ends the wait of the other side.
        if (outgoing_.size() < answers_max) outgoing_.push_back({from, {transaction, answer()}});
        return counted(&CmCounters::unknown, RxVerdict::foreign);
    }
    if (ask.remote_queue_pair != connection->local_queue_pair) {
        return counted(&CmCounters::out_of_state, RxVerdict::stale);
    }
    if (connection->state == State::requesting || connection->state == State::requested ||
        connection->state == State::replied) {
        return counted(&CmCounters::out_of_state, RxVerdict::stale);
    }
    connection->transaction = transaction;
    send(*connection, answer());
    if (connection->state == State::over) {
        return counted(&CmCounters::duplicates, RxVerdict::duplicate);
    }
    tell(CmEvent::What::disconnected, *connection, ask);
    end(now, *connection);
    return counted(&CmCounters::taken, RxVerdict::accepted);
}

RxVerdict ConnectionManagement::take(Instant now, PeerId from, std::uint64_t,
                                     const CmDisconnected& told) {
    Connection* connection = find(told.remote_id, from);
    if (connection == nullptr) return counted(&CmCounters::unknown, RxVerdict::foreign);
    if (connection->state != State::disconnecting) {
        const bool again = connection->state == State::over;
        return again ? counted(&CmCounters::duplicates, RxVerdict::duplicate)
                     : counted(&CmCounters::out_of_state, RxVerdict::stale);
    }
    tell(CmEvent::What::disconnected, *connection);
    end(now, *connection);
    connection->last.reset();
    return counted(&CmCounters::taken, RxVerdict::accepted);
}

}  // namespace wireproof::proto::ib
