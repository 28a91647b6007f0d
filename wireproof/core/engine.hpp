// The contract of a protocol engine: two inputs, two outputs, and deliveries.
//
//      frame ──► on_frame ──►┌────────┐──► poll_transmit ──► frame
//       time ──► on_deadline►│ engine │──► next_deadline ──► time
//                            └────────┘──► next_delivery ──► to the front
//
// An engine is plain memory: no thread, socket, clock, random source or log. It is a regular value:
// a copy continues independently of the original, and a fingerprint tells two states apart.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"

namespace wireproof {

/// What the engine decided about a received frame. Counters, traces and tests use these names.
enum class RxVerdict : std::uint8_t {
    accepted,         // in order and undamaged
    held,             // new and undamaged, but an earlier packet is missing
    control,          // an acknowledgement, credit, hello or keep-alive
    duplicate,        // seen before; acknowledged again
    out_of_sequence,  // an earlier packet is missing; the peer is asked to go back
    stale,            // its number is outside every window: very old, or never sent
    corrupt,          // a checksum is wrong
    malformed,        // not a frame of this protocol
    foreign,          // of another session, source or job
    refused,          // valid, but not allowed now (no credit, no buffer, wrong state)
};

inline constexpr std::array<std::string_view, 10> rx_verdict_names = {
    "accepted", "held",    "control",   "duplicate", "out_of_sequence",
    "stale",    "corrupt", "malformed", "foreign",   "refused"};

constexpr std::string_view name_of(RxVerdict verdict) {
    return rx_verdict_names[static_cast<std::size_t>(verdict)];
}

/// What a wire may report about a peer, besides its frames.
enum class WireEvent : std::uint8_t { peer_gone, new_life };

/// The answer of an engine that the caller asks for a run: many frames of one kind.
enum class RunStart : std::uint8_t {
    begun,
    quiet,  // there is nothing to send
    mixed,  // there is something, but the caller must ask frame by frame
};

template <class E>
concept Engine = std::copyable<E> &&
    requires(E engine, const E& idle, Instant now, RxFrame frame, TxFrame& out, Fingerprint& sink) {
    typename E::Delivery;
    { engine.on_frame(now, frame) } -> std::same_as<RxVerdict>;
    // After every other call, the caller calls this until it is empty. A delivery is valid until
    // the next call of next_delivery.
    { engine.next_delivery() } -> std::same_as<std::optional<typename E::Delivery>>;
    { engine.on_deadline(now) } -> std::same_as<void>;
    { engine.on_wire_event(now, WireEvent{}) } -> std::same_as<void>;
    // False: there is nothing to send, and `out` is unchanged.
    { engine.poll_transmit(now, out) } -> std::same_as<bool>;
    { idle.next_deadline() } -> std::same_as<Instant>;
    // Adds all state that determines what the engine does later, and no other: no counters, and
    // times relative to now.
    { idle.fingerprint(now, sink) } -> std::same_as<void>;
};

}  // namespace wireproof
