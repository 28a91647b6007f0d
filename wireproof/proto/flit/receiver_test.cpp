// The listing of the receiver, row by row (docs/rules/flit.md): implicit numbers, R1 to R13, STD
// and SEL. Numbers begin two before the wrap: 1022, 1023, 1, 2 ...
#include "wireproof/proto/flit/receiver.hpp"

#include <gtest/gtest.h>

namespace wireproof::flit {
namespace {

using enum RxVerdict;
using Contents = std::vector<int>;

constexpr std::uint32_t first = 1022;
constexpr bool after_payload = true;
constexpr bool after_nop = false;

class Received {
public:
    explicit Received(Config config = Config::pcie6())
        : config_(changed(config)), receiver(config_) {}

    RxVerdict payload(int content, bool prior = after_payload) {
        return give({true, prior, Command::ack, 1}, content);
    }
    RxVerdict payload_with_number(std::uint32_t number, int content, bool prior = after_payload) {
        return give({true, prior, Command::explicit_number, number}, content);
    }
    RxVerdict nop(bool prior = after_payload) { return give({false, prior, Command::ack, 1}, 0); }
    RxVerdict nop_with_number(std::uint32_t number, bool prior = after_nop) {
        return give({false, prior, Command::explicit_number, number}, 0);
    }
    RxVerdict idle(bool prior = after_nop) { return nop_with_number(0, prior); }
    void invalid(int times = 1) {
        for (int i = 0; i < times; ++i) receiver.on_invalid(Instant(), stats);
    }
    /// Payload flits in order, with contents from `from` on.
    void taken_in_order(int from, int count) {
        for (int i = 0; i < count; ++i) ASSERT_EQ(payload(from + i), accepted);
    }
    /// A selective Nak for 1022 is scheduled, and 1023 is stored.
    void one_missing() {
        invalid();
        ASSERT_EQ(payload(1), held);
        ASSERT_EQ(receiver.nak(), Nak::selective);
    }

