#include "wireproof/app/sweep/sweep_quantities.hpp"

#include <fmt/format.h>

#include <cstring>

#include "wireproof/lab/link_retry/loss_trace.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"

namespace wireproof::cli {
namespace {

using lab::SweepQuantity;

SweepQuantity of_number(std::string_view name, std::string unit, double value) {
    return {std::string(name), std::move(unit), figure(value), value};
}

// 0 means the protocol's own choice.
SweepQuantity of_choice(std::string name, std::string unit, double value) {
    if (value != 0) return of_number(name, std::move(unit), value);
    return {std::move(name), "", "the protocol's own", std::nullopt, true};
}

SweepQuantity of_flag(const std::string& name, bool set) {
    return {name, "", set ? name : ""};
}

// The three probabilities of the bursts.
std::string text_of(const LossBursts& bursts) {
    if (bursts.begin == 0) return "";
    return figure(bursts.begin) + ", " + figure(bursts.end) + ", " + figure(bursts.loss_in_burst);
}

// Empty: the protocol's own choice, or it has no code.
std::string text_of(lab::RetryFec fec) {
    return fec == lab::RetryFec::own ? "" : fec == lab::RetryFec::on ? "FEC" : "no FEC";
}

}  // namespace

std::string figure(double value, int digits) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    for (const char* const sign : {"e-0", "e+0", "e+"}) {
        const std::size_t at = text.find(sign);
        if (at != std::string::npos)
            text.replace(at, std::strlen(sign), sign[1] == '-' ? "e-" : "e");
    }
    return text;
}

std::vector<SweepQuantity> quantities_of(const lab::RetrySettings& s, bool units) {
    std::vector<SweepQuantity> asked = {
        {"protocol", "", std::string(name_of(s.protocol))},
        of_number(lab::bit_error_rate, "", s.bit_error),
        of_number("payload", "bytes", s.payload),
        of_number("loop", "bytes", static_cast<double>(s.loop)),
        of_choice("replay buffer", "units", s.buffer),
        of_choice("units an ack", "", s.ack_every),
        of_choice("timer", "bytes", static_cast<double>(s.timer)),
        of_flag("loaded back", s.loaded_back),
        of_flag("clean back", s.clean_back),
        of_flag("renak on bad head", s.renak_on_bad_head),
        of_number("notice loss", "", s.notice_loss),
        {"bursts", "", text_of(s.bursts)},
    };
    if (units) {
        asked.push_back({"FEC", "", text_of(s.fec)});
        asked.push_back(of_choice("burst", "bits", s.burst_bits));
        asked.push_back(of_choice("lanes", "", s.lanes));
        asked.push_back(of_number("lane correlation", "", s.lane_correlation));
    }
    if (s.overhead > 0) asked.push_back(of_number("overhead", "bytes", s.overhead));
    if (s.preset != nullptr) asked.push_back({"preset", "", std::string(s.preset->name)});
    if (s.loss_trace) {
        asked.push_back({"loss trace", "", fmt::format("{:016x}", s.loss_trace->digest())});
    }
    return asked;
}

}  // namespace wireproof::cli
