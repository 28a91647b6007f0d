// Tests the wire from its user's side, over the smallest link engine.
#include "wireproof/wire/retry/retry_wire.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "wireproof/wire/retry/stop_and_wait_test_kit.hpp"

namespace wireproof::test {
namespace {

using Retried = RetryWire<StopAndWait, LossyEnd>;
static_assert(Lane<Retried>);
static_assert(Wire<Retried>);

constexpr PeerId peer{0};

struct Ends {
    explicit Ends(LossyEnd::Rates rates = {}, std::uint64_t seed = 1)
        : there(std::make_shared<LossyEnd::Line>()),
          back(std::make_shared<LossyEnd::Line>()),
          a(StopAndWait(), LossyEnd(there, back, rates, seed)),
          b(StopAndWait(), LossyEnd(back, there, rates, seed + 1000)) {}

    std::shared_ptr<LossyEnd::Line> there;
    std::shared_ptr<LossyEnd::Line> back;
    Retried a;
    Retried b;
    Instant now{Duration::milliseconds(7)};
};

bool commit(Retried& wire, std::string_view text) {
    TxFrame* const frame = wire.lane(peer).claim();
    if (frame == nullptr) return false;
    frame->add_header<1>()[0] = static_cast<std::byte>(text.front());
    frame->add_payload(std::as_bytes(std::span(text.substr(1))));
    wire.lane(peer).commit();
    return true;
}

std::string received(Retried& wire, Instant now) {
    std::string all;
    while (const auto frame = wire.receive(now)) {
        EXPECT_EQ(frame->integrity, Integrity::intact);
        EXPECT_EQ(frame->from, peer);
        if (!all.empty()) all += ' ';
        for (const std::byte byte : frame->bytes) all += static_cast<char>(byte);
    }
    return all;
}

TEST(RetryWire, PromisesWholeFramesOfTheLongestMessageAndNotAllOfThem) {
    Ends ends;
    const LaneCapabilities capabilities = ends.a.lane(peer).capabilities();
    EXPECT_EQ(capabilities.frame_max, 64U);
    EXPECT_TRUE(capabilities.carries_intact);
    EXPECT_FALSE(capabilities.carries_all) << "a link that goes down loses what is under way";
    EXPECT_FALSE(ends.a.claim()->wants_check());
    EXPECT_TRUE(ends.a.claim()->wants_copy());
}

TEST(RetryWire, LendsRoomWhileTheEngineHasSome) {
    Ends ends;
    EXPECT_NE(ends.a.claim(), nullptr);
    EXPECT_TRUE(commit(ends.a, "one"));
    EXPECT_FALSE(commit(ends.a, "two")) << "one is not acknowledged";
    ends.a.flush(ends.now);
    EXPECT_EQ(received(ends.b, ends.now), "one");
    ends.b.flush(ends.now);
    EXPECT_EQ(received(ends.a, ends.now), "");
    EXPECT_TRUE(commit(ends.a, "two"));
}

TEST(RetryWire, AFrameMayGoAwayOnceItIsCommitted) {
    Ends ends;
    {
        std::string text = "here and gone";
        EXPECT_TRUE(commit(ends.a, text));
        text.assign(text.size(), '?');
    }
    ends.a.flush(ends.now);
    ends.there->clear();  // lost
    ends.now = ends.a.next_deadline();
    EXPECT_EQ(received(ends.a, ends.now), "");
    ends.a.flush(ends.now);
    EXPECT_EQ(received(ends.b, ends.now), "here and gone");
}

TEST(RetryWire, EverythingArrivesOnceAndInOrderThroughLossAndDamage) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Ends ends({.loss = 0.1, .damage = 0.1}, seed);
        std::array<int, 2> sent{};
        std::array<std::string, 2> got;
        constexpr int messages = 300;
        std::string expected;
        for (int i = 0; i < messages; ++i) expected += std::to_string(i) + " ";
        const std::array<Retried*, 2> wires{&ends.a, &ends.b};
        for (int turn = 0; turn < 20'000; ++turn) {
            for (std::size_t i = 0; i < 2; ++i) {
                const std::string came = received(*wires[i], ends.now);
                if (!came.empty()) got[i] += came + " ";
                while (sent[i] < messages && commit(*wires[i], std::to_string(sent[i]))) ++sent[i];
                wires[i]->flush(ends.now);
            }
            if (ends.there->empty() && ends.back->empty()) {
                const Instant next = std::min(ends.a.next_deadline(), ends.b.next_deadline());
                if (next == never) break;
                ends.now = next;
            }
        }
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(got[i], expected) << "seed " << seed;
            const LinkStats& stats = wires[i]->link().stats();
            // About every fourth message or acknowledgement is lost.
            EXPECT_GT(stats.resent, 40U);
            EXPECT_LT(stats.resent, 400U);
            EXPECT_EQ(stats.resent, stats.timeouts);
            EXPECT_GT(stats.received_as(RxVerdict::corrupt), 0U);
        }
    }
}

