// PCIE-3, PCIE-32: an end that comes back is as a new one, whatever it did before.
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/proto/pcie/pair_test_kit.hpp"

namespace wireproof::pcie {
namespace {

std::vector<Config> settings() {
    Config credits = test_config();
    for (Credits& kind : credits.credits) kind = {8, 32};
    credits.renak_after = Duration::microseconds(3);
    credits.sign_of_life = Duration::microseconds(40);
    Config datagrams = Config::of_datagrams(1400);
    datagrams.first_number = 4090;
    return {test_config(), credits, datagrams};
}

LinkSteps<Link> steps_of(const Config& config) {
    LinkSteps<Link> steps;
    steps.pause = Duration(config.replay_after.picoseconds() / 4);
    steps.more = [](Link& link, Random& random, Instant now) {
        if (random.chance(0.3)) {
            link.retrain(now);
        } else if (random.chance(0.5)) {
            link.nullify_next();
        } else if (link.has_room()) {
            (void)link.submit(FlowType::non_posted, message(random.below(64)));
        }
    };
    return steps;
}

void expect_as_new(WireEvent event) {
    for (const Config& config : settings()) {
        const Link made(config);
        Link as_new = made;
        if (event == WireEvent::peer_gone) as_new.on_wire_event(Instant(), event);
        expect_nothing_is_left<Link>(
            made, made, steps_of(config),
            [&](Link& link, Instant now) { link.on_wire_event(now, event); },
            [&](const Link& link, Instant now) {
                return fingerprint_at(now, link) == fingerprint_at(now, as_new);
            });
    }
}

// PCIE-32
TEST(PcieNewLife, KeepsNothingOfTheOldOne) {
    expect_as_new(WireEvent::new_life);
}

// PCIE-32
TEST(PcieNewLife, AnEndWhosePeerIsGoneKeepsNothing) {
    expect_as_new(WireEvent::peer_gone);
}

// PCIE-3: each half by itself.
TEST(PcieNewLife, AHalfThatIsResetIsAsANewOne) {
    for (const Config& config : settings()) {
        const Link made(config);
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            BadLine<Link> line(made, made, seed, steps_of(config));
            line.run(300);
            Transmitter transmitter = line.ends[0].transmitter();
            transmitter.reset();
            EXPECT_EQ(fingerprint_at(line.now, transmitter),
                      fingerprint_at(line.now, Transmitter(config)));
            Receiver receiver = line.ends[0].receiver();
            receiver.reset();
            EXPECT_EQ(fingerprint_at(line.now, receiver),
                      fingerprint_at(line.now, Receiver(config)));
        }
    }
}

}  // namespace
}  // namespace wireproof::pcie
