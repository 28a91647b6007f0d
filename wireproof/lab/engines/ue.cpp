#include "wireproof/lab/engines/ue.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "wireproof/core/any_link.hpp"
#include "wireproof/lab/engines/scenario_lines.hpp"
#include "wireproof/lab/ladder/ladder_run.hpp"
#include "wireproof/lab/link_retry/retry_engines.hpp"
#include "wireproof/lab/search/search_link_run.hpp"
#include "wireproof/lab/worlds/link_world_run.hpp"
#include "wireproof/proto/ue/link.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint32_t window_max = UeAdapter::buffer_max(0);
constexpr std::uint32_t ack_spacing = 2048;  // bytes; the default of ue::Config

/// The end of a point.
struct UeEnd {
    static constexpr std::size_t own_max = 80;
    static constexpr RetryOrder order = RetryOrder::oldest;

    ue::Link engine;
    ConstBytes payload;
    std::uint64_t steps;

    void feed() {
        if (engine.transmitter().waiting() == 0 && engine.has_room()) (void)engine.submit(payload);
    }
    const LinkStats& stats() const { return engine.stats(); }
    std::uint64_t numbered() const { return engine.stats().numbered; }
    bool up() const { return engine.up() && engine.transmitter().runs(); }
    bool quiet() const { return engine.quiet(); }
    std::size_t kept() const { return engine.transmitter().outstanding(); }
    std::uint64_t stride() const { return steps; }

    static FrameInfo describe(ConstBytes frame) { return ue::describe(frame); }
    static bool is_notice(ConstBytes frame) {
        return frame.size() > 1 && ue::starts_with(frame, ue::ctl_byte) &&
               frame[1] == static_cast<std::byte>(ue::CtlType::nack);
    }
};

static_assert(RetryEnd<UeEnd>);

std::size_t frame_of(std::uint32_t payload) {
    return ue::preamble_size + ue::Config().mac_size(payload);
}

// The state of a link repeats when its numbers and the row of its ACKs do. So the circle is not
// larger than the window needs, and has a whole number of steps, of which each has a whole number
// of ACKs. No other behaviour depends on it.
struct Circle {
    std::uint32_t modulus;
    std::uint32_t step;
};
Circle circle_for(std::uint32_t window, std::uint32_t ack_every) {
    const auto round_up = [](std::uint32_t n, std::uint32_t to) { return (n + to - 1) / to * to; };
    const std::uint32_t least = std::max(1024U, 2 * window);
    const std::uint32_t step = round_up(std::max(64U, least / 64), 2 * ack_every);  // even
    return {std::min(round_up(least, step), ue::Config::numbers), step};
}

// A sweep counts the wait of a CtlOS for its slot as a part of the loop. So only the distance of
// two ACKs remains.
UeEnd build_ue_end(const RetrySettings& s, const RetryLink& link, const RetryMemory& memory, int) {
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    ue::Config config;
    config.payload_max = s.payload;
    config.byte_time = line_time(1);
    const Circle circle = circle_for(link.buffer, link.ack_every);
    config.modulus = circle.modulus;
    config.first_number = config.modulus - 16;
    config.outstanding_seq_max = link.buffer;
    config.outstanding_data_max = std::uint64_t{1} << 62;
    config.replay_slots = link.buffer + 1;  // one more waits
    config.ineligible_slots = 0;
    config.payload_lent = true;
    config.replay_timer_max = line_time(link.timer);
    config.pcs_lost_status_timer_max = config.data_age_timer_max = {};
    config.ctl_spacing = 0;
    config.ack_spacing = link.ack_every > 1 ? static_cast<std::uint32_t>(link.ack_every * unit) : 0;
    config.init_every = line_time(8 * (s.loop + unit));
    return {ue::Link(config), memory.source, circle.step};
}

}  // namespace

ue::Config UeAdapter::with_fitting_window(Config config) {
    config.outstanding_seq_max =
        std::min(config.outstanding_seq_max, std::max(config.modulus, 2U) / 2);
    return config;
}

