// HIPPI-30: a life keeps nothing of the one before, whatever happened in it.
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/proto/hippi/pair_test_kit.hpp"

namespace wireproof::hippi::test {
namespace {

std::vector<Config> lives() {
    Config literal = near_wrap();
    literal.duplicates = Duplicates::re_arm;
    literal.rseq_any_good = true;
    literal.retries_max = 2;
    literal.buffers = {3, 5, Config::unlimited, 512};
    Config datagrams = Config::of_datagrams();
    datagrams.first_number = 250;
    datagrams.message_max = 1024;
    return {near_wrap(), literal, datagrams};
}

/// A message waits for the next life if the link does not run.
LinkSteps<Link> steps_of(const Config& config) {
    LinkSteps<Link> steps;
    steps.pause = Duration(config.retry_after.picoseconds() / 4);
    steps.may_submit = [](const Link& link) { return link.running() && link.has_room(); };
    steps.more = [](Link& link, Random& random, Instant) {
        const auto channel = static_cast<std::uint8_t>(random.below(channel_count));
        if (link.running()) {
            (void)link.submit(channel, message(random.next(), random.below(200)));
        }
    };
    return steps;
}

/// Each life draws its epoch. A new engine has the same one after as many lives.
bool is_new(const Config& config, const Link& link, Instant now) {
    constexpr int lives_max = 64;
    Link as_new(config);
    for (int life = 0; life < lives_max; ++life) {
        if (fingerprint_at(now, link) == fingerprint_at(now, as_new)) return true;
        as_new.on_wire_event(now, WireEvent::new_life);
    }
    return false;
}

// HIPPI-30
TEST(HippiNewLife, KeepsNothingOfTheOldOne) {
    for (const WireEvent event : {WireEvent::new_life, WireEvent::peer_gone}) {
        for (const Config& config : lives()) {
            expect_nothing_is_left<Link>(
                Link(config), Link(Pair::other_seed(config)), steps_of(config),
                [&](Link& link, Instant now) { link.on_wire_event(now, event); },
                [&](const Link& link, Instant now) { return is_new(config, link, now); });
        }
    }
}

// HIPPI-30: nor while the word that the old one ended waits.
TEST(HippiNewLife, TheEndOfTheOldOneSaysNothingOfItsMessages) {
    const auto after = [](bool received) {
        Pair pair = Pair::started();
        if (received) pair.a.submit(1);
        pair.settle();
        EXPECT_EQ(pair.b.messages.size(), received ? 1U : 0U);
        pair.b.engine.on_wire_event(pair.now, WireEvent::new_life);
        return fingerprint_at(pair.now, pair.b.engine);
    };
    EXPECT_EQ(after(true), after(false));
}

// HIPPI-30
TEST(HippiNewLife, TheAnswerToAResetOfTheOldLifeDoesNotLeaveInTheNewOne) {
    Pair pair = Pair::started();
    pair.b.engine.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.draw();
    EXPECT_EQ(pair.carry(pair.b), "init");
    const Frames reset = pair.take(pair.a);
    ASSERT_EQ(pair.text(reset), "reset");
    EXPECT_EQ(pair.give(pair.b, reset), Verdicts{RxVerdict::control});
    pair.b.engine.on_wire_event(pair.now, WireEvent::new_life);
    EXPECT_EQ(pair.taken(pair.b), "init");
}

}  // namespace
}  // namespace wireproof::hippi::test
