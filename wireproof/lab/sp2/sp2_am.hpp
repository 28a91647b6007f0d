// SP AM on the modelled SP: a connection for each ordered pair of nodes, and the library's calls as
// a node's program makes them. Calls take the node's time: what the adapter charges and AmCosts.
// A turn of a node begins with one poll, so that no poll looks further ahead than a packet flies.
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
    sp2::Config machine{};  // `route_of` is put in: packets say which route they take
    AmCosts costs{};
    am::Config protocol = am::Config::sp2();  // node numbers, seeds and cookies are put in
    std::uint64_t cookie = 0x5B2;             // of the job; every pair has its own from it

    /// With keep-alives as patient as the receive FIFO of so many nodes is long: full, it takes
    /// the link 0.4 ms an active peer, and a keep-alive before that asks for what is not lost.
    static Sp2AmConfig of_nodes(std::size_t nodes);
};

/// The program that runs on the nodes.
class Sp2Program {
public:
    virtual ~Sp2Program() = default;

    /// It goes on: the library has sent all that may leave. Returns when it wants to go on if
    /// nothing arrives before; `never` if it waits for messages.
    virtual Instant on_turn(std::size_t node) = 0;
    /// Runs handlers. Of the calls below only reply() may be made here.
    virtual void on_delivery(std::size_t node, std::size_t peer, const am::Delivery& delivery) = 0;
};

struct Sp2AmCounts {
    std::uint64_t requests = 0;       // am_request calls that were accepted
    std::uint64_t request_polls = 0;  // polls made by am_request calls
    std::uint64_t polls = 0;          // all
};

class Sp2Am {
public:
    explicit Sp2Am(const Sp2AmConfig& config);
    // Connections point at the memory tables.
    Sp2Am(const Sp2Am&) = delete;
    Sp2Am& operator=(const Sp2Am&) = delete;
    ~Sp2Am() = default;

    std::size_t nodes() const { return machine_.nodes(); }
    sp2::Machine& machine() { return machine_; }
    sp2::Host& host(std::size_t node) { return machine_.host(node); }
    /// Connections are made when they are first used: the cookie is there from the start.
    am::Connection& at(std::size_t node, std::size_t peer);
    /// What the peer may touch at the node.
    am::MemoryTable& memory(std::size_t node, std::size_t peer) {
        return memory_[index(node, peer)];
    }
    const Sp2AmCounts& counts(std::size_t node) const { return counts_[node]; }

    using Done = std::function<bool()>;
    sim::RunResult run(Sp2Program& program, const Done& done, sim::RunLimits limits = {});

    // The calls, for a program whose turn it is.
    /// am_request: sends, and polls whether it could send or not (AM-21).
    am::PostStatus request(std::size_t node, std::size_t peer, am::HandlerId handler,
                           ConstBytes arguments);
    am::PostStatus reply(std::size_t node, std::size_t peer, am::HandlerId handler,
                         ConstBytes arguments);
    /// am_store_async. What does not leave at once leaves in the node's next turns.
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

    /// Who at a node may have something to send.
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
    std::vector<std::vector<std::size_t>> peers_;  // that a node has a connection to
    std::vector<Waiting> waiting_;
    std::vector<Sp2AmCounts> counts_;
    std::vector<Duration> owed_;  // by a node's program for replies, charged once they left
    Sp2Program* program_ = nullptr;
};

}  // namespace wireproof::lab
