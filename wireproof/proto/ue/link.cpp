// What arrives, and the life of a link. What leaves is in link_transmit.cpp.
#include "wireproof/proto/ue/link.hpp"

namespace wireproof::ue {
namespace {

// A carrier that vouches for the bytes needs no FCS, but the frame may still be poisoned.
FcsVerdict judge(const FramePieces& pieces, Integrity integrity, const Config& config) {
    const std::uint32_t poison = config.poison_pattern;
    if (integrity == Integrity::damaged) return FcsVerdict::bad;
    const std::uint32_t stored = pieces.stored_fcs();
    const bool vouched = integrity == Integrity::intact;
    if (vouched && stored == 0) return FcsVerdict::good;
    const std::uint32_t computed = pieces.computed_fcs(config.checks_numbers);
    if (stored == computed) return FcsVerdict::good;
    if (stored == (computed ^ poison)) return FcsVerdict::poisoned;
    if (!vouched) return FcsVerdict::bad;
    return stored == poison ? FcsVerdict::poisoned : FcsVerdict::good;
}

}  // namespace

Link::Link(const Config& config)
    : config_(config),
      transmitter_(config),
      receiver_(config),
      slots_(config),
      ineligible_({config.ineligible_slots, config.payload_max, false}) {
    transmitter_.set_init_data(config.first_init_data);
    begin_init();
}

// LLR-33: on a line the FCS does not cover the preamble, so nothing here checks the number. LLR-38:
// a frame with a bad FCS is never delivered, so a wrong number in it does no harm.
RxVerdict Link::on_frame(Instant now, const RxFrame& frame) {
    seen_ = now;
    if (!pcs_up_) return stats_.count(RxVerdict::refused);
    if (starts_with(frame.bytes, ctl_byte)) return stats_.count(on_ctl(now, frame));
    if (frame.bytes.size() < preamble_size) return stats_.count(RxVerdict::malformed);
    const auto preamble = Preamble::decode(frame.bytes.first<preamble_size>(), config_.preamble);
    if (!preamble) return stats_.count(RxVerdict::malformed);
    return stats_.count(preamble->number ? on_eligible(*preamble->number, frame)
                                         : on_ineligible(frame));
}

RxVerdict Link::on_eligible(std::uint32_t number, const RxFrame& frame) {
    const auto pieces = FramePieces::of(frame);
    const FcsVerdict fcs = pieces ? judge(*pieces, frame.integrity, config_) : FcsVerdict::bad;
    const RxVerdict verdict = receiver_.on_frame(number, fcs, stats_);
    if (verdict != RxVerdict::accepted) return verdict;
    return deliver(*pieces, fcs == FcsVerdict::poisoned);
}

// LLR-20
RxVerdict Link::on_ineligible(const RxFrame& frame) {
    const auto pieces = FramePieces::of(frame);
    if (!pieces || judge(*pieces, frame.integrity, config_) != FcsVerdict::good) {
        ++stats_.rx_ineligible_bad;
        return RxVerdict::corrupt;
    }
    ++stats_.rx_ineligible;
    return deliver(*pieces, false);
}

// A frame of another type has used its number.
RxVerdict Link::deliver(const FramePieces& pieces, bool poisoned) {
    const auto length = FrameHead::decode_length(pieces.head);
    if (!length || *length > pieces.data.size()) return RxVerdict::malformed;
    if (poisoned && !config_.delivers_poisoned) return RxVerdict::accepted;  // LLR-10
    deliveries_.message(pieces.data.first(*length));
    poisoned_ = poisoned;
    return RxVerdict::accepted;
}

RxVerdict Link::on_ctl(Instant now, const RxFrame& frame) {
    const auto ctl = CtlOs::read(config_, frame);
    if (!ctl) {  // LLR-26: as if it were lost
        ++stats_.bad_ctl_os;
        return RxVerdict::corrupt;
    }
    if (transmitter_.state() == Transmitter::State::llr_off) return RxVerdict::refused;
    switch (ctl->type) {
        case CtlType::ack:
            ++stats_.rx_ack_ctl_os;
            return obey(transmitter_.on_ack(now, ctl->number, false, stats_));
        case CtlType::nack:
            ++stats_.rx_nack_ctl_os;
            return obey(transmitter_.on_ack(now, ctl->number, true, stats_));
        case CtlType::init: ++stats_.rx_init_ctl_os; return on_init(*ctl);
        case CtlType::init_echo: {
            ++stats_.rx_init_echo_ctl_os;
            const RxVerdict verdict = obey(transmitter_.on_echo(*ctl, stats_));
            if (transmitter_.runs()) flushed_ = false;
            come_up_if_ready();
            return verdict;
        }
        case CtlType::cf_update: break;
    }
    return RxVerdict::control;
}

RxVerdict Link::obey(Transmitter::Outcome outcome) {
    switch (outcome) {
        case Transmitter::Outcome::done: return RxVerdict::control;
        case Transmitter::Outcome::ignored: return RxVerdict::refused;
        case Transmitter::Outcome::out_of_range: return RxVerdict::stale;
        case Transmitter::Outcome::must_flush: flush(); return RxVerdict::control;
    }
    return RxVerdict::control;
}

// LLR-28: both ends use the newer of their two lives. After the peer has echoed a life, it sends no
// INIT of an older one, unless it has restarted: then this end begins a life that is newer than
// both.
RxVerdict Link::on_init(const CtlOs& init) {
    if (init.number >= config_.modulus) return RxVerdict::malformed;
    const bool takes =
        config_.mends.init_in_every_state || receiver_.state() == Receiver::State::off;
    if (config_.restarts_both_ways && takes) {
        const Age age = age_of(init.init_data);
        if (age == Age::newer) restart(init.init_data);
        if (age == Age::older && transmitter_.runs()) restart(next_life());
        // LLR-34: the peer begins again, so this end does. Its own life is at least as new.
        if (transmitter_.state() == Transmitter::State::flush) begin_init();
        if (age == Age::older) return RxVerdict::refused;
    }
    receiver_.on_init(init);
    come_up_if_ready();
    return RxVerdict::control;
}

Link::Age Link::age_of(std::uint16_t init_data) const {
    const std::uint32_t values = config_.init_data_values;
    const std::uint32_t ahead = (init_data + values - transmitter_.init_data()) % values;
    if (ahead == 0) return Age::same;
    const bool newer =
        2 * ahead == values ? init_data > transmitter_.init_data() : 2 * ahead < values;
    return newer ? Age::newer : Age::older;
}

// LLR-16
std::uint16_t Link::next_life() const {
    return static_cast<std::uint16_t>((transmitter_.init_data() + 1U) % config_.init_data_values);
}

void Link::flush() {
    ++stats_.flushes;
    if (config_.restarts_both_ways) {
        end_life();
    } else {
        go_down();
        transmitter_.flush(stats_);
    }
    flushed_ = true;
    transmitter_.set_init_data(next_life());
    if (config_.re_init_on_flush) begin_init();
}

void Link::go_down() {
    if (up_) ++stats_.resets;
    deliveries_.down(up_);
    up_ = false;
}

void Link::restart(std::uint16_t life) {
    end_life();
    transmitter_.set_init_data(life);
    begin_init();
}

// LLR-17: what either end submitted is lost, and both deliver `down`.
void Link::end_life() {
    go_down();
    receiver_.switch_off();
    transmitter_.flush(stats_);
    ineligible_.clear();
    timers_.stop(Timer::idle);
}

void Link::begin_init() {
    transmitter_.begin_init();
    slots_.begin_init();
}

void Link::re_init() {
    using State = Transmitter::State;
    const State state = transmitter_.state();
    if (state == State::flush || state == State::llr_off) begin_init();
}

void Link::come_up_if_ready() {
    if (up_ || receiver_.state() == Receiver::State::off) return;
    if (flushed_ && !config_.restarts_both_ways) return;
    up_ = true;
    deliveries_.up();
}

void Link::on_deadline(Instant now) {
    seen_ = now;
    (void)obey(transmitter_.on_deadline(now, stats_));
    if (timers_.take_expired(Timer::idle, now)) receiver_.repeat_ack();  // LLR-32
    // LLR-22: without an outstanding frame, only this timer notices.
    if (timers_.take_expired(Timer::pcs, now) && transmitter_.runs()) flush();
}

void Link::on_pcs(Instant now, bool up) {
    if (up == pcs_up_) return;
    pcs_up_ = up;
    timers_.stop(Timer::pcs);
    const Duration limit = config_.pcs_lost_status_timer_max;
    if (!up && limit > Duration()) timers_.set(Timer::pcs, now + limit);
}

void Link::on_wire_event(Instant, WireEvent event) {
    if (!up_) ++stats_.resets;
    end_life();
    timers_ = {};
    pcs_up_ = true;
    flushed_ = false;
    transmitter_.set_init_data(next_life());
    if (event == WireEvent::new_life) return begin_init();
    transmitter_.switch_off();
}

void Link::fingerprint(Instant now, Fingerprint& sink) const {
    transmitter_.fingerprint(now, sink);
    receiver_.fingerprint(sink);
    slots_.fingerprint(now, sink);
    ineligible_.fingerprint(sink);
    timers_.fingerprint(now, sink);
    sink.add_deadline(slot_deadline(), now);
    sink.add(pcs_up_);
    sink.add(up_);
    sink.add(flushed_ && !config_.restarts_both_ways);
    deliveries_.fingerprint(sink);
    sink.add(deliveries_.has_message() && poisoned_);
}

}  // namespace wireproof::ue
