#include "wireproof/proto/ue/transmitter.hpp"

#include <algorithm>

namespace wireproof::ue {

Transmitter::Transmitter(const Config& config)
    : config_(config),
      circle_(config.modulus),
      buffer_({config.replay_slots, config.payload_max, config.payload_lent}),
      acked_(circle_.advance(FrameNumber(config.first_number), config.modulus - 1)),
      timer_(config.replay_timer_max, config.replay_floor),
      backoff_(config.backs_off) {}

// LLR-17: each frame that was sent counts. LLR-18: the next number stays the same.
void Transmitter::flush(Stats& stats) {
    stats.tx_discard += outstanding();
    stats.waiting_discarded += waiting();
    acked_ = circle_.advance(acked_, buffer_.sent());
    buffer_.clear();
    outstanding_data_ = 0;
    state_ = State::flush;
    cursor_ = replay_ct_ = 0;
    poison_next_ = false;
    timer_deadline_ = never;
    timer_.forget();
    backoff_.reset();
}

SubmitStatus Transmitter::submit(ConstBytes message) {
    if (buffer_.full()) return SubmitStatus::no_room;
    buffer_.push(message, {.poisoned = std::exchange(poison_next_, false)});
    return SubmitStatus::accepted;
}

// LLR-37: init_seq is the number of the next new frame.
CtlOs Transmitter::take_init(Stats& stats) {
    ++stats.tx_init_ctl_os;
    ++stats.upkeep;
    return {CtlType::init, tx_seq(), init_data_};
}

// LLR-16: the data tells the echo of this episode from a stale one.
Transmitter::Outcome Transmitter::on_echo(const CtlOs& echo, Stats& stats) {
    if (state_ != State::init) return Outcome::ignored;
    if (echo.number != tx_seq() || echo.init_data != init_data_) {
        ++stats.init_echo_mismatch;
        return Outcome::out_of_range;
    }
    state_ = State::advance;
    return Outcome::done;
}

Transmitter::Outcome Transmitter::on_ack(Instant now, std::uint32_t number, bool nack,
                                         Stats& stats) {
    if (!runs()) return Outcome::ignored;
    const bool holds = circle_.holds(number);
    const std::size_t steps = holds ? circle_.steps_after(FrameNumber(number), acked_) : 0;
    if (!holds || steps > buffer_.sent()) {  // LLR-4
        ++stats.rx_ack_nack_seq_error;
        return Outcome::out_of_range;
    }
    if (steps > 0) {  // LLR-5, LLR-11
        for (std::size_t i = 0; i < steps; ++i) {
            outstanding_data_ -= config_.mac_size(buffer_[i].length);
        }
        buffer_.purge(steps);
        acked_ = FrameNumber(number);
        timer_.freed(now, steps);
        backoff_.answered(steps);
        cursor_ -= std::min(cursor_, steps);  // LLR-12
        replay_ct_ = 0;
        timer_deadline_ = never;
    }
    settle(now, stats);
    // LLR-13: a NACK that frees everything leaves nothing to resend.
    if (!nack || buffer_.sent() == 0 || !backoff_.acts_on_notice()) return Outcome::done;
    // LLR-29
    if (config_.nack_counts && !count_replay()) return Outcome::must_flush;
    begin_replay(now, stats);
    return Outcome::done;
}

// LLR-23. False: this replay would be one too many.
bool Transmitter::count_replay() {
    if (config_.replay_ct_max == Config::replay_ct_none) return true;
    if (replay_ct_ == config_.replay_ct_max) return false;
    ++replay_ct_;
    return true;
}

// LLR-12: a NACK during a replay begins it anew.
void Transmitter::begin_replay(Instant now, Stats& stats) {
    ++stats.replays;
    timer_.resent();
    backoff_.retransmits(now);
    state_ = State::replay;
    cursor_ = 0;
    timer_deadline_ = never;
}

// Ends a replay that has nothing more to resend. The timer runs while the sender waits for an
// answer: in ADVANCE, and while a replay is held.
void Transmitter::settle(Instant now, Stats& stats) {
    if (state_ == State::replay && cursor_ >= buffer_.sent()) {
        state_ = State::advance;
        cursor_ = 0;
        ++stats.tx_replay;
    }
    const bool waits = buffer_.sent() > 0 && (state_ == State::advance || replay_held());
    if (waits && timer_deadline_ == never) start_timer(now);
}

// LLR-8
void Transmitter::start_timer(Instant now) {
    if (config_.mends.replay_timer) timer_deadline_ = now + backoff_.wait(timer_.limit());
}

Instant Transmitter::age_deadline() const {
    if (!ages() || buffer_.sent() == 0) return never;
    return buffer_[0].first_sent + config_.data_age_timer_max;
}

Transmitter::Outcome Transmitter::on_deadline(Instant now, Stats& stats) {
    if (age_deadline() <= now) return Outcome::must_flush;  // LLR-21
    if (timer_deadline_ > now) return Outcome::done;
    timer_deadline_ = never;
    ++stats.timeouts;
    if (!count_replay()) return Outcome::must_flush;
    begin_replay(now, stats);
    return Outcome::done;
}

// LLR-2, LLR-30
bool Transmitter::window_full() const {
    if (buffer_.sent() >= std::min<std::size_t>(config_.outstanding_seq_max, backoff_.window())) {
        return true;
    }
    const std::uint64_t next = config_.mac_size(buffer_[buffer_.sent()].length);
    return outstanding_data_ + next > config_.outstanding_data_max;
}

bool Transmitter::transmit(Instant now, TxFrame& out, Stats& stats) {
    const auto end_of = [&](std::size_t index) {
        return now + config_.time_of(preamble_size + config_.mac_size(buffer_[index].length));
    };
    if (quiet()) return false;
    if (state_ == State::replay) {  // LLR-5: before any new frame
        const std::size_t index = cursor_++;
        write(index, out);
        out.mark_resent();
        if (index == 0) backoff_.oldest_left(out.size());
        count_sent(index, stats);
        ++stats.resent;
        stats.replayed_bytes += config_.mac_size(buffer_[index].length);
        settle(end_of(index), stats);
        return true;
    }
    const std::size_t index = buffer_.sent();
    write(index, out);
    buffer_.mark_sent().first_sent = now;
    outstanding_data_ += config_.mac_size(buffer_[index].length);
    timer_.sent(now, buffer_.sent());
    count_sent(index, stats);
    if (timer_deadline_ == never) start_timer(end_of(index));
    return true;
}

void Transmitter::count_sent(std::size_t index, Stats& stats) const {
    ++stats.numbered;
    ++(buffer_[index].poisoned ? stats.tx_poisoned : stats.tx_ok);
}

// LLR-1: the number follows from the index in the buffer, so a replay does not change it. LLR-10: a
// poisoned frame stays poisoned.
void Transmitter::write(std::size_t index, TxFrame& out) const {
    const ConstBytes message = buffer_.message(index);
    const FrameNumber number = circle_.advance(acked_, index + 1);
    const auto head = out.add_header<FrameHead::size>();
    FrameHead{{number.value()}, message.size()}.encode(head, config_.preamble);
    out.add_payload(message);
    const std::size_t pad =
        config_.mac_size(message.size()) + preamble_size - frame_overhead - message.size();
    encode_tail(head, message, out.add_room(pad + 4),
                {.computed = out.wants_check(),
                 .with_preamble = config_.checks_numbers,
                 .poison = buffer_[index].poisoned ? config_.poison_pattern : 0});
}

void Transmitter::fingerprint(Instant now, Fingerprint& sink) const {
    buffer_.fingerprint(sink, [&](const FrameMark& frame, bool sent) {
        sink.add(frame.poisoned);
        if (sent && ages()) sink.add(now - frame.first_sent);
    });
    sink.add(state_);
    sink.add(acked_.value());
    sink.add(outstanding_data_);  // follows from the frames, if no flush forgets it
    sink.add(init_data_);
    sink.add(poison_next_);
    sink.add(cursor_);
    sink.add(replay_ct_);
    timer_.fingerprint(now, sink);
    backoff_.fingerprint(sink);
    sink.add_deadline(timer_deadline_, now);
}

}  // namespace wireproof::ue
