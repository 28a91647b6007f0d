// Each measurement builds its own machine, so their order does not matter.
#include "wireproof/lab/sp2/sp2_figures.hpp"

#include <algorithm>

#include "wireproof/sim/sp2/raw.hpp"

namespace wireproof::lab {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t packet_data = sp2::entry_size - sp2::header_size;

// The largest store that needs as many packets and cache lines as a store of `size` bytes.
std::size_t alike_up_to(std::size_t size) {
    const std::size_t before = (size - 1) / packet_data * packet_data;
    const std::size_t last_packet = sp2::header_size + size - before;
    const std::size_t lines = (last_packet + cache_line - 1) / cache_line;
    return before + lines * cache_line - sp2::header_size;
}

}  // namespace

// Stores with the same number of packets and cache lines take the same time. Among them the
// bandwidth rises with the size, so a binary search finds the size with half the bandwidth.
Sp2HalfPower find_half_power(const std::function<double(std::size_t)>& bandwidth, double half) {
    constexpr std::size_t far_beyond = 3 * packet_data;
    Sp2HalfPower found;
    for (std::size_t begin = 1; begin <= far_beyond;) {
        const std::size_t end = alike_up_to(begin);
        std::size_t enough = begin;  // smallest size here with at least half; end + 1 if none
        std::size_t below = begin - 1;
        if (bandwidth(end) < half) {
            enough = below = end + 1;
        } else if (bandwidth(begin) < half) {
            below = begin;
            enough = end;
        }
        while (enough > below + 1) {
            const std::size_t middle = (below + enough) / 2;
            (bandwidth(middle) < half ? below : enough) = middle;
        }
        if (enough <= end && found.first == 0) found.first = enough;
        if (enough > begin) found.for_good = enough;
        begin = end + 1;
    }
    return found;
}

Sp2Figures measure_sp2(const Sp2AmConfig& config, const Sp2Progress& progress) {
    constexpr double mega = 1e6;
    const sp2::Costs& hardware = config.machine.costs;
    Sp2Figures figures;
    figures.nodes = config.machine.nodes;
    figures.pairs = figures.nodes / 2;
    figures.raw_round_trip_us = sp2::raw_round_trip(hardware).seconds() * mega;
    figures.raw_bandwidth_mb_s = sp2::raw_bandwidth(hardware) / mega;
    figures.payload_share_mb_s = static_cast<double>(hardware.link_bytes_per_second) / mega *
                                 static_cast<double>(packet_data) /
                                 static_cast<double>(sp2::entry_size);

    // Shares of the total time. The number of streams for the half-power point is a guess.
    constexpr double streams_expected = 40;
    const auto part = [&](double begin, double share) {
        return [&progress, begin, share](double done) {
            if (progress) progress(begin + share * done);
        };
    };
    figures.round_trip_us = measure_round_trip(config, {}, part(0, 0.1));
    figures.bandwidth_mb_s = measure_bandwidth(config, {}, part(0.1, 0.4));
    figures.bandwidth_mb_s.mean /= mega;
    figures.bandwidth_mb_s.worst /= mega;
    bool streams_verified = true;
    double streams = 0;
    const auto stream_of = [&](std::size_t size) {
        const Sp2Stream small{.store_bytes = size,
                              .outstanding = config.protocol.stores_max,
                              .warm_up = 64,
                              .counted = 160};
        const double begin = 0.5 + 0.4 * std::min(1.0, streams++ / streams_expected);
        const Sp2PerPair measured = measure_bandwidth(config, small, part(begin, 0));
        streams_verified = streams_verified && measured.verified;
        return measured.mean / mega;
    };
    figures.half_power = find_half_power(stream_of, figures.bandwidth_mb_s.mean / 2);

    Sp2Am am(config);
    figures.exchanged = exchange(am, {}, part(0.9, 0.1));
    figures.verified = figures.round_trip_us.verified && figures.bandwidth_mb_s.verified &&
                       streams_verified && figures.exchanged.wrong.empty();
    return figures;
}

}  // namespace wireproof::lab
