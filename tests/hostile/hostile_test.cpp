// The attack itself checks the memory that the host must not reach. These tests check that the host
// really tried, and what happened to its packets.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "tests/hostile/hostile_soak.hpp"

namespace wireproof::hostile {
namespace {

constexpr std::uint64_t packets = 20'000;

class HostileHostTest : public testing::Test {
protected:
    void attack(std::optional<proto::ib::Transport> transport) {
        result_ = run_hostile_soak({.packets = packets, .seed = 11, .transport = transport});
        EXPECT_EQ(result_.violation, "");
        for (const auto& [reason, count] : result_.received) {
            EXPECT_TRUE(received_.emplace(reason, count).second) << reason;
        }
    }

    std::uint64_t sent_as(Hostility kind) const {
        return result_.sent_as[static_cast<std::size_t>(kind)];
    }

    void expect_that_it_tried() {
        EXPECT_EQ(result_.hostile, packets);
        EXPECT_GT(*std::ranges::min_element(result_.sent_as), 100U);
        EXPECT_EQ(result_.datagrams, packets + result_.harmless + result_.honest);
        std::uint64_t told = result_.kernel_dropped;
        for (const auto& [reason, count] : received_) told += count;
        EXPECT_EQ(told, result_.datagrams);
    }

    void expect_every_reason() {
        // Packets of these three kinds can end in one way only.
        if (result_.kernel_dropped == 0) {
            EXPECT_EQ(received_.at("too_long"), sent_as(Hostility::too_long));
            EXPECT_EQ(received_.at("too_short"), sent_as(Hostility::cut));
            EXPECT_EQ(received_.at("unknown_source"), sent_as(Hostility::stranger));
        }
        for (const char* const reason :
             {"icrc_wrong", "identification_jumped", "unknown_queue_pair", "foreign_partition",
              "foreign_source", "wrong_transport", "unknown_transport_version", "headers_cut_short",
              "duplicates", "gaps", "sequence_broken", "bad_length", "bad_key", "bad_qkey",
              "not_allowed", "executed"}) {
            EXPECT_GT(received_.at(reason), 0U) << reason;
        }
    }

    // The connections of the hostile host make progress during the attack, and the honest
    // connection does, too.
    void expect_that_others_went_on() {
        EXPECT_GT(result_.completed, 500U);
        EXPECT_GT(result_.honest_messages, 500U);
        EXPECT_LE(result_.honest_lost, result_.kernel_dropped);
        EXPECT_GT(result_.memory_checks, 10U);
    }

    HostileSoakResult result_;
    std::map<std::string, std::uint64_t> received_;  // packets, by what happened to them
};

TEST_F(HostileHostTest, GetsNowhereWithReliableConnections) {
    attack(proto::ib::Transport::rc);
    expect_that_it_tried();
    expect_every_reason();
    expect_that_others_went_on();
    EXPECT_GT(received_.at("answers"), 0U);
    EXPECT_GT(received_.at("stale"), 0U);
    EXPECT_EQ(result_.honest_lost, 0U);
    EXPECT_GT(result_.reconnected, 20U);
}

TEST_F(HostileHostTest, GetsNowhereWithUnreliableConnections) {
    attack(proto::ib::Transport::uc);
    expect_that_it_tried();
    expect_every_reason();
    expect_that_others_went_on();
    EXPECT_GT(received_.at("rest_dropped"), 0U);
    EXPECT_GT(received_.at("not_ready"), 0U);
    EXPECT_EQ(received_.at("answers"), 0U);
}

TEST_F(HostileHostTest, GetsNowhereWithBoth) {
    attack(std::nullopt);
    expect_that_it_tried();
    expect_every_reason();
    expect_that_others_went_on();
}

}  // namespace
}  // namespace wireproof::hostile
