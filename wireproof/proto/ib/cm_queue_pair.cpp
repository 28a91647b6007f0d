#include "wireproof/proto/ib/cm_queue_pair.hpp"

#include <algorithm>
#include <array>

#include "wireproof/proto/ib/path_mtu.hpp"

namespace wireproof::ib {
namespace {

constexpr std::uint32_t domain = 0;  // which no user's domain is
constexpr std::uint64_t base = 0x1000;
constexpr std::size_t buffers = 64;
constexpr std::size_t buffer_size = UdQueuePair::front_room + cm_datagram_size;
constexpr std::size_t requests_max = 1024;  // that nobody has looked at

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

CmQueuePair::CmQueuePair(Port& port, const Config& config)
    : port_(&port),
      path_mtu_(config.path_mtu),
      memory_(buffers * buffer_size),
      management_(config.management) {
    sent_ = port.add_completion_queue(buffers);
    received_ = port.add_completion_queue(buffers);
    const auto key = port.memory().add_region(
        {.domain = domain, .address = base, .memory = memory_, .access = {.local_write = true}});
    const auto number = port.add_queue_pair(
        {.transport = Transport::ud,
         .number = cm_queue_pair,
         .domain = domain,
         .send_completions = sent_,
         .receive_completions = received_,
         .limits = {
             .sends = buffers, .receives = buffers, .pieces = 1, .inlined = cm_datagram_size}});
    WIREPROOF_CHECK(key && number);
    key_ = *key;
    for (const QueuePairChange& change :
         {QueuePairChange{
              .state = QueuePairState::init, .partition_index = 0, .port = 1, .qkey = cm_qkey},
          QueuePairChange{.state = QueuePairState::rtr},
          QueuePairChange{.state = QueuePairState::rts, .send_psn = Psn(0)}}) {
        WIREPROOF_CHECK(port.modify(cm_queue_pair, change) == ModifyStatus::done);
    }
    for (std::uint64_t i = 0; i < buffers; ++i) post_receive(i);
}

CmQueuePair::~CmQueuePair() {
    port_->remove_queue_pair(cm_queue_pair);
    port_->remove(sent_);
    port_->remove(received_);
    port_->memory().remove_region(key_);
}

void CmQueuePair::post_receive(std::uint64_t buffer) {
    const Piece into{base + buffer * buffer_size, buffer_size, key_};
    const auto posted =
        port_->post_receive(cm_queue_pair, {.id = buffer, .pieces = std::span(&into, 1)});
    WIREPROOF_CHECK(posted == PostStatus::accepted);
}

bool CmQueuePair::listen(std::uint64_t service) {
    management_.listen(service);
    return requests_.try_emplace(service).second;
}

void CmQueuePair::stop_listening(Instant now, std::uint64_t service) {
    management_.stop_listening(service);
    for (const CmEvent& event : requests_[service]) {
        management_.reject(now, event.id, CmReason::invalid_service);
    }
    requests_.erase(service);
}

std::optional<CmEvent> CmQueuePair::next_request(std::uint64_t service) {
    return next_of(requests_, service);
}

bool CmQueuePair::listen_datagrams(std::uint64_t service) {
    management_.listen_datagrams(service);
    return queries_.try_emplace(service).second;
}

void CmQueuePair::stop_listening_datagrams(Instant now, std::uint64_t service) {
    management_.stop_listening_datagrams(service);
    const auto found = queries_.find(service);
    if (found == queries_.end()) return;
    for (const CmEvent& event : found->second) {
        management_.answer(now, event.id, {.status = CmServiceStatus::unsupported});
    }
    queries_.erase(found);
}

std::optional<CmEvent> CmQueuePair::next_query(std::uint64_t service) {
    return next_of(queries_, service);
}

std::optional<CmId> CmQueuePair::resolve(Instant now, PeerId to, const CmServiceRequest& request) {
    const auto id = management_.resolve(now, to, request);
    if (id) resolutions_.insert(*id);
    return id;
}

void CmQueuePair::give_up(CmId resolution) {
    management_.give_up(resolution);
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
        if (!management_.disconnect(now, id)) {
            management_.reject(now, id, CmReason::consumer);
        }
    }
}

void CmQueuePair::poll(Instant now) {
    while (const auto one = port_->poll(received_)) {
        const ConstBytes datagram = ConstBytes(memory_).subspan(
            static_cast<std::size_t>(one->id) * buffer_size, one->length);
        management_.on_datagram(now, one->from, datagram.subspan(UdQueuePair::front_room));
        post_receive(one->id);
        take_events(now);
    }
    if (management_.next_deadline() <= now) management_.on_deadline(now);
    take_events(now);
    while (port_->poll(sent_)) {
    }
    while (management_.has_outgoing() && port_->queue_pair(cm_queue_pair)->sends.size() < buffers) {
        const auto one = management_.poll_transmit();
        std::array<std::byte, cm_datagram_size> bytes{};
        one->datagram.encode(bytes);
        const ConstBytes inlined(bytes);
        const auto posted = port_->post_send(
            cm_queue_pair,
            {.terms = {.to = one->to, .to_queue_pair = cm_queue_pair, .qkey = cm_qkey},
             .inlined = std::span(&inlined, 1)});
        WIREPROOF_CHECK(posted == PostStatus::accepted);
    }
}

void CmQueuePair::on_event(const PortEvent& event) {
    if (event.what != PortEvent::What::established) return;
    for (const auto& [id, queue_pair] : queue_pairs_) {
        if (queue_pair == event.number) management_.note_first_packet(id);
    }
}

void CmQueuePair::take_events(Instant now) {
    while (auto event = management_.next_event()) {
        switch (event->what) {
            case CmEvent::What::requested: on_request(now, std::move(*event)); break;
            case CmEvent::What::asked: on_query(now, std::move(*event)); break;
            case CmEvent::What::disconnected: disconnected(event->id); break;
            default: on_answer(std::move(*event));
        }
    }
}

void CmQueuePair::on_answer(CmEvent event) {
    // Of a query or request that waits here: nobody waits for our answer any more.
    if (event.what == CmEvent::What::unanswered) drop(queries_, event.id);
    if (event.what == CmEvent::What::rejected) drop(requests_, event.id);
    // Who asked has gone, unless its queue pair is there, or it has not given up a resolution.
    if (queue_pairs_.contains(event.id) || resolutions_.erase(event.id) > 0) {
        answers_.insert_or_assign(event.id, std::move(event));
    }
}

void CmQueuePair::on_query(Instant now, CmEvent event) {
    auto& waiting = queries_[std::get<CmServiceRequest>(event.message).service];
    if (waiting.size() < requests_max) {
        waiting.push_back(std::move(event));
    } else {
        management_.answer(now, event.id, {.status = CmServiceStatus::no_queue_pair});
    }
}

/// What no user could accept is refused here.
void CmQueuePair::on_request(Instant now, CmEvent event) {
    const auto& request = std::get<CmRequest>(event.message);
    const auto path_mtu = path_mtu_of(request.path_mtu);
    auto& waiting = requests_[request.service];
    std::optional<CmReason> reason;
    if (request.transport > 1) {
        reason = CmReason::invalid_transport;
    } else if (!path_mtu || *path_mtu > path_mtu_) {
        reason = CmReason::invalid_path_mtu;
    } else if (waiting.size() >= requests_max) {
        reason = CmReason::no_resources;
    }
    if (reason) {
        management_.reject(now, event.id, *reason);
    } else {
        waiting.push_back(std::move(event));
    }
}

void CmQueuePair::disconnected(CmId id) {
    drop(requests_, id);
    const auto found = queue_pairs_.find(id);
    if (found == queue_pairs_.end()) return;
    port_->modify(found->second, {.state = QueuePairState::error});
    queue_pairs_.erase(found);
}

}  // namespace wireproof::ib
