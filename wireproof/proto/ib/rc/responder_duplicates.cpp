// What an RC responder does with a request that it has executed before: it answers again, and
// changes nothing.
#include "wireproof/proto/ib/rc/responder.hpp"

namespace wireproof::proto::ib {

/// The newest PSN that the acknowledgement of a duplicate Send or Write may name. The answer to a
/// Read or an Atomic after the duplicate may have been lost. Some requesters, for example Linux's
/// Soft-RoCE, complete a Read without its data when an acknowledgement names it (RC-4).
Psn RcResponder::newest_before_data(Psn duplicate, const Circle& circle) const {
    std::uint32_t end = circle.steps_after(expected_, duplicate);
    const auto is_behind_duplicate = [&](Psn data) {
        const std::uint32_t steps = circle.steps_after(data, duplicate);
        return steps > 0 && steps < end;
    };
    // The end of a Read that is no longer kept is not known, so the acknowledgement names only the
    // duplicate.
    if (newest_forgotten_ && is_behind_duplicate(*newest_forgotten_)) return duplicate;
    for (std::size_t i = 0; i < resources_.size(); ++i) {
        if (!is_behind_duplicate(resources_[i].psn)) continue;
        end = circle.steps_after(resources_[i].psn, duplicate);
    }
    return circle.advance(duplicate, end - 1);
}

RxVerdict RcResponder::on_duplicate(const Packet& packet, Turn turn) {
    ++turn.core.counters.duplicates;
    switch (packet.opcode->verb) {
        case Verb::read_request: return replay_read(packet, turn);
        case Verb::compare_swap:
        case Verb::fetch_add: return replay_atomic(packet, turn.core);
        default:
            owe_duplicate_ack(newest_before_data(packet.bth().psn, turn.core.circle()));  // RC-4
            return RxVerdict::duplicate;
    }
}

// The same Read, or its tail if the requester asks for the missing part (RC-6).
RxVerdict RcResponder::replay_read(const Packet& packet, Turn turn) {
    const Reth& reth = packet.headers.reth;
    for (std::size_t i = 0; i < resources_.size(); ++i) {
        const Resource& kept = resources_[i];
        if (kept.verb != Verb::read_request) continue;
        const std::uint32_t skipped = turn.core.circle().steps_after(packet.bth().psn, kept.psn);
        if (skipped >= kept.packets) continue;
        const std::uint64_t offset = std::uint64_t{skipped} * turn.core.path_mtu();
        if (reth.rkey != kept.from.rkey || reth.address != kept.from.address + offset ||
            reth.length != kept.from.length - offset) {
            continue;
        }
        const Piece tail{reth.address, reth.length, reth.rkey};
        if (!turn.adapter.memory.remote(tail, RemoteRight::read, turn.core.bearer())) break;
        ++turn.core.counters.replayed;
        answers_.push({.what = Answer::What::read,
                       .replayed = true,
                       .psn = packet.bth().psn,
                       .packets = kept.packets - skipped,
                       .from = reth});
        return RxVerdict::duplicate;
    }
    ++turn.core.counters.resource_gone;
    return RxVerdict::duplicate;
}

// Returns the first result again and does not change memory (RC-5).
RxVerdict RcResponder::replay_atomic(const Packet& packet, QueuePairCore& core) {
    for (std::size_t i = 0; i < resources_.size(); ++i) {
        const Resource& kept = resources_[i];
        if (kept.verb != packet.opcode->verb || kept.psn != packet.bth().psn) continue;
        const AtomicEth& atomic = packet.headers.atomic;
        if (kept.from.address != atomic.address || kept.from.rkey != atomic.rkey) continue;
        ++core.counters.replayed;
        answers_.push({.what = Answer::What::atomic,
                       .replayed = true,
                       .psn = kept.psn,
                       .original = kept.original});
        return RxVerdict::duplicate;
    }
    ++core.counters.resource_gone;
    return RxVerdict::duplicate;
}

}  // namespace wireproof::proto::ib
