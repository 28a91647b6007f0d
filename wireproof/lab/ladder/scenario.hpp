// A small exchange to look at: a protocol and its figures, when each message is sent, and the
// faults of frames. scenario_file.hpp reads a scenario from text, ladder.hpp runs it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/lab/engines/link_engines.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::lab {

/// The link engines in the order of LinkEngines, then SP AM. A link engine needs no name here.
enum class Protocol : std::uint8_t { pcie, hippi6400, sp_am = LinkEngines::size };
inline constexpr auto protocol_names = [] {
    std::array<std::string_view, LinkEngines::size + 1> names{};
    std::size_t at = 0;
    LinkEngines::for_each([&]<class Adapter>() { names[at++] = Adapter::name; });
    names[at] = "sp-am";
    return names;
}();
constexpr std::string_view name_of(Protocol protocol) {
    return protocol_names[static_cast<std::size_t>(protocol)];
}
static_assert(name_of(Protocol::pcie) == "pcie");
static_assert(name_of(Protocol::hippi6400) == "hippi6400");

/// Nothing if no protocol has this name.
std::optional<Protocol> protocol_of(std::string_view name);
constexpr bool is_link(Protocol protocol) {
    return protocol != Protocol::sp_am;
}
/// Calls `visit.template operator()<Adapter>()` for the adapter of a link protocol.
template <class Visit>
decltype(auto) visit_adapter(Protocol protocol, Visit&& visit) {
    return LinkEngines::visit(static_cast<std::size_t>(protocol), visit);
}

/// The names of the protocol's frames, which a fault may name.
std::span<const std::string_view> frame_kinds(Protocol protocol);

/// The two ends. In the simulator, A is node 0.
enum class Side : std::uint8_t { a, b };
constexpr Side other(Side side) {
    return side == Side::a ? Side::b : Side::a;
}
constexpr std::size_t index(Side side) {
    return static_cast<std::size_t>(side);
}
constexpr std::string_view name_of(Side side) {
    return side == Side::a ? "A" : "B";
}

/// Figures that suit the machine for which the protocol was made.
LinkFigures figures_of(Protocol protocol);

/// Times count from the start of the ladder.
struct Traffic {
    enum class What : std::uint8_t { request, store, get };  // for SP AM; links have only messages

    Duration at{};
    Duration every{};  // from one message to the next
    Side from = Side::a;
    std::uint32_t messages = 1;
    std::size_t bytes = 32;
    What what = What::request;
    bool reply = false;  // the handler answers a request or store
};

struct ScenarioFault {
    Side from = Side::a;
    FaultRule rule;
};

/// Random faults of one direction.
struct Noise {
    FaultRates rates;
    LossBursts bursts;  // none while `begin` is 0
};

/// A run ends when nothing more can happen, or at one of these limits.
struct StopAt {
    Duration until = Duration::milliseconds(1'000);
    std::size_t frames = 1'000;
};

struct Scenario {
    template <class... Adapters>
    using Configs = std::variant<typename Adapters::Config..., am::Config>;
    using Engine = LinkEngines::Into<Configs>;  // by Protocol

    std::string name;
    std::string title;
    std::uint64_t seed = 1;
    bool show_start = false;
    bool any_window = false;  // also allows a window that is too large for the modulus
    LinkFigures link;
    Engine engine;
    std::vector<Traffic> traffic;
    std::vector<ScenarioFault> faults;
    std::array<Noise, 2> noise;  // by the side that sends
    StopAt stop;

    Protocol protocol() const { return static_cast<Protocol>(engine.index()); }

    /// The default figures of the engine on such a link.
    static Engine engine_for(Protocol protocol, const LinkFigures& link);
    static am::Config am_engine(am::Layout layout);

    /// Says in one line what the engine cannot do. Accepts a window that is too large if
    /// `any_window` is set.
    Expected<void> check_engine() const;
    /// The longest message, request or transfer.
    std::size_t bytes_max(Traffic::What what) const;
};

}  // namespace wireproof::lab
