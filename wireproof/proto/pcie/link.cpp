#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::pcie {
namespace {

constexpr std::uint8_t all_types = (1U << flow_types) - 1;

std::uint8_t bit(std::size_t type) {
    return static_cast<std::uint8_t>(1U << type);
}

std::size_t lowest(std::uint8_t bits) {
    std::size_t type = 0;
    while ((bits & bit(type)) == 0) ++type;
    return type;
}

std::array<CreditGrant, flow_types> grants_of(const Config& config) {
    std::array<CreditGrant, flow_types> grants;
    for (std::size_t type = 0; type < flow_types; ++type) {
        grants[type] = CreditGrant(config.credits[type]);
    }
    return grants;
}

}  // namespace

Link::Link(const Config& config)
    : config_(config), transmitter_(config), receiver_(config), grants_(grants_of(config)) {}

SubmitStatus Link::submit(FlowType type, ConstBytes message) {
    WIREPROOF_CHECK(type != FlowType::completion);
    if (message.size() > config_.payload_max) return SubmitStatus::too_long;
    if (state_ != State::active) return SubmitStatus::no_room;
    return transmitter_.submit(type, message);
}

RxVerdict Link::on_frame(Instant now, const RxFrame& frame) {
    if (state_ == State::inactive) return stats_.count(RxVerdict::refused);
    if (starts_with(frame.bytes, Symbol::stp)) return stats_.count(on_tlp(now, frame));
    if (starts_with(frame.bytes, Symbol::sdp)) return stats_.count(on_dllp(now, frame));
    return stats_.count(RxVerdict::malformed);
}

RxVerdict Link::on_tlp(Instant now, const RxFrame& frame) {
    if (state_ == State::fc_init1) return RxVerdict::refused;  // PCIE-28
    const auto tlp = TlpPieces::of(frame);
    bool good = tlp.has_value() && frame.integrity != Integrity::damaged;
    bool nullified = good && tlp->ends_bad();
    if (good && frame.integrity == Integrity::check) {
        const std::uint32_t computed = tlp->computed_lcrc();
        nullified = nullified && tlp->stored_lcrc() == ~computed;
        good = nullified || (tlp->ends_good() && tlp->stored_lcrc() == computed);
    }
    if (!good) {
        ++stats_.bad_tlps;
        return receiver_.on_bad(now);
    }
    // PCIE-19
    if (nullified) {
        ++stats_.nullified;
        return RxVerdict::control;
    }
    if (state_ == State::fc_init2) activate(now);  // PCIE-28
    const RxVerdict verdict = receiver_.on_tlp(now, tlp->number());
    if (verdict != RxVerdict::accepted) return verdict;
    const auto head = TlpHead::decode(tlp->head);
    const std::size_t room = tlp->data.size() + tlp->padding.size();
    if (!head || head->length + head->padding() != room || head->length > tlp->data.size()) {
        return RxVerdict::malformed;  // another kind of TLP; its number is used up
    }
    if (frame.integrity == Integrity::check && !tlp->ecrc_matches()) {
        ++stats_.ecrc_errors;
        return RxVerdict::corrupt;
    }
    deliver(*head, *tlp);  // PCIE-13
    return RxVerdict::accepted;
}

void Link::deliver(const TlpHead& head, const TlpPieces& tlp) {
    deliveries_.message(tlp.data.first(head.length));
    const auto type = static_cast<std::size_t>(head.type);
    if (grants_[type].infinite()) return;
    const auto units = static_cast<std::uint32_t>((head.length + data_unit - 1) / data_unit);
    if (grants_[type].take({1, units})) updates_due_ |= bit(type);
}

RxVerdict Link::on_dllp(Instant now, const RxFrame& frame) {
    const bool whole = frame.integrity != Integrity::damaged && frame.bytes.size() == Dllp::size;
    const auto dllp =
        whole ? Dllp::decode(frame.bytes.first<Dllp::size>(), frame.integrity == Integrity::check)
              : std::nullopt;
    if (!dllp) {  // PCIE-12
        ++stats_.bad_dllps;
        return RxVerdict::corrupt;
    }
    if (const auto kind = dllp->flow_control_kind()) return on_flow_control(now, *kind, *dllp);
    if (!dllp->is_ack() && !dllp->is_nak()) return RxVerdict::control;  // power, vendor, NOP
    if (state_ != State::active) return RxVerdict::refused;
    if (transmitter_.on_ack(now, dllp->number(), dllp->is_nak(), stats_)) return RxVerdict::control;
    ++stats_.protocol_errors;
    return RxVerdict::stale;
}

