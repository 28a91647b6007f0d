// The agreement on a session, HELLO by HELLO.
#include "wireproof/proto/am/session/handshake.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using Outcome = Handshake::Outcome;

Config node(std::uint16_t number, std::uint64_t life = 1) {
    Config config = meeting(sp2());
    config.node = number;
    config.peer = static_cast<std::uint16_t>(1 - number);
    config.seed = life;
    return config;
}

/// Gives `to` the next HELLO of `from`.
Handshake::Outcome pass(Handshake& from, Handshake& to) {
    const auto hello = from.take_hello();
    return to.on_hello(hello.body, hello.wants_answer);
}

void establish(Handshake& a, Handshake& b) {
    ASSERT_EQ(pass(a, b), Outcome::noted);
    ASSERT_EQ(pass(b, a), Outcome::established);
    ASSERT_EQ(pass(a, b), Outcome::established);
    ASSERT_EQ(a.cookie(), b.cookie());
}

// AM-49
TEST(AmHandshake, BothEndsComeToOneCookieThatIsNewInEveryLife) {
    std::vector<std::uint64_t> cookies;
    for (std::uint64_t life = 1; life <= 20; ++life) {
        Handshake a(node(0));
        Handshake b(node(1, life));
        establish(a, b);
        EXPECT_NE(a.cookie(), 0);
        EXPECT_FALSE(a.answer_due());
        EXPECT_FALSE(b.answer_due());
        cookies.push_back(a.cookie());
    }
    std::sort(cookies.begin(), cookies.end());
    EXPECT_EQ(std::unique(cookies.begin(), cookies.end()), cookies.end());
}

// AM-49: without the new nonce, a late HELLO with an old echo would replace the session.
TEST(AmHandshake, AnotherLifeIsAnsweredWithAFreshNonce) {
    Handshake a(node(0));
    Handshake b(node(1));
    const auto first = a.take_hello();
    ASSERT_EQ(b.on_hello(first.body, first.wants_answer), Outcome::noted);
    ASSERT_EQ(pass(b, a), Outcome::established);
    ASSERT_EQ(pass(a, b), Outcome::established);
    const std::uint64_t cookie = a.cookie();
    Handshake other(node(1, 99));
    ASSERT_EQ(pass(other, a), Outcome::noted);
    EXPECT_EQ(a.cookie(), cookie);
    const auto answer = a.take_hello();
    EXPECT_NE(answer.body.nonce, first.body.nonce);
    EXPECT_TRUE(answer.wants_answer);
    EXPECT_EQ(other.on_hello(answer.body, true), Outcome::established);
    EXPECT_EQ(a.cookie(), cookie);  // still
    EXPECT_EQ(pass(other, a), Outcome::established);
    EXPECT_EQ(a.cookie(), other.cookie());
    EXPECT_NE(a.cookie(), cookie);
}

// AM-49
TEST(AmHandshake, OnlyTheEchoOfTheFreshNonceReplacesASession) {
    Handshake a(node(0));
    Handshake b(node(1));
    establish(a, b);
    const std::uint64_t cookie = a.cookie();
    const std::uint64_t own = [&] {
        a.on_hello({0, 777, 0, node(0).terms()}, true);
        return a.take_hello().body.nonce;
    }();
    for (const std::uint64_t echo : {std::uint64_t{1}, own ^ 1, cookie}) {
        EXPECT_EQ(a.on_hello({0, 777, echo, node(0).terms()}, true), Outcome::foreign);
    }
    EXPECT_EQ(a.on_hello({0, 778, own, node(0).terms()}, true), Outcome::foreign);  // drawn for 777
    EXPECT_EQ(a.cookie(), cookie);
    EXPECT_EQ(a.on_hello({0, 777, own, node(0).terms()}, true), Outcome::established);
    EXPECT_NE(a.cookie(), cookie);
}

TEST(AmHandshake, IgnoresOtherJobsOtherTermsAndNoNonce) {
    Handshake a(node(0));
    const std::uint64_t terms = node(0).terms();
    EXPECT_EQ(a.on_hello({1, 5, 0, terms}, true), Outcome::foreign);
    EXPECT_EQ(a.on_hello({0, 0, 0, terms}, true), Outcome::foreign);
    EXPECT_EQ(a.on_hello({0, 5, 6, terms}, true), Outcome::foreign);  // an echo of an unknown nonce
    EXPECT_EQ(a.on_hello({0, 5, 0, terms + 1}, true), Outcome::mismatched);
    EXPECT_FALSE(a.answer_due());
    EXPECT_FALSE(a.established());
}

