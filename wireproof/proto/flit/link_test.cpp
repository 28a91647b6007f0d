// One end of a link and what leaves it: commands, NOPs, start-up, hostile frames, on-demand mode.
#include "wireproof/proto/flit/link.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/flit/ecc.hpp"
#include "wireproof/proto/flit/line_test_kit.hpp"

namespace wireproof::flit {
namespace {

using enum RxVerdict;
using Names = std::vector<std::string>;

/// An end that a test talks to by hand. It skips the start-up.
class End {
public:
    explicit End(Config config = Config::pcie6()) : config_(changed(config)), link(config_) {
        const auto up = link.next_delivery();
        EXPECT_TRUE(up && up->what == LinkDelivery::What::up);
    }

    std::string leaves() {
        std::array<std::byte, flit_max> room;
        TxFrame out;
        out.open(room, {.frame_max = flit_max, .carries_intact = true});
        const bool quiet = link.quiet();
        if (!link.poll_transmit(now, out)) {
            EXPECT_TRUE(quiet);
            return "";
        }
        EXPECT_FALSE(quiet);
        std::vector<std::byte> flit(out.size());
        out.gather(flit);
        const FrameInfo info = describe_of(config_.format)(flit);
        return std::string(info.kind) + (info.number ? " " + std::to_string(*info.number) : "") +
               (info.ack ? " ack " + std::to_string(*info.ack) : "") + (out.resent() ? " r" : "");
    }
    Names leave(int flits) {
        Names names;
        for (int i = 0; i < flits; ++i) names.push_back(leaves());
        return names;
    }
    RxVerdict give(const Header& header) {
        std::array<std::byte, flit_max> room;
        TxFrame out;
        out.open(room, {.frame_max = flit_max, .carries_intact = true});
        write_flit(config_.format, config_.crc_order, header, {}, out);
        std::vector<std::byte> flit(out.size());
        out.gather(flit);
        const RxVerdict verdict =
            link.on_frame(now, {.bytes = flit, .integrity = Integrity::intact});
        while (link.next_delivery()) ++delivered;
        return verdict;
    }
    RxVerdict payload(bool prior = true) { return give({true, prior, Command::ack, 0}); }
    RxVerdict nop(Command command, std::uint32_t number) {
        return give({false, false, command, number});
    }
    RxVerdict invalid() {
        return link.on_frame(now, {.bytes = {}, .integrity = Integrity::damaged});
    }
    void submit(int count) {
        for (int i = 0; i < count; ++i) EXPECT_EQ(link.submit({}), SubmitStatus::accepted);
    }

