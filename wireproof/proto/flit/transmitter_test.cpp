// The sending half: numbers, window, replay, Nak-ignore window, replay timer.
#include "wireproof/proto/flit/transmitter.hpp"

#include <gtest/gtest.h>

namespace wireproof::flit {
namespace {

using Sent = std::vector<std::uint32_t>;

/// Sends by hand. `slot` is the clock of a continuous line.
class Sender {
public:
    explicit Sender(Config config = Config::pcie6()) : config_(changed(config)), sender(config_) {}

    void submit(int count) {
        for (int i = 0; i < count; ++i) sender.submit({});
    }
    /// The numbers of the payload flits that leave in the next slots; 0: a NOP.
    Sent leaving(int slots, bool is_explicit = true) {
        Sent numbers;
        for (int i = 0; i < slots; ++i) {
            sender.on_deadline(Instant(), tick(), stats);
            if (const auto next = sender.next_payload()) {
                numbers.push_back(Numbers::wire(next->number));
                last = *next;
                sender.payload_left(Instant(), tick(), *next, is_explicit, 256, stats);
            } else {
                numbers.push_back(0);
            }
            ++slot;
        }
        return numbers;
    }
    bool notice(Command command, std::uint32_t number) {
        return sender.on_notice(Instant(), tick(), command, number, stats);
    }
    bool ack(std::uint32_t number) { return notice(Command::ack, number); }
    bool nak(std::uint32_t number) { return notice(Command::standard_nak, number); }
    bool selective_nak(std::uint32_t number) { return notice(Command::selective_nak, number); }
    Instant tick() const { return Instant(Duration(slot)); }

