// Makes a wire of a link engine and a wire that loses frames. A frame that is committed here is a
// message of the engine. The engine delivers it once, in order and whole. The code above may be
// another engine, as in hardware, where packets travel over a link with retransmission.
//
// This wire does not promise carries_all: messages that were under way when the link went down
// never arrive, even if both ends live on. When the link is up again, the wire reports a new life.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/around_wire.hpp"
#include "wireproof/core/link_engine.hpp"
#include "wireproof/core/pump.hpp"

namespace wireproof {

/// Has two ends, and is itself the lane to its peer. The engine must copy a submitted message,
/// because a frame here is valid only until commit() returns. Until the caller has taken the event
/// of a new life, the wire returns no message of that life and lends no room.
template <LinkEngine E, Wire W>
class RetryWire : public AroundWire<RetryWire<E, W>, W> {
    using Around = AroundWire<RetryWire, W>;

public:
    RetryWire(E link, W wire, PeerId peer = {})
        : link_(std::move(link)),
          wire_(std::move(wire)),
          peer_(peer),
          room_(link_.message_max()),
          whole_(link_.message_max()) {}

    RetryWire& lane(PeerId peer) {
        WIREPROOF_CHECK(peer == peer_);
        return *this;
    }

    LaneCapabilities capabilities() const {
        return {.frame_max = link_.message_max(), .carries_intact = true};
    }

    TxFrame* claim() {
        if (event_ || !link_.has_room()) return nullptr;
        frame_.open(room_, capabilities());
        return &frame_;
    }

    void commit() {
        const SubmitStatus status = link_.submit(frame_.gather(whole_));
        WIREPROOF_CHECK(status == SubmitStatus::accepted);
    }

    std::optional<RxFrame> receive(Instant now);

    /// Lets the engine send, and again each time that a flush of the inner wire makes room.
    void flush(Instant now) {
        now_ = now;
        for (bool again = true; again;) {
            const Transmitted sent = transmit(link_, wire_.lane(peer_), now);
            wire_.flush(now);
            again = sent.lane_full && sent.frames > 0;
        }
    }

    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        if (!event_) return std::nullopt;
        return std::pair(peer_, *std::exchange(event_, std::nullopt));
    }

    Instant next_deadline() const {
        if (!at_rest_) return now_;
        return std::min(link_.next_deadline(), wire_.next_deadline());
    }

    E& link() { return link_; }
    const E& link() const { return link_; }
    W& inner() { return wire_; }
    const W& inner() const { return wire_; }

    bool prepare_to_sleep() { return at_rest_ && Around::prepare_to_sleep(); }

private:
    void take_note(LinkDelivery::What what);
    bool hear_event(Instant now);

    E link_;
    W wire_;
    PeerId peer_;
    TxFrame frame_;
    std::vector<std::byte> room_;
    std::vector<std::byte> whole_;
    std::optional<WireEvent> event_;  // the caller must take it before anything moves
    bool went_down_ = false;          // and is not up again
    bool at_rest_ = true;             // nothing waits here to be received
    Instant now_;                     // the latest time that the caller gave
};

/// A message is in the engine, or in the frame that brought it. Both stay valid until the next
/// call.
template <LinkEngine E, Wire W>
std::optional<RxFrame> RetryWire<E, W>::receive(Instant now) {
    now_ = now;
    at_rest_ = false;
    bool time_told = false;
    while (!event_) {
        if (const auto delivery = link_.next_delivery()) {
            if (delivery->what == LinkDelivery::What::message) {
                return RxFrame{.bytes = delivery->bytes,
                               .from = peer_,
                               .integrity = Integrity::intact,
                               .lent = {}};
            }
            take_note(delivery->what);
        } else if (const auto frame = wire_.receive(now)) {
            if (frame->from == peer_) link_.on_frame(now, *frame);
        } else if (!hear_event(now)) {
            at_rest_ = time_told || link_.next_deadline() > now;
            if (at_rest_) return std::nullopt;
            link_.on_deadline(now);
            time_told = true;
        }
    }
    return std::nullopt;
}

template <LinkEngine E, Wire W>
void RetryWire<E, W>::take_note(LinkDelivery::What what) {
    if (what == LinkDelivery::What::down) went_down_ = true;
    if (what == LinkDelivery::What::up && std::exchange(went_down_, false)) {
        event_ = WireEvent::new_life;
    }
}

/// Reports a dead peer at once, but a new peer only when the link to it is up.
template <LinkEngine E, Wire W>
bool RetryWire<E, W>::hear_event(Instant now) {
    const auto event = wire_.next_event();
    if (!event) return false;
    if (event->first != peer_) return true;
    link_.on_wire_event(now, event->second);
    if (event->second == WireEvent::peer_gone) event_ = WireEvent::peer_gone;
    return true;
}

}  // namespace wireproof
