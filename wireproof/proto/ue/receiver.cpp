#include "wireproof/proto/ue/receiver.hpp"

namespace wireproof::ue {

Receiver::Receiver(const Config& config)
    : config_(config), circle_(config.modulus), next_(config.first_number) {}

void Receiver::switch_off() {
    state_ = State::off;
    next_ = FrameNumber(config_.first_number);
    ack_due_ = echo_due_ = false;
}

// LLR-14: in every state. Without the mend, a running receiver only answers. LLR-15: a late copy
// names the number that is expected already.
void Receiver::on_init(const CtlOs& init) {
    echo_due_ = true;
    echo_.number = init.number;
    echo_.init_data = init.init_data;
    if (state_ != State::off && !config_.mends.init_in_every_state) return;
    next_ = FrameNumber(init.number);
    state_ = State::send_acks;
    ack_due_ = false;
}

// LLR-3: with the largest window, a frame that is half the circle ahead can only be one that was
// delivered.
bool Receiver::is_duplicate(std::uint32_t ahead) const {
    const std::uint32_t half = config_.modulus / 2;
    return config_.mends.half_is_duplicate ? ahead >= half : ahead > half;
}

RxVerdict Receiver::on_frame(std::uint32_t number, FcsVerdict fcs, Stats& stats) {
    if (!circle_.holds(number)) return RxVerdict::malformed;
    if (state_ == State::off) return RxVerdict::refused;
    switch (fcs) {
        case FcsVerdict::good: ++stats.rx_ok; break;
        case FcsVerdict::poisoned: ++stats.rx_poisoned; break;
        case FcsVerdict::bad: ++stats.rx_bad; break;
    }
    const std::uint32_t ahead = circle_.steps_after(FrameNumber(number), next_);
    if (ahead == 0) return on_expected(fcs, stats);
    // LLR-9: from here on the FCS does not matter.
    const bool running = state_ == State::send_acks;
    if (is_duplicate(ahead)) {
        ++stats.rx_duplicate_seq;
        // LLR-7, LLR-30. A NACK that is due carries the same number.
        const bool answers = running || (config_.acks_after_nack && state_ == State::nack_sent);
        if (answers && config_.mends.duplicates_acknowledged) ack_due_ = true;
        return RxVerdict::duplicate;
    }
    if (running || !config_.missing_once) ++stats.rx_missing_seq;  // LLR-31
    complain();
    return RxVerdict::out_of_sequence;
}

// LLR-6: one NACK until the expected frame has come. It carries the number of the ACK that is due.
void Receiver::complain() {
    if (state_ != State::send_acks) return;
    state_ = State::send_nack;
    ack_due_ = false;
}

RxVerdict Receiver::on_expected(FcsVerdict fcs, Stats& stats) {
    if (fcs == FcsVerdict::bad) {
        ++stats.rx_expected_seq_bad;
        complain();
        return RxVerdict::corrupt;
    }
    // LLR-10: a poisoned frame uses its number, too.
    ++(fcs == FcsVerdict::good ? stats.rx_expected_seq_good : stats.rx_expected_seq_poisoned);
    if (state_ == State::nack_sent) ++stats.rx_replay;
    next_ = circle_.advance(next_, 1);  // LLR-1
    state_ = State::send_acks;          // LLR-6: a NACK that has not left is dropped
    ack_due_ = true;
    return RxVerdict::accepted;
}

CtlOs Receiver::take_echo(Stats& stats) {
    echo_due_ = false;
    ++stats.tx_init_echo_ctl_os;
    ++stats.upkeep;
    return echo_;
}

CtlOs Receiver::take_nack(Stats& stats) {
    state_ = State::nack_sent;
    ++stats.tx_nack_ctl_os;
    ++stats.naks;
    return {CtlType::nack, last()};
}

CtlOs Receiver::take_ack(Stats& stats) {
    ack_due_ = false;
    ++stats.tx_ack_ctl_os;
    ++stats.acks;
    return {CtlType::ack, last()};
}

void Receiver::fingerprint(Fingerprint& sink) const {
    sink.add(state_);
    sink.add(state_ == State::off ? 0 : next_.value());  // an INIT sets it
    sink.add(ack_due_);
    sink.add(echo_due_);
    if (!echo_due_) return;
    sink.add(echo_.number);
    sink.add(echo_.init_data);
}

}  // namespace wireproof::ue
