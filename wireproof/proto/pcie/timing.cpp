#include "wireproof/proto/pcie/timing.hpp"

#include <array>

#include "wireproof/proto/pcie/wire_format.hpp"

namespace wireproof::pcie {
namespace {

constexpr std::array<std::int64_t, 5> symbol_picoseconds = {4000, 2000, 1000, 500, 250};

// AckFactor in tenths: how many TLPs of the largest size may wait for one Ack.
std::uint32_t ack_factor_tenths(std::uint32_t width, std::size_t payload_max) {
    if (payload_max <= 256) return width <= 4 ? 14 : width <= 8 ? 25 : 30;
    return width <= 8 ? 10 : 20;
}

}  // namespace

Duration LinkRate::symbol_time() const {
    return Duration(symbol_picoseconds[static_cast<std::size_t>(speed)]);
}

std::uint64_t LinkRate::bytes_per_second() const {
    return width * (1'000'000'000'000 / static_cast<std::uint64_t>(symbol_time().picoseconds()));
}

Duration LinkRate::time_of(std::size_t bytes) const {
    const auto all = static_cast<std::int64_t>(bytes) * symbol_time().picoseconds();
    return Duration((all + width - 1) / width);
}

std::uint32_t internal_delay(Speed speed) {
    return speed == Speed::gen1 ? 19 : speed == Speed::gen2 ? 70 : 115;
}

// PCIE-30: the formula from which the published tables follow.
std::uint32_t ack_latency_limit(LinkRate rate, std::size_t payload_max) {
    const auto tlp = static_cast<std::uint32_t>(payload_max + tlp_overhead);
    const std::uint32_t factor = ack_factor_tenths(rate.width, payload_max);
    return tlp * factor / (10 * rate.width) + internal_delay(rate.speed);
}

std::uint32_t replay_limit(LinkRate rate, std::size_t payload_max) {
    return 3 * ack_latency_limit(rate, payload_max);
}

}  // namespace wireproof::pcie
