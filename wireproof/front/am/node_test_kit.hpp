// For tests: nodes of one job in one thread, with a memory link for each pair, in simulated time.
// Each link goes through a FaultyWire, without faults unless the test sets some.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/front/am/handlers_test_kit.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/proto/am/wire_format.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/memory/memory_wire.hpp"

namespace wireproof::am {

inline const Handler nothing = [](const Message&) {};

inline void PrintTo(Status status, std::ostream* out) {
    *out << name_of(status);
}

namespace test {

/// The ends of all links of one node. Peer i is node i.
class MeshWire {
public:
    using End = FaultyWire<MemoryWire>;

    /// The lane stays valid when its end is replaced.
    class Lane {
    public:
        explicit Lane(std::unique_ptr<End>* end) : end_(end) {}
        LaneCapabilities capabilities() const { return (*end_)->lane(PeerId{0}).capabilities(); }
        TxFrame* claim() { return (*end_)->lane(PeerId{0}).claim(); }
        void commit() { (*end_)->lane(PeerId{0}).commit(); }

    private:
        std::unique_ptr<End>* end_;
    };

    explicit MeshWire(std::size_t nodes) : ends_(nodes) {
        for (auto& end : ends_) lanes_.emplace_back(&end);
    }

    void join(std::size_t peer, MemoryWire end, End::Config faults) {
        ends_[peer] = std::make_unique<End>(std::move(end), std::move(faults));
    }

    Lane& lane(PeerId peer) { return lanes_.at(static_cast<std::size_t>(peer)); }

    std::optional<RxFrame> receive(Instant now) {
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            if (ends_[i] == nullptr) continue;
            if (auto frame = ends_[i]->receive(now)) {
                frame->from = static_cast<PeerId>(i);
                return frame;
            }
        }
        ++turns;
        return std::nullopt;
    }
    void flush(Instant now) {
        for (auto& end : ends_) {
            if (end != nullptr) end->flush(now);
        }
    }
    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        if (events.empty()) return std::nullopt;
        const auto event = events.front();
        events.pop_front();
        return event;
    }
    Instant next_deadline() const {
        Instant earliest = never;
        for (const auto& end : ends_) {
            if (end != nullptr) earliest = std::min(earliest, end->next_deadline());
        }
        return earliest;
    }

    std::uint64_t turns = 0;  // polls of the node: each receives until nothing more is there
    std::deque<std::pair<PeerId, WireEvent>> events;

private:
    std::vector<std::unique_ptr<End>> ends_;  // null for the node itself
    std::vector<Lane> lanes_;
};

static_assert(Wire<MeshWire>);

/// The default config with short timers: a node gives up a dead peer after 100 ms.
inline Config quick() {
    Config config = Config::ethernet();
    config.peer_timeout = Duration::milliseconds(100);
    config.poll_every = 1'000'000;  // the test decides when to poll
    return config;
}

inline std::vector<std::byte> words(const std::vector<std::uint32_t>& values) {
    std::vector<std::byte> bytes(values.size() * 4);
    for (std::size_t i = 0; i < values.size(); ++i) {
        store_le<std::uint32_t>(Bytes(bytes).subspan(i * 4).first<4>(), values[i]);
    }
    return bytes;
}

/// Random bytes, so that a part at a wrong place is noticed.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed = 1) {
    std::vector<std::byte> bytes(size);
    Random random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return bytes;
}

inline std::vector<std::uint32_t> copied(const Words& words) {
    std::vector<std::uint32_t> values;
    for (std::size_t i = 0; i < words.size(); ++i) values.push_back(words[i]);
    return values;
}

class Job {
public:
    explicit Job(const Config& config = quick(), std::size_t nodes = 2,
                 MeshWire::End::Config faults = {}, std::size_t capacity = 256,
                 std::size_t active_peers = Options().active_peers)
        : config_(config),
          faults_(std::move(faults)),
          capacity_(capacity),
          active_peers_(active_peers) {
        for (std::size_t i = 0; i < nodes; ++i) wires_.emplace_back(nodes);
        for (std::size_t i = 0; i < nodes; ++i) {
            for (std::size_t j = 0; j < i; ++j) join(i, j);
        }
        nodes_.resize(nodes);
        for (std::size_t i = 0; i < nodes; ++i) start(i, i + 1);
    }

    Node& operator[](std::size_t node) { return *nodes_[node]; }
    MeshWire& wire(std::size_t node) { return wires_[node]; }

    /// From now on the node does not poll, and the frames of its peers stay unread.
    void stop(std::size_t node) { nodes_[node] = nullptr; }
    /// Restarts the node on new links. Frames on the way to the old node are lost.
    void restart(std::size_t node, std::uint64_t seed) {
        nodes_[node] = nullptr;
        for (std::size_t other = 0; other < nodes_.size(); ++other) {
            if (other != node) join(node, other);
        }
        start(node, seed);
    }

    /// Each living node polls once, then time passes.
    void turn() {
        for (auto& node : nodes_) {
            if (node != nullptr) node->poll(now);
        }
        now = now + step;
    }
    void turns(int count) {
        for (int i = 0; i < count; ++i) turn();
    }

    template <class Done>
    [[nodiscard]] bool run(Done&& done, int turns_max = 100'000) {
        for (int i = 0; i < turns_max; ++i) {
            if (done()) return true;
            turn();
        }
        return false;
    }
    [[nodiscard]] bool settle() {
        return run([this] {
            return std::all_of(nodes_.begin(), nodes_.end(),
                               [](const auto& node) { return node == nullptr || node->idle(); });
        });
    }

    Status request(std::size_t from, std::size_t to, std::uint16_t handler,
                   const std::vector<std::uint32_t>& values = {}) {
        return nodes_[from]->request(now, to, handler, words(values));
    }

    Instant now{Duration::milliseconds(1)};
    Duration step = Duration::microseconds(100);

private:
    void join(std::size_t i, std::size_t j) {
        MemoryLink link({.capacity = capacity_});
        auto there = faults_;
        auto back = faults_;
        there.seed = mix64(faults_.seed + 2 * (i * 100 + j));
        back.seed = mix64(faults_.seed + 2 * (i * 100 + j) + 1);
        wires_[i].join(j, std::move(link.end(0)), there);
        wires_[j].join(i, std::move(link.end(1)), back);
    }
    void start(std::size_t node, std::uint64_t seed) {
        Config config = config_;
        config.node = static_cast<std::uint16_t>(node);
        config.seed = seed;
        const std::vector<Congestion> congestion(nodes_.size(), config.congestion);
        nodes_[node] = std::make_unique<Node>(host::AnyWire(std::ref(wires_[node])), config,
                                              congestion, active_peers_);
    }

    Config config_;
    MeshWire::End::Config faults_;
    std::size_t capacity_;
    std::size_t active_peers_;
    std::deque<MeshWire> wires_;
    std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace test
}  // namespace wireproof::am
