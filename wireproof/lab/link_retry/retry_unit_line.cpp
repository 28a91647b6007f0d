#include "wireproof/lab/link_retry/retry_unit_line.hpp"

#include <bit>

#include "wireproof/lab/link_retry/retry_presets.hpp"

namespace wireproof::lab {
namespace {

bool asks_for_line(const RetrySettings& s) {
    return s.fec != RetryFec::own || s.burst_bits > 0 || s.lanes > 0 || s.lane_correlation != 0;
}

/// The line that the adapter chooses.
std::optional<UnitLineTerms> line_of(RetryProtocol protocol) {
    const LinkSweep* const of = link_sweep_of(protocol);
    if (of == nullptr) return std::nullopt;
    RetryLink link;
    LinkEngines::visit(of->engine, [&]<class Adapter>() {
        Adapter::fill_in({.protocol = protocol}, of->sweep, link);
    });
    return link.line;
}

}  // namespace

Expected<void> apply_line(const RetrySettings& s, RetryLink& link) {
    constexpr std::uint32_t burst_max = 256;
    constexpr std::uint32_t lanes_max = 32;
    const std::string name(name_of(s.protocol));
    if (!link.line) {
        if (!asks_for_line(s)) return {};
        return unexpected(name +
                          " has no flits: fec, burst bits, lanes and lane correlation are "
                          "of protocols with flits");
    }
    UnitLineTerms& line = *link.line;
    if (line.groups == 0) {
        if (s.fec == RetryFec::on) return unexpected(name + " has no error-correcting code");
        line.corrects = false;
        line.groups = 1;
    }
    if (s.fec != RetryFec::own) line.corrects = s.fec == RetryFec::on;
    if (s.burst_bits > burst_max) return unexpected("a burst has 1 to 256 bits");
    if (s.lanes > lanes_max || (s.lanes > 0 && !std::has_single_bit(s.lanes))) {
        return unexpected("a line has 1, 2, 4, 8, 16 or 32 lanes");
    }
    if (!(s.lane_correlation >= 0 && s.lane_correlation <= 1)) {
        return unexpected("the correlation of lanes is a share, 0 to 1");
    }
    if (s.burst_bits > 0) line.burst_bits = s.burst_bits;
    if (s.lanes > 0) line.lanes = s.lanes;
    if (s.lane_correlation > 0 && line.lanes == 1) {
        return unexpected("one lane has no other to be correlated with");
    }
    line.correlation = s.lane_correlation;
    if (s.preset != nullptr) link.bytes_per_second = s.preset->bytes_per_second;
    return {};
}

double frame_error(const RetryLink& link, double bit_error, double bytes) {
    return link.line ? unit_failure(*link.line, bit_error) : unit_error(bit_error, bytes);
}

RetrySettings fit_line(RetrySettings settings) {
    const auto line = line_of(settings.protocol);
    if (!line || line->groups == 0) settings.fec = RetryFec::own;
    if (line) return settings;
    settings.burst_bits = settings.lanes = 0;
    settings.lane_correlation = 0;
    return settings;
}

}  // namespace wireproof::lab
