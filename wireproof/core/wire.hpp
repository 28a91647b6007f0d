// The contract of a wire. A wire carries frames and may lose, duplicate, damage or reorder them.
// Its calls do not block and do not read a clock.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/core/frame.hpp"

namespace wireproof {

/// The part of a wire that sends to one peer. A full or dead peer does not stop frames to other
/// peers.
template <class L>
concept Lane = requires(L lane, const L& idle) {
    { idle.capabilities() } -> std::same_as<LaneCapabilities>;
    // Lends empty room for one frame. nullptr: there is no room before the next flush, or even
    // later. If the caller claims again without a commit, the lane lends the same room again.
    { lane.claim() } -> std::same_as<TxFrame*>;
    { lane.commit() } -> std::same_as<void>;  // the claimed frame is complete
};

/// A lane that can lend room for many frames of one size at once, if it copies frames anyway.
template <class L>
concept RunLane = Lane<L> && requires(L lane, std::size_t count) {
    // Lends room for 2 to `most` frames of `size` bytes. No frames: the caller sends them one by
    // one, or there is no room.
    { lane.claim_run(/*size*/ count, /*most*/ count) } -> std::same_as<FrameRun>;
    { lane.commit_run(FrameRun()) } -> std::same_as<void>;  // the claimed run is complete
};

/// A lane that can publish committed frames at once, before the flush does it. The pump calls
/// publish() after a run of frames and before the engine records what it has sent. The lane may
/// also do nothing.
template <class L>
concept PromptLane = Lane<L> && requires(L lane) {
    { lane.publish() } -> std::same_as<void>;
};

/// A lane that can publish a single frame as soon as the engine has written it into the lane's
/// room. It carries frames intact, so they need no checksum. See transmit_single.
template <class L>
concept SingleLane = Lane<L> && requires(L lane, std::size_t size) {
    { lane.claim_single() } -> std::same_as<Bytes>;  // frame_max bytes; empty: no room now
    { lane.publish_single(size) } -> std::same_as<void>;
};

template <class W>
concept Wire = requires(W wire, const W& idle, PeerId peer, Instant now) {
    // A lane keeps its address as long as the wire exists.
    requires Lane<std::remove_cvref_t<decltype(wire.lane(peer))>>;
    { wire.receive(now) } -> std::same_as<std::optional<RxFrame>>;  // valid until the next receive
    { wire.flush(now) } -> std::same_as<void>;                      // all committed frames leave
    { wire.next_event() } -> std::same_as<std::optional<std::pair<PeerId, WireEvent>>>;
    // `never`, unless the wire has timed work (retry, delay, simulated flight).
    { idle.next_deadline() } -> std::same_as<Instant>;
};

/// A wire that can return the frames that directly follow the last received one, from the same
/// peer, for an engine that processes many at once.
template <class W>
concept RunWire = Wire<W> && requires(W wire, const W& idle, std::size_t frames) {
    { idle.following() } -> std::same_as<RxRun>;            // none: the caller receives one by one
    { wire.take_following(frames) } -> std::same_as<void>;  // these were received
};

}  // namespace wireproof
