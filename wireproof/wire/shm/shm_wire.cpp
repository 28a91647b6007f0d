// Frames, sleep and events. Of the code here, only look(), the membarrier before a sleep, and
// doorbells enter the kernel.
#include "wireproof/wire/shm/shm_wire.hpp"

#include <algorithm>

namespace wireproof {
namespace {

constexpr std::size_t turn_frames = 32;    // of one peer, before the wire looks at the others
constexpr std::size_t notes_at_once = 64;  // of one peer, in one receive()

}  // namespace

bool ShmWire::connected(PeerId peer) const {
    return peer_of(peer).state == ShmPeer::State::living;
}

bool ShmWire::look_for(PeerId peer) {
    look();
    const ShmPeer::State state = peer_of(peer).state;
    return state == ShmPeer::State::living || state == ShmPeer::State::ending;
}

PeerTrouble ShmWire::trouble(PeerId peer) const {
    const ShmPeer& of = peer_of(peer);
    if (of.state == ShmPeer::State::living) return {};
    return {.cause = of.trouble.empty() ? accept_trouble_ : of.trouble};
}

std::optional<RxFrame> ShmWire::receive_any(Instant now) {
    now_ = now;
    if (now >= look_at_) [[unlikely]]
        look_around();
    if (taken_in_turn_ >= turn_frames) [[unlikely]]
        next_turn();
    // A peer that ends meanwhile leaves the list, so the loop reads the size each time.
    for (std::size_t looked = 0; looked < receiving_.size(); ++looked) {
        if (turn_ >= receiving_.size()) turn_ = 0;
        ShmPeer& peer = *receiving_[turn_];
        const auto frame = peer.in.next();
        if (frame && is_usual(peer, *frame)) [[likely]]
            return handed_over(peer, frame->bytes);
        const bool nothing = !frame && !peer.in.gives_back() && peer.lives_in_order();
        if (!nothing) {
            if (const auto bytes = take_unusual(peer, frame)) return handed_over(peer, *bytes);
        }
        next_turn();
    }
    expect_any();
    return std::nullopt;
}

/// Receives from the only peer if its frame is not a usual one, or if there is none.
[[gnu::noinline]] std::optional<RxFrame> ShmWire::receive_unusual(
    ShmPeer& peer, std::optional<RingConsumer::Frame> frame) {
    if (const auto bytes = take_unusual(peer, frame)) return handed_over(peer, *bytes);
    next_turn();
    expect_any();
    return std::nullopt;
}

void ShmWire::next_turn() {
    ++turn_;
    taken_in_turn_ = 0;
}

// A function of its own, so that usual frames do not pay for it.
[[gnu::noinline]] void ShmWire::look_around() {
    if (slept_) {
        const bool look_now = !config_.sleeps_often || was_rung() || now_ >= looked_at_by_;
        wake_up();
        if (!look_now) {
            look_at_ = looked_at_by_;
            return;
        }
    }
    look_at_ = looked_at_by_ = now_ + between_socket_looks;
    look();
    call_the_absent(now_);
    accept_again(now_);
}

[[gnu::noinline]] std::optional<ConstBytes> ShmWire::take_unusual(
    ShmPeer& peer, std::optional<RingConsumer::Frame> frame) {
    for (std::size_t notes = 0; frame; frame = peer.in.next()) {
        if (peer.in.gave_back()) peer.lane.wake(ShmLane::room_wakes);
        if (peer.state == ShmPeer::State::ending && peer.frames_left-- == 0) break;
        if (!frame->control) return frame->bytes;
        if (!take_note(peer, copied(frame->bytes))) {
            condemn(peer);
            return std::nullopt;
        }
        if (++notes == notes_at_once) return std::nullopt;  // the others follow in the next call
    }
    if (peer.in.gave_back()) peer.lane.wake(ShmLane::room_wakes);
    if (peer.in.broken() || peer.lane.broken()) {
        condemn(peer);
    } else {
        finish_if_over(peer);
    }
    return std::nullopt;
}

void ShmWire::flush_lanes() {
    ShmLane* lane = std::exchange(lanes_->first_unflushed, nullptr);
    while (lane != nullptr) {
        ShmLane* const next = std::exchange(lane->next_unflushed_, nullptr);
        lane->flush();
        lane->listed_ = false;
        if (!lane->owed_.empty()) lane->list();
        lane = next;
    }
}

std::optional<std::pair<PeerId, WireEvent>> ShmWire::next_event() {
    if (!has_event()) return std::nullopt;
    const auto event = events_.front();
    events_.pop_front();
    ShmPeer& peer = peer_of(event.first);
    if (event.second == WireEvent::new_life && peer.unannounced) {
        peer.unannounced = false;
        list_receiving();
    }
    return event;
}

bool ShmWire::something_came() {
    if (!events_.empty()) return true;
    return std::any_of(receiving_.begin(), receiving_.end(), [this](ShmPeer* peer) {
        if (peer->state == ShmPeer::State::ending && !still_copies(*peer)) return true;
        return peer->in.has_frame() || peer->lane.room_came();
    });
}

bool ShmWire::prepare_to_sleep() {
    flush(now_);
    const bool all_are_there = receiving_.size() + 1 == members_;
    // Something that is already in a socket would only wake this node at once.
    if (!config_.sleeps_often || !all_are_there) look();
    if (something_came()) return false;
    set_asleep(true);
    if (config_.sleeps_often) {
        full_barrier();
    } else {
        barrier_everywhere();
    }
    slept_ = true;
    look_at_ = Instant();  // a peer that wakes this node may have written to a socket
    expect_any();          // receive() must look before it returns nothing
    if (!something_came()) return true;
    wake_up();
    return false;
}

void ShmWire::wake_up() {
    slept_ = false;
    set_asleep(false);
}

/// A peer that rings the doorbell clears the flag. So a cleared flag says that a socket has a
/// message.
bool ShmWire::was_rung() const {
    return std::any_of(receiving_.begin(), receiving_.end(), [](const ShmPeer* peer) {
        return peer->segment.asleep(peer->side).load(std::memory_order_relaxed) == 0;
    });
}

void ShmWire::set_notice(std::uint32_t value) {
    notice_ = value;
    for (const ShmPeer* const peer : receiving_) {
        peer->segment.notice(peer->side).store(value, std::memory_order_release);
    }
}

void ShmWire::set_asleep(bool asleep) {
    for (ShmPeer* const peer : receiving_) {
        peer->segment.asleep(peer->side)
            .store(asleep ? peer->lane.wakers() : 0, std::memory_order_relaxed);
    }
}

}  // namespace wireproof
