#include "wireproof/proto/flit/receiver.hpp"

#include <algorithm>
#include <utility>

namespace wireproof::flit {

Receiver::Receiver(const Config& config)
    : config_(config),
      numbers_(config.modulus),
      store_(config.selective ? std::max(config.store_flits, 1U) : 0) {
    reset();
}

void Receiver::reset() {
    next_ = FlitNumber(config_.first_number - 1);
    implicit_ = numbers_.before(next_);
    to_store_ = next_;
    nak_ = Nak::none;
    withdraw_ = ack_waits_ = false;
    empty_store();
    message_.reset();
    half_.used = half_.ready = false;
    nak_left_ = owed_ = 0;
    ack_deadline_ = never;
    ask_again_at_ = Instant();
}

void Receiver::meet(FlitNumber last) {
    implicit_ = last;
    next_ = to_store_ = numbers_.next(last);
}

bool Receiver::duplicate() const {
    return numbers_.steps(numbers_.before(next_), implicit_) < numbers_.half();
}
bool Receiver::ahead() const {
    return numbers_.steps(next_, implicit_) > numbers_.half();
}

// R1 to R4. FLIT-27: the flit is assumed to have had payload.
void Receiver::on_invalid(Instant now, Stats& stats) {
    ++stats.flits_rx_invalid;
    implicit_ = numbers_.next(implicit_);
    if (nak_ == Nak::standard) return ask_again(now);        // R1
    if (nak_ == Nak::selective) return convert(stats);       // R2, FLIT-14
    if (!config_.withdraws) return schedule(Nak::standard);  // UCIE-2
    if (!withdraw_) {
        withdraw_ = true;  // R4, FLIT-8
        return;
    }
    withdraw_ = false;  // R3, FLIT-22
    if (config_.mends.standard_after_two_invalid) return schedule(Nak::standard);
    schedule_wanted();
}

// FLIT-27: the number of a valid flit. If the invalid flit before it had no payload, its number is
// given back.
FlitNumber Receiver::number_of(const Header& header, bool waited) const {
    const bool give_back = waited && !header.prior_payload;
    if (header.command == Command::explicit_number) return *numbers_.from_wire(header.number);
    if (header.payload && !give_back) return numbers_.next(implicit_);
    if (!header.payload && give_back) return numbers_.before(implicit_);
    return implicit_;
}

// Whether on_flit() takes a payload flit with this header and delivers its message at once: R13,
// R8, and while something is missing the explicit flit with the expected number (STD, SEL).
bool Receiver::takes(const Header& header) const {
    const bool is_explicit = header.command == Command::explicit_number;
    if (!header.payload || (is_explicit && !numbers_.from_wire(header.number))) return false;
    const bool only_explicit = nak_ != Nak::none || (withdraw_ && header.prior_payload);
    return number_of(header, withdraw_) == next_ && (is_explicit || !only_explicit);
}

// CXL-13
void Receiver::use_even(const Header& header, const EvenHalf& half, Stats& stats) {
    if (!takes(header)) return;
    if (half_.used && config_.mends.half_used_once) {
        ++stats.halves_dropped;
        return;
    }
    ++stats.halves_used;
    half_.used = true;
    half_.length = half.length;
    std::copy(half.message.begin(), half.message.end(), half_.bytes.begin());
    half_.ready = half.is_whole();
}

RxVerdict Receiver::on_flit(Instant now, const Header& header, std::optional<ConstBytes> message,
                            Stats& stats) {
    const bool waited = std::exchange(withdraw_, false);
    if (header.command == Command::explicit_number && !numbers_.from_wire(header.number)) {
        // R5, and IDLE. The flit does not say reliably what the invalid one before it was.
        if (waited) schedule(Nak::standard);
        if (header.idle()) return RxVerdict::control;
        ++stats.protocol_errors;
        return RxVerdict::stale;
    }
    implicit_ = number_of(header, waited);
    if (waited) return after_invalid(now, header, message, stats);
    return header.payload ? on_payload(now, header, message, stats) : on_nop(now, header, stats);
}

RxVerdict Receiver::after_invalid(Instant now, const Header& header,
                                  const std::optional<ConstBytes>& message, Stats& stats) {
    const bool is_explicit = header.command == Command::explicit_number;
    if (header.prior_payload) {
        if (!config_.selective) {
            if (header.payload) return in_standard(now, is_explicit, message, stats);  // R7
            schedule(Nak::standard);                                                   // R6
            return RxVerdict::control;
        }
        schedule_wanted();
        return header.payload ? in_selective(now, is_explicit, message, stats)  // R7
                              : RxVerdict::control;                             // R6
    }
    // R8, FLIT-7
    const bool lost = ahead() || (!header.payload && implicit_ == next_);
    if (lost) {
        schedule(Nak::standard);
        return header.payload ? RxVerdict::out_of_sequence : RxVerdict::control;
    }
    ++stats.nak_withdrawn;
    if (!header.payload) return RxVerdict::control;
    return implicit_ == next_ ? take(now, message, stats) : drop_duplicate(stats);
}

RxVerdict Receiver::on_nop(Instant now, const Header& header, Stats& stats) {
    if (nak_ == Nak::none) {
        if (ahead() || implicit_ == next_) schedule(Nak::standard);  // R12
        return RxVerdict::control;
    }
    // R9, R11, FLIT-10: the peer has sent nothing that is missing here.
    if (header.command == Command::explicit_number && implicit_ == numbers_.before(next_)) {
        nak_ = Nak::none;
        nak_left_ = 0;
        empty_store();
        ack_waits_ = true;
        ++stats.nak_cleared;
    } else {
        ask_again(now);
    }
    return RxVerdict::control;
}

RxVerdict Receiver::on_payload(Instant now, const Header& header,
                               const std::optional<ConstBytes>& message, Stats& stats) {
    const bool is_explicit = header.command == Command::explicit_number;
    switch (nak_) {
        case Nak::standard: return in_standard(now, is_explicit, message, stats);    // R10
        case Nak::selective: return in_selective(now, is_explicit, message, stats);  // R11
        case Nak::none: break;
    }
    if (implicit_ == next_) return take(now, message, stats);  // R13
    if (duplicate()) return drop_duplicate(stats);
    schedule(Nak::standard);
    return RxVerdict::out_of_sequence;
}

// STD, FLIT-9: only an explicit flit with the expected number resumes.
RxVerdict Receiver::in_standard(Instant now, bool is_explicit,
                                const std::optional<ConstBytes>& message, Stats& stats) {
    if (is_explicit && implicit_ == next_) {
        nak_ = Nak::none;
        nak_left_ = 0;
        return take(now, message, stats);
    }
    if (nak_ == Nak::none) {
        schedule(Nak::standard);
    } else {
        ask_again(now);
    }
    // After a loss, a number that was only counted says nothing.
    return is_explicit && duplicate() ? drop_duplicate(stats) : RxVerdict::out_of_sequence;
}

// SEL
RxVerdict Receiver::in_selective(Instant now, bool is_explicit,
                                 const std::optional<ConstBytes>& message, Stats& stats) {
    if (duplicate()) return drop_duplicate(stats);
    if (is_explicit && implicit_ == next_) {  // FLIT-13
        nak_ = Nak::none;
        nak_left_ = 0;
        const RxVerdict verdict = take(now, message, stats);
        ready_ = store_.size();
        next_ = numbers_.plus(next_, ready_);
        owed_ += static_cast<std::uint32_t>(ready_);
        return verdict;
    }
    if (implicit_ == to_store_ && !store_.full() && store_.size() < config_.store_flits) {
        keep(message, stats);
        ask_again(now);
        return RxVerdict::held;
    }
    convert(stats);  // FLIT-15 if the store is full
    return RxVerdict::out_of_sequence;
}

// FLIT-6: an Ack is cumulative, and every later flit carries it.
RxVerdict Receiver::take(Instant now, const std::optional<ConstBytes>& message, Stats& stats) {
    next_ = numbers_.next(next_);
    if (!config_.continuous) {
        ++owed_;
        if (owed_ >= config_.ack_after) ack_waits_ = true;
        if (!ack_waits_ && ack_deadline_ == never) ack_deadline_ = now + config_.ack_latency;
    }
    if (std::exchange(half_.used, false) && config_.mends.half_used_once) {
        return take_rest(message, stats);
    }
    message_ = message;
    return message ? RxVerdict::accepted : RxVerdict::malformed;
}

// CXL-13: of the replayed flit, only what follows its even half.
RxVerdict Receiver::take_rest(const std::optional<ConstBytes>& message, Stats& stats) {
    ++stats.halves_dropped;
    if (!message || message->size() != half_.length) return RxVerdict::malformed;
    if (ends_in_even_half(half_.length)) return RxVerdict::accepted;  // it has been delivered
    std::copy(message->begin() + even_message_max, message->end(),
              half_.bytes.begin() + even_message_max);
    half_.ready = true;
    return RxVerdict::accepted;
}

// The sender may resend because the Ack was lost, or the Nak that says the same. On demand neither
// would leave again by itself.
RxVerdict Receiver::drop_duplicate(Stats& stats) {
    ++stats.dup_dropped;
    ack_waits_ = true;
    if (!config_.continuous) nak_left_ = 0;
    return RxVerdict::duplicate;
}

void Receiver::keep(const std::optional<ConstBytes>& message, Stats& stats) {
    Stored& stored = store_.add();
    stored.readable = message.has_value();
    stored.length = message ? message->size() : 0;
    if (message) std::copy(message->begin(), message->end(), stored.bytes.begin());
    to_store_ = numbers_.next(to_store_);
    ++stats.stored;
}

std::optional<ConstBytes> Receiver::next_message() {
    if (message_) return std::exchange(message_, std::nullopt);
    if (std::exchange(half_.ready, false)) return ConstBytes(half_.bytes).first(half_.length);
    while (ready_ > 0) {
        const Stored& stored = store_.front();
        const bool readable = stored.readable;
        const ConstBytes bytes(stored.bytes.data(), stored.length);
        store_.pop();
        --ready_;
        if (readable) return bytes;
    }
    return std::nullopt;
}

Command Receiver::notice() const {
    switch (nak_) {
        case Nak::standard: return Command::standard_nak;
        case Nak::selective: return Command::selective_nak;
        case Nak::none: break;
    }
    return Command::ack;
}

void Receiver::notice_left(Instant now, Command left, Stats& stats) {
    ack_waits_ = false;  // a Nak acknowledges, too
    owed_ = 0;
    ack_deadline_ = never;
    // In the handshake an Ack leaves although a Nak is scheduled. The Nak follows.
    if (nak_ == Nak::none || left == Command::ack) return;
    ++(nak_ == Nak::standard ? stats.nak_tx_std : stats.nak_tx_sel);
    if (nak_left_ == 0) {
        ++stats.naks;
        // A Nak that became standard has the number of the selective one, so its sender's ignore
        // window began with that one.
        if (ask_again_at_ <= now) ask_again_at_ = now + config_.time_of(config_.nak_ignore);
    }
    if (nak_left_ < config_.nak_run) ++nak_left_;
}

void Receiver::on_deadline(Instant now) {
    if (ack_deadline_ > now) return;
    ack_deadline_ = never;
    ack_waits_ = true;
}

void Receiver::empty_store() {
    store_.clear();
    ready_ = 0;
}

void Receiver::schedule(Nak nak) {
    nak_ = nak;
    nak_left_ = 0;
    ask_again_at_ = Instant();
    empty_store();
}

// The type that this receiver prefers. The expected flit alone is missing.
void Receiver::schedule_wanted() {
    schedule(config_.selective ? Nak::selective : Nak::standard);
    to_store_ = numbers_.next(next_);
}

void Receiver::convert(Stats& stats) {
    ++stats.converted;
    const Instant again = ask_again_at_;
    schedule(Nak::standard);
    ask_again_at_ = again;
}

// On demand, a Nak does not leave by itself again. A flit that does not help shows that the peer
// did not get it.
void Receiver::ask_again(Instant now) {
    if (config_.continuous || nak_left_ < config_.nak_run || now < ask_again_at_) return;
    nak_left_ = 0;
}

void Receiver::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(next_.value());
    sink.add(nak_ == Nak::standard ? 0 : implicit_.value());  // the next explicit flit sets it
    sink.add(nak_);
    sink.add(withdraw_);
    sink.add(nak_left_);
    sink.add(store_.size());
    sink.add(ready_);
    if (nak_ == Nak::selective) sink.add(to_store_.value());
    for (std::size_t i = 0; i < store_.size(); ++i) {
        sink.add(store_[i].readable);
        sink.add_bytes(ConstBytes(store_[i].bytes.data(), store_[i].length));
    }
    sink.add(half_.used);
    sink.add(half_.ready);
    if (half_.used) {
        sink.add(half_.length);
        // A message that ended there was delivered, so its bytes do not matter.
        if (!ends_in_even_half(half_.length)) {
            sink.add_bytes(ConstBytes(half_.bytes).first(even_message_max));
        }
    }
    // The caller draws the message before the next call.
    sink.add(message_.has_value());
    if (message_) sink.add(message_->size());
    if (config_.continuous) return;
    // Another flit makes an Ack due, if it does not wait already. If that takes only one, an end
    // with a Nak owes an Ack in any case after its Nak.
    const bool ack_waits = ack_waits_ || (nak_ != Nak::none && config_.ack_after <= 1);
    sink.add(ack_waits);
    sink.add(ack_waits ? 0 : std::min(owed_, config_.ack_after - 1));
    sink.add_deadline(ack_deadline_, now);
    sink.add(nak_ != Nak::none && ask_again_at_ > now ? ask_again_at_ - now : Duration());
}

}  // namespace wireproof::flit
