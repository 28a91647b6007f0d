// Short messages that share a packet. Each keeps its own number, so nothing else may change.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

// Bundles of 24 bytes, so that three messages fill one: those of users hold hundreds.

std::vector<Config> all_kinds() {
    return {bundling(small(bare())), bundling(small(sp2()))};
}

Config small_selective() {
    return bundling(small(bare()));
}

Log heard(std::uint32_t first, std::uint32_t last) {
    Log log;
    for (std::uint32_t i = first; i <= last; ++i) log.push_back("REQ 1(" + std::to_string(i) + ")");
    return log;
}

TEST(AmBundle, WhatWaitsInOneTurnSharesPacketsAndIsAnsweredSo) {
    for (const Config& config : all_kinds()) {
        Pair pair(config);
        reply_to_all(pair.b);
        requests(pair.a, 7);
        EXPECT_EQ(pair.carry(pair.a), "BUNDLE 0..2 | BUNDLE 3..5 | REQ 6");
        EXPECT_EQ(pair.b.take_log(), heard(0, 6));
        EXPECT_EQ(pair.carry(pair.b), "BUNDLE/r 0..2 | BUNDLE/r 3..5 | REP 6");
        EXPECT_EQ(pair.a.log.size(), 7U);
        pair.settle();
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_EQ(pair.a.engine.stats().sent_of(Kind::bundle), 2U);
        EXPECT_EQ(pair.a.engine.stats().sent_of(Kind::request), 1U);
    }
}

TEST(AmBundle, OneMessageLeavesAsItself) {
    Pair pair(small_selective());
    requests(pair.a, 1);
    EXPECT_EQ(pair.carry(pair.a), "REQ 0");
    EXPECT_EQ(pair.b.take_log(), heard(0, 0));
}

TEST(AmBundle, IsNoLongerThanItMayBe) {
    Pair pair(small_selective());
    EXPECT_EQ(request(pair.a, 1, {1, 2, 3}), PostStatus::accepted);  // 16 bytes with its entry
    EXPECT_EQ(request(pair.a, 1, {4}), PostStatus::accepted);        // 24
    EXPECT_EQ(request(pair.a, 1, {}), PostStatus::accepted);         // 28
    EXPECT_EQ(request(pair.a, 1, {1, 2, 3, 4, 5, 6}), PostStatus::accepted);  // too long to share
    EXPECT_EQ(request(pair.a, 2, {}), PostStatus::accepted);
    EXPECT_EQ(request(pair.a, 3, {}), PostStatus::accepted);
    EXPECT_EQ(pair.carry(pair.a), "BUNDLE 0..1 | REQ 2..3 | BUNDLE 4..5");
    EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(1,2,3)", "REQ 1(4)", "REQ 1()", "REQ 1(1,2,3,4,5,6)",
                                      "REQ 2()", "REQ 3()"}));
    EXPECT_EQ(request(pair.a, 1, {1, 2, 3}), PostStatus::accepted);
    EXPECT_EQ(request(pair.a, 1, {4, 5}), PostStatus::accepted);  // 28
    EXPECT_EQ(pair.carry(pair.a), "REQ 6..7");
}

// A message has bytes, not words: its length is in its entry, and it is not padded.
TEST(AmBundle, MessagesOfAnyLengthShareOne) {
    Config config = small_selective();
    config.bundle_max = config.data_max();
    Pair pair(config);
    const auto bytes = pattern(9);
    for (std::size_t length = 0; length <= 9; ++length) {
        EXPECT_EQ(pair.a.engine.request(HandlerId(1), ConstBytes(bytes).first(length)),
                  PostStatus::accepted);
    }
    const Frames frames = pair.a.take(pair.now);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].header.kind, Kind::bundle);
    EXPECT_EQ(frames[0].header.count, 10);
    EXPECT_EQ(frames[0].bytes.size(), config.header_size() + 10 * BundleEntry::size + 45);
    std::size_t length = 0;
    pair.b.handler = [&](const Delivery& delivery) {
        const auto* const request = std::get_if<Request>(&delivery);
        ASSERT_NE(request, nullptr);
        EXPECT_TRUE(same(request->arguments, ConstBytes(bytes).first(length++)));
    };
    pair.give(pair.b, frames);
    EXPECT_EQ(length, 10U);
}

