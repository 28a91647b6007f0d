#include "wireproof/lab/engines/hippi.hpp"

#include <algorithm>

#include "wireproof/core/any_link.hpp"
#include "wireproof/lab/engines/scenario_lines.hpp"
#include "wireproof/lab/ladder/ladder_run.hpp"
#include "wireproof/lab/link_retry/retry_engines.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/search/search_link_run.hpp"
#include "wireproof/lab/worlds/link_world_run.hpp"
#include "wireproof/proto/hippi/link.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint32_t retry_window = 127;
constexpr std::uint32_t retry_window_max = 254;

/// The end of a point.
struct HippiEnd {
    static constexpr std::size_t own_max = 64;
    static constexpr RetryOrder order = RetryOrder::oldest;

    hippi::Link engine;
    ConstBytes payload;

    void feed() {
        while (engine.has_room()) (void)engine.submit(payload);
    }
    const LinkStats& stats() const { return engine.stats(); }
    std::uint64_t numbered() const { return engine.stats().numbered; }
    bool up() const { return engine.running(); }
    bool quiet() const { return false; }
    std::size_t kept() const { return engine.outstanding(); }
    std::uint64_t stride() const { return 765; }  // three times the number of all sequence numbers

    static FrameInfo describe(ConstBytes frame) { return hippi::describe(frame); }
    static constexpr bool counts_notices = true;
    /// A frame that only carries a number back. It is an acknowledgement or a copy of a notice.
    static bool is_notice(ConstBytes frame) {
        const auto control = hippi::Control::decode(frame.last<hippi::control_size>());
        return control && control->type == hippi::Type::null;
    }
};

static_assert(RetryEnd<HippiEnd>);

double units_of_message(const RetrySettings& s) {
    const std::uint32_t cut = (s.payload + 31) / 32;
    return s.payload % hippi::data_size == 0 ? cut : cut + 1;
}

HippiEnd build_hippi_end(const RetrySettings& s, const RetryLink& link, const RetryMemory& memory,
                         int node) {
    hippi::Config config;
    config.w_max = link.buffer;
    config.first_number = config.modulus - 16;
    config.retries_max = hippi::Config::retries_unlimited;
    config.null_after = line_time(link.ack_every > 1 ? link.ack_every * hippi::unit_size : 0);
    config.retry_after = line_time(link.timer);
    config.loop = line_time(s.loop + 2 * hippi::unit_size);
    config.start_again_after = config.loop * 10;
    config.message_max = std::max<std::size_t>(s.payload, hippi::data_size);
    config.messages_queued = 2;
    config.buffers.fill(hippi::Config::unlimited);
    config.lent = true;
    config.check_messages = false;  // the line marks damaged frames
    config.seed = node == 1 ? 2 : 1;
    return {hippi::Link(config), memory.source};
}

RetryPreset preset_of(std::string_view medium, double metres, std::uint32_t buffer) {
    RetryPreset preset;
    preset.name = "hippi6400-" + std::string(medium);
    preset.bytes_per_second = 800e6;
    preset.settings.protocol = *retry_protocol("hippi6400");
    preset.settings.payload = 1024;
    preset.settings.buffer = buffer;
    preset.settings.loop = cable_loop(metres, preset.bytes_per_second, 2.0 * hippi::unit_size);
    preset.what =
        "800 MB/s each way, cables of 40 m and fibres of 1 km (ISO/IEC 11518-10); two "
        "micropackets to turn around (assumed)";
    return preset;
}

}  // namespace

hippi::Config HippiAdapter::with_fitting_window(Config config) {
    config.w_max = std::min(config.w_max, std::max(config.modulus, 2U) - 1);
    return config;
}

hippi::Config HippiAdapter::of_end(Config config, std::uint64_t seed) {
    config.seed = seed;
    return config;
}

Describe HippiAdapter::describe_of(const Config&) {
    return hippi::describe;
}

std::size_t HippiAdapter::unacknowledged(const Engine& engine) {
    return engine.outstanding() + (engine.has_room() ? 0 : 1);  // one may wait to be cut into units
}

hippi::Config HippiAdapter::for_link(const LinkFigures& link) {
    const Duration unit = link.time_of(hippi::unit_size);
    return hippi::Config::for_link({.micropacket = unit, .one_way = link.latency + unit});
}

