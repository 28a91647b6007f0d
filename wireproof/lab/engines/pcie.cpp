#include "wireproof/lab/engines/pcie.hpp"

#include <algorithm>

#include "wireproof/core/any_link.hpp"
#include "wireproof/lab/engines/scenario_lines.hpp"
#include "wireproof/lab/ladder/ladder_run.hpp"
#include "wireproof/lab/link_retry/retry_engines.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/search/search_link_run.hpp"
#include "wireproof/lab/worlds/link_world_run.hpp"
#include "wireproof/proto/pcie/link.hpp"
#include "wireproof/proto/pcie/timing.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint32_t outstanding_max = 2047;

/// The end of a point.
struct PcieEnd {
    static constexpr std::size_t own_max = 64;
    static constexpr RetryOrder order = RetryOrder::oldest;

    pcie::Link engine;
    ConstBytes payload;

    void feed() {
        if (engine.transmitter().waiting() == 0 && engine.has_room()) (void)engine.submit(payload);
    }
    const LinkStats& stats() const { return engine.stats(); }
    std::uint64_t numbered() const { return engine.stats().numbered; }
    bool up() const { return engine.state() == pcie::Link::State::active; }
    bool quiet() const { return engine.quiet(); }
    std::size_t kept() const { return engine.transmitter().outstanding(); }
    std::uint64_t stride() const { return 64; }  // of the 4096 numbers

    static FrameInfo describe(ConstBytes frame) { return pcie::describe(frame); }
    /// A Nak.
    static bool is_notice(ConstBytes frame) {
        return pcie::starts_with(frame, pcie::Symbol::sdp) &&
               frame[1] == static_cast<std::byte>(pcie::DllpKind::nak);
    }
};

static_assert(RetryEnd<PcieEnd>);

// The timer of an x1 link at 2.5 GT/s, where a symbol is a byte. It is longer if the loop and the
// distance of two Acks alone take longer.
std::uint64_t retry_timer(const RetrySettings& s, const RetryLink& link, std::uint64_t unit) {
    std::uint32_t size = 128;
    while (size < s.payload) size *= 2;
    const std::uint64_t limit = pcie::replay_limit({pcie::Speed::gen1, 1}, size);
    return std::max(limit, s.loop + (link.ack_every + 1) * unit);
}

PcieEnd build_pcie_end(const RetrySettings& s, const RetryLink& link, const RetryMemory& memory,
                       int) {
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    pcie::Config config;
    config.payload_max = s.payload;
    config.byte_time = line_time(1);
    config.first_number = config.modulus - 16;
    config.replay_slots = link.buffer + 1;  // one more waits
    config.outstanding = link.buffer;
    config.payload_lent = true;
    config.ack_after = link.ack_every;
    config.ack_latency = line_time(link.ack_every * unit);
    config.replay_after = line_time(link.timer);
    config.retrain_time = Duration();
    config.init_every = line_time(8 * (s.loop + unit));
    if (s.renak_on_bad_head) {
        // Between the end of the last unit of a gap and the end of the resent head (etr, section
        // 5).
        config.renak_after = line_time((s.loop + unit - 1) / unit * unit + unit / 2);
    }
    return {pcie::Link(config), memory.source};
}

RetryPreset preset_of(pcie::Speed speed, std::uint32_t width) {
    constexpr std::uint32_t payload = 256;
    // From 16 GT/s on, the limit is 24 000 to 31 000 symbol times for every payload.
    constexpr std::uint32_t simplified_limit = 27'500;
    const pcie::LinkRate rate{speed, width};
    const bool simplified = speed >= pcie::Speed::gen4;
    const std::uint32_t limit = simplified ? simplified_limit : pcie::replay_limit(rate, payload);
    RetryPreset preset;
    preset.name =
        "pcie-gen" + std::to_string(static_cast<int>(speed) + 1) + "-x" + std::to_string(width);
    preset.settings.protocol = *retry_protocol("pcie");
    preset.settings.payload = payload;
    preset.settings.loop = std::uint64_t{2} * pcie::internal_delay(speed) * width;
    preset.settings.timer = std::uint64_t{limit} * width;
    preset.bytes_per_second = static_cast<double>(rate.bytes_per_second());
    preset.what = std::string("TLPs of 256 bytes; both ends' InternalDelay, REPLAY_TIMER ") +
                  (simplified ? "in the middle of 24000 to 31000 symbol times"
                              : "of three times the AckNak limit") +
                  " (base specification, 3.6)";
    return preset;
}

}  // namespace

