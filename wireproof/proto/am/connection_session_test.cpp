// Sessions between two engines: how they begin, what replaces them, and what cannot replace them.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

/// A new life of b: the same node, other nonces, no state.
struct Restarted {
    explicit Restarted(const Config& config) : pair(config), next(config_of_next_life(config)) {
        requests(pair.a, 1);
        pair.settle();
        pair.a.take_log();
    }

    static Config config_of_next_life(Config config) {
        config.seed += 77;
        return config;
    }

    /// Carries frames both ways between a and the new life of b.
    void settle() {
        while (true) {
            const Frames out = next.b.take(pair.now);
            pair.give(pair.a, out);
            const Frames in = pair.a.take(pair.now);
            pair.give(next.b, in);
            if (out.empty() && in.empty()) return;
        }
    }

    Pair pair;
    Pair next;  // only its b is used
};

// AM-49: three HELLOs, then the messages that waited.
TEST(AmConnection, AgreesOnASessionBeforeTheFirstMessage) {
    for (const Config& base : all()) {
        Pair pair(meeting(base));
        EXPECT_FALSE(pair.a.engine.established());
        EXPECT_EQ(pair.taken(pair.a), "");  // nobody needs anything
        requests(pair.a, 2);
        EXPECT_EQ(pair.carry(pair.a), "HELLO 1");
        EXPECT_EQ(pair.carry(pair.b), "HELLO 1");
        EXPECT_TRUE(pair.a.engine.established());
        EXPECT_FALSE(pair.b.engine.established());
        EXPECT_EQ(pair.carry(pair.a), "HELLO 0 | " + together(base, "REQ", 0, 1));
        EXPECT_EQ(pair.a.take_log(), Log{"BEGAN"});
        EXPECT_EQ(pair.b.take_log(), (Log{"BEGAN", "REQ 1(0)", "REQ 1(1)"}));
    }
}

TEST(AmConnection, TwoThatKnockAtOnceAgreeOnOneSession) {
    for (const Config& config : all()) {
        Pair pair(meeting(config));
        requests(pair.a, 1);
        requests(pair.b, 1);
        const Frames from_a = pair.a.take(pair.now);
        const Frames from_b = pair.b.take(pair.now);
        pair.give(pair.b, from_a);
        pair.give(pair.a, from_b);
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), (Log{"BEGAN", "REQ 1(0)"}));
        EXPECT_EQ(pair.b.take_log(), (Log{"BEGAN", "REQ 1(0)"}));
        EXPECT_EQ(pair.a.engine.stats().sessions, 1);
    }
}

TEST(AmConnection, RepeatsItsHelloUntilItIsAnswered) {
    for (const Config& config : all()) {
        Pair pair(meeting(config));
        requests(pair.a, 1);
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(pair.taken(pair.a), "HELLO 1") << i;
            EXPECT_EQ(pair.taken(pair.a), "");
            pair.wait_for_timer();
        }
        pair.carry(pair.a);
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), (Log{"BEGAN", "REQ 1(0)"}));
    }
}

// The last HELLO is never repeated: a frame with the cookie replaces it. The beginning of a session
// is delivered before the contents of that frame.
TEST(AmConnection, AFrameWithTheCookieCompletesTheHandshake) {
    for (const Config& base : all()) {
        Pair pair(meeting(base));
        requests(pair.a, 1);
        pair.carry(pair.a);
        pair.carry(pair.b);
        const Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(frames), "HELLO 0 | REQ 0");
        EXPECT_EQ(pair.give(pair.b, frames[1]), accepted);
        EXPECT_EQ(pair.b.take_log(), (Log{"BEGAN", "REQ 1(0)"}));
        EXPECT_EQ(pair.give(pair.b, frames[0]), control);
        EXPECT_EQ(pair.b.engine.stats().sessions, 1);
        EXPECT_EQ(pair.b.log, Log{});
    }
}

