#include "wireproof/proto/ib/uc/requester.hpp"

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {

bool UcRequester::poll_transmit(Instant, QueuePairCore& core, Adapter& adapter, TxFrame& out) {
    while (may_send(core.state()) && !core.sends.empty()) {
        SendEntry& entry = core.sends.front();
        if (!entry.begun && core.state() != QueuePairState::rts) return false;
        if (entry.wanted != CompletionStatus::success) {
            core.complete_send(adapter, entry.wanted);
            core.enter_send_error(adapter);
            return false;
        }
        if (is_local(entry.terms.request)) {
            const CompletionStatus status = core.run_local(entry, adapter);
            core.complete_send(adapter, status);
            if (status != CompletionStatus::success) core.enter_send_error(adapter);
            continue;
        }
        entry.begun = true;
        entry.packets = static_cast<std::uint32_t>(packets_of(entry.length, core.path_mtu()));
        const PayloadRange range = range_of(entry.length, index_, core.path_mtu());
        const auto payload = gather(entry, range, adapter.memory, core.config().domain);
        if (!payload) {
            index_ = 0;
            core.complete_send(adapter, CompletionStatus::local_protection_error);
            core.enter_send_error(adapter);
            return false;
        }
        Headers headers = headers_of(entry, index_, transport);
        core.address(headers, next_);
        encode(headers, payload->all(), out);
        ++core.counters.sent;
        next_ = core.circle().advance(next_, 1);
        if (++index_ == entry.packets) {
            index_ = 0;
            // UC-10: there will be no answer.
            core.complete_send(adapter, CompletionStatus::success);
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
