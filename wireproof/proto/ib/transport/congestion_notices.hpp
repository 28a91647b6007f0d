// RC-35: congestion notification packets (CNP) of RoCEv2 (InfiniBand volume 1, annex A17). A queue
// pair that receives a packet with the mark of a router (ECN) tells the sender. It sends at most
// one CNP in 50 us, as adapters do (DCQCN, Zhu and others, 2015). A mark in between is counted, and
// has no other effect.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/transport/queue_pair_core.hpp"

namespace wireproof::proto::ib {

/// Of one queue pair. A regular value without a clock.
class CongestionNotices {
public:
    static constexpr Duration interval = Duration::microseconds(50);

    void on_marked(Instant now) {
        if (!sent_ || now - left_ >= interval) due_ = true;
    }
    /// Writes the CNP that is due. Returns false if there is none.
    bool poll_transmit(Instant now, QueuePairCore& core, TxFrame& out) {
        if (!due_) return false;
        due_ = false;
        if (!may_receive(core.state())) return false;
        static constexpr std::array<std::byte, 16> reserved{};
        const ConstBytes payload = reserved;
        Headers headers;
        headers.bth.opcode = notification_opcode;
        core.address(headers, Psn{});
        headers.bth.becn = true;
        encode(headers, std::span(&payload, 1), out);
        sent_ = true;
        left_ = now;
        ++core.counters.cnps_sent;
        return true;
    }
    void fingerprint(Instant now, Fingerprint& sink) const {
        if (!due_ && !sent_) return;
        sink.add(due_);
        sink.add(sent_ ? std::min(now - left_, interval) : interval);
    }

private:
    bool due_ = false;
    bool sent_ = false;
    Instant left_;  // when the last CNP left
};

}  // namespace wireproof::proto::ib
