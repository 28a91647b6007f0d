// Settings of well-known links, under their usual names: a protocol, its figures in bytes on the
// line, and how long a byte takes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

struct RetryPreset {
    std::string name;
    RetrySettings settings;         // without bit errors
    double bytes_per_second = 0;    // on the line, payload and overhead
    std::string what;               // one line: the link, and the source of its figures
    bool link_layer_retry = false;  // of Ethernet: also shows counters under its names

    double nanoseconds(double bytes) const { return bytes / bytes_per_second * 1e9; }
};

/// The loop of a cable, bytes: the time there and back at 5 ns a metre, and `turn_around` bytes in
/// which a bad unit and its notice wait to be processed.
std::uint64_t cable_loop(double metres, double bytes_per_second, double turn_around);

/// Returns `line` with the protocol, payload, loop, buffer, acks and timer of the preset. If `line`
/// has no settings of flits, those of the preset hold.
RetrySettings with_preset(const RetrySettings& line, const RetryPreset& preset);

/// All presets, in a good order for a list.
std::span<const RetryPreset> retry_presets();
/// Valid as long as the program runs. Null if no preset has this name.
const RetryPreset* retry_preset(std::string_view name);

}  // namespace wireproof::lab
