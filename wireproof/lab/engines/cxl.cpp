#include "wireproof/lab/engines/cxl.hpp"

#include <algorithm>

#include "wireproof/core/any_link.hpp"
#include "wireproof/lab/engines/scenario_lines.hpp"
#include "wireproof/lab/ladder/ladder_run.hpp"
#include "wireproof/lab/link_retry/retry_engines.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/search/search_link_run.hpp"
#include "wireproof/lab/worlds/link_world_run.hpp"
#include "wireproof/proto/cxl/link.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint32_t retry_buffer_max = 253;  // an LLRB has at most 255 entries, two are kept
constexpr std::uint32_t sequence = 6;            // flits: RETRY.Frames and the flit they announce

/// The end of a point.
struct CxlEnd {
    static constexpr std::size_t own_max = cxl::flit_size;
    static constexpr RetryOrder order = RetryOrder::oldest;
    static constexpr bool receiver_times_out = true;

    cxl::Link engine;
    ConstBytes payload;
    std::uint64_t period = 1;

    void feed() {
        while (engine.has_room()) (void)engine.submit(payload);
    }
    const LinkStats& stats() const { return engine.stats(); }
    /// Only flits with a message. INIT.Param is the other one that is not an acknowledgement.
    std::uint64_t numbered() const { return engine.stats().numbered - engine.stats().acks; }
    bool up() const { return engine.state() == cxl::Link::State::up; }
    bool quiet() const { return engine.quiet(); }
    std::size_t kept() const { return engine.sender().outstanding(); }
    std::uint64_t stride() const { return period; }

    static FrameInfo describe(ConstBytes frame) { return cxl::describe(frame); }
    /// RETRY.Req, without the frames before it.
    static bool is_notice(ConstBytes frame) {
        const auto flit = cxl::read_flit({.bytes = frame, .integrity = Integrity::intact});
        return flit && cxl::kind_of(*flit) == cxl::FlitKind::request;
    }
    /// The flits of a retry take the place of flits with messages.
    static bool is_in_vain(ConstBytes frame) {
        const auto flit = cxl::read_flit({.bytes = frame, .integrity = Integrity::intact});
        return flit && !cxl::retryable(cxl::kind_of(*flit));
    }
};

static_assert(RetryEnd<CxlEnd>);

std::size_t flits_of_message(const RetrySettings& s) {
    return (s.payload + cxl::message_room - 1) / cxl::message_room;
}

std::uint32_t threshold_of(std::uint32_t buffer) {
    return std::clamp(buffer / 4, 1U, cxl::Config{}.ack_threshold);
}

CxlEnd build_cxl_end(const RetrySettings& s, const RetryLink& link, const RetryMemory& memory,
                     int) {
    cxl::Config config;
    config.flit_time = line_time(cxl::flit_size);
    config.modulus = link.buffer + 2;
    config.first_number = config.modulus - 2;
    config.queue = 1;
    config.max_num_retry = 31;
    config.max_num_phy_reinit = cxl::Config::unlimited;
    config.timeout = static_cast<std::uint32_t>(link.timer / cxl::flit_size);
    config.ack_threshold = link.ack_every;
    // The line is never idle, so these two do not matter: neither expires while flits leave.
    config.ack_flush = config.probe_after = static_cast<std::uint32_t>(
        16 * (s.loop / cxl::flit_size + config.timeout + config.modulus));
    const std::size_t flits = flits_of_message(s);
    const std::size_t share = (s.payload + flits - 1) / flits;
    // The place in the row of acknowledgements comes back after this, and the numbers of both ends
    // after so many times.
    const std::uint64_t period = std::uint64_t{config.ack_threshold} * cxl::acks_of_ak;
    return {cxl::Link(config), ConstBytes(memory.source).first(share), period};
}

}  // namespace

cxl::Config CxlAdapter::with_fitting_window(Config config) {
    config.ack_threshold = std::min(config.ack_threshold, std::max(config.modulus, 3U) - 2);
    return config;
}

std::size_t CxlAdapter::message_max(const Config&) {
    return cxl::message_room;
}

std::size_t CxlAdapter::frame_max(const Config&) {
    return cxl::flit_size;
}

Describe CxlAdapter::describe_of(const Config&) {
    return cxl::describe;
}

std::size_t CxlAdapter::unacknowledged(const Engine& engine) {
    return engine.sender().news_outstanding() + engine.sender().waiting();
}

cxl::Config CxlAdapter::for_link(const LinkFigures& link) {
    cxl::Config config;
    config.flit_time = std::max(link.time_of(cxl::flit_size), Duration::nanoseconds(1));
    return config;
}

