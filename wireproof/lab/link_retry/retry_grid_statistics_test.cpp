// The closed forms over thirteen decades of bit error rates: simulated points, each of ten thousand
// failures, where the forms hold.
#include <gtest/gtest.h>

#include <array>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using namespace test;

constexpr std::array<double, 13> rates = {1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10,
                                          1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4};
constexpr double failures = 10'000;
/// Flits with correction fail less often than this below 1e-10: a point would need more units than
/// all links of the world carry in a year.
constexpr double rarest = 1e-15;

/// Runs points, and counts what became of them.
class Grid {
public:
    /// How many points are simulated, have too many errors for the form, and have too few to be
    /// simulated.
    explicit Grid(const std::array<int, 3>& expected) : expected_(expected) {}
    ~Grid() { EXPECT_EQ(counted_, expected_); }

    /// The settings at each rate.
    void add(const RetrySettings& settings) {
        for (const double rate : rates) add(settings, rate);
    }

private:
    enum What { simulated, outside, rare };

    void add(RetrySettings settings, double rate) {
        settings.bit_error = rate;
        const RetryPoint foreseen = foreseen_point(settings).value();
        const double p = foreseen.unit_error;
        const std::uint64_t own_seed = seed + ++points_;
        SCOPED_TRACE(::testing::Message() << rate << ", loop " << settings.loop << ", payload "
                                          << settings.payload << ", seed " << own_seed);
        if (p < rarest) {
            ++counted_[rare];
            EXPECT_NEAR(foreseen.closed_ratio().value() / expected_alone(foreseen), 1, 1e-6);
            return;
        }
        if (foreseen.domain != FormDomain::inside) {
            ++counted_[outside];
            return;
        }
        ++counted_[simulated];
        const auto units = static_cast<std::uint64_t>(failures / p);
        const auto point = run_retry_point(settings, {.packets = units, .seed = own_seed});
        ASSERT_TRUE(point);
        EXPECT_TRUE(agrees(*point));
        EXPECT_LT(point->relative_error().value(), 0.08) << "the comparison says something";
    }

    /// The resend ratio if no failure meets another.
    static double expected_alone(const RetryPoint& point) {
        const bool stored = point.link.scheme == RetryScheme::stored_notice;
        return point.unit_error * (stored ? 1 : point.link.costs.by_notice);
    }

    std::array<int, 3> expected_;
    std::array<int, 3> counted_{};
    std::uint64_t points_ = 0;
};

// LLR-36
TEST(RetryGrid, FramesOfUltraEthernetAreInTheClosedForm) {
    Grid grid({33, 6, 0});
    for (const std::uint32_t payload : {44U, 1480U, 4096U}) {
        RetrySettings settings = engine(*retry_protocol("ue-llr"), 4'116);
        settings.payload = payload;
        grid.add(settings);
    }
}

void add_flits(Grid& grid, std::string_view protocol, RetryFec fec) {
    for (const std::uint64_t loop : {2'000U, 12'800U, 25'600U}) {
        RetrySettings settings = engine(*retry_protocol(protocol), loop);
        settings.payload = 235;
        settings.fec = fec;
        grid.add(settings);
    }
}

// FLIT-8, FLIT-21
TEST(RetryGrid, FlitsAreInTheClosedForm) {
    Grid grid({31, 8, 0});
    add_flits(grid, "flit", RetryFec::off);
}

TEST(RetryGrid, FlitsWithCorrectionAreInTheClosedForm) {
    Grid grid({19, 2, 18});
    add_flits(grid, "flit", RetryFec::on);
}

// FLIT-13, FLIT-14
TEST(RetryGrid, FlitsWithSelectiveNaksAreInTheClosedForm) {
    Grid grid({31, 8, 0});
    add_flits(grid, "flit-selective", RetryFec::off);
}

TEST(RetryGrid, FlitsWithSelectiveNaksAndCorrectionAreInTheClosedForm) {
    Grid grid({19, 2, 18});
    add_flits(grid, "flit-selective", RetryFec::on);
}

}  // namespace
}  // namespace wireproof::lab
