// Random points beside the closed forms: where a form is shown without a mark, it is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iostream>

#include "wireproof/base/random.hpp"
#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

template <class Value>
Value one_of(Random& dice, std::initializer_list<Value> values) {
    return *(values.begin() + dice.below(values.size()));
}

/// Settings of all kinds; many cannot work.
RetrySettings draw(Random& dice) {
    RetrySettings s;
    s.protocol =
        static_cast<RetryProtocol>(dice.below(static_cast<std::size_t>(RetryProtocol::count_)));
    s.payload = one_of<std::uint32_t>(dice, {1, 3, 64, 200, 255, 256, 512, 1024, 2048, 4096});
    s.loop = one_of<std::uint64_t>(dice, {0, 1, 7, 40, 500, 2'000, 12'372});
    if (dice.chance(0.3)) s.fec = dice.chance(0.5) ? RetryFec::on : RetryFec::off;
    if (dice.chance(0.5)) s.buffer = one_of<std::uint32_t>(dice, {1, 2, 3, 7, 20, 127});
    if (dice.chance(0.3)) s.ack_every = one_of<std::uint32_t>(dice, {1, 2, 5, 16});
    if (dice.chance(0.5)) {
        const std::uint64_t unit = s.payload + 40;
        s.timer = one_of<std::uint64_t>(dice, {10, 100, s.loop + unit + 1, s.loop + 2 * unit + 9,
                                               3 * (s.loop + unit), 20'000 + s.loop});
    }
    s.clean_back = dice.chance(0.2);
    s.renak_on_bad_head = dice.chance(0.1);
    if (dice.chance(0.2)) s.notice_loss = one_of(dice, {0.01, 0.3, 0.9});
    // A unit is bad with a probability of 1e-4 to 0.2.
    const double wanted = std::pow(10.0, -4 + 3.3 * dice.uniform());
    double low = 1e-12;
    double high = 1e-2;
    for (int i = 0; i < 40 && resolve(s); ++i) {
        s.bit_error = std::sqrt(low * high);
        (foreseen_point(s)->unit_error < wanted ? low : high) = s.bit_error;
    }
    return s;
}

TEST(FormDomainAtRandomPoints, OfRandomPointsOneInAHundredIsFarFromAFormWithoutAMark) {
    Random dice(test::seed);
    int points = 0;
    int shown = 0;
    int far = 0;
    while (points < 500) {
        const RetrySettings s = draw(dice);
        if (!resolve(s)) continue;
        ++points;
        const RetryPoint foreseen = foreseen_point(s).value();
        if (foreseen.domain != FormDomain::inside) continue;
        const auto point = run_retry_point(
            s, {.relative_error = 0.01, .packets_max = 200'000'000, .seed = dice.below(1U << 30)});
        ASSERT_TRUE(point) << point.error().message;
        ++shown;
        if (std::abs(point->deviation().value()) <= 4) continue;
        ++far;
        std::cout << name_of(s.protocol) << ", rate " << s.bit_error << ", payload " << s.payload
                  << ", loop " << s.loop << ", buffer " << s.buffer << ", acks " << s.ack_every
                  << ", timer " << s.timer << ", notice loss " << s.notice_loss << ": "
                  << point->deviation().value() << "\n";
    }
    EXPECT_GT(shown, 100);
    EXPECT_LE(far, points / 100);
    EXPECT_LE(far, std::max(1, shown / 100));
}

}  // namespace
}  // namespace wireproof::lab
