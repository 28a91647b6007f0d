// The interface between the ends of a point and their world: how an end submits messages, what it
// counts, and which of its frames is a notice.
#pragma once

#include <concepts>
#include <cstdint>

#include "wireproof/core/link_engine.hpp"

namespace wireproof::lab {

/// Which units in flight a receiver takes.
enum class RetryOrder : std::uint8_t {
    oldest,       // only the oldest one that it has not taken
    stored,       // the same, and with it the ones after it that it has stored; it may drop those
    any,          // each once, even if an earlier one is missing
    never_again,  // each when it arrives; a lost unit never arrives
};

/// An engine with a user that always has one more message. A regular value.
///
/// Some members are for links that have them: is_in_vain(frame), for frames of the sender that are
/// as long as a unit, carry none, and announce a replay; receiver_times_out, if the timer that
/// repairs a retry is the receiver's; counts_notices, if is_notice() is also true for
/// acknowledgements, so that only frames that stats().naks counts are notices; and description(),
/// if the names of the frames depend on the end's configuration. It is then used in place of
/// describe().
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

}  // namespace wireproof::lab
