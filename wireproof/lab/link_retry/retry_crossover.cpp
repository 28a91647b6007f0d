#include "wireproof/lab/link_retry/retry_crossover.hpp"

#include <cmath>

#include "wireproof/base/random.hpp"

namespace wireproof::lab {
namespace {

constexpr std::array<double, crossover_rates> factors = {0.8, 0.9, 1, 1.1, 1.25};

/// The parabola with the least sum of squared distances from the values at the rates. It depends on
/// the values linearly, so its value at any place is a weighted sum of them.
class LeastSquares {
public:
    using Values = std::array<double, crossover_rates>;

    explicit LeastSquares(const Values& x) : x_(x) {
        for (const double at : x_) mean_ += at / crossover_rates;
        for (const double at : x_) {
            first_norm_ += first(at) * first(at);
            skew_ += at * first(at) * first(at);
        }
        skew_ /= first_norm_;
        for (const double at : x_) second_norm_ += second(at) * second(at);
    }

    Values weights(double z) const {
        Values weights{};
        for (std::size_t i = 0; i < x_.size(); ++i) {
            weights[i] = 1.0 / crossover_rates + first(z) * first(x_[i]) / first_norm_ +
                         second(z) * second(x_[i]) / second_norm_;
        }
        return weights;
    }

private:
    // Polynomials of degree 1 and 2 that are orthogonal over the rates, to 1 and to each other.
    double first(double z) const { return z - mean_; }
    double second(double z) const { return (z - skew_) * first(z) - first_norm_ / crossover_rates; }

    Values x_;
    double mean_ = 0;
    double skew_ = 0;
    double first_norm_ = 0;
    double second_norm_ = 0;
};

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
    // ETR is efficiency / (1 + ratio), so the error of the ETR is the error of the ratio times ETR
    // squared / efficiency.
    const double ratio_error = point->relative_error().value_or(0) * point->resend_ratio();
    const double error = etr * etr / point->link.unit.efficiency() * ratio_error;
    return Measured{etr, error * error};
}

}  // namespace

Expected<SimulatedCrossover> fitted_crossover(
    const std::array<EtrDifference, crossover_rates>& measured) {
    LeastSquares::Values x{};
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = std::log(measured[i].bit_error / measured[0].bit_error);
    }
    const LeastSquares parabola(x);
    const auto value = [&](double z) {
        double sum = 0;
        const auto weights = parabola.weights(z);
        for (std::size_t i = 0; i < x.size(); ++i) sum += weights[i] * measured[i].difference;
        return sum;
    };
    double low = x.front();
    double high = x.back();
    const bool begins_above = value(low) > 0;
    if (begins_above == (value(high) > 0)) {
        return unexpected("the two lines do not meet between the rates that were simulated");
    }
    double zero = low + (high - low) / 2;
    for (; zero > low && zero < high; zero = low + (high - low) / 2) {
        ((value(zero) > 0) == begins_above ? low : high) = zero;
    }
    constexpr double step = 0.01;  // any length will do: for a parabola this is the exact slope
    const double slope = (value(zero + step) - value(zero - step)) / (2 * step);
    double variance = 0;
    const auto weights = parabola.weights(zero);
    for (std::size_t i = 0; i < x.size(); ++i) {
        variance += weights[i] * weights[i] * measured[i].variance;
    }
    const double b = measured[0].bit_error * std::exp(zero);
    return SimulatedCrossover{b, b * std::sqrt(variance) / std::abs(slope)};
}

Expected<SimulatedCrossover> simulate_crossover(const CrossoverSide& left,
                                                const CrossoverSide& right, double near,
                                                std::uint64_t seed) {
    std::array<EtrDifference, crossover_rates> measured{};
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const double b = near * factors[i];
        const auto of_left = measure(left, b, mix64(seed + 2 * i));
        if (!of_left) return tl::unexpected(of_left.error());
        const auto of_right = measure(right, b, mix64(seed + 2 * i + 1));
        if (!of_right) return tl::unexpected(of_right.error());
        measured[i] = {b, of_left->etr - of_right->etr, of_left->variance + of_right->variance};
    }
    return fitted_crossover(measured);
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

Expected<std::array<RetryCurve, 2>> closed_forms_of(const std::array<CrossoverSide, 2>& sides) {
    std::array<RetryCurve, 2> curves;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const auto link = resolve(sides[i].settings);
        if (!link) return tl::unexpected(link.error());
        curves[i] = {link->scheme, link->unit, link->costs};
    }
    return curves;
}

}  // namespace wireproof::lab
