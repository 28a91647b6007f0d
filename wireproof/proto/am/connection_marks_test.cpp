// AM-54: packets that a router marked (ECN). The receiver counts them, each NACK tells the count,
// and the sender's congestion control learns of the new ones.
#include <gtest/gtest.h>

#include <limits>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr std::size_t marks_start = congestion::Limits().start;

std::uint32_t told(const Frame& nack) {
    EXPECT_EQ(nack.header.kind, Kind::nack);
    return nack.header.count >> nack_marks_shift;
}

/// The frames of a, given to b. `mark`: all have a mark.
void carry_marked(Pair& pair, bool mark = true) {
    for (const Frame& frame : pair.a.take(pair.now)) {
        if (mark) {
            pair.give_marked(pair.b, frame);
        } else {
            pair.give(pair.b, frame);
        }
    }
}

/// The answer of b to a question of a, which hears nothing until it asks.
Frame answer(Pair& pair, bool mark = false) {
    for (int timer = 0; timer < 5; ++timer) {
        pair.wait_for_timer();
        carry_marked(pair, mark);
        for (const Frame& frame : pair.b.take(pair.now)) {
            if (frame.header.kind == Kind::nack) return frame;
        }
    }
    ADD_FAILURE() << "no NACK";
    return {};
}

/// Each configuration with each congestion control that it allows.
std::vector<Config> with_each_control() {
    std::vector<Config> configs;
    for (Config config : all()) {
        configs.push_back(config);
        if (config.recovery != Recovery::selective) continue;
        for (const Congestion congestion : {Congestion::by_loss, Congestion::by_path}) {
            config.congestion = congestion;
            configs.push_back(config);
        }
    }
    return configs;
}

const Stats& stats_of(const Node& node) {
    return node.engine.stats();
}

// AM-54
TEST(AmMarks, TheReceiverCountsNumberedPacketsAndQuestionsAlsoRepeatedOnes) {
    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 4);
        ASSERT_EQ(frames.size(), 4U);
        pair.give(pair.b, frames[0]);
        pair.give_marked(pair.b, frames[1]);
        pair.give(pair.b, frames[2]);
        pair.give_marked(pair.b, frames[1]);  // arrived before
        pair.b.take(pair.now);
        EXPECT_EQ(stats_of(pair.b).marked, 2U);
        const Frame nack = answer(pair, true);
        EXPECT_EQ(told(nack), 3U);
        EXPECT_EQ(stats_of(pair.b).marked, 3U);
        EXPECT_EQ(pair.b.log.size(), 3U);
        // The marks of answers do not count: what they answer limits them.
        pair.give_marked(pair.a, nack);
        EXPECT_EQ(stats_of(pair.a).marked, 0U);
        EXPECT_EQ(stats_of(pair.a).marked_at_peer, 3U);
        EXPECT_EQ(stats_of(pair.b).marked_at_peer, 0U);
    }
}

// AM-54
TEST(AmMarks, ABundleCountsAsOnePacketAndAChunkAsItsPackets) {
    Pair bundled(bundling(bare()));
    requests(bundled.a, 5);
    const Frames bundles = bundled.a.take(bundled.now);
    ASSERT_LT(bundles.size(), 5U);
    for (const Frame& frame : bundles) bundled.give_marked(bundled.b, frame);
    EXPECT_EQ(stats_of(bundled.b).marked, bundles.size());
    EXPECT_EQ(bundled.b.log.size(), 5U);

    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        carry_marked(pair);
        EXPECT_EQ(stats_of(pair.b).marked, 1 + config.chunk_packets);
        EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
    }
}

// AM-54
TEST(AmMarks, EachChannelHasItsOwnCount) {
    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        reply_to_all(pair.b);
        requests(pair.a, 1);
        carry_marked(pair);
        for (const Frame& frame : pair.b.take(pair.now)) pair.give(pair.a, frame);
        requests(pair.a, 1);  // acknowledges the reply
        pair.a.take(pair.now);
        EXPECT_EQ(told(answer(pair)), 1U);
        EXPECT_EQ(stats_of(pair.a).marked, 0U);
    }
}

