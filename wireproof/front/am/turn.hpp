// Where a node is in its turn.
//
//     between, interrupted ──► running ◄──► in_handler, in_lone_handler
//           ▲       ▲             │
//           └───────┴─────────────┘
//
// If a handler or another function of the user throws, the exception leaves the handler as a return
// does, and then ends the turn as interrupted: messages of its frames are not handled yet. The next
// turn begins with these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "wireproof/base/instant.hpp"

namespace wireproof::am {

class Turn {
    enum class At : std::uint8_t { between, interrupted, running, in_handler, in_lone_handler };

public:
    bool runs() const { return at_ >= At::running; }
    bool was_interrupted() const { return at_ == At::interrupted; }
    bool in_handler() const { return at_ >= At::in_handler; }
    /// In the handler of a message whose frame came alone: a reply leaves at once, and not with the
    /// turn.
    bool in_lone_handler() const { return at_ == At::in_lone_handler; }
    /// The peer whose message the handler handles.
    std::size_t peer() const { return peer_; }
    /// When the latest turn began.
    Instant time() const { return time_; }

    /// A turn, during the lifetime of the object.
    class Running {
    public:
        explicit Running(Turn& turn) : turn_(turn), resumes_(turn.was_interrupted()) {
            turn.at_ = At::running;
        }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
        ~Running() { turn_.at_ = then_; }

        /// The turn before was interrupted.
        bool resumes() const { return resumes_; }
        /// Returns the time since the turn before.
        Duration begin(Instant now) { return now - std::exchange(turn_.time_, now); }
        /// All is handled.
        void complete() { then_ = At::between; }

    private:
        Turn& turn_;
        bool resumes_;
        At then_ = At::interrupted;
    };

    /// The call of a handler, inside a turn.
    class Handling {
    public:
        Handling(Turn& turn, std::size_t peer, bool alone) : turn_(turn) {
            turn.peer_ = peer;
            turn.at_ = alone ? At::in_lone_handler : At::in_handler;
        }
        Handling(const Handling&) = delete;
        Handling& operator=(const Handling&) = delete;
        ~Handling() { turn_.at_ = At::running; }

    private:
        Turn& turn_;
    };

private:
    At at_ = At::between;
    std::size_t peer_ = 0;
    Instant time_;
};

}  // namespace wireproof::am
