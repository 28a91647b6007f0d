// Queue pair 1 of a device: carries the datagrams of connection management, and keeps what they
// bring until somebody asks for it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "wireproof/proto/ib/connection_management.hpp"
#include "wireproof/proto/ib/port.hpp"

namespace wireproof::rdma {

class CmQueuePair {
public:
    /// `port` outlives this, and has no queue pair 1. `path_mtu` is the most that requests may ask.
    CmQueuePair(ib::Port& port, std::size_t path_mtu);
    CmQueuePair(const CmQueuePair&) = delete;
    CmQueuePair& operator=(const CmQueuePair&) = delete;
    ~CmQueuePair();

    ib::ConnectionManagement& management() { return management_; }

    /// Requests to this service are kept from now on. False: they are already.
    bool listen(std::uint64_t service);
    /// Those that wait are refused.
    void stop_listening(Instant now, std::uint64_t service);
    std::optional<ib::CmEvent> next_request(std::uint64_t service);

    /// From now on the connection is that of a queue pair, which goes into error with it.
    void join(ib::CmId id, std::uint32_t queue_pair) { queue_pairs_[id] = queue_pair; }
    /// The queue pair has gone, or wants no more: the other side is told.
    void part(Instant now, std::uint32_t queue_pair);
    /// What became of a request or reply of ours, once: replied, established, rejected, unanswered.
    std::optional<ib::CmEvent> take_answer(ib::CmId id);
    bool has_answer(ib::CmId id) const { return answers_.contains(id); }
    /// False once the connection is over: no answer will come.
    bool is_joined(ib::CmId id) const { return queue_pairs_.contains(id); }

    /// Datagrams in and out, and what is due.
    void poll(Instant now);
    void on_event(const ib::PortEvent& event);
    Instant next_deadline() const { return management_.next_deadline(); }

private:
    void post_receive(std::uint64_t buffer);
    void take_events(Instant now);
    void on_request(Instant now, ib::CmEvent event);
    void disconnected(ib::CmId id);

    ib::Port* port_;
    std::size_t path_mtu_;
    std::vector<std::byte> memory_;  // of receives
    std::uint32_t key_ = 0;
    ib::CompletionQueueId sent_{};
    ib::CompletionQueueId received_{};
    ib::ConnectionManagement management_;
    std::map<std::uint64_t, std::deque<ib::CmEvent>> requests_;  // by service
    std::map<ib::CmId, ib::CmEvent> answers_;
    std::map<ib::CmId, std::uint32_t> queue_pairs_;
};

}  // namespace wireproof::rdma
