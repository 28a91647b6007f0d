// Searches of the links with windows of 3 and 4: millions of states. The searches of SP AM are
// smaller (am_search_test.cpp). docs/guide/links/search.md lists larger ones, which only the
// command does.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/engines/cxl.hpp"
#include "wireproof/lab/engines/flit.hpp"
#include "wireproof/lab/search/search_link.hpp"

namespace wireproof::lab {
namespace {

TEST(LargePcieSearch, IsSafeAndLiveWithWindowThree) {
    PcieSearch two_in_flight(PcieAdapter::search_config(3, 8), {.messages = 10}, {});
    expect_holds("window 3 of 8, 2 in flight", two_in_flight);
    PcieSearch three_in_flight(PcieAdapter::search_config(3, 8), {.messages = 10},
                               {.in_flight = 3});
    expect_holds("window 3 of 8, 3 in flight", three_in_flight);
}

TEST(LargePcieSearch, IsSafeAndLiveWithWindowFour) {
    PcieSearch search(PcieAdapter::search_config(4, 10), {.messages = 12}, {});
    expect_holds("window 4 of 10, 2 in flight", search);
}

TEST(LargeHippiSearch, IsSafeAndLiveWithWindowThree) {
    HippiSearch search(HippiAdapter::search_config(3, 7), {.messages = 9}, {});
    expect_holds("window 3 of 7, 2 in flight", search);
}

TEST(LargeHippiSearch, IsSafeAndLiveWithWindowFour) {
    HippiSearch all_known(HippiAdapter::search_config(4, 9), {.messages = 11}, {});
    expect_holds("window 4 of 9, 2 in flight", all_known);
    HippiSearch last_known(HippiAdapter::search_config(4, 5), {.messages = 8}, {});
    expect_holds("window 4 of 5, 2 in flight", last_known);
}

// LLR-3, LLR-36: the largest window of 8 numbers.
TEST(LargeUeSearch, IsSafeAndLiveWithWindowFour) {
    UeSearch two_in_flight(UeAdapter::search_config(4, 8), {.messages = 11}, {});
    expect_holds("UE, window 4 of 8, 2 in flight", two_in_flight);
    UeSearch three_in_flight(UeAdapter::search_config(4, 8), {.messages = 9}, {.in_flight = 3});
    expect_holds("UE, window 4 of 8, 3 in flight", three_in_flight);
}

// LLR-17, LLR-28
TEST(LargeUeSearch, IsSafeAndLiveThroughFlushesBothWays) {
    ue::Config config = UeAdapter::search_config(2, 4);
    config.replay_ct_max = 1;
    UeSearch search(config, {.messages = 3, .both_ways = true}, {.faults = 4});
    expect_holds("UE, flushes after 1 replay both ways, window 2 of 4, 4 faults", search);
}

flit::Config flit_config(std::size_t rule) {
    flit::Config config = FlitAdapter::search_config(3, FlitAdapter::smallest_modulus(3));
    FlitAdapter::set_rule(config, rule);
    return config;
}

// FLIT-19, FLIT-24: numbers pass the wrap once.
TEST(LargeFlitSearch, IsSafeAndLiveWithWindowThreeWhateverIsSpoilt) {
    FlitSearch search(flit_config(0), {.messages = 8}, {});
    expect_holds("flit, window 3 of 7, any faults", search);
}

// UCIE-10
TEST(LargeFlitSearch, IsSafeAndLiveAsUcieWithWindowThreeWhateverIsSpoilt) {
    FlitSearch search(flit_config(2), {.messages = 8}, {});
    expect_holds("ucie, window 3 of 7, any faults", search);
}

// FLIT-22, FLIT-23, FLIT-24
TEST(LargeFlitSearch, IsSafeAndLiveWithSelectiveNaksWindowThreeAndFiveFaults) {
    FlitSearch search(flit_config(1), {.messages = 8}, {.faults = 5});
    expect_holds("flit selective, window 3 of 7, 5 faults", search);
}

// CXL-5, CXL-6, CXL-7, CXL-9, CXL-20
TEST(LargeCxlSearch, IsSafeAndLiveWithWindowThreeAndFiveFaults) {
    CxlSearch search(CxlAdapter::search_config(3, 5), {.messages = 9}, {.faults = 5});
    expect_holds("CXL, window 3 of 5, 5 faults", search);
}

// A TIMEOUT comes only when nothing else can happen. Then the states are few enough for any number
// of spoilt frames, and so for any number of trainings.
TEST(LargeCxlSearch, IsSafeAndLiveWhateverIsSpoilt) {
    CxlSearch search(CxlAdapter::search_config(2, 4), {.messages = 7}, {.early_timers = false});
    expect_holds("CXL, window 2 of 4, any damage", search);
}

}  // namespace
}  // namespace wireproof::lab
