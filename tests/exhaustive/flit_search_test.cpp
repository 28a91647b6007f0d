// Flit retry as shipped, and without each of its corrections. Frames do not vanish from a line of
// flits: each one that is spoilt arrives as a damaged frame.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/engines/flit.hpp"
#include "wireproof/lab/search/search_link.hpp"

namespace wireproof::lab {
namespace {

enum Variant : std::size_t {
    standard,
    selective,
    ucie,
    halves,
    no_22,
    no_23,
    count_nops,
    no_24,
    no_25,
    no_cxl_13,
};

flit::Config flit_config_of(Variant variant, std::uint32_t window) {
    flit::Config config = FlitAdapter::search_config(window, FlitAdapter::smallest_modulus(window));
    FlitAdapter::set_rule(config, variant);
    return config;
}

// FLIT-19, UCIE-10
TEST(FlitSearch, IsSafeAndLiveWithWindowOneWhateverIsSpoilt) {
    FlitSearch one(flit_config_of(standard, 1), {.messages = 3}, {});
    expect_holds("flit, window 1 of 3", one);
    FlitSearch uci(flit_config_of(ucie, 1), {.messages = 3}, {});
    expect_holds("ucie, window 1 of 3", uci);
    FlitSearch two(flit_config_of(halves, 1), {.messages = 3}, {});
    expect_holds("flits of two halves, window 1 of 3", two);
    FlitSearch sel(flit_config_of(selective, 1), {.messages = 2}, {.in_flight = 1});
    expect_holds("flit selective, window 1 of 3, 1 in flight", sel);
}

// FLIT-19, FLIT-22, FLIT-23, FLIT-24: numbers pass the wrap once.
TEST(FlitSearch, IsSafeAndLiveWithWindowThree) {
    const SearchSetting few{.faults = 3};
    FlitSearch std_(flit_config_of(standard, 3), {.messages = 8}, few);
    expect_holds("flit, window 3 of 7, 3 faults", std_);
    FlitSearch sel(flit_config_of(selective, 3), {.messages = 8}, few);
    expect_holds("flit selective, window 3 of 7, 3 faults", sel);
    FlitSearch uci(flit_config_of(ucie, 3), {.messages = 8}, few);
    expect_holds("ucie, window 3 of 7, 3 faults", uci);
    FlitSearch two(flit_config_of(halves, 3), {.messages = 8}, few);
    expect_holds("flits of two halves, window 3 of 7, 3 faults", two);
}

// The runs of explicit flits and Naks as on a real link.
TEST(FlitSearch, IsSafeAndLiveWithRunsOfThree) {
    for (const Variant variant : {standard, selective}) {
        flit::Config config = flit_config_of(variant, 2);
        config.explicit_run = config.nak_run = 3;
        FlitSearch search(config, {.messages = 5}, {.in_flight = 3, .faults = 2});
        expect_holds("flit, window 2 of 5, runs of 3, 2 faults", search);
    }
}

// FLIT-23: two explicit flits after a jump suffice.
TEST(FlitSearch, TwoExplicitFlitsAfterAJumpSuffice) {
    flit::Config config = flit_config_of(selective, 2);
    config.explicit_after_jump = 2;
    FlitSearch search(config, {.messages = 6}, {.faults = 4});
    expect_holds("flit selective, 2 explicit, window 2 of 5, 4 faults", search);
}

TEST(FlitSearch, IsSafeAndLiveBothWays) {
    for (const Variant variant : {standard, selective, ucie, halves}) {
        FlitSearch search(flit_config_of(variant, 2), {.messages = 3, .both_ways = true},
                          {.faults = 2});
        expect_holds("flit, both ways, window 2 of 5, 2 faults", search);
    }
}

TEST(FlitSearch, IsSafeAndLiveWhenUsersHesitate) {
    FlitSearch search(flit_config_of(selective, 2), {.messages = 5},
                      {.faults = 2, .users_hesitate = true});
    expect_holds("flit selective, window 2 of 5, 2 faults", search);
}

// UCIE-6
TEST(FlitSearch, ComesUpWhateverIsSpoilt) {
    for (const Variant variant : {standard, ucie}) {
        FlitSearch search(flit_config_of(variant, 1), {.messages = 0, .start_up = true},
                          {.in_flight = 1});
        expect_holds("flit, start-up", search);
    }
}

// The search treats ends with equal fingerprints as equal. This test checks that they behave the
// same: with one and with more flits until an Ack and explicit flits after a jump, without each
// correction, and in the start-up.
TEST(FlitSearch, EqualFingerprintsHaveEqualFutures) {
    // A search that is refuted is over early.
    const auto expect_no_doubt = [](const std::string& what, FlitSearch& search,
                                    std::size_t least = 50) {
        run_and_tell("doubt: " + what, search);
        const SearchDoubts doubts = search.doubt();
        EXPECT_GT(doubts.compared, least) << what;
        EXPECT_EQ(doubts.differing, 0U) << what;
    };
    for (const Variant variant :
         {standard, selective, ucie, halves, no_22, no_23, count_nops, no_24, no_25, no_cxl_13}) {
        const std::string name(FlitAdapter::rules[variant]);
        FlitSearch one_way(flit_config_of(variant, 2), {.messages = 5},
                           {.faults = 3, .doubt = true});
        expect_no_doubt(name, one_way, variant == no_cxl_13 ? 20 : 50);
        flit::Config later_acks = flit_config_of(variant, 3);
        later_acks.ack_after = 3;
        later_acks.ack_latency = later_acks.flit_time;
        FlitSearch both_ways(later_acks, {.messages = 3, .both_ways = true},
                             {.faults = 1, .doubt = true});
        expect_no_doubt(name + ", an Ack for three flits, both ways", both_ways);
    }
    flit::Config hasty = flit_config_of(standard, 2);  // without the correction, one explicit flit
    hasty.mends.explicit_after_gap = false;
    FlitSearch search(hasty, {.messages = 5}, {.faults = 3, .doubt = true});
    expect_no_doubt("standard without FLIT-24", search);
}

// FLIT-22, FLIT-23, FLIT-24: the same searches find no defect with the corrections.
TEST(BrokenFlitSearch, WithoutACorrectionAWrongMessageIsDelivered) {
    for (const Variant variant : {no_22, no_23, count_nops, no_24}) {
        FlitSearch search(flit_config_of(variant, 2), {.messages = 6}, {.faults = 4});
        expect_refuted(std::string(FlitAdapter::rules[variant]), search, SearchVerdict::broken,
                       another_message);
    }
}

// CXL-13: a selective receiver uses halves only of the flit that it expects.
TEST(FlitSearch, HalvesAreSafeAndLiveWithSelectiveNaks) {
    flit::Config config = flit_config_of(selective, 2);
    config.format = flit::Format::cxl_halves;
    FlitSearch search(config, {.messages = 5}, {.faults = 3});
    expect_holds("flits of two halves, selective, window 2 of 5, 3 faults", search);
}

// CXL-13
TEST(BrokenFlitSearch, AHalfThatIsUsedAgainDeliversAMessageTwice) {
    FlitSearch search(flit_config_of(no_cxl_13, 2), {.messages = 3}, {.faults = 1});
    expect_refuted("no-cxl-13", search, SearchVerdict::broken, another_message);
}

// FLIT-25: an Ack is lost, and nothing else asks.
TEST(BrokenFlitSearch, WithoutTheReplayTimerALinkStandsStill) {
    FlitSearch search(flit_config_of(no_25, 2), {.messages = 4}, {.faults = 2});
    expect_refuted("no-flit-25", search, SearchVerdict::stuck, never_finishes);
}

// FLIT-4
TEST(BrokenFlitSearch, AWindowOfTheWholeCircleDeliversAnOldFlitForANewOne) {
    const flit::Config config = FlitAdapter::search_config(3, 3);
    FlitSearch search(config, {.messages = 6}, {.in_flight = 3, .faults = 3});
    expect_refuted("window 3 of 3", search, SearchVerdict::broken, another_message);
}

}  // namespace
}  // namespace wireproof::lab
