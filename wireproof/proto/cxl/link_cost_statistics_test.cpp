// What retry costs on a continuous line: slots per message S, against
//
//   S = 1 + p / (1 - p) (Lp + 11 + 12 p TO)
//
// Lp is the loop in flits, TO is TIMEOUT. The request and its answer add 11 slots to the loop. If
// one of their 12 flits is spoilt, TIMEOUT repairs it.
#include <cmath>
#include <limits>

#include "wireproof/base/random.hpp"
#include "wireproof/core/slot_line_test_kit.hpp"
#include "wireproof/proto/cxl/line_test_kit.hpp"

namespace wireproof::cxl {
namespace {

constexpr std::size_t latency = 25;  // slots
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

/// A sends, and B only answers. `all_of_reverse`: any flit of B may be spoilt, not only those of a
/// retry.
Measured measure(double p, std::uint32_t timeout, std::uint32_t messages,
                 std::size_t one_way = latency, bool all_of_reverse = false) {
    Random random(timeout + static_cast<std::uint64_t>(p * 1e6));
    Config config = line_config(timeout);
    config.max_num_phy_reinit = Config::unlimited;
    SlotLine<Link, flit_size> line(Link{config}, one_way, Duration());
    auto& a = line.ends[0];
    auto& b = line.ends[1];
    line.run(
        20 * one_way + 1000, [] { return false; }, [](std::size_t, ConstBytes) { return false; });
    EXPECT_EQ(a.link.state(), Link::State::up);
    EXPECT_EQ(b.link.state(), Link::State::up);
    const std::uint64_t began = line.slots;
    a.to_send = std::numeric_limits<std::uint32_t>::max();
    EXPECT_TRUE(line.run(
        10 * std::uint64_t{messages}, [&] { return b.delivered >= messages; },
        [&](std::size_t from, ConstBytes flit) {
            return random.uniform() < p &&
                   (from == 0 || all_of_reverse || of_a_retry(describe(flit)));
        }));
    EXPECT_FALSE(b.wrong);
    return {static_cast<double>(line.slots - began) / b.delivered, b.link.stats().timeouts};
}

double closed_form(double p, double timeout, double of_loop = loop) {
    return 1 + p / (1 - p) * (of_loop + 11 + 12 * p * timeout);
}

// The standard deviation of S: the number of retries is random, and that of timeouts.
double deviation(double p, double timeout, double messages, double of_loop = loop) {
    const double retries = p * messages;
    const double timeouts = 12 * p * retries;
    return std::sqrt(retries * (of_loop + 11) * (of_loop + 11) + timeouts * timeout * timeout) /
           messages;
}

struct Row {
    double p;
    std::uint32_t timeout;
    double model;  // S of another model of the same link, from 10^6 flits
};

TEST(CxlCost, AgreesWithTheClosedFormAndWithAnotherModel) {
    constexpr std::uint32_t messages = 1'000'000;
    for (const Row& row : {Row{1e-4, 100, 1.0068}, Row{1e-3, 100, 1.0621}, Row{1e-3, 4096, 1.131},
                           Row{3e-3, 100, 1.199}, Row{3e-3, 4096, 1.653}}) {
        const Measured is = measure(row.p, row.timeout, messages);
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

// CXL-24: a spoilt flit of the other direction costs this direction the six flits of a request. A
// short loop and many messages, so that chance hides no part of the six.
TEST(CxlCost, DamageOfTheReverseDirectionCostsSixMoreSlots) {
    constexpr double p = 1e-3;
    constexpr std::uint32_t messages = 3'000'000;
    constexpr std::size_t one_way = 5;
    constexpr double short_loop = 2 * one_way;
    const Measured is = measure(p, 100, messages, one_way, true);
    const double sigma = deviation(p, 100, messages, short_loop);
    EXPECT_NEAR(is.cost, closed_form(p, 100, short_loop) + 6 * p, 4 * sigma);
    EXPECT_LT(4 * sigma, 2 * p) << "the comparison says something";
}

}  // namespace
}  // namespace wireproof::cxl
