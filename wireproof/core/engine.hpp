// The contract of a protocol engine: two inputs, two outputs, and what was delivered.
//
//      frame ──► on_frame ──►┌────────┐──► poll_transmit ──► frame
//       time ──► on_deadline►│ engine │──► next_deadline ──► time
//                            └────────┘──► next_delivery ──► to the front
//
// An engine is plain memory: no thread, socket, clock, random source or log. It is a regular value:
// copying it forks the world, and its fingerprint tells two worlds apart.
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

/// What became of a received frame. Counted, traced and asserted on by tests under these names.
enum class RxVerdict : std::uint8_t {
    accepted,         // in order and whole
    held,             // whole and new, waiting for what is missing before it
    control,          // an acknowledgement, credit, hello or keep-alive
    duplicate,        // seen before; acknowledged again
    out_of_sequence,  // a gap before it; the peer is asked to go back
    stale,            // a number outside every window: from long ago, or never sent
    corrupt,          // a checksum is wrong
    malformed,        // not a frame of this protocol
    foreign,          // of another session, source or job
    refused,          // understood, but not allowed now (no credit, no buffer, wrong state)
};

inline constexpr std::array<std::string_view, 10> rx_verdict_names = {
    "accepted", "held",    "control",   "duplicate", "out_of_sequence",
    "stale",    "corrupt", "malformed", "foreign",   "refused"};

constexpr std::string_view name_of(RxVerdict verdict) {
    return rx_verdict_names[static_cast<std::size_t>(verdict)];
}

/// What a wire may know of a peer besides its frames.
enum class WireEvent : std::uint8_t { peer_gone, new_life };

/// What an engine that can send many frames of one kind says when it is asked for such a run.
enum class RunStart : std::uint8_t {
    begun,
    quiet,  // there is nothing to send at all
    mixed,  // what there is must be asked for frame by frame
};

template <class E>
concept Engine = std::copyable<E> &&
    requires(E engine, const E& idle, Instant now, RxFrame frame, TxFrame& out, Fingerprint& sink) {
    typename E::Delivery;
    { engine.on_frame(now, frame) } -> std::same_as<RxVerdict>;
    // Drawn until empty after every call above and below; each is dead at the next draw.
    { engine.next_delivery() } -> std::same_as<std::optional<typename E::Delivery>>;
    { engine.on_deadline(now) } -> std::same_as<void>;
    { engine.on_wire_event(now, WireEvent{}) } -> std::same_as<void>;
    // False: nothing to send, and `out` is untouched.
    { engine.poll_transmit(now, out) } -> std::same_as<bool>;
    { idle.next_deadline() } -> std::same_as<Instant>;
    // What determines the future, and nothing else: no counters, times relative to now.
    { idle.fingerprint(now, sink) } -> std::same_as<void>;
};

}  // namespace wireproof
