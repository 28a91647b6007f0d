// Engines that carry opaque messages in order over one link. What is built on a link (messages of
// any length, another wire) takes any of them.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include "wireproof/core/backoff.hpp"
#include "wireproof/core/engine.hpp"

namespace wireproof {

/// What a link engine hands up: a message, or that the link came up or went down. What was
/// submitted before a link went down and was not yet delivered over there never will be: both
/// sides begin anew.
struct LinkDelivery {
    enum class What : std::uint8_t { message, up, down };
    What what = What::message;
    ConstBytes bytes{};  // of a message; dead at the next draw

    operator ConstBytes() const { return bytes; }
};

enum class SubmitStatus : std::uint8_t {
    accepted,
    no_room,   // now: try again after the engine has received or sent something
    too_long,  // ever
};

/// What every link engine counts. Numbered are the frames that carry messages and are kept until
/// they are acknowledged.
struct LinkStats {
    std::array<std::uint64_t, rx_verdict_names.size()> received{};  // by verdict
    std::uint64_t numbered = 0;  // frames sent, the resent ones included
    std::uint64_t resent = 0;
    std::uint64_t acks = 0;      // frames sent for nothing but to acknowledge
    std::uint64_t naks = 0;      // negative notices sent
    std::uint64_t upkeep = 0;    // credits, hellos, keep-alives sent
    std::uint64_t replays = 0;   // begun, for whatever reason
    std::uint64_t timeouts = 0;  // of those, because nothing was heard
    std::uint64_t resets = 0;    // times the link was retrained or went down

    std::uint64_t received_as(RxVerdict verdict) const {
        return received[static_cast<std::size_t>(verdict)];
    }
    friend bool operator==(const LinkStats&, const LinkStats&) = default;
};

template <class E>
concept LinkEngine = Engine<E> && std::same_as<typename E::Delivery, LinkDelivery> &&
    requires(E engine, const E& idle, ConstBytes message) {
    { idle.message_max() } -> std::same_as<std::size_t>;  // bytes
    { idle.has_room() } -> std::same_as<bool>;            // submit would not say no_room
    // Copied, unless the engine was told that messages are lent until acknowledged.
    { engine.submit(message) } -> std::same_as<SubmitStatus>;
    { idle.stats() } -> std::convertible_to<const LinkStats&>;
    // The oldest numbered frame, if it was sent again and is not acknowledged.
    { idle.unanswered() } -> std::same_as<Unanswered>;
};

}  // namespace wireproof