// AM-54
TEST(AmMarks, ALostAnswerLosesNoMarkAndALateOneRepeatsNone) {
    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        std::array<Frame, 3> nacks;
        for (std::size_t i = 0; i < 3; ++i) {
            requests(pair.a, 1);
            carry_marked(pair);
            nacks[i] = answer(pair);
            // As if nothing had arrived since the first, so that a late NACK is valid.
            nacks[i] = pair.forged(nacks[i], [&](Header& h) {
                h.number = nacks[0].header.number;
                h.ack = nacks[0].header.ack;
            });
        }
        pair.give(pair.a, nacks[1]);
        EXPECT_EQ(stats_of(pair.a).marked_at_peer, 2U);
        pair.give(pair.a, nacks[0]);
        EXPECT_EQ(stats_of(pair.a).marked_at_peer, 2U);
        pair.give(pair.a, nacks[1]);
        EXPECT_EQ(stats_of(pair.a).marked_at_peer, 2U);
        pair.give(pair.a, nacks[2]);
        EXPECT_EQ(stats_of(pair.a).marked_at_peer, 3U);
    }
}

// AM-54
TEST(AmMarks, TheCountWraps) {
    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        requests(pair.a, 1);
        carry_marked(pair, false);
        const Frame nack = answer(pair);
        std::uint64_t sum = 0;
        for (const std::uint32_t more : {8'000U, 8'000U, 8'191U, 1U, 384U, 5'000U}) {
            sum += more;
            pair.give(pair.a, pair.forged(nack, [&](Header& h) {
                h.count = static_cast<std::uint16_t>(sum % nack_marks_modulus << nack_marks_shift);
            }));
            EXPECT_EQ(stats_of(pair.a).marked_at_peer, sum);
        }
    }
    // The receiver's count.
    Pair pair(bare());
    requests(pair.a, 1);
    const Frames frames = pair.a.take(pair.now);
    for (int i = 0; i < 16'384 + 7; ++i) pair.give_marked(pair.b, frames[0]);
    pair.b.take(pair.now);
    EXPECT_EQ(told(answer(pair)), 7U);
}

// AM-54: marks halve the window once, after the packets of the answer have enlarged it.
TEST(AmMarks, TheSenderHalvesWhatMayBeInFlight) {
    for (const bool marked : {false, true}) {
        Config config = bare();
        config.congestion = Congestion::by_loss;
        Pair pair(config);
        requests(pair.a, 200);
        Frames frames = pair.a.take(pair.now);
        pair.wait(Duration::microseconds(100));
        for (const Frame& frame : frames) {
            if (marked) {
                pair.give_marked(pair.b, frame);
            } else {
                pair.give(pair.b, frame);
            }
        }
        pair.give(pair.a, pair.b.take(pair.now));
        frames = pair.a.take(pair.now);
        const auto left = std::count_if(frames.begin(), frames.end(), [](const Frame& frame) {
            return is_numbered(frame.header.kind);
        });
        EXPECT_EQ(left, static_cast<std::ptrdiff_t>(marked ? marks_start : 2 * marks_start));
        EXPECT_EQ(stats_of(pair.a).marked_at_peer, stats_of(pair.b).marked);
        EXPECT_EQ(stats_of(pair.a).marked_at_peer > 0, marked);
    }
}

// AM-54
TEST(AmMarks, WithoutCongestionControlTheyChangeNothing) {
    for (const Config& config : all()) {
        if (config.congestion != Congestion::off) continue;
        std::array<std::string, 2> texts;
        std::array<Instant, 2> deadlines;
        for (const bool marked : {false, true}) {
            Pair pair(config);
            const auto source = pattern(in_chunks(config, 2 * config.chunk_bytes()));
            requests(pair.a, 5);
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            std::string& text = texts[marked ? 1 : 0];
            for (int turn = 0; turn < 10; ++turn) {
                const Frames frames = pair.a.take(pair.now);
                text += pair.text(frames) + " / ";
                for (const Frame& frame : frames) {
                    if (marked) {
                        pair.give_marked(pair.b, frame);
                    } else {
                        pair.give(pair.b, frame);
                    }
                }
                text += pair.carry(pair.b) + " / ";
            }
            EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
            EXPECT_EQ(stats_of(pair.b).marked > 0, marked);
            deadlines[marked ? 1 : 0] = pair.a.engine.next_deadline();
        }
        EXPECT_EQ(texts[0], texts[1]);
        EXPECT_EQ(deadlines[0], deadlines[1]);
    }
}