pcie::Config PcieAdapter::with_fitting_window(Config config) {
    config.outstanding = std::min(config.outstanding, std::max(config.modulus, 4U) / 2 - 1);
    return config;
}

std::size_t PcieAdapter::frame_max(const Config& config) {
    return config.payload_max + pcie::tlp_overhead + 4;
}

Describe PcieAdapter::describe_of(const Config&) {
    return pcie::describe;
}

std::size_t PcieAdapter::unacknowledged(const Engine& engine) {
    return engine.transmitter().outstanding() + engine.transmitter().waiting();
}

pcie::Config PcieAdapter::for_link(const LinkFigures& link) {
    pcie::Config config;
    config.byte_time = link.time_of(1);
    return config;
}

void PcieAdapter::read(EngineKeys& keys, Config& config) {
    keys.time("ack_latency_ns", config.ack_latency);
    keys.number("ack_after", config.ack_after, 0, 2047);
    keys.time("replay_after_ns", config.replay_after, 1);
    keys.time("retrain_ns", config.retrain_time);
    keys.time("renak_after_ns", config.renak_after);
    keys.time("update_every_ns", config.update_every, 1);
    keys.number("modulus", config.modulus, 4, 4096);
    keys.number("first_number", config.first_number, 0, 4095);
    keys.number("outstanding", config.outstanding, 1, 2047);
    keys.number("payload_max", config.payload_max, 1, 4096);
    pcie::Credits& posted = config.credits[static_cast<std::size_t>(pcie::FlowType::posted)];
    keys.number("header_credits", posted.headers, 0, 127);
    keys.number("data_credits", posted.data, 0, 2047);
}

Expected<Ladder> PcieAdapter::run_ladder(const Scenario& scenario) {
    return LadderRun<LinkLadderUser<PcieAdapter>>(scenario).run();
}

// An Ack is due at once. The search decides when it leaves, as for every frame.
pcie::Config PcieAdapter::search_config(std::uint32_t window, std::uint32_t modulus) {
    pcie::Config config;
    config.payload_max = 4;
    config.modulus = modulus;
    config.first_number = modulus - 1;
    config.outstanding = config.replay_slots = window;
    config.ack_latency = Duration();
    config.replay_after = config.retrain_time = search_timer;
    config.init_every = config.update_every = search_timer;
    return config;
}

std::string PcieAdapter::scenario_engine(const Config& config, bool hasty) {
    std::string text = scenario_line("modulus", config.modulus) +
                       scenario_line("first_number", config.first_number) +
                       scenario_line("outstanding", config.outstanding);
    if (hasty) text += scenario_line("replay_after_ns", hasty_ns);
    return text;
}

std::unique_ptr<AnyLinkSearch> PcieAdapter::make_search(const Config& config, const LinkTask& task,
                                                        const SearchSetting& setting) {
    return std::make_unique<PcieSearch>(config, task, setting);
}

void PcieAdapter::fill_in(const RetrySettings& s, std::size_t, RetryLink& link) {
    std::size_t frame = pcie::TlpHead{0, pcie::FlowType::posted, s.payload}.frame_size();
    if (s.overhead > 0) {
        link.gap = static_cast<std::ptrdiff_t>(s.overhead) -
                   static_cast<std::ptrdiff_t>(pcie::tlp_overhead);
        frame = frame + s.overhead - pcie::tlp_overhead;
    }
    link.unit = {static_cast<double>(s.payload), static_cast<double>(frame - s.payload)};
    const std::uint64_t unit = frame;
    if (link.ack_every == 0) link.ack_every = 1;
    if (link.timer == 0) link.timer = retry_timer(s, link, unit);
    if (link.buffer == 0) {
        const std::uint64_t never_stalls =
            (s.loop + link.timer + unit - 1) / unit + link.ack_every + 2;
        link.buffer =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(never_stalls, outstanding_max));
    }
    link.scheme = s.renak_on_bad_head ? RetryScheme::fresh_notice : RetryScheme::patient_notice;
    link.notice = {pcie::Dllp::size, 1};
}

