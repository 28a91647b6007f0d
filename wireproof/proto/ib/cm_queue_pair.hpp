// Queue pair 1 of a device that is asked: keeps what the datagrams of connection management bring
// until somebody asks for it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "wireproof/proto/ib/cm_transport.hpp"

namespace wireproof::proto::ib {

class CmQueuePair {
public:
    struct Config {
        std::size_t path_mtu = 1024;  // bytes, the most that requests may ask for
        /// Number of the host and of its first connection: others in each run, or late datagrams of
        /// an earlier one would be taken.
        ConnectionManagement::Config management = {};
    };

    /// `port` outlives this, and has no queue pair 1.
    CmQueuePair(Port& port, const Config& config)
        : port_(&port), path_mtu_(config.path_mtu), transport_(port, config.management) {}

    ConnectionManagement& management() { return transport_.management(); }
    const ConnectionManagement& management() const { return transport_.management(); }

    /// Requests to this service are kept from now on. False: they are already.
    bool listen(std::uint64_t service);
    /// Those that wait are refused.
    void stop_listening(Instant now, std::uint64_t service);
    std::optional<CmEvent> next_request(std::uint64_t service);

    /// Questions about this datagram service are kept from now on, and given to
    /// `management().answer`. False: they are already.
    bool listen_datagrams(std::uint64_t service);
    /// Those that wait are answered that nobody listens.
    void stop_listening_datagrams(Instant now, std::uint64_t service);
    std::optional<CmEvent> next_query(std::uint64_t service);

    /// Asks a host for the queue pair behind a datagram service; `take_answer` tells what came of
    /// it: resolved, unanswered. Nothing: too many are being asked for.
    std::optional<CmId> resolve(Instant now, PeerId to, const CmServiceRequest& request);
    /// Nobody wants that answer any more. Not needed once it was taken.
    void give_up(CmId resolution);

    /// From now on the connection is that of a queue pair, which goes into error with it.
    void join(CmId id, std::uint32_t queue_pair) { queue_pairs_[id] = queue_pair; }
    /// The queue pair has gone, or wants no more: the other side is told.
    void part(Instant now, std::uint32_t queue_pair);
    /// What became of a request or reply of ours, once: replied, established, rejected, resolved,
    /// unanswered.
    std::optional<CmEvent> take_answer(CmId id);
    bool has_answer(CmId id) const { return answers_.contains(id); }
    /// False once the connection is over: no answer will come.
    bool is_joined(CmId id) const { return queue_pairs_.contains(id); }

    /// Datagrams in and out, and what is due.
    void poll(Instant now);
    void on_event(const PortEvent& event);
    Instant next_deadline() const { return transport_.next_deadline(); }

private:
    void take(Instant now, CmEvent event);
    void on_request(Instant now, CmEvent event);
    void on_query(Instant now, CmEvent event);
    void on_answer(CmEvent event);
    void disconnected(CmId id);

    Port* port_;
    std::size_t path_mtu_;
    CmTransport transport_;
    std::map<std::uint64_t, std::deque<CmEvent>> requests_;  // by service
    std::map<std::uint64_t, std::deque<CmEvent>> queries_;   // likewise
    std::set<CmId> resolutions_;                             // asked for, and not answered
    std::map<CmId, CmEvent> answers_;
    std::map<CmId, std::uint32_t> queue_pairs_;
};

}  // namespace wireproof::proto::ib
