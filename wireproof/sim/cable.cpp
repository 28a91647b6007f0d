// How a frame crosses a cable. When the frame leaves, the cable decides its fate and computes its
// arrival. Only the arrival of a held frame can change later: it becomes earlier when enough frames
// have overtaken the frame.
#include "wireproof/sim/cable.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/sim/compose.hpp"

namespace wireproof::sim {

CableCounts& CableCounts::operator+=(const CableCounts& other) {
    frames += other.frames;
    bytes += other.bytes;
    resent += other.resent;
    lost += other.lost;
    overflowed += other.overflowed;
    cut += other.cut;
    damaged += other.damaged;
    duplicated += other.duplicated;
    held += other.held;
    marked += other.marked;
    return *this;
}

Cable::Cable(const CableConfig& config, std::uint64_t seed, std::uint16_t from, std::uint16_t to)
    : config_(config),
      from_(from),
      to_(to),
      plan_(config.faults, mix64(seed)),
      jitter_(mix64(~seed)),
      flight_(config.frame_max) {
    // The time of a frame in picoseconds must fit in 63 bits.
    WIREPROOF_CHECK(config_.frame_max <= std::size_t{1} << 23);
    WIREPROOF_CHECK(!(config_.lend_payload && config_.flip_bits));
}

TxFrame* Cable::claim() {
    waits_to_leave_ = config_.one_at_a_time && free_at_ > now_;
    if (waits_to_leave_) return nullptr;
    if (flight_.size() + committed_.size() >= config_.in_flight_max) {
        refused_ = true;
        return nullptr;
    }
    if (claimed_ == Flight::none) claimed_ = flight_.acquire();
    lent_frame_.open(flight_.frame(claimed_).buffer, capabilities());
    return &lent_frame_;
}

void Cable::commit() {
    WIREPROOF_CHECK(claimed_ != Flight::none);
    Flight::Frame& frame = flight_.frame(claimed_);
    if (config_.lend_payload) {
        const LentFrame parts = lend(lent_frame_, frame.buffer);
        frame.size = parts.size;
        frame.lent = parts.lent;
        frame.lent_at = parts.lent_at;
    } else {
        frame.size = compose(lent_frame_, frame.buffer).size();
    }
    frame.resent = lent_frame_.resent();
    const Flight::Slot slot = std::exchange(claimed_, Flight::none);
    if (config_.one_at_a_time) {
        depart(now_, slot, Duration());
    } else {
        committed_.push_back(slot);
    }
}

void Cable::depart_all(Instant now) {
    for (const Flight::Slot slot : committed_) depart(now, slot, Duration());
    committed_.clear();
}

void Cable::send(Instant now, ConstBytes bytes, Journey journey) {
    WIREPROOF_CHECK(bytes.size() <= config_.frame_max);
    const Flight::Slot slot = flight_.acquire();
    Flight::Frame& frame = flight_.frame(slot);
    std::copy(bytes.begin(), bytes.end(), frame.buffer.begin());
    frame.size = bytes.size();
    frame.lent = {};
    frame.resent = journey.resent;
    depart(now, slot, journey.detour);
}

void Cable::depart(Instant now, Flight::Slot slot, Duration detour) {
    const std::size_t size = flight_.frame(slot).length();
    ++counts_.frames;
    counts_.bytes += size;
    counts_.resent += flight_.frame(slot).resent ? 1U : 0U;
    if (config_.queue_max > 0 && !queue_takes(now, size)) {
        ++counts_.overflowed;
        flight_.give_back(slot);
        return;
    }
    const bool long_queue = config_.mark_above > 0 && queue_marks(now);
    const Duration leaving = time_on_cable(size);
    free_at_ = std::max(now, free_at_) + leaving;
    Instant arrival = free_at_ + config_.latency + detour;
    if (config_.jitter > Duration()) {
        const double share = jitter_.uniform();
        const double most = static_cast<double>(config_.jitter.picoseconds());
        arrival = arrival + Duration(static_cast<std::int64_t>(share * most));
    }
    if (trace_ == nullptr && !cut_ && held_.empty() && plan_.passes(size)) {
        flight_.frame(slot).integrity = config_.flip_bits ? Integrity::check : Integrity::intact;
        flight_.frame(slot).intact_front = 0;
        flight_.frame(slot).marked = long_queue;
        counts_.marked += long_queue ? 1U : 0U;
        flight_.enter(slot, arrival);
        return;
    }
    const Fate fate = decide(now, flight_.frame(slot));
    if (fate.lost) {
        flight_.give_back(slot);
        return;
    }
    Flight::Frame& frame = flight_.frame(slot);
    frame.integrity = config_.flip_bits ? Integrity::check
                      : fate.damaged    ? Integrity::damaged
                                        : Integrity::intact;
    frame.intact_front = config_.flip_bits ? 0 : fate.intact_front;
    frame.marked = fate.marked || long_queue;
    counts_.marked += frame.marked ? 1U : 0U;
    if (fate.damaged && config_.flip_bits) {
        plan_.damage(Bytes(frame.buffer).first(size), fate.intact_front);
    }
    fly(slot, arrival, fate.held_behind);
    if (fate.duplicated) {
        // The copy takes its time on the cable like any frame.
        free_at_ = free_at_ + leaving;
        arrival = arrival + leaving;
        fly(copy_of(slot), arrival, fate.held_behind);
    }
    // Only a frame that really flies ahead overtakes others, so not a lost or held one.
    if (fate.held_behind > 0) return;
    held_.pass([&](Flight::Slot released) {
        flight_.move(released, std::min(flight_.frame(released).arrival, arrival));
    });
}

double Cable::queued(Instant now) const {
    if (free_at_ <= now) return 0;
    return (free_at_ - now).seconds() * static_cast<double>(config_.bytes_per_second);
}

bool Cable::queue_takes(Instant now, std::size_t bytes) const {
    return queued(now) + static_cast<double>(bytes) <= static_cast<double>(config_.queue_max);
}

bool Cable::queue_marks(Instant now) const {
    return queued(now) > static_cast<double>(config_.mark_above);
}

Flight::Slot Cable::copy_of(Flight::Slot slot) {
    const Flight::Slot copy = flight_.acquire();
    const Flight::Frame& original = flight_.frame(slot);
    Flight::Frame& repeated = flight_.frame(copy);
    std::copy_n(original.buffer.begin(), original.size, repeated.buffer.begin());
    repeated.size = original.size;
    repeated.lent = original.lent;
    repeated.lent_at = original.lent_at;
    repeated.integrity = original.integrity;
    repeated.intact_front = original.intact_front;
    repeated.resent = original.resent;
    repeated.marked = original.marked;
    return copy;
}

Fate Cable::decide(Instant now, const Flight::Frame& frame) {
    FrameInfo info;
    if (trace_ != nullptr || plan_.scripted()) info = describe_(frame.bytes());
    // The plan must not depend on whether there is a trace, so the length is set in both cases.
    info.length = frame.length();
    const Fate fate = cut_ ? Fate{.lost = true} : plan_.decide(info);
    if (fate != Fate()) count(fate);
    if (trace_ != nullptr) {
        trace_->record({.time = now,
                        .direction = Direction::sent,
                        .from = from_,
                        .to = to_,
                        .frame = info,
                        .resent = frame.resent,
                        .fate = fate,
                        .verdict = std::nullopt});
    }
    return fate;
}

void Cable::count(const Fate& fate) {
    counts_.cut += cut_ ? 1 : 0;
    counts_.lost += fate.lost && !cut_ ? 1 : 0;
    counts_.damaged += fate.damaged ? 1 : 0;
    counts_.duplicated += fate.duplicated ? 1 : 0;
    counts_.held += fate.held_behind > 0 ? 1 : 0;
}

void Cable::fly(Flight::Slot slot, Instant arrival, std::uint32_t held_behind) {
    if (held_behind == 0) {
        flight_.enter(slot, arrival);
        return;
    }
    const Instant latest = arrival + config_.hold_limit;
    flight_.enter(slot, latest);
    held_.hold(slot, held_behind, latest);
}

RxFrame Cable::take_next(Instant now) {
    if (taken_ != Flight::none) flight_.give_back(taken_);
    taken_ = flight_.leave();
    const Flight::Frame& frame = flight_.frame(taken_);
    if (!held_.empty()) held_.expire(frame.arrival, [](Flight::Slot) {});
    if (refused_) {
        refused_ = false;
        room_since_ = now;
    }
    return RxFrame{.bytes = frame.bytes(),
                   .from = PeerId{from_},
                   .integrity = frame.integrity,
                   .lent = frame.lent,
                   .lent_at = frame.lent_at,
                   .marked = frame.marked,
                   .intact_front = frame.intact_front};
}

Duration Cable::time_on_cable(std::size_t bytes) {
    if (config_.bytes_per_second == 0) return Duration();
    if (bytes != timed_bytes_) {
        timed_bytes_ = bytes;
        timed_ = Duration(
            static_cast<std::int64_t>(bytes * 1'000'000'000'000 / config_.bytes_per_second));
    }
    return timed_;
}

}  // namespace wireproof::sim
