// Services of datagrams: the queue pair that receives the datagrams, and its Q_Key.
#include <utility>

#include "wireproof/proto/ib/cm/connection_management.hpp"

namespace wireproof::proto::ib {
namespace {

// Linux sends a SIDR_REQ sixteen times, 4.1 s apart. After that, it does not wait for an answer.
constexpr std::int64_t asked_for = 16;  // for the user, in Config::delay

}  // namespace

std::optional<CmId> ConnectionManagement::resolve(Instant now, PeerId to,
                                                  CmServiceRequest request) {
    if (!has_room(Kind::resolution)) return std::nullopt;
    Connection& resolution = begin(Kind::resolution, to);
    request.request_id = resolution.local_id;
    resolution.transaction = request.request_id;
    resolution.patience = cm_response_time(config_.response_timeout);
    resolution.retries = config_.retries;
    ask(now, resolution, request);
    return CmId(request.request_id);
}

bool ConnectionManagement::give_up(CmId id) {
    const Connection* resolution = find(id, Kind::resolution);
    if (resolution == nullptr || resolution->state == State::over) return false;
    forget(resolution->local_id);
    return true;
}

bool ConnectionManagement::answer(Instant now, CmId id, CmServiceReply reply) {
    Connection* query = find(id, Kind::query);
    if (query == nullptr || query->state == State::over) return false;
    reply.request_id = query->remote_id;
    reply.service = query->service;
    send(*query, reply);
    end(now, *query);
    return true;
}

RxVerdict ConnectionManagement::take(Instant now, PeerId from, std::uint64_t transaction,
                                     const CmServiceRequest& request) {
    const QueryKey key{from, request.request_id, transaction, request.service};
    if (const auto known = queries_.find(key); known != queries_.end()) {
        // The answer was lost, or the user has not decided yet. SIDR has no message like MRA for
        // that.
        const Connection& query = connections_.at(known->second);
        if (query.last && outgoing_.size() < answers_max) outgoing_.push_back({from, *query.last});
        return counted(&CmCounters::duplicates, RxVerdict::duplicate);
    }
    if (!datagram_services_.contains(request.service)) {
        if (const auto kept = keep_early(now, from, {transaction, request})) return *kept;
        return refuse(from, transaction, request, CmServiceStatus::unsupported);
    }
    if (!has_room(Kind::query)) {
        return refuse(from, transaction, request, CmServiceStatus::no_queue_pair);
    }
    Connection& query = begin(Kind::query, from);
    query.state = State::requested;
    query.transaction = transaction;
    query.remote_id = request.request_id;
    query.service = request.service;
    query.patience = cm_response_time(config_.delay);
    set_deadline(query, now + query.patience * asked_for);
    queries_.emplace(key, query.local_id);
    tell(CmEvent::What::asked, query, request);
    return counted(&CmCounters::taken, RxVerdict::accepted);
}

RxVerdict ConnectionManagement::refuse(PeerId from, std::uint64_t transaction,
                                       const CmServiceRequest& request, CmServiceStatus status) {
    if (outgoing_.size() < answers_max) {
        outgoing_.push_back({from,
                             {transaction, CmServiceReply{.request_id = request.request_id,
                                                          .status = status,
                                                          .service = request.service}}});
    }
    return counted(&CmCounters::refused, RxVerdict::refused);
}

// The service is not compared, because older kernels leave it out of a refusal.
RxVerdict ConnectionManagement::take(Instant now, PeerId from, std::uint64_t,
                                     const CmServiceReply& reply) {
    Connection* resolution = find(reply.request_id, from, Kind::resolution);
    if (resolution == nullptr) return counted(&CmCounters::unknown, RxVerdict::foreign);
    if (resolution->state == State::over) {
        return counted(&CmCounters::duplicates, RxVerdict::duplicate);
    }
    tell(CmEvent::What::resolved, *resolution, reply);
    resolution->last.reset();
    end(now, *resolution);
    return counted(&CmCounters::taken, RxVerdict::accepted);
}

}  // namespace wireproof::proto::ib
