#include "wireproof/proto/ib/uc/responder.hpp"

namespace wireproof::proto::ib {

RxVerdict UcResponder::on_request(Instant, const Packet& packet, QueuePairCore& core,
                                  Adapter& adapter) {
    if (packet.opcode->transport() != Transport::uc) {
        ++core.counters.not_allowed;  // UC-6
        return RxVerdict::refused;
    }
    // A duplicate of any opcode changes no state (UC-17, UC-26). A PSN that is more than
    // uc_behind_max behind counts as ahead, so the packets of a restarted peer are accepted again
    // (UC-28).
    const std::uint32_t behind = core.circle().steps_after(expected_, packet.bth().psn);
    if (core.config().uc_drop_behind && behind > 0 && behind <= core.config().uc_behind_max) {
        ++core.counters.duplicates;
        return RxVerdict::duplicate;
    }
    return packet.opcode->begins() ? on_begin(packet, core, adapter)
                                   : on_rest(packet, core, adapter);
}

RxVerdict UcResponder::on_begin(const Packet& packet, QueuePairCore& core, Adapter& adapter) {
    const bool gap = packet.bth().psn != expected_;
    if (gap) {
        ++core.counters.gaps;
        ++core.counters.resumed;
    }
    // A gap ends the open message, but not the message that begins now (UC-12, UC-15). Soft-RoCE
    // drops that one, too (UC-29). The loss of a dropped message was reported already.
    if (message_.open() || (gap && !dropping_)) tell_lost(core, adapter);
    message_.abandon(core, adapter);
    // UC-14: any PSN is accepted.
    dropping_ = false;
    return execute(packet, core, adapter);
}

RxVerdict UcResponder::on_rest(const Packet& packet, QueuePairCore& core, Adapter& adapter) {
    if (packet.bth().psn != expected_) {
        ++core.counters.gaps;
        drop_message(core, adapter);  // UC-13
        return RxVerdict::out_of_sequence;
    }
    // UC-27: after reordering, a packet of a dropped message may have the expected PSN.
    if (dropping_) {
        ++core.counters.rest_dropped;
        return RxVerdict::out_of_sequence;
    }
    if (!message_.continued_by(*packet.opcode)) {
        ++core.counters.sequence_broken;
        drop_message(core, adapter);  // UC-13
        return RxVerdict::out_of_sequence;
    }
    return execute(packet, core, adapter);
}

RxVerdict UcResponder::execute(const Packet& packet, QueuePairCore& core, Adapter& adapter) {
    // Also for a refused packet: another copy of it is a duplicate. PSNs wrap (UC-18).
    expected_ = core.circle().advance(packet.bth().psn, 1);
    const auto refusal = message_.execute(packet, core, adapter);
    if (!refusal) return RxVerdict::accepted;
    count(*refusal, core.counters);
    if (*refusal == Refusal::receive_faulty) {
        // Completes the receive request of this message before drop_message gives it back.
        fail_receive(core, adapter, CompletionStatus::local_protection_error);
    }
    drop_message(core, adapter);
    if (*refusal == Refusal::receive_faulty) {
        adapter.tell(PortEvent::What::receive_faulty, core.number());
        core.enter_error(adapter);
    }
    return RxVerdict::refused;
}

void UcResponder::drop_message(QueuePairCore& core, Adapter& adapter) {
    if (!dropping_) tell_lost(core, adapter);
    dropping_ = true;
    message_.abandon(core, adapter);
}

void UcResponder::tell_lost(QueuePairCore& core, Adapter& adapter) const {
    ++core.counters.messages_lost;
    if (core.config().tell_lost) adapter.tell(PortEvent::What::message_lost, core.number());
}

void UcResponder::fingerprint(Instant, Fingerprint& sink) const {
    sink.add(expected_.value());
    sink.add(dropping_);
    message_.fingerprint(sink);
}

}  // namespace wireproof::proto::ib
