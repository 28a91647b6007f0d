// The promises of ib_search_test.cpp in larger worlds. These are too large for sanitizers.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/search/search_ib.hpp"

namespace wireproof::lab {
namespace {

using proto::ib::Request;

constexpr IbCall send{Request::send, 300};
constexpr IbCall write{Request::write_immediate, 8};
constexpr IbCall read{Request::read, 300};
constexpr IbCall large_fetch_add{Request::fetch_add, 8};

void expect_large_to_hold(const std::string& what, const IbTask& task, std::size_t in_flight,
                          std::uint32_t faults, bool hesitate = false) {
    IbSearch search(task, {.in_flight = in_flight,
                           .faults = faults,
                           .repeat = true,
                           .overtake = true,
                           .early_timers = false,
                           .users_hesitate = hesitate});
    expect_holds(what, search);
}

// RC-1
TEST(LargeRcSearch, EveryKindOfRequestIsDoneExactlyOnce) {
    expect_large_to_hold("RC, four kinds, 3 faults",
                         {.calls = {send, read, large_fetch_add, write}}, 2, 3);
}

TEST(LargeRcSearch, ReceivesThatArePostedLateAreFound) {
    expect_large_to_hold("RC, late receives, 3 faults", {.calls = {send, write, send}}, 2, 3, true);
    IbTask credits{.calls = {send, write, send}, .credits = true};
    expect_large_to_hold("RC, credits, 3 faults", credits, 2, 3, true);
}

TEST(LargeRcSearch, EndsWellOrInErrorWhenMoreIsLostThanRetriesRepair) {
    IbTask task{.calls = {send, large_fetch_add, read}, .retry_count = 2, .may_fail = true};
    expect_large_to_hold("RC, two retries, 5 faults", task, 1, 5);
}

}  // namespace
}  // namespace wireproof::lab
