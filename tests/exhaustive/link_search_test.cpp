// Both link engines as shipped, in small worlds whose search takes only moments. The wire loses and
// damages frames and timers expire early without limit, except where a search limits the faults.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/search/search_link.hpp"

namespace wireproof::lab {
namespace {

LinkTask forth(std::uint32_t messages) {
    return {.messages = messages};
}
LinkTask both_ways(std::uint32_t messages) {
    return {.messages = messages, .both_ways = true};
}
constexpr LinkTask coming_up{.messages = 0, .start_up = true};

pcie::Config pcie_config(std::uint32_t window) {
    return PcieAdapter::search_config(window, PcieAdapter::smallest_modulus(window));
}
hippi::Config hippi_config(std::uint32_t window) {
    return HippiAdapter::search_config(window, HippiAdapter::smallest_modulus(window));
}

TEST(PcieSearch, IsSafeAndLiveWithWindowsOneAndTwo) {
    PcieSearch one(pcie_config(1), forth(6), {});
    expect_holds("window 1 of 4", one);
    PcieSearch two(pcie_config(2), forth(8), {});
    expect_holds("window 2 of 6", two);
}

TEST(PcieSearch, IsSafeAndLiveWhenUsersHesitate) {
    PcieSearch search(pcie_config(2), forth(7), {.users_hesitate = true});
    expect_holds("window 2 of 6", search);
}

TEST(PcieSearch, IsSafeAndLiveBothWays) {
    PcieSearch search(pcie_config(1), both_ways(4), {.faults = 3});
    expect_holds("window 1 of 4, 3 faults", search);
}

TEST(PcieSearch, CreditsHoldBackAndNeverForEver) {
    pcie::Config config = pcie_config(2);
    config.credits[0] = {.headers = 1, .data = 1};
    PcieSearch search(config, forth(4), {.faults = 3});
    expect_holds("window 2 of 6, 1 credit, 3 faults", search);
}

// PCIE-37: both sides come up for each pattern of losses, and the ends do not answer each other's
// answers for ever.
TEST(PcieSearch, ComesUpWhateverIsLost) {
    PcieSearch search(pcie_config(1), coming_up, {.in_flight = 1});
    expect_holds("start-up", search);
}

TEST(HippiSearch, IsSafeAndLiveWithWindowsOneAndTwo) {
    HippiSearch one(hippi_config(1), forth(5), {});
    expect_holds("window 1 of 3", one);
    HippiSearch two(hippi_config(2), forth(7), {});
    expect_holds("window 2 of 5", two);
}

TEST(HippiSearch, IsSafeAndLiveWhenUsersHesitate) {
    HippiSearch search(hippi_config(2), forth(6), {.users_hesitate = true});
    expect_holds("window 2 of 5", search);
}

TEST(HippiSearch, IsSafeAndLiveBothWays) {
    HippiSearch search(hippi_config(1), both_ways(4), {.faults = 3});
    expect_holds("window 1 of 3, 3 faults", search);
}

// The rule of the comparison paper uses the RSEQ only of units that arrive in order.
TEST(HippiSearch, IsSafeAndLiveWithRseqOfAnyGoodUnit) {
    hippi::Config config = hippi_config(1);
    config.rseq_any_good = true;
    HippiSearch search(config, both_ways(4), {.faults = 3});
    expect_holds("window 1 of 3, 3 faults", search);
}

// With the other configurations the guard of a notice lasts until the timer expires.
TEST(HippiSearch, IsSafeAndLiveHoweverSoonTheGuardEnds) {
    hippi::Config config = hippi_config(2);
    config.loop = Duration();
    HippiSearch short_guard(config, forth(7), {});
    expect_holds("window 2 of 5, guarded while replaying", short_guard);
    config.guard = false;
    HippiSearch unguarded(config, forth(7), {});
    expect_holds("window 2 of 5, no guard", unguarded);
}

// HIPPI-5: with such a window, the receiver can recognise only the last number as a duplicate.
TEST(HippiSearch, IsSafeAndLiveWithAWindowOneLessThanTheModulus) {
    HippiSearch search(HippiAdapter::search_config(2, 3), forth(7), {});
    expect_holds("window 2 of 3", search);
}

TEST(HippiSearch, CreditsAreReturnedWhateverIsLost) {
    hippi::Config config = hippi_config(2);
    config.buffers.fill(2);
    HippiSearch search(config, forth(4), {.faults = 2});
    expect_holds("window 2 of 5, 2 buffers, 2 faults", search);
}

TEST(HippiSearch, ComesUpWhateverIsLost) {
    HippiSearch search(hippi_config(1), coming_up, {});
    expect_holds("start-up", search);
}

// Delivery exactly once does not show needless replays, so this test limits them. If a unit with an
// acknowledgement is lost, both ends replay. The answer to one replay travels on a duplicate, and
// the comparison paper does not use the RSEQ of a duplicate. So the other end replays again.
TEST(LinkSearch, AFaultIsWorthNoMoreReplaysThanTheRulesSay) {
    PcieSearch pcie(pcie_config(2), forth(6), {.faults = 3, .replays_per_fault = 1});
    expect_holds("pcie, window 2 of 6, 3 faults", pcie);
    PcieSearch pcie_mutual(pcie_config(2), both_ways(3), {.faults = 2, .replays_per_fault = 1});
    expect_holds("pcie, both ways, 2 faults", pcie_mutual);
    hippi::Config config = hippi_config(2);
    HippiSearch hippi(config, forth(6), {.faults = 3, .replays_per_fault = 1});
    expect_holds("hippi6400, window 2 of 5, 3 faults", hippi);
    HippiSearch mutual(config, both_ways(3), {.faults = 2, .replays_per_fault = 3});
    expect_holds("hippi6400, both ways, 2 faults", mutual);
    config.rseq_any_good = true;
    HippiSearch any_good(config, both_ways(3), {.faults = 2, .replays_per_fault = 2});
    expect_holds("hippi6400, both ways, RSEQ of any good unit, 2 faults", any_good);
}

// The search treats ends with equal fingerprints as equal. This test checks that they behave the
// same.
TEST(LinkSearch, EqualFingerprintsHaveEqualFutures) {
    const auto expect_no_doubt = [](const char* what, auto&& search) {
        expect_holds(what, search);
        const SearchDoubts doubts = search.doubt();
        EXPECT_GT(doubts.compared, 300U) << what;
        EXPECT_EQ(doubts.differing, 0U) << what;
    };
    const SearchSetting doubting{.users_hesitate = true, .doubt = true};
    const SearchSetting few{.faults = 2, .doubt = true};
    expect_no_doubt("pcie, window 2 of 6", PcieSearch(pcie_config(2), forth(6), doubting));
    expect_no_doubt("pcie, both ways", PcieSearch(pcie_config(2), both_ways(3), few));
    expect_no_doubt("hippi6400, window 2 of 5", HippiSearch(hippi_config(2), forth(6), doubting));
    expect_no_doubt("hippi6400, both ways", HippiSearch(hippi_config(2), both_ways(3), few));
}

}  // namespace
}  // namespace wireproof::lab
