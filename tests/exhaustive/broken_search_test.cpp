// Engines that are broken on purpose, by a wrong setting or by a change of their frames. The search
// must find each defect. In most tests the same search must also find no defect in the engine as
// shipped.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/search/search_am.hpp"
#include "wireproof/lab/search/search_ib.hpp"
#include "wireproof/lab/search/search_link.hpp"
#include "wireproof/proto/hippi/link.hpp"
#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::lab {
namespace {

constexpr auto too_much_again = "more was sent again than the faults explain";
constexpr auto acknowledged_too_early = "a message was acknowledged that was not delivered";

using PcieTampering = LinkTampering<pcie::Link>;
using HippiTampering = LinkTampering<hippi::Link>;

/// Changes Acks and Naks.
auto dllps(auto change) {
    return [change](const pcie::Link&, Bytes frame) {
        if (!pcie::starts_with(frame, pcie::Symbol::sdp)) return true;
        auto bytes = frame.first<pcie::Dllp::size>();
        const auto dllp = pcie::Dllp::decode(bytes, false);
        if (dllp && (dllp->is_ack() || dllp->is_nak())) change(*dllp).encode(bytes, false);
        return true;
    };
}

/// Changes the control words of micropackets.
auto controls(auto change) {
    return [change](const hippi::Link& engine, Bytes frame) {
        auto bytes = frame.last<hippi::control_size>();
        auto control = hippi::Control::decode(bytes);
        if (!control || control->type >= hippi::Type::init) return true;
        change(engine, *control);
        control->encode(bytes);
        return true;
    };
}

TEST(BrokenPcie, AWindowOfTheWholeCircleDeliversAnOldTlpForANewOne) {
    PcieSearch search(PcieAdapter::search_config(4, 4), {.messages = 6}, {.in_flight = 4});
    expect_refuted("window 4 of 4", search, SearchVerdict::broken, another_message);
}

// The receiver sends a Nak where it should send an Ack.
TEST(BrokenPcie, ANakForEveryTlpReplaysWithoutReason) {
    const PcieTampering pest{
        .leaving = dllps([](pcie::Dllp dllp) { return pcie::Dllp::nak(dllp.number()); })};
    const SearchSetting faultless{.faults = 0, .replays_per_fault = 1};
    const pcie::Config config = PcieAdapter::search_config(2, 6);
    PcieSearch search(config, {.messages = 4}, faultless, pest);
    expect_refuted("a Nak for every TLP", search, SearchVerdict::broken, too_much_again);
    PcieSearch shipped(config, {.messages = 4}, faultless);
    expect_holds("as shipped", shipped);
}

/// The receiver takes a duplicate that is more than `known` numbers behind for a TLP that is ahead.
/// The modulus is 6.
PcieTampering narrow_duplicates(std::uint32_t known) {
    return {.arriving = [known](const pcie::Link& engine, Bytes frame) {
        if (!pcie::starts_with(frame, pcie::Symbol::stp)) return true;
        constexpr std::uint32_t modulus = 6;
        auto bytes = frame.first<pcie::TlpHead::size>();
        auto head = pcie::TlpHead::decode(bytes);
        const std::uint32_t next = engine.receiver().next_rcv_seq();
        const std::uint32_t behind = (next + modulus - head->number) % modulus;
        if (behind > known && behind <= modulus / 2) head->number = (next + 1) % modulus;
        head->encode(bytes);
        return true;
    }};
}

// PCIE-14, PCIE-33: such duplicates cause at most one Nak, and none while a Nak is scheduled.
TEST(BrokenPcie, WithoutADuplicateWindowTheLinkStopsForEver) {
    PcieSearch search(PcieAdapter::search_config(2, 6), {.messages = 4}, {}, narrow_duplicates(0));
    expect_refuted("no duplicates known", search, SearchVerdict::stuck, never_finishes);
}

// PCIE-36: a replay ends with the last TLP, and the receiver recognises that one as a duplicate.
// So the link continues, but replays more than necessary.
TEST(BrokenPcie, ANarrowerDuplicateWindowReplaysWithoutReason) {
    const SearchSetting one_fault{.faults = 1, .replays_per_fault = 1};
    const pcie::Config config = PcieAdapter::search_config(2, 6);
    PcieSearch search(config, {.messages = 4}, one_fault, narrow_duplicates(1));
    expect_refuted("one duplicate known", search, SearchVerdict::broken, too_much_again);
    PcieSearch shipped(config, {.messages = 4}, one_fault, narrow_duplicates(3));
    expect_holds("as shipped", shipped);
}

// REPLAY_TIMER repairs the loss, too. So the test counts how often an end had to wait for a timer.
TEST(BrokenPcie, IgnoredNaksWaitForTheTimer) {
    const PcieTampering deaf{
        .arriving = dllps([](pcie::Dllp dllp) { return pcie::Dllp::ack(dllp.number()); })};
    const SearchSetting one_damaged{
        .faults = 1, .lose = false, .at_risk = {true, false}, .early_timers = false};
    const pcie::Config config = PcieAdapter::search_config(2, 6);
    PcieSearch search(config, {.messages = 4}, one_damaged, deaf);
    EXPECT_EQ(expect_holds("ignored Naks", search).waits_to_finish, 1U);
    PcieSearch shipped(config, {.messages = 4}, one_damaged);
    EXPECT_EQ(expect_holds("as shipped", shipped).waits_to_finish, 0U);
}

TEST(BrokenHippi, AWindowOfTheWholeCircleDeliversAnOldUnitForANewOne) {
    HippiSearch search(HippiAdapter::search_config(3, 3), {.messages = 5}, {.in_flight = 3});
    expect_refuted("window 3 of 3", search, SearchVerdict::broken, another_message);
}

// HIPPI-7
TEST(BrokenHippi, RseqOf255TakenAsANumberFreesWhatWasNotDelivered) {
    const HippiTampering literal{.arriving =
                                     controls([](const hippi::Link&, hippi::Control& control) {
                                         if (control.rseq == hippi::no_number) control.rseq %= 5;
                                     })};
    HippiSearch search(HippiAdapter::search_config(2, 5), {.messages = 4, .both_ways = true},
                       {.faults = 1}, literal);
    expect_refuted("RSEQ 255 is 0", search, SearchVerdict::broken, acknowledged_too_early);
}

TEST(BrokenHippi, IgnoredNoticesWaitForTheTimer) {
    const HippiTampering deaf{.arriving = controls([](const hippi::Link&, hippi::Control& control) {
                                  if (control.type == hippi::Type::null)
                                      control.type = hippi::Type::status_null;
                              })};
    const SearchSetting one_damaged{
        .faults = 1, .lose = false, .at_risk = {true, false}, .early_timers = false};
    const hippi::Config config = HippiAdapter::search_config(2, 5);
    HippiSearch search(config, {.messages = 4}, one_damaged, deaf);
    EXPECT_EQ(expect_holds("ignored notices", search).waits_to_finish, 1U);
    HippiSearch shipped(config, {.messages = 4}, one_damaged);
    EXPECT_EQ(expect_holds("as shipped", shipped).waits_to_finish, 0U);
}

// HIPPI-21: with the literal rule the receiver sends a number back at most twice, even if both
// copies are lost.
TEST(BrokenHippi, TheLiteralRuleLivelocksOnceBothCopiesAreLost) {
    hippi::Config config = HippiAdapter::search_config(2, 5);
    config.duplicates = hippi::Duplicates::literal;
    HippiSearch search(config, {.messages = 4}, {.damage = false});
    const SearchResult result =
        expect_refuted("literal", search, SearchVerdict::stuck, never_finishes);
    const auto story = search.story(result.path);
    ASSERT_LT(result.circle, story.size());
    for (std::size_t i = result.circle; i < story.size(); ++i) {
        EXPECT_EQ(story[i].move.end, 0) << "B is silent for ever\n" << told(search, result);
    }
    config.duplicates = hippi::Duplicates::re_arm;
    HippiSearch re_armed(config, {.messages = 4}, {.damage = false});
    expect_holds("re_arm", re_armed);
}

// HIPPI-31; see also HippiLink.ANeedlessReplayEchoesWithoutEndWithTheOtherRules.
TEST(BrokenHippi, ReArmingEchoesAfterOneNeedlessReplay) {
    const SearchSetting early_timer{
        .in_flight = 3, .faults = 1, .lose = false, .damage = false, .replays_per_fault = 1};
    hippi::Config config = HippiAdapter::search_config(2, 5);
    for (const auto rule : {hippi::Duplicates::re_arm, hippi::Duplicates::literal}) {
        config.duplicates = rule;
        HippiSearch search(config, {.messages = 4}, early_timer);
        expect_refuted("echo", search, SearchVerdict::broken, too_much_again);
    }
    config.duplicates = hippi::Duplicates::status_null;
    HippiSearch shipped(config, {.messages = 4}, early_timer);
    expect_holds("status_null", shipped);
}

TEST(BrokenAm, AWindowOfTheWholeCircleDeliversAnOldRequestForANewOne) {
    constexpr AmCall request{};
    const AmPrograms programs{{{request, request, request, request, request, request}, {}}};
    const SearchSetting bad_wire{
        .in_flight = 4, .faults = 2, .repeat = true, .overtake = true, .early_timers = false};
    AmSearch search(am_search_config(am::Recovery::go_back_n, 4, 4), programs, bad_wire);
    expect_refuted("window 4 of 4", search, SearchVerdict::broken, "another request");
}

// RC-4: only a requester that accepts such an acknowledgement shows this defect of the responder.
TEST(BrokenIb, AnAckThatNamesAReadWhoseAnswerWasLostCompletesItWithoutData) {
    using proto::ib::Request;
    const SearchSetting two_lost{.faults = 2, .damage = false, .early_timers = false};
    const IbTask read{.calls = {{Request::send, 8}, {Request::read, 8}}};
    IbSearch broken(read, two_lost, {completes_from_acks(read), acknowledges_newest(read)});
    expect_refuted("acknowledges the newest, a Read", broken, SearchVerdict::broken,
                   "a Read returned wrong bytes");
    const IbTask atomic{.calls = {{Request::send, 8}, {Request::fetch_add, 8}}};
    IbSearch as_badly(atomic, two_lost, {completes_from_acks(atomic), acknowledges_newest(atomic)});
    expect_refuted("acknowledges the newest, an Atomic", as_badly, SearchVerdict::broken,
                   "an Atomic returned another value");
    IbSearch shipped(read, two_lost, {completes_from_acks(read), {}});
    expect_holds("as shipped", shipped);
    IbSearch suspicious(read, two_lost, {IbTampering{}, acknowledges_newest(read)});
    expect_holds("the requester as shipped does not believe it", suspicious);
}

}  // namespace
}  // namespace wireproof::lab
