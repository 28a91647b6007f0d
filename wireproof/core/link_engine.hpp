// Engines that carry opaque messages in order over one link. Code that uses a link (messages of any
// length, another wire) works with any of them.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include "wireproof/core/backoff.hpp"
#include "wireproof/core/engine.hpp"

namespace wireproof {

/// What a link engine delivers: a message, or the information that the link is up or down. When a
/// link goes down, messages that were submitted but not yet delivered at the peer are lost: both
/// sides start again.
struct LinkDelivery {
    enum class What : std::uint8_t { message, up, down };
    What what = What::message;
    ConstBytes bytes{};  // of a message; valid until the next call of next_delivery

    operator ConstBytes() const { return bytes; }
};

enum class SubmitStatus : std::uint8_t {
    accepted,
    no_room,   // try again after the engine has received or sent something
    too_long,  // longer than message_max()
};

/// Counters that every link engine has. A numbered frame carries a message, and the sender keeps it
/// until it is acknowledged.
struct LinkStats {
    std::array<std::uint64_t, rx_verdict_names.size()> received{};  // by verdict
    std::uint64_t numbered = 0;  // numbered frames sent, including retransmissions
    std::uint64_t resent = 0;
    std::uint64_t acks = 0;      // frames sent only to acknowledge
    std::uint64_t naks = 0;      // negative notices sent
    std::uint64_t upkeep = 0;    // credits, hellos, keep-alives sent
    std::uint64_t replays = 0;   // replays that began, for any reason
    std::uint64_t timeouts = 0;  // of the replays: no answer came in time
    std::uint64_t resets = 0;    // times the link was retrained or went down

    RxVerdict count(RxVerdict verdict) {
        ++received[static_cast<std::size_t>(verdict)];
        return verdict;
    }
    std::uint64_t received_as(RxVerdict verdict) const {
        return received[static_cast<std::size_t>(verdict)];
    }
    friend bool operator==(const LinkStats&, const LinkStats&) = default;
};

template <class E>
concept LinkEngine = Engine<E> && std::same_as<typename E::Delivery, LinkDelivery> &&
    requires(E engine, const E& idle, ConstBytes message) {
    { idle.message_max() } -> std::same_as<std::size_t>;  // bytes
    { idle.has_room() } -> std::same_as<bool>;            // submit would not return no_room
    // The engine copies the message, unless its configuration says that the caller lends messages
    // until they are acknowledged.
    { engine.submit(message) } -> std::same_as<SubmitStatus>;
    { idle.stats() } -> std::convertible_to<const LinkStats&>;
    // The oldest numbered frame, if it was sent again and is not acknowledged.
    { idle.unanswered() } -> std::same_as<Unanswered>;
};

}  // namespace wireproof