    Config config_;
    Receiver receiver;
    Stats stats;
    Contents got;

private:
    static Config changed(Config config) {
        config.first_number = first;
        return config;
    }
    RxVerdict give(const Header& header, int content) {
        const std::array<std::byte, 1> bytes = {static_cast<std::byte>(content)};
        const RxVerdict verdict = receiver.on_flit(Instant(), header, ConstBytes(bytes), stats);
        while (const auto message = receiver.next_message()) {
            got.push_back(std::to_integer<int>((*message)[0]));
        }
        return verdict;
    }
};

Received selective() {
    return Received(Config::pcie6_selective());
}

// FLIT-2, FLIT-27, R13
TEST(FlitReceiver, CountsPayloadFlitsWithoutNumbersAcrossTheWrap) {
    Received end;
    end.taken_in_order(0, 4);
    EXPECT_EQ(end.receiver.acknak(), 2U);
    EXPECT_EQ(end.receiver.next_expected(), 3U);
    EXPECT_EQ(end.got, (Contents{0, 1, 2, 3}));
}

// FLIT-3, FLIT-27
TEST(FlitReceiver, NopsAndIdleFlitsTakeNoNumber) {
    Received end;
    EXPECT_EQ(end.nop(after_nop), control);
    EXPECT_EQ(end.payload(0, after_nop), accepted);
    EXPECT_EQ(end.nop(), control);
    EXPECT_EQ(end.idle(), control);
    EXPECT_EQ(end.nop_with_number(first), control);
    EXPECT_EQ(end.payload(1, after_nop), accepted);
    EXPECT_EQ(end.receiver.acknak(), 1023U);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
}

// FLIT-7, FLIT-27: R4 and R8.
TEST(FlitReceiver, ASpoiltNopIsWithdrawn) {
    Received end;
    end.taken_in_order(0, 1);
    end.nop();
    end.invalid();
    EXPECT_TRUE(end.receiver.withdraws());
    EXPECT_EQ(end.nop(after_nop), control);
    EXPECT_FALSE(end.receiver.withdraws());
    EXPECT_EQ(end.receiver.nak(), Nak::none);
    EXPECT_EQ(end.stats.nak_withdrawn, 1U);
    EXPECT_EQ(end.payload(1, after_nop), accepted);
}

// FLIT-7: R8, the flit after the spoilt NOP has payload, so the count goes on without a gap.
TEST(FlitReceiver, ThePayloadAfterASpoiltNopIsTaken) {
    Received end;
    end.taken_in_order(0, 1);
    end.invalid();
    EXPECT_EQ(end.payload(1, after_nop), accepted);
    EXPECT_EQ(end.payload(2), accepted);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
}

// FLIT-8: R4, R6 and R7.
TEST(FlitReceiver, ANakForSpoiltPayloadWaitsForTheNextFlit) {
    for (const bool next_is_payload : {false, true}) {
        Received end;
        end.taken_in_order(0, 1);
        end.invalid();
        EXPECT_EQ(end.receiver.nak(), Nak::none);
        EXPECT_EQ(end.receiver.notice(), Command::ack);
        EXPECT_EQ(next_is_payload ? end.payload(9) : end.nop(),
                  next_is_payload ? out_of_sequence : control);
        EXPECT_EQ(end.receiver.nak(), Nak::standard);
        EXPECT_EQ(end.receiver.notice(), Command::standard_nak);
        EXPECT_EQ(end.receiver.acknak(), first);
        EXPECT_EQ(end.got, Contents{0});
    }
}

// FLIT-22: R3.
TEST(FlitReceiver, TwoSpoiltFlitsInARowCauseAStandardNak) {
    for (const bool is_selective : {false, true}) {
        Received end(is_selective ? Config::pcie6_selective() : Config::pcie6());
        end.taken_in_order(0, 1);
        end.invalid(2);
        EXPECT_EQ(end.receiver.nak(), Nak::standard);
        EXPECT_FALSE(end.receiver.withdraws());
        EXPECT_EQ(end.receiver.acknak(), first);
    }
}

// R1
TEST(FlitReceiver, ASpoiltFlitChangesNothingWhileAStandardNakIsScheduled) {
    Received end;
    end.invalid(2);
    end.invalid(3);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    EXPECT_FALSE(end.receiver.withdraws());
    EXPECT_EQ(end.payload_with_number(first, 0), accepted);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
}

// FLIT-9: R10 and STD.
TEST(FlitReceiver, OnlyAnExplicitFlitWithTheExpectedNumberResumesAfterAStandardNak) {
    Received end;
    end.taken_in_order(0, 1);
    end.invalid();
    end.nop();
    EXPECT_EQ(end.payload_with_number(first, 0), duplicate);
    EXPECT_EQ(end.payload(1), out_of_sequence) << "it has the right number, but only by counting";
    EXPECT_EQ(end.payload_with_number(1, 2), out_of_sequence);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    EXPECT_EQ(end.payload_with_number(1023, 1), accepted);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
    EXPECT_EQ(end.payload(2), accepted);
    EXPECT_EQ(end.got, (Contents{0, 1, 2}));
}

// STD in R7: the flit after the spoilt one is the one that is missing.
TEST(FlitReceiver, ASpoiltDuplicateBeforeTheExpectedExplicitFlitCausesNoNak) {
    Received end;
    end.invalid();
    EXPECT_EQ(end.payload_with_number(first, 0), accepted);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
}

// STD in R7
TEST(FlitReceiver, ADuplicateAfterASpoiltFlitCausesANakToo) {
    Received end;
    end.taken_in_order(0, 1);
    end.invalid();
    EXPECT_EQ(end.payload_with_number(first, 0), duplicate);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
}

// FLIT-10: R9.
TEST(FlitReceiver, AFalseNakIsClearedByTheExplicitNopOfNothingSent) {
    Received end;
    end.taken_in_order(0, 1);
    end.invalid(2);
    EXPECT_EQ(end.nop_with_number(1023), control) << "one more was sent than arrived";
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    EXPECT_EQ(end.payload_with_number(first, 0), duplicate);
    EXPECT_EQ(end.nop(), control) << "the count is right, but only an explicit number clears a Nak";
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    EXPECT_EQ(end.nop_with_number(first), control);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
    EXPECT_EQ(end.stats.nak_cleared, 1U);
    EXPECT_EQ(end.payload(1, after_nop), accepted);
}

// R11
TEST(FlitReceiver, AFalseSelectiveNakIsClearedToo) {
    Received end = selective();
    end.taken_in_order(0, 1);
    end.invalid();
    end.nop();
    EXPECT_EQ(end.receiver.nak(), Nak::selective);
    EXPECT_EQ(end.nop(after_nop), control);
    EXPECT_EQ(end.receiver.nak(), Nak::selective);
    EXPECT_EQ(end.nop_with_number(first), control);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
}

// R8: the count shows a gap although the spoilt flit had no payload.
TEST(FlitReceiver, WithdrawsNothingIfTheCountShowsAGap) {
    Received end;
    end.taken_in_order(0, 1);
    end.invalid();
    EXPECT_EQ(end.payload_with_number(1, 2, after_nop), out_of_sequence);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    Received other;
    other.taken_in_order(0, 1);
    other.invalid();
    EXPECT_EQ(other.nop_with_number(1023, after_nop), control);
    EXPECT_EQ(other.receiver.nak(), Nak::standard);
    EXPECT_EQ(end.stats.nak_withdrawn + other.stats.nak_withdrawn, 0U);
}

// R8
TEST(FlitReceiver, ADuplicateAfterASpoiltNopIsDropped) {
    Received end;
    end.taken_in_order(0, 1);
    end.invalid();
    EXPECT_EQ(end.payload_with_number(first, 0, after_nop), duplicate);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
}

// R12
TEST(FlitReceiver, ANopThatNamesAFlitThatDidNotComeCausesANak) {
    Received end;
    end.taken_in_order(0, 1);
    EXPECT_EQ(end.nop_with_number(first), control);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
    EXPECT_EQ(end.nop_with_number(1023), control);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    Received far;
    EXPECT_EQ(far.nop_with_number(5), control);
    EXPECT_EQ(far.receiver.nak(), Nak::standard);
}

// R13
TEST(FlitReceiver, AGapInTheNumbersCausesAStandardNakAndADuplicateNone) {
    Received end = selective();
    end.taken_in_order(0, 2);
    EXPECT_EQ(end.payload_with_number(1022, 0), duplicate);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
    EXPECT_EQ(end.stats.dup_dropped, 1U);
    EXPECT_EQ(end.payload_with_number(2, 3), out_of_sequence);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
}

// FLIT-4: 511 numbers behind are duplicates, 511 numbers ahead are a gap.
TEST(FlitReceiver, DistinguishesDuplicatesFromFlitsAheadAtTheBoundaries) {
    const auto verdict_of = [](std::uint32_t number) {
        Received end;
        return end.payload_with_number(number, 0);
    };
    EXPECT_EQ(verdict_of(1022 - 511), duplicate);
    EXPECT_EQ(verdict_of(1021), duplicate);
    EXPECT_EQ(verdict_of(1022), accepted);
    EXPECT_EQ(verdict_of(1023), out_of_sequence);
    EXPECT_EQ(verdict_of(1022 - 512), out_of_sequence) << "that is 511 ahead";
}

// R5
TEST(FlitReceiver, AnExplicitPayloadFlitWithoutNumberIsAProtocolError) {
    Received end;
    EXPECT_EQ(end.payload_with_number(0, 0), stale);
    EXPECT_EQ(end.stats.protocol_errors, 1U);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
    EXPECT_EQ(end.payload(0), accepted) << "the count is as before";
}

// R5: an IDLE flit does not say what the flit before it was.
TEST(FlitReceiver, NothingIsWithdrawnOnTheWordOfAnIdleFlit) {
    for (const bool prior : {false, true}) {
        Received end;
        end.invalid();
        EXPECT_EQ(end.idle(prior), control);
        EXPECT_EQ(end.receiver.nak(), Nak::standard);
    }
}

// FLIT-13: R7, R11 and SEL.
TEST(FlitReceiver, StoresWhatFollowsAndDeliversItAfterTheMissingFlit) {
    Received end = selective();
    end.one_missing();
    EXPECT_EQ(end.payload(2), held);
    EXPECT_EQ(end.nop(), control);
    EXPECT_EQ(end.payload(3, after_nop), held);
    EXPECT_EQ(end.receiver.acknak(), 1021U) << "stored flits are not acknowledged";
    EXPECT_EQ(end.receiver.notice(), Command::selective_nak);
    EXPECT_TRUE(end.got.empty());
    EXPECT_EQ(end.payload_with_number(first, 0), accepted);
    EXPECT_EQ(end.got, (Contents{0, 1, 2, 3}));
    EXPECT_EQ(end.receiver.acknak(), 2U);
    EXPECT_EQ(end.receiver.nak(), Nak::none);
    EXPECT_EQ(end.payload(9), duplicate) << "the count goes on from the resent flit";
    EXPECT_EQ(end.payload_with_number(3, 4), accepted);
    EXPECT_EQ(end.stats.stored, 3U);
}

// FLIT-13: R6.
TEST(FlitReceiver, AfterANopTheNextPayloadFlitIsTheFirstToStore) {
    Received end = selective();
    end.invalid();
    EXPECT_EQ(end.nop(), control);
    EXPECT_EQ(end.receiver.nak(), Nak::selective);
    EXPECT_EQ(end.payload(1, after_nop), held);
    EXPECT_EQ(end.payload_with_number(first, 0), accepted);
    EXPECT_EQ(end.got, (Contents{0, 1}));
}

// FLIT-14: R2.
TEST(FlitReceiver, ASecondSpoiltFlitMakesASelectiveNakStandardAndEmptiesTheStore) {
    Received end = selective();
    end.one_missing();
    end.invalid();
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    EXPECT_EQ(end.receiver.stored(), 0U);
    EXPECT_EQ(end.stats.converted, 1U);
    EXPECT_EQ(end.payload_with_number(first, 0), accepted);
    EXPECT_EQ(end.got, Contents{0});
    EXPECT_EQ(end.payload(1), accepted);
    EXPECT_EQ(end.got, (Contents{0, 1}));
}

// FLIT-15
TEST(FlitReceiver, AFullStoreMakesASelectiveNakStandard) {
    Config config = Config::pcie6_selective();
    config.store_flits = 2;
    Received end(config);
    end.one_missing();
    EXPECT_EQ(end.payload(2), held);
    EXPECT_EQ(end.payload(3), out_of_sequence);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    EXPECT_EQ(end.receiver.stored(), 0U);
}

// SEL: the number is neither the missing one nor the next to store.
TEST(FlitReceiver, AnotherGapMakesASelectiveNakStandard) {
    Received end = selective();
    end.one_missing();
    EXPECT_EQ(end.payload_with_number(3, 9), out_of_sequence);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
}

// SEL
TEST(FlitReceiver, ADuplicateDoesNotEndASelectiveNak) {
    Received end = selective();
    end.taken_in_order(0, 1);
    end.invalid();
    EXPECT_EQ(end.payload(2), held);
    EXPECT_EQ(end.payload_with_number(first, 0), duplicate);
    EXPECT_EQ(end.receiver.nak(), Nak::selective);
    EXPECT_EQ(end.receiver.stored(), 1U);
}

// SEL: the number of the missing flit, but only by counting.
TEST(FlitReceiver, TheMissingFlitMustBeExplicit) {
    Received end = selective();
    end.invalid();
    end.nop();
    end.nop_with_number(1020);
    EXPECT_EQ(end.payload(9), duplicate);
    EXPECT_EQ(end.payload(9), out_of_sequence);
    EXPECT_EQ(end.receiver.nak(), Nak::standard);
    EXPECT_TRUE(end.got.empty());
}

// UCIE-2: R4 is a Nak at once.
TEST(FlitReceiver, UcieWithdrawsNothing) {
    Config config = Config::ucie_68();
    config.modulus = 255;
    Config first_is_254 = config;
    first_is_254.first_number = 254;
    Receiver receiver(first_is_254);
    Stats stats;
    receiver.on_invalid(Instant(), stats);
    EXPECT_EQ(receiver.nak(), Nak::standard);
    EXPECT_EQ(receiver.notice(), Command::standard_nak);
    EXPECT_EQ(receiver.acknak(), 253U);
    EXPECT_EQ(stats.nak_withdrawn, 0U);
}

// UCIE-1: 127 numbers behind are duplicates.
TEST(FlitReceiver, UcieDistinguishesDuplicatesFromFlitsAheadAtItsBoundaries) {
    const auto verdict_of = [](std::uint32_t number) {
        Config config = Config::ucie_68();
        config.first_number = 200;
        Receiver receiver(config);
        Stats stats;
        return receiver.on_flit(Instant(), {true, false, Command::explicit_number, number},
                                ConstBytes(), stats);
    };
    EXPECT_EQ(verdict_of(200), accepted);
    EXPECT_EQ(verdict_of(199), duplicate);
    EXPECT_EQ(verdict_of(200 - 127), duplicate);
    EXPECT_EQ(verdict_of(200 - 128), out_of_sequence);
    EXPECT_EQ(verdict_of(0), stale);
}

// A length that contradicts the flit: the number is used up, nothing is delivered.
TEST(FlitReceiver, AnUnreadableMessageUsesUpItsNumber) {
    Received end;
    EXPECT_EQ(
        end.receiver.on_flit(Instant(), {true, false, Command::ack, 1}, std::nullopt, end.stats),
        malformed);
    EXPECT_EQ(end.receiver.acknak(), first);
    EXPECT_EQ(end.payload(1), accepted);
    Received store = selective();
    store.one_missing();
    EXPECT_EQ(
        store.receiver.on_flit(Instant(), {true, true, Command::ack, 1}, std::nullopt, store.stats),
        held);
    EXPECT_EQ(store.payload(3), held);
    EXPECT_EQ(store.payload_with_number(first, 0), accepted);
    EXPECT_EQ(store.got, (Contents{0, 1, 3}));
}

// A Nak that has begun to leave is repeated three times; then one is enough between explicit flits.
TEST(FlitReceiver, ANakThatHasBegunIsRepeatedThreeTimesInARow) {
    Received end;
    end.invalid(2);
    EXPECT_TRUE(end.receiver.lets_explicit_leave());
    for (int i = 0; i < 3; ++i) {
        end.receiver.notice_left(Instant(), Command::standard_nak, end.stats);
        EXPECT_EQ(end.receiver.lets_explicit_leave(), i == 2);
    }
    EXPECT_EQ(end.stats.nak_tx_std, 3U);
    EXPECT_EQ(end.stats.naks, 1U);
    EXPECT_EQ(end.payload_with_number(first, 0), accepted);
    EXPECT_TRUE(end.receiver.lets_explicit_leave());
}

// The sender resends because it missed the Ack.
TEST(FlitReceiver, ADuplicateDrawsAnAck) {
    Config config = Config::pcie6();
    config.continuous = config.starts_up = false;
    Received end(config);
    end.taken_in_order(1, 1);
    EXPECT_TRUE(end.receiver.owes());
    end.receiver.notice_left(Instant(), Command::ack, end.stats);
    EXPECT_FALSE(end.receiver.owes());
    EXPECT_EQ(end.payload_with_number(first, 1), duplicate);
    EXPECT_TRUE(end.receiver.owes());
    EXPECT_EQ(end.receiver.notice(), Command::ack);
}

}  // namespace
}  // namespace wireproof::flit
