// FLIT-19: an end that comes back is as a new one, whatever it did before.
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/proto/flit/pair_test_kit.hpp"

namespace wireproof::flit {
namespace {

std::vector<Config> settings() {
    std::vector<Config> all;
    for (Config config : {Config::pcie6(), Config::pcie6_selective(), Config::cxl3_halves(),
                          Config::ucie_68(), Config::of_datagrams(1400)}) {
        config.first_number = config.modulus - 1;
        config.start_explicit = config.start_acks = 1;
        all.push_back(config);
        if (!config.continuous) continue;
        config.retrain_time = Duration::nanoseconds(50);
        all.push_back(config);
        Config on_demand = demand(config);
        on_demand.starts_up = true;
        on_demand.ack_after = 3;
        on_demand.ack_latency = Duration::nanoseconds(100);
        on_demand.sign_of_life = Duration::microseconds(2);
        on_demand.backs_off = true;
        on_demand.replay_floor = Duration::nanoseconds(100);
        all.push_back(on_demand);
    }
    all.push_back(demand());  // without start-up
    return all;
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
