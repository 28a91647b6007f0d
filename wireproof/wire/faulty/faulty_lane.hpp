// The lane of a FaultyWire to one peer. A frame without a fault goes straight on: the lane copies
// its header into the inner lane's room and points to its payload. Any other frame is first copied
// into the pool.
//
//      claim ── commit ──┬──────────────── straight on ──────────►┐
//                        ├─► pool: damage, repeat ──► leaving_ ──►├─► inner lane
//                        └─► pool: held_ ── passed or late ──┘    ┘
//
// claim() lends no room while the pool has no free copy, or while frames in leaving_ wait for room
// of the inner lane.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/core/hold_back.hpp"
#include "wireproof/core/wire.hpp"
#include "wireproof/wire/faulty/frame_pool.hpp"

namespace wireproof {

/// The frames that were committed to a lane, with and without faults.
struct SentCounts {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t resent = 0;  // of the frames: the retransmissions
};

template <Wire W>
class FaultyLane {
public:
    struct Config {
        W* inner = nullptr;
        const Instant* now = nullptr;  // the latest time that the wire was given
        PeerId peer{};
        FaultPlan plan;
        Describe describe = describe_nothing;
        Duration hold_time;
        std::size_t kept_max = 0;
    };

    explicit FaultyLane(Config config);

    LaneCapabilities capabilities() const { return capabilities_; }
    TxFrame* claim();
    void commit();

    /// Sends the frames that were held back long enough. The caller flushes the inner wire between
    /// this and after_flush(): the inner lane points to copies until then.
    void release();

    /// True: the inner lane had room for copies that had waited for it, so the caller must flush
    /// again.
    bool after_flush();

    Instant next_deadline() const;

    FaultPlan& plan() { return plan_; }
    const FaultPlan& plan() const { return plan_; }
    const SentCounts& sent() const { return sent_; }

private:
    // Bytes on both sides of the room. Without them, payload could lie directly beside the room and
    // be taken for a part of it.
    static constexpr std::size_t fence = 16;

    auto& inner_lane() const { return inner_->lane(peer_); }
    bool lies_in_room(ConstBytes piece) const;
    FrameInfo info();
    void send_straight();
    void send_copy(const Fate& fate);
    bool send_leaving();

    W* inner_;
    const Instant* now_;
    PeerId peer_;
    LaneCapabilities capabilities_;
    FaultPlan plan_;
    Describe describe_;
    Duration hold_time_;

    TxFrame frame_;
    TxFrame* straight_ = nullptr;  // the inner lane's room for frame_
    std::vector<std::byte> fenced_room_;
    Bytes room_;
    std::vector<std::byte> whole_;  // frame_ in one piece, for describe_

    FramePool pool_;
    HoldBack<KeptFrame> held_;
    Ring<KeptFrame> leaving_;
    std::vector<KeptFrame> left_;  // committed; the inner lane points to them until the flush
    SentCounts sent_;
};

template <Wire W>
FaultyLane<W>::FaultyLane(Config config)
    : inner_(config.inner),
      now_(config.now),
      peer_(config.peer),
      // Without carries_intact the engine adds a check. FaultyWire::receive makes the other end
      // check it.
      capabilities_{.frame_max = inner_lane().capabilities().frame_max,
                    .prefers_equal_sizes = inner_lane().capabilities().prefers_equal_sizes},
      plan_(std::move(config.plan)),
      describe_(config.describe),
      hold_time_(config.hold_time),
      fenced_room_(capabilities_.frame_max + 2 * fence),
      room_(Bytes(fenced_room_).subspan(fence, capabilities_.frame_max)),
      whole_(capabilities_.frame_max),
      pool_(config.kept_max, capabilities_.frame_max),
      leaving_(config.kept_max) {
    WIREPROOF_CHECK(config.kept_max > 0);
    left_.reserve(config.kept_max);
}

template <Wire W>
TxFrame* FaultyLane<W>::claim() {
    send_leaving();
    if (!leaving_.empty() || !pool_.has_room()) return nullptr;
    straight_ = inner_lane().claim();
    if (straight_ == nullptr) return nullptr;
    frame_.open(room_, capabilities_);
    return &frame_;
}

template <Wire W>
void FaultyLane<W>::commit() {
    ++sent_.frames;
    sent_.bytes += frame_.size();
    if (frame_.resent()) ++sent_.resent;

    const Fate fate = plan_.decide(info());
    if (fate.lost) return;
    if (!fate.damaged && fate.held_behind == 0) send_straight();
    if (fate.damaged || fate.duplicated || fate.held_behind > 0) send_copy(fate);
    if (fate.held_behind == 0) {
        held_.pass([this](KeptFrame kept) { leaving_.push(kept); });
    }
    send_leaving();
}

// The faults apply to the frame as it would have left: both copies of a damaged frame are damaged,
// and both copies of a held frame are held.
template <Wire W>
void FaultyLane<W>::send_copy(const Fate& fate) {
    KeptFrame kept = pool_.keep(frame_);
    if (fate.damaged) plan_.damage(pool_.bytes(kept), fate.intact_front);
    const bool first_has_left = !fate.damaged && fate.held_behind == 0;
    kept.copies = fate.duplicated && !first_has_left ? 2 : 1;
    if (fate.held_behind > 0) {
        held_.hold(kept, fate.held_behind, *now_ + hold_time_);
    } else {
        leaving_.push(kept);
    }
}

template <Wire W>
void FaultyLane<W>::send_straight() {
    for (const ConstBytes piece : frame_.pieces()) {
        if (lies_in_room(piece)) {
            const Bytes to = straight_->add_room(piece.size());
            std::copy(piece.begin(), piece.end(), to.begin());
        } else {
            straight_->add_payload(piece);
        }
    }
    if (frame_.resent()) straight_->mark_resent();
    inner_lane().commit();
}

template <Wire W>
bool FaultyLane<W>::send_leaving() {
    bool sent = false;
    while (!leaving_.empty()) {
        TxFrame* const room = inner_lane().claim();
        if (room == nullptr) break;
        sent = true;
        KeptFrame& kept = leaving_.front();
        room->add_payload(pool_.bytes(kept));
        if (kept.resent) room->mark_resent();
        inner_lane().commit();
        if (--kept.copies > 0) continue;
        left_.push_back(kept);
        leaving_.pop();
    }
    return sent;
}

template <Wire W>
void FaultyLane<W>::release() {
    held_.expire(*now_, [this](KeptFrame kept) { leaving_.push(kept); });
    send_leaving();
}

template <Wire W>
bool FaultyLane<W>::after_flush() {
    for (const KeptFrame& kept : left_) pool_.give_back(kept);
    left_.clear();
    return send_leaving();
}

// The inner lane does not report when it has room again, so the wire tries again from time to time.
template <Wire W>
Instant FaultyLane<W>::next_deadline() const {
    if (leaving_.empty()) return held_.next_deadline();
    return std::min(held_.next_deadline(), *now_ + hold_time_);
}

template <Wire W>
bool FaultyLane<W>::lies_in_room(ConstBytes piece) const {
    const std::less<> before;
    return !before(piece.data(), room_.data()) && before(piece.data(), room_.data() + room_.size());
}

template <Wire W>
FrameInfo FaultyLane<W>::info() {
    FrameInfo info;
    if (plan_.scripted()) info = describe_(frame_.gather(whole_));
    info.length = frame_.size();
    return info;
}

}  // namespace wireproof
