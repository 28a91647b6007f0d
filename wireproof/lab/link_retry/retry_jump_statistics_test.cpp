// A run that jumps over stretches without errors gives the same result as a run that does not.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using test::count;
using test::with_flit_error;
using test::with_unit_error;

struct Both {
    RetryPoint jumped;
    RetryPoint lived;
};

Both run_both(const RetrySettings& settings, std::uint64_t packets, std::uint64_t seed) {
    const auto jumped = run_retry_point(settings, {.packets = packets, .jump = true, .seed = seed});
    const auto lived = run_retry_point(settings, {.packets = packets, .jump = false, .seed = seed});
    EXPECT_TRUE(jumped && lived);
    return {jumped.value(), lived.value()};
}

void expect_same(const Both& both, const char* what) {
    EXPECT_TRUE(both.jumped.totals == both.lived.totals) << what;
    for (std::size_t i = 0; i < static_cast<std::size_t>(RetryCount::count_); ++i) {
        const auto which = static_cast<RetryCount>(i);
        EXPECT_EQ(count(both.jumped, which), count(both.lived, which)) << what << " count " << i;
    }
    EXPECT_EQ(both.jumped.kept_most, both.lived.kept_most) << what;
    EXPECT_EQ(both.jumped.latency, both.lived.latency) << what;
    EXPECT_EQ(both.jumped.variance, both.lived.variance) << what;
    EXPECT_EQ(static_cast<double>(both.lived.jumped), 0) << what;
}

// Not a power of any number, so that the end lies in the middle of a cycle.
constexpr std::uint64_t packets = 1'234'567;

struct Row {
    const char* what;
    RetrySettings settings;
};

void expect_equal_lives(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        const Both both = run_both(row.settings, packets, 77);
        expect_same(both, row.what);
        EXPECT_GT(static_cast<double>(both.jumped.jumped), 0.3 * packets) << row.what;
        EXPECT_EQ(both.jumped.packets(), packets) << row.what;
    }
}