void CxlAdapter::read(EngineKeys& keys, Config& config) {
    keys.number("modulus", config.modulus, 4, 255);
    keys.number("first_number", config.first_number, 0, 254);
    keys.number("max_num_retry", config.max_num_retry, 1, 31);
    keys.number("max_num_phy_reinit", config.max_num_phy_reinit, 0, 31);
    keys.time("flit_time_ns", config.flit_time, 1);
    keys.number("timeout", config.timeout, 1, 1'000'000);
    keys.number("frames", config.frames, 1, 5);
    config.frames_needed = std::min(config.frames_needed, config.frames);
    keys.number("frames_needed", config.frames_needed, 1, 5);
    keys.number("ack_threshold", config.ack_threshold, 1, 253);
    keys.number("ack_flush", config.ack_flush, 1, 1'000'000);
    keys.number("probe_after", config.probe_after, 1, 1'000'000);
    keys.number("train_every", config.train_every, 1, 1'000'000);
    keys.time("retrain_ns", config.retrain_time);
    keys.truth("keeps_an_entry", config.mends.keeps_an_entry);
    keys.truth("compares_num_retry", config.mends.compares_num_retry);
    keys.truth("flushes_acks", config.mends.flushes_acks);
}

Expected<Ladder> CxlAdapter::run_ladder(const Scenario& scenario) {
    return LadderRun<LinkLadderUser<CxlAdapter>>(scenario).run();
}

// One RETRY.Frame stands for five. Two requests suffice for two answers in flight; a TIMEOUT after
// them leads to PHY_REINIT.
cxl::Config CxlAdapter::search_config(std::uint32_t window, std::uint32_t modulus) {
    cxl::Config config;
    config.flit_time = search_timer;
    config.modulus = modulus;
    config.first_number = modulus - 1;
    config.queue = 1;
    config.max_num_retry = 2;
    config.max_num_phy_reinit = cxl::Config::unlimited;
    config.training_numbers = 3;
    config.frames = config.frames_needed = 1;
    config.ack_threshold = window;
    config.timeout = 1;
    config.ack_flush = 2;
    config.probe_after = 0;  // nothing is lost in silence
    config.train_every = 4;
    return config;
}

Labels CxlAdapter::labels(const Engine& engine) {
    Labels labels{.own = engine.training().own_number()};
    if (const auto peers = engine.training().peers_number()) labels.peers = *peers;
    return labels;
}

void CxlAdapter::fingerprint_without_labels(const Engine& engine, Instant now, Fingerprint& sink) {
    engine.fingerprint_without_trainings(now, sink);
}

Labels CxlAdapter::set_labels_aside(std::vector<std::byte>& frame) {
    auto set = cxl::TrainingSet::decode(frame);
    if (!set) return {};
    Labels labels{.own = set->own};
    if (set->heard) labels.peers = set->peers;
    set->own = set->peers = 0;
    set->encode(Bytes(frame).first<cxl::TrainingSet::size>());
    return labels;
}

std::string CxlAdapter::scenario_engine(const Config& config, bool hasty) {
    const auto word = [](bool value) { return std::string(value ? "true" : "false"); };
    std::string text = scenario_line("modulus", config.modulus) +
                       scenario_line("first_number", config.first_number) +
                       scenario_line("frames", config.frames) +
                       scenario_line("ack_threshold", config.ack_threshold) +
                       scenario_line("keeps_an_entry", word(config.mends.keeps_an_entry)) +
                       scenario_line("compares_num_retry", word(config.mends.compares_num_retry)) +
                       scenario_line("flushes_acks", word(config.mends.flushes_acks));
    if (hasty) text += scenario_line("flit_time_ns", hasty_ns) + scenario_line("timeout", 1);
    return text;
}

void CxlAdapter::set_rule(Config& config, std::size_t rule) {
    config.mends.keeps_an_entry = rule != 1;
    config.mends.compares_num_retry = rule != 2;
    config.mends.flushes_acks = rule != 3;
}

std::unique_ptr<AnyLinkSearch> CxlAdapter::make_search(const Config& config, const LinkTask& task,
                                                       const SearchSetting& setting) {
    return std::make_unique<CxlSearch>(config, task, setting);
}

void CxlAdapter::fit(RetrySettings& s, std::size_t) {
    s.renak_on_bad_head = false;
}

void CxlAdapter::fill_in(const RetrySettings& s, std::size_t, RetryLink& link) {
    const double payload = s.payload / static_cast<double>(flits_of_message(s));
    link.unit = {payload, static_cast<double>(cxl::flit_size) - payload};
    if (link.timer == 0) {
        link.timer =
            cxl::flit_size * std::max<std::uint64_t>(cxl::Config{}.timeout,
                                                     4 * (s.loop / cxl::flit_size + 4 * sequence));
    }
    if (link.buffer == 0) {
        const std::uint64_t never_stalls =
            s.loop / cxl::flit_size + 4 * sequence +
            2 * std::max(link.ack_every, cxl::Config{}.ack_threshold);
        link.buffer =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(never_stalls, retry_buffer_max));
    }
    if (link.ack_every == 0) link.ack_every = threshold_of(link.buffer);
    link.scheme = RetryScheme::fresh_notice;
    link.notice = {cxl::flit_size, sequence};
    link.announcing = sequence;
}

