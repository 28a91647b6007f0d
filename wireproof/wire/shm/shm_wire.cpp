// Frames, sleep and events. Everything here but look() and the membarrier before a sleep stays out
// of the kernel.
#include "wireproof/wire/shm/shm_wire.hpp"

#include <algorithm>

namespace wireproof {
namespace {

constexpr Duration between_looks = Duration::milliseconds(1);
constexpr std::size_t turn_frames = 32;  // of one peer, before the others are looked at

}  // namespace

ShmPeer& ShmWire::peer_of(PeerId peer) {
    const auto number = static_cast<std::size_t>(peer);
    WIREPROOF_CHECK(number < peers_.size());
    return peers_[number];
}

const ShmPeer& ShmWire::peer_of(PeerId peer) const {
    const auto number = static_cast<std::size_t>(peer);
    WIREPROOF_CHECK(number < peers_.size());
    return peers_[number];
}

bool ShmWire::connected(PeerId peer) const {
    return peer_of(peer).state == ShmPeer::State::living;
}

std::optional<RxFrame> ShmWire::receive(Instant now) {
    now_ = now;
    if (slept_) wake_up();
    if (now >= look_at_) {
        look_at_ = now + between_looks;
        look();
        call_the_absent(now);
    }
    if (taken_ == config_.batch) {
        taken_ = 0;
        return std::nullopt;
    }
    if (taken_in_turn_ == turn_frames) next_turn();
    // Peers that end on the way leave the list, so its size is asked for each time.
    for (std::size_t looked = 0; looked < receiving_.size(); ++looked) {
        if (turn_ >= receiving_.size()) turn_ = 0;
        if (auto frame = take(*receiving_[turn_])) {
            ++taken_in_turn_;
            ++taken_;
            return frame;
        }
        next_turn();
    }
    taken_ = 0;
    return std::nullopt;
}

void ShmWire::next_turn() {
    ++turn_;
    taken_in_turn_ = 0;
}

std::optional<RxFrame> ShmWire::take(ShmPeer& peer) {
    while (const auto frame = peer.in.next()) {
        if (peer.in.gave_back()) peer.lane.wake(ShmLane::room_wakes);
        if (peer.state == ShmPeer::State::ending && peer.frames_left-- == 0) break;
        if (frame->control) {
            if (!take_note(peer, frame->bytes)) {
                condemn(peer);
                return std::nullopt;
            }
            continue;
        }
        ++lanes_->counters.frames_received;
        lanes_->counters.bytes_received += frame->bytes.size();
        return RxFrame{frame->bytes, static_cast<PeerId>(peer.number), Integrity::intact};
    }
    if (peer.in.gave_back()) peer.lane.wake(ShmLane::room_wakes);
    if (peer.in.broken() || peer.lane.out_.broken()) {
        condemn(peer);
    } else if (peer.state == ShmPeer::State::ending) {
        finish(peer);
    }
    return std::nullopt;
}

void ShmWire::flush(Instant now) {
    now_ = now;
    auto& waiting = lanes_->unflushed;
    if (waiting.empty()) return;
    std::size_t kept = 0;
    for (ShmLane* const lane : waiting) {
        lane->flush();
        lane->listed_ = !lane->owed_.empty();
        if (lane->listed_) waiting[kept++] = lane;
    }
    waiting.resize(kept);
}

std::optional<std::pair<PeerId, WireEvent>> ShmWire::next_event() {
    if (events_.empty()) return std::nullopt;
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
    return std::any_of(receiving_.begin(), receiving_.end(), [](ShmPeer* peer) {
        return peer->in.has_frame() || peer->state == ShmPeer::State::ending ||
               peer->lane.room_came();
    });
}

bool ShmWire::prepare_to_sleep() {
    flush(now_);
    look();  // what is already there would only wake us again
    if (something_came()) return false;
    set_asleep(true);
    barrier_everywhere();
    slept_ = true;
    if (!something_came()) return true;
    wake_up();
    return false;
}

void ShmWire::wake_up() {
    slept_ = false;
    set_asleep(false);
    look_at_ = Instant();  // whoever woke us may have written to a socket
}

void ShmWire::set_asleep(bool asleep) {
    for (ShmPeer* const peer : receiving_) {
        const std::size_t side = config_.node < peer->number ? 0 : 1;
        peer->segment.asleep(side).store(asleep ? peer->lane.wakers() : 0,
                                         std::memory_order_relaxed);
    }
}

}  // namespace wireproof
