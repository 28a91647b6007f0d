#include "wireproof/lab/sweep/sweep_quantities.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "wireproof/lab/link_retry/loss_trace.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/report/plot_svg.hpp"

namespace wireproof::lab {
namespace {

SweepQuantity quantity_of_number(std::string_view name, std::string unit, double value) {
    return {std::string(name), std::move(unit), figure(value), value};
}

// 0 means the protocol's own choice.
SweepQuantity quantity_of_choice(std::string name, std::string unit, double value) {
    if (value != 0) return quantity_of_number(name, std::move(unit), value);
    return {std::move(name), "", "the protocol's own", std::nullopt, true};
}

SweepQuantity quantity_of_flag(const std::string& name, bool set) {
    return {name, "", set ? name : ""};
}

// The three probabilities of the bursts.
std::string quantity_text(const LossBursts& bursts) {
    if (bursts.begin == 0) return "";
    return figure(bursts.begin) + ", " + figure(bursts.end) + ", " + figure(bursts.loss_in_burst);
}

// Empty: the protocol's own choice, or it has no code.
std::string quantity_text(RetryFec fec) {
    return fec == RetryFec::own ? "" : fec == RetryFec::on ? "FEC" : "no FEC";
}

}  // namespace

std::string sixteen_digits(std::uint64_t value) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    const std::string text(digits.data(), end);
    return std::string(digits.size() - text.size(), '0') + text;
}

std::string figure(double value, int digits) {
    std::array<char, 64> room{};
    const auto end = std::to_chars(room.data(), room.data() + room.size(), value,
                                   std::chars_format::general, digits)
                         .ptr;
    std::string text(room.data(), end);
    for (const char* const sign : {"e-0", "e+0", "e+"}) {
        const std::size_t at = text.find(sign);
        if (at != std::string::npos)
            text.replace(at, std::strlen(sign), sign[1] == '-' ? "e-" : "e");
    }
    return text;
}

std::vector<SweepQuantity> quantities_of(const RetrySettings& s, bool units) {
    std::vector<SweepQuantity> asked = {
        {"protocol", "", std::string(name_of(s.protocol))},
        quantity_of_number(bit_error_rate, "", s.bit_error),
        quantity_of_number("payload", "bytes", s.payload),
        quantity_of_number("loop", "bytes", static_cast<double>(s.loop)),
        quantity_of_choice("replay buffer", "units", s.buffer),
        quantity_of_choice("units an ack", "", s.ack_every),
        quantity_of_choice("timer", "bytes", static_cast<double>(s.timer)),
        quantity_of_flag("loaded back", s.loaded_back),
        quantity_of_flag("clean back", s.clean_back),
        quantity_of_flag("renak on bad head", s.renak_on_bad_head),
        quantity_of_number("notice loss", "", s.notice_loss),
        {"bursts", "", quantity_text(s.bursts)},
    };
    if (units) {
        asked.push_back({"FEC", "", quantity_text(s.fec)});
        asked.push_back(quantity_of_choice("burst", "bits", s.burst_bits));
        asked.push_back(quantity_of_choice("lanes", "", s.lanes));
        asked.push_back(quantity_of_number("lane correlation", "", s.lane_correlation));
    }
    if (s.overhead > 0) asked.push_back(quantity_of_number("overhead", "bytes", s.overhead));
    if (s.preset != nullptr) asked.push_back({"preset", "", std::string(s.preset->name)});
    if (s.loss_trace) {
        asked.push_back({"loss trace", "", sixteen_digits(s.loss_trace->digest())});
    }
    return asked;
}

std::vector<SweepFigures> figures_of(std::span<const SweepPoint> points) {
    const bool units =
        std::ranges::any_of(points, [](const auto& point) { return point.line.has_value(); });
    std::vector<SweepFigures> figures;
    for (const SweepPoint& point : points) {
        figures.push_back({.settings = point.settings,
                           .asked = quantities_of(point.settings, units),
                           .etr = point.etr.value(),
                           .throughput = point.throughput.value(),
                           .resend_ratio = point.resend_ratio.value(),
                           .relative_error = point.relative_error,
                           .closed_etr = point.closed_etr,
                           .closed_ratio = point.closed_ratio});
    }
    return figures;
}

std::string picture_of(std::span<const SweepFigures> points) {
    if (points.empty()) return {};
    const SweepCurves curves = curves_of(points);
    if (curves.etr.empty()) return {};
    return report::svg_of(std::array{curves.etr, curves.resends, curves.throughput});
}

}  // namespace wireproof::lab
