// The sending half of a data link (docs/rules/pcie.md): numbers, replay, REPLAY_TIMER and
// REPLAY_NUM. It handles only TLPs. Link decides when a TLP may leave.
#pragma once

#include "wireproof/base/seq_num.hpp"
#include "wireproof/core/backoff.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/link_engine.hpp"
#include "wireproof/core/replay_buffer.hpp"
#include "wireproof/core/rtt_estimator.hpp"
#include "wireproof/proto/pcie/flow_credit.hpp"
#include "wireproof/proto/pcie/wire_format.hpp"

namespace wireproof::pcie {

using TlpNumber = SeqNum<struct TlpTag>;

/// The counters of each link, and those of PCI Express.
struct Stats : LinkStats {
    std::uint64_t protocol_errors = 0;  // Acks for TLPs that were never sent; fatal on a real link
    std::uint64_t bad_tlps = 0;
    std::uint64_t bad_dllps = 0;
    std::uint64_t nullified = 0;
    std::uint64_t ecrc_errors = 0;  // good on the link, damaged before it
    std::uint64_t retrains = 0;

    friend bool operator==(const Stats&, const Stats&) = default;
};

class Transmitter {
public:
    explicit Transmitter(const Config& config);

    /// DL_Inactive: drops all TLPs and restores the reset values.
    void reset();

    bool has_room() const { return !buffer_.full(); }
    SubmitStatus submit(FlowType type, ConstBytes message);
    /// The next new TLP is sent nullified first, and then again with the same number.
    void nullify_next() { nullify_next_ = true; }

    /// Handles an Ack or Nak with a good CRC. False: its number is not one of an outstanding TLP.
    [[nodiscard]] bool on_ack(Instant now, std::uint32_t number, bool nak, Stats& stats);
    void on_credits(DllpKind kind, FlowType type, Credits credits);

    /// The link begins to retrain: timers freeze.
    void retrain(Instant now);
    bool retraining() const { return retrained_at_ != never; }

    bool on_deadline(Instant now, Stats& stats);
    Instant next_deadline() const { return earliest(replay_deadline_, retrained_at_); }

    /// Writes a TLP to resend, or else a new one that credits and numbers permit.
    bool transmit(Instant now, TxFrame& out, Stats& stats);

    /// True: no TLP must be resent, and no new TLP can leave, because none waits or the window is
    /// full.
    bool quiet() const {
        if (replaying_) return replay_held();
        return !buffer_.has_unsent() || window_full();
    }

    bool replaying() const { return replaying_; }
    std::size_t outstanding() const { return buffer_.sent(); }
    std::size_t waiting() const { return buffer_.size() - buffer_.sent(); }
    /// REPLAY_NUM: replays since the last progress, modulo 4.
    std::uint32_t replay_num() const { return replay_num_; }
    const Unanswered& unanswered() const { return backoff_.unanswered(); }
    std::uint32_t next_transmit_seq() const { return next_.value(); }
    std::uint32_t ackd_seq() const { return acked_.value(); }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    void begin_replay(Instant now, Stats& stats);
    void end_replay_if_done(Instant now, Stats& stats);
    void restart_timer(Instant now);
    Duration replay_limit() const { return backoff_.wait(timer_.limit()); }
    /// The rest of the replay waits until the TLPs that have left are acknowledged.
    bool replay_held() const { return replaying_ && cursor_ >= backoff_.window(); }
    bool window_full() const {
        return buffer_.sent() >= std::min<std::size_t>(config_.outstanding, backoff_.window());
    }
    void write(std::size_t index, bool nullified, TxFrame& out) const;

    Config config_;
    Circle circle_;
    struct TlpMark {
        FlowType type = FlowType::posted;
    };
    ReplayBuffer<TlpMark> buffer_;
    std::array<CreditGate, flow_types> gates_;
    TlpNumber next_;   // NEXT_TRANSMIT_SEQ
    TlpNumber acked_;  // ACKD_SEQ
    bool nullify_next_ = false;

    // A replay resends from `cursor_` to the last TLP sent. No new TLP leaves meanwhile.
    bool replaying_ = false;
    bool first_of_replay_ = false;  // no TLP was resent yet: the timer is held
    bool nak_remembered_ = false;
    std::size_t cursor_ = 0;
    std::uint32_t replay_num_ = 0;

    RttEstimator timer_;
    Backoff backoff_;
    Instant replay_deadline_ = never;
    Instant retrained_at_ = never;
    // The rest of REPLAY_TIMER while the link retrains. Negative: the timer did not run.
    Duration frozen_left_{};
};

}  // namespace wireproof::pcie
