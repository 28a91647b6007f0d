// The lives of peers: how one begins, and how it ends. README.md draws the states.
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof {

void ShmWire::begin_life(ShmPeer& peer, const Greeting& theirs, pid_t pid) {
    const std::size_t side = peer.side;
    peer.segment.close_memory();
    peer.in = RingConsumer(peer.segment.ring_filled_by(1 - side), config_.frame_max);
    peer.lane.begin(RingProducer(peer.segment.ring_filled_by(side), config_.frame_max),
                    peer.segment.asleep(1 - side), &peer.socket, barrier_ && theirs.barrier);
    peer.segment.notice(side).store(notice_, std::memory_order_release);
    peer.state = ShmPeer::State::living;
    peer.trouble.clear();
    peer.call_interval = ShmPeer::first_call_interval;
    peer.memory = PeerMemory(
        {pid, theirs.nonce, theirs.nonce_address}, {peer.segment, side},
        config_.maps_peers ? PeerMemory::Limits::of_each(members_ - 1) : PeerMemory::Limits{0, 0});
    peer.told_allocations.clear();
    peer.told_memory = false;
    ++lanes_->counters.connections;
    if (peer.lived) {
        events_.emplace_back(static_cast<PeerId>(peer.number), WireEvent::new_life);
        peer.unannounced = true;
    }
    peer.lived = true;
    list_receiving();
    for (const auto& [address, region] : peer.ours) announce(peer, address, region);
}

void ShmWire::forget_withdrawn(ShmPeer& peer) {
    std::erase_if(peer.ours, [](const auto& entry) { return entry.second.withdrawn; });
}

// Frames that are still in the ring are received first. The peer may still live: then it must not
// reach memory here any more, because unshared() is true from now on, or once its copy is over.
void ShmWire::lose(ShmPeer& peer) {
    peer.close_memory();
    unwatch(peer.socket);
    peer.lane.end();
    peer.memory = PeerMemory();  // its pid may soon belong to another process
    if (peer.state == ShmPeer::State::living && peer.copies()) {
        ++copying_;
        peer.copies_until = now_ + Duration::milliseconds(copy_waits_max);
    } else {
        peer.socket.close();
        forget_withdrawn(peer);
    }
    if (peer.state == ShmPeer::State::living) {
        peer.state = ShmPeer::State::ending;
        peer.frames_left = config_.lines;
    } else if (peer.state == ShmPeer::State::greeting) {
        peer.state = ShmPeer::State::absent;
        peer.segment = Segment();
        call_later(peer);
    }
}

// The wire trusts nothing of this peer any more, and drops what is still in its ring.
void ShmWire::condemn(ShmPeer& peer) {
    ++lanes_->counters.malformed_peers;
    if (peer.state != ShmPeer::State::ending) lose(peer);
    peer.in = RingConsumer();
    finish_if_over(peer);
}

// A peer that was given up alive may still copy. The caller must not learn that it is gone before,
// because the caller may then free the memory.
void ShmWire::finish_if_over(ShmPeer& peer) {
    if (peer.state == ShmPeer::State::ending && !still_copies(peer)) finish(peer);
}

void ShmWire::finish(ShmPeer& peer) {
    if (peer.socket.is_open()) {
        --copying_;
        peer.socket.close();
        forget_withdrawn(peer);
    }
    peer.state = ShmPeer::State::absent;
    peer.in = RingConsumer();
    peer.former = std::move(peer.segment);
    peer.segment = Segment();
    ++lanes_->counters.peers_gone;
    list_receiving();
    if (peer.successor) welcome(peer);
    if (peer.state == ShmPeer::State::absent) {
        events_.emplace_back(static_cast<PeerId>(peer.number), WireEvent::peer_gone);
        call_later(peer);
    }
}

void ShmWire::list_receiving() {
    receiving_.clear();
    for (ShmPeer& peer : peers_) {
        const bool rings =
            peer.state == ShmPeer::State::living || peer.state == ShmPeer::State::ending;
        if (rings && !peer.unannounced) receiving_.push_back(&peer);
    }
}

}  // namespace wireproof
