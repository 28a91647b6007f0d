// The sums of the counters of all connections of a net.
#include "wireproof/lab/common/am_net.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>

namespace wireproof::lab {
namespace {

using Counters = std::array<std::uint64_t, sizeof(am::Stats) / sizeof(std::uint64_t)>;

class Requests final : public AmUser {
public:
    explicit Requests(AmNet& net) : net_(net) {}
    Instant on_turn(std::size_t node, Instant) override {
        for (; left[node] > 0; --left[node]) {
            if (net_.at(node, 1 - node).request(am::HandlerId{1}, {}) != am::PostStatus::accepted) {
                break;
            }
        }
        return never;
    }
    void on_delivery(std::size_t, std::size_t, Instant, const am::Delivery&) override {}

    std::array<int, 2> left{};

private:
    AmNet& net_;
};

Counters sum_of(const AmNet& net) {
    auto sum = std::bit_cast<Counters>(net.at(0, 1).stats());
    const auto other = std::bit_cast<Counters>(net.at(1, 0).stats());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
    return sum;
}

TEST(AmNet, TotalsAreOfEveryCounterAndOfLivesThatEnded) {
    am::Config config = am::Config::sp2();
    config.keepalive_after = Duration::microseconds(200);
    AmNet net({.frame_max = 256, .faults = {.loss = 0.1}, .seed = 3}, config, 5);
    Requests user(net);
    user.left = {2'000, 2'000};
    net.run(user, {.until = Instant(Duration::milliseconds(20))});
    const am::Stats totals = net.totals();
    EXPECT_EQ(totals.sessions, 2U);
    EXPECT_GT(totals.resent, 0U);
    EXPECT_GT(totals.keepalive_timeouts, 0U);
    EXPECT_GT(totals.sent_of(am::Kind::request) + totals.sent_of(am::Kind::bundle), 0U);
    const Counters before = sum_of(net);
    EXPECT_EQ(std::bit_cast<Counters>(totals), before);

    const auto ended = std::bit_cast<Counters>(net.at(1, 0).stats());
    net.restart(1);
    const Counters now = sum_of(net);
    Counters expected = now;
    for (std::size_t i = 0; i < now.size(); ++i) expected[i] += ended[i];
    EXPECT_EQ(std::bit_cast<Counters>(net.totals()), expected);
    EXPECT_EQ(expected, before);
}

}  // namespace
}  // namespace wireproof::lab
