// The table of LRSM, and RRSM.
#include "wireproof/proto/cxl/local_retry.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/cxl/remote_retry.hpp"

namespace wireproof::cxl {
namespace {

using State = LocalRetry::State;
using Answer = LocalRetry::Answer;

Config few(std::uint32_t retries, std::uint32_t reinits) {
    Config config;
    config.max_num_retry = retries;
    config.max_num_phy_reinit = reinits;
    return config;
}

// CXL-24, CXL-26
TEST(CxlLrsm, ADamagedFlitInNormalAsksOnce) {
    LocalRetry lrsm(few(10, 10));
    EXPECT_TRUE(lrsm.normal());
    lrsm.on_error();
    EXPECT_EQ(lrsm.state(), State::llrreq);
    lrsm.on_error();
    EXPECT_EQ(lrsm.state(), State::llrreq);
    EXPECT_EQ(lrsm.num_retry(), 0U);
    lrsm.on_request_sent();
    EXPECT_EQ(lrsm.state(), State::local_idle);
    EXPECT_EQ(lrsm.num_retry(), 1U);
    lrsm.on_error();
    EXPECT_EQ(lrsm.state(), State::local_idle);
}

// CXL-6
TEST(CxlLrsm, OnlyTheAnswerToTheLastRequestIsTaken) {
    LocalRetry lrsm(few(10, 10));
    EXPECT_EQ(lrsm.on_ack(0, false), Answer::unexpected);
    lrsm.on_error();
    EXPECT_EQ(lrsm.on_ack(0, false), Answer::stale) << "the request has not left";
    lrsm.on_request_sent();
    lrsm.on_timeout();
    EXPECT_EQ(lrsm.state(), State::llrreq);
    lrsm.on_request_sent();
    EXPECT_EQ(lrsm.num_retry(), 2U);
    EXPECT_EQ(lrsm.on_ack(1, false), Answer::stale);
    EXPECT_EQ(lrsm.on_ack(3, false), Answer::stale);
    EXPECT_EQ(lrsm.state(), State::local_idle);
    EXPECT_EQ(lrsm.on_ack(2, false), Answer::taken);
    EXPECT_TRUE(lrsm.normal());
    EXPECT_EQ(lrsm.on_ack(2, false), Answer::unexpected);
}

// CXL-6: the defect that the comparison repairs.
TEST(CxlLrsm, WithoutTheComparisonAnyAnswerIsTaken) {
    Config config = few(10, 10);
    config.mends.compares_num_retry = false;
    LocalRetry lrsm(config);
    lrsm.on_error();
    lrsm.on_request_sent();
    lrsm.on_timeout();
    lrsm.on_request_sent();
    EXPECT_EQ(lrsm.on_ack(1, false), Answer::taken);
}

// CXL-8
TEST(CxlLrsm, OnlyAGoodFlitOrAnEmptyAnswerZeroesTheCounts) {
    const auto asked_twice = [] {
        LocalRetry lrsm(few(2, 10));
        lrsm.on_error();
        lrsm.on_request_sent();
        lrsm.on_timeout();
        lrsm.on_request_sent();
        lrsm.on_timeout();
        EXPECT_EQ(lrsm.state(), State::phy_reinit);
        EXPECT_EQ(lrsm.num_phy_reinit(), 1U);
        lrsm.on_trained();
        EXPECT_EQ(lrsm.state(), State::llrreq);
        EXPECT_EQ(lrsm.num_retry(), 0U);
        EXPECT_EQ(lrsm.num_phy_reinit(), 1U);
        lrsm.on_request_sent();
        return lrsm;
    };
    LocalRetry answered = asked_twice();
    EXPECT_EQ(answered.on_ack(1, false), Answer::taken);
    EXPECT_EQ(answered.num_retry(), 1U);
    EXPECT_EQ(answered.num_phy_reinit(), 1U);
    answered.on_good_flit();
    EXPECT_EQ(answered.num_retry(), 0U);
    EXPECT_EQ(answered.num_phy_reinit(), 0U);
    LocalRetry empty = asked_twice();
    EXPECT_EQ(empty.on_ack(1, true), Answer::taken);
    EXPECT_EQ(empty.num_retry(), 0U);
    EXPECT_EQ(empty.num_phy_reinit(), 0U);
}

// CXL-10: a request may fail at once again, after its answer was taken.
TEST(CxlLrsm, ARetryThatFailsAfterItsAnswerCountsOn) {
    LocalRetry lrsm(few(1, 0));
    lrsm.on_error();
    lrsm.on_request_sent();
    EXPECT_EQ(lrsm.on_ack(1, false), Answer::taken);
    lrsm.on_error();
    EXPECT_EQ(lrsm.state(), State::abort);
}

std::uint32_t requests_until_retry_aborts(std::uint32_t retries, std::uint32_t reinits) {
    LocalRetry lrsm(few(retries, reinits));
    std::uint32_t requests = 0;
    lrsm.on_error();
    while (lrsm.state() != State::abort && requests < 100'000) {
        if (lrsm.state() == State::phy_reinit) lrsm.on_trained();
        lrsm.on_request_sent();
        EXPECT_LE(lrsm.num_retry(), retries);
        EXPECT_LE(lrsm.num_phy_reinit(), 31U);
        ++requests;
        lrsm.on_timeout();
    }
    return requests;
}

// CXL-10
TEST(CxlLrsm, AbortComesAfterAllRequestsOfAllTrainings) {
    EXPECT_EQ(requests_until_retry_aborts(10, 10), 110U);
    EXPECT_EQ(requests_until_retry_aborts(1, 0), 1U);
    EXPECT_EQ(requests_until_retry_aborts(3, 2), 9U);
    EXPECT_EQ(requests_until_retry_aborts(31, 31), 32U * 31);
    EXPECT_EQ(requests_until_retry_aborts(10, Config::unlimited), 100'000U);
}

TEST(CxlLrsm, ATimeoutCountsOnlyWhileItWaits) {
    LocalRetry lrsm(few(10, 10));
    lrsm.on_timeout();
    EXPECT_TRUE(lrsm.normal());
    lrsm.on_error();
    lrsm.on_timeout();
    EXPECT_EQ(lrsm.state(), State::llrreq);
}

// CXL-4: a later request replaces one that waits.
TEST(CxlRrsm, AnswersTheLastRequest) {
    RemoteRetry rrsm;
    EXPECT_FALSE(rrsm.must_answer());
    rrsm.on_request({.eseq = 3, .num_retry = 1});
    rrsm.on_request({.eseq = 3, .num_retry = 2});
    EXPECT_EQ(rrsm.state(), RemoteRetry::State::llrack);
    EXPECT_EQ(rrsm.eseq(), 3U);
    EXPECT_EQ(rrsm.num_retry(), 2U);
    rrsm.on_ack_sent();
    EXPECT_FALSE(rrsm.must_answer());
}

}  // namespace
}  // namespace wireproof::cxl
