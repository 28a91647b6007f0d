// How a link starts, and how both sides restart it together (docs/rules/hippi.md).
//
//                     own INIT answered, and the peer's INIT seen
//      ┌──────────┐ ─────────────────────────────────────────────► ┌─────────┐
//      │ STARTING │                                                │ RUNNING │
//      │ INIT     │ ◄───────────── RESET of the peer ───────────── │         │
//      └────▲─────┘                                                └────┬────┘
//           │ RESET-ACK    ┌───────────┐  too many timeouts, nonsense,  │
//           └───────────── │ RESETTING │ ◄──────────────────────────────┘
//                          │ RESET     │  INIT of another epoch
//                          └───────────┘
//
// Each life of a side has an epoch. INIT and RESET name it, and their answers echo it, so a side
// can tell a repeated frame from a new one. If a running side receives the epoch with which it
// already runs, it answers and changes nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/random.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/proto/hippi/config.hpp"

namespace wireproof::hippi {

class StartUp {
public:
    enum class State : std::uint8_t { starting, resetting, running };
    /// The effect of a frame on the life of the link.
    enum class Effect : std::uint8_t { nothing, began, ended };
    struct Outcome {
        RxVerdict verdict = RxVerdict::control;
        Effect effect = Effect::nothing;
    };
    struct Departure {
        Type type = Type::init;
        StartBody body;
    };

    explicit StartUp(const Config& config);

    State state() const { return state_; }
    bool running() const { return state_ == State::running; }
    const std::array<std::uint16_t, channel_count>& peer_credits() const { return peer_credits_; }

    Outcome on_frame(Type type, const StartBody& body);

    /// Begins a new life. `resetting`: the peer must first drop its buffers. `starting`: the peer
    /// has none to drop.
    void begin(State state);

    /// The frame that leaves now, if any.
    std::optional<Departure> next_departure(Instant now);
    void on_timeout() {
        due_ = true;
        deadline_ = never;
    }
    Instant deadline() const { return deadline_; }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    Outcome on_init(const StartBody& body);
    Outcome on_init_ack(const StartBody& body);
    Outcome on_reset(const StartBody& body);
    Outcome on_reset_ack(const StartBody& body);
    Outcome run_if_both_seen();
    void forget_peer();
    Departure departure(Type type, std::uint64_t echo) const;

    std::uint64_t terms_;
    std::array<std::uint16_t, channel_count> credits_;
    Duration again_after_;
    Random random_;

    State state_ = State::starting;
    std::uint64_t epoch_ = 0;  // of this side's life
    bool due_ = true;          // INIT or RESET, by state
    Instant deadline_ = never;

    bool peer_seen_ = false;  // its INIT arrived in this side's life
    std::uint64_t peer_epoch_ = 0;
    std::array<std::uint16_t, channel_count> peer_credits_{};
    // The peer's epoch in its answer to this side's INIT.
    std::optional<std::uint64_t> answered_by_;

    bool init_answer_owed_ = false;
    bool reset_answer_owed_ = false;
    std::uint64_t reset_epoch_ = 0;  // of the RESET that must be answered
};

}  // namespace wireproof::hippi
