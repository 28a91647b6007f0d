// Lines that people have, under the names they have for them: a protocol, its figures in bytes on
// the line, and how long a byte takes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wireproof/lab/retry/retry_point.hpp"

namespace wireproof::lab {

struct RetryPreset {
    std::string name;
    RetrySettings settings;         // bit errors are not among them
    double bytes_per_second = 0;    // on the line, payload and overhead
    std::string what;               // and where its figures come from, in one line
    bool link_layer_retry = false;  // of Ethernet: counted under its names, too

    double nanoseconds(double bytes) const { return bytes / bytes_per_second * 1e9; }
};

/// Settings of a line that is otherwise `line`: protocol, payload, loop, buffer, acks and timer are
/// the preset's.
RetrySettings with_preset(const RetrySettings& line, const RetryPreset& preset);

/// All of them, in an order to be read in.
std::span<const RetryPreset> retry_presets();
/// Lives as long as the program; null: there is none of that name.
const RetryPreset* retry_preset(std::string_view name);

}  // namespace wireproof::lab
