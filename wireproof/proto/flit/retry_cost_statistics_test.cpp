// What recovery costs on a long line: slots for each message, with real constants and a loop of 50
// flits. The expected figures are those of an independent model of the rules.
#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/base/random.hpp"
#include "wireproof/core/slot_line_test_kit.hpp"
#include "wireproof/proto/flit/link.hpp"

namespace wireproof::flit {
namespace {

struct Cost {
    double slots = 0;  // for each message
    double error = 0;  // standard error
    Stats sender;
    Stats receiver;
};

struct Line {
    std::size_t one_way = 25;  // slots
    std::uint32_t messages = 60'000;
    int runs = 8;
};

Cost cost(Config config, double rate, const Line& of = {}) {
    config.starts_up = false;
    config.first_number = config.modulus - 5;
    Cost cost;
    double sum = 0;
    double squares = 0;
    for (int run = 0; run < of.runs; ++run) {
        SlotLine<Link, flit_max> line(Link{config}, of.one_way, Duration::nanoseconds(2));
        auto& sender = line.ends[0];
        auto& receiver = line.ends[1];
        sender.to_send = of.messages;
        // Each message in a flit of its own.
        sender.wants = [](const Link& link) { return link.transmitter().waiting() == 0; };
        Random random(1000 + static_cast<std::uint64_t>(run));
        const bool all = line.run(
            20 * of.messages,
            [&] {
                return receiver.delivered == of.messages &&
                       sender.link.transmitter().outstanding() == 0;
            },
            [&](std::size_t from, ConstBytes) { return from == 0 && random.chance(rate); });
        EXPECT_TRUE(all);
        EXPECT_FALSE(receiver.wrong);
        const double slots =
            static_cast<double>(line.slots - 2 * of.one_way) / static_cast<double>(of.messages);
        sum += slots;
        squares += slots * slots;
        cost.sender = sender.link.stats();
        cost.receiver = receiver.link.stats();
    }
    cost.slots = sum / of.runs;
    if (of.runs > 1) {
        cost.error = std::sqrt((squares / of.runs - cost.slots * cost.slots) / (of.runs - 1));
    }
    return cost;
}

/// Without errors, all runs are the same.
double clean_cost(const Config& config, std::size_t one_way) {
    return cost(config, 0, {.one_way = one_way, .runs = 1}).slots;
}

// The model had 1e6 flits, so its own error is about two thirds of the error here.
void expect_cost(const Cost& cost, double model) {
    const double sigma = std::hypot(cost.error, cost.error * 2 / 3);
    EXPECT_NEAR(cost.slots, model, std::max(3 * sigma, 0.02 * (model - 1))) << cost.error;
    EXPECT_LT(sigma, 0.12 * (model - 1)) << "the figure says little";
}

// FLIT-8, FLIT-21
TEST(FlitCost, AStandardNakCostsALoopAndOneFlit) {
    expect_cost(cost(Config::pcie6(), 1e-3), 1.0513);
    expect_cost(cost(Config::pcie6(), 1e-2), 1.5095);
    Config window = Config::pcie6();
    window.nak_ignore = 600;
    expect_cost(cost(window, 1e-2), 1.6749);
}

// FLIT-13, FLIT-14: selective loses above one error in a loop.
TEST(FlitCost, ASelectiveNakCostsLittleUntilErrorsMeet) {
    expect_cost(cost(Config::pcie6_selective(), 1e-3, {.messages = 400'000}), 1.0065);
    expect_cost(cost(Config::pcie6_selective(), 1e-2), 1.3472);
    const Cost standard = cost(Config::pcie6(), 3e-2);
    const Cost selective = cost(Config::pcie6_selective(), 3e-2);
    expect_cost(standard, 2.581);
    expect_cost(selective, 3.281);
    EXPECT_GT(selective.slots, standard.slots + 0.3);
}

// UCIE-2: without withdrawal, the cost is a loop.
TEST(FlitCost, UcieCostsALoop) {
    expect_cost(cost(Config::ucie_68(), 1e-3), 1.0503);
    expect_cost(cost(Config::ucie_68(), 1e-2), 1.5017);
}

// UCIE-1, UCIE-2: the window is 127.
TEST(FlitCost, AUcieLineLongerThanItsWindowStalls) {
    EXPECT_NEAR(clean_cost(Config::ucie_68(), 63), 1, 0.001);
    EXPECT_NEAR(clean_cost(Config::ucie_68(), 100), 1.575, 0.01);
}

// FLIT-4: the window is 511.
TEST(FlitCost, ALineLongerThanTheWindowStallsWithoutErrors) {
    EXPECT_NEAR(clean_cost(Config::pcie6(), 255), 1, 0.001);
    EXPECT_NEAR(clean_cost(Config::pcie6(), 511), 2, 0.01);
}

// FLIT-11: at most one replay for each spoilt flit, and none by the timer.
TEST(FlitCost, RecoveryIsByNakAndOncePerSpoiltFlit) {
    for (const Config& config : {Config::pcie6(), Config::pcie6_selective(), Config::ucie_68()}) {
        const Cost one = cost(config, 1e-3, {.messages = 200'000, .runs = 1});
        EXPECT_GT(one.receiver.flits_rx_invalid, 150U);
        EXPECT_EQ(one.sender.timeouts, 0U);
        EXPECT_EQ(one.sender.retrain, 0U);
        EXPECT_LE(one.sender.replays, one.receiver.flits_rx_invalid + one.receiver.converted);
        // A Nak that is repeated because the head of its replay is bad counts once.
        const std::uint64_t causes = one.sender.replays + one.receiver.converted;
        EXPECT_LE(one.receiver.naks, causes);
        EXPECT_GE(one.receiver.naks + 2, causes);
    }
}

}  // namespace
}  // namespace wireproof::flit
