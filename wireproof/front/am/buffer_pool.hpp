// The buffers that a node lends to its connections. A connection needs them while it has traffic,
// and they are nearly all of its memory; so a node that is told of many peers has sets for as many
// as are active at once. A peer that finds none waits: no message fails in the middle.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

/// Peers are numbered from 0, and each has one connection, made without buffers, that lives as long
/// as the pool.
class BufferPool {
public:
    /// What a connection needs them for. Some sets are kept for connections that only answer. So
    /// what a peer asked for comes to its end whatever this node waits for, and nodes whose pools
    /// are all in use never wait for one another in a circle.
    enum class Use : std::uint8_t { none, answer, ask };

    /// So long a connection keeps them, or up to twice as long, when its traffic has ended.
    static constexpr Duration rest = Duration::milliseconds(50);

    /// At most so many connections ask at once, 1 at least; an eighth as many sets are kept for
    /// answers besides. None is made before it is needed.
    BufferPool(const Config& config, std::size_t peers, std::size_t asking);

    Use use_of(std::size_t peer) const { return peers_[peer].use; }
    bool may_ask(std::size_t peer) const { return use_of(peer) == Use::ask; }
    /// True: the connection has buffers now, for that use. False: all are in use, or others wait
    /// for them.
    bool lend(Instant now, std::size_t peer, Connection& connection, Use use);

    /// The connection has put packets off: it is served when its turn comes.
    void wait(Instant now, std::size_t peer, Connection& connection);
    /// Lends to the one that waited longest, if there are buffers for it: it has something to send.
    std::optional<std::size_t> serve_next(Instant now);

    /// To be called at that time: a connection without traffic since the last look gives its
    /// buffers back.
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
    std::size_t asking_ = 0;  // of the holders
    std::vector<ConnectionBuffers> spare_;
    std::vector<ConnectionBuffers> blanks_;  // what stands in the place of those that are lent
    std::vector<PeerState> peers_;
    std::vector<Holder> holders_;
    std::size_t hand_ = 0;  // the holder to be asked next whether it can give back
    std::deque<Waiting> waiting_;
    Instant next_look_ = never;
};

}  // namespace wireproof::am
