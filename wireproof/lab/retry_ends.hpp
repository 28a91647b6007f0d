// The link engines as the ends of a point: what feeds them, what they count, which of their frames
// is a notice.
#pragma once

#include "wireproof/core/link_engine.hpp"
#include "wireproof/proto/hippi/link.hpp"
#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::lab {

/// An engine with a user who always has one more message. A regular value.
template <class End>
concept RetryEnd = std::copyable<End> && LinkEngine<decltype(End::engine)> &&
    requires(End end, const End& still, ConstBytes frame) {
    { end.feed() } -> std::same_as<void>;
    { still.up() } -> std::same_as<bool>;
    // poll_transmit would return false whatever the time; false: who knows.
    { still.quiet() } -> std::same_as<bool>;
    { still.kept() } -> std::same_as<std::size_t>;  // units in the replay buffer
    { End::is_notice(frame) } -> std::same_as<bool>;
    { End::describe(frame) } -> std::same_as<FrameInfo>;
    // The state of a sender without errors repeats after a multiple of so many units, as a rule.
    { End::stride } -> std::convertible_to<std::uint64_t>;
};

struct PcieEnd {
    static constexpr std::uint64_t stride = 64;  // of the 4096 numbers

    pcie::Link engine;
    ConstBytes payload;

    void feed() {
        if (engine.transmitter().waiting() == 0 && engine.has_room()) (void)engine.submit(payload);
    }
    bool up() const { return engine.state() == pcie::Link::State::active; }
    bool quiet() const { return engine.quiet(); }
    std::size_t kept() const { return engine.transmitter().outstanding(); }

    static FrameInfo describe(ConstBytes frame) { return pcie::describe(frame); }
    /// A Nak.
    static bool is_notice(ConstBytes frame) {
        return pcie::starts_with(frame, pcie::Symbol::sdp) &&
               frame[1] == static_cast<std::byte>(pcie::DllpKind::nak);
    }
};

struct HippiEnd {
    static constexpr std::uint64_t stride = 765;  // three times all numbers

    hippi::Link engine;
    ConstBytes payload;

    void feed() {
        while (engine.has_room()) (void)engine.submit(payload);
    }
    bool up() const { return engine.running(); }
    bool quiet() const { return false; }
    std::size_t kept() const { return engine.outstanding(); }

    static FrameInfo describe(ConstBytes frame) { return hippi::describe(frame); }
    /// Any number that goes back: the second of one kind is the notice.
    static bool is_notice(ConstBytes frame) {
        const auto control = hippi::Control::decode(frame.last<hippi::control_size>());
        return control && control->type == hippi::Type::null;
    }
};

static_assert(RetryEnd<PcieEnd>);
static_assert(RetryEnd<HippiEnd>);

}  // namespace wireproof::lab