    Config config_;
    Transmitter sender;
    Stats stats;
    NextPayload last;
    std::int64_t slot = 0;

private:
    static Config changed(Config config) {
        if (config.first_number == 1) config.first_number = config.modulus - 1;
        return config;
    }
};

// FLIT-2
TEST(FlitTransmitter, NumbersPassFrom1023To1) {
    Sender end;
    EXPECT_EQ(end.sender.acknowledged(), 1021U);
    end.submit(4);
    EXPECT_EQ(end.leaving(5), (Sent{1022, 1023, 1, 2, 0}));
    EXPECT_EQ(end.sender.next_number(), 3U);
    EXPECT_EQ(end.sender.last_sent(), 2U);
}

// UCIE-1
TEST(FlitTransmitter, UcieNumbersPassFrom255To1AndAtMost127AreUnacknowledged) {
    Sender end(Config::ucie_68());
    end.submit(128);
    const Sent sent = end.leaving(128);
    EXPECT_EQ((Sent(sent.begin(), sent.begin() + 3)), (Sent{254, 255, 1}));
    EXPECT_EQ(sent[126], 125U);
    EXPECT_EQ(sent[127], 0U);
}

// FLIT-4
TEST(FlitTransmitter, AtMost511AreUnacknowledged) {
    Sender end;
    end.submit(512);
    const Sent sent = end.leaving(513);
    EXPECT_EQ(sent[510], 509U);
    EXPECT_EQ(sent[511], 0U);
    EXPECT_TRUE(end.ack(1022));
    EXPECT_EQ(end.leaving(2), (Sent{510, 0}));
}

// FLIT-6
TEST(FlitTransmitter, AnAckIsCumulative) {
    Sender end;
    end.submit(5);
    end.leaving(5);
    EXPECT_TRUE(end.ack(1));
    EXPECT_EQ(end.sender.outstanding(), 2U);
    EXPECT_TRUE(end.ack(1)) << "again: nothing changes";
    EXPECT_EQ(end.sender.outstanding(), 2U);
    EXPECT_EQ(end.sender.acknowledged(), 1U);
}

// FLIT-16, UCIE-5
TEST(FlitTransmitter, AnIllegalNumberFreesNothing) {
    for (const Command command : {Command::ack, Command::standard_nak, Command::selective_nak}) {
        Sender end;
        end.submit(4);
        end.leaving(3);
        EXPECT_TRUE(end.ack(1022));
        EXPECT_FALSE(end.notice(command, 2)) << "not sent yet";
        EXPECT_FALSE(end.notice(command, 1021)) << "acknowledged long ago";
        EXPECT_FALSE(end.notice(command, 500));
        EXPECT_TRUE(end.notice(command, 0)) << "no number";
        EXPECT_EQ(end.sender.outstanding(), 2U);
        EXPECT_EQ(end.sender.replay(), Replay::none);
        EXPECT_TRUE(end.notice(command, 1)) << "the last that was sent";
        EXPECT_EQ(end.sender.outstanding(), 0U);
    }
    Sender small(Config::ucie_68());
    EXPECT_FALSE(small.ack(256)) << "no number of this link";
}

// R: standard replay.
TEST(FlitTransmitter, AStandardNakReplaysAllInOrderBeforeAnythingNew) {
    Sender end;
    end.submit(4);
    end.leaving(4);
    EXPECT_TRUE(end.nak(1022));
    end.submit(1);
    EXPECT_EQ(end.sender.replay(), Replay::standard);
    EXPECT_TRUE(end.sender.next_payload()->must_be_explicit);
    EXPECT_EQ(end.leaving(5), (Sent{1023, 1, 2, 3, 0}));
    EXPECT_EQ(end.stats.replay_std, 1U);
    EXPECT_EQ(end.stats.resent, 3U);
    EXPECT_EQ(end.stats.numbered, 8U);
}

// FLIT-13
TEST(FlitTransmitter, ASelectiveNakResendsOneFlit) {
    Sender end(Config::pcie6_selective());
    end.submit(5);
    end.leaving(4);
    EXPECT_TRUE(end.selective_nak(1022));
    EXPECT_EQ(end.sender.replay(), Replay::selective);
    EXPECT_EQ(end.leaving(3), (Sent{1023, 3, 0}));
    EXPECT_EQ(end.stats.replay_sel, 1U);
    EXPECT_EQ(end.stats.resent, 1U);
}

// FLIT-13: a link of standard Naks takes a selective one as standard.
TEST(FlitTransmitter, ASelectiveNakIsStandardWhereSelectiveIsOff) {
    Sender end;
    end.submit(3);
    end.leaving(3);
    EXPECT_TRUE(end.selective_nak(1022));
    EXPECT_EQ(end.leaving(3), (Sent{1023, 1, 0}));
}

// FLIT-14
TEST(FlitTransmitter, AStandardNakReplacesASelectiveReplayThatHasNotStarted) {
    Sender end(Config::pcie6_selective());
    end.submit(3);
    end.leaving(3);
    EXPECT_TRUE(end.selective_nak(1021));
    EXPECT_TRUE(end.nak(1021));
    EXPECT_EQ(end.sender.replay(), Replay::standard);
    EXPECT_EQ(end.leaving(4), (Sent{1022, 1023, 1, 0}));
    EXPECT_EQ(end.stats.replay_std, 1U);
    EXPECT_EQ(end.stats.replay_sel, 0U);
}

// FLIT-11, FLIT-21
TEST(FlitTransmitter, ANakOfTheSameNumberDoesNotCountWithinTheIgnoreWindow) {
    Config config = Config::pcie6();
    config.nak_ignore = 10;
    Sender end(config);
    end.submit(2);
    end.leaving(2);
    EXPECT_TRUE(end.nak(1021));
    EXPECT_EQ(end.sender.nak_ignored(), 1021U);
    EXPECT_EQ(end.leaving(9), (Sent{1022, 1023, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_TRUE(end.nak(1021));
    EXPECT_EQ(end.sender.replay(), Replay::none);
    EXPECT_EQ(end.leaving(2), (Sent{0, 0}));
    EXPECT_TRUE(end.nak(1021));
    EXPECT_EQ(end.sender.replay(), Replay::standard);
    EXPECT_EQ(end.stats.replay_std, 2U);
}

// FLIT-11
TEST(FlitTransmitter, ANakOfAnotherNumberOrAfterAnAckCountsAtOnce) {
    Sender end;
    end.submit(3);
    end.leaving(3);
    EXPECT_TRUE(end.nak(1021));
    end.leaving(3);
    EXPECT_TRUE(end.nak(1022));
    EXPECT_EQ(end.sender.replay(), Replay::standard);
    EXPECT_EQ(end.leaving(3), (Sent{1023, 1, 0}));
    EXPECT_TRUE(end.ack(1022));
    EXPECT_EQ(end.sender.nak_ignored(), 0U);
    EXPECT_TRUE(end.nak(1022));
    EXPECT_EQ(end.sender.replay(), Replay::standard);
}

// FLIT-11
TEST(FlitTransmitter, ANakDuringAReplayStartsNoOther) {
    Sender end;
    end.submit(4);
    end.leaving(4);
    EXPECT_TRUE(end.nak(1021));
    EXPECT_EQ(end.leaving(2), (Sent{1022, 1023}));
    EXPECT_TRUE(end.nak(1022));
    EXPECT_EQ(end.sender.nak_ignored(), 0U);
    EXPECT_EQ(end.leaving(3), (Sent{1, 2, 0}));
    EXPECT_TRUE(end.nak(1022)) << "repeated by the peer after the replay";
    EXPECT_EQ(end.leaving(4), (Sent{1023, 1, 2, 0}));
}

// FLIT-12
TEST(FlitTransmitter, AReplayEndsEarlyOnlyWhenItsPointerIsFreed) {
    Sender end;
    end.submit(5);
    end.leaving(4);
    EXPECT_TRUE(end.nak(1021));
    EXPECT_EQ(end.leaving(1), Sent{1022});
    EXPECT_TRUE(end.ack(1022));
    EXPECT_EQ(end.sender.replay(), Replay::standard) << "the pointer is at 1023";
    EXPECT_TRUE(end.ack(1023));
    EXPECT_EQ(end.sender.replay(), Replay::none);
    EXPECT_EQ(end.leaving(2), (Sent{3, 0}));
}

// FLIT-10: nothing to replay.
TEST(FlitTransmitter, ANakOfTheLastFlitSentWantsExplicitFlits) {
    Sender end;
    end.submit(2);
    end.leaving(2);
    EXPECT_TRUE(end.nak(1023));
    EXPECT_EQ(end.sender.replay(), Replay::none);
    EXPECT_TRUE(end.sender.wants_explicit());
    EXPECT_TRUE(end.sender.owes_explicit());
    EXPECT_EQ(end.sender.outstanding(), 0U);
    end.sender.explicit_nop_left();
    EXPECT_FALSE(end.sender.owes_explicit());
    EXPECT_TRUE(end.sender.wants_explicit());
    EXPECT_TRUE(end.ack(1023));
    EXPECT_FALSE(end.sender.wants_explicit());
}

// FLIT-10: the flit after a Nak with nothing to replay is lost: its Nak has the same number.
TEST(FlitTransmitter, ANakWithNothingToReplayDoesNotHideTheNextOne) {
    Sender end;
    end.submit(2);
    end.leaving(2);
    EXPECT_TRUE(end.nak(1022));
    end.leaving(1);
    EXPECT_TRUE(end.nak(1023));
    end.submit(1);
    end.leaving(1);
    EXPECT_TRUE(end.nak(1023));
    EXPECT_EQ(end.sender.replay(), Replay::standard);
}

// FLIT-24
TEST(FlitTransmitter, AFlitThatDoesNotFollowTheLastOneIsExplicit) {
    Sender end;
    end.submit(6);
    end.leaving(4, false);
    EXPECT_FALSE(end.last.must_be_explicit);
    EXPECT_TRUE(end.nak(1021));
    end.leaving(1);
    EXPECT_TRUE(end.last.must_be_explicit);
    EXPECT_TRUE(end.ack(2));
    EXPECT_TRUE(end.sender.next_payload()->must_be_explicit) << "the replay ended early";
    end.leaving(1);
    EXPECT_FALSE(end.sender.next_payload()->must_be_explicit);
}

// FLIT-24: an explicit NOP moves the peer's count to the last flit sent.
TEST(FlitTransmitter, AFlitAfterAnExplicitNopThatNamesAnotherIsExplicit) {
    Sender end;
    end.submit(4);
    end.leaving(4);
    EXPECT_TRUE(end.nak(1021));
    end.leaving(2);
    EXPECT_FALSE(end.sender.next_payload()->must_be_explicit);
    end.sender.explicit_nop_left();
    EXPECT_TRUE(end.sender.next_payload()->must_be_explicit);
}

// FLIT-23
TEST(FlitTransmitter, ThreePayloadFlitsAfterAJumpAreExplicitWithSelectiveNaks) {
    Sender end(Config::pcie6_selective());
    end.submit(9);
    end.leaving(4, false);
    EXPECT_TRUE(end.selective_nak(1021));
    end.leaving(1);
    EXPECT_TRUE(end.last.must_be_explicit);
    for (int i = 0; i < 3; ++i) {  // the end of a selective replay is a jump, too
        end.sender.explicit_nop_left();
        end.leaving(1);
        EXPECT_TRUE(end.last.must_be_explicit) << i;
    }
    end.leaving(1, false);
    EXPECT_FALSE(end.last.must_be_explicit);
}

// FLIT-17
TEST(FlitTransmitter, TheTimerCountsFlitsWhileSomethingIsUnacknowledged) {
    Sender end;
    end.leaving(2000);
    EXPECT_EQ(end.stats.timeouts, 0U) << "nothing is unacknowledged";
    end.submit(2);
    end.leaving(1500);
    EXPECT_EQ(end.stats.timeouts, 0U);
    EXPECT_EQ(end.leaving(3), (Sent{1022, 1023, 0}));
    EXPECT_EQ(end.stats.timeouts, 1U);
    EXPECT_EQ(end.stats.replay_timeout, 1U);
    EXPECT_TRUE(end.ack(1022));
    end.leaving(1500);
    EXPECT_EQ(end.stats.timeouts, 1U) << "progress begins the count anew";
    EXPECT_EQ(end.leaving(1), Sent{1023});
    EXPECT_EQ(end.stats.timeouts, 2U);
}

// FLIT-17, FLIT-11: the timeout of a selective link replays all.
TEST(FlitTransmitter, ATimeoutIsAStandardReplay) {
    Sender end(Config::pcie6_selective());
    end.submit(3);
    end.leaving(1500);
    EXPECT_EQ(end.leaving(4), (Sent{1022, 1023, 1, 0}));
    EXPECT_EQ(end.stats.replay_std, 1U);
}

// UCIE-4
TEST(FlitTransmitter, TheTimerOfUcieIsShorter) {
    Sender end(Config::ucie_68());
    end.submit(1);
    end.leaving(375);
    EXPECT_EQ(end.stats.timeouts, 0U);
    EXPECT_EQ(end.leaving(1), Sent{254});
}

// FLIT-25
TEST(FlitTransmitter, WithoutTheTimerNothingIsReplayedUnasked) {
    Config config = Config::pcie6();
    config.mends.replay_timer = false;
    Sender end(config);
    end.submit(1);
    end.leaving(4000);
    EXPECT_EQ(end.stats.timeouts, 0U);
}

// FLIT-18
TEST(FlitTransmitter, TheThirdReplayWithoutProgressRetrainsAndThenReplaysAll) {
    Config config = Config::pcie6();
    config.retrain_time = Duration::microseconds(5);
    Sender end(config);
    end.submit(2);
    end.leaving(1501);
    end.leaving(1501);
    EXPECT_EQ(end.sender.replay_num(), 2U);
    EXPECT_EQ(end.stats.retrain, 0U);
    end.slot += 1500;
    end.sender.on_deadline(Instant(), end.tick(), end.stats);
    EXPECT_EQ(end.stats.timeouts, 3U);
    EXPECT_EQ(end.stats.retrain, 1U);
    EXPECT_EQ(end.stats.resets, 1U);
    EXPECT_TRUE(end.sender.retraining());
    EXPECT_EQ(end.sender.replay_num(), 0U);
    end.sender.on_retrained(Instant() + Duration::microseconds(4));
    EXPECT_TRUE(end.sender.retraining());
    end.sender.on_retrained(Instant() + Duration::microseconds(5));
    EXPECT_FALSE(end.sender.retraining());
    EXPECT_EQ(end.leaving(3), (Sent{1022, 1023, 0}));
}

// FLIT-18
TEST(FlitTransmitter, ProgressBetweenReplaysKeepsTheLinkFromRetraining) {
    Sender end;
    end.submit(4);
    end.leaving(4);
    for (const std::uint32_t number : {1021U, 1022U, 1023U, 1U}) {
        EXPECT_TRUE(end.nak(number));
        end.leaving(4);
        EXPECT_LE(end.sender.replay_num(), 1U);
    }
    EXPECT_EQ(end.stats.replays, 4U);
    EXPECT_EQ(end.stats.retrain, 0U);
}

// FLIT-6: what the caller submits is copied, unless it is lent.
TEST(FlitTransmitter, KeepsMessagesUntilTheyAreAcknowledged) {
    Config config = Config::pcie6();
    config.replay_slots = 2;
    Sender end(config);
    std::array<std::byte, 2> text = {std::byte{1}, std::byte{2}};
    end.sender.submit(text);
    text[0] = std::byte{9};
    EXPECT_EQ(end.sender.message(*end.sender.next_payload())[0], std::byte{1});
    EXPECT_TRUE(end.sender.has_room());
    end.sender.submit(text);
    EXPECT_FALSE(end.sender.has_room());
    end.leaving(2);
    EXPECT_FALSE(end.sender.has_room());
    EXPECT_TRUE(end.ack(1022));
    EXPECT_TRUE(end.sender.has_room());
}

// FLIT-17: while the timer alone replays, a Nak may be an old one, and begins nothing.
TEST(FlitTransmitter, ANakBeginsNoReplayWhileReplaysBackOff) {
    Config config = Config::pcie6();
    config.backs_off = true;
    config.replay_num_limit = 0;
    Sender end(config);
    end.submit(1);
    EXPECT_EQ(end.leaving(1), Sent{1022});
    for (int timeout = 0; timeout < 2; ++timeout) {
        end.slot += 4 * config.timeout_flits;
        EXPECT_EQ(end.leaving(2), (Sent{1022, 0}));
    }
    EXPECT_EQ(end.stats.replays, 2U);
    EXPECT_TRUE(end.nak(1021));
    EXPECT_EQ(end.leaving(1), Sent{0});
    EXPECT_EQ(end.stats.replays, 2U);
}

}  // namespace
}  // namespace wireproof::flit
