// Ultra Ethernet's Link Layer Retry: the engine as shipped holds, and each rule that it cannot do
// without, switched off, is refuted. Windows are half the circle, the largest that LLR-3 permits.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/search/search_link_run.hpp"
#include "wireproof/proto/ue/link.hpp"

namespace wireproof::lab {
namespace {

ue::Config ue_config_of(std::uint32_t window, std::size_t rule = 0) {
    ue::Config config = UeAdapter::search_config(window, UeAdapter::smallest_modulus(window));
    UeAdapter::set_rule(config, rule);
    return config;
}

/// The ends begin in different lives.
template <std::uint16_t apart>
struct InOtherLives : UeAdapter {
    static Config of_end(Config config, std::uint64_t seed) {
        config.first_init_data = static_cast<std::uint16_t>(seed % 2 * apart);
        return config;
    }
};

// LLR-36
TEST(UeSearch, IsSafeAndLiveWithWindowsOneAndTwo) {
    UeSearch one(ue_config_of(1), {.messages = 5}, {});
    expect_holds("UE, window 1 of 2", one);
    UeSearch two(ue_config_of(2), {.messages = 7}, {});
    expect_holds("UE, window 2 of 4", two);
}

// LLR-36
TEST(UeSearch, IsSafeAndLiveWhenUsersHesitate) {
    UeSearch search(ue_config_of(2), {.messages = 6}, {.users_hesitate = true});
    expect_holds("UE, window 2 of 4", search);
}

// LLR-36
TEST(UeSearch, IsSafeAndLiveBothWays) {
    UeSearch search(ue_config_of(1), {.messages = 3, .both_ways = true}, {.faults = 3});
    expect_holds("UE, window 1 of 2, 3 faults", search);
}

// LLR-28, LLR-37: for each pattern of losses.
TEST(UeSearch, ComesUpWhateverIsLost) {
    UeSearch search(ue_config_of(1), {.messages = 0, .start_up = true}, {.in_flight = 1});
    expect_holds("UE, start-up", search);
    LinkSearch<InOtherLives<1>> next(ue_config_of(1), {.messages = 0, .start_up = true},
                                     {.in_flight = 2, .faults = 4});
    expect_holds("UE, start-up in two lives", next);
    LinkSearch<InOtherLives<2>> opposite(ue_config_of(1), {.messages = 0, .start_up = true},
                                         {.in_flight = 2, .faults = 4});
    expect_holds("UE, start-up in lives half a circle apart", opposite);
}

// LLR-17, LLR-28: messages may be lost, but none comes twice, and the link always comes up again.
TEST(UeSearch, IsSafeAndLiveThroughFlushes) {
    for (const std::uint32_t count : {0U, 1U}) {
        ue::Config config = ue_config_of(2);
        config.replay_ct_max = count;
        UeSearch forth(config, {.messages = 3}, {});
        expect_holds("UE, flushes after " + std::to_string(count) + " replays", forth);
    }
    ue::Config config = ue_config_of(1);
    config.replay_ct_max = 0;
    UeSearch both(config, {.messages = 2, .both_ways = true}, {.faults = 4});
    expect_holds("UE, flushes both ways, 4 faults", both);
}

// LLR-29
TEST(UeSearch, IsSafeAndLiveWithNacksThatCount) {
    ue::Config config = ue_config_of(2);
    config.nack_counts = true;
    config.replay_ct_max = 1;
    UeSearch search(config, {.messages = 3}, {.faults = 3});
    expect_holds("UE, NACKs count, window 2 of 4", search);
}

// Equal fingerprints mean equal futures.
TEST(UeSearch, StatesWithEqualFingerprintsActAlike) {
    ue::Config config = ue_config_of(2);
    config.replay_ct_max = 1;
    UeSearch search(config, {.messages = 4}, {.faults = 4, .doubt = true});
    EXPECT_EQ(search.run().verdict, SearchVerdict::holds);
    const SearchDoubts doubts = search.doubt();
    EXPECT_GT(doubts.compared, 300U);
    EXPECT_EQ(doubts.differing, 0U);
}

// LLR-3: the receiver asks for its own past, and the sender does not obey.
TEST(BrokenUe, HalfTheCircleReadAsAGapNeverFinishes) {
    UeSearch search(ue_config_of(2, 1), {.messages = 7}, {});
    expect_refuted("UE, half is a gap", search, SearchVerdict::stuck, never_finishes);
}

// LLR-3
TEST(BrokenUe, AWindowAboveHalfTheCircleNeverFinishes) {
    UeSearch search(UeAdapter::search_config(3, 4), {.messages = 7}, {.in_flight = 3});
    expect_refuted("UE, window 3 of 4", search, SearchVerdict::stuck, never_finishes);
}

// LLR-7
TEST(BrokenUe, DuplicatesWithoutAnAckAreReplayedForEver) {
    UeSearch search(ue_config_of(2, 2), {.messages = 5}, {});
    expect_refuted("UE, mute duplicates", search, SearchVerdict::stuck, never_finishes);
}

// LLR-8
TEST(BrokenUe, WithoutATimerOneLossStopsTheLink) {
    UeSearch search(ue_config_of(2, 3), {.messages = 5}, {});
    expect_refuted("UE, no timer", search, SearchVerdict::stuck,
                   "nothing more will happen, and not all is done");
}

// LLR-30: replays of one frame. Without an ACK after a NACK, that frame is a duplicate for ever.
TEST(BrokenUe, ReplaysOfOneFrameNeedAnAckAfterANack) {
    ue::Config config = ue_config_of(2);
    config.backs_off = true;
    UeSearch silent(config, {.messages = 4}, {.faults = 5});
    expect_refuted("UE, backs off, silent after a NACK", silent, SearchVerdict::stuck,
                   never_finishes);
    config.acks_after_nack = true;
    UeSearch shipped(config, {.messages = 4}, {.faults = 5});
    expect_holds("UE, backs off", shipped);
}

// LLR-14
TEST(BrokenUe, InitThatCountsOnlyOnceLeavesTheLinkDown) {
    UeSearch search(ue_config_of(1, 4), {.messages = 3}, {.faults = 3});
    expect_refuted("UE, init once", search, SearchVerdict::stuck, never_finishes);
}

// LLR-6: one fault draws one NACK and one replay.
TEST(BrokenUe, OneFaultCausesOneReplayAndNotMore) {
    const SearchSetting one_fault{.faults = 1, .early_timers = false, .replays_per_fault = 1};
    UeSearch shipped(ue_config_of(2), {.messages = 5}, one_fault);
    expect_holds("UE, one fault", shipped);
}

}  // namespace
}  // namespace wireproof::lab
