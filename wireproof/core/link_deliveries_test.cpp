#include "wireproof/core/link_deliveries.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace wireproof {
namespace {

using What = LinkDelivery::What;

std::vector<What> taken(LinkDeliveries deliveries) {
    std::vector<What> all;
    while (const auto delivery = deliveries.next()) all.push_back(delivery->what);
    return all;
}

constexpr std::array<std::byte, 3> bytes{};

TEST(LinkDeliveries, ComeInTheOrderOfALife) {
    LinkDeliveries deliveries;
    EXPECT_TRUE(deliveries.empty());
    deliveries.down(true);
    deliveries.up();
    deliveries.message(bytes);
    EXPECT_EQ(taken(deliveries), (std::vector{What::down, What::up, What::message}));
    deliveries.next();
    deliveries.next();
    EXPECT_EQ(deliveries.next()->bytes.data(), bytes.data());
    EXPECT_TRUE(deliveries.empty());
}

TEST(LinkDeliveries, AnEndDropsWhatWaitsAndIsToldOnce) {
    LinkDeliveries deliveries;
    deliveries.up();
    deliveries.message(bytes);
    deliveries.down(true);
    EXPECT_FALSE(deliveries.has_message());
    deliveries.down(false);
    EXPECT_EQ(taken(deliveries), (std::vector{What::down}));
}

TEST(LinkDeliveries, NobodyHearsOfTheEndOfALinkThatWasNotUp) {
    LinkDeliveries deliveries;
    deliveries.message(bytes);
    deliveries.down(false);
    EXPECT_TRUE(deliveries.empty());
}

TEST(LinkDeliveries, FingerprintsTellThemApart) {
    const auto print = [](const LinkDeliveries& deliveries) {
        Fingerprint sink;
        deliveries.fingerprint(sink);
        return sink.value();
    };
    LinkDeliveries up, down, message, longer;
    up.up();
    down.down(true);
    message.message(ConstBytes(bytes).first(0));
    longer.message(bytes);
    const std::array prints{print({}), print(up), print(down), print(message), print(longer)};
    for (std::size_t i = 0; i < prints.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(prints[i], prints[j]) << i << ' ' << j;
    }
}

}  // namespace
}  // namespace wireproof
