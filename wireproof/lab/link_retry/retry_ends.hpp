// The interface between the ends of a point and their world, and the ends that use the link
// engines: how they submit messages, what they count, and which of their frames is a notice.
#pragma once

#include "wireproof/core/link_engine.hpp"
#include "wireproof/proto/hippi/link.hpp"
#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::lab {

/// Which units in flight a receiver takes.
enum class RetryOrder : std::uint8_t {
    oldest,       // only the oldest one that it has not taken
    any,          // each once, even if an earlier one is missing
    never_again,  // each when it arrives; a lost unit never arrives
};

/// An engine with a user that always has one more message. A regular value.
template <class End>
concept RetryEnd = std::copyable<End> && Engine<decltype(End::engine)> &&
    requires(End end, const End& still, ConstBytes frame) {
    { end.feed() } -> std::same_as<void>;
    { still.up() } -> std::same_as<bool>;
    { still.stats() } -> std::convertible_to<LinkStats>;
    { still.numbered() } -> std::same_as<std::uint64_t>;  // units sent, including resent ones
    // True: poll_transmit would return false at any time. False: not known.
    { still.quiet() } -> std::same_as<bool>;
    { still.kept() } -> std::same_as<std::size_t>;  // units in the replay buffer
    { End::is_notice(frame) } -> std::same_as<bool>;
    { End::describe(frame) } -> std::same_as<FrameInfo>;
    // The state without errors usually repeats after a multiple of this number of units.
    { still.stride() } -> std::same_as<std::uint64_t>;
    { End::own_max } -> std::convertible_to<std::size_t>;  // bytes of a frame, without lent payload
    { End::order } -> std::convertible_to<RetryOrder>;
};

struct PcieEnd {
    static constexpr std::size_t own_max = 64;
    static constexpr RetryOrder order = RetryOrder::oldest;

    pcie::Link engine;
    ConstBytes payload;

    void feed() {
        if (engine.transmitter().waiting() == 0 && engine.has_room()) (void)engine.submit(payload);
    }
    const LinkStats& stats() const { return engine.stats(); }
    std::uint64_t numbered() const { return engine.stats().numbered; }
    bool up() const { return engine.state() == pcie::Link::State::active; }
    bool quiet() const { return engine.quiet(); }
    std::size_t kept() const { return engine.transmitter().outstanding(); }
    std::uint64_t stride() const { return 64; }  // of the 4096 numbers

    static FrameInfo describe(ConstBytes frame) { return pcie::describe(frame); }
    /// A Nak.
    static bool is_notice(ConstBytes frame) {
        return pcie::starts_with(frame, pcie::Symbol::sdp) &&
               frame[1] == static_cast<std::byte>(pcie::DllpKind::nak);
    }
};

struct HippiEnd {
    static constexpr std::size_t own_max = 64;
    static constexpr RetryOrder order = RetryOrder::oldest;

    hippi::Link engine;
    ConstBytes payload;

    void feed() {
        while (engine.has_room()) (void)engine.submit(payload);
    }
    const LinkStats& stats() const { return engine.stats(); }
    std::uint64_t numbered() const { return engine.stats().numbered; }
    bool up() const { return engine.running(); }
    bool quiet() const { return false; }
    std::size_t kept() const { return engine.outstanding(); }
    std::uint64_t stride() const { return 765; }  // three times the number of all sequence numbers

    static FrameInfo describe(ConstBytes frame) { return hippi::describe(frame); }
    /// A frame that carries a number back. The second frame with the same number is the notice.
    static bool is_notice(ConstBytes frame) {
        const auto control = hippi::Control::decode(frame.last<hippi::control_size>());
        return control && control->type == hippi::Type::null;
    }
};

static_assert(RetryEnd<PcieEnd>);
static_assert(RetryEnd<HippiEnd>);

}  // namespace wireproof::lab
