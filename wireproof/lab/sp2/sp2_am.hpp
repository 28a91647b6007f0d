// SP AM on the modelled SP: a connection for each ordered pair of nodes, and the library calls of a
// node's program. Calls take time of the node: the costs of the adapter and AmCosts. A turn of a
// node begins with one poll, so no poll looks further ahead than the flight time of a packet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "wireproof/lab/sp2/sp2_costs.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/sim/run.hpp"
#include "wireproof/sim/sp2/machine.hpp"

namespace wireproof::lab {

struct Sp2AmConfig {
    sp2::Config machine{};  // the class sets `route_of`: packets say which route they take
    AmCosts costs{};
    am::Config protocol = am::Config::sp2();  // the class sets node numbers, seeds and cookies
    std::uint64_t cookie = 0x5B2;             // of the job; each pair gets its own cookie from it

    /// The configuration with a keep-alive time that suits the length of the receive FIFO for so
    /// many nodes. A full FIFO keeps the link busy for 0.4 ms for each active peer. An earlier
    /// keep-alive would ask for packets that are not lost.
    static Sp2AmConfig of_nodes(std::size_t nodes);
};

/// The program that runs on the nodes.
class Sp2Program {
public:
    virtual ~Sp2Program() = default;

    /// The program continues: the library has sent all packets that may leave. Returns when the
    /// program wants its next turn if nothing arrives before; `never` if it waits for messages.
    virtual Instant on_turn(std::size_t node) = 0;
    /// Runs handlers. Of the calls below, it may make only reply().
    virtual void on_delivery(std::size_t node, std::size_t peer, const am::Delivery& delivery) = 0;
};

struct Sp2AmCounts {
    std::uint64_t requests = 0;       // am_request calls that were accepted
    std::uint64_t request_polls = 0;  // polls by am_request calls
    std::uint64_t polls = 0;          // all polls
};

class Sp2Am {
public:
    explicit Sp2Am(const Sp2AmConfig& config);
    // Connections hold pointers to the memory tables.
    Sp2Am(const Sp2Am&) = delete;
    Sp2Am& operator=(const Sp2Am&) = delete;
    ~Sp2Am() = default;

    std::size_t nodes() const { return machine_.nodes(); }
    sp2::Machine& machine() { return machine_; }
    sp2::Host& host(std::size_t node) { return machine_.host(node); }
    /// Creates the connection at its first use. Both sides know the cookie from the start.
    am::Connection& at(std::size_t node, std::size_t peer);
    /// The memory of the node that the peer may access.
    am::MemoryTable& memory(std::size_t node, std::size_t peer) {
        return memory_[index(node, peer)];
    }
    const Sp2AmCounts& counts(std::size_t node) const { return counts_[node]; }

    using Done = std::function<bool()>;
    sim::RunResult run(Sp2Program& program, const Done& done, sim::RunLimits limits = {});

    // The calls of a program, valid during its turn.
    /// am_request: sends, and polls in any case, even if it could not send (AM-21).
    am::PostStatus request(std::size_t node, std::size_t peer, am::HandlerId handler,
                           ConstBytes arguments);
    am::PostStatus reply(std::size_t node, std::size_t peer, am::HandlerId handler,
                         ConstBytes arguments);
    /// am_store_async. Packets that cannot leave at once leave in the next turns of the node.
    am::PostStatus store(std::size_t node, std::size_t peer, const am::Connection::Store& store);

private:
    std::size_t index(std::size_t node, std::size_t peer) const {
        WIREPROOF_CHECK(node != peer && node < nodes() && peer < nodes());
        return node * (nodes() - 1) + peer - (peer > node ? 1 : 0);
    }
    Instant turn(std::size_t node, Instant now);
    bool poll(std::size_t node, Instant now);
    void deliver(std::size_t node, std::size_t peer);
    void expire(std::size_t node);
    std::size_t left_in_word(std::size_t node);
    void send_waiting(std::size_t node);
    void send_now(std::size_t node, std::size_t peer);
    std::size_t send(std::size_t node, std::size_t peer, std::size_t packets_max);
    Duration cost_of(ConstBytes packet) const;
    Instant next_deadline(std::size_t node) const;

    /// The peers to which a node may have something to send.
    struct Waiting {
        std::vector<bool> peers;
        std::size_t count = 0;
        std::size_t turn = 0;
    };
    void touch(std::size_t node, std::size_t peer);

    Sp2AmConfig config_;
    sp2::Machine machine_;
    sim::Schedule schedule_;
    std::vector<am::MemoryTable> memory_;
    std::vector<std::unique_ptr<am::Connection>> ends_;
    std::vector<std::vector<std::size_t>> peers_;  // peers to which a node has a connection
    std::vector<Waiting> waiting_;
    std::vector<Sp2AmCounts> counts_;
    std::vector<Duration> owed_;  // time that a node owes for replies; charged after they have left
    Sp2Program* program_ = nullptr;
};

}  // namespace wireproof::lab
