// The counters of each link, and those of flit links. The names are those of the flit error log of
// PCI Express as far as it has them (FLIT-26).
#pragma once

#include "wireproof/core/link_engine.hpp"

namespace wireproof::flit {

/// `naks` counts notices; nak_tx_std and nak_tx_sel count the flits that carry them. `acks` counts
/// NOPs with an Ack, `upkeep` all other NOPs.
struct Stats : LinkStats {
    std::uint64_t flits_rx_invalid = 0;
    std::uint64_t flits_rx_corrected = 0;
    // Flits of two halves.
    std::uint64_t halves_used = 0;     // even halves of invalid flits
    std::uint64_t halves_dropped = 0;  // that were used before
    std::uint64_t flits_suspect = 0;   // the correction spoilt a half
    std::uint64_t replay_std = 0;
    std::uint64_t replay_sel = 0;
    std::uint64_t replay_timeout = 0;  // of replay_std
    std::uint64_t nak_tx_std = 0;
    std::uint64_t nak_tx_sel = 0;
    std::uint64_t nak_withdrawn = 0;  // invalid flits that were no payload: no Nak
    std::uint64_t nak_cleared = 0;    // by a NOP: nothing was lost
    std::uint64_t dup_dropped = 0;
    std::uint64_t stored = 0;
    std::uint64_t converted = 0;  // selective Naks that became standard
    std::uint64_t retrain = 0;
    std::uint64_t protocol_errors = 0;  // illegal numbers; an uncorrectable internal error in UCIe

    friend bool operator==(const Stats&, const Stats&) = default;
};

}  // namespace wireproof::flit
