#include "wireproof/lab/engines/flit.hpp"

#include <algorithm>
#include <cmath>

#include "wireproof/core/any_link.hpp"
#include "wireproof/lab/engines/scenario_lines.hpp"
#include "wireproof/lab/ladder/ladder_run.hpp"
#include "wireproof/lab/link_retry/retry_engines.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/search/search_link_run.hpp"
#include "wireproof/lab/worlds/link_world_run.hpp"
#include "wireproof/proto/flit/halves.hpp"
#include "wireproof/proto/flit/link.hpp"

namespace wireproof::lab {
namespace {

std::size_t flits_of_message(const RetrySettings& s, const flit::Config& config) {
    return (s.payload + config.message_max() - 1) / config.message_max();
}

/// The end of a point. A message that does not fit into a flit is cut into equal parts.
template <RetryOrder taken>
struct FlitEnd {
    static constexpr std::size_t own_max = flit::flit_max;
    static constexpr RetryOrder order = taken;

    flit::Link engine;
    ConstBytes payload;  // of a flit
    std::uint64_t period;
    flit::Format format;

    void feed() {
        if (engine.transmitter().waiting() == 0 && engine.has_room()) (void)engine.submit(payload);
    }
    const LinkStats& stats() const { return engine.stats(); }
    std::uint64_t numbered() const { return engine.stats().numbered; }
    bool up() const { return engine.state() == flit::Link::State::active; }
    bool quiet() const { return engine.quiet(); }
    std::size_t kept() const { return engine.transmitter().outstanding(); }
    std::uint64_t stride() const { return period; }

