// The receiving half of a data link (docs/rules/pcie.md): which TLP is expected next, and which Ack
// or Nak is owed. Ack and Nak carry the same number; the receiver decides which of the two leaves
// when it builds the DLLP.
#pragma once

#include "wireproof/proto/pcie/transmitter.hpp"

namespace wireproof::pcie {

class Receiver {
public:
    explicit Receiver(const Config& config);
    void reset();

    /// Handles a damaged TLP. Its number is ignored.
    RxVerdict on_bad(Instant now);
    /// Handles an undamaged TLP.
    RxVerdict on_tlp(Instant now, std::uint32_t number);

    void on_deadline(Instant now);
    Instant next_deadline() const { return ack_deadline_; }

    /// The Ack or Nak that must leave now, if any.
    std::optional<Dllp> next_dllp(Stats& stats);

    bool owes() const { return nak_waits_ || ack_waits_; }

    std::uint32_t next_rcv_seq() const { return next_.value(); }
    bool nak_scheduled() const { return nak_scheduled_; }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    void complain(Instant now);

    Config config_;
    Circle circle_;
    TlpNumber next_;              // NEXT_RCV_SEQ
    bool nak_scheduled_ = false;  // NAK_SCHEDULED
    bool nak_waits_ = false;
    bool ack_waits_ = false;
    std::uint32_t owed_ = 0;         // TLPs delivered and not acknowledged yet
    Instant ack_deadline_ = never;   // AckNak_LATENCY_TIMER
    Instant complained_at_ = never;  // when the TLP that caused the last Nak ended
};

}  // namespace wireproof::pcie
