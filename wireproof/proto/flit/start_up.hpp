// The start-up handshake (UCIE-6). Each end sends explicit NOPs, and after it has seen the peer's
// number also Acks. An end that has also received an Ack is ready: then both ends know both
// numbers. On a continuous line it must also have sent enough of both. On demand it owes the peer
// one more Ack instead, so that it becomes ready only when a frame arrives.
#pragma once

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/flit/config.hpp"

namespace wireproof::flit {

class StartUp {
public:
    explicit StartUp(const Config& config)
        : counts_(config.continuous),
          explicit_min_(config.start_explicit),
          acks_min_(config.start_acks),
          flits_max_(config.start_flits_max) {}

    /// The peer's number is known.
    bool met() const { return met_; }
    void meet() { met_ = true; }
    /// An Ack or Nak with a number came: the peer knows the number of this end.
    void heard() { heard_ = true; }
    bool ready() const { return met_ && heard_ && (!counts_ || !due()); }

    /// The flits that are due have not all left.
    bool due() const { return explicit_sent_ < explicit_min_ || (met_ && acks_sent_ < acks_min_); }
    /// On demand: everything leaves again.
    void again() { explicit_sent_ = acks_sent_ = 0; }

    /// The command of the next flit.
    Command next() const {
        return met_ && explicit_sent_ >= explicit_min_ ? Command::ack : Command::explicit_number;
    }
    /// True: too many flits of a continuous line have left, so the link retrains, and the count
    /// begins anew.
    bool left(Command command) {
        ++(command == Command::ack ? acks_sent_ : explicit_sent_);
        if (!counts_ || ++flits_ < flits_max_) return false;
        flits_ = explicit_sent_ = acks_sent_ = 0;
        return true;
    }

    void fingerprint(Fingerprint& sink) const {
        sink.add(met_);
        sink.add(heard_);
        sink.add(explicit_sent_ < explicit_min_ ? explicit_sent_ : explicit_min_);
        sink.add(acks_sent_ < acks_min_ ? acks_sent_ : acks_min_);
        sink.add(flits_);
    }

private:
    bool counts_ = true;
    std::uint32_t explicit_min_ = 0;
    std::uint32_t acks_min_ = 0;
    std::uint32_t flits_max_ = 0;
    bool met_ = false;
    bool heard_ = false;
    std::uint32_t explicit_sent_ = 0;
    std::uint32_t acks_sent_ = 0;
    std::uint32_t flits_ = 0;
};

}  // namespace wireproof::flit
