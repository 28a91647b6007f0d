// FLIT-19: an end that comes back is as a new one, whatever it did before.
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/proto/flit/pair_test_kit.hpp"

namespace wireproof::flit {
namespace {

Config that_starts_up(Config config) {
    config.first_number = config.modulus - 1;
    config.starts_up = true;
    config.start_explicit = config.start_acks = 1;
    return config;
}

Config on_demand(const Config& line) {
    Config config = that_starts_up(demand(line));
    config.ack_after = 3;
    config.ack_latency = Duration::nanoseconds(100);
    config.sign_of_life = Duration::microseconds(2);
    config.backs_off = true;
    config.replay_floor = Duration::nanoseconds(100);
    return config;
}

std::vector<Config> settings() {
    Config retrains = that_starts_up(Config::pcie6_selective());
    retrains.retrain_time = Duration::nanoseconds(50);
    return {that_starts_up(Config::ucie_68()),          retrains,
            on_demand(Config::pcie6_selective()),       on_demand(Config::cxl3_halves()),
            that_starts_up(Config::of_datagrams(1400)), demand()};
}

LinkSteps<Link> steps_of(const Config& config) {
    LinkSteps<Link> steps;
    steps.pause = Duration(config.time_of(config.timeout_flits).picoseconds() / 8);
    return steps;
}

void expect_as_new(WireEvent event) {
    for (const Config& config : settings()) {
        const auto begin = [&](Link& link, Instant now) {
            link.on_wire_event(now, event);
            while (link.next_delivery()) {
            }
        };
        Link made(config);
        while (made.next_delivery()) {
        }
        Link as_new = made;
        if (event == WireEvent::peer_gone) begin(as_new, Instant());
        expect_nothing_is_left<Link>(
            made, made, steps_of(config), begin, [&](const Link& link, Instant now) {
                return fingerprint_at(now, link) == fingerprint_at(now, as_new);
            });
    }
}

TEST(FlitNewLife, KeepsNothingOfTheOldOne) {
    expect_as_new(WireEvent::new_life);
}

TEST(FlitNewLife, AnEndWhosePeerIsGoneKeepsNothing) {
    expect_as_new(WireEvent::peer_gone);
}

}  // namespace
}  // namespace wireproof::flit
