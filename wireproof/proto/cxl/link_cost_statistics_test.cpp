// What retry costs on a continuous line: slots per message S, against
//
//   S = 1 + p / (1 - p) (Lp + 11 + 12 p TO)
//
// Lp is the loop in flits, TO is TIMEOUT. The request and its answer add 11 slots to the loop. If
// one of their 12 flits is spoilt, TIMEOUT repairs it.
#include <cmath>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/cxl/line_test_kit.hpp"

namespace wireproof::cxl {
namespace {

constexpr std::size_t latency = 25;
constexpr double loop = 2 * latency;

bool of_a_retry(const FrameInfo& info) {
    return info.kind == "RETRY.Frame" || info.kind == "RETRY.Req" || info.kind == "RETRY.Ack";
}

// One spoilt flit costs the loop and 11 slots.
TEST(CxlCost, OneSpoiltFlitCostsTheLoopAndElevenSlots) {
    const auto slots = [](bool spoils) {
        Line line(line_config(4096), latency, false);
        line.start();
        line.run_until(500, 10'000);
        if (spoils) {
            line.spoils = [done = false](bool to_b, const FrameInfo&) mutable {
                return to_b && !std::exchange(done, true);
            };
        }
        line.run_until(3000, 10'000);
        return line.slots();
    };
    EXPECT_EQ(slots(true) - slots(false), static_cast<std::uint64_t>(loop) + 11);
}

struct Measured {
    double cost = 0;  // S
    std::uint64_t timeouts = 0;
};

Measured measure(double p, std::uint32_t timeout, std::uint64_t messages, bool all_of_reverse) {
    Random random(timeout + static_cast<std::uint64_t>(p * 1e6));
    Config config = line_config(timeout);
    config.max_num_phy_reinit = Config::unlimited;
    Line line(config, latency, false);
    line.start();
    line.spoils = [&](bool to_b, const FrameInfo& info) {
        return (to_b || all_of_reverse || of_a_retry(info)) && random.uniform() < p;
    };
    const std::uint64_t slots = line.run_until(messages, 10 * messages);
    return {static_cast<double>(slots) / static_cast<double>(messages),
            line.b().link.stats().timeouts};
}

double closed_form(double p, double timeout) {
    return 1 + p / (1 - p) * (loop + 11 + 12 * p * timeout);
}

// The standard deviation of S: the number of retries is random, and that of timeouts.
double deviation(double p, double timeout, double messages) {
    const double retries = p * messages;
    const double timeouts = 12 * p * retries;
    return std::sqrt(retries * (loop + 11) * (loop + 11) + timeouts * timeout * timeout) / messages;
}

struct Row {
    double p;
    std::uint32_t timeout;
    double model;  // S of another model of the same link, from 10^6 flits
};

TEST(CxlCost, AgreesWithTheClosedFormAndWithAnotherModel) {
    constexpr std::uint64_t messages = 1'000'000;
    for (const Row& row : {Row{1e-4, 100, 1.0068}, Row{1e-3, 100, 1.0621}, Row{1e-3, 4096, 1.131},
                           Row{3e-3, 100, 1.199}, Row{3e-3, 4096, 1.653}}) {
        const Measured is = measure(row.p, row.timeout, messages, false);
        const double expected = closed_form(row.p, row.timeout);
        // The closed form leaves out two spoilt flits in one loop, and two TIMEOUTs in a row.
        const double timeouts_each = 12 * row.p;
        const double rough = row.p * (row.p * loop + timeouts_each * timeouts_each * row.timeout);
        const double sigma = deviation(row.p, row.timeout, messages);
        EXPECT_NEAR(is.cost, expected, 4 * sigma + rough) << row.p << " " << row.timeout;
        EXPECT_NEAR(is.cost, row.model, 4 * std::sqrt(2.0) * sigma) << row.p << " " << row.timeout;
        EXPECT_LT(4 * sigma + rough, 0.6 * (expected - 1)) << "the comparison says something";
        const double timeouts = timeouts_each * row.p * messages;
        EXPECT_NEAR(static_cast<double>(is.timeouts), timeouts,
                    4 * std::sqrt(timeouts) + 1 + timeouts_each * timeouts);
    }
}

// CXL-24: a spoilt flit of the other direction costs this direction the six flits of a request.
TEST(CxlCost, DamageOfTheReverseDirectionCostsSixMoreSlots) {
    constexpr double p = 1e-3;
    const Measured is = measure(p, 100, 1'000'000, true);
    EXPECT_NEAR(is.cost, closed_form(p, 100) + 6 * p, 4 * deviation(p, 100, 1e6));
    EXPECT_GT(is.cost, closed_form(p, 100) + 3 * p);
}

}  // namespace
}  // namespace wireproof::cxl
