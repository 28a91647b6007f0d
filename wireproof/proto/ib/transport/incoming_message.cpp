#include "wireproof/proto/ib/transport/incoming_message.hpp"

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {
namespace {

/// The planned failure of the receive request, if any. On UC, `too_long` does not complete the
/// receive request, so `receive_faulty` is used instead.
std::optional<Refusal> planned(const QueuePairCore& core) {
    const CompletionStatus wanted = core.receives.wanted();
    if (wanted == CompletionStatus::success) return std::nullopt;
    const bool reliable = core.config().transport == Transport::rc;
    return reliable && wanted == CompletionStatus::local_length_error ? Refusal::too_long
                                                                      : Refusal::receive_faulty;
}

}  // namespace

std::optional<Refusal> IncomingMessage::execute(const Packet& packet, Turn turn) {
    const auto refusal = packet.opcode->verb == Verb::send ? execute_send(packet, turn)
                                                           : execute_write(packet, turn);
    if (refusal) return refusal;
    ++turn.core.counters.executed;
    return std::nullopt;
}

std::optional<Refusal> IncomingMessage::execute_send(const Packet& packet, Turn turn) {
    const Opcode& opcode = *packet.opcode;
    const ReceiveEntry* entry = turn.core.receives.take(turn.adapter);
    if (entry == nullptr) return Refusal::not_ready;  // UC-19, and RC-2
    if (const auto refusal = planned(turn.core)) return refusal;
    const std::size_t size = packet.payload.size();
    const std::uint64_t before = opcode.begins() ? 0 : arrived_;
    if (!opcode.payload_fits(size, turn.core.path_mtu()) || !packet.padded_right() ||
        before + size > message_max) {
        return Refusal::bad_length;
    }
    if (before + size > entry->length) return Refusal::too_long;  // RC-30: at this packet
    const bool invalidates = opcode.has(Extended::invalidate);
    const std::uint32_t key = packet.headers.invalidate.rkey;
    if (invalidates && !turn.adapter.memory.can_invalidate(key, turn.core.bearer()))
        return Refusal::bad_key;
    if (!scatter(entry->pieces, before, packet.payload, turn.adapter.memory,
                 turn.core.config().domain)) {
        return Refusal::receive_faulty;
    }
    if (invalidates) turn.adapter.memory.invalidate(key, turn.core.bearer());  // RC-20
    verb_ = Verb::send;
    arrived_ = before + size;
    if (opcode.ends()) complete(packet, *entry, arrived_, turn);
    return std::nullopt;
}

std::optional<Refusal> IncomingMessage::execute_write(const Packet& packet, Turn turn) {
    const Opcode& opcode = *packet.opcode;
    if (opcode.begins() && !turn.core.allows(RemoteRight::write)) return Refusal::not_allowed;
    const bool takes = opcode.has(Extended::immediate);
    const ReceiveEntry* entry = takes ? turn.core.receives.take(turn.adapter) : nullptr;
    if (takes && entry == nullptr) return Refusal::not_ready;
    if (const auto refusal = takes ? planned(turn.core) : std::nullopt) return refusal;
    if (const auto refusal = check_write(packet, turn)) return refusal;

    if (opcode.begins()) {
        target_ = packet.headers.reth;
        arrived_ = 0;
    }
    const Piece piece{target_.address + arrived_, static_cast<std::uint32_t>(packet.payload.size()),
                      target_.rkey};
    // Checked again for every packet: the region may be removed, or the window invalid, by now
    // (RC-17).
    const auto to = turn.adapter.memory.remote(piece, RemoteRight::write, turn.core.bearer());
    if (!to || !turn.adapter.memory.store(*to, packet.payload)) return Refusal::bad_key;
    verb_ = Verb::write;
    arrived_ += packet.payload.size();
    if (takes) {
        complete(packet, *entry, arrived_, turn);  // UC-21
    } else if (opcode.ends()) {
        verb_.reset();  // UC-22: no receive request, no completion
    }
    return std::nullopt;
}

std::optional<Refusal> IncomingMessage::check_write(const Packet& packet, ConstTurn turn) const {
    const Opcode& opcode = *packet.opcode;
    const std::size_t size = packet.payload.size();
    if (!opcode.payload_fits(size, turn.core.path_mtu()) || !packet.padded_right()) {
        return Refusal::bad_length;
    }
    const Reth& reth = opcode.begins() ? packet.headers.reth : target_;
    const std::uint64_t until = opcode.begins() ? size : arrived_ + size;
    if (reth.length > message_max) return Refusal::bad_length;
    if (opcode.ends() ? until != reth.length : until >= reth.length) return Refusal::bad_length;
    if (!opcode.begins()) return std::nullopt;
    // The First checks the whole range, so a forbidden Write changes no byte (UC-20, RC-17, RC-30).
    const Piece whole{reth.address, reth.length, reth.rkey};
    return turn.adapter.memory.remote(whole, RemoteRight::write, turn.core.bearer())
               ? std::nullopt
               : std::optional(Refusal::bad_key);
}

void IncomingMessage::complete(const Packet& packet, const ReceiveEntry& entry,
                               std::uint64_t length, Turn turn) {
    Completion completion{.id = entry.id, .length = static_cast<std::uint32_t>(length)};
    completion.kind =
        packet.opcode->verb == Verb::send ? CompletionKind::receive : CompletionKind::receive_write;
    if (packet.opcode->has(Extended::immediate)) {
        completion.immediate = packet.headers.immediate.value;
    }
    if (packet.opcode->has(Extended::invalidate)) {
        completion.invalidated = packet.headers.invalidate.rkey;
    }
    turn.core.receives.finish();
    turn.core.complete_receive(turn.adapter, completion, packet.bth().solicited);
    verb_.reset();
}

void IncomingMessage::abandon(Turn turn) {
    if (!open()) return;
    verb_.reset();
    ++turn.core.counters.abandoned;
    // UC-16: other queue pairs may have used later requests of the shared queue.
    if (const auto id = turn.core.receives.give_back()) {
        turn.core.complete_receive(turn.adapter,
                                   {.id = *id,
                                    .status = CompletionStatus::remote_invalid_request,
                                    .kind = CompletionKind::receive},
                                   false);
    }
}

void IncomingMessage::fingerprint(Fingerprint& sink) const {
    sink.add(verb_.has_value());
    if (!verb_) return;
    sink.add(*verb_);
    sink.add(arrived_);
    if (*verb_ == Verb::write) target_.fingerprint(sink);
}

void fail_receive(Turn turn, CompletionStatus status) {
    const ReceiveEntry* entry = turn.core.receives.take(turn.adapter);
    if (entry == nullptr) return;
    const CompletionStatus wanted = turn.core.receives.wanted();
    if (wanted != CompletionStatus::success) status = wanted;
    const Completion completion{.id = entry->id, .status = status, .kind = CompletionKind::receive};
    turn.core.receives.finish();
    turn.core.complete_receive(turn.adapter, completion, false);
}

void count(Refusal refusal, QueuePairCounters& counters) {
    switch (refusal) {
        case Refusal::not_allowed: ++counters.not_allowed; break;
        case Refusal::not_ready: ++counters.not_ready; break;
        case Refusal::bad_length:
        case Refusal::too_long: ++counters.bad_length; break;
        case Refusal::bad_key: ++counters.bad_key; break;
        case Refusal::receive_faulty: ++counters.receive_faulty; break;
    }
}

}  // namespace wireproof::proto::ib
