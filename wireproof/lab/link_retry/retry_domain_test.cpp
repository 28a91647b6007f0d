// The domain of the closed forms. FormDomain.OfRandomPoints (label long) simulates.
#include "wireproof/lab/link_retry/retry_domain.hpp"

#include <gtest/gtest.h>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

FormDomain domain_of(const RetrySettings& settings) {
    return foreseen_point(settings).value().domain;
}

RetrySettings link_of(std::string_view protocol, double bit_error, std::uint32_t payload,
                      std::uint64_t loop) {
    return {.protocol = *retry_protocol(protocol),
            .bit_error = bit_error,
            .payload = payload,
            .loop = loop};
}

TEST(FormDomain, LeavesOutWhatTheFormsDoNotSee) {
    // A buffer that is shorter than the loop.
    RetrySettings settings = link_of("ue-llr", 4.18e-6, 1024, 30'000);
    settings.buffer = 7;
    settings.ack_every = 5;
    EXPECT_EQ(domain_of(settings), FormDomain::outside);
    settings = link_of("cxl-llr", 4.43e-5, 3, 0);
    settings.buffer = 3;
    EXPECT_EQ(domain_of(settings), FormDomain::outside);
    EXPECT_EQ(domain_of(link_of("hippi6400", 4.8e-5, 1, 12'372)), FormDomain::outside);
    // One unit in flight: no later one causes the notice.
    settings = link_of("rc", 1.17e-7, 4096, 0);
    settings.buffer = 1;
    EXPECT_EQ(domain_of(settings), FormDomain::outside);
    settings = link_of("flit-selective", 1.28e-6, 200, 7);
    settings.fec = RetryFec::off;
    settings.buffer = 1;
    EXPECT_EQ(domain_of(settings), FormDomain::outside);
    // A timer in whose time dozens of units fail.
    settings = link_of("pcie", 1e-5, 64, 3'680);
    settings.timer = 440'000;
    EXPECT_EQ(domain_of(settings), FormDomain::outside);
    // A timer that expires if one acknowledgement is lost.
    settings = link_of("hippi6400", 3.13e-5, 512, 1);
    settings.ack_every = 5;
    EXPECT_EQ(domain_of(settings), FormDomain::outside);
    settings.clean_back = true;
    EXPECT_EQ(domain_of(settings), FormDomain::inside);
}

TEST(FormDomain, HasAnEdge) {
    EXPECT_EQ(domain_of(link_of("pcie", 1e-9, 4096, 2'000)), FormDomain::inside);
    EXPECT_EQ(domain_of(link_of("pcie", 3e-6, 4096, 2'000)), FormDomain::edge);
    EXPECT_EQ(domain_of(link_of("pcie", 1e-4, 4096, 2'000)), FormDomain::outside);
}

// Of the models and of senders that resend nothing, the form is exact.
TEST(FormDomain, IsEverywhereWhereOneFailureCannotMeetAnother) {
    for (const std::string_view exact : {"go-back-n", "ideal", "uc"}) {
        EXPECT_EQ(domain_of(link_of(exact, 1e-4, 4096, 20'000)), FormDomain::inside) << exact;
    }
    EXPECT_EQ(domain_of(link_of("pcie", 0, 4096, 2'000)), FormDomain::inside);
    EXPECT_EQ(domain_of(link_of("pcie", 0.1, 4096, 2'000)), FormDomain::outside);
}

}  // namespace
}  // namespace wireproof::lab
