#include "wireproof/proto/flit/link.hpp"

#include <algorithm>

#include "wireproof/proto/flit/ecc.hpp"
#include "wireproof/proto/flit/halves.hpp"

namespace wireproof::flit {

Link::Link(const Config& config)
    : config_(config),
      message_max_(config.message_max()),
      transmitter_(config),
      receiver_(config),
      start_(config) {
    start_up();
}

SubmitStatus Link::submit(ConstBytes message) {
    if (message.size() > message_max_) return SubmitStatus::too_long;
    if (!has_room()) return SubmitStatus::no_room;
    transmitter_.submit(message);
    return SubmitStatus::accepted;
}

RxVerdict Link::on_frame(Instant now, const RxFrame& frame) {
    return stats_.count(judge(now, frame));
}

RxVerdict Link::judge(Instant now, const RxFrame& frame) {
    if (state_ == State::inactive) return RxVerdict::refused;
    if (config_.format == Format::cxl_halves) return judge_halves(now, frame);
    if (frame.integrity == Integrity::damaged) return on_invalid(now, RxVerdict::corrupt);
    if (frame.size() != Shape::of(config_.format).size) {
        return on_invalid(now, RxVerdict::malformed);
    }
    if (frame.integrity == Integrity::intact) return read(now, frame);
    RxFrame checked = frame;
    if (!check_bytes(checked)) return on_invalid(now, RxVerdict::corrupt);
    return read(now, checked);
}

RxVerdict Link::read(Instant now, const RxFrame& frame) {
    const auto pieces = FlitPieces::of(config_.format, frame);
    if (!pieces) return on_invalid(now, RxVerdict::malformed);
    const auto header = Header::decode(config_.format, pieces->header);
    if (!header) return on_invalid(now, RxVerdict::malformed);
    return on_valid(now, *header, pieces->message);
}

// FLIT-1: first the ECC, then the CRC. A flit that was corrected is read from the engine's memory.
bool Link::check_bytes(RxFrame& frame) {
    const auto gather = [&] {
        const auto at = static_cast<std::ptrdiff_t>(frame.lent_at);
        auto to = std::copy_n(frame.bytes.begin(), at, corrected_.begin());
        to = std::copy(frame.lent.begin(), frame.lent.end(), to);
        to = std::copy(frame.bytes.begin() + at, frame.bytes.end(), to);
        frame.bytes = ConstBytes(corrected_).first(frame.size());
        frame.lent = {};
    };
    if (!frame.lent.empty()) {
        if (frame.lent_at > frame.bytes.size()) return false;
        gather();
    }
    if (has_usage(config_.format) && config_.corrects) {
        const EccFinding found = ecc_find(frame.bytes.first<flit_max>());
        if (found.result == EccResult::uncorrectable) return false;
        if (found.result == EccResult::corrected) {
            if (frame.bytes.data() != corrected_.data()) gather();
            found.apply(Bytes(corrected_).first<ecc_covers>());
            if (!crc_matches(config_.format, config_.crc_order, frame.bytes)) return false;
            ++stats_.flits_rx_corrected;
            return true;
        }
    }
    return crc_matches(config_.format, config_.crc_order, frame.bytes);
}

// The even half of an invalid flit is used if its CRC fits: as it came, or else as the correction
// left it.
RxVerdict Link::judge_halves(Instant now, const RxFrame& frame) {
    if (frame.integrity == Integrity::damaged) {
        if (frame.intact_front >= half_size) use_even(frame.bytes);
        return on_invalid(now, RxVerdict::corrupt);
    }
    if (frame.bytes.size() != flit_max) return on_invalid(now, RxVerdict::malformed);
    std::copy(frame.bytes.begin(), frame.bytes.end(), corrected_.begin());
    if (frame.integrity == Integrity::check) {
        const HalvesFinding found = find_halves(config_.crc_order, config_.corrects, corrected_);
        if (found.suspect) ++stats_.flits_suspect;
        if (!found.valid) {
            if (found.even == HalvesFinding::Even::as_received) use_even(frame.bytes);
            if (found.even == HalvesFinding::Even::corrected) use_even(corrected_);
            return on_invalid(now, RxVerdict::corrupt);
        }
        if (found.changed) ++stats_.flits_rx_corrected;
    }
    const auto header = Header::decode(config_.format, corrected_.data());
    if (!header) return on_invalid(now, RxVerdict::malformed);
    return on_valid(now, *header, join_halves(corrected_));
}

// Its header only says which flit this is: an Ack or Nak in it is not used.
void Link::use_even(ConstBytes flit) {
    if (state_ != State::active || flit.size() < half_size) return;
    const auto header = Header::decode(config_.format, flit.data());
    const auto half = EvenHalf::of(flit);
    if (header && half) receiver_.use_even(*header, *half, stats_);
}

RxVerdict Link::on_invalid(Instant now, RxVerdict verdict) {
    // Before the peer's number is known there is nothing to count.
    if (state_ == State::starting && !start_.met()) {
        ++stats_.flits_rx_invalid;
    } else {
        receiver_.on_invalid(now, stats_);
    }
    return verdict;
}

RxVerdict Link::on_valid(Instant now, const Header& header, std::optional<ConstBytes> message) {
    const bool is_explicit = header.command == Command::explicit_number;
    if (state_ == State::starting) {
        if (!start_.met()) {
            if (header.payload || !is_explicit) return RxVerdict::refused;
            const auto last = Numbers(config_.modulus).from_wire(header.number);
            if (!last) return header.idle() ? RxVerdict::control : RxVerdict::stale;
            receiver_.meet(*last);
            start_.meet();
        } else if (header.payload) {
            activate(now);  // a peer sends payload only if it knows both numbers
        }
    }
    bool legal = true;
    if (!is_explicit && header.number != 0) {
        legal = transmitter_.on_notice(now, tick(now), header.command, header.number, stats_);
        if (!legal) ++stats_.protocol_errors;  // FLIT-16, UCIE-5
        if (legal) start_.heard();
        // The flit that the peer misses may have been a NOP with an Ack.
        if (transmitter_.owes_explicit()) receiver_.owe_ack();
    } else if (is_explicit && !header.payload) {
        receiver_.owe_ack();  // to a peer that starts up, or waits for the end of its Nak
    }
    const RxVerdict verdict = receiver_.on_flit(now, header, message, stats_);
    if (state_ == State::starting && start_.ready()) activate(now);
    return legal || header.payload ? verdict : RxVerdict::stale;
}

std::optional<LinkDelivery> Link::next_delivery() {
    if (deliveries_.has_event()) return deliveries_.next();
    if (const auto message = receiver_.next_message()) {
        return LinkDelivery{LinkDelivery::What::message, *message};
    }
    return std::nullopt;
}

void Link::on_deadline(Instant now) {
    transmitter_.on_retrained(now);
    if (config_.continuous) return;
    transmitter_.on_deadline(now, now, stats_);
    receiver_.on_deadline(now);
    if (timers_.take_expired(Timer::start, now)) start_.again();
    if (timers_.take_expired(Timer::life, now)) {
        life_due_ = true;
        timers_.set(Timer::life, now + config_.sign_of_life);
    }
}

Instant Link::next_deadline() const {
    if (config_.continuous) return transmitter_.retrained_at();
    return earliest(timers_.next(), transmitter_.next_deadline(), transmitter_.retrained_at(),
                    receiver_.next_deadline());
}

void Link::on_wire_event(Instant, WireEvent event) {
    go_down();
    if (event == WireEvent::new_life) start_up();
}

void Link::go_down() {
    deliveries_.down(state_ == State::active);
    ++stats_.resets;
    state_ = State::inactive;
    transmitter_.reset();
    receiver_.reset();
    start_ = StartUp(config_);
    timers_ = {};
    explicit_in_row_ = trailing_ = 0;
    prior_payload_ = life_due_ = false;
}

void Link::start_up() {
    state_ = State::starting;
    if (!config_.starts_up) activate(Instant());
}

void Link::activate(Instant now) {
    state_ = State::active;
    deliveries_.up();
    timers_.stop(Timer::start);
    if (config_.continuous || !config_.starts_up) return;
    receiver_.owe_ack();
    if (config_.sign_of_life > Duration()) {
        timers_.set(Timer::life, now + config_.sign_of_life);
    }
}

bool Link::poll_transmit(Instant now, TxFrame& out) {
    if (state_ == State::inactive || transmitter_.retraining()) return false;
    if (config_.continuous) {
        const Instant at = tick(now);
        if (transmitter_.next_deadline() <= at) transmitter_.on_deadline(now, at, stats_);
        if (transmitter_.retraining()) return false;
    }
    if (state_ == State::starting) return send_start(now, out);
    const auto next = transmitter_.next_payload();
    const Command command = command_for(next);
    // FLIT-23, FLIT-24: if this flit must carry an Ack or Nak, it is a NOP.
    if (!next || (next->must_be_explicit && command != Command::explicit_number)) {
        if (!config_.continuous && !owes(next)) return false;
        send_nop(now, command, out);
        return true;
    }
    const bool is_explicit = command == Command::explicit_number;
    const std::uint32_t number = is_explicit ? Numbers::wire(next->number) : receiver_.acknak();
    if (!is_explicit) receiver_.notice_left(now, command, stats_);
    write({true, prior_payload_, command, number}, transmitter_.message(*next), out);
    if (next->resent) out.mark_resent();
    transmitter_.payload_left(now, tick(now), *next, is_explicit, out.size(), stats_);
    trailing_ = config_.trailing_nops;
    return true;
}

// The order of choice (FLIT-20). UCIE-3: with limits of 1, explicit flits and Acks alternate.
Command Link::command_for(const std::optional<NextPayload>& next) const {
    const bool wanted = transmitter_.wants_explicit() || (next && next->must_be_explicit);
    if (wanted && explicit_in_row_ < config_.explicit_run && receiver_.lets_explicit_leave()) {
        return Command::explicit_number;
    }
    return receiver_.notice();
}

bool Link::owes(const std::optional<NextPayload>& next) const {
    return next || receiver_.owes() || transmitter_.owes_explicit() || trailing_ > 0 || life_due_;
}

bool Link::quiet() const {
    if (config_.continuous || state_ != State::active) return state_ == State::inactive;
    return !owes(transmitter_.next_payload());
}

// FLIT-3: a NOP takes no number and is not stored. An explicit one has the number of the last
// payload flit.
void Link::send_nop(Instant now, Command command, TxFrame& out) {
    const bool is_explicit = command == Command::explicit_number;
    write({false, prior_payload_, command,
           is_explicit ? transmitter_.last_sent() : receiver_.acknak()},
          {}, out);
    if (is_explicit) {
        transmitter_.explicit_nop_left();
        ++stats_.upkeep;
    } else {
        ++(command == Command::ack ? stats_.acks : stats_.upkeep);
        receiver_.notice_left(now, command, stats_);
    }
    if (trailing_ > 0) --trailing_;
    life_due_ = false;
}

bool Link::send_start(Instant now, TxFrame& out) {
    if (!config_.continuous) {
        if (!start_.due()) return false;
        if (!timers_.running(Timer::start)) timers_.set(Timer::start, now + config_.start_every);
    }
    const Command command = start_.next();
    send_nop(now, command, out);
    if (start_.left(command)) {
        ++stats_.retrain;
        ++stats_.resets;
        if (config_.retrain_time > Duration()) transmitter_.retrain(now);
    }
    if (start_.ready()) activate(now);
    return true;
}

void Link::write(const Header& header, ConstBytes message, TxFrame& out) {
    write_flit(config_.format, config_.crc_order, header, message, out);
    const bool is_explicit = header.command == Command::explicit_number;
    explicit_in_row_ = is_explicit ? explicit_in_row_ + 1 : 0;
    prior_payload_ = header.payload;
    ++flits_sent_;
}

void Link::fingerprint(Instant now, Fingerprint& sink) const {
    transmitter_.fingerprint(now, tick(now), sink);
    receiver_.fingerprint(now, sink);
    start_.fingerprint(sink);
    timers_.fingerprint(now, sink);
    sink.add(state_);
    sink.add(std::min(explicit_in_row_, config_.explicit_run));
    sink.add(prior_payload_ && has_usage(config_.format));  // other flits do not say it
    sink.add(trailing_);
    sink.add(life_due_);
    deliveries_.fingerprint(sink);
}

}  // namespace wireproof::flit