// AM-50: a wire on which the peer never comes has no room for a HELLO.
TEST(AmConnection, GivesUpAPeerForWhichThereIsNeverRoom) {
    for (const Config& config : all()) {
        Pair pair(meeting(config));
        pair.a.engine.on_no_room(pair.now);
        EXPECT_EQ(pair.a.engine.next_deadline(), never);  // nobody waits for the peer
        requests(pair.a, 2);
        const Instant began = pair.now;
        while (pair.a.log.empty()) {
            pair.a.engine.on_no_room(pair.now);
            ASSERT_NE(pair.a.engine.next_deadline(), never);
            pair.wait_for_timer();
        }
        EXPECT_GE(pair.now - began, config.peer_timeout);
        EXPECT_EQ(pair.a.take_log(), (Log{"FATE REQ 1(0)", "FATE REQ 1(1)", "ENDED silent"}));
        pair.a.engine.on_no_room(pair.now);
        EXPECT_EQ(pair.a.engine.next_deadline(), never);
        // A new attempt. The HELLO leaves as soon as there is room, and not when the timer expires.
        requests(pair.a, 1, 5);
        for (int i = 0; i < 3; ++i) {
            pair.a.engine.on_no_room(pair.now);
            pair.wait_for_timer();
        }
        pair.a.engine.on_no_room(pair.now);
        EXPECT_EQ(pair.carry(pair.a), "HELLO 1");
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), (Log{"BEGAN", "REQ 1(5)"}));
    }
}

// AM-50 before any session.
TEST(AmConnection, GivesUpAPeerThatNeverAnswersAHello) {
    for (const Config& config : all()) {
        Pair pair(meeting(config));
        requests(pair.a, 2);
        while (pair.a.log.empty()) {
            pair.a.take(pair.now);
            ASSERT_NE(pair.a.engine.next_deadline(), never);
            pair.wait_for_timer();
        }
        EXPECT_EQ(pair.a.take_log(), (Log{"FATE REQ 1(0)", "FATE REQ 1(1)", "ENDED silent"}));
        requests(pair.a, 1, 5);  // a new attempt; now the peer answers
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), (Log{"BEGAN", "REQ 1(5)"}));
    }
}

// AM-49
TEST(AmConnection, AFrameWithAnotherCookieHasNoEffectButACounter) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 2);
        requests(pair.b, 1);
        const Frame from_b = pair.b.take(pair.now)[0];
        pair.give(pair.b, frames[0]);
        Fingerprint before;
        pair.b.engine.fingerprint(pair.now, before);
        const auto other = [](Header& h) { h.cookie ^= 1; };
        EXPECT_EQ(pair.give(pair.b, pair.forged(frames[1], other)), foreign);
        Fingerprint after;
        pair.b.engine.fingerprint(pair.now, after);
        EXPECT_EQ(before.value(), after.value());
        EXPECT_EQ(pair.b.engine.stats().received_as(foreign), 1);
        EXPECT_EQ(pair.taken(pair.b), "");
        // Its ack is not read, either.
        const auto acked = [&](Header& h) {
            h.cookie ^= 1;
            h.ack[0] = pair.number(Channel::request, 2);
        };
        EXPECT_EQ(pair.give(pair.a, pair.forged(from_b, acked)), foreign);
        EXPECT_FALSE(pair.a.engine.idle());
    }
}

// AM-49
TEST(AmConnection, ARestartedPeerGetsANewSessionAndTheOldOneIsReported) {
    for (const Config& base : all()) {
        Restarted world(meeting(base));
        Pair& pair = world.pair;
        ASSERT_EQ(request(pair.a, 6, {66}), PostStatus::accepted);
        pair.a.take(pair.now);
        requests(world.next.b, 1, 9);
        world.settle();
        EXPECT_EQ(pair.a.take_log(),
                  (Log{"FATE REQ 1(0)", "FATE REQ 6(66)", "ENDED restarted", "BEGAN", "REQ 1(9)"}));
        EXPECT_EQ(pair.a.engine.stats().sessions, 2);
        requests(pair.a, 1, 4);  // and numbers begin again
        EXPECT_EQ(pair.taken(pair.a), "REQ 0");
    }
}

