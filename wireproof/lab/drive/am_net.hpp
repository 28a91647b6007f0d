// SP AM on a simulated network: a connection for each ordered pair of nodes, and the turns that
// move their frames. What the nodes want of one another is their user's business.
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

    /// A node's turn: what arrived was delivered, nothing has left yet. Returns when the node wants
    /// its next turn even if nothing arrives; `never` if it does not.
    virtual Instant on_turn(std::size_t node, Instant now) = 0;
    virtual void on_delivery(std::size_t node, std::size_t peer, Instant now,
                             const am::Delivery& delivery) = 0;
    /// What a node's engine said of a frame.
    virtual void on_verdict(std::size_t node, std::size_t peer, RxVerdict verdict);
    /// A packet was handed to the cable; `start` holds its header, and its data if it is short.
    virtual void on_departure(std::size_t node, std::size_t peer, const TxFrame& frame,
                              ConstBytes start);
};

class AmNet {
public:
    /// `config` is every connection's but for the node numbers and seeds, which are put in here;
    /// a cookie makes every pair a session of its own.
    AmNet(const sim::NetworkConfig& network, const am::Config& config, std::uint64_t seed);
    // Connections point at the tables.
    AmNet(const AmNet&) = delete;
    AmNet& operator=(const AmNet&) = delete;
    ~AmNet() = default;

    std::size_t nodes() const { return network_.nodes(); }
    am::Connection& at(std::size_t node, std::size_t peer) { return ends_[index(node, peer)]; }
    const am::Connection& at(std::size_t node, std::size_t peer) const {
        return ends_[index(node, peer)];
    }
    /// What the peer may touch at the node.
    am::MemoryTable& memory(std::size_t node, std::size_t peer) {
        return memory_[index(node, peer)];
    }
    /// Every node has these handlers and no other, for stores; without this, all there are.
    void have_handlers(const am::HandlerTable& handlers);
    sim::Network& network() { return network_; }
    sim::Schedule& schedule() { return schedule_; }

    /// The node forgets everything, as if its program had been started again.
    void restart(std::size_t node);

    using Done = std::function<bool()>;
    sim::RunResult run(AmUser& user, sim::RunLimits limits = {});
    sim::RunResult run_until(AmUser& user, const Done& done, sim::RunLimits limits = {});

    /// Sums over all connections, lives that ended included.
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
