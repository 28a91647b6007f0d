#include "wireproof/proto/ib/uc/responder.hpp"

namespace wireproof::proto::ib {

RxVerdict UcResponder::on_request(Instant, const Packet& packet, Turn turn) {
    if (packet.opcode->transport() != Transport::uc) {
        ++turn.core.counters.not_allowed;  // UC-6
        return RxVerdict::refused;
    }
    // A duplicate of any opcode changes no state (UC-17, UC-26). A PSN that is more than
    // uc_behind_max behind counts as ahead, so the packets of a restarted peer are accepted again
    // (UC-28).
    const std::uint32_t behind = turn.core.circle().steps_after(expected_, packet.bth().psn);
    if (turn.core.config().uc_drop_behind && behind > 0 &&
        behind <= turn.core.config().uc_behind_max) {
        ++turn.core.counters.duplicates;
        return RxVerdict::duplicate;
    }
    return packet.opcode->begins() ? on_begin(packet, turn) : on_rest(packet, turn);
}

RxVerdict UcResponder::on_begin(const Packet& packet, Turn turn) {
    const bool gap = packet.bth().psn != expected_;
    if (gap) {
        ++turn.core.counters.gaps;
        ++turn.core.counters.resumed;
    }
    // A gap ends the open message, but not the message that begins now (UC-12, UC-15). Soft-RoCE
    // drops that one, too (UC-29). The loss of a dropped message was reported already.
    if (message_.open() || (gap && !dropping_)) tell_lost(turn);
    message_.abandon(turn);
    // UC-14: any PSN is accepted.
    dropping_ = false;
    return execute(packet, turn);
}

RxVerdict UcResponder::on_rest(const Packet& packet, Turn turn) {
    if (packet.bth().psn != expected_) {
        ++turn.core.counters.gaps;
        drop_message(turn);  // UC-13
        return RxVerdict::out_of_sequence;
    }
    // UC-27: after reordering, a packet of a dropped message may have the expected PSN.
    if (dropping_) {
        ++turn.core.counters.rest_dropped;
        return RxVerdict::out_of_sequence;
    }
    if (!message_.continued_by(*packet.opcode)) {
        ++turn.core.counters.sequence_broken;
        drop_message(turn);  // UC-13
        return RxVerdict::out_of_sequence;
    }
    return execute(packet, turn);
}

RxVerdict UcResponder::execute(const Packet& packet, Turn turn) {
    // Also for a refused packet: another copy of it is a duplicate. PSNs wrap (UC-18).
    expected_ = turn.core.circle().advance(packet.bth().psn, 1);
    const auto refusal = message_.execute(packet, turn);
    if (!refusal) return RxVerdict::accepted;
    count(*refusal, turn.core.counters);
    if (*refusal == Refusal::receive_faulty) {
        // Completes the receive request of this message before drop_message gives it back.
        fail_receive(turn, CompletionStatus::local_protection_error);
    }
    drop_message(turn);
    if (*refusal == Refusal::receive_faulty) {
        turn.adapter.tell(PortEvent::What::receive_faulty, turn.core.number());
        turn.core.enter_error(turn.adapter);
    }
    return RxVerdict::refused;
}

void UcResponder::drop_message(Turn turn) {
    if (!dropping_) tell_lost(turn);
    dropping_ = true;
    message_.abandon(turn);
}

void UcResponder::tell_lost(Turn turn) const {
    ++turn.core.counters.messages_lost;
    if (turn.core.config().tell_lost)
        turn.adapter.tell(PortEvent::What::message_lost, turn.core.number());
}

void UcResponder::fingerprint(Instant, Fingerprint& sink) const {
    sink.add(expected_.value());
    sink.add(dropping_);
    message_.fingerprint(sink);
}

}  // namespace wireproof::proto::ib
