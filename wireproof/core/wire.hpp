// The contract of a wire: it carries frames and may lose, repeat, damage or reorder them. Nothing
// here blocks or reads a clock.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/core/frame.hpp"

namespace wireproof {

/// A wire towards one peer. A full or dead peer never stops frames to another.
template <class L>
concept Lane = requires(L lane, const L& idle) {
    { idle.capabilities() } -> std::same_as<LaneCapabilities>;
    // Empty room for one frame; nullptr: none before the next flush or later. May be repeated: room
    // that was not committed is lent again.
    { lane.claim() } -> std::same_as<TxFrame*>;
    { lane.commit() } -> std::same_as<void>;  // the claimed frame is complete
};

/// A lane that may lend room for many frames at once: of one size, where it copies anyway.
template <class L>
concept RunLane = Lane<L> && requires(L lane, std::size_t count) {
    // For 2 to `most` frames of `size` bytes; none: they go one by one, or there is no room.
    { lane.claim_run(/*size*/ count, /*most*/ count) } -> std::same_as<FrameRun>;
    { lane.commit_run(FrameRun()) } -> std::same_as<void>;  // the claimed run is complete
};

/// A lane that can show the peer at once what was committed, which else the flush does. It is
/// called behind a run of frames, before the engine writes down what it has sent; it need do
/// nothing.
template <class L>
concept PromptLane = Lane<L> && requires(L lane) {
    { lane.publish() } -> std::same_as<void>;
};

/// A lane that can show the peer a frame by itself, as soon as it stands in room of the lane's, and
/// that carries frames as they were written. See transmit_single.
template <class L>
concept SingleLane = Lane<L> && requires(L lane, std::size_t size) {
    { lane.claim_single() } -> std::same_as<Bytes>;  // frame_max bytes; empty: not now
    { lane.publish_single(size) } -> std::same_as<void>;
};

template <class W>
concept Wire = requires(W wire, const W& idle, PeerId peer, Instant now) {
    // A peer's lane stays where it is while the wire does.
    requires Lane<std::remove_cvref_t<decltype(wire.lane(peer))>>;
    { wire.receive(now) } -> std::same_as<std::optional<RxFrame>>;  // lent until the next receive
    { wire.flush(now) } -> std::same_as<void>;                      // all committed frames leave
    { wire.next_event() } -> std::same_as<std::optional<std::pair<PeerId, WireEvent>>>;
    // `never`, unless the wire keeps time (retry, delay, simulated flight).
    { idle.next_deadline() } -> std::same_as<Instant>;
};

/// A wire that may show frames that came right behind the one received last, from the same peer,
/// for an engine that takes in many at once.
template <class W>
concept RunWire = Wire<W> && requires(W wire, const W& idle, std::size_t frames) {
    { idle.following() } -> std::same_as<RxRun>;            // none: they come one by one
    { wire.take_following(frames) } -> std::same_as<void>;  // the first so many were received
};

}  // namespace wireproof