// AM-49
TEST(AmConnection, ALateHelloOfADeadLifeEndsNoSession) {
    for (const Config& base : all()) {
        Config config = meeting(base);
        Pair dead(Restarted::config_of_next_life(config));
        requests(dead.b, 1);
        const Frames late = dead.b.take(dead.now);
        ASSERT_EQ(dead.text(late), "HELLO 1");

        Restarted world(config);
        Pair& pair = world.pair;
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(pair.give(pair.a, late), Verdicts{control});
            const Frames answer = pair.a.take(pair.now);
            EXPECT_EQ(pair.text(answer), "HELLO 1");
            EXPECT_EQ(pair.give(pair.b, answer), Verdicts{foreign});  // not for this life
            EXPECT_EQ(pair.taken(pair.b), "");
        }
        requests(pair.a, 1, 8);
        pair.settle();
        EXPECT_EQ(pair.a.log, Log{});
        EXPECT_EQ(pair.b.take_log(), (Log{"BEGAN", "REQ 1(0)", "REQ 1(8)"}));
        EXPECT_EQ(pair.a.engine.stats().sessions, 1);
    }
}

// AM-49: a replay of a whole handshake of a dead life does not replace the living session.
TEST(AmConnection, AReplayedHandshakeOfADeadLifeEndsNoSession) {
    for (const Config& base : all()) {
        const Config config = meeting(base);
        Pair pair(config);
        Pair other(Restarted::config_of_next_life(config));
        Frames replay;
        requests(other.b, 2);
        for (int i = 0; i < 6; ++i) {
            const Frames out = other.b.take(other.now);
            replay.insert(replay.end(), out.begin(), out.end());
            pair.give(pair.a, out);  // this life of b has received the HELLO of a
            other.give(other.b, pair.a.take(pair.now));
        }
        ASSERT_EQ(pair.a.take_log(), (Log{"BEGAN", "REQ 1(0)", "REQ 1(1)"}));
        requests(pair.b, 1, 50);
        pair.settle();
        ASSERT_EQ(pair.a.take_log(), (Log{"ENDED restarted", "BEGAN", "REQ 1(50)"}));
        for (int i = 0; i < 3; ++i) {
            pair.give(pair.a, replay);
            EXPECT_EQ(pair.a.log, Log{});
            pair.give(pair.b, pair.a.take(pair.now));
        }
        EXPECT_EQ(pair.a.engine.stats().sessions, 2);
        requests(pair.b, 1, 51);
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), Log{"REQ 1(51)"});
    }
}

TEST(AmConnection, EndsOfAnotherConfigurationOrJobDoNotMeet) {
    for (const Config& config : all()) {
        const Config ours = meeting(config);
        Config theirs = Pair::mirrored(ours);
        --theirs.window[0];
        Pair pair(ours, theirs, 1000);
        requests(pair.a, 1);
        EXPECT_EQ(pair.give(pair.b, pair.a.take(pair.now)), Verdicts{foreign});
        EXPECT_EQ(pair.b.engine.stats().hellos_mismatched, 1);
        EXPECT_EQ(pair.taken(pair.b), "");

        theirs = Pair::mirrored(ours);
        theirs.job = 5;
        Pair jobs(ours, theirs, 1000);
        requests(jobs.a, 1);
        EXPECT_EQ(jobs.give(jobs.b, jobs.a.take(jobs.now)), Verdicts{foreign});
        EXPECT_EQ(jobs.b.engine.stats().hellos_mismatched, 0);
        EXPECT_EQ(jobs.taken(jobs.b), "");
    }
}

TEST(AmConnection, ALaunchedSessionIgnoresHello) {
    for (const Config& config : all()) {
        Pair launched(config);
        Pair meets(meeting(config));
        requests(meets.a, 1);
        EXPECT_EQ(launched.give(launched.b, meets.a.take(meets.now)), Verdicts{foreign});
        EXPECT_EQ(launched.taken(launched.b), "");
    }
}

// AM-50: if the wire reports the end of a peer, the session ends at once.
TEST(AmConnection, TheWireMayEndASession) {
    for (const Config& config : all()) {
        for (const WireEvent event : {WireEvent::peer_gone, WireEvent::new_life}) {
            Pair pair(meeting(config));
            requests(pair.a, 1);
            pair.settle();
            pair.a.take_log();
            requests(pair.a, 1, 7);
            pair.a.engine.on_wire_event(pair.now, event);
            pair.a.draw();
            EXPECT_EQ(pair.a.take_log(),
                      (Log{"FATE REQ 1(0)", "FATE REQ 1(7)",
                           event == WireEvent::peer_gone ? "ENDED gone" : "ENDED restarted"}));
            EXPECT_FALSE(pair.a.engine.established());
            pair.a.engine.on_wire_event(pair.now, event);
            pair.a.draw();
            EXPECT_EQ(pair.a.log, Log{});
        }
    }
}