    static FrameInfo describe(ConstBytes frame) { return flit::describe(frame); }
    /// The header has another place in each format.
    Describe description() const { return flit::describe_of(format); }
    /// No frame is a notice of its own: each flit repeats the Nak.
    static bool is_notice(ConstBytes) { return false; }
};

static_assert(RetryEnd<FlitEnd<RetryOrder::oldest>>);

// The line back takes no time, so the engines send on demand. Their timers count flit times.
template <RetryOrder taken>
FlitEnd<taken> build_flit_end(const RetrySettings& s, std::size_t sweep, const RetryLink& link,
                              const RetryMemory& memory) {
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    flit::Config config = FlitAdapter::config_of(sweep);
    const std::size_t part =
        (s.payload + flits_of_message(s, config) - 1) / flits_of_message(s, config);
    config.continuous = config.starts_up = false;
    config.flit_time = line_time(unit);
    config.first_number = config.modulus - 16;
    config.outstanding = link.buffer;
    config.replay_slots = link.buffer + 1;  // one more waits
    config.payload_lent = true;
    config.store_flits = link.buffer;
    config.nak_ignore = static_cast<std::uint32_t>((link.timer + unit - 1) / unit);
    // The replay timer is the last resort: it must not expire before a Nak can help.
    const auto loop = static_cast<std::uint32_t>((s.loop + unit - 1) / unit);
    config.timeout_flits = std::max(config.timeout_flits, 4 * (loop + config.nak_ignore));
    config.replay_num_limit = 0;
    config.ack_after = link.ack_every;
    config.ack_latency = line_time(link.ack_every * unit);
    // An eleventh or a fifth of all numbers, so that the state repeats after a few strides.
    const std::uint64_t period = config.modulus == 255 ? 51 : 93;
    return {flit::Link(config), ConstBytes(memory.source).first(part), period, config.format};
}

// The keys of the corrections in a scenario, and whether the configuration has each.
struct Mend {
    const char* key;
    bool flit::Mends::*on;
};
constexpr std::array<Mend, 6> mends = {{
    {"standard_after_two_invalid", &flit::Mends::standard_after_two_invalid},
    {"explicit_run_after_jump", &flit::Mends::explicit_run_after_jump},
    {"only_payload_counts", &flit::Mends::only_payload_counts},
    {"explicit_after_gap", &flit::Mends::explicit_after_gap},
    {"replay_timer", &flit::Mends::replay_timer},
    {"half_used_once", &flit::Mends::half_used_once},
}};

}  // namespace

flit::Config FlitAdapter::config_of(std::size_t sweep) {
    switch (static_cast<Sweep>(sweep)) {
        case Sweep::selective: return Config::pcie6_selective();
        case Sweep::cxl: return Config::cxl3();
        case Sweep::ucie_256: return Config::ucie_256();
        case Sweep::ucie_68: return Config::ucie_68();
        case Sweep::standard: break;
    }
    return Config::pcie6();
}

std::uint32_t FlitAdapter::buffer_max(std::size_t sweep) {
    return config_of(sweep).modulus / 2;
}

flit::Config FlitAdapter::with_fitting_window(Config config) {
    config.outstanding = std::min(config.outstanding, std::max(config.modulus, 3U) / 2);
    return config;
}

Describe FlitAdapter::describe_of(const Config& config) {
    return flit::describe_of(config.format);
}

std::size_t FlitAdapter::separate_front(const Config& config) {
    return config.format == flit::Format::cxl_halves ? flit::half_size : 0;
}

std::size_t FlitAdapter::unacknowledged(const Engine& engine) {
    return engine.transmitter().outstanding() + engine.transmitter().waiting();
}

flit::Config FlitAdapter::for_link(const LinkFigures& link) {
    flit::Config config;
    config.continuous = false;
    config.start_explicit = config.start_acks = 1;
    config.flit_time = std::max(link.time_of(flit::flit_max), Duration(1));
    const Duration loop = (link.latency + config.flit_time) * 2;
    config.nak_ignore = static_cast<std::uint32_t>(
        std::min<std::int64_t>(loop.picoseconds() / config.flit_time.picoseconds() + 1 +
                                   static_cast<std::int64_t>(ignore_beyond_loop),
                               1'000'000));
    return config;
}

void FlitAdapter::read(EngineKeys& keys, Config& config) {
    constexpr std::array<std::string_view, 3> formats = {"pcie", "ucie_68", "cxl_halves"};
    if (const auto format = keys.word("format", formats)) {
        const flit::Config chosen = *format == 1   ? Config::ucie_68()
                                    : *format == 2 ? Config::cxl3_halves()
                                                   : Config::pcie6();
        config.format = chosen.format;
        config.crc_order = chosen.crc_order;
        config.modulus = chosen.modulus;
        config.outstanding = chosen.outstanding;
        config.replay_slots = chosen.replay_slots;
        config.withdraws = chosen.withdraws;
        config.explicit_run = chosen.explicit_run;
        config.nak_run = chosen.nak_run;
        config.timeout_flits = chosen.timeout_flits;
        config.trailing_nops = chosen.trailing_nops;
    }
    keys.truth("selective", config.selective);
    if (config.selective)
        config.explicit_after_jump = Config::pcie6_selective().explicit_after_jump;
    keys.truth("withdraws", config.withdraws);
    keys.number("modulus", config.modulus, 3, 1023);
    keys.number("first_number", config.first_number, 1, 1023);
    keys.number("outstanding", config.outstanding, 1, 511);
    keys.number("store_flits", config.store_flits, 1, 511);
    keys.number("explicit_run", config.explicit_run, 1, 1000);
    keys.number("nak_run", config.nak_run, 1, 1000);
    keys.number("explicit_after_jump", config.explicit_after_jump, 1, 1000);
    keys.number("nak_ignore", config.nak_ignore, 0, 1'000'000);
    keys.number("timeout_flits", config.timeout_flits, 1, 1'000'000);
    keys.time("flit_time_ns", config.flit_time, 1);
    keys.number("replay_num_limit", config.replay_num_limit, 0, 1'000'000);
    keys.time("retrain_ns", config.retrain_time);
    keys.number("ack_after", config.ack_after, 1, 1023);
    keys.time("ack_latency_ns", config.ack_latency);
    keys.number("trailing_nops", config.trailing_nops, 0, 1000);
    for (const Mend& mend : mends) keys.truth(mend.key, config.mends.*mend.on);
}

Expected<Ladder> FlitAdapter::run_ladder(const Scenario& scenario) {
    return LadderRun<LinkLadderUser<FlitAdapter>>(scenario).run();
}

// Acks are due at once. The ignore window ends before the replay timer expires; each may end early.
// Naks and explicit flits are not repeated in a row, because each repetition is one more state.
flit::Config FlitAdapter::search_config(std::uint32_t window, std::uint32_t modulus) {
    flit::Config config;
    config.continuous = false;
    config.start_explicit = config.start_acks = 1;
    config.flit_time = config.start_every = search_timer;
    config.modulus = modulus;
    config.first_number = modulus - 1;
    config.outstanding = config.replay_slots = window;
    config.store_flits = window;
    config.explicit_run = config.nak_run = 1;
    config.nak_ignore = 1;
    config.timeout_flits = 2;
    config.replay_num_limit = 0;
    return config;
}

std::string FlitAdapter::scenario_engine(const Config& config, bool hasty) {
    std::string text;
    if (config.format == flit::Format::ucie_68) text += scenario_line("format", "\"ucie_68\"");
    if (config.format == flit::Format::cxl_halves) {
        text += scenario_line("format", "\"cxl_halves\"");
    }
    if (config.selective) text += scenario_line("selective", "true");
    text += scenario_line("modulus", config.modulus) +
            scenario_line("first_number", config.first_number) +
            scenario_line("outstanding", config.outstanding) +
            scenario_line("store_flits", config.store_flits) +
            scenario_line("explicit_run", config.explicit_run) +
            scenario_line("nak_run", config.nak_run) +
            scenario_line("explicit_after_jump", config.explicit_after_jump) +
            scenario_line("nak_ignore", config.nak_ignore) +
            scenario_line("timeout_flits", config.timeout_flits) +
            scenario_line("replay_num_limit", config.replay_num_limit);
    for (const Mend& mend : mends) {
        if (!(config.mends.*mend.on)) text += scenario_line(mend.key, "false");
    }
    if (hasty) text += scenario_line("flit_time_ns", hasty_ns);
    return text;
}

void FlitAdapter::set_rule(Config& config, std::size_t rule) {
    enum : std::size_t { standard, selective, ucie, halves, first_mend };
    const auto with_halves = [&config] {
        config.format = flit::Format::cxl_halves;
        config.crc_order = Config::cxl3_halves().crc_order;
    };
    if (rule == standard) return;
    if (rule == ucie) {
        const flit::Config chosen = Config::ucie_68();
        config.format = chosen.format;
        config.withdraws = chosen.withdraws;
        config.explicit_run = chosen.explicit_run;
        config.nak_run = chosen.nak_run;
        config.trailing_nops = chosen.trailing_nops;
        return;
    }
    if (rule == halves) return with_halves();
    if (rule == selective) {
        config.selective = true;
        config.explicit_run = config.explicit_after_jump =
            Config::pcie6_selective().explicit_after_jump;
        return;
    }
    bool flit::Mends::*const off = mends[rule - first_mend].on;
    config.mends.*off = false;
    if (off == &flit::Mends::half_used_once) return with_halves();
    config.selective = true;
    config.explicit_run = Config::pcie6_selective().explicit_after_jump;
    config.explicit_after_jump = 2;  // that suffices, and then a smaller window shows the defect
}

std::unique_ptr<AnyLinkSearch> FlitAdapter::make_search(const Config& config, const LinkTask& task,
                                                        const SearchSetting& setting) {
    return std::make_unique<FlitSearch>(config, task, setting);
}

void FlitAdapter::fit(RetrySettings& s, std::size_t) {
    s.renak_on_bad_head = false;
    s.notice_loss = 0;
}

void FlitAdapter::fill_in(const RetrySettings& s, std::size_t sweep, RetryLink& link) {
    const flit::Config config = FlitAdapter::config_of(sweep);
    const auto size = static_cast<double>(flit::Shape::of(config.format).size);
    const double payload = s.payload / static_cast<double>(flits_of_message(s, config));
    link.unit = {payload, size - payload};
    const auto unit = static_cast<std::uint64_t>(size);
    if (link.ack_every == 0) link.ack_every = 1;
    if (link.buffer == 0) link.buffer = buffer_max(sweep);
    if (link.timer == 0) link.timer = ((s.loop + unit - 1) / unit + ignore_beyond_loop) * unit;
    link.line = UnitLineTerms{.unit = unit};
    if (Sweep(sweep) == Sweep::ucie_256 || Sweep(sweep) == Sweep::ucie_68) {
        // UCIE-9: no code, and a CRC of 16 bits for each 128 bytes. Its polynomial has a parity and
        // a primitive part of degree 15 (UCIE-8), so it finds each three wrong bits.
        link.line->groups = 0;
        link.line->check_bits = 16;
        link.line->check_symbol = 1;
        link.line->check_finds = 3;
        link.line->check_parts = Sweep(sweep) == Sweep::ucie_256 ? 2 : 1;
    }
    link.scheme = static_cast<Sweep>(sweep) == Sweep::selective ? RetryScheme::stored_notice
                                                                : RetryScheme::patient_notice;
    link.timer_from_start = true;
    link.notice_after = config.withdraws ? 1 : 0;  // FLIT-8
}

Expected<void> FlitAdapter::check(const RetrySettings& s, std::size_t sweep,
                                  const RetryLink& link) {
    const std::string called(sweeps[sweep]);
    const std::uint32_t window = buffer_max(sweep);
    if (link.buffer > window) {
        return unexpected("replay buffer of " + called + " is 1 to " + std::to_string(window));
    }
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    if (link.timer < s.loop + 2 * unit) {
        return unexpected("the timer of " + called +
                          " is its Nak-ignore window, and is at least the loop and two flits, " +
                          std::to_string(s.loop + 2 * unit) + " bytes");
    }
    if (s.notice_loss > 0) return unexpected(called + " repeats a Nak in each flit: none is lost");
    if (s.renak_on_bad_head) return unexpected("renak_on_bad_head works only with pcie");
    return {};
}

Expected<RetryPoint> FlitAdapter::run_point(const RetrySettings& s, std::size_t sweep,
                                            const RetryPlan& plan, const RetryLink& link) {
    if (static_cast<Sweep>(sweep) == Sweep::selective) {
        constexpr auto build = build_flit_end<RetryOrder::stored>;
        return run_engines<FlitEnd<RetryOrder::stored>>(
            s, plan, link, [&](const auto&, const auto&, const RetryMemory& memory, int) {
                return build(s, sweep, link, memory);
            });
    }
    constexpr auto build = build_flit_end<RetryOrder::oldest>;
    return run_engines<FlitEnd<RetryOrder::oldest>>(
        s, plan, link, [&](const auto&, const auto&, const RetryMemory& memory, int) {
            return build(s, sweep, link, memory);
        });
}

Expected<AnyLink> FlitAdapter::over_datagrams(std::size_t frame_max, std::uint64_t) {
    const Config config = Config::of_datagrams(frame_max);
    if (frame_max < flit::Shape::of(config.format).size) return unexpected("no flit fits");
    if (const auto good = config.check(); !good) return tl::unexpected(good.error());
    return AnyLink(flit::Link(config));
}

DrawnLink<flit::Config> FlitAdapter::draw(Random& dice, const LinkFigures& line, bool datagrams) {
    const auto sweep = static_cast<std::size_t>(dice.below(sweeps.size()));
    Config config =
        datagrams ? Config::of_datagrams(dice.chance(0.5) ? 1400 : 100) : config_of(sweep);
    DrawnLink<Config> drawn{.config = {},
                            .what = datagrams ? std::string() : std::string(sweeps[sweep]) + ", "};
    if (!datagrams && sweep == static_cast<std::size_t>(Sweep::cxl) && dice.chance(0.5)) {
        config = Config::cxl3_halves();
        drawn.what += "in halves, ";
    }
    if (dice.chance(0.5)) config.modulus = 2 * between(dice, 1, 63) + 1;
    config.first_number = config.modulus - between(dice, 0, std::min(config.modulus - 1, 30U));
    config.outstanding = between(dice, 1, std::min((config.modulus - 1) / 2, 64U));
    config.replay_slots = between(dice, 1, config.outstanding + 8);
    config.store_flits = between(dice, 1, 64);
    config.payload_lent = dice.chance(0.3);
    if (!datagrams) {
        config.crc_order = static_cast<flit::CrcOrder>(dice.below(2));
        config.corrects = dice.chance(0.7);
        config.continuous = dice.chance(0.5);
        drawn.one_at_a_time = config.continuous || dice.chance(0.7);
        drawn.rests = !config.continuous;
        config.flit_time = std::max(line.time_of(flit::Shape::of(config.format).size), Duration(1));
        const std::uint32_t loop = parts_in(line.latency * 2, config.flit_time) + 4;
        config.explicit_run = between(dice, 1, 4);
        config.nak_run = between(dice, 1, 4);
        if (!config.selective) config.explicit_after_jump = between(dice, 1, 4);
        drawn.hasty = drawn.one_at_a_time && dice.chance(0.2);
        const std::uint32_t queue = drawn.one_at_a_time ? 4 : config.outstanding;
        config.nak_ignore = loop + 2 * queue + between(dice, 5, 20);
        config.timeout_flits = 4 * (config.nak_ignore + config.outstanding) + between(dice, 0, 500);
        if (drawn.hasty) {
            config.nak_ignore = between(dice, 0, loop);
            config.timeout_flits = between(dice, 2, 2 * loop + 10);
        }
        config.replay_num_limit = between(dice, 0, 5);
        config.retrain_time = about(dice, config.flit_time, 0, 50);
        config.start_flits_max = std::max(config.start_flits_max, 2 * loop);
        config.ack_after = between(dice, 1, 4);
        config.ack_latency = about(dice, config.flit_time, 0, 20);
        config.start_every = config.flit_time * std::int64_t{2 * loop + 8};
        drawn.what += config.continuous ? "continuous, " : "on demand, ";
    }
    drawn.what += "modulus " + std::to_string(config.modulus) + ", window " +
                  std::to_string(config.outstanding);
    drawn.patience = config.flit_time * std::int64_t{config.timeout_flits} * 40 +
                     (config.retrain_time + config.start_every) * 40;
    drawn.config = config;
    return drawn;
}

LinkWorldResult FlitAdapter::run_world(const LinkWorldConfig& config) {
    return LinkWorld<FlitAdapter>(config).run();
}

template class LinkSearch<FlitAdapter>;

}  // namespace wireproof::lab
