// The figures of the SP AM paper, measured on the model: the engine's own packets on the modelled
// adapters, with every byte checked. Only the payload share is computed from costs; the figures are
// compared with it.
#pragma once

#include <cstdint>

#include "wireproof/lab/sp2/sp2_exchange.hpp"
#include "wireproof/lab/sp2/sp2_pairs.hpp"

namespace wireproof::lab {

/// The paper's figures for such nodes.
inline constexpr double paper_round_trip_us = 51.0;
inline constexpr double paper_bandwidth_mb_s = 34.3;
inline constexpr double paper_half_power_bytes = 260;  // recalled, unconfirmed

/// The limits of this project for the figures: the paper's own ratios, rounded outwards.
inline constexpr double round_trip_limit = 1.086;  // x the raw model's round trip
inline constexpr double bandwidth_limit = 0.979;   // x the payload share of the link

struct Sp2HalfPower {
    std::size_t first = 0;     // bytes of the smallest store with half the asymptotic bandwidth
    std::size_t for_good = 0;  // from here on all have it; a second packet costs more than a byte
};

/// `bandwidth` returns the bandwidth of a stream of stores of the given size. It may fall only
/// where a store needs one more packet or cache line.
Sp2HalfPower find_half_power(const std::function<double(std::size_t)>& bandwidth, double half);

struct Sp2Figures {
    std::size_t nodes = 0;
    std::size_t pairs = 0;  // pairs that ran at once; figures are means over them
    Sp2PerPair round_trip_us;
    double raw_round_trip_us = 0;
    Sp2PerPair bandwidth_mb_s;  // MB: a million bytes
    double raw_bandwidth_mb_s = 0;
    double payload_share_mb_s = 0;  // of the link: 224 of 256 bytes are data
    Sp2HalfPower half_power;
    Sp2Exchanged exchanged;  // all nodes to all, in a separate run
    bool verified = false;

    double round_trip_ratio() const { return round_trip_us.mean / raw_round_trip_us; }
    double bandwidth_ratio() const { return bandwidth_mb_s.mean / payload_share_mb_s; }
    /// AM-35
    bool holds() const {
        return round_trip_ratio() <= round_trip_limit && bandwidth_ratio() >= bandwidth_limit;
    }
};

Sp2Figures measure_sp2(const Sp2AmConfig& config, const Sp2Progress& progress = {});

}  // namespace wireproof::lab