// PCIE-28: FC_INIT1 ends when the credits of all three kinds have arrived. FC_INIT2 ends with a
// frame that a peer sends only after its FC_INIT1.
RxVerdict Link::on_flow_control(Instant now, DllpKind kind, const Dllp& dllp) {
    const FlowType type = dllp.flow_type();
    const bool initial = kind != DllpKind::update_fc;
    switch (state_) {
        case State::inactive: return RxVerdict::refused;
        case State::fc_init1:
            if (!initial) return RxVerdict::refused;
            transmitter_.on_credits(kind, type, dllp.credits());
            seen_ |= bit(static_cast<std::size_t>(type));
            if (seen_ == all_types) {
                state_ = State::fc_init2;
                init_next_ = 0;
                timers_.stop(Timer::init);
            }
            return RxVerdict::control;
        case State::fc_init2:
            if (kind != DllpKind::init_fc1) activate(now);
            if (!initial) transmitter_.on_credits(kind, type, dllp.credits());
            return RxVerdict::control;
        case State::active:
            // A peer that still starts up gets again what it lacks. The answer to an InitFC2 is an
            // UpdateFC: if two ends answered it with InitFC2, they would never stop (PCIE-37).
            if (kind == DllpKind::init_fc1) answers_due_ |= bit(static_cast<std::size_t>(type));
            if (kind == DllpKind::init_fc2) updates_due_ |= bit(static_cast<std::size_t>(type));
            if (!initial) transmitter_.on_credits(kind, type, dllp.credits());
            return RxVerdict::control;
    }
    return RxVerdict::control;
}

void Link::on_deadline(Instant now) {
    receiver_.on_deadline(now);
    transmitter_.on_deadline(now, stats_);
    if (timers_.take_expired(Timer::init, now)) init_next_ = 0;
    if (timers_.take_expired(Timer::update, now)) {
        timers_.set(Timer::update,
                    now + (config_.sign_of_life > Duration() ? config_.sign_of_life
                                                             : config_.update_every));
        for (std::size_t type = 0; type < flow_types; ++type) {
            if (updates_itself(type)) updates_due_ |= bit(type);
        }
    }
}

void Link::on_wire_event(Instant, WireEvent event) {
    go_down();
    if (event == WireEvent::new_life) state_ = State::fc_init1;
}

// PCIE-32
void Link::go_down() {
    deliveries_.down(state_ == State::active);
    ++stats_.resets;
    state_ = State::inactive;
    transmitter_.reset();
    receiver_.reset();
    timers_ = {};
    seen_ = init_next_ = answers_due_ = updates_due_ = 0;
    grants_ = grants_of(config_);
}

// The rest of the peer's InitFC2 triple is answered like a late InitFC2. That does no harm.
void Link::activate(Instant now) {
    state_ = State::active;
    timers_.stop(Timer::init);
    deliveries_.up();
    bool any = false;
    for (std::size_t type = 0; type < flow_types; ++type) any = any || updates_itself(type);
    if (config_.sign_of_life > Duration()) {
        timers_.set(Timer::update, now + config_.sign_of_life);
    } else if (any) {
        timers_.set(Timer::update, now + config_.update_every);
    }
}

bool Link::updates_itself(std::size_t type) const {
    return !grants_[type].infinite() || (config_.sign_of_life > Duration() && type == 0);
}

bool Link::poll_transmit(Instant now, TxFrame& out) {
    if (state_ == State::inactive || transmitter_.retraining()) return false;
    if (state_ != State::active) return send_init(now, out);  // PCIE-28: no TLP yet
    if (const auto dllp = receiver_.next_dllp(stats_)) {
        send(*dllp, out);
        return true;
    }
    return send_flow_control(now, out) || transmitter_.transmit(now, out, stats_);
}

bool Link::send_init(Instant now, TxFrame& out) {
    if (init_next_ == flow_types) return false;
    const DllpKind kind = state_ == State::fc_init1 ? DllpKind::init_fc1 : DllpKind::init_fc2;
    const auto type = static_cast<FlowType>(init_next_);
    send(Dllp::flow_control(kind, type, grants_[init_next_].advertised()), out);
    ++stats_.upkeep;
    if (++init_next_ == flow_types) timers_.set(Timer::init, now + config_.init_every);
    return true;
}

bool Link::send_flow_control(Instant, TxFrame& out) {
    if (answers_due_ != 0) {
        const std::size_t type = lowest(answers_due_);
        answers_due_ &= static_cast<std::uint8_t>(~bit(type));
        send(Dllp::flow_control(DllpKind::init_fc2, static_cast<FlowType>(type),
                                grants_[type].advertised()),
             out);
    } else if (updates_due_ != 0) {
        const std::size_t type = lowest(updates_due_);
        updates_due_ &= static_cast<std::uint8_t>(~bit(type));
        send(Dllp::flow_control(DllpKind::update_fc, static_cast<FlowType>(type),
                                grants_[type].tell()),
             out);
    } else {
        return false;
    }
    ++stats_.upkeep;
    return true;
}

void Link::send(const Dllp& dllp, TxFrame& out) const {
    dllp.encode(out.add_header<Dllp::size>(), out.wants_check());
}

Instant Link::next_deadline() const {
    return earliest(timers_.next(), transmitter_.next_deadline(), receiver_.next_deadline());
}

void Link::fingerprint(Instant now, Fingerprint& sink) const {
    transmitter_.fingerprint(now, sink);
    receiver_.fingerprint(now, sink);
    for (const CreditGrant& grant : grants_) grant.fingerprint(sink);
    timers_.fingerprint(now, sink);
    sink.add(state_);
    sink.add(seen_);
    sink.add(init_next_);
    sink.add(answers_due_);
    sink.add(updates_due_);
    deliveries_.fingerprint(sink);
}

}  // namespace wireproof::pcie
