// Two SP AM engines, node 0 and node 1, and the frames between them, small enough to try everything
// that can happen to a frame. A value: a copy is another world with the same past.
//
// The memory that stores and gets touch is lent to engines by address, so all worlds of a search
// share one arena, and each brings its own image of it along: enter() before a world is used,
// leave() before another is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::tiny {

struct Operation {
    enum class What : std::uint8_t { request, store, get };
    What what = What::request;
    bool answered = false;  // a request's
    std::size_t bytes = 0;  // of a transfer
};

/// What each node asks of the other, in that order. At most one store and one get a node.
using Programs = std::array<std::vector<Operation>, 2>;

/// Two packets a chunk, windows of three or four, numbers about to wrap.
am::Config config(am::Recovery recovery, std::uint32_t window);

inline constexpr std::size_t frame_max = 64;

struct Frame {
    std::array<std::byte, frame_max> bytes{};
    std::size_t size = 0;
    bool damaged = false;

    void fingerprint(Fingerprint& sink) const;
};

/// What stores write and gets read, for both nodes.
struct Arena {
    static constexpr std::size_t size = 160;
    using Image = std::array<std::byte, size>;
    std::array<Image, 2> source;   // what stores send and gets read; the same for ever
    std::array<Image, 2> inbox{};  // by node: what stores wrote there
    std::array<Image, 2> landing{};
    std::array<am::MemoryTable, 2> tables;

    Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
};

class World {
public:
    World(const am::Config& config, const Programs& programs, Arena& arena);

    void enter() const;
    void leave();

    am::Connection& end(std::size_t node) { return ends_[node]; }
    const am::Connection& end(std::size_t node) const { return ends_[node]; }
    Instant now() const { return now_; }
    void advance(Instant to) { now_ = std::max(now_, to); }

    /// Posts what it can; true: a frame left.
    bool transmit(std::size_t node, Frame& frame);
    void receive(std::size_t node, const Frame& frame);
    /// True: a deadline had come.
    bool on_deadline(std::size_t node);

    /// All was asked, delivered and acknowledged.
    bool finished() const;
    /// The first broken promise; empty: none.
    const std::string& violation() const { return violation_; }
    void fail(const std::string& sentence) {
        if (violation_.empty()) violation_ = sentence;
    }
    void fingerprint(Fingerprint& sink) const;

private:
    /// What a node has posted, and what it got.
    struct Progress {
        std::size_t posted = 0;    // operations
        std::size_t requests = 0;  // delivered to the other node
        std::size_t answers = 0;   // delivered back
        bool stored = false;
        bool store_ended = false;
        bool get_ended = false;
    };

    void post(std::size_t node);
    void draw(std::size_t node);
    void deliver(std::size_t node, const am::Delivery& delivery);
    void on_request(std::size_t node, const am::Request& request);
    bool complete(std::size_t node) const;

    std::shared_ptr<const Programs> programs_;
    Arena* arena_;
    std::array<Arena::Image, 2> inbox_{};
    std::array<Arena::Image, 2> landing_{};
    std::array<am::Connection, 2> ends_;
    std::array<Progress, 2> progress_{};
    Instant now_;
    std::string violation_;
};

}  // namespace wireproof::tiny
