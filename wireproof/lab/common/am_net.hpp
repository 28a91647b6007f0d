// SP AM on a simulated network: a connection for each ordered pair of nodes, and the turns that
// move their frames. The user decides what the nodes send to each other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "wireproof/proto/am/connection.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::lab {

/// The program that runs on the nodes.
class AmUser {
public:
    virtual ~AmUser() = default;

    /// A node's turn: the frames that arrived are delivered, and nothing has left yet. Returns when
    /// the node wants its next turn even if nothing arrives, or `never`.
    virtual Instant on_turn(std::size_t node, Instant now) = 0;
    virtual void on_delivery(std::size_t node, std::size_t peer, Instant now,
                             const am::Delivery& delivery) = 0;
    /// The verdict of a node's engine about a frame.
    virtual void on_verdict(std::size_t node, std::size_t peer, RxVerdict verdict);
    /// The node handed a packet to the cable. `start` holds its header, and its data if the packet
    /// is short.
    virtual void on_departure(std::size_t node, std::size_t peer, const TxFrame& frame,
                              ConstBytes start);
};

class AmNet {
public:
    /// All connections use `config`, but AmNet sets the node numbers and the seeds. With a cookie,
    /// each pair has a session of its own.
    AmNet(const sim::NetworkConfig& network, const am::Config& config, std::uint64_t seed);
    // Connections hold pointers to the tables.
    AmNet(const AmNet&) = delete;
    AmNet& operator=(const AmNet&) = delete;
    ~AmNet() = default;

    std::size_t nodes() const { return network_.nodes(); }
    am::Connection& at(std::size_t node, std::size_t peer) { return ends_[index(node, peer)]; }
    const am::Connection& at(std::size_t node, std::size_t peer) const {
        return ends_[index(node, peer)];
    }
    /// The memory of the node that the peer may access.
    am::MemoryTable& memory(std::size_t node, std::size_t peer) {
        return memory_[index(node, peer)];
    }
    /// Sets the handlers of all nodes, for stores. Without this call, every node has all handlers.
    void have_handlers(const am::HandlerTable& handlers);
    sim::Network& network() { return network_; }
    sim::Schedule& schedule() { return schedule_; }

    /// The node forgets everything, as if its program had been restarted.
    void restart(std::size_t node);

    using Done = std::function<bool()>;
    sim::RunResult run(AmUser& user, sim::RunLimits limits = {});
    sim::RunResult run_until(AmUser& user, const Done& done, sim::RunLimits limits = {});

    /// Sums over all connections, including the lives that a restart ended.
    am::Stats totals() const;

private:
    std::size_t index(std::size_t node, std::size_t peer) const {
        WIREPROOF_CHECK(node != peer && node < nodes() && peer < nodes());
        return node * (nodes() - 1) + peer - (peer > node ? 1 : 0);
    }
    am::Config config_of(std::size_t node, std::size_t peer) const;
    Instant turn(AmUser& user, std::size_t node, Instant now);
    void draw(AmUser& user, std::size_t node, std::size_t peer, Instant now);
    void transmit(AmUser& user, std::size_t node, std::size_t peer, Instant now);

    am::Config config_;
    std::uint64_t seed_;
    std::uint64_t lives_ = 0;
    sim::Network network_;
    sim::Schedule schedule_;
    std::vector<am::MemoryTable> memory_;
    std::optional<am::HandlerTable> handlers_;
    std::vector<am::Connection> ends_;
    am::Stats ended_;
};

}  // namespace wireproof::lab
