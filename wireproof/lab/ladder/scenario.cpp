#include "wireproof/lab/ladder/scenario.hpp"

#include <algorithm>

namespace wireproof::lab {
namespace {

constexpr std::array<std::string_view, 14> pcie_kinds = {
    "TLP",        "nullified TLP", "Ack",          "Nak",        "InitFC1-P",
    "InitFC1-NP", "InitFC1-Cpl",   "InitFC2-P",    "InitFC2-NP", "InitFC2-Cpl",
    "UpdateFC-P", "UpdateFC-NP",   "UpdateFC-Cpl", "DLLP"};
constexpr std::array<std::string_view, 10> hippi_kinds = {
    "data",  "header", "null",     "status null", "credit",
    "admin", "init",   "init-ack", "reset",       "reset-ack"};
constexpr std::array<std::string_view, 9> am_kinds = {"REQ", "REP",  "CHUNK",     "OPEN", "GET_REQ",
                                                      "ACK", "NACK", "KEEPALIVE", "HELLO"};

// The same configuration, with a window that is not too large for the modulus.
pcie::Config with_fitting_window(pcie::Config config) {
    config.outstanding = std::min(config.outstanding, std::max(config.modulus, 4U) / 2 - 1);
    return config;
}
hippi::Config with_fitting_window(hippi::Config config) {
    config.w_max = std::min(config.w_max, std::max(config.modulus, 2U) - 1);
    return config;
}
am::Config with_fitting_window(am::Config config) {
    config.modulus = std::max<std::uint64_t>(config.modulus, 4 * config.window[0] + 4);
    return config;
}

std::uint64_t window_of(const pcie::Config& config) {
    return config.outstanding;
}
std::uint64_t window_of(const hippi::Config& config) {
    return config.w_max;
}
std::uint64_t window_of(const am::Config& config) {
    return config.window[0];
}

// The cookie of both ends, as if a launcher had started them.
constexpr std::uint64_t launchers_cookie = 0x1adde5;

}  // namespace

std::span<const std::string_view> frame_kinds(Protocol protocol) {
    switch (protocol) {
        case Protocol::pcie: return pcie_kinds;
        case Protocol::hippi6400: return hippi_kinds;
        case Protocol::sp_am: return am_kinds;
    }
    return {};
}

LinkFigures LinkFigures::of(Protocol protocol) {
    switch (protocol) {
        case Protocol::pcie: return {Duration::nanoseconds(200), 1'000'000'000};
        case Protocol::hippi6400: return {Duration::nanoseconds(360), 1'000'000'000};
        case Protocol::sp_am: return {Duration::microseconds(10), 40'000'000};
    }
    return {};
}

Duration LinkFigures::time_of(std::size_t bytes) const {
    if (bytes_per_second == 0) return Duration();
    return Duration(static_cast<std::int64_t>(bytes * 1'000'000'000'000 / bytes_per_second));
}

Scenario::Engine Scenario::engine_for(Protocol protocol, const LinkFigures& link) {
    switch (protocol) {
        case Protocol::pcie: {
            pcie::Config config;
            config.byte_time = link.time_of(1);
            return config;
        }
        case Protocol::hippi6400: {
            const Duration unit = link.time_of(hippi::unit_size);
            return hippi::Config::for_link({.micropacket = unit, .one_way = link.latency + unit});
        }
        case Protocol::sp_am: return am_engine(am::Layout::sp2);
    }
    return {};
}

am::Config Scenario::am_engine(am::Layout layout) {
    am::Config config = layout == am::Layout::sp2 ? am::Config::sp2() : am::Config::ethernet();
    config.cookie = launchers_cookie;
    return config;
}

Expected<void> Scenario::check_engine() const {
    return std::visit(
        [this](const auto& config) -> Expected<void> {
            if (!any_window) return config.check();
            if (window_of(config) > config.modulus) {
                return unexpected("a window of " + std::to_string(window_of(config)) +
                                  " is more than all " + std::to_string(config.modulus) +
                                  " numbers");
            }
            return with_fitting_window(config).check();
        },
        engine);
}

std::size_t Scenario::bytes_max(Traffic::What what) const {
    if (const auto* config = std::get_if<pcie::Config>(&engine)) return config->payload_max;
    if (const auto* config = std::get_if<hippi::Config>(&engine)) return config->message_max;
    constexpr std::size_t transfer_max = std::size_t{1} << 20;
    const auto& config = std::get<am::Config>(engine);
    return what == Traffic::What::request ? config.message_max : transfer_max;
}

}  // namespace wireproof::lab
