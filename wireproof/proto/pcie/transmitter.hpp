// The sending half of a data link (docs/rules/pcie.md): numbers, replay, REPLAY_TIMER and
// REPLAY_NUM. It handles only TLPs. Link decides when a TLP may leave.
#pragma once

#include "wireproof/core/frame.hpp"
#include "wireproof/core/go_back_n.hpp"
#include "wireproof/core/link_engine.hpp"
#include "wireproof/core/message_queue.hpp"
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

    bool has_room() const { return !tlps_.full(); }
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
        if (replaying()) return retry_.replay_held();
        return waiting() == 0 || window_full();
    }

    bool replaying() const { return retry_.replaying(); }
    std::size_t outstanding() const { return retry_.outstanding(); }
    std::size_t waiting() const { return tlps_.size() - outstanding(); }
    /// REPLAY_NUM: replays since the last progress, modulo 4.
    std::uint32_t replay_num() const { return replay_num_; }
    const Unanswered& unanswered() const { return retry_.unanswered(); }
    std::uint32_t next_transmit_seq() const { return retry_.next().value(); }
    std::uint32_t ackd_seq() const { return retry_.acknowledged().value(); }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    void begin_replay(Instant now, Stats& stats);
    void restart_timer(Instant now);
    bool window_full() const { return retry_.window_full(config_.outstanding); }
    void write(std::size_t index, bool nullified, TxFrame& out) const;

    Config config_;
    struct TlpMark {
        FlowType type = FlowType::posted;
    };
    MessageQueue<TlpMark> tlps_;  // those that are sent come before those that wait
    GoBackN<TlpTag> retry_;       // NEXT_TRANSMIT_SEQ, ACKD_SEQ
    std::array<CreditGate, flow_types> gates_;
    bool nullify_next_ = false;

    bool first_of_replay_ = false;  // no TLP of the replay was resent yet: the timer is held
    bool nak_remembered_ = false;
    std::uint32_t replay_num_ = 0;

    Instant replay_deadline_ = never;
    Instant retrained_at_ = never;
    // The rest of REPLAY_TIMER while the link retrains. Negative: the timer did not run.
    Duration frozen_left_{};
};

}  // namespace wireproof::pcie
