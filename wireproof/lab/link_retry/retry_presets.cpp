#include "wireproof/lab/link_retry/retry_presets.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "wireproof/proto/am/config.hpp"

namespace wireproof::lab {
namespace {

constexpr double nanoseconds_per_metre = 5;  // of a signal in copper or glass

std::uint64_t whole(double bytes) {
    return static_cast<std::uint64_t>(std::llround(bytes));
}

}  // namespace

std::uint64_t cable_loop(double metres, double bytes_per_second, double turn_around) {
    return whole(2 * metres * nanoseconds_per_metre * 1e-9 * bytes_per_second + turn_around);
}

namespace {

RetryPreset sp2_preset() {
    const am::Config config = am::Config::sp2();
    constexpr double round_trip_us = 47;  // of the bare adapter (paper)
    RetryPreset preset;
    preset.name = "sp2";
    preset.bytes_per_second = 40e6;
    preset.settings.protocol = RetryProtocol::sp_am;
    preset.settings.payload = static_cast<std::uint32_t>(config.data_max());
    preset.settings.buffer = config.window_of(am::Channel::request);
    preset.settings.loop = whole(round_trip_us * 1e-6 * preset.bytes_per_second);
    preset.settings.timer = whole(config.keepalive_after.seconds() * preset.bytes_per_second);
    preset.what =
        "packets of 256 bytes at 40 MB/s, window 75, a round trip of 47 us (SP AM, 1996); "
        "keep-alive after 500 us (ours)";
    return preset;
}

std::vector<RetryPreset> make_presets() {
    std::vector<RetryPreset> presets;
    LinkEngines::for_each([&presets]<class Adapter>() { Adapter::add_presets(presets); });
    presets.push_back(sp2_preset());
    return presets;
}

}  // namespace

RetrySettings with_preset(const RetrySettings& line, const RetryPreset& preset) {
    RetrySettings settings = line;
    settings.protocol = preset.settings.protocol;
    settings.payload = preset.settings.payload;
    settings.loop = preset.settings.loop;
    settings.buffer = preset.settings.buffer;
    settings.ack_every = preset.settings.ack_every;
    settings.timer = preset.settings.timer;
    if (line.fec == RetryFec::own) settings.fec = preset.settings.fec;
    if (line.burst_bits == 0) settings.burst_bits = preset.settings.burst_bits;
    if (line.lanes == 0) settings.lanes = preset.settings.lanes;
    settings.preset = &preset;
    return settings;
}

std::span<const RetryPreset> retry_presets() {
    static const std::vector<RetryPreset> presets = make_presets();
    return presets;
}

const RetryPreset* retry_preset(std::string_view name) {
    const auto presets = retry_presets();
    const auto found = std::find_if(presets.begin(), presets.end(),
                                    [name](const RetryPreset& p) { return p.name == name; });
    return found == presets.end() ? nullptr : &*found;
}

}  // namespace wireproof::lab
