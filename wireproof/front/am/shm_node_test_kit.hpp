// Nodes on shared memory in one thread. The test controls the time and sends single messages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/node_test_kit.hpp"
#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof::am::test {

/// Nodes in this thread that have sessions with each other. An Endpoint is such a node with a
/// clock.
class Nodes {
public:
    explicit Nodes(std::size_t count) {
        ShmWire::Config shm;
        shm.name = shm_test::unique_name();
        shm.nodes = count;
        shm.lends_ring = true;
        Config config = Config::shared_memory();
        shm.frame_max = config.packet_max;
        for (std::size_t i = 0; i < count; ++i) {
            shm.node = i;
            config.node = static_cast<std::uint16_t>(i);
            config.seed = i + 1;
            nodes_.push_back(
                std::make_unique<Node>(host::AnyWire(shm_test::open(shm)), config, count));
            nodes_.back()->handle(answer, [this](const Message&) { ++answers; });
        }
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                EXPECT_EQ(post(i, j), Status::ok);
                EXPECT_TRUE(
                    run([&] { return nodes_[i]->connected(j) && nodes_[j]->connected(i); }));
            }
        }
        EXPECT_TRUE(run([&] { return idle(); }));
        rest();
    }

    Node& operator[](std::size_t node) { return *nodes_[node]; }
    /// Destroys the last node and its wire, as if its process had died.
    void lose() { nodes_.pop_back(); }
    Status post(std::size_t from, std::size_t to) { return nodes_[from]->post(to, ask, word_); }
    Status request(std::size_t from, std::size_t to, std::size_t words = 1) {
        return nodes_[from]->ask(to, ask, test::words(std::vector<std::uint32_t>(words, 7)),
                                 [this] { return now; });
    }
    Status reply(std::size_t from) { return nodes_[from]->reply(answer, word_); }
    std::uint64_t requests_sent(std::size_t from, std::size_t to) const {
        return nodes_[from]->connection(to).stats().sent_of(Kind::request);
    }
    std::uint64_t timeouts(std::size_t from, std::size_t to) const {
        return nodes_[from]->counters(to).timeouts;
    }
    std::uint64_t replies_sent(std::size_t from, std::size_t to) const {
        return nodes_[from]->connection(to).stats().sent_of(Kind::reply);
    }
    bool idle() const {
        return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->idle(); });
    }
    /// Turns in which nothing arrives. After these, a wire takes the next frame for a single
    /// message.
    void rest() {
        for (int i = 0; i < 3; ++i) turn();
    }
    void turn() {
        now = now + Duration::nanoseconds(100);
        for (auto& node : nodes_) node->poll(now);
    }
    template <class Done>
    [[nodiscard]] bool run(Done&& done, int turns = 1000) {
        for (int i = 0; i < turns; ++i) {
            if (done()) return true;
            now = now + Duration::milliseconds(2);
            turn();
        }
        return false;
    }

    /// Node 1 answers each request of node 0. `within` counts the answers that left inside its
    /// handler.
    void answer_all() {
        nodes_[1]->handle(ask, [this](const Message&) {
            const std::uint64_t before = replies_sent(1, 0);
            EXPECT_EQ(reply(1), Status::ok);
            within += replies_sent(1, 0) - before;
        });
    }

    /// A request and its answer, each received in its own turn.
    void exchange() {
        EXPECT_EQ(nodes_[1]->poll(now), 0U);
        EXPECT_EQ(request(0, 1), Status::ok);
        EXPECT_EQ(nodes_[0]->poll(now), 0U);
        EXPECT_EQ(nodes_[1]->poll(now), 1U);
        EXPECT_EQ(nodes_[0]->poll(now), 1U);
    }
    /// Waits until nothing is in flight and no node has a timer set.
    void forget_timers() {
        EXPECT_FALSE(run([] { return false; }, 100));
        EXPECT_TRUE(idle());
        rest();
    }
    /// The first message of a session does not take the fast path, so one exchange comes first.
    void converse() {
        const int before = answers;
        EXPECT_EQ(request(0, 1), Status::ok);
        EXPECT_TRUE(run([&] { return answers > before; }));
        rest();
    }

    Instant now{Duration::milliseconds(5)};
    int answers = 0;
    std::uint64_t within = 0;

private:
    std::vector<std::byte> word_ = words({7});
    std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace wireproof::am::test
