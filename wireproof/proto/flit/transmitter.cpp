#include "wireproof/proto/flit/transmitter.hpp"

#include <utility>

namespace wireproof::flit {

Transmitter::Transmitter(const Config& config)
    : config_(config),
      numbers_(config.modulus),
      messages_({config.replay_slots, config.message_max(), config.payload_lent}),
      retry_({config.modulus, config.first_number - 1, config.time_of(config.timeout_flits),
              config.continuous ? Duration() : config.replay_floor, config.backs_off}) {
    reset();
}

void Transmitter::reset() {
    messages_.clear();
    retry_.reset();
    last_payload_ = counted_ = newest();
    explicit_left_ = 0;
    replay_ = remembered_ = Replay::none;
    started_ = owes_explicit_ = false;
    replay_num_ = 0;
    nak_ignore_.reset();
    timers_ = {};
    retrained_at_ = never;
}

bool Transmitter::on_notice(Instant now, Instant tick, Command notice, std::uint32_t number,
                            Stats& stats) {
    if (number == 0) return true;
    const auto named = numbers_.from_wire(number);
    if (!named) return false;
    const auto steps = retry_.freed_by_last(named->value());
    if (!steps) return false;  // FLIT-16
    if (*steps > 0) free_oldest(now, tick, *steps);
    if (notice == Command::ack) {
        nak_ignore_.reset();
        owes_explicit_ = false;
        remembered_ = Replay::none;
        timers_.stop(Timer::nak_ignore);
        return true;
    }
    const bool selective = notice == Command::selective_nak && config_.selective;
    on_nak(now, tick, selective ? Replay::selective : Replay::standard, stats);
    return true;
}

// FLIT-6. FLIT-12: a replay ends early only if the flit at its pointer is freed.
void Transmitter::free_oldest(Instant now, Instant tick, std::size_t count) {
    if (retry_.replaying() && retry_.cursor() < count) end_replay();
    messages_.pop(count);
    retry_.free(now, count);
    replay_num_ = 0;
    remembered_ = Replay::none;
    restart_timer(tick);
}

// Everything up to the number of the Nak is freed, so the flit after it is the oldest in the
// buffer.
void Transmitter::on_nak(Instant now, Instant tick, Replay wanted, Stats& stats) {
    const bool repeated = nak_ignore_ == retry_.acknowledged();
    if (outstanding() == 0) {  // nothing to replay: an explicit NOP clears the Nak
        nak_ignore_ = retry_.acknowledged();
        owes_explicit_ = true;
        timers_.stop(Timer::nak_ignore);
        return;
    }
    owes_explicit_ = false;
    if (!repeated) {
        nak_ignore_.reset();
        timers_.stop(Timer::nak_ignore);
    }
    if (replay_ == Replay::selective && !started_ && wanted == Replay::standard) {
        replay_ = Replay::standard;
        --stats.replay_sel;
        ++stats.replay_std;
        return;
    }
    if (replay_ != Replay::none) {
        if (!config_.continuous && !repeated) remembered_ = wanted;
        return;
    }
    const bool ignored = repeated && timers_.deadline(Timer::nak_ignore) != never &&
                         timers_.deadline(Timer::nak_ignore) > tick;
    if (!ignored) replay_for_nak(now, tick, wanted, stats);  // FLIT-11, FLIT-21
}

void Transmitter::replay_for_nak(Instant now, Instant tick, Replay wanted, Stats& stats) {
    if (!retry_.acts_on_notice()) return;
    schedule(now, tick, wanted, stats);
    nak_ignore_ = retry_.acknowledged();
    timers_.set(Timer::nak_ignore, tick + config_.time_of(config_.nak_ignore));
}

void Transmitter::end_replay() {
    replay_ = Replay::none;
    retry_.end_replay();
}

void Transmitter::schedule(Instant now, Instant tick, Replay type, Stats& stats) {
    ++stats.replays;
    ++(type == Replay::standard ? stats.replay_std : stats.replay_sel);
    retry_.begin_replay(now);
    replay_ = type;
    remembered_ = Replay::none;
    started_ = false;
    // FLIT-23: the start of a replay is a jump.
    explicit_left_ = config_.mends.explicit_run_after_jump ? config_.explicit_after_jump : 1;
    restart_timer(tick);
    if (config_.replay_num_limit == 0 || ++replay_num_ < config_.replay_num_limit) return;
    replay_num_ = 0;  // FLIT-18
    ++stats.retrain;
    ++stats.resets;
    if (config_.retrain_time > Duration()) retrain(now);
}

// The timer runs while flits are unacknowledged. It waits for the first flit of a replay.
void Transmitter::restart_timer(Instant tick) {
    const bool waits = replay_ != Replay::none && !started_;
    if (outstanding() == 0 || waits || !config_.mends.replay_timer) {
        timers_.stop(Timer::replay);
    } else {
        timers_.set(Timer::replay, tick + retry_.wait());
    }
}

void Transmitter::on_deadline(Instant now, Instant tick, Stats& stats) {
    timers_.take_expired(Timer::nak_ignore, tick);
    if (timers_.deadline(Timer::replay) > tick) return;
    if (replay_ != Replay::none && !retry_.replay_held()) {
        // A replay that takes longer than the timer is finished first.
        if (!config_.continuous) restart_timer(tick);
        return;
    }
    ++stats.timeouts;
    ++stats.replay_timeout;
    schedule(now, tick, Replay::standard, stats);  // FLIT-17, FLIT-25, UCIE-4
}

std::optional<NextPayload> Transmitter::next_payload() const {
    NextPayload next;
    if (replay_ != Replay::none) {
        if (retry_.replay_held()) return std::nullopt;
        next.index = retry_.cursor();
        next.resent = true;
    } else if (waiting() > 0 && !retry_.window_full(config_.outstanding)) {  // FLIT-4
        next.index = outstanding();
    } else {
        return std::nullopt;
    }
    next.number = retry_.number_of(next.index);  // FLIT-2
    const bool follows =
        next.number == numbers_.next(last_payload_) && next.number == numbers_.next(counted_);
    next.must_be_explicit = config_.mends.explicit_after_gap && (explicit_left_ > 0 || !follows);
    return next;
}

void Transmitter::payload_left(Instant now, Instant tick, const NextPayload& next, bool is_explicit,
                               std::size_t size, Stats& stats) {
    ++stats.numbered;
    if (next.number != numbers_.next(last_payload_) && config_.mends.explicit_run_after_jump) {
        explicit_left_ = config_.explicit_after_jump;  // FLIT-23
    }
    if (is_explicit) {
        owes_explicit_ = false;
        if (explicit_left_ > 0) --explicit_left_;
    }
    last_payload_ = counted_ = next.number;
    if (!next.resent) {
        retry_.send(now);
        if (!timers_.running(Timer::replay)) restart_timer(tick);
        return;
    }
    ++stats.resent;
    retry_.resend(size);
    if (!started_) {
        started_ = true;
        restart_timer(tick);
    }
    if (replay_ == Replay::standard && retry_.replaying()) return;
    end_replay();  // FLIT-13
    const Replay wanted = std::exchange(remembered_, Replay::none);
    if (wanted != Replay::none) replay_for_nak(now, tick, wanted, stats);
}

void Transmitter::explicit_nop_left() {
    owes_explicit_ = false;
    counted_ = newest();
    if (config_.mends.only_payload_counts) return;
    last_payload_ = counted_;
    if (explicit_left_ > 0) --explicit_left_;
}

// What decides which payload flits must be explicit. Only flits after the acknowledged ones are
// sent again. So if the last payload flit is before these, the next one does not follow it,
// whatever its number is. The peer's count is at the last payload flit, or an explicit NOP has
// moved it to the newest flit; after that, too, no payload flit follows. If one explicit flit after
// a jump is enough, it then does not matter which payload flit was the last one.
void Transmitter::fingerprint_of_jumps(Fingerprint& sink) const {
    const std::uint32_t last = numbers_.steps(last_payload_, retry_.acknowledged());
    const bool known = last <= outstanding();
    const bool counts = counted_ == last_payload_;
    const bool one_is_enough = config_.explicit_after_jump <= 1 && config_.mends.explicit_after_gap;
    const bool matters = known && (counts || !one_is_enough);
    sink.add(explicit_left_);
    sink.add(matters);
    sink.add(matters ? last : 0);
    sink.add(matters && counts);
}

void Transmitter::fingerprint(Instant now, Instant tick, Fingerprint& sink) const {
    messages_.fingerprint(sink);
    retry_.fingerprint(now, sink);
    fingerprint_of_jumps(sink);
    sink.add(replay_);
    sink.add(replay_ != Replay::none && started_);
    sink.add(replay_num_);
    sink.add(nak_ignored());
    sink.add(owes_explicit_);
    sink.add(remembered_);
    timers_.fingerprint(tick, sink);
    sink.add_deadline(retrained_at_, now);
}

}  // namespace wireproof::flit
