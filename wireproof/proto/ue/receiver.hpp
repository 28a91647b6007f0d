// The receiving half of a link (docs/rules/ue.md): which frame is expected next, and which ACK,
// NACK or INIT_ECHO is due. Link decides when they may leave.
//
//                 gap, or expected frame bad            NACK left
//   SEND_ACKS ───────────────────────────► SEND_NACK ─────────────► NACK_SENT
//       ▲                                      │ expected frame         │
//       └──────────────────────────────────────┴────────────────────────┘
//   OFF ──► SEND_ACKS: INIT, as from every other state
#pragma once

#include "wireproof/base/seq_num.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/proto/ue/stats.hpp"
#include "wireproof/proto/ue/wire_format.hpp"

namespace wireproof::ue {

using FrameNumber = SeqNum<struct FrameTag>;

/// What the FCS of a frame says.
enum class FcsVerdict : std::uint8_t { good, poisoned, bad };

class Receiver {
public:
    enum class State : std::uint8_t { off, send_acks, send_nack, nack_sent };

    explicit Receiver(const Config& config);

    /// Forgets what is expected and due. Eligible frames are dropped until the next INIT.
    void switch_off();
    /// Handles an INIT.
    void on_init(const CtlOs& init);
    /// Handles an eligible frame. accepted: it is the expected one, good or poisoned.
    RxVerdict on_frame(std::uint32_t number, FcsVerdict fcs, Stats& stats);

    bool echo_due() const { return echo_due_; }
    bool nack_due() const { return state_ == State::send_nack; }
    bool ack_due() const { return ack_due_; }
    /// A quiet receiver repeats its last ACK.
    void repeat_ack() { ack_due_ = ack_due_ || state_ == State::send_acks; }

    // Each makes the CtlOS that is due and leaves now.
    CtlOs take_echo(Stats& stats);
    CtlOs take_nack(Stats& stats);
    CtlOs take_ack(Stats& stats);

    State state() const { return state_; }
    std::uint32_t next_rx_seq() const { return next_.value(); }

    void fingerprint(Fingerprint& sink) const;

private:
    std::uint32_t last() const { return circle_.advance(next_, config_.modulus - 1).value(); }
    bool is_duplicate(std::uint32_t ahead) const;
    void complain();
    RxVerdict on_expected(FcsVerdict fcs, Stats& stats);

    Config config_;
    Circle circle_;
    State state_ = State::off;
    FrameNumber next_;  // next_rx_seq
    bool ack_due_ = false;
    bool echo_due_ = false;
    CtlOs echo_{CtlType::init_echo, 0, 0};
};

}  // namespace wireproof::ue
