#include "wireproof/proto/ue/transmitter.hpp"

#include <utility>

namespace wireproof::ue {

Transmitter::Transmitter(const Config& config)
    : config_(config),
      frames_({config.replay_slots, config.payload_max, config.payload_lent}),
      retry_({config.modulus, config.first_number, config.replay_timer_max, config.replay_floor,
              config.backs_off}) {}

// LLR-17: each frame that was sent counts. LLR-18: the next number stays the same.
void Transmitter::flush(Stats& stats) {
    stats.tx_discard += outstanding();
    stats.waiting_discarded += waiting();
    frames_.clear();
    retry_.forget();
    outstanding_data_ = 0;
    state_ = State::flush;
    replay_ct_ = 0;
    poison_next_ = false;
    timer_deadline_ = never;
}

SubmitStatus Transmitter::submit(ConstBytes message) {
    if (frames_.full()) return SubmitStatus::no_room;
    frames_.push(message, {.poisoned = std::exchange(poison_next_, false)});
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
    const auto steps = retry_.freed_by_last(number);
    if (!steps) {  // LLR-4
        ++stats.rx_ack_nack_seq_error;
        return Outcome::out_of_range;
    }
    if (*steps > 0) {  // LLR-5, LLR-11
        for (std::size_t i = 0; i < *steps; ++i) {
            outstanding_data_ -= config_.mac_size(frames_[i].length);
        }
        frames_.pop(*steps);
        retry_.free(now, *steps);  // LLR-12
        replay_ct_ = 0;
        timer_deadline_ = never;
    }
    settle(now, stats);
    // LLR-13: a NACK that frees everything leaves nothing to resend.
    if (!nack || outstanding() == 0 || !retry_.acts_on_notice()) return Outcome::done;
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
    retry_.begin_replay(now);
    state_ = State::replay;
    timer_deadline_ = never;
}

// Ends a replay that has nothing more to resend. The timer runs while the sender waits for an
// answer: in ADVANCE, and while a replay is held.
void Transmitter::settle(Instant now, Stats& stats) {
    if (state_ == State::replay && !retry_.replaying()) {
        state_ = State::advance;
        ++stats.tx_replay;
    }
    const bool waits = outstanding() > 0 && (state_ == State::advance || retry_.replay_held());
    if (waits && timer_deadline_ == never) start_timer(now);
}

// LLR-8
void Transmitter::start_timer(Instant now) {
    if (config_.mends.replay_timer) timer_deadline_ = now + retry_.wait();
}

Instant Transmitter::age_deadline() const {
    if (!ages() || outstanding() == 0) return never;
    return frames_[0].first_sent + config_.data_age_timer_max;
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
    if (retry_.window_full(config_.outstanding_seq_max)) return true;
    const std::uint64_t next = config_.mac_size(frames_[outstanding()].length);
    return outstanding_data_ + next > config_.outstanding_data_max;
}

bool Transmitter::transmit(Instant now, TxFrame& out, Stats& stats) {
    const auto end_of = [&](std::size_t index) {
        return now + config_.time_of(preamble_size + config_.mac_size(frames_[index].length));
    };
    if (quiet()) return false;
    if (state_ == State::replay) {  // LLR-5: before any new frame
        const std::size_t index = retry_.cursor();
        write(index, out);
        out.mark_resent();
        retry_.resend(out.size());
        count_sent(index, stats);
        ++stats.resent;
        stats.replayed_bytes += config_.mac_size(frames_[index].length);
        settle(end_of(index), stats);
        return true;
    }
    const std::size_t index = outstanding();
    write(index, out);
    frames_.mark(index).first_sent = now;
    outstanding_data_ += config_.mac_size(frames_[index].length);
    retry_.send(now);
    count_sent(index, stats);
    if (timer_deadline_ == never) start_timer(end_of(index));
    return true;
}

void Transmitter::count_sent(std::size_t index, Stats& stats) const {
    ++stats.numbered;
    ++(frames_[index].poisoned ? stats.tx_poisoned : stats.tx_ok);
}

// LLR-1: the number follows from the index in the buffer, so a replay does not change it. LLR-10: a
// poisoned frame stays poisoned.
void Transmitter::write(std::size_t index, TxFrame& out) const {
    const ConstBytes message = frames_.message(index);
    const auto head = out.add_header<FrameHead::size>();
    FrameHead{{retry_.number_of(index).value()}, message.size()}.encode(head, config_.preamble);
    out.add_payload(message);
    const std::size_t pad =
        config_.mac_size(message.size()) + preamble_size - frame_overhead - message.size();
    encode_tail(head, message, out.add_room(pad + 4),
                {.computed = out.wants_check(),
                 .with_preamble = config_.checks_numbers,
                 .poison = frames_[index].poisoned ? config_.poison_pattern : 0});
}

void Transmitter::fingerprint(Instant now, Fingerprint& sink) const {
    frames_.fingerprint(sink, [&](const FrameMark& frame, std::size_t index) {
        sink.add(frame.poisoned);
        if (index < outstanding() && ages()) sink.add(now - frame.first_sent);
    });
    retry_.fingerprint(now, sink);
    sink.add(state_);
    sink.add(outstanding_data_);  // follows from the frames, if no flush forgets it
    sink.add(init_data_);
    sink.add(poison_next_);
    sink.add(replay_ct_);
    sink.add_deadline(timer_deadline_, now);
}

}  // namespace wireproof::ue
