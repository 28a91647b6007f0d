// CXL's link layer retry: the engine as shipped holds, and each mend that it cannot do without,
// switched off, is refuted. A TIMEOUT may come at any moment, and any flit may be spoilt. The
// number of faults is limited: PHY_REINIT, which may come after two TIMEOUTs, numbers its
// trainings.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/engines/cxl.hpp"
#include "wireproof/lab/search/search_link.hpp"

namespace wireproof::lab {
namespace {

cxl::Config cxl_config_of(std::uint32_t window, std::string_view rule = "as-shipped") {
    cxl::Config config = CxlAdapter::search_config(window, CxlAdapter::smallest_modulus(window));
    const auto& rules = CxlAdapter::rules;
    CxlAdapter::set_rule(config, static_cast<std::size_t>(
                                     std::find(rules.begin(), rules.end(), rule) - rules.begin()));
    return config;
}

// CXL-5, CXL-6, CXL-7, CXL-9
TEST(CxlSearch, IsSafeAndLiveWithWindowsTwoAndThree) {
    CxlSearch two(cxl_config_of(2), {.messages = 7}, {.faults = 4});
    expect_holds("CXL, window 2 of 4, 4 faults", two);
    CxlSearch three(cxl_config_of(3), {.messages = 9}, {.faults = 4});
    expect_holds("CXL, window 3 of 5, 4 faults", three);
}

TEST(CxlSearch, IsSafeAndLiveBothWays) {
    CxlSearch two(cxl_config_of(2), {.messages = 3, .both_ways = true}, {.faults = 2});
    expect_holds("CXL, both ways, window 2 of 4, 2 faults", two);
    CxlSearch three(cxl_config_of(3), {.messages = 4, .both_ways = true}, {.faults = 2});
    expect_holds("CXL, both ways, window 3 of 5, 2 faults", three);
}

TEST(CxlSearch, IsSafeAndLiveWhenUsersHesitate) {
    CxlSearch search(cxl_config_of(2), {.messages = 5}, {.faults = 3, .users_hesitate = true});
    expect_holds("CXL, users hesitate, window 2 of 4, 3 faults", search);
}

TEST(CxlSearch, IsSafeAndLiveWithThreeFlitsInFlight) {
    CxlSearch search(cxl_config_of(2), {.messages = 6}, {.in_flight = 3, .faults = 3});
    expect_holds("CXL, 3 in flight, window 2 of 4, 3 faults", search);
}

// CXL-19, CXL-20: for each pattern of spoilt frames.
TEST(CxlSearch, ComesUpWhateverIsSpoilt) {
    CxlSearch search(cxl_config_of(2), {.messages = 0, .start_up = true}, {.faults = 4});
    expect_holds("CXL, start-up, 4 faults", search);
}

// CXL-10, CXL-12: each second request is in vain, so there are many trainings.
TEST(CxlSearch, LosesNothingInPhyReinit) {
    cxl::Config config = cxl_config_of(2);
    config.max_num_retry = 1;
    CxlSearch search(config, {.messages = 5}, {.faults = 4});
    expect_holds("CXL, MAX_NUM_RETRY 1, window 2 of 4, 4 faults", search);
}

SearchResult expect_refuted(const std::string& what, CxlSearch& search, SearchVerdict verdict,
                            const std::string& violation) {
    const SearchResult result = run_and_tell(what, search);
    EXPECT_EQ(result.verdict, verdict) << what;
    EXPECT_EQ(result.violation, violation) << what << "\n" << told(search, result);
    return result;
}

// CXL-5: one fault suffices.
TEST(BrokenCxl, AFullBufferLooksEmptyAndTheLinkDiesQuietly) {
    for (const std::uint32_t window : {2U, 3U}) {
        CxlSearch search(cxl_config_of(window, "fill-buffer"), {.messages = 3 * window},
                         {.faults = 1});
        expect_refuted("CXL, fill-buffer", search, SearchVerdict::stuck, never_finishes);
    }
}

// CXL-6: a TIMEOUT that is too early gives a second answer; its replay is counted again.
TEST(BrokenCxl, AnyAnswerDeliversAReplayTwice) {
    for (const std::uint32_t window : {2U, 3U}) {
        CxlSearch search(cxl_config_of(window, "any-answer"), {.messages = 3 * window},
                         {.faults = 2});
        expect_refuted("CXL, any-answer", search, SearchVerdict::broken,
                       "a message was delivered that is not the next one");
    }
}

// CXL-7: no fault is needed.
TEST(BrokenCxl, WithoutTheAckTimerTheLastAcknowledgementsNeverReturn) {
    CxlSearch search(cxl_config_of(3, "no-ack-timer"), {.messages = 9},
                     {.faults = 1, .early_timers = false});
    expect_refuted("CXL, no-ack-timer", search, SearchVerdict::stuck, never_finishes);
}

// The search treats ends with equal fingerprints as equal. This test checks that they behave the
// same.
TEST(CxlSearch, EqualFingerprintsHaveEqualFutures) {
    const auto expect_no_doubt = [](const char* what, auto&& search) {
        expect_holds(what, search);
        const SearchDoubts doubts = search.doubt();
        EXPECT_GT(doubts.compared, 300U) << what;
        EXPECT_EQ(doubts.differing, 0U) << what;
        EXPECT_EQ(doubts.shifts_differing, 0U) << what;
        return doubts;
    };
    const SearchSetting doubting{
        .faults = 2, .users_hesitate = true, .shift_labels = false, .doubt = true};
    const SearchSetting few{.faults = 2, .shift_labels = false, .doubt = true};
    expect_no_doubt("CXL, doubt, window 2 of 4",
                    CxlSearch(cxl_config_of(2), {.messages = 6}, doubting));
    expect_no_doubt("CXL, doubt, both ways",
                    CxlSearch(cxl_config_of(2), {.messages = 3, .both_ways = true}, few));
    const SearchSetting more{.faults = 4, .shift_labels = false, .doubt = true};
    for (const LinkTask task :
         {LinkTask{.messages = 2}, LinkTask{.messages = 0, .start_up = true}}) {
        const SearchDoubts doubts =
            expect_no_doubt("CXL, doubt, trainings", CxlSearch(cxl_config_of(2), task, more));
        EXPECT_GT(doubts.shifts_compared, 1000U);
    }
}

// States that differ by a shift of the numbers of trainings are one state. The answers are those of
// a search without this.
TEST(CxlSearch, ShiftedTrainingsChangeNoAnswer) {
    const auto compare = [](const char* what, const cxl::Config& config, const LinkTask& task,
                            SearchSetting setting) {
        CxlSearch shifted(config, task, setting);
        setting.shift_labels = false;
        CxlSearch plain(config, task, setting);
        const SearchResult one = run_and_tell(what, shifted);
        const SearchResult other = run_and_tell(std::string(what) + ", not shifted", plain);
        EXPECT_EQ(one.verdict, other.verdict) << what;
        EXPECT_EQ(one.violation, other.violation) << what;
        EXPECT_EQ(one.path, other.path) << what;
        EXPECT_EQ(one.circle, other.circle) << what;
        EXPECT_EQ(one.moves_to_finish, other.moves_to_finish) << what;
        EXPECT_EQ(one.waits_to_finish, other.waits_to_finish) << what;
        return std::pair(one.states, other.states);
    };
    const LinkTask start_up{.messages = 0, .start_up = true};
    const auto trainings =
        compare("CXL, start-up, 4 faults", cxl_config_of(2), start_up, {.faults = 4});
    EXPECT_LT(trainings.first, trainings.second);
    cxl::Config one_request = cxl_config_of(2);
    one_request.max_num_retry = 1;
    const auto retrained =
        compare("CXL, MAX_NUM_RETRY 1, 4 faults", one_request, {.messages = 4}, {.faults = 4});
    EXPECT_LT(retrained.first, retrained.second);
    for (const char* rule : {"fill-buffer", "any-answer", "no-ack-timer"}) {
        cxl::Config broken = cxl_config_of(2, rule);
        broken.max_num_retry = rule == std::string_view("any-answer") ? 2 : 1;
        compare(rule, broken, {.messages = 6}, {.faults = 3});
    }
}

}  // namespace
}  // namespace wireproof::lab
