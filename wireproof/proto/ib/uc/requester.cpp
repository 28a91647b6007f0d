#include "wireproof/proto/ib/uc/requester.hpp"

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {

bool UcRequester::poll_transmit(Instant, Turn turn, TxFrame& out) {
    while (may_send(turn.core.state()) && !turn.core.sends.empty()) {
        SendEntry& entry = turn.core.sends.front();
        if (!entry.begun && turn.core.state() != QueuePairState::rts) return false;
        if (entry.wanted != CompletionStatus::success) {
            turn.core.complete_send(turn.adapter, entry.wanted);
            turn.core.enter_send_error(turn.adapter);
            return false;
        }
        if (is_local(entry.terms.request)) {
            const CompletionStatus status = turn.core.run_local(entry, turn.adapter);
            turn.core.complete_send(turn.adapter, status);
            if (status != CompletionStatus::success) turn.core.enter_send_error(turn.adapter);
            continue;
        }
        entry.begun = true;
        entry.packets = static_cast<std::uint32_t>(packets_of(entry.length, turn.core.path_mtu()));
        const PayloadRange range = range_of(entry.length, index_, turn.core.path_mtu());
        const auto payload = gather(entry, range, turn.adapter.memory, turn.core.config().domain);
        if (!payload) {
            index_ = 0;
            turn.core.complete_send(turn.adapter, CompletionStatus::local_protection_error);
            turn.core.enter_send_error(turn.adapter);
            return false;
        }
        Headers headers = headers_of(entry, index_, transport);
        turn.core.address(headers, next_);
        encode(headers, payload->all(), out);
        ++turn.core.counters.sent;
        next_ = turn.core.circle().advance(next_, 1);
        if (++index_ == entry.packets) {
            index_ = 0;
            // UC-10: there will be no answer.
            turn.core.complete_send(turn.adapter, CompletionStatus::success);
        }
        return true;
    }
    return false;
}

void UcRequester::fingerprint(Instant, Fingerprint& sink) const {
    sink.add(next_.value());
    sink.add(index_);
}

}  // namespace wireproof::proto::ib