TEST(AmHandshake, ARepeatedHelloOfTheSessionIsAnsweredWhenItAsksForIt) {
    Handshake a(node(0));
    Handshake b(node(1));
    ASSERT_EQ(pass(a, b), Outcome::noted);
    const auto hello = b.take_hello();
    ASSERT_EQ(a.on_hello(hello.body, hello.wants_answer), Outcome::established);
    a.take_hello();  // lost
    EXPECT_FALSE(a.answer_due());
    EXPECT_EQ(a.on_hello(hello.body, true), Outcome::noted);
    ASSERT_TRUE(a.answer_due());
    EXPECT_EQ(pass(a, b), Outcome::established);
    EXPECT_EQ(a.cookie(), b.cookie());
    EXPECT_EQ(a.on_hello(hello.body, false), Outcome::noted);
    EXPECT_FALSE(a.answer_due());
}

// AM-49: a HELLO with the peer's nonce of this session echoes the nonce of this end, or none. With
// another echo it is not of this session and must get no answer.
TEST(AmHandshake, AHelloOfTheSessionWithAnEchoOfAnotherNonceIsForeign) {
    Handshake a(node(0));
    Handshake b(node(1));
    ASSERT_EQ(pass(a, b), Outcome::noted);
    const auto hello = b.take_hello();
    ASSERT_EQ(a.on_hello(hello.body, hello.wants_answer), Outcome::established);
    ASSERT_EQ(pass(a, b), Outcome::established);
    const std::uint64_t cookie = a.cookie();
    const std::uint64_t own = hello.body.echo;
    const std::uint64_t peer = hello.body.nonce;
    const std::uint64_t terms = node(0).terms();
    for (const std::uint64_t echo : {std::uint64_t{1}, own ^ 1, peer, cookie}) {
        for (const bool wants_answer : {false, true}) {
            EXPECT_EQ(a.on_hello({0, peer, echo, terms}, wants_answer), Outcome::foreign);
            EXPECT_FALSE(a.answer_due());
        }
    }
    for (const std::uint64_t echo : {std::uint64_t{0}, own}) {
        EXPECT_EQ(a.on_hello({0, peer, echo, terms}, false), Outcome::noted);
        EXPECT_FALSE(a.answer_due());
        EXPECT_EQ(a.on_hello({0, peer, echo, terms}, true), Outcome::noted);
        ASSERT_TRUE(a.answer_due());
        EXPECT_EQ(a.take_hello().body.echo, peer);
    }
    EXPECT_EQ(a.cookie(), cookie);
}

// AM-49: an echo establishes only the candidate with the peer's nonce, not another one.
TEST(AmHandshake, BesideASessionTwoMayBeFormedAndEachOnlyByItsOwnNonces) {
    Handshake a(node(0));
    Handshake b(node(1));
    establish(a, b);
    const std::uint64_t terms = node(0).terms();
    const auto fresh_for = [&](std::uint64_t nonce) {
        EXPECT_EQ(a.on_hello({0, nonce, 0, terms}, true), Outcome::noted);
        return a.take_hello().body.nonce;
    };
    const std::uint64_t first = fresh_for(701);
    const std::uint64_t second = fresh_for(702);
    EXPECT_NE(first, second);
    EXPECT_EQ(fresh_for(701), first);  // as before
    EXPECT_EQ(a.on_hello({0, 701, second, terms}, true), Outcome::foreign);
    EXPECT_EQ(a.on_hello({0, 702, first, terms}, true), Outcome::foreign);
    const std::uint64_t third = fresh_for(703);  // replaces the candidate heard least recently
    EXPECT_EQ(a.on_hello({0, 702, second, terms}, true), Outcome::foreign);
    EXPECT_FALSE(a.answer_due());
    const std::uint64_t cookie = a.cookie();
    EXPECT_EQ(a.on_hello({0, 701, first, terms}, false), Outcome::established);
    EXPECT_NE(a.cookie(), cookie);
    EXPECT_EQ(a.on_hello({0, 703, third, terms}, true), Outcome::foreign);  // this one is gone, too
}

// AM-49: a candidate beside a session stays after its end, because the peer may have begun it
// already.
TEST(AmHandshake, WhatIsBeingFormedBesideASessionOutlivesIt) {
    Handshake a(node(0));
    Handshake b(node(1));
    establish(a, b);
    Handshake next(node(1, 99));
    ASSERT_EQ(pass(next, a), Outcome::noted);
    ASSERT_EQ(pass(a, next), Outcome::established);
    a.end({.why = SessionEnded::Why::silent});
    EXPECT_FALSE(a.established());
    EXPECT_TRUE(a.completes(next.cookie()));
    EXPECT_EQ(a.cookie(), next.cookie());
}

