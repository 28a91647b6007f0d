#include "wireproof/front/link/node.hpp"

#include <algorithm>
#include <utility>

namespace wireproof::link {
namespace {

// A peer that sends without end must not keep a turn from its timers and from its end.
constexpr std::size_t frames_a_turn = 4096;

// True for frames that only the peer can have sent. Damaged frames and frames of strangers prove
// nothing.
bool proves_life(RxVerdict verdict) {
    switch (verdict) {
        case RxVerdict::corrupt:
        case RxVerdict::malformed:
        case RxVerdict::foreign:
        case RxVerdict::stale: return false;
        default: return true;
    }
}

}  // namespace

Node::Node(host::AnyWire wire, PeerId peer, AnyLink engine, const Config& config)
    : wire_(std::move(wire)),
      peer_(peer),
      engine_(std::move(engine)),
      stream_(config.stream),
      peer_timeout_(config.peer_timeout),
      // The longest message of the engine may be much longer than a good segment.
      segment_(std::min<std::size_t>(engine_.message_max(), 4096)) {
    WIREPROOF_CHECK(segment_.size() > Segment::size + life_size);
}

std::size_t Node::poll(Instant now) {
    std::size_t frames = 0;
    while (frames < frames_a_turn) {
        const auto frame = wire_.receive(now);
        if (!frame) break;
        ++frames;
        if (frame->from != peer_) continue;
        if (proves_life(engine_.on_frame(now, *frame)) && heard_ != never) heard_ = now;
        draw();
    }
    while (const auto event = wire_.next_event()) {
        engine_.on_wire_event(now, event->second);
        draw();
    }
    if (engine_.next_deadline() <= now) {
        engine_.on_deadline(now);
        draw();
    }
    watch(now);
    send_all(now);
    return frames;
}

void Node::draw() {
    while (const auto delivery = engine_.next_delivery()) deliver(*delivery);
}

void Node::deliver(const LinkDelivery& delivery) {
    switch (delivery.what) {
        case LinkDelivery::What::up: stream_.on_up(); return;
        case LinkDelivery::What::down:
            stream_.on_down();
            waiting_segment_ = 0;
            return;
        case LinkDelivery::What::message: break;
    }
    if (lost_) return;
    switch (stream_.on_segment(delivery.bytes)) {
        case Arrival::nothing: return;
        case Arrival::message: {
            const std::vector<std::byte> message = stream_.take_message();
            if (on_message_) on_message_(message);
            return;
        }
        case Arrival::peer_restarted: return lose(Lost::restarted);
        case Arrival::broken: return lose(Lost::broken);
    }
}

void Node::lose(Lost why) {
    if (std::exchange(lost_, true)) return;
    if (on_lost_) on_lost_(why);
}

// Sends an ASK after a third of the timeout without a frame, because an engine without traffic
// sends nothing.
void Node::watch(Instant now) {
    if (lost_ || !(awaiting_ || !stream_.delivered())) {
        heard_ = ask_at_ = never;
        return;
    }
    if (heard_ == never) heard_ = now;
    if (now >= heard_ + peer_timeout_) return lose(Lost::silent);
    if (engine_.unanswered().lasts(now, peer_timeout_)) return lose(Lost::unanswered);
    const Duration third(peer_timeout_.picoseconds() / 3);
    if (ask_at_ == never || ask_at_ < heard_) ask_at_ = heard_ + third;
    if (now >= ask_at_) {
        stream_.ask();
        ask_at_ = now + third;
    }
}

Transmitted Node::transmit_all(Instant now) {
    auto& lane = wire_.lane(peer_);
    Transmitted sent;
    while (TxFrame* room = lane.claim()) {
        if (!engine_.poll_transmit(now, *room)) return sent;
        lane.commit();
        ++sent.frames;
    }
    sent.lane_full = true;
    return sent;
}

void Node::send_all(Instant now) {
    while (true) {
        bool submitted = false;
        while (engine_.has_room()) {
            if (waiting_segment_ == 0) waiting_segment_ = stream_.next_segment(segment_);
            if (waiting_segment_ == 0) break;
            if (engine_.submit(ConstBytes(segment_).first(waiting_segment_)) !=
                SubmitStatus::accepted) {
                break;
            }
            waiting_segment_ = 0;
            submitted = true;
        }
        const Transmitted sent = transmit_all(now);
        wire_.flush(now);
        // After sending, the engine may have room again. After the flush, a full lane may have room
        // again.
        if (sent.frames == 0 || (!sent.lane_full && !submitted)) return;
    }
}

Instant Node::next_deadline() const {
    Instant next = earliest(engine_.next_deadline(), wire_.next_deadline());
    if (heard_ != never && !lost_) {
        next = earliest(next, heard_ + peer_timeout_, ask_at_,
                        engine_.unanswered().deadline(peer_timeout_));
    }
    return next;
}

}  // namespace wireproof::link
