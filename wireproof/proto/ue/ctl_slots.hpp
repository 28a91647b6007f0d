// When a control ordered set may leave: the distances on the line that LLR-19 asks for.
#pragma once

#include <algorithm>

#include "wireproof/proto/ue/wire_format.hpp"

namespace wireproof::ue {

class CtlSlots {
public:
    explicit CtlSlots(const Config& config)
        : spacing_(config.time_of(config.ctl_spacing)),
          ack_spacing_(config.time_of(config.ack_spacing)),
          init_interval_(config.init_interval()) {}

    /// The earliest time for a CtlOS of this type. A NACK and an echo need only the distance from
    /// the CtlOS before, an ACK and an INIT also that from the one before of their kind.
    Instant free_at(CtlType type) const {
        if (type == CtlType::ack) return std::max(any_, ack_);
        if (type == CtlType::init) return std::max(any_, init_);
        return any_;
    }
    void sent(Instant now, CtlType type) {
        any_ = now + spacing_;
        if (type == CtlType::ack || type == CtlType::nack) ack_ = now + ack_spacing_;
        if (type == CtlType::init) init_ = now + init_interval_;
    }
    /// A new episode of INIT begins: its first INIT may leave in the next slot.
    void begin_init() { init_ = any_; }

    void fingerprint(Instant now, Fingerprint& sink) const {
        for (const Instant free : {any_, ack_, init_}) sink.add(std::max(free - now, Duration()));
    }

private:
    Duration spacing_;
    Duration ack_spacing_;
    Duration init_interval_;
    Instant any_;
    Instant ack_;
    Instant init_;
};

}  // namespace wireproof::ue