    Config config_;
    Link link;
    Instant now;
    int delivered = 0;

private:
    static Config changed(Config config) {
        config.starts_up = false;
        config.first_number = config.modulus - 1;
        return config;
    }
};

// FLIT-3
TEST(FlitLink, ALineWithNothingToSendCarriesNopsWithAcks) {
    End end;
    EXPECT_EQ(end.leave(2), (Names{"NOP ack 1021", "NOP ack 1021"}));
    EXPECT_EQ(end.payload(false), accepted);
    end.submit(1);
    EXPECT_EQ(end.leave(2), (Names{"payload ack 1022", "NOP ack 1022"}));
    EXPECT_EQ(end.link.stats().acks, 3U);
    EXPECT_EQ(end.link.stats().numbered, 1U);
    EXPECT_EQ(end.delivered, 1);
}

// FLIT-5: the resent flit carries the Ack of now.
TEST(FlitLink, AResentFlitCarriesTheCurrentAck) {
    Config config = Config::pcie6();
    config.explicit_run = 1;
    End end(config);
    end.submit(3);
    EXPECT_EQ(end.leave(3), (Names{"payload ack 1021", "payload ack 1021", "payload ack 1021"}));
    EXPECT_EQ(end.payload(false), accepted);
    EXPECT_EQ(end.nop(Command::standard_nak, 1021), control);
    EXPECT_EQ(end.leave(3), (Names{"payload 1022 r", "payload ack 1022 r", "payload 1 r"}));
}

// FLIT-20: an explicit run is broken by one Ack after three.
TEST(FlitLink, ASideThatReplaysSendsThreeOfFourFlitsExplicit) {
    End end;
    end.submit(6);
    end.leave(6);
    EXPECT_EQ(end.nop(Command::standard_nak, 1021), control);
    EXPECT_EQ(end.leave(6), (Names{"payload 1022 r", "payload 1023 r", "payload 1 r",
                                   "payload ack 1021 r", "payload 3 r", "payload 4 r"}));
    EXPECT_EQ(end.leave(3), (Names{"NOP 4", "NOP ack 1021", "NOP 4"})) << "until the Ack comes";
    EXPECT_EQ(end.nop(Command::ack, 4), control);
    EXPECT_EQ(end.leave(1), Names{"NOP ack 1021"});
}

// FLIT-20: a Nak that begins while this end replays.
TEST(FlitLink, ANakIsSentThreeTimesInARowAndThenOnceBetweenExplicitFlits) {
    End end;
    end.submit(20);
    end.leave(20);
    EXPECT_EQ(end.nop(Command::standard_nak, 1021), control);
    end.leave(2);
    end.invalid();
    end.invalid();
    EXPECT_EQ(end.leave(9),
              (Names{"payload 1 r", "payload+Nak ack 1021 r", "payload+Nak ack 1021 r",
                     "payload+Nak ack 1021 r", "payload 5 r", "payload 6 r", "payload 7 r",
                     "payload+Nak ack 1021 r", "payload 9 r"}));
    EXPECT_EQ(end.link.stats().naks, 1U);
    EXPECT_EQ(end.link.stats().nak_tx_std, 4U);
}

// UCIE-3
TEST(FlitLink, ExplicitFlitsAndAcksAlternateInUcie) {
    End end(Config::ucie_68());
    end.submit(4);
    end.leave(4);
    EXPECT_EQ(end.nop(Command::standard_nak, 253), control);
    end.invalid();
    EXPECT_EQ(end.leave(5), (Names{"payload 254 r", "payload+Nak ack 253 r", "payload 1 r",
                                   "payload+Nak ack 253 r", "NOP 2"}));
}

// FLIT-23: the flit that must carry an Ack is a NOP.
TEST(FlitLink, AFlitThatMustBeExplicitWaitsForOneThatMayBe) {
    End end(Config::pcie6_selective());
    end.submit(3);
    end.leave(3);
    end.submit(5);
    EXPECT_EQ(end.nop(Command::selective_nak, 1021), control);
    EXPECT_EQ(end.leave(6), (Names{"payload 1022 r", "payload 2", "payload 3", "NOP ack 1021",
                                   "payload 4", "payload 5"}));
}

// FLIT-24, UCIE-10
TEST(FlitLink, TheFlitAfterACancelledReplayIsExplicit) {
    for (const Config& config : {Config::pcie6(), Config::ucie_68()}) {
        End end(config);
        end.submit(6);
        end.leave(5);
        const std::uint32_t base = config.modulus - 2;
        EXPECT_EQ(end.nop(Command::standard_nak, base), control);
        EXPECT_EQ(end.leaves(), "payload " + std::to_string(base + 1) + " r");
        EXPECT_EQ(end.nop(Command::ack, 3), control);
        // In UCIe, explicit flits may not follow each other.
        const std::string next = end.leaves();
        EXPECT_EQ(next.substr(0, 3) == "NOP" ? end.leaves() : next, "payload 4");
    }
}

// FLIT-16
TEST(FlitLink, AnIllegalAckIsAProtocolErrorAndFreesNothing) {
    End end;
    end.submit(2);
    end.leave(2);
    EXPECT_EQ(end.nop(Command::ack, 1), stale);
    EXPECT_EQ(end.nop(Command::standard_nak, 700), stale);
    EXPECT_EQ(end.link.stats().protocol_errors, 2U);
    EXPECT_EQ(end.link.transmitter().outstanding(), 2U);
    EXPECT_EQ(end.give({true, false, Command::ack, 5}), accepted) << "its payload is good";
    EXPECT_EQ(end.link.stats().protocol_errors, 3U);
}

// FLIT-26
TEST(FlitLink, CountsEachEventOfTheStandardsLog) {
    Line line(Config::pcie6_selective(), 4);
    line.to_send = {3000, 3000};
    Random random(6);
    ASSERT_TRUE(line.run(100'000, spoil_at_random(random, 0.02)));
    const Stats& a = line.ends[0].link.stats();
    const Stats& b = line.ends[1].link.stats();
    EXPECT_GT(a.flits_rx_invalid, 30U);
    EXPECT_EQ(a.flits_rx_invalid, a.received_as(corrupt));
    EXPECT_EQ(a.replays, a.replay_std + a.replay_sel);
    EXPECT_EQ(a.timeouts, a.replay_timeout);
    EXPECT_EQ(a.naks > 0, a.nak_tx_std + a.nak_tx_sel > 0);
    EXPECT_EQ(a.stored, a.received_as(held));
    EXPECT_EQ(a.dup_dropped, a.received_as(duplicate));
    EXPECT_GT(b.replay_sel, 10U);
    EXPECT_GT(a.stored, 10U);
    EXPECT_GT(a.converted, 0U);
    EXPECT_EQ(a.timeouts, 0U) << "the Nak recovers everything";
    EXPECT_EQ(a.flits_rx_corrected, 0U);
}

// FLIT-1: real checks on the line; single wrong bytes are corrected, others make a flit invalid.
TEST(FlitLink, CorrectsAndDetectsRealDamage) {
    for (const Config& config : {Config::pcie6(), Config::cxl3(), Config::pcie6_selective(),
                                 Config::ucie_68(), Config::ucie_256()}) {
        Line line(config, 6);
        line.to_send = {500, 500};
        line.message_size = config.message_max();
        for (LineEnd& end : line.ends) end.check = true;
        Random random(8);
        std::uint64_t single = 0;
        const auto damage = [&](std::size_t, const OnLine& seen) {
            auto& flit = const_cast<OnLine&>(seen).bytes;
            if (!random.chance(0.1)) return false;
            const std::size_t wrong = random.chance(0.5) ? 1 : 4 + random.below(5);
            for (std::size_t i = 0; i < wrong; ++i) {
                flit[random.below(flit.size())] ^= static_cast<std::byte>(1 + random.below(255));
            }
            single += wrong == 1;
            return false;
        };
        ASSERT_TRUE(line.run(100'000, damage));
        const Stats& a = line.ends[0].link.stats();
        const Stats& b = line.ends[1].link.stats();
        const std::uint64_t corrected = a.flits_rx_corrected + b.flits_rx_corrected;
        EXPECT_GT(a.flits_rx_invalid, 10U);
        if (has_usage(config.format)) {
            EXPECT_GE(corrected + 20, single);
            EXPECT_GT(corrected, 20U);
        } else {
            EXPECT_EQ(corrected, 0U);
        }
    }
}

// FLIT-1
TEST(FlitLink, WithoutCorrectionASingleWrongByteMakesAFlitInvalid) {
    Config config = Config::pcie6();
    config.corrects = config.starts_up = false;
    LineEnd from(config);
    from.check = true;
    auto flit = *from.poll(Instant());
    flit.bytes[7] ^= std::byte{1};
    Link link(config);
    EXPECT_EQ(link.on_frame(Instant(), {.bytes = flit.bytes}), corrupt);
    EXPECT_EQ(link.stats().flits_rx_invalid, 1U);
    Config correcting = config;
    correcting.corrects = true;
    Link other(correcting);
    EXPECT_EQ(other.on_frame(Instant(), {.bytes = flit.bytes}), control);
    EXPECT_EQ(other.stats().flits_rx_corrected, 1U);
}

// FLIT-1: two wrong bytes of a group that look like one elsewhere.
TEST(FlitLink, AMiscorrectedFlitIsInvalid) {
    Config config = Config::pcie6();
    config.starts_up = false;
    LineEnd from(config);
    from.check = true;
    const auto flit = *from.poll(Instant());
    int miscorrected = 0;
    for (unsigned error = 1; error < 256; ++error) {
        auto bytes = flit.bytes;
        bytes[30] ^= std::byte{1};
        bytes[33] ^= static_cast<std::byte>(error);
        const auto found = ecc_find(std::span<const std::byte, 256>(bytes)).result;
        if (found == EccResult::uncorrectable) continue;
        ++miscorrected;
        Link link(config);
        EXPECT_EQ(link.on_frame(Instant(), {.bytes = bytes}), corrupt) << error;
        EXPECT_EQ(link.stats().flits_rx_corrected, 0U);
    }
    EXPECT_NEAR(miscorrected, 85, 5);
}

// Frames of other lengths and reserved usages count as invalid flits.
TEST(FlitLink, WhatIsNoFlitIsAnInvalidFlit) {
    End end;
    std::vector<std::byte> flit(256);
    EXPECT_EQ(end.link.on_frame(end.now, {.bytes = ConstBytes(flit).first(255)}), malformed);
    flit[236] = std::byte{0x80};
    EXPECT_EQ(end.link.on_frame(end.now, {.bytes = flit, .integrity = Integrity::intact}),
              malformed);
    EXPECT_EQ(end.link.stats().flits_rx_invalid, 2U);
    EXPECT_EQ(end.link.receiver().nak(), Nak::standard);
}

TEST(FlitLink, RefusesMessagesThatAreTooLongOrHaveNoRoom) {
    End end;
    const std::vector<std::byte> longest(236);
    EXPECT_EQ(end.link.submit(longest), SubmitStatus::too_long);
    EXPECT_EQ(end.link.submit(ConstBytes(longest).first(235)), SubmitStatus::accepted);
    end.submit(511);
    EXPECT_FALSE(end.link.has_room());
    EXPECT_EQ(end.link.submit({}), SubmitStatus::no_room);
}

// FLIT-18: with frames between, on a line.
TEST(FlitLink, ARetrainedLinkLosesAndDoublesNothing) {
    Config config = Config::pcie6();
    config.retrain_time = Duration::nanoseconds(500);
    Line line(config, 10);
    line.to_send = {300, 300};
    // Payload of A does not pass for a long time: three timeouts.
    ASSERT_TRUE(line.run(60'000, [&](std::size_t from, const OnLine& flit) {
        return from == 0 && flit.payload && line.slots < 6000;
    }));
    EXPECT_GE(line.ends[0].link.stats().retrain, 1U);
    EXPECT_EQ(line.ends[0].downs, 0);
    EXPECT_FALSE(line.ends[1].wrong);
}

}  // namespace
}  // namespace wireproof::flit