TEST(AmBundle, AMessageOfAnyLengthIsOnePacketOfThatLength) {
    Pair pair(small_selective());
    const auto bytes = pattern(9);
    for (std::size_t length = 0; length <= 9; ++length) {
        EXPECT_EQ(pair.a.engine.request(HandlerId(1), ConstBytes(bytes).first(length)),
                  PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(frames.size(), 1U);
        EXPECT_EQ(frames[0].header.kind, Kind::request);
        EXPECT_EQ(frames[0].header.count, length);
        EXPECT_EQ(frames[0].bytes.size(), pair.a.engine.config().header_size() + length);
        pair.b.handler = [&](const Delivery& delivery) {
            const auto* const request = std::get_if<Request>(&delivery);
            ASSERT_NE(request, nullptr);
            EXPECT_TRUE(same(request->arguments, ConstBytes(bytes).first(length)));
            EXPECT_EQ(pair.b.engine.reply(HandlerId(2), request->arguments), PostStatus::accepted);
        };
        pair.give(pair.b, frames);
        pair.a.handler = [&](const Delivery& delivery) {
            const auto* const reply = std::get_if<Reply>(&delivery);
            ASSERT_NE(reply, nullptr);
            EXPECT_TRUE(same(reply->arguments, ConstBytes(bytes).first(length)));
        };
        pair.settle();
        EXPECT_EQ(pair.a.log.size(), length + 1);
    }
}

// Packets leave in the order of the calls: a store between two requests stays there.
TEST(AmBundle, AStoreEndsOne) {
    Pair pair(small_selective());
    requests(pair.a, 2);
    const auto source = pattern(5);
    EXPECT_EQ(store(pair.a, source), PostStatus::accepted);
    requests(pair.a, 2, 2);
    EXPECT_EQ(pair.carry(pair.a), "BUNDLE 0..1 | OPEN 2 | CHUNK 3.0 | BUNDLE 4..5");
    EXPECT_EQ(pair.b.log.size(), 5U);
    EXPECT_TRUE(pair.b.log[2].starts_with("STORED"));
}

// Messages before and after the end of the ring of the save queue do not follow each other in
// memory.
TEST(AmBundle, TheEndOfTheSaveQueueEndsOne) {
    Config config = small_selective();
    config.message_max = 16;
    config.save_bytes = 5 * 8 + 4;
    Pair pair(config);
    requests(pair.a, 3);
    EXPECT_EQ(pair.carry(pair.a), "BUNDLE 0..2");
    requests(pair.a, 1, 3);
    const Frames under_way = pair.a.take(pair.now);
    EXPECT_EQ(pair.carry(pair.b), "ACK 3 0");
    requests(pair.a, 3, 4);  // one at the end of the ring, two at its front
    pair.give(pair.b, under_way);
    EXPECT_EQ(pair.carry(pair.a), "REQ 4 | BUNDLE 5..6");
    EXPECT_EQ(pair.b.take_log(), heard(0, 6));
}

// AM-15, AM-38: messages that were lost together are sent again together, and no others are.
TEST(AmBundle, ALostOneIsNamedAndSentAgainWhole) {
    Pair pair(small_selective());
    requests(pair.a, 9);
    Frames frames = pair.a.take(pair.now);
    ASSERT_EQ(pair.text(frames), "BUNDLE 0..2 | BUNDLE 3..5 | BUNDLE 6..8");
    EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
    EXPECT_EQ(pair.give(pair.b, frames[2]), held);
    EXPECT_EQ(pair.b.take_log(), heard(0, 2));
    EXPECT_EQ(pair.carry(pair.b), "NACK 3 <5 [000111]");
    EXPECT_EQ(pair.carry(pair.a), "BUNDLE 3..5*");
    EXPECT_EQ(pair.b.take_log(), heard(3, 8));
    EXPECT_EQ(pair.a.engine.stats().resent, 1U);
    pair.settle();
    EXPECT_TRUE(pair.a.engine.idle());
}

// AM-9, AM-11: go-back-N drops packets that are ahead, also bundles, and gets everything again.
TEST(AmBundle, GoBackNDropsWhatIsAhead) {
    Pair pair(bundling(small(sp2())));
    requests(pair.a, 6);
    const Frames frames = pair.a.take(pair.now);
    EXPECT_EQ(pair.give(pair.b, frames[1]), out_of_sequence);
    EXPECT_EQ(pair.carry(pair.b), "NACK 0");
    EXPECT_EQ(pair.carry(pair.a), "BUNDLE 0..2* | BUNDLE 3..5*");
    EXPECT_EQ(pair.b.take_log(), heard(0, 5));
}

// AM-15: a message is delivered once, even if it is sent again in another packet.
TEST(AmBundle, OneThatHasPartlyArrivedBringsOnlyTheRest) {
    Pair pair(small_selective());
    requests(pair.a, 3);
    const Frame whole = pair.a.take(pair.now)[0];
    Frame middle = whole;  // the second message by itself
    middle.header.kind = Kind::request;
    middle.header.number = pair.number(Channel::request, 1);
    middle.header.count = 4;
    middle.header.id = 1;
    const std::size_t header = pair.config.header_size();
    const std::vector<std::byte> word(
        whole.bytes.begin() + static_cast<std::ptrdiff_t>(header + 12),
        whole.bytes.begin() + static_cast<std::ptrdiff_t>(header + 16));
    middle.bytes.resize(header);
    middle.bytes.insert(middle.bytes.end(), word.begin(), word.end());
    EXPECT_EQ(pair.give(pair.b, pair.sealed(middle)), held);
    EXPECT_EQ(pair.carry(pair.b), "NACK 0 <1 [01]");
    EXPECT_EQ(pair.taken(pair.a), "REQ 0*");  // not those that have, or may have, arrived
    EXPECT_EQ(pair.give(pair.b, whole), accepted);
    EXPECT_EQ(pair.b.take_log(), heard(0, 2));
    EXPECT_EQ(pair.give(pair.b, whole), duplicate);
    EXPECT_EQ(pair.give(pair.b, pair.sealed(middle)), duplicate);
    EXPECT_EQ(pair.b.take_log(), Log{});
}

Config with_one_reply_place(Config config) {
    config.reply_places = 1;
    config.window[1] = 4;
    return config;
}

/// The receiver refuses the last message of two bundles: four replies are in the window, and one
/// waits. Returns all frames that left.
Frames refuse_in_a_bundle(Pair& pair, std::uint32_t messages) {
    reply_to_all(pair.b);
    requests(pair.a, messages);
    const Frames frames = pair.a.take(pair.now);
    EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
    EXPECT_EQ(pair.give(pair.b, frames[1]), accepted);
    EXPECT_EQ(pair.b.take_log(), heard(0, 4));
    return frames;
}

// AM-10, AM-42: the handler of the first message may take the last place for a reply. Then the
// second is refused, as in a packet of its own, and sent again once there is a place.
TEST(AmBundle, MessagesThatFindNoReplyPlaceAreRefusedOneByOne) {
    for (const Config& config : all_kinds()) {
        Pair pair(with_one_reply_place(config));
        const Frames frames = refuse_in_a_bundle(pair, 9);
        EXPECT_NE(pair.give(pair.b, frames[2]), accepted);
        EXPECT_EQ(pair.b.take_log(), Log{});
        for (int i = 0; i < 20 && !pair.a.engine.idle(); ++i) {
            pair.settle();
            if (!pair.a.engine.idle()) pair.wait_for_timer();
        }
        EXPECT_EQ(pair.b.take_log(), heard(5, 8));
        EXPECT_EQ(pair.a.take_log().size(), 9U);
        EXPECT_LE(pair.a.engine.stats().resent, 4U);
    }
}

// AM-42
TEST(AmBundle, ARefusedMessageThatArrivedAgainDrawsNoNack) {
    for (const Config& config : all_kinds()) {
        Pair pair(with_one_reply_place(config));
        const Frames frames = refuse_in_a_bundle(pair, 6);
        pair.give(pair.a, pair.b.take(pair.now));
        pair.give(pair.b, pair.a.take(pair.now));  // acknowledges replies
        pair.give(pair.b, frames[1]);              // a copy
        EXPECT_EQ(pair.b.take_log(), heard(5, 5));
        pair.give(pair.a, pair.b.take(pair.now));
        EXPECT_EQ(pair.b.engine.stats().sent_of(Kind::nack), 0U);
    }
}

// AM-50
TEST(AmBundle, EachMessageIsReportedWhereItsSessionEnds) {
    for (const Config& config : all_kinds()) {
        Pair pair(meeting(config));
        requests(pair.a, 1);
        pair.settle();
        requests(pair.a, 7, 1);
        EXPECT_EQ(request(pair.a, 2, {8}), PostStatus::accepted);
        EXPECT_EQ(request(pair.a, 2, {9}), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        pair.give(pair.b, {frames[0]});  // three of them
        pair.wait_for_timer();
        pair.give(pair.b, pair.a.take(pair.now));  // asks
        pair.give(pair.a, pair.b.take(pair.now));
        pair.a.take_log();
        pair.a.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.a.draw();
        EXPECT_EQ(pair.a.take_log(),
                  (Log{"FATE REQ 1(4)", "FATE REQ 1(5)", "FATE REQ 1(6)", "FATE REQ 1(7)",
                       "FATE REQ 2(8)", "FATE REQ 2(9)", "ENDED gone"}));
    }
}

TEST(AmBundle, SoIsEachReply) {
    for (const Config& config : all_kinds()) {
        Pair pair(meeting(config));
        reply_to_all(pair.b);
        requests(pair.a, 1);
        pair.settle();
        requests(pair.a, 3, 1);
        pair.give(pair.b, pair.a.take(pair.now));
        EXPECT_EQ(pair.b.take(pair.now).size(), 1U);  // it is lost
        EXPECT_EQ(requests(pair.b, 2, 7), 2U);
        pair.b.take_log();
        pair.b.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.b.draw();
        EXPECT_EQ(pair.b.take_log(), (Log{"FATE REQ 1(7)", "FATE REQ 1(8)", "FATE REP 2(1)",
                                          "FATE REP 2(2)", "FATE REP 2(3)", "ENDED gone"}));
    }
}

TEST(AmBundle, ARefusalLeavesAlone) {
    Config config = small_selective();
    config.bundle_max = 64;
    Pair pair(config);
    pair.b.handler = [&](const Delivery&) {
        EXPECT_EQ(pair.b.engine.refuse(HandlerId(1)), PostStatus::accepted);
    };
    requests(pair.a, 2);
    EXPECT_EQ(pair.carry(pair.a), "BUNDLE 0..1");
    EXPECT_EQ(pair.carry(pair.b), "REP 0..1");
    EXPECT_EQ(pair.a.take_log(), Log(2, "REFUSED 1 no_handler"));
}

TEST(AmBundle, DamageTakesAllOfIt) {
    Pair pair(small_selective());
    requests(pair.a, 3);
    Frame frame = pair.a.take(pair.now)[0];
    frame.bytes.back() ^= std::byte{1};
    EXPECT_EQ(pair.give(pair.b, frame), corrupt);
    EXPECT_EQ(pair.b.log, Log{});
    pair.wait_for_timer();
    pair.settle();
    EXPECT_EQ(pair.b.take_log(), heard(0, 2));
}

// The rest of a bundle ends with its frame: a caller that does not draw loses only time.
TEST(AmBundle, MessagesLeftInABundleWhenTheNextFrameArrivesAreSentAgain) {
    Pair pair(small_selective());
    requests(pair.a, 4);
    const Frames frames = pair.a.take(pair.now);
    EXPECT_EQ(pair.b.engine.on_frame(pair.now, {frames[0].bytes, PeerId{0}, Integrity::check}),
              accepted);
    EXPECT_TRUE(pair.b.engine.next_delivery());
    EXPECT_EQ(pair.give(pair.b, frames[1]), held);
    EXPECT_EQ(pair.b.log, Log{});
    pair.settle();
    EXPECT_EQ(pair.b.take_log(), heard(1, 3));
}

TEST(AmBundle, WhatNoSenderWritesIsMalformedAndWithoutEffect) {
    Pair pair(small_selective());
    requests(pair.a, 2);
    const Frame whole = pair.a.take(pair.now)[0];
    const std::size_t header = pair.config.header_size();
    const auto byte = [&](std::size_t at, std::byte value) {
        Frame frame = whole;
        frame.bytes[header + at] = value;
        return pair.sealed(frame);
    };
    const auto with = [&](auto&& change) { return pair.forged(whole, change); };
    Frame longer = whole;
    longer.bytes.resize(longer.bytes.size() + 4);
    Frame shorter = whole;
    shorter.bytes.resize(shorter.bytes.size() - 4);
    Frame too_long = whole;
    too_long.bytes.resize(header + 28);
    const Frames none = {
        with([](Header& h) { h.count = 0; }),
        with([](Header& h) { h.count = 1; }),
        with([](Header& h) { h.count = 3; }),
        with([](Header& h) { h.id = 1; }),
        byte(0, std::byte{0}),     // no handler
        byte(2, std::byte{3}),     // more words than there are
        byte(3, std::byte{0xFF}),  // more than any message has
        pair.sealed(longer),
        pair.sealed(shorter),
        pair.sealed(too_long),
    };
    for (std::size_t i = 0; i < none.size(); ++i) {
        const auto before = pair.b.fingerprint(pair.now);
        EXPECT_EQ(pair.give(pair.b, none[i]), malformed) << i;
        EXPECT_EQ(pair.b.fingerprint(pair.now), before) << i;
    }
    EXPECT_EQ(pair.b.log, Log{});
    // If the ends did not agree on bundles, there are none.
    Config without = Pair::mirrored(pair.config);
    without.bundle_max = 0;
    Pair other(pair.config, without, 1024);
    EXPECT_EQ(other.give(other.b, whole), malformed);
    EXPECT_EQ(pair.give(pair.b, whole), accepted);
    EXPECT_EQ(pair.b.take_log(), heard(0, 1));
}

// The fast path draws messages in place; next_delivery() returns the same.
TEST(AmBundle, TakenWhereTheyLieTheyAreTheSame) {
    Pair pair(small_selective());
    requests(pair.a, 3);
    const Frame frame = pair.a.take(pair.now)[0];
    EXPECT_EQ(pair.b.engine.on_frame(pair.now, {frame.bytes, PeerId{0}, Integrity::intact}),
              accepted);
    Log log;
    while (const auto* message = pair.b.engine.take_message()) {
        log.push_back("REQ " + text(message->handler, message->arguments()));
        EXPECT_EQ(pair.b.engine.reply(HandlerId(2), message->arguments()), PostStatus::accepted);
        EXPECT_EQ(pair.b.engine.reply(HandlerId(2), {}), PostStatus::not_allowed);
    }
    EXPECT_FALSE(pair.b.engine.next_delivery());
    EXPECT_EQ(log, heard(0, 2));
    EXPECT_EQ(pair.taken(pair.b), "BUNDLE/r 0..2");
}

// A handler may throw. Then nobody draws the rest, and the wire reuses its memory.
TEST(AmBundle, WhatWasNotDrawnWhenTimePassedIsNotLookedAtAgain) {
    Pair pair(small_selective());
    requests(pair.a, 3);
    Frame frame = pair.a.take(pair.now)[0];
    ASSERT_EQ(pair.b.engine.on_frame(pair.now, {frame.bytes, PeerId{0}, Integrity::intact}),
              accepted);
    ASSERT_NE(pair.b.engine.take_message(), nullptr);
    std::fill(frame.bytes.begin(), frame.bytes.end(), std::byte{0x42});
    pair.b.engine.on_deadline(pair.now);
    EXPECT_EQ(pair.b.engine.take_message(), nullptr);
    EXPECT_FALSE(pair.b.engine.next_delivery());
    // The others were not acknowledged, so they are sent again.
    for (int i = 0; i < 10 && !pair.a.engine.idle(); ++i) {
        pair.settle();
        if (!pair.a.engine.idle()) pair.wait_for_timer();
    }
    EXPECT_EQ(pair.b.take_log(), heard(1, 2));
}

}  // namespace
}  // namespace wireproof::am::test
