#include "wireproof/lab/retry_crossover.hpp"

#include <cmath>

namespace wireproof::lab {
namespace {

constexpr std::array<double, 5> factors = {0.8, 0.9, 1, 1.1, 1.25};

struct Measured {
    double etr = 0;
    double variance = 0;
};

Expected<Measured> measure(const CrossoverSide& side, double bit_error, std::uint64_t seed) {
    RetrySettings settings = side.settings;
    settings.bit_error = bit_error;
    const auto point = run_retry_point(settings, {.packets = side.packets, .seed = seed});
    if (!point) return tl::unexpected(point.error());
    const double etr = point->etr();
    // ETR is efficiency over 1 + ratio, so their errors go with ETR squared over efficiency.
    const double ratio_error = point->relative_error().value_or(0) * point->resend_ratio();
    const double error = etr * etr / point->link.unit.efficiency() * ratio_error;
    return Measured{etr, error * error};
}

}  // namespace

Expected<SimulatedCrossover> simulate_crossover(const CrossoverSide& left,
                                                const CrossoverSide& right, double near,
                                                std::uint64_t seed) {
    double sum_x = 0;
    double sum_y = 0;
    double sum_xx = 0;
    double sum_xy = 0;
    double variance = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const double b = near * factors[i];
        const auto of_left = measure(left, b, mix64(seed + 2 * i));
        if (!of_left) return tl::unexpected(of_left.error());
        const auto of_right = measure(right, b, mix64(seed + 2 * i + 1));
        if (!of_right) return tl::unexpected(of_right.error());
        const double x = std::log(b);
        const double y = of_left->etr - of_right->etr;
        sum_x += x;
        sum_y += y;
        sum_xx += x * x;
        sum_xy += x * y;
        variance += of_left->variance + of_right->variance;
    }
    constexpr double n = factors.size();
    const double slope = (sum_xy - sum_x * sum_y / n) / (sum_xx - sum_x * sum_x / n);
    if (!(std::abs(slope) > 0)) return unexpected("the two lines never meet");
    const double zero = sum_x / n - sum_y / n / slope;
    const double b = std::exp(zero);
    return SimulatedCrossover{b, b * std::sqrt(variance) / n / std::abs(slope)};
}

std::array<CrossoverSide, 2> crossover_sides(double tlp_loop, double micropacket_loop,
                                             bool renak_on_bad_head) {
    CrossoverSide tlp{.settings = {.protocol = RetryProtocol::pcie}, .packets = 400'000};
    tlp.settings.clean_back = true;
    tlp.settings.loop = static_cast<std::uint64_t>(tlp_loop);
    tlp.settings.timer = 12'429;
    tlp.settings.renak_on_bad_head = renak_on_bad_head;
    CrossoverSide micropacket{.settings = {.protocol = RetryProtocol::hippi6400},
                              .packets = 1'500'000};
    micropacket.settings.clean_back = true;
    micropacket.settings.loop = static_cast<std::uint64_t>(micropacket_loop);
    return {tlp, micropacket};
}

}  // namespace wireproof::lab
