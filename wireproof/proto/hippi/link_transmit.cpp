// Decides what leaves, in order of urgency: start-up units, status nulls, the replay, new units. A
// null leaves only if no other unit can carry the number back.
#include "wireproof/proto/hippi/link.hpp"

namespace wireproof::hippi {

bool Link::poll_transmit(Instant now, TxFrame& out) {
    if (const auto departure = start_up_.next_departure(now)) {
        send_start(*departure, out);
        return true;
    }
    if (!running()) return false;
    if (received_.status_null_due()) {
        send_null(Type::status_null, out);
    } else if (sent_.resend_due()) {
        send_unit(sent_.resend(now), out);
        out.mark_resent();
        ++stats_.resent;
    } else if (const auto unit = next_new_unit()) {
        send_unit(sent_.send(now, *unit), out);
    } else if (received_.null_due()) {
        send_null(Type::null, out);
    } else {
        return false;
    }
    return true;
}

std::optional<Unit> Link::next_new_unit() {
    if (!sent_.has_room()) return std::nullopt;
    std::optional<Unit> unit;
    for (std::uint8_t i = 0; i < channel_count && !unit; ++i) {
        const auto channel = static_cast<std::uint8_t>((turn_ + i) % channel_count);
        // HIPPI-25, HIPPI-26: the next channel may have credit.
        if (outgoing_[channel].empty() || !credits_.available(channel)) continue;
        credits_.consume(channel);
        unit = outgoing_[channel].next_unit();
        turn_ = static_cast<std::uint8_t>((channel + 1) % channel_count);
    }
    if (!unit) {
        // HIPPI-34: a credit-only unit itself needs no credit.
        if (!credits_.return_due()) return std::nullopt;
        unit.emplace().control.type = Type::credit;
        ++stats_.credit_units;
        ++stats_.upkeep;
    }
    const Credits::Return returned = credits_.take_return();
    unit->control.credit_channel = returned.channel;
    unit->control.credits = returned.count;
    return unit;
}

// HIPPI-29: each sending sets its own RSEQ and LCRC.
void Link::send_unit(const Unit& unit, TxFrame& out) {
    Control control = unit.control;
    if (received_.negative()) ++stats_.naks;
    control.rseq = received_.take_rseq();
    ++stats_.numbered;
    out.add_payload(unit.data());
    finish(out, unit.data(), control);
}

// HIPPI-18: a null has no number, and the sender does not keep it.
void Link::send_null(Type type, TxFrame& out) {
    Control control{.type = type};
    if (type == Type::status_null) {
        ++stats_.status_nulls;
        ++stats_.acks;
        control.rseq = received_.take_status();
    } else {
        ++stats_.nulls;
        ++(received_.negative() ? stats_.naks : stats_.acks);
        control.rseq = received_.take_rseq();
    }
    static constexpr DataBytes zero{};
    out.add_payload(zero);
    finish(out, zero, control);
}

void Link::send_start(const StartUp::Departure& departure, TxFrame& out) {
    switch (departure.type) {
        case Type::init: ++stats_.inits; break;
        case Type::reset: ++stats_.resets_asked; break;
        default: ++stats_.start_answers; break;
    }
    ++stats_.upkeep;
    const auto data = out.add_header<data_size>();
    departure.body.encode(data);
    finish(out, data, Control{.type = departure.type});
}

void Link::finish(TxFrame& out, ConstBytes data, const Control& control) {
    const auto to = out.add_header<control_size>();
    control.encode(to);
    if (out.wants_check()) store_lcrc(to, lcrc(data.first<data_size>(), to));
}

}  // namespace wireproof::hippi
