// Congestion control: how many packets of one flow may be in flight on a path that other flows
// share. An engine that sends keeps a Control for each flow and tells it what becomes of its
// packets. It sends no new packet while packets() or more are in flight.
//
// The contract:
//   - The engine asks the receiver for an answer several times in each round trip, and calls in
//     this order for each answer: on_rtt() if the answer measures a round trip, then on_arrived(),
//     then on_marked(), then on_overrun() or on_lost().
//   - `now` never goes back. A Control has no clock, no thread and no random source: equal calls
//     have equal results.
//   - packets() is at least 1 after each call. If packets arrive again, it becomes 2 or more:
//     a flow never stalls because of its Control.
#pragma once

#include <cstdint>
#include <variant>

#include "wireproof/core/congestion/kind.hpp"
#include "wireproof/core/congestion/loss_window.hpp"
#include "wireproof/core/congestion/pacer.hpp"
#include "wireproof/core/congestion/path_model.hpp"

namespace wireproof::congestion {

enum class Algorithm : std::uint8_t {
    loss,  // LossWindow: a loss shrinks the window
    path,  // PathModel: the rate and the round trip of the path decide the window
};

constexpr Algorithm algorithm_of(Kind kind) {
    return kind == Kind::by_path ? Algorithm::path : Algorithm::loss;
}

/// A regular value. All counts are in packets.
class Control {
public:
    explicit Control(Algorithm algorithm, Limits limits) : state_(made(algorithm, limits)) {}

    /// How many may be in flight.
    std::uint32_t packets() const {
        return std::visit([](const auto& state) { return state.packets(); }, state_);
    }
    /// The smoothed round trip; zero: not measured.
    Duration rtt() const {
        return std::visit([](const auto& state) { return state.rtt(); }, state_);
    }
    /// How many new packets may leave in what time.
    Burst burst() const {
        return std::visit(
            [](const auto& state) {
                return burst_of(state.packets(), state.rtt(), state.is_starting());
            },
            state_);
    }
    /// The peer acknowledged `packets`. `most_in_flight` is the largest number in flight during the
    /// last round trip. If the flow uses at most half of the window, the window does not grow.
    void on_arrived(Instant now, std::uint32_t packets, std::uint32_t most_in_flight) {
        std::visit([&](auto& state) { state.on_arrived(now, packets, most_in_flight); }, state_);
    }
    /// `packets` are known to be lost.
    void on_lost(Instant now, std::uint32_t packets) {
        std::visit([&](auto& state) { state.on_lost(now, packets); }, state_);
    }
    /// `packets` arrived, but a router marked them because its queue is long (ECN, RFC 3168).
    void on_marked(Instant now, std::uint32_t packets) {
        std::visit([&](auto& state) { state.on_marked(now, packets); }, state_);
    }
    /// `packets` were lost, and the receiver says that it had no room for them.
    void on_overrun(Instant now, std::uint32_t packets) {
        std::visit([&](auto& state) { state.on_overrun(now, packets); }, state_);
    }
    /// `rtt` passed between a packet and its answer.
    void on_rtt(Instant now, Duration rtt) {
        std::visit([&](auto& state) { state.on_rtt(now, rtt); }, state_);
    }
    /// The peer has been silent for `silence`, although the sender asked for an answer more than
    /// once.
    void on_silence(Duration silence) {
        std::visit([&](auto& state) { state.on_silence(silence); }, state_);
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(state_.index());
        std::visit([&](const auto& state) { state.fingerprint(now, sink); }, state_);
    }

private:
    using State = std::variant<LossWindow, PathModel>;

    static State made(Algorithm algorithm, Limits limits) {
        if (algorithm == Algorithm::path) return PathModel(limits);
        return LossWindow(limits);
    }

    State state_;
};

}  // namespace wireproof::congestion
