// The answers that a requester receives: acknowledgements, NAKs and data.
#include <array>
#include <cstring>

#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/proto/ib/rc/requester.hpp"

namespace wireproof::proto::ib {
namespace {

constexpr std::uint8_t rnr_retry_for_ever = 7;

}  // namespace

RxVerdict RcRequester::on_response(Instant now, const Packet& packet, Turn turn) {
    const Psn psn = packet.bth().psn;
    const std::uint32_t outstanding = turn.core.circle().steps_after(next_, oldest_);
    const std::uint32_t ahead = turn.core.circle().steps_after(psn, oldest_);
    // An answer counts from the oldest unanswered PSN to the highest PSN that was sent (RC-27).
    const bool counts = ahead < outstanding;
    const SyndromeKind kind = packet.headers.aeth.syndrome.kind();
    const bool has_aeth = packet.opcode->has(Extended::aeth);
    if (!counts || (has_aeth && kind == SyndromeKind::reserved)) {
        ++turn.core.counters.stale;
        return RxVerdict::stale;
    }
    if (has_aeth && kind == SyndromeKind::ack)
        take_credits(packet.headers.aeth, turn.core.message_circle());
    RxVerdict verdict = RxVerdict::control;
    if (packet.opcode->verb != Verb::acknowledge) {
        verdict = on_data(now, packet, turn);
    } else if (kind == SyndromeKind::ack) {
        verdict = on_ack(now, packet, turn);
    } else if (kind == SyndromeKind::rnr_nak) {
        verdict = on_not_ready(now, packet, turn);
    } else {
        verdict = on_nak(now, packet, turn);
    }
    ++(verdict == RxVerdict::stale ? turn.core.counters.stale : turn.core.counters.answers);
    flow_.apply(now, in_flight(turn.core));
    return verdict;
}

/// The limit never goes back (RC-28), although an old acknowledgement or the rounding of credits
/// may give a lower one.
void RcRequester::take_credits(const Aeth& aeth, const Circle& circle) {
    if (unlimited_) return;  // RC-16: no limit from then on
    const auto credits = credits_of(aeth.syndrome.code());
    unlimited_ = !credits;
    const Msn limit = circle.advance(aeth.msn, credits.value_or(0));
    if (difference(limit, limit_, circle) > 0) limit_ = limit;
}

/// Completes all requests up to the PSN before `psn`, in the order of posting (RC-11, RC-19).
/// Returns false if one of them is a Read or an Atomic without an answer: its answer was lost, and
/// the retry has begun (RC-26).
bool RcRequester::acknowledge_before(Instant now, Psn psn, Turn turn) {
    const Circle& circle = turn.core.circle();
    while (oldest_ != psn && !turn.core.sends.empty()) {
        SendEntry& entry = turn.core.sends.front();
        if (wants_data(entry.terms.request)) {
            retry(now, turn);
            return false;
        }
        const std::uint32_t wanted = circle.steps_after(psn, entry.first);
        if (wanted < entry.packets) {
            progress(now, psn, turn);
            return true;
        }
        progress(now, circle.advance(entry.first, entry.packets), turn);
        // RC-1: the request leaves the queue, so no later answer completes it again.
        turn.core.complete_send(turn.adapter, CompletionStatus::success);
        if (cursor_entry_ > 0) --cursor_entry_;
        retire(turn);
    }
    return turn.core.state() != QueuePairState::error;
}

void RcRequester::progress(Instant now, Psn oldest, Turn turn) {
    if (oldest == oldest_) return;
    // An answer to a packet that was sent before going back moves the cursor (RC-27).
    const std::uint32_t ahead = turn.core.circle().steps_after(oldest, oldest_);
    if (turn.core.circle().steps_after(cursor_, oldest_) < ahead) cursor_ = oldest;
    oldest_ = oldest;
    turn.adapter.windows.on_arrived(turn.core.attributes().address, ahead);
    flow_.arrived(ahead);
    count_under_way(turn);
    backoff_.answered(ahead);
    went_back_ = false;
    // RC-31: only progress reloads the retries.
    retries_left_ = turn.core.attributes().retry_count;
    rnr_retries_left_ = turn.core.attributes().rnr_retry;
    timers_.stop(Timer::not_ready);
    timers_.stop(Timer::answer);
    if (oldest_ != next_) await_answer(now, turn.core);
}

RxVerdict RcRequester::on_ack(Instant now, const Packet& packet, Turn turn) {
    const Psn end = turn.core.circle().advance(packet.bth().psn, 1);
    // RC-34: exactly the packet that was sent again: it was lost, and the responder has discarded
    // the packets after it.
    const bool only_again =
        flow_.asked_again() && end == turn.core.circle().advance(oldest_, 1) && end != cursor_;
    if (!acknowledge_before(now, end, turn) || !only_again || oldest_ != end) {
        return RxVerdict::control;
    }
    ++turn.core.counters.went_back;
    flow_.lost();
    go_back(RcFlow::Earlier::discarded);
    count_under_way(turn);
    return RxVerdict::control;
}

RxVerdict RcRequester::on_nak(Instant now, const Packet& packet, Turn turn) {
    const auto code = packet.headers.aeth.syndrome.nak_code();
    if (!code || *code == NakCode::invalid_rd_request) return RxVerdict::stale;
    if (!acknowledge_before(now, packet.bth().psn, turn)) return RxVerdict::control;
    switch (*code) {
        case NakCode::sequence_error:
            // After an RNR NAK of this PSN, the wait continues (RC-21).
            if (!timers_.running(Timer::not_ready)) retry(now, turn);
            break;
        case NakCode::invalid_request:  // RC-18: NAK 0x61
            fail(CompletionStatus::remote_invalid_request, turn);
            break;
        case NakCode::remote_access:  // RC-17
            fail(CompletionStatus::remote_access_error, turn);
            break;
        // RC-18: NAK 0x63
        default: fail(CompletionStatus::remote_operation_error, turn); break;
    }
    return RxVerdict::control;
}

RxVerdict RcRequester::on_not_ready(Instant now, const Packet& packet, Turn turn) {
    if (!acknowledge_before(now, packet.bth().psn, turn)) return RxVerdict::control;
    if (timers_.running(Timer::not_ready)) return RxVerdict::control;
    if (rnr_retries_left_ == 0) {  // RC-8
        fail(CompletionStatus::rnr_retry_exceeded, turn);
        return RxVerdict::control;
    }
    if (rnr_retries_left_ != rnr_retry_for_ever) --rnr_retries_left_;
    ++turn.core.counters.rnr_waits;
    backoff_.answered(0);
    went_back_ = false;
    go_back(RcFlow::Earlier::discarded);
    count_under_way(turn);
    // RC-7: at least as long as the responder asked for.
    timers_.set(Timer::not_ready, now + rnr_wait(packet.headers.aeth.syndrome.code()));
    return RxVerdict::control;
}

RxVerdict RcRequester::on_data(Instant now, const Packet& packet, Turn turn) {
    const Circle& circle = turn.core.circle();
    const Psn psn = packet.bth().psn;
    // The answer also acknowledges all requests before its own request.
    for (std::size_t i = 0; i < turn.core.sends.size(); ++i) {
        SendEntry& entry = turn.core.sends[i];
        if (!entry.begun) break;
        if (circle.steps_after(psn, entry.first) >= entry.packets) continue;
        if (!wants_data(entry.terms.request)) return RxVerdict::stale;
        const Psn wanted = circle.advance(entry.first, entry.answered);
        if (!acknowledge_before(now, wanted, turn)) return RxVerdict::control;
        break;
    }
    SendEntry& entry = turn.core.sends.front();
    // An earlier response was lost (RC-12).
    if (psn != oldest_) {
        retry(now, turn);
        return RxVerdict::out_of_sequence;
    }
    const bool atomic = packet.opcode->verb == Verb::atomic_acknowledge;
    const auto wrong = atomic == is_atomic(entry.terms.request) ? take_data(packet, entry, turn)
                                                                : CompletionStatus::bad_response;
    if (wrong) {
        fail(*wrong, turn);
        return RxVerdict::refused;
    }
    ++entry.answered;
    if (lossy_ > 0) --lossy_;
    const bool ends = entry.answered == entry.packets;
    if (ends) data_psns_ -= entry.packets;
    if (asked_.front().end == circle.advance(psn, 1)) asked_.pop();
    progress(now, circle.advance(psn, 1), turn);
    if (ends) {
        turn.core.complete_send(turn.adapter, CompletionStatus::success);
        if (cursor_entry_ > 0) --cursor_entry_;
        retire(turn);
    }
    return RxVerdict::accepted;
}

/// Stores the data of a response. Returns empty on success. First and Middle are equal here, and
/// Last and Only: a repeated tail may begin with either (RC-24).
std::optional<CompletionStatus> RcRequester::take_data(const Packet& packet, SendEntry& entry,
                                                       ConstTurn turn) const {
    std::uint64_t offset = 0;
    ConstBytes data = packet.payload;
    std::array<std::byte, 8> word;
    if (packet.opcode->verb == Verb::atomic_acknowledge) {
        std::memcpy(word.data(), &packet.headers.atomic_ack.original, word.size());
        data = word;
    } else {
        const PayloadRange range = range_of(entry.length, entry.answered, turn.core.path_mtu());
        const bool ends = asked_.front().end == turn.core.circle().advance(packet.bth().psn, 1);
        if (packet.opcode->ends() != ends || data.size() != range.length ||
            !packet.padded_right()) {
            return CompletionStatus::bad_response;
        }
        offset = range.offset;
    }
    if (scatter(entry.pieces, offset, data, turn.adapter.memory, turn.core.config().domain)) {
        return std::nullopt;
    }
    return CompletionStatus::local_protection_error;
}

}  // namespace wireproof::proto::ib