// AM-50: an attempt that was given up does not succeed later.
TEST(AmHandshake, AnAttemptThatWasGivenUpIsOver) {
    Handshake a(node(0));
    Handshake b(node(1));
    ASSERT_EQ(pass(a, b), Outcome::noted);
    a.end({.why = SessionEnded::Why::silent});
    EXPECT_EQ(pass(b, a), Outcome::foreign);
    EXPECT_FALSE(a.answer_due());
    establish(a, b);
}

// AM-49: a late HELLO of an ended life does not replace the nonce of the present one.
TEST(AmHandshake, ALateHelloKeepsNobodyFromMeeting) {
    Handshake a(node(0));
    Handshake b(node(1));
    ASSERT_EQ(a.on_hello({0, 777, 0, node(0).terms()}, true), Outcome::noted);
    EXPECT_EQ(a.take_hello().body.echo, 777U);  // the answer, lost
    establish(a, b);
}

// AM-49: a cookie of another job gets no answer; one of this job gets one per second.
TEST(AmHandshake, DisownsWhatItDoesNotKnow) {
    Handshake a(node(0));
    Handshake b(node(1));
    establish(a, b);
    const std::uint64_t cookie = a.cookie();
    Handshake other(node(1, 99));
    Instant now(Duration::milliseconds(5));
    other.on_unknown_session(now, cookie ^ (std::uint64_t{1} << 63));
    EXPECT_FALSE(other.answer_due());
    other.on_unknown_session(now, cookie);
    ASSERT_TRUE(other.answer_due());
    ASSERT_TRUE(other.disowns());
    const auto said = other.take_disowned();
    EXPECT_FALSE(other.answer_due());
    EXPECT_EQ(said.cookie, cookie);
    EXPECT_TRUE(a.is_disowned(said.cookie, said.proof));
    EXPECT_FALSE(a.is_disowned(said.cookie ^ 1, said.proof));
    EXPECT_FALSE(a.is_disowned(said.cookie, said.proof ^ 1));
    EXPECT_FALSE(other.is_disowned(said.cookie, said.proof));
    a.end({.why = SessionEnded::Why::silent});
    EXPECT_FALSE(a.is_disowned(said.cookie, said.proof));
    EXPECT_FALSE(a.is_disowned(0, said.proof));
    other.on_unknown_session(now + Duration::milliseconds(999), cookie);
    EXPECT_FALSE(other.answer_due());
    other.on_unknown_session(now + Duration::milliseconds(1'000), cookie);
    EXPECT_TRUE(other.disowns());
    // A HELLO says more than an UNKNOWN.
    EXPECT_EQ(pass(a, other), Outcome::noted);
    EXPECT_FALSE(other.disowns());
    EXPECT_TRUE(other.answer_due());
}

TEST(AmHandshake, APeerThatKnowsTheCookieHasEchoed) {
    Handshake a(node(0));
    Handshake b(node(1));
    ASSERT_EQ(pass(a, b), Outcome::noted);
    ASSERT_EQ(pass(b, a), Outcome::established);
    EXPECT_FALSE(b.completes(a.cookie() ^ 1));
    EXPECT_FALSE(b.completes(0));
    EXPECT_TRUE(b.completes(a.cookie()));
    EXPECT_TRUE(b.established());
    EXPECT_FALSE(b.completes(a.cookie()));
}

TEST(AmHandshake, AfterTheEndTheNonceIsFresh) {
    Handshake a(node(0));
    Handshake b(node(1));
    establish(a, b);
    const std::uint64_t cookie = a.cookie();
    a.end({.why = SessionEnded::Why::silent});
    EXPECT_FALSE(a.established());
    EXPECT_FALSE(a.completes(cookie));
    ASSERT_EQ(pass(a, b), Outcome::noted);
    ASSERT_EQ(pass(b, a), Outcome::established);
    ASSERT_EQ(pass(a, b), Outcome::established);
    EXPECT_EQ(a.cookie(), b.cookie());
    EXPECT_NE(a.cookie(), cookie);
}

TEST(AmHandshake, ALaunchersSessionIsTheOnlyOne) {
    Config config = node(0);
    config.cookie = 12;
    Handshake a(config);
    EXPECT_TRUE(a.established());
    EXPECT_FALSE(a.can_meet());
    EXPECT_EQ(a.on_hello({0, 5, 0, config.terms()}, true), Outcome::foreign);
    a.end({.why = SessionEnded::Why::silent});
    EXPECT_FALSE(a.established());
}

}  // namespace
}  // namespace wireproof::am::test
