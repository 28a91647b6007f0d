// An end that comes back is as a new one, apart from the number of its training, whatever it did
// before.
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/proto/cxl/pair_test_kit.hpp"

namespace wireproof::cxl {
namespace {

std::vector<Config> settings() {
    Config line = test_config();
    line.continuous = true;
    line.max_num_retry = 2;
    line.timeout = 60;
    Config backs_off = test_config();
    backs_off.backs_off = true;
    backs_off.retrain_time = Duration::nanoseconds(50);
    return {test_config(), line, backs_off, Config::of_datagrams()};
}

LinkSteps<Link> steps_of(const Config& config) {
    LinkSteps<Link> steps;
    // So short that timers of a few flits often run when a life ends.
    steps.pause = config.flit_time * config.ack_flush;
    steps.damage = 0.03;
    steps.more = [](Link& link, Random& random, Instant now) {
        if (random.chance(0.03)) link.retrain(now);
    };
    return steps;
}

Fingerprint::Value print(const Link& link, Instant now) {
    Fingerprint sink;
    link.fingerprint_without_trainings(now, sink);
    return sink.value();
}

void expect_as_new(WireEvent event) {
    for (const Config& config : settings()) {
        const Link made(config);
        Link as_new = made;
        if (event == WireEvent::peer_gone) as_new.on_wire_event(Instant(), event);
        expect_nothing_is_left<Link>(
            made, made, steps_of(config),
            [&](Link& link, Instant now) { link.on_wire_event(now, event); },
            [&](const Link& link, Instant now) { return print(link, now) == print(as_new, now); });
    }
}

TEST(CxlNewLife, KeepsNothingOfTheOldOne) {
    expect_as_new(WireEvent::new_life);
}

// The number of a training goes on: a set of the life before may still be in flight.
TEST(CxlNewLife, AnEndWhosePeerIsGoneKeepsOnlyTheNumberOfItsTraining) {
    expect_as_new(WireEvent::peer_gone);
}

}  // namespace
}  // namespace wireproof::cxl
