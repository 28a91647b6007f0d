#include "wireproof/core/congestion/pacer.hpp"

namespace wireproof::congestion {

// Twice the window in a round trip, or four times while it doubles. A flow whose answers come
// evenly never meets this limit, so it costs no rate; only bursts do.
Burst burst_of(std::uint32_t window, Duration measured, bool doubles) {
    constexpr Duration shortest_rtt = Duration::milliseconds(1);
    constexpr Duration longest_rtt = Duration::milliseconds(10'000);  // the products below fit
    constexpr Duration shortest_interval = Duration::microseconds(250);
    constexpr std::int64_t intervals = 8;  // in a round trip, about
    if (measured < shortest_rtt) return {};
    const Duration rtt = std::min(measured, longest_rtt);
    const Duration about = std::max(Duration(rtt.picoseconds() / intervals), shortest_interval);
    const std::int64_t in_rtt = static_cast<std::int64_t>(window) * (doubles ? 4 : 2);
    const std::int64_t packets =
        std::max<std::int64_t>(in_rtt * about.nanoseconds() / rtt.nanoseconds() + 1, 2);
    return {static_cast<std::uint32_t>(packets),
            Duration::nanoseconds(rtt.nanoseconds() * packets / in_rtt)};
}

}  // namespace wireproof::congestion
