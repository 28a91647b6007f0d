// The buffers that a node lends to its connections. They are nearly all of a connection's memory,
// but a connection needs them only while it has traffic. A node with many peers therefore has only
// enough sets for the peers that are active at the same time. A peer for which no set is free
// waits; no message fails in the middle.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

/// Peers are numbered from 0. Each peer has one connection, which is created without buffers and
/// lives as long as the pool.
class BufferPool {
public:
    /// Why a connection needs buffers. The pool keeps some sets for connections that only answer.
    /// Each request of a peer therefore completes even if this node itself waits, and nodes whose
    /// pools are exhausted never wait for each other in a circle.
    enum class Use : std::uint8_t { none, answer, ask };

    /// After its traffic has ended, a connection keeps its buffers for this time, at most twice as
    /// long.
    static constexpr Duration rest = Duration::milliseconds(50);

    /// At most `asking` connections (at least 1) ask at once. The pool keeps an eighth of that
    /// number of sets, at least one, in addition for answers. It creates a set only when a
    /// connection needs it.
    BufferPool(const Config& config, std::size_t peers, std::size_t asking);

    Use use_of(std::size_t peer) const { return peers_[peer].use; }
    bool may_ask(std::size_t peer) const { return use_of(peer) == Use::ask; }
    /// True: the connection now has buffers for that use. False: all sets are in use, or other
    /// connections wait for one.
    bool lend(Instant now, std::size_t peer, Connection& connection, Use use);

    /// The connection has put packets off. It is served when its turn comes.
    void wait(Instant now, std::size_t peer, Connection& connection);
    /// Lends a set to the connection that has waited longest, if a set is free. Returns the peer:
    /// its connection now has something to send.
    std::optional<std::size_t> serve_next(Instant now);

    /// The caller calls look() at this time: a connection without traffic since the last look gives
    /// its buffers back.
    Instant next_look() const { return next_look_; }
    void look(Instant now);

    std::size_t sets_made() const { return made_; }
    std::size_t sets_lent() const { return holders_.size(); }

private:
    struct PeerState {
        Use use = Use::none;
        bool waits = false;
    };
    struct Holder {
        std::size_t peer = 0;
        Connection* connection = nullptr;
        std::optional<std::uint64_t> traffic;  // as of the last look
    };
    struct Waiting {
        std::size_t peer = 0;
        Connection* connection = nullptr;
    };

    static std::uint64_t traffic_of(const Connection& connection);
    bool can_ask();
    bool can_hold();
    bool give_back_one(bool that_asks);
    void give_back(std::size_t holder);
    void look_by(Instant then) { next_look_ = earliest(next_look_, then); }

    Config config_;
    std::size_t most_;
    std::size_t asking_most_;
    std::size_t made_ = 0;
    std::size_t asking_ = 0;  // how many holders ask
    std::vector<ConnectionBuffers> spare_;
    // Empty buffers that the connections gave in exchange for lent sets.
    std::vector<ConnectionBuffers> blanks_;
    std::vector<PeerState> peers_;
    std::vector<Holder> holders_;
    std::size_t hand_ = 0;  // the holder that was asked last to give its buffers back
    std::deque<Waiting> waiting_;
    Instant next_look_ = never;
};

}  // namespace wireproof::am
