#include "wireproof/wire/shm/shm_peer.hpp"

#include <array>

namespace wireproof {

void ShmLane::owe(const ShareNote& note) {
    owed_.push_back(note);
    if (note.kind == ShareNote::Kind::withdrawn) ++answers_owed_;
    if (!listed_) list();
}

void ShmLane::send_notes() {
    if (claimed_ && frame_.room_used() > 0) out_.distrust_room();
    while (!owed_.empty()) {
        const Bytes room = out_.claim();
        if (room.empty()) return;
        owed_.front().encode(room.first<ShareNote::size>());
        out_.commit(ShareNote::size, RingWord::control);
        if (owed_.front().kind == ShareNote::Kind::withdrawn) --answers_owed_;
        owed_.pop_front();
        claimed_ = false;  // the notes took that room
    }
    if (!listed_) list();
}

void ShmLane::flush() {
    if (!owed_.empty()) send_notes();
    out_.publish();
    wake(frames_wake);
}

// Clears the flag, so that one sleep costs one doorbell, however many frames follow.
void ShmLane::ring_bell() {
    if (asleep_->exchange(0, std::memory_order_relaxed) == 0) return;
    std::array<std::byte, 4> bell{};
    store_le<std::uint32_t>(bell, static_cast<std::uint32_t>(ShmMessage::bell));
    bell_->send(bell);  // if the socket is full, the messages in it wake the peer
    ++lanes_->counters.doorbells_rung;
}

// Returns true only once: the caller that wanted the room may have nothing to send any more.
bool ShmLane::room_came() {
    if (!starved_ || !out_.has_room()) return false;
    starved_ = false;
    return true;
}

void ShmLane::begin(RingProducer out, std::atomic_ref<std::uint32_t> asleep,
                    const ControlSocket* bell, bool light) {
    out_ = out;
    claimed_ = false;
    owed_.clear();
    answers_owed_ = 0;
    asleep_.emplace(asleep);
    bell_ = bell;
    light_ = light;
    connected_ = true;  // if starved_ is set, room_came() now reports the room
}

void ShmLane::end() {
    out_ = RingProducer();
    claimed_ = false;
    owed_.clear();
    answers_owed_ = 0;
    connected_ = false;
    starved_ = false;
}

void ShmPeer::close_memory() const {
    if (state != State::living || owner != ::getpid()) return;
    segment.closed(side).store(1, std::memory_order_relaxed);
    full_barrier();
}

bool ShmPeer::copies() const {
    return told_memory && may_touch() &&
           segment.copying(1 - side).load(std::memory_order_acquire) != 0 && !socket.ends_within(0);
}

ShmPeer::~ShmPeer() {
    close_memory();
    if (!told_memory || !may_touch() || ::getpid() != owner) return;
    wait_for_copy(segment.copying(1 - side), [this] { return socket.ends_within(1); });
}

}  // namespace wireproof
