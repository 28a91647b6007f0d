#include "wireproof/lab/ladder/scenario.hpp"

#include <algorithm>

namespace wireproof::lab {
namespace {

constexpr std::array<std::string_view, 9> am_kinds = {"REQ", "REP",  "CHUNK",     "OPEN", "GET_REQ",
                                                      "ACK", "NACK", "KEEPALIVE", "HELLO"};

// The cookie of both ends, as if a launcher had started them.
constexpr std::uint64_t launchers_cookie = 0x1adde5;

}  // namespace

std::optional<Protocol> protocol_of(std::string_view name) {
    const auto found = std::find(protocol_names.begin(), protocol_names.end(), name);
    if (found == protocol_names.end()) return std::nullopt;
    return static_cast<Protocol>(found - protocol_names.begin());
}

std::span<const std::string_view> frame_kinds(Protocol protocol) {
    if (!is_link(protocol)) return am_kinds;
    return visit_adapter(protocol, []<class Adapter>() {
        return std::span<const std::string_view>(Adapter::frame_kinds);
    });
}

LinkFigures figures_of(Protocol protocol) {
    if (!is_link(protocol)) return {Duration::microseconds(10), 40'000'000};
    return visit_adapter(protocol, []<class Adapter>() { return Adapter::figures; });
}

Scenario::Engine Scenario::engine_for(Protocol protocol, const LinkFigures& link) {
    if (!is_link(protocol)) return am_engine(am::Layout::sp2);
    return visit_adapter(protocol,
                         [&link]<class Adapter>() { return Engine(Adapter::for_link(link)); });
}

am::Config Scenario::am_engine(am::Layout layout) {
    am::Config config = layout == am::Layout::sp2 ? am::Config::sp2() : am::Config::ethernet();
    config.cookie = launchers_cookie;
    return config;
}

namespace {

// The same configuration, with a window that is not too large for the modulus.
am::Config with_fitting_window(am::Config config) {
    config.modulus = std::max<std::uint64_t>(config.modulus, 4 * config.window[0] + 4);
    return config;
}

/// Accepts every window that has fewer numbers than the modulus.
template <class Config>
Expected<void> check_any_window(const Config& config, std::uint64_t window,
                                const Config& with_fitting) {
    if (window > config.modulus) {
        return unexpected("a window of " + std::to_string(window) + " is more than all " +
                          std::to_string(config.modulus) + " numbers");
    }
    return with_fitting.check();
}

}  // namespace

Expected<void> Scenario::check_engine() const {
    if (!any_window) {
        return std::visit([](const auto& config) { return config.check(); }, engine);
    }
    if (!is_link(protocol())) {
        const auto& config = std::get<am::Config>(engine);
        return check_any_window(config, config.window[0], with_fitting_window(config));
    }
    return visit_adapter(protocol(), [this]<class Adapter>() {
        const auto& config = std::get<typename Adapter::Config>(engine);
        return check_any_window(config, Adapter::window_of(config),
                                Adapter::with_fitting_window(config));
    });
}

std::size_t Scenario::bytes_max(Traffic::What what) const {
    if (is_link(protocol())) {
        return visit_adapter(protocol(), [this]<class Adapter>() {
            return Adapter::message_max(std::get<typename Adapter::Config>(engine));
        });
    }
    constexpr std::size_t transfer_max = std::size_t{1} << 20;
    const auto& config = std::get<am::Config>(engine);
    return what == Traffic::What::request ? config.message_max : transfer_max;
}

}  // namespace wireproof::lab
