// The receiving half of a data link (docs/rules/pcie.md): which TLP is the next, what is owed
// for it. Ack and Nak carry the same number; which of the two leaves is decided when it is built.
#pragma once

#include "wireproof/proto/pcie/transmitter.hpp"

namespace wireproof::pcie {

class Receiver {
public:
    explicit Receiver(const Config& config);
    void reset();

    /// A TLP that is damaged, whatever its number says.
    RxVerdict on_bad(Instant now);
    /// A good one.
    RxVerdict on_tlp(Instant now, std::uint32_t number);

    void on_deadline(Instant now);
    Instant next_deadline() const { return ack_deadline_; }

    /// The Ack or Nak that must leave now.
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
    std::uint32_t owed_ = 0;         // TLPs delivered and not acknowledged
    Instant ack_deadline_ = never;   // AckNak_LATENCY_TIMER
    Instant complained_at_ = never;  // the end of the TLP that drew the last Nak
};

}  // namespace wireproof::pcie