Expected<void> PcieAdapter::check(const RetrySettings& s, std::size_t, const RetryLink& link) {
    if (s.payload > 4096) return unexpected("payload of pcie is 1 to 4096");
    if (link.buffer > outstanding_max) {
        return unexpected("replay buffer of pcie is 1 to " + std::to_string(outstanding_max));
    }
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    if (link.timer <= unit) {
        return unexpected("the replay timer must be longer than a unit, which is " +
                          std::to_string(unit) + " bytes");
    }
    return {};
}

Expected<RetryPoint> PcieAdapter::run_point(const RetrySettings& s, std::size_t,
                                            const RetryPlan& plan, const RetryLink& link) {
    return run_engines<PcieEnd>(s, plan, link, build_pcie_end);
}

void PcieAdapter::add_presets(std::vector<RetryPreset>& presets) {
    using enum pcie::Speed;
    for (const pcie::Speed speed : {gen1, gen2, gen3, gen4, gen5}) {
        for (const std::uint32_t width : {1U, 4U, 8U, 16U}) {
            presets.push_back(preset_of(speed, width));
        }
    }
}

Expected<AnyLink> PcieAdapter::over_datagrams(std::size_t frame_max, std::uint64_t) {
    const pcie::Config config = pcie::Config::of_datagrams(frame_max);
    if (const auto good = config.check(); !good) return tl::unexpected(good.error());
    return AnyLink(Engine(config));
}

DrawnLink<pcie::Config> PcieAdapter::draw(Random& dice, const LinkFigures& line, bool datagrams) {
    Config config = datagrams ? Config::of_datagrams(between(dice, 64, 1400)) : for_link(line);
    if (!datagrams) config.payload_max = between(dice, 8, 600);
    const std::uint32_t modulus = dice.chance(0.5) ? 4096 : 2 * between(dice, 2, 64);
    config.modulus = modulus;
    config.first_number = modulus - 1 - between(dice, 0, std::min(modulus - 1, 30U));
    config.outstanding = between(dice, 1, std::min(modulus / 2 - 1, 48U));
    config.replay_slots = between(dice, 1, config.outstanding + 8);
    config.payload_lent = dice.chance(0.3);
    DrawnLink<Config> drawn{.config = {},
                            .what = "modulus " + std::to_string(modulus) + ", window " +
                                    std::to_string(config.outstanding)};
    if (dice.chance(0.3)) {
        const auto least = static_cast<std::uint32_t>((config.payload_max + 15) / 16);
        config.credits[0] = {between(dice, 1, 127), between(dice, least, least + 100)};
        drawn.rests = false;
        drawn.what += ", credits";
    }
    if (!datagrams) {
        const Duration frame = line.time_of(frame_max(config));
        const Duration loop = line.latency * 2 + frame * 4;
        drawn.one_at_a_time = dice.chance(0.7);
        config.ack_after = between(dice, 0, 4);
        config.ack_latency = about(dice, loop, 0, 2);
        // The answer may wait for a whole window of the peer.
        const Duration answer = loop + config.ack_latency + frame * (2 * config.outstanding + 4);
        drawn.hasty = drawn.one_at_a_time && dice.chance(0.15);
        config.replay_after = about(dice, answer, 1, 4);
        if (drawn.hasty) config.replay_after = about(dice, loop, 0.1, 1) + Duration(1);
        if (dice.chance(0.3)) config.renak_after = about(dice, answer, 1, 2);
        config.init_every = about(dice, loop, 2, 6);
        config.update_every = about(dice, loop, 1, 6);
        config.retrain_time = about(dice, loop, 0, 4);
    }
    drawn.patience = (config.replay_after + config.init_every + config.retrain_time) * 40;
    drawn.config = config;
    return drawn;
}

void PcieAdapter::train(Engine& engine, Instant now, bool begins) {
    if (begins) engine.retrain(now);
}

LinkWorldResult PcieAdapter::run_world(const LinkWorldConfig& config) {
    return LinkWorld<PcieAdapter>(config).run();
}

template class LinkSearch<PcieAdapter>;

}  // namespace wireproof::lab
