#include "wireproof/front/am/buffer_pool.hpp"

#include <algorithm>
#include <utility>

namespace wireproof::am {
namespace {

// The time between two looks at the holders while a peer waits for buffers.
constexpr Duration wait_between_looks = Duration::milliseconds(1);
// The number of holders that one lend() looks at if no set is spare. It is small because the caller
// may call lend() again and again.
constexpr std::size_t asked_at_once = 8;

}  // namespace

BufferPool::BufferPool(const Config& config, std::size_t peers, std::size_t asking)
    : config_(config),
      most_(std::min(peers, asking + std::max<std::size_t>(1, asking / 8))),
      asking_most_(asking),
      peers_(peers) {
    WIREPROOF_CHECK(asking > 0);
}

bool BufferPool::lend(Instant now, std::size_t peer, Connection& connection, Use use) {
    PeerState& state = peers_[peer];
    if (state.use >= use) return true;
    const bool asks = use == Use::ask;
    const bool holds = state.use != Use::none;
    // The caller must first take the end of the session.
    if (!holds && !connection.at_rest()) return false;
    // A peer that was put off goes first. The limit of asking peers is checked before a set is
    // taken.
    const bool in_turn = holds || !asks || waiting_.empty();
    if (!in_turn || (asks && !can_ask()) || (!holds && !can_hold())) return false;
    if (!holds) {
        ConnectionBuffers buffers = std::move(spare_.back());
        spare_.pop_back();
        connection.exchange(buffers);
        blanks_.push_back(std::move(buffers));
        holders_.push_back({peer, &connection, std::nullopt});
        look_by(now + rest);
    }
    state.use = use;
    if (asks) ++asking_;
    return true;
}

bool BufferPool::can_ask() {
    return asking_ < asking_most_ || give_back_one(true);
}

/// True: a set is spare now.
bool BufferPool::can_hold() {
    if (!spare_.empty()) return true;
    if (made_ == most_) return give_back_one(false);
    spare_.emplace_back(config_);
    ++made_;
    return true;
}

/// True: a holder at rest has given its buffers back. If `that_asks`, it is one that asked.
bool BufferPool::give_back_one(bool that_asks) {
    const std::size_t most = std::min(asked_at_once, holders_.size());
    for (std::size_t i = 0; i < most; ++i) {
        hand_ = hand_ + 1 < holders_.size() ? hand_ + 1 : 0;
        const Holder& holder = holders_[hand_];
        const bool fits = !that_asks || may_ask(holder.peer);
        if (!fits || !holder.connection->at_rest()) continue;
        give_back(hand_);
        return true;
    }
    return false;
}

void BufferPool::give_back(std::size_t holder) {
    const Holder given = std::exchange(holders_[holder], holders_.back());
    holders_.pop_back();
    ConnectionBuffers buffers = std::move(blanks_.back());
    blanks_.pop_back();
    given.connection->exchange(buffers);
    spare_.push_back(std::move(buffers));
    if (may_ask(given.peer)) --asking_;
    peers_[given.peer].use = Use::none;
}

void BufferPool::wait(Instant now, std::size_t peer, Connection& connection) {
    if (peers_[peer].waits) return;
    peers_[peer].waits = true;
    waiting_.push_back({peer, &connection});
    look_by(now + wait_between_looks);
}

std::optional<std::size_t> BufferPool::serve_next(Instant now) {
    while (!waiting_.empty()) {
        const Waiting next = waiting_.front();
        const bool wants = next.connection->wants_buffers() && !next.connection->has_buffers();
        if (wants && !lend(now, next.peer, *next.connection, Use::answer)) return std::nullopt;
        waiting_.pop_front();
        peers_[next.peer].waits = false;
        if (wants) return next.peer;
    }
    return std::nullopt;
}

void BufferPool::look(Instant now) {
    if (now < next_look_) return;
    for (std::size_t i = holders_.size(); i-- > 0;) {
        Holder& holder = holders_[i];
        const std::uint64_t traffic = traffic_of(*holder.connection);
        if (holder.traffic == traffic && holder.connection->at_rest()) {
            give_back(i);
        } else {
            holder.traffic = traffic;
        }
    }
    next_look_ = never;
    if (!holders_.empty()) look_by(now + rest);
    if (!waiting_.empty()) look_by(now + wait_between_looks);
}

/// A number that changes with each packet that needs buffers.
std::uint64_t BufferPool::traffic_of(const Connection& connection) {
    const Stats& stats = connection.stats();
    std::uint64_t traffic = stats.received_as(RxVerdict::accepted) + stats.sessions;
    for (std::size_t kind = 0; kind < kind_count; ++kind) {
        if (is_numbered(static_cast<Kind>(kind))) traffic += stats.sent[kind];
    }
    return traffic;
}

}  // namespace wireproof::am
