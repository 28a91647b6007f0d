// Queue pair 1 of a device. It keeps the events of connection management until the caller asks for
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "wireproof/proto/ib/cm/cm_transport.hpp"

namespace wireproof::proto::ib {

class CmQueuePair {
public:
    struct Config {
        std::size_t path_mtu = 1024;  // bytes; the largest path MTU that a request may have
        /// The GUID and the first identifier must differ in each run. Otherwise a late datagram of
        /// an earlier run could match a connection of this run.
        ConnectionManagement::Config management = {};
    };

    /// `port` must outlive this object and must not have a queue pair 1 yet.
    CmQueuePair(Port& port, const Config& config)
        : port_(&port), path_mtu_(config.path_mtu), transport_(port, config.management) {}

    ConnectionManagement& management() { return transport_.management(); }
    const ConnectionManagement& management() const { return transport_.management(); }

    /// From now on, keeps requests to this service. Returns false if it already keeps them.
    bool listen(std::uint64_t service);
    /// Refuses the requests that wait.
    void stop_listening(Instant now, std::uint64_t service);
    std::optional<CmEvent> next_request(std::uint64_t service);

    /// From now on, keeps queries about this datagram service. The caller answers them with
    /// `management().answer`. Returns false if it already keeps them.
    bool listen_datagrams(std::uint64_t service);
    /// Answers the queries that wait with "nobody listens".
    void stop_listening_datagrams(Instant now, std::uint64_t service);
    std::optional<CmEvent> next_query(std::uint64_t service);

    /// Asks a host for the queue pair of a datagram service. `take_answer` later gives the result:
    /// resolved or unanswered. Returns empty if too many resolutions are outstanding.
    std::optional<CmId> resolve(Instant now, PeerId to, const CmServiceRequest& request);
    /// The caller does not need the answer any more. The call is not needed after the answer was
    /// taken.
    void give_up(CmId resolution);

    /// From now on the connection belongs to this queue pair. When the connection ends, the queue
    /// pair goes into error.
    void join(CmId id, std::uint32_t queue_pair) { queue_pairs_[id] = queue_pair; }
    /// The queue pair is removed or ends its connection: the other side is informed.
    void part(Instant now, std::uint32_t queue_pair);
    /// The result of our request or reply, given once: replied, established, rejected, resolved or
    /// unanswered.
    std::optional<CmEvent> take_answer(CmId id);
    bool has_answer(CmId id) const { return answers_.contains(id); }
    /// Returns false after the connection has ended: no answer will come.
    bool is_joined(CmId id) const { return queue_pairs_.contains(id); }

    /// Adds the peers of connections and questions that are not over, and of events that the caller
    /// has not taken.
    void add_used_peers(PeerSet& to) const;

    /// Receives and sends datagrams, and handles expired timers.
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
    std::map<std::uint64_t, std::deque<CmEvent>> queries_;   // by service
    std::set<CmId> resolutions_;                             // without an answer
    std::map<CmId, CmEvent> answers_;
    std::map<CmId, std::uint32_t> queue_pairs_;
};

}  // namespace wireproof::proto::ib