TEST(RetryWire, WhatTheWireInsideHasRoomForOnlyLaterLeavesWithTheSameFlush) {
    Ends ends;
    commit(ends.a, "x");
    ends.a.flush(ends.now);
    ends.b.inner().shelf_max = 1;
    EXPECT_EQ(received(ends.b, ends.now), "x");
    commit(ends.b, "y");
    ends.b.flush(ends.now);
    EXPECT_EQ(ends.back->size(), 2U) << "the acknowledgement and the message";
}

TEST(RetryWire, ItsDeadlineIsTheEarlierOfTheEnginesAndTheWires) {
    Ends ends;
    EXPECT_EQ(ends.a.next_deadline(), never);
    commit(ends.a, "x");
    ends.a.flush(ends.now);
    EXPECT_EQ(ends.a.next_deadline(), ends.now + StopAndWait::resend_after);
    ends.a.inner().deadline = ends.now + Duration(1);
    EXPECT_EQ(ends.a.next_deadline(), ends.now + Duration(1));
}

TEST(RetryWire, ReceivingPassesTheTimeToTheEngine) {
    Ends ends;
    commit(ends.a, "x");
    ends.a.flush(ends.now);
    ends.there->clear();
    ends.now = ends.now + (StopAndWait::resend_after - Duration(1));
    received(ends.a, ends.now);
    EXPECT_EQ(ends.a.link().stats().timeouts, 0U);
    ends.now = ends.now + Duration(1);
    received(ends.a, ends.now);
    EXPECT_EQ(ends.a.link().stats().timeouts, 1U);
}

TEST(RetryWire, ANewLifeIsReportedWhenTheLinkIsUpAgainButNotTheFirstTime) {
    Ends ends;
    EXPECT_EQ(received(ends.a, ends.now), "");
    EXPECT_FALSE(ends.a.next_event().has_value());
    ends.a.inner().event = WireEvent::new_life;
    EXPECT_EQ(received(ends.a, ends.now), "");
    EXPECT_EQ(ends.a.next_event(), std::pair(peer, WireEvent::new_life));
    EXPECT_FALSE(ends.a.next_event().has_value()) << "once";
}

TEST(RetryWire, APeerThatIsGoneIsReportedAtOnce) {
    Ends ends;
    ends.a.inner().event = WireEvent::peer_gone;
    EXPECT_EQ(received(ends.a, ends.now), "");
    EXPECT_EQ(ends.a.next_event(), std::pair(peer, WireEvent::peer_gone));
    EXPECT_EQ(received(ends.a, ends.now), "");
    EXPECT_FALSE(ends.a.next_event().has_value()) << "the link is not up again";
}

TEST(RetryWire, NothingOfANewLifeIsHandedUpBeforeItsEventIsDrawn) {
    Ends ends;
    received(ends.a, ends.now);
    ends.a.inner().event = WireEvent::new_life;
    EXPECT_EQ(received(ends.a, ends.now), "");
    commit(ends.b, "new");
    ends.b.flush(ends.now);
    EXPECT_EQ(received(ends.a, ends.now), "");
    EXPECT_EQ(ends.a.claim(), nullptr);
    EXPECT_FALSE(ends.a.prepare_to_sleep());
    EXPECT_EQ(ends.a.next_deadline(), ends.now);
    EXPECT_TRUE(ends.a.next_event().has_value());
    EXPECT_EQ(received(ends.a, ends.now), "new");
    EXPECT_TRUE(ends.a.prepare_to_sleep());
    EXPECT_NE(ends.a.claim(), nullptr);
}

}  // namespace
}  // namespace wireproof::test
