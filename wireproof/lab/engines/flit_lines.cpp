// Presets of flits, and what a line of flits needs.
#include <algorithm>
#include <cmath>

#include "wireproof/lab/engines/flit.hpp"
#include "wireproof/lab/link_retry/retry_advice.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/proto/flit/wire_format.hpp"

namespace wireproof::lab {
namespace {

// The published loop of 100 ns is that of 16 lanes at 64 GT/s, where a flit takes 2 ns. Of these,
// the bad flit and the one with the Nak take a flit time each.
constexpr double ends_seconds = 96e-9;

std::uint64_t flit_size(std::size_t sweep) {
    return flit::Shape::of(FlitAdapter::config_of(sweep).format).size;
}

RetrySettings settings_of(std::size_t sweep, double bytes_per_second, double seconds) {
    RetrySettings s;
    s.protocol = *retry_protocol(FlitAdapter::sweeps[sweep]);
    s.payload = static_cast<std::uint32_t>(FlitAdapter::config_of(sweep).message_max());
    s.loop =
        static_cast<std::uint64_t>(std::llround(bytes_per_second * seconds)) + 2 * flit_size(sweep);
    return s;
}

RetryPreset preset_of(std::string name, FlitAdapter::Sweep sweep, double bytes_per_second,
                      std::uint32_t lanes, double seconds, const char* what) {
    RetryPreset preset;
    preset.name = std::move(name);
    preset.bytes_per_second = bytes_per_second;
    preset.settings = settings_of(static_cast<std::size_t>(sweep), bytes_per_second, seconds);
    preset.settings.lanes = lanes;
    preset.what = what;
    return preset;
}

}  // namespace

void FlitAdapter::add_presets(std::vector<RetryPreset>& presets) {
    constexpr auto pcie =
        "full flits of 256 bytes; loop 96 ns and two flits, 100 ns with 16 lanes at 64 GT/s "
        "(recalled from published talks on flit mode); the timer is the Nak-ignore window, loop "
        "and "
        "5 flits (ours)";
    struct Line {
        int generation;
        double lane;  // bytes per second
        std::uint32_t lanes;
    };
    for (const Line& line : {Line{6, 8e9, 1}, Line{6, 8e9, 2}, Line{6, 8e9, 4}, Line{6, 8e9, 8},
                             Line{6, 8e9, 16}, Line{7, 16e9, 16}}) {
        const std::string rate_and_width =
            "pcie-gen" + std::to_string(line.generation) + "-x" + std::to_string(line.lanes);
        for (const Sweep sweep : {Sweep::standard, Sweep::selective}) {
            presets.push_back(
                preset_of(rate_and_width + (sweep == Sweep::selective ? "-selective" : ""), sweep,
                          line.lane * line.lanes, line.lanes, ends_seconds, pcie));
        }
    }
    presets.push_back(preset_of(
        "cxl3-x16", Sweep::cxl, 128e9, 16, ends_seconds,
        "flits of 256 bytes with 240 of data, 64 GT/s; loop and timer as for pcie-gen6-x16"));
    constexpr auto ucie =
        "16 lanes at 32 GT/s between chiplets; loop 10 ns and two flits (assumed); the timer is "
        "the "
        "Nak-ignore window, loop and 5 flits (ours)";
    presets.push_back(preset_of("ucie-256", Sweep::ucie_256, 64e9, 16, 10e-9, ucie));
    presets.push_back(preset_of("ucie-68", Sweep::ucie_68, 64e9, 16, 10e-9, ucie));
}

// Message and flit have one length.
RetrySettings FlitAdapter::on_line(const AdviceLine& line, std::size_t sweep) {
    constexpr double seconds_per_metre = 5e-9;
    return settings_of(sweep, line.bytes_per_second,
                       ends_seconds + line.delay_seconds + 2 * line.metres * seconds_per_metre);
}

// FLIT-21
std::uint64_t FlitAdapter::timer_least(const RetrySettings& s, const RetryLink& link) {
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    return ((s.loop + unit - 1) / unit + ignore_beyond_loop) * unit;
}

// A Nak must get through before the replay timer expires, also after a Nak that was ignored.
std::vector<AdvisedLimit> FlitAdapter::limits(const Advice& advice, const AdviceLine& line) {
    const double unit = advice.link.unit.bytes();
    const double window = std::ceil(static_cast<double>(advice.settings.timer) / unit);
    const double loop = std::ceil(static_cast<double>(advice.link.loop) / unit);
    const double timeout = std::max(1500.0, 2 * (loop + window));
    const double flit_ns = unit / line.bytes_per_second * 1e9;
    return {
        {"unacknowledged flits", static_cast<double>(advice.settings.buffer), "flits",
         advice.reached ? "" : "all that the numbers allow"},
        {"Nak-ignore window", window, "flits", "loop and 5 flits (FLIT-21)"},
        {"replay timeout", timeout, "flits", "1500, or two loops and windows"},
        {"replay timeout", timeout * flit_ns, "ns", ""},
    };
}

}  // namespace wireproof::lab
