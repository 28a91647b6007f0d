#include "wireproof/proto/ib/cm/cm_queue_pair.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {
namespace {

constexpr std::size_t requests_max = 1024;  // of one service, that the user has not taken

using Waiting = std::map<std::uint64_t, std::deque<CmEvent>>;

std::optional<CmEvent> next_of(Waiting& waiting, std::uint64_t service) {
    const auto found = waiting.find(service);
    if (found == waiting.end() || found->second.empty()) return std::nullopt;
    CmEvent event = std::move(found->second.front());
    found->second.pop_front();
    return event;
}

void drop(Waiting& waiting, CmId id) {
    for (auto& [service, events] : waiting) {
        std::erase_if(events, [id](const CmEvent& one) { return one.id == id; });
    }
}

}  // namespace

bool CmQueuePair::listen(std::uint64_t service) {
    management().listen(service);
    return requests_.try_emplace(service).second;
}

void CmQueuePair::stop_listening(Instant now, std::uint64_t service) {
    management().stop_listening(service);
    const auto found = requests_.find(service);
    if (found == requests_.end()) return;
    for (const CmEvent& event : found->second) {
        management().reject(now, event.id, CmReason::invalid_service);
    }
    requests_.erase(found);
}

std::optional<CmEvent> CmQueuePair::next_request(std::uint64_t service) {
    return next_of(requests_, service);
}

bool CmQueuePair::listen_datagrams(std::uint64_t service) {
    management().listen_datagrams(service);
    return queries_.try_emplace(service).second;
}

void CmQueuePair::stop_listening_datagrams(Instant now, std::uint64_t service) {
    management().stop_listening_datagrams(service);
    const auto found = queries_.find(service);
    if (found == queries_.end()) return;
    for (const CmEvent& event : found->second) {
        management().answer(now, event.id, {.status = CmServiceStatus::unsupported});
    }
    queries_.erase(found);
}

std::optional<CmEvent> CmQueuePair::next_query(std::uint64_t service) {
    return next_of(queries_, service);
}

std::optional<CmId> CmQueuePair::resolve(Instant now, PeerId to, const CmServiceRequest& request) {
    const auto id = management().resolve(now, to, request);
    if (id) resolutions_.insert(*id);
    return id;
}

void CmQueuePair::give_up(CmId resolution) {
    management().give_up(resolution);
    resolutions_.erase(resolution);
    answers_.erase(resolution);
}

std::optional<CmEvent> CmQueuePair::take_answer(CmId id) {
    const auto found = answers_.find(id);
    if (found == answers_.end()) return std::nullopt;
    CmEvent event = std::move(found->second);
    answers_.erase(found);
    return event;
}

void CmQueuePair::part(Instant now, std::uint32_t queue_pair) {
    for (auto at = queue_pairs_.begin(); at != queue_pairs_.end();) {
        if (at->second != queue_pair) {
            ++at;
            continue;
        }
        const CmId id = at->first;
        at = queue_pairs_.erase(at);
        answers_.erase(id);
        if (!management().disconnect(now, id)) {
            management().reject(now, id, CmReason::consumer);
        }
    }
}

void CmQueuePair::poll(Instant now) {
    transport_.poll(now, [&](const CmEvent& event) { take(now, event); });
}

void CmQueuePair::on_event(const PortEvent& event) {
    if (event.what != PortEvent::What::established) return;
    for (const auto& [id, queue_pair] : queue_pairs_) {
        if (queue_pair == event.number) management().note_first_packet(id);
    }
}

void CmQueuePair::take(Instant now, CmEvent event) {
    switch (event.what) {
        case CmEvent::What::requested: on_request(now, std::move(event)); break;
        case CmEvent::What::asked: on_query(now, std::move(event)); break;
        case CmEvent::What::disconnected: disconnected(event.id); break;
        default: on_answer(std::move(event));
    }
}

void CmQueuePair::on_answer(CmEvent event) {
    // For a query or request that waits here: the asker does not wait for our answer any more.
    if (event.what == CmEvent::What::unanswered) drop(queries_, event.id);
    if (event.what == CmEvent::What::rejected) drop(requests_, event.id);
    // An answer is kept only if the user may still take it: the connection has a queue pair, or the
    // user has not given up the resolution.
    const bool resolves = resolutions_.contains(event.id);
    if (!resolves && !queue_pairs_.contains(event.id)) return;
    const CmId id = event.id;
    answers_.insert_or_assign(id, std::move(event));
    if (resolves) resolutions_.erase(id);
}

void CmQueuePair::on_query(Instant now, CmEvent event) {
    const auto found = queries_.find(std::get<CmServiceRequest>(event.message).service);
    if (found == queries_.end()) {
        management().answer(now, event.id, {.status = CmServiceStatus::unsupported});
    } else if (found->second.size() < requests_max) {
        found->second.push_back(std::move(event));
    } else {
        management().answer(now, event.id, {.status = CmServiceStatus::no_queue_pair});
    }
}

/// Refuses requests that no user can accept. An entry of a service says that somebody listens, so
/// only listen may make one.
void CmQueuePair::on_request(Instant now, CmEvent event) {
    const auto& request = std::get<CmRequest>(event.message);
    const auto path_mtu = path_mtu_of(request.path_mtu);
    const auto found = requests_.find(request.service);
    std::optional<CmReason> reason;
    if (found == requests_.end()) {
        reason = CmReason::invalid_service;
    } else if (request.transport > 1) {
        reason = CmReason::invalid_transport;
    } else if (!path_mtu || *path_mtu > path_mtu_) {
        reason = CmReason::invalid_path_mtu;
    } else if (found->second.size() >= requests_max) {
        reason = CmReason::no_resources;
    }
    if (reason == CmReason::invalid_path_mtu) {
        const std::byte most{path_mtu_code(path_mtu_)};
        management().reject(now, event.id, *reason, {}, std::span(&most, 1));
    } else if (reason) {
        management().reject(now, event.id, *reason);
    } else {
        found->second.push_back(std::move(event));
    }
}

void CmQueuePair::disconnected(CmId id) {
    drop(requests_, id);
    const auto found = queue_pairs_.find(id);
    if (found == queue_pairs_.end()) return;
    port_->modify(found->second, {.state = QueuePairState::error});
    queue_pairs_.erase(found);
}

void CmQueuePair::add_used_peers(PeerSet& to) const {
    management().add_used_peers(to);
    for (const Waiting* const waiting : {&requests_, &queries_}) {
        for (const auto& [service, events] : *waiting) {
            for (const CmEvent& event : events) to.add(event.peer);
        }
    }
    for (const auto& [id, event] : answers_) to.add(event.peer);
}

}  // namespace wireproof::proto::ib
