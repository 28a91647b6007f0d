// Presets of Ultra Ethernet, and what such a line needs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "wireproof/lab/engines/ue.hpp"
#include "wireproof/lab/link_retry/retry_advice.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint32_t usual_payload = 4096;

// A CtlOS waits for half of the least distance of two on average.
std::uint64_t loop_of(double metres, double bytes_per_second) {
    return cable_loop(metres, bytes_per_second, ue::Config().ctl_spacing / 2.0);
}

RetryPreset preset_of(std::string name, double bytes_per_second, int metres,
                      const ue::Config& config) {
    RetryPreset preset;
    preset.name = std::move(name);
    preset.bytes_per_second = bytes_per_second;
    preset.settings.protocol = *retry_protocol("ue-llr");
    preset.settings.payload = usual_payload;
    preset.settings.loop = loop_of(metres, bytes_per_second);
    preset.settings.buffer = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(config.outstanding_data_max / config.mac_size(usual_payload), 2));
    preset.settings.timer = static_cast<std::uint64_t>(
        std::llround(config.replay_timer_max.seconds() * bytes_per_second));
    preset.link_layer_retry = true;
    return preset;
}

ue::LineFigures line_of(int gigabits, int metres) {
    return {Duration(8000 / gigabits), Duration::nanoseconds(std::int64_t{10} * metres)};
}

std::string name_of(int gigabits, int metres) {
    return std::to_string(gigabits) + "g-" + std::to_string(metres) + "m";
}

}  // namespace

void UeAdapter::add_presets(std::vector<RetryPreset>& presets) {
    for (const int gigabits : {100, 200, 400, 800}) {
        for (const int metres : {5, 40, 500}) {
            const ue::Config config = ue::Config::of_line(line_of(gigabits, metres), usual_payload);
            RetryPreset preset = preset_of("ue-llr-" + name_of(gigabits, metres),
                                           gigabits * 1e9 / 8, metres, config);
            preset.what =
                "Link Layer Retry; window and timer computed from the round trip, control ordered "
                "sets 400 bytes apart; the cable alone delays (assumed)";
            presets.push_back(std::move(preset));
        }
    }
    const ue::Config config = ue::Config::of_slingshot(line_of(200, 40), usual_payload);
    RetryPreset slingshot = preset_of("slingshot-llr-200g-40m", 200e9 / 8, 40, config);
    slingshot.what =
        "window and timer by the open drivers of Slingshot: loop, two frames of 9216 bytes and one "
        "more; three loops and 500 ns, 1 to 15.5 us";
    presets.push_back(std::move(slingshot));
    for (const int gigabits : {100, 400, 800}) {
        for (const int metres : {5, 500}) {
            const std::string rate_and_length = name_of(gigabits, metres);
            const auto same = std::find_if(presets.begin(), presets.end(), [&](const auto& one) {
                return one.name == "ue-llr-" + rate_and_length;
            });
            RetryPreset alias = *same;
            alias.name = "ethernet-llr-" + rate_and_length;
            alias.what = "other names of ue-llr-100g-5m to ue-llr-800g-500m";
            presets.push_back(std::move(alias));
        }
    }
}

RetrySettings UeAdapter::on_line(const AdviceLine& line, std::size_t) {
    RetrySettings s;
    s.protocol = *retry_protocol("ue-llr");
    s.payload = line.payload > 0 ? line.payload : usual_payload;
    s.loop = loop_of(line.metres, line.bytes_per_second) +
             static_cast<std::uint64_t>(std::llround(line.delay_seconds * line.bytes_per_second));
    return s;
}

// The answer may have to wait for the frame that is arriving, and for the distance of two ACKs.
std::uint64_t UeAdapter::timer_least(const RetrySettings& s, const RetryLink& link) {
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    return s.loop + (link.ack_every + 1) * unit + 1;
}

// LLR-21 and LLR-22 give the order of the timers. A flush needs a failure, a bad head of the replay
// that its NACK begins, and a bad head of each replay by the timer.
std::vector<AdvisedLimit> UeAdapter::limits(const Advice& advice, const AdviceLine& line) {
    constexpr double hours = 1e9;
    const double unit = advice.link.unit.bytes();
    const auto nanoseconds = [&line](double bytes) { return bytes / line.bytes_per_second * 1e9; };
    const double timer =
        std::ceil(nanoseconds(static_cast<double>(advice.settings.timer)) / 10) * 10;
    const double bad = unit_error(line.bit_error, unit);
    const double frames = line.bytes_per_second * 3600 * hours / unit;
    double replays = 1;
    while (replays < 254 && frames * std::pow(bad, replays + 2) > 1) ++replays;
    const double drain = nanoseconds(advice.settings.buffer * unit);
    const double age = std::ceil(1.1 * (replays + 1) * (timer + drain) / 100) * 100;
    const auto mac = static_cast<double>(ue::Config().mac_size(advice.settings.payload));
    return {
        {"outstanding_seq_max", static_cast<double>(advice.settings.buffer), "frames", ""},
        {"outstanding_data_max", advice.settings.buffer * mac, "bytes", ""},
        {"replay_timer_max", timer, "ns", timer > 65'535 ? "more than the attribute holds" : ""},
        {"replay_ct_max", replays, "", "less than one flush in 1e9 hours"},
        {"data_age_timer_max", age, "ns", "longer than all replays (LLR-21)"},
        {"pcs_lost_status_timer_max", 2.5 * age, "ns", "longer than data_age (LLR-22)"},
    };
}

}  // namespace wireproof::lab
