// For tests: all ranks of a collective in one thread, with a queue from each rank to each other. A
// seed decides in which order ranks begin operations and messages arrive, and when a queue is full.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/collective/operations.hpp"

namespace wireproof::collective::test {

using Message = std::vector<std::byte>;

class World {
public:
    World(Rank ranks, std::uint64_t seed, Config config = {}) : random(seed) {
        config.ranks = ranks;
        for (config.rank = 0; config.rank < ranks; ++config.rank) nodes.emplace_back(config);
        queues.assign(ranks, std::vector<std::deque<Message>>(ranks));
        outcomes.resize(ranks);
        dead.assign(ranks, false);
    }

    Rank ranks() const { return static_cast<Rank>(nodes.size()); }

    void send(Rank from) {
        nodes[from].send([&](Rank to, ConstBytes message) {
            EXPECT_NE(to, from);
            if (random.chance(full)) return Operations::Post::full;
            ++sent;
            if (!dead[to]) queues[from][to].emplace_back(message.begin(), message.end());
            return Operations::Post::accepted;
        });
        collect(from);
    }
    void collect(Rank rank) {
        while (const auto ended = nodes[rank].next_ended()) {
            EXPECT_FALSE(outcomes[rank].contains(ended->ticket)) << "ended twice";
            outcomes[rank][ended->ticket] = ended->outcome;
        }
    }
    /// One rank sends, or one message arrives.
    void step() {
        const auto rank = static_cast<Rank>(random.below(ranks()));
        if (dead[rank]) return;
        auto from = static_cast<Rank>(random.below(ranks()));
        for (Rank i = 1; i < ranks() && queues[from][rank].empty(); ++i)
            from = (from + 1) % ranks();
        auto& queue = queues[from][rank];
        if (!queue.empty() && from != rank) {
            const Message message = std::move(queue.front());
            queue.pop_front();
            nodes[rank].on_message(from, message);
            collect(rank);
        } else {
            tell_losses(rank);
        }
        if (nodes[rank].has_sends()) send(rank);
    }
    /// All queues to the rank are empty.
    void tell_losses(Rank rank) {
        for (Rank from = 0; from < ranks(); ++from) {
            if (dead[from]) nodes[rank].on_lost(from, Outcome::peer_lost);
        }
        collect(rank);
    }
    bool quiet() const {
        for (Rank to = 0; to < ranks(); ++to) {
            if (dead[to]) continue;
            if (nodes[to].has_sends() || nodes[to].busy()) return false;
            for (Rank from = 0; from < ranks(); ++from) {
                if (!queues[from][to].empty()) return false;
            }
        }
        return true;
    }
    /// False: some rank still waits after many steps.
    [[nodiscard]] bool settle() {
        for (std::uint64_t left = 20'000 + 4'000 * ranks() * ranks(); left > 0; --left) {
            if (left % 64 == 0 && quiet()) return true;
            step();
        }
        return false;
    }
    /// The rank is gone. Of each of its messages under way, a random number of the last are lost.
    void kill(Rank rank) {
        dead[rank] = true;
        for (auto& queue : queues[rank]) queue.resize(random.below(queue.size() + 1));
        for (Rank from = 0; from < ranks(); ++from) queues[from][rank].clear();
    }
    std::optional<Outcome> outcome(Rank rank, Ticket ticket) const {
        const auto at = outcomes[rank].find(ticket);
        return at != outcomes[rank].end() ? std::optional(at->second) : std::nullopt;
    }

    Random random;
    double full = 0.3;  // the probability that a queue is full
    std::uint64_t sent = 0;
    std::vector<Operations> nodes;
    std::vector<std::vector<std::deque<Message>>> queues;  // by sender and receiver
    std::vector<std::map<Ticket, Outcome>> outcomes;
    std::vector<bool> dead;
};

/// Random bytes.
inline Message random_bytes(Random& random, std::size_t size) {
    Message bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    return bytes;
}

}  // namespace wireproof::collective::test