// AM-26, AM-50: a store that has ended is reported so, although the session ends before its caller
// has drawn that.
TEST(AmConnection, WhatEndedBeforeTheSessionIsReportedBeforeIt) {
    for (const Config& config : all()) {
        Pair pair(config);
        const auto source = pattern(100);
        EXPECT_EQ(pair.a.engine.store({.address = Node::base,
                                       .source = source,
                                       .handler = static_cast<HandlerId>(5),
                                       .tag = 7}),
                  PostStatus::accepted);
        pair.carry(pair.a);
        for (const Frame& frame : pair.b.take(pair.now)) {
            pair.a.engine.on_frame(pair.now, {.bytes = frame.bytes, .lent = {}});
        }
        pair.a.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.a.draw();
        EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 7", "ENDED gone"}));
    }
}

// AM-50: a message posted while the end is being drawn belongs to no session, and must not get lost
// with it.
TEST(AmConnection, TakesNothingWhileAnEndedSessionIsDrawn) {
    for (const Config& config : all()) {
        Pair pair(meeting(config));
        requests(pair.a, 1);
        pair.settle();
        requests(pair.a, 1, 7);
        pair.a.take_log();
        const auto source = pattern(10);
        std::vector<std::byte> here(10);
        std::size_t asked = 0;
        pair.a.handler = [&](const Delivery& delivery) {
            if (!std::holds_alternative<FateUnknown>(delivery)) return;
            ++asked;
            EXPECT_EQ(request(pair.a, 1, {99}), PostStatus::window_full);
            EXPECT_EQ(store(pair.a, source), PostStatus::window_full);
            EXPECT_EQ(get(pair.a, here), PostStatus::window_full);
        };
        pair.a.engine.on_wire_event(pair.now, WireEvent::new_life);
        EXPECT_EQ(pair.give(pair.a, pair.b.take(pair.now)), Verdicts{});
        pair.a.draw();
        EXPECT_EQ(asked, 2);
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_EQ(requests(pair.a, 1), 1);
    }
}

// AM-49: nothing remains of a session that ended with a chunk, a gap and a resend in progress,
// wherever they were in the windows.
TEST(AmConnection, ANewSessionKnowsNothingOfWhatTheOldOneHadBegun) {
    for (const Config& config : all_small()) {
        for (std::uint32_t before = 0; before < 20; ++before) {
            Pair pair(meeting(config));
            for (std::uint32_t i = 0; i < before; ++i) {
                ASSERT_EQ(request(pair.a, 1, {i}), PostStatus::accepted);
                pair.settle();
                pair.wait_for_timer();
                pair.settle();
            }
            const auto source = pattern(pair.config.chunk_bytes());
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            requests(pair.a, 4);
            pair.settle();
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            requests(pair.a, 3);
            Frames frames = pair.a.take(pair.now);
            for (std::size_t i = 0; i < frames.size(); ++i) {
                if (i % 3 != 1) pair.give(pair.b, frames[i]);  // some are lost
            }
            pair.carry(pair.b);        // NACKs
            pair.a.take(pair.now, 1);  // the resend has begun
            for (Node* node : {&pair.a, &pair.b}) {
                node->engine.on_wire_event(pair.now, WireEvent::new_life);
                node->draw();
                node->take_log();
            }
            for (std::uint32_t i = 0; i < 24; ++i) {
                ASSERT_EQ(request(pair.a, 1, {i}), PostStatus::accepted);
                ASSERT_EQ(request(pair.b, 1, {i}), PostStatus::accepted);
                for (int turn = 0; turn < 20 && !(pair.a.engine.idle() && pair.b.engine.idle());
                     ++turn) {
                    if (pair.settle() == 0) pair.wait_for_timer();
                }
            }
            const auto heard = [](const Log& log) {
                return std::count_if(log.begin(), log.end(), [](const std::string& line) {
                    return line.substr(0, 3) == "REQ";
                });
            };
            EXPECT_EQ(heard(pair.a.log), 24) << before;
            EXPECT_EQ(heard(pair.b.log), 24) << before;
        }
    }
}

}  // namespace
}  // namespace wireproof::am::test
