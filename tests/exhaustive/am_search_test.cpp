// SP AM as shipped on a wire that loses, damages, repeats and reorders frames. A limit holds for
// the faults of one world, because each fault can raise the round and so adds states. The faults
// may hit any frames.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/search/search_am.hpp"

namespace wireproof::lab {
namespace {

using What = AmCall::What;

constexpr AmCall one_way{};
constexpr AmCall answered{.answered = true};
constexpr AmCall store{.what = What::store, .bytes = 100};  // two chunks
constexpr AmCall get{.what = What::get, .bytes = 100};

SearchSetting bad_am_wire(std::size_t in_flight, std::uint32_t faults) {
    return {.in_flight = in_flight,
            .faults = faults,
            .repeat = true,
            .overtake = true,
            .early_timers = false};
}

struct Kind {
    am::Recovery recovery;
    bool bundles;
};

std::string name_of(const Kind& kind) {
    const std::string name = kind.recovery == am::Recovery::go_back_n ? "GoBackN" : "Selective";
    return kind.bundles ? name + "Bundling" : name;
}

class AmSearchTest : public testing::TestWithParam<Kind> {
protected:
    static am::Config config(std::uint32_t window) {
        am::Config config = am_search_config(GetParam().recovery, window, 64);
        if (GetParam().bundles) config.bundle_max = 16;  // two requests
        return config;
    }
    static void expect_to_hold(const std::string& what, std::uint32_t window,
                               const AmPrograms& programs, const SearchSetting& setting) {
        AmSearch search(config(window), programs, setting);
        expect_holds(what + ", window " + std::to_string(window), search);
    }
};

TEST_P(AmSearchTest, OneWayRequestsAreSafeAndLive) {
    const AmPrograms programs{{{one_way, one_way, one_way, one_way}, {}}};
    for (std::uint32_t window = 1; window <= 4; ++window) {
        expect_to_hold("four requests", window, programs, bad_am_wire(3, 3));
    }
}

TEST_P(AmSearchTest, RequestsAndRepliesAreSafeAndLive) {
    const AmPrograms programs{{{answered, answered, answered}, {}}};
    for (std::uint32_t window = 1; window <= 4; ++window) {
        expect_to_hold("three requests and replies", window, programs, bad_am_wire(2, 2));
    }
}

TEST_P(AmSearchTest, RequestsBothWaysAreSafeAndLive) {
    const AmPrograms programs{{{one_way, one_way}, {one_way, one_way}}};
    for (std::uint32_t window = 1; window <= 4; ++window) {
        expect_to_hold("two requests each way", window, programs, bad_am_wire(2, 2));
    }
}

TEST_P(AmSearchTest, AChunkIsSafeAndLive) {
    expect_to_hold("a store of two chunks and a request", 3, {{{store, one_way}, {}}},
                   bad_am_wire(3, 2));
}

// `in_open` fits in its OPEN. `begun` also needs a chunk.
TEST_P(AmSearchTest, StoresThatBeginInTheirOpenAreSafeAndLive) {
    am::Config opening = config(3);
    opening.open_bytes = opening.data_max() - am::OpenBody::size;
    const AmCall in_open{.what = What::store, .bytes = opening.open_bytes};
    const AmCall begun{.what = What::store, .bytes = opening.open_bytes + 1};
    for (const AmPrograms& programs :
         {AmPrograms{{{one_way, in_open, one_way}, {}}}, AmPrograms{{{begun, one_way}, {}}},
          AmPrograms{{{begun}, {in_open}}}}) {
        AmSearch search(opening, programs, bad_am_wire(3, 2));
        expect_holds("stores that begin in their OPEN", search);
    }
}

// AM-47: the peer has no such handler, or its memory does not give the right. The transfers are
// tried with and without bytes.
TEST_P(AmSearchTest, RefusedTransfersEndWithTheirReason) {
    am::Config opening = config(3);
    opening.open_bytes = opening.data_max() - am::OpenBody::size;
    using Reason = am::Reason;
    for (const std::size_t bytes : {std::size_t{0}, opening.open_bytes, std::size_t{100}}) {
        for (const Reason reason : {Reason::no_handler, Reason::forbidden}) {
            const AmCall refused{.what = What::store, .bytes = bytes, .refusal = reason};
            const AmPrograms programs{{{refused, one_way}, {}}};
            AmSearch whole(opening, programs, bad_am_wire(3, 1));
            expect_holds("a refused store that begins in its OPEN", whole);
            AmSearch search(config(3), programs, bad_am_wire(3, 1));
            expect_holds("a refused store", search);
        }
    }
    for (const Reason reason : {Reason::none, Reason::forbidden}) {
        const AmCall empty{.what = What::get, .bytes = 0, .refusal = reason};
        expect_to_hold("a get of no bytes and a request", 3, {{{empty, one_way}, {}}},
                       bad_am_wire(3, 2));
    }
}

TEST_P(AmSearchTest, AGetIsSafeAndLive) {
    expect_to_hold("a get of two chunks and a request", 3, {{{get, one_way}, {}}},
                   bad_am_wire(2, 2));
}

// Timers may expire before the answer can arrive.
TEST_P(AmSearchTest, HastyTimersAreSafeAndLive) {
    SearchSetting setting = bad_am_wire(2, 2);
    setting.early_timers = true;
    expect_to_hold("three requests and replies", 2, {{{answered, answered, answered}, {}}},
                   setting);
}

TEST_P(AmSearchTest, EqualFingerprintsHaveEqualFutures) {
    SearchSetting setting = bad_am_wire(2, 2);
    setting.doubt = true;
    for (const AmPrograms& programs :
         {AmPrograms{{{answered, answered, answered}, {}}}, AmPrograms{{{store, one_way}, {}}}}) {
        AmSearch search(config(3), programs, setting);
        expect_holds("doubted", search);
        EXPECT_GT(search.doubt().compared, 300U);
        EXPECT_EQ(search.doubt().differing, 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(Recovery, AmSearchTest,
                         testing::Values(Kind{am::Recovery::go_back_n, false},
                                         Kind{am::Recovery::selective, false},
                                         Kind{am::Recovery::go_back_n, true},
                                         Kind{am::Recovery::selective, true}),
                         [](const auto& chosen) { return name_of(chosen.param); });

}  // namespace
}  // namespace wireproof::lab