std::size_t UeAdapter::frame_max(const Config& config) {
    return ue::preamble_size + config.mac_size(config.payload_max);
}

Describe UeAdapter::describe_of(const Config&) {
    return ue::describe;
}

std::size_t UeAdapter::unacknowledged(const Engine& engine) {
    return engine.transmitter().outstanding() + engine.transmitter().waiting();
}

bool UeAdapter::may_flush(const Config& config) {
    return config.replay_ct_max != ue::Config::replay_ct_none;
}

ue::Config UeAdapter::for_link(const LinkFigures& link) {
    const Duration byte_time = link.time_of(1);
    const Duration round = link.latency * 2;
    if (byte_time > Duration()) return ue::Config::of_line({byte_time, round});
    ue::Config config;  // frames take no time, so only the latency counts
    config.init_every = config.replay_timer_max = round * 2 + Duration::nanoseconds(1000);
    config.replay_ct_max = 3;
    config.data_age_timer_max = config.replay_timer_max * 5;
    return config;
}

void UeAdapter::read(EngineKeys& keys, Config& config) {
    keys.number("modulus", config.modulus, 2, ue::Config::numbers);
    keys.number("first_number", config.first_number, 0, ue::Config::numbers - 1);
    keys.number("outstanding_seq_max", config.outstanding_seq_max, 1, ue::Config::numbers);
    keys.number("payload_max", config.payload_max, 1, 9216);
    config.outstanding_data_max =
        std::max<std::uint64_t>(config.outstanding_data_max, config.mac_size(config.payload_max));
    keys.number("outstanding_data_max", config.outstanding_data_max, 64, 0x7FFFFFFF);
    keys.time("replay_timer_max_ns", config.replay_timer_max, 1);
    keys.number("replay_ct_max", config.replay_ct_max, 0, 255);
    keys.truth("nack_counts", config.nack_counts);
    keys.time("data_age_timer_max_ns", config.data_age_timer_max);
    keys.truth("re_init_on_flush", config.re_init_on_flush);
    keys.truth("restarts_both_ways", config.restarts_both_ways);
    keys.number("ctl_spacing", config.ctl_spacing, 0, 32'760);
    keys.number("ack_spacing", config.ack_spacing, 0, 32'760);
    keys.time("init_every_ns", config.init_every);
    keys.time("ack_idle_ns", config.ack_idle);
    if (const auto defect = keys.word("defect", rules)) set_rule(config, *defect);
    config.replay_slots = std::max(config.replay_slots, config.outstanding_seq_max + 1);
}

Expected<Ladder> UeAdapter::run_ladder(const Scenario& scenario) {
    return LadderRun<LinkLadderUser<UeAdapter>>(scenario).run();
}

// An ACK is due at once. The search decides when it leaves, as for every frame.
ue::Config UeAdapter::search_config(std::uint32_t window, std::uint32_t modulus) {
    ue::Config config;
    config.payload_max = 4;
    config.frame_min = 0;
    config.modulus = modulus;
    config.first_number = modulus - 1;
    config.outstanding_seq_max = config.replay_slots = window;
    config.ineligible_slots = 0;
    config.replay_timer_max = search_timer;
    config.pcs_lost_status_timer_max = config.data_age_timer_max = {};
    config.init_data_values = 4;
    config.ctl_spacing = config.ack_spacing = 0;
    config.init_every = search_timer;
    return config;
}

std::string UeAdapter::scenario_engine(const Config& config, bool hasty) {
    const ue::Mends& mends = config.mends;
    const std::size_t defect = !mends.half_is_duplicate         ? 1
                               : !mends.duplicates_acknowledged ? 2
                               : !mends.replay_timer            ? 3
                               : !mends.init_in_every_state     ? 4
                                                                : 0;
    std::string text = scenario_line("modulus", config.modulus) +
                       scenario_line("first_number", config.first_number) +
                       scenario_line("outstanding_seq_max", config.outstanding_seq_max) +
                       scenario_line("replay_ct_max", config.replay_ct_max) +
                       scenario_line("data_age_timer_max_ns", 0) + scenario_line("ctl_spacing", 0) +
                       scenario_line("ack_spacing", 0) + scenario_line("init_every_ns", 1000) +
                       scenario_line("defect", "\"" + std::string(rules[defect]) + "\"");
    if (hasty) text += scenario_line("replay_timer_max_ns", hasty_ns);
    return text;
}

// Only a flush shows what is wrong with the last one.
void UeAdapter::set_rule(Config& config, std::size_t rule) {
    config.mends.half_is_duplicate = rule != 1;
    config.mends.duplicates_acknowledged = rule != 2;
    config.mends.replay_timer = rule != 3;
    config.mends.init_in_every_state = rule != 4;
    if (rule == 4 && config.replay_ct_max == ue::Config::replay_ct_none) config.replay_ct_max = 0;
}

std::unique_ptr<AnyLinkSearch> UeAdapter::make_search(const Config& config, const LinkTask& task,
                                                      const SearchSetting& setting) {
    return std::make_unique<UeSearch>(config, task, setting);
}

void UeAdapter::fit(RetrySettings& s, std::size_t) {
    s.renak_on_bad_head = false;
}

void UeAdapter::fill_in(const RetrySettings& s, std::size_t, RetryLink& link) {
    link.gap = static_cast<std::ptrdiff_t>(ue::gap_size);
    const std::size_t unit = frame_of(s.payload) + ue::gap_size;
    link.unit = {static_cast<double>(s.payload), static_cast<double>(unit - s.payload)};
    if (link.ack_every == 0) {
        link.ack_every = static_cast<std::uint32_t>((ack_spacing + unit - 1) / unit);
    }
    if (link.timer == 0) {
        link.timer = std::max(4 * (s.loop + unit), s.loop + (link.ack_every + 2) * unit);
    }
    const auto units = [unit](std::uint64_t bytes) { return (bytes + unit - 1) / unit; };
    if (link.buffer == 0) {
        // A replay whose head is bad again, and what leaves until the timer expires.
        const std::uint64_t never_stalls =
            units(s.loop) + units(link.timer) + units(s.loop) + link.ack_every + 3;
        link.buffer = static_cast<std::uint32_t>(std::min<std::uint64_t>(never_stalls, window_max));
    }
    link.scheme = RetryScheme::one_notice;
    link.notice = {ue::CtlOs::size, 1};
    link.timer_after_replay = true;
}

Expected<void> UeAdapter::check(const RetrySettings& s, std::size_t, const RetryLink& link) {
    if (s.payload > ue::longest_payload) {
        return unexpected("payload of ue-llr is 1 to " + std::to_string(ue::longest_payload));
    }
    if (link.buffer > window_max) {
        return unexpected("replay buffer of ue-llr is 1 to " + std::to_string(window_max));
    }
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    const std::uint64_t answer = s.loop + (link.ack_every + 1) * unit;
    if (link.timer <= answer) {
        return unexpected(
            "the timer of ue-llr must be longer than the loop and the wait for an "
            "ack, " +
            std::to_string(answer) + " bytes");
    }
    if (s.renak_on_bad_head) return unexpected("renak_on_bad_head works only with pcie");
    return {};
}

Expected<RetryPoint> UeAdapter::run_point(const RetrySettings& s, std::size_t,
                                          const RetryPlan& plan, const RetryLink& link) {
    return run_engines<UeEnd>(s, plan, link, build_ue_end);
}

// The ends have different seeds, and both use the newer life.
Expected<AnyLink> UeAdapter::over_datagrams(std::size_t frame_max, std::uint64_t seed) {
    ue::Config config = ue::Config::of_datagrams(frame_max);
    config.first_init_data = static_cast<std::uint16_t>(seed);
    if (const auto good = config.check(); !good) return tl::unexpected(good.error());
    return AnyLink(Engine(config));
}

DrawnLink<ue::Config> UeAdapter::draw(Random& dice, const LinkFigures& line, bool datagrams) {
    Config config =
        datagrams ? Config::of_datagrams(between(dice, 64, 1400))
                  : Config::of_line({line.time_of(1), line.latency * 2}, between(dice, 8, 600));
    config.modulus = dice.chance(0.5) ? Config::numbers : 2 * between(dice, 1, 64);
    config.first_number = config.modulus - 1 - between(dice, 0, std::min(config.modulus - 1, 30U));
    config.outstanding_seq_max = between(dice, 1, std::min(config.modulus / 2, 48U));
    config.replay_slots = between(dice, 1, config.outstanding_seq_max + 8);
    config.payload_lent = dice.chance(0.3);
    config.first_init_data = static_cast<std::uint16_t>(dice.below(4));
    config.init_data_values = dice.chance(0.5) ? 4 : 65'536;
    config.missing_once = dice.chance(0.3);
    config.preamble = static_cast<ue::PreambleOrder>(dice.below(3));
    config.ctl_nibbles = static_cast<ue::NibbleOrder>(dice.below(2));
    DrawnLink<Config> drawn{.config = {},
                            .what = "modulus " + std::to_string(config.modulus) + ", window " +
                                    std::to_string(config.outstanding_seq_max)};
    if (!datagrams) {
        drawn.one_at_a_time = dice.chance(0.7);
        drawn.checks_all = false;  // LLR-33
        const std::size_t largest = config.mac_size(config.payload_max);
        config.outstanding_data_max = largest * between(dice, 1, 48);
        config.ctl_spacing = between(dice, 0, 400);
        config.ack_spacing = between(dice, 0, 2048);
        const Duration frame = line.time_of(frame_max(config));
        const Duration loop = line.latency * 2 + frame * 4;
        const Duration answer = loop + frame * (2 * config.outstanding_seq_max + 4) +
                                config.time_of(config.ctl_spacing + config.ack_spacing);
        drawn.hasty = drawn.one_at_a_time && dice.chance(0.15);
        config.replay_timer_max = about(dice, answer, 1, 4);
        if (drawn.hasty) config.replay_timer_max = about(dice, loop, 0.1, 1) + Duration(1);
        config.replay_ct_max =
            dice.chance(0.6) ? Config::replay_ct_none : between(dice, drawn.hasty ? 8 : 0, 8);
        config.nack_counts = dice.chance(0.2);
        const bool ages = config.replay_ct_max != Config::replay_ct_none && dice.chance(0.5);
        config.data_age_timer_max = ages ? about(dice, answer, 4, 20) : Duration();
        config.pcs_lost_status_timer_max = config.data_age_timer_max * 2;
        config.init_every = about(dice, loop, 0, 4) + Duration(1);
        config.restarts_both_ways = dice.chance(0.7);
        config.re_init_on_flush = dice.chance(0.8);
        if (dice.chance(0.2)) {
            config.ack_idle = about(dice, answer, 1, 4) + Duration(1);
            drawn.rests = false;
        }
        drawn.ways_apart = !config.restarts_both_ways;
        drawn.may_go_down = may_flush(config);
        if (drawn.may_go_down) drawn.what += ", flushes";
    }
    drawn.patience = (config.replay_timer_max + config.init_interval() + config.ack_idle +
                      config.data_age_timer_max) *
                     60;
    drawn.config = config;
    return drawn;
}

void UeAdapter::train(Engine& engine, Instant now, bool begins) {
    engine.on_pcs(now, !begins);
}

LinkWorldResult UeAdapter::run_world(const LinkWorldConfig& config) {
    return LinkWorld<UeAdapter>(config).run();
}

template class LinkSearch<UeAdapter>;

}  // namespace wireproof::lab