// AM-54: whatever a hostile peer tells, the sender sends on.
TEST(AmMarks, ACountFromAHostilePeerIsHarmless) {
    for (const Config& config : with_each_control()) {
        Pair pair(config);
        requests(pair.a, 1);
        carry_marked(pair, false);
        const Frame nack = answer(pair);
        for (std::uint32_t i = 0; i < 40'000; i += 7) {
            pair.give(pair.a, pair.forged(nack, [&](Header& h) {
                h.count = static_cast<std::uint16_t>(i * 48'271);
            }));
            if (i % 1'001 == 0) pair.wait(Duration::microseconds(50));
        }
        const auto source = pattern(in_chunks(config, config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        for (int i = 0; i < 40 && !pair.a.engine.idle(); ++i) {
            pair.settle();
            if (!pair.a.engine.idle()) pair.wait_for_timer();
        }
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
    }
}

// AM-54
TEST(AmMarks, TheCountsAreInTheFingerprints) {
    for (const Config& config : all().without_questions()) {
        std::array<Fingerprint::Value, 2> receivers;
        std::array<Fingerprint::Value, 2> senders;
        for (const bool marked : {false, true}) {
            Pair pair(config);
            requests(pair.a, 1);
            carry_marked(pair, marked);
            receivers[marked ? 1 : 0] = pair.b.fingerprint(pair.now);
            const Frame nack = answer(pair);
            pair.give(pair.a, nack);
            senders[marked ? 1 : 0] = pair.a.fingerprint(pair.now);
        }
        EXPECT_NE(receivers[0], receivers[1]);
        EXPECT_NE(senders[0], senders[1]);
    }
}

// AM-54
TEST(AmMarks, ANewSessionBeginsAtZero) {
    for (const Config& base : all()) {
        Pair pair(meeting(base));
        requests(pair.a, 1);
        pair.settle();
        requests(pair.a, 1);
        carry_marked(pair);
        pair.give(pair.a, answer(pair));
        pair.settle();
        ASSERT_EQ(stats_of(pair.a).marked_at_peer, 1U);
        pair.a.engine.on_wire_event(pair.now, WireEvent::new_life);
        pair.b.engine.on_wire_event(pair.now, WireEvent::new_life);
        pair.a.draw();
        pair.b.draw();
        requests(pair.a, 1);
        pair.settle();
        requests(pair.a, 1);
        carry_marked(pair, false);
        EXPECT_EQ(told(answer(pair)), 0U);
        const std::uint64_t before = stats_of(pair.a).marked_at_peer;
        requests(pair.a, 1);
        carry_marked(pair);
        pair.give(pair.a, answer(pair));
        EXPECT_EQ(stats_of(pair.a).marked_at_peer, before + 1);
    }
}

// AM-54: bounds and delivery are as without marks, and the sender learns of nearly all of them.
TEST(AmMarks, AFaultyPathThatMarksDeliversAll) {
    for (const Config& config : with_each_control()) {
        Pair pair(config);
        World world(pair, {.loss = 0.05, .duplicate = 0.02, .reorder = 0.05, .mark = 0.2}, 9);
        const auto source = pattern(in_chunks(config, 5 * config.chunk_bytes()));
        requests(pair.a, 20);
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        ASSERT_TRUE(world.run([&] { return pair.a.engine.idle(); }));
        EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
        EXPECT_EQ(pair.b.log.size(), 21U);
        EXPECT_GT(stats_of(pair.b).marked, 0U);
        EXPECT_LE(stats_of(pair.a).marked_at_peer, stats_of(pair.b).marked);
        if (config.congestion == Congestion::off) continue;
        EXPECT_GE(stats_of(pair.a).marked_at_peer, stats_of(pair.b).marked / 2);
    }
}

}  // namespace
}  // namespace wireproof::am::test
