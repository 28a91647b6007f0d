// A flush and a new life leave nothing behind but the number of the next frame and of the life
// (LLR-16, LLR-17, LLR-18), whatever happened before.
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/proto/ue/pair_test_kit.hpp"

namespace wireproof::ue {
namespace {

std::vector<Config> settings() {
    Config one_way = test_config();
    one_way.restarts_both_ways = false;
    one_way.byte_time = Duration(100);
    one_way.replay_ct_max = 1;
    one_way.data_age_timer_max = Duration::microseconds(60);
    one_way.delivers_poisoned = true;
    Config managed = one_way;
    managed.re_init_on_flush = false;
    managed.nack_counts = true;
    managed.flush_behavior = Behavior::best_effort;
    Config datagrams = Config::of_datagrams(1400);
    datagrams.first_number = Config::numbers - 6;
    datagrams.ack_idle = Duration::milliseconds(5);
    return {test_config(), one_way, managed, datagrams};
}

LinkSteps<Link> steps_of(const Config& config) {
    LinkSteps<Link> steps;
    steps.pause = Duration(config.replay_timer_max.picoseconds() / 4);
    steps.more = [](Link& link, Random& random, Instant now) {
        switch (random.below(4)) {
            case 0: link.poison_next(); break;
            case 1: (void)link.submit_ineligible(message(random.below(40))); break;
            case 2: link.on_pcs(now, random.chance(0.7)); break;
            default: link.re_init(); break;
        }
    };
    return steps;
}

/// A new engine with the numbers that this one has now.
Config with_numbers_of(const Link& link, Config config) {
    config.first_number = link.transmitter().tx_seq();
    config.first_init_data = link.transmitter().init_data();
    return config;
}

void expect_as_new(WireEvent event) {
    for (const Config& config : settings()) {
        const Link fresh(config);
        expect_nothing_is_left<Link>(
            fresh, fresh, steps_of(config),
            [&](Link& link, Instant now) { link.on_wire_event(now, event); },
            [&](const Link& link, Instant now) {
                Config numbers = with_numbers_of(link, config);
                if (event == WireEvent::peer_gone) --numbers.first_init_data;
                Link as_new(numbers);
                if (event == WireEvent::peer_gone) as_new.on_wire_event(Instant(), event);
                return fingerprint_at(now, link) == fingerprint_at(now, as_new);
            });
    }
}

// LLR-16, LLR-17
TEST(UeNewLife, KeepsNothingOfTheOldOne) {
    expect_as_new(WireEvent::new_life);
}

// LLR-17
TEST(UeNewLife, AnEndWhosePeerIsGoneKeepsNothing) {
    expect_as_new(WireEvent::peer_gone);
}

// LLR-17, LLR-18, LLR-23: a sender that flushes has no frame, count, poison or timer any more.
TEST(UeNewLife, AFlushLeavesTheSenderItsNumberOnly) {
    for (const Config& config : settings()) {
        const Link fresh(config);
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            BadLine<Link> line(fresh, fresh, seed, steps_of(config));
            line.run(50 + line.random.below(400));
            Transmitter used = line.ends[0].transmitter();
            Stats stats;
            used.flush(stats);
            Transmitter as_new(with_numbers_of(line.ends[0], config));
            as_new.set_init_data(used.init_data());
            as_new.flush(stats);
            ASSERT_EQ(fingerprint_at(line.now, used), fingerprint_at(line.now, as_new)) << seed;
            used.begin_init();
            as_new.begin_init();
            ASSERT_EQ(fingerprint_at(line.now, used), fingerprint_at(line.now, as_new)) << seed;
        }
    }
}

// LLR-28: the peer's INIT of a newer life ends both directions.
TEST(UeNewLife, APeerThatBeginsAgainMakesThisEndAsANewOne) {
    Config config = test_config();
    config.restarts_both_ways = true;
    const Link fresh(config);
    const auto begins_again = [&](Link& link, Instant now) {
        link.on_pcs(now, true);
        const auto life = static_cast<std::uint16_t>(link.transmitter().init_data() + 1);
        const Frame init = ue::made({CtlType::init, 5, life});
        EXPECT_EQ(link.on_frame(now, {.bytes = init.bytes}), RxVerdict::control);
    };
    expect_nothing_is_left<Link>(
        fresh, fresh, steps_of(config), begins_again, [&](const Link& link, Instant now) {
            Config numbers = with_numbers_of(link, config);
            --numbers.first_init_data;
            Link as_new(numbers);
            begins_again(as_new, Instant());
            while (as_new.next_delivery()) {
            }
            return fingerprint_at(now, link) == fingerprint_at(now, as_new);
        });
}

}  // namespace
}  // namespace wireproof::ue