void HippiAdapter::read(EngineKeys& keys, Config& config) {
    constexpr std::array<std::string_view, 3> duplicates = {"status_null", "literal", "re_arm"};
    if (const auto rule = keys.word("duplicates", duplicates)) {
        config.duplicates = static_cast<hippi::Duplicates>(*rule);
    }
    keys.number("w_max", config.w_max, 1, 254);
    keys.truth("rseq_any_good", config.rseq_any_good);
    keys.truth("guard", config.guard);
    keys.time("null_after_ns", config.null_after);
    keys.time("retry_after_ns", config.retry_after, 1);
    keys.time("loop_ns", config.loop);
    keys.number("retries_max", config.retries_max, 1, 1'000'000);
    keys.number("modulus", config.modulus, 2, 255);
    keys.number("first_number", config.first_number, 0, 254);
    keys.number("buffers", config.buffers[0], 1, 60'000);
}

Expected<Ladder> HippiAdapter::run_ladder(const Scenario& scenario) {
    return LadderRun<LinkLadderUser<HippiAdapter>>(scenario).run();
}

// A null is due at once. The search decides when it leaves, as for every frame. The engine never
// gives up the link: that would end runs that could go on forever.
hippi::Config HippiAdapter::search_config(std::uint32_t window, std::uint32_t modulus) {
    hippi::Config config;
    config.modulus = modulus;
    config.w_max = window;
    config.first_number = modulus - 1;
    config.retries_max = hippi::Config::retries_unlimited;
    config.null_after = Duration();
    config.loop = search_timer;
    config.retry_after = search_timer * 2;
    config.start_again_after = search_timer;
    config.message_max = hippi::data_size;
    config.messages_queued = 1;
    config.check_messages = false;
    return config;
}

std::string HippiAdapter::scenario_engine(const Config& config, bool hasty) {
    constexpr std::array words = {"\"status_null\"", "\"literal\"", "\"re_arm\""};
    std::string text =
        scenario_line("modulus", config.modulus) +
        scenario_line("first_number", config.first_number) + scenario_line("w_max", config.w_max) +
        scenario_line("duplicates", words[static_cast<std::size_t>(config.duplicates)]) +
        scenario_line("retries_max", 1'000'000);
    if (hasty) {
        text += scenario_line("null_after_ns", 0) + scenario_line("loop_ns", 0) +
                scenario_line("retry_after_ns", hasty_ns);
    }
    return text;
}

void HippiAdapter::set_rule(Config& config, std::size_t rule) {
    config.duplicates = static_cast<hippi::Duplicates>(rule);
}

std::unique_ptr<AnyLinkSearch> HippiAdapter::make_search(const Config& config, const LinkTask& task,
                                                         const SearchSetting& setting) {
    return std::make_unique<HippiSearch>(config, task, setting);
}

void HippiAdapter::fit(RetrySettings& s, std::size_t) {
    s.renak_on_bad_head = false;
}

void HippiAdapter::fill_in(const RetrySettings& s, std::size_t, RetryLink& link) {
    const double payload = s.payload / units_of_message(s);
    link.unit = {payload, static_cast<double>(hippi::unit_size) - payload};
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    if (link.ack_every == 0) link.ack_every = 8;
    if (link.timer == 0) {
        link.timer = std::max(4 * (s.loop + unit), s.loop + (link.ack_every + 1) * unit);
    }
    if (link.buffer == 0) link.buffer = retry_window;
    link.scheme = RetryScheme::one_notice;
    link.notice = {hippi::unit_size, 2};  // both copies must arrive
}

Expected<void> HippiAdapter::check(const RetrySettings& s, std::size_t, const RetryLink& link) {
    if (link.buffer > retry_window_max) {
        return unexpected("replay buffer of hippi6400 is 1 to " + std::to_string(retry_window_max));
    }
    if (link.timer <= s.loop + 2 * hippi::unit_size) {
        return unexpected("the timer of hippi6400 must be longer than the loop and 80 bytes");
    }
    if (link.timer <= std::uint64_t{link.ack_every} * hippi::unit_size) {
        return unexpected("the timer of hippi6400 must be longer than the wait for an ack");
    }
    if (s.renak_on_bad_head) return unexpected("renak_on_bad_head works only with pcie");
    return {};
}

Expected<RetryPoint> HippiAdapter::run_point(const RetrySettings& s, std::size_t,
                                             const RetryPlan& plan, const RetryLink& link) {
    return run_engines<HippiEnd>(s, plan, link, build_hippi_end);
}

void HippiAdapter::add_presets(std::vector<RetryPreset>& presets) {
    presets.push_back(preset_of("40m", 40, retry_window));
    presets.push_back(preset_of("1km", 1000, retry_window_max));
}

Expected<AnyLink> HippiAdapter::over_datagrams(std::size_t frame_max, std::uint64_t seed) {
    if (frame_max < hippi::unit_size) return unexpected("no micropacket fits");
    return AnyLink(Engine(of_end(hippi::Config::of_datagrams(), seed)));
}

DrawnLink<hippi::Config> HippiAdapter::draw(Random& dice, const LinkFigures& line, bool datagrams) {
    Config config = datagrams ? Config::of_datagrams() : for_link(line);
    config.modulus = dice.chance(0.5) ? 255 : between(dice, 3, 254);
    config.w_max = between(dice, 1, (config.modulus - 1) / 2);
    config.first_number = config.modulus - 1 - between(dice, 0, std::min(config.modulus - 1, 30U));
    config.rseq_any_good = dice.chance(0.3);
    config.guard = dice.chance(0.8);
    config.message_max = between(dice, 32, 600);
    config.messages_queued = between(dice, 1, 8);
    config.lent = dice.chance(0.3);
    config.check_messages = dice.chance(0.8);
    if (dice.chance(0.5)) {
        config.buffers.fill(dice.chance(0.5) ? Config::unlimited
                                             : static_cast<std::uint16_t>(between(dice, 1, 300)));
    }
    DrawnLink<Config> drawn{.config = {},
                            .what = "modulus " + std::to_string(config.modulus) + ", window " +
                                    std::to_string(config.w_max)};
    drawn.echoes = !config.rseq_any_good;  // HIPPI-23
    if (!datagrams) {
        drawn.one_at_a_time = dice.chance(0.7);
        config.retries_max = dice.chance(0.3) ? between(dice, 1, 4) : 16;
        drawn.may_go_down = true;
        const Duration unit = line.time_of(hippi::unit_size);
        config.null_after = about(dice, unit, 0, 16);
        const Duration answer = config.loop + config.null_after + unit * (2 * config.w_max + 4);
        config.retry_after = about(dice, answer, 1.1, 4);
    }
    drawn.patience = (config.retry_after + config.start_again_after) * 60;
    drawn.config = config;
    return drawn;
}

LinkWorldResult HippiAdapter::run_world(const LinkWorldConfig& config) {
    return LinkWorld<HippiAdapter>(config).run();
}

template class LinkSearch<HippiAdapter>;

}  // namespace wireproof::lab