TEST(RetryJumpStatistics, EqualsTheLifeItJumpsOver) {
    expect_equal_lives({
        {"pcie", {.bit_error = 1e-9}},
        {"pcie, often", {.bit_error = 3e-8}},
        {"pcie, fresh notices", {.bit_error = 1e-9, .renak_on_bad_head = true}},
        {"pcie, acks for five", {.bit_error = 1e-9, .ack_every = 5}},
        {"pcie, long loop", {.bit_error = 1e-9, .loop = 50'000}},
        {"pcie, stalled", {.bit_error = 1e-9, .loop = 50'000, .buffer = 7}},
        {"pcie, no errors", {.bit_error = 0}},
        {"pcie, loaded back", {.bit_error = 1e-10, .loaded_back = true}},
        {"hippi6400", {.protocol = RetryProtocol::hippi6400, .bit_error = 3e-8}},
        {"hippi6400, short messages",
         {.protocol = RetryProtocol::hippi6400, .bit_error = 3e-8, .payload = 100}},
        {"go-back-n", {.protocol = RetryProtocol::go_back_n, .bit_error = 1e-7}},
        {"go-back-n, stalled",
         {.protocol = RetryProtocol::go_back_n, .bit_error = 1e-7, .loop = 50'000, .buffer = 7}},
        {"ideal", {.protocol = RetryProtocol::ideal, .bit_error = 1e-7, .loop = 50'000}},
    });
}

TEST(RetryJumpStatistics, EqualsTheLifeOfPacketsOfHostsToo) {
    expect_equal_lives({
        {"sp-am", {.protocol = RetryProtocol::sp_am, .bit_error = 1e-9}},
        {"sp-am, stalled",
         {.protocol = RetryProtocol::sp_am, .bit_error = 1e-9, .loop = 50'000, .buffer = 7}},
        {"sp-am, loaded back",
         {.protocol = RetryProtocol::sp_am, .bit_error = 1e-10, .loaded_back = true}},
        {"sp-am-selective", {.protocol = RetryProtocol::sp_am_selective, .bit_error = 1e-9}},
        {"rc", {.protocol = RetryProtocol::rc, .bit_error = 1e-9}},
        {"rc, loaded back",
         {.protocol = RetryProtocol::rc, .bit_error = 1e-10, .loaded_back = true}},
        {"uc", {.protocol = RetryProtocol::uc, .bit_error = 1e-9}},
    });
}

/// Units of one flit or short packet that are bad with this probability, in both directions.
RetrySettings failing(std::string_view protocol, double p, std::uint64_t loop) {
    RetrySettings settings{.protocol = *retry_protocol(protocol), .payload = 60, .loop = loop};
    if (protocol == "ue-llr") settings.ack_every = 4;
    if (resolve(settings)->line) return with_flit_error(settings, p);
    return with_unit_error(settings, p);
}

// Hundreds of failures of each kind, and often two before the link has recovered.
TEST(RetryJumpStatistics, EqualsTheLifeWhereFailuresRepeat) {
    struct Life {
        const char* protocol;
        double p;
        std::uint64_t loop;
        bool loaded_back = false;
    };
    for (const Life& life :
         {Life{"pcie", 1e-3, 2'000}, Life{"hippi6400", 2e-4, 2'000}, Life{"ue-llr", 1e-3, 2'000},
          Life{"cxl-llr", 2e-4, 1'000}, Life{"rc", 1e-3, 2'000}, Life{"uc", 1e-3, 2'000},
          Life{"flit", 5e-4, 2'000}, Life{"flit", 5e-4, 25'600},
          Life{"flit-selective", 5e-4, 2'000}, Life{"flit-selective", 5e-4, 25'600},
          Life{"flit-cxl", 5e-4, 2'000}, Life{"ucie", 1e-3, 2'000}, Life{"ucie-68", 1e-3, 2'000},
          Life{"ucie-68", 1e-3, 2'000, true}}) {
        RetrySettings settings = failing(life.protocol, life.p, life.loop);
        settings.loaded_back = life.loaded_back;
        const Both both = run_both(settings, packets, 1'945);
        expect_same(both, life.protocol);
        EXPECT_GT(count(both.lived, RetryCount::wasted), packets * life.p / 2) << life.protocol;
        EXPECT_GT(static_cast<double>(both.jumped.jumped), 0.1 * packets) << life.protocol;
    }
}

// Only the first failure that happens to a unit of each number costs simulated units.
TEST(RetryJumpStatistics, AFailureThatIsKnownIsNotSimulatedAgain) {
    struct Known {
        const char* protocol;
        std::uint64_t loop;
        double states;      // of the link without errors, at the departure of a unit
        double units_each;  // until the link has recovered, and the beginning of the next stride
    };
    for (const Known& known : {
             Known{"pcie", 2'000, 4096, 200},
             Known{"ue-llr", 2'000, 1024 * 4, 200},  // ACKs for four
             Known{"cxl-llr", 1'000, 87 * 128, 200},
             Known{"flit", 2'000, 1023, 400},
             Known{"flit", 25'600, 1023, 600},
             Known{"flit-selective", 25'600, 1023, 800},
             Known{"flit-cxl", 2'000, 1023, 400},
             Known{"ucie", 2'000, 255, 400},
             Known{"ucie-68", 2'000, 255, 400},
         }) {
        RetrySettings settings = failing(known.protocol, 1e-9, known.loop);
        settings.clean_back = true;
        const auto point = run_retry_point(settings, {.packets = 200'000'000'000'000});
        ASSERT_TRUE(point);
        EXPECT_TRUE(test::agrees(*point)) << known.protocol;
        const double lived = point->packets() - static_cast<double>(point->jumped);
        EXPECT_LT(lived, known.units_each * known.states) << known.protocol;
        EXPECT_GT(lived, known.states) << known.protocol;
    }
}

// Some of these runs end in the middle of a failure that is known.
TEST(RetryJumpStatistics, EndsAtTheUnitThatIsAskedFor) {
    const RetrySettings settings = failing("ucie-68", 1e-3, 2'000);
    for (std::uint64_t own_seed = 1; own_seed <= 80; ++own_seed) {
        const auto point = run_retry_point(settings, {.packets = 200'000, .seed = own_seed});
        ASSERT_TRUE(point);
        ASSERT_EQ(count(*point, RetryCount::accepted), 200'000U) << "seed " << own_seed;
    }
}

// The bad frames of the way back carry acknowledgements.
TEST(RetryJumpStatistics, FailuresOfTheWayBackAreKnownToo) {
    for (const char* const protocol : {"pcie", "ue-llr", "ucie", "flit"}) {
        const RetrySettings settings = failing(protocol, 1e-9, 2'000);
        const auto point = run_retry_point(settings, {.packets = 200'000'000'000'000});
        ASSERT_TRUE(point);
        const double lived = point->packets() - static_cast<double>(point->jumped);
        EXPECT_LT(lived, 2'000'000) << protocol;
    }
}

// A jump over many failures takes a while.
TEST(RetryJumpStatistics, ReportsProgressBetweenFailures) {
    int heard = 0;
    double last = 0;
    const RetryPlan plan{.packets = 200'000'000'000'000, .progress = [&](double share) {
                             EXPECT_LE(share - last, 0.02);
                             last = share;
                             ++heard;
                         }};
    ASSERT_TRUE(run_retry_point(failing("ucie-68", 1e-9, 2'000), plan));
    EXPECT_GT(heard, 100);
    // A run that is given up has whole failures: its figures fit the closed form.
    int calls = 0;
    RetryPlan short_plan = plan;
    short_plan.progress = nullptr;
    short_plan.out_of_time = [&calls] { return ++calls == 100; };
    const auto stopped = run_retry_point(failing("ucie-68", 1e-9, 2'000), short_plan);
    ASSERT_TRUE(stopped);
    EXPECT_TRUE(stopped->stopped);
    EXPECT_LT(stopped->packets(), 1e14);
    EXPECT_LT(std::abs(stopped->deviation().value()), 4);
}

// Rare errors cost no more time than the simulation of the packets around them.
TEST(RetryJumpStatistics, TenToTheFourteenthPacketsTakeNoTime) {
    const auto point = run_retry_point({.bit_error = 1e-15}, {.packets = 100'000'000'000'000});
    ASSERT_TRUE(point);
    EXPECT_LT(std::abs(point->deviation().value()), 4);
    EXPECT_NEAR(point->relative_error().value(), 0.0174, 0.001);
}

}  // namespace
}  // namespace wireproof::lab
