// A small exchange to look at: a protocol and its figures, when each message is sent, and the
// faults of frames. scenario_file.hpp reads a scenario from text, ladder.hpp runs it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/hippi/config.hpp"
#include "wireproof/proto/pcie/config.hpp"

namespace wireproof::lab {

enum class Protocol : std::uint8_t { pcie, hippi6400, sp_am };
inline constexpr std::array<std::string_view, 3> protocol_names = {"pcie", "hippi6400", "sp-am"};
constexpr std::string_view name_of(Protocol protocol) {
    return protocol_names[static_cast<std::size_t>(protocol)];
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

/// The same in both directions. The cable carries one frame at a time.
struct LinkFigures {
    Duration latency = Duration::nanoseconds(200);   // of the last byte, until it arrives
    std::uint64_t bytes_per_second = 1'000'000'000;  // 0: a frame takes no time to leave

    /// Figures that suit the machine for which the protocol was made.
    static LinkFigures of(Protocol protocol);
    Duration time_of(std::size_t bytes) const;
};

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
    using Engine = std::variant<pcie::Config, hippi::Config, am::Config>;  // by Protocol

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