Expected<void> CxlAdapter::check(const RetrySettings& s, std::size_t, const RetryLink& link) {
    if (link.buffer < 2 || link.buffer > retry_buffer_max) {
        return unexpected("replay buffer of cxl-llr is 2 to " + std::to_string(retry_buffer_max));
    }
    const std::uint64_t least = s.loop + 4 * sequence * cxl::flit_size;
    if (link.timer < least || link.timer / cxl::flit_size > 1U << 24) {
        return unexpected("the timer of cxl-llr is at least the loop and 24 flits, " +
                          std::to_string(least) + " bytes, and at most 16777216 flits");
    }
    if (s.renak_on_bad_head) return unexpected("renak_on_bad_head works only with pcie");
    return {};
}

Expected<RetryPoint> CxlAdapter::run_point(const RetrySettings& s, std::size_t,
                                           const RetryPlan& plan, const RetryLink& link) {
    return run_engines<CxlEnd>(s, plan, link, build_cxl_end);
}

void CxlAdapter::add_presets(std::vector<RetryPreset>& presets) {
    for (const std::uint32_t width : {8U, 16U}) {
        constexpr double bytes_per_lane = 4e9;
        constexpr double loop_seconds = 100e-9;
        RetryPreset preset;
        preset.name = "cxl2-x" + std::to_string(width);
        preset.settings.protocol = *retry_protocol("cxl-llr");
        preset.settings.payload = cxl::message_room;
        preset.bytes_per_second = bytes_per_lane * width;
        preset.settings.loop = static_cast<std::uint64_t>(preset.bytes_per_second * loop_seconds);
        preset.settings.timer = std::uint64_t{cxl::Config{}.timeout} * cxl::flit_size;
        preset.what =
            "flits of 68 bytes at 32 GT/s a lane, TIMEOUT of 4096 flits (CXL specification, "
            "4.2.8); a loop of 100 ns (assumed)";
        presets.push_back(preset);
    }
}

Expected<AnyLink> CxlAdapter::over_datagrams(std::size_t frame_max, std::uint64_t) {
    if (frame_max < cxl::flit_size) return unexpected("no flit fits");
    return AnyLink(Engine(cxl::Config::of_datagrams()));
}

DrawnLink<cxl::Config> CxlAdapter::draw(Random& dice, const LinkFigures& line, bool datagrams) {
    Config config = datagrams ? Config::of_datagrams() : for_link(line);
    config.modulus = dice.chance(0.5) ? between(dice, 4, 21) : between(dice, 22, 255);
    config.first_number = between(dice, 0, std::min(config.modulus, 9U) - 1);
    config.queue = between(dice, 1, 16);
    config.ack_threshold = std::min(between(dice, 1, 32), config.modulus - 2);
    config.frames = between(dice, 1, 5);
    config.frames_needed = between(dice, 1, config.frames);
    config.training_numbers = dice.chance(0.3) ? 3 : 256;
    DrawnLink<Config> drawn{.config = {}, .what = ""};
    if (!datagrams) {
        config.continuous = dice.chance(0.5);
        drawn.one_at_a_time = config.continuous || dice.chance(0.7);
        drawn.rests = !config.continuous;
        const std::uint32_t loop = parts_in(line.latency * 2, config.flit_time) + 4;
        const std::uint32_t answer = loop + 24 + (drawn.one_at_a_time ? 0 : 2 * config.modulus);
        config.timeout = answer + between(dice, 0, 200);  // CXL-25
        config.max_num_retry = between(dice, 1, 31);
        config.max_num_phy_reinit = dice.chance(0.5) ? Config::unlimited : between(dice, 0, 31);
        drawn.may_go_down = config.max_num_phy_reinit != Config::unlimited;
        config.ack_flush = between(dice, 1, 64);
        config.probe_after = dice.chance(0.5) ? 0 : answer + config.ack_flush + config.modulus;
        config.train_every = answer;
        config.retrain_time = about(dice, config.flit_time, 0, 50);
        drawn.what += config.continuous ? "continuous, " : "on demand, ";
    }
    drawn.what += "depth " + std::to_string(config.modulus);
    drawn.patience = config.flit_time *
                         std::int64_t{config.timeout + config.probe_after + config.train_every +
                                      config.ack_flush} *
                         60 +
                     config.retrain_time * 40;
    drawn.config = config;
    return drawn;
}

void CxlAdapter::train(Engine& engine, Instant now, bool begins) {
    if (begins) engine.retrain(now);
}

bool CxlAdapter::retries(const Engine& engine) {
    return !engine.lrsm().normal() || engine.lrsm().num_retry() > 0;
}

LinkWorldResult CxlAdapter::run_world(const LinkWorldConfig& config) {
    return LinkWorld<CxlAdapter>(config).run();
}

template class LinkSearch<CxlAdapter>;

}  // namespace wireproof::lab
