// RRSM, the remote retry state machine: this end answers the peer's RETRY.Req. It works in every
// state of LRSM (CXL-4).
#pragma once

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/cxl/wire_format.hpp"

namespace wireproof::cxl {

class RemoteRetry {
public:
    enum class State : std::uint8_t { normal, llrack };

    void reset() { *this = {}; }
    /// A later request replaces one that is not answered yet.
    void on_request(const RetryRequest& request) {
        state_ = State::llrack;
        eseq_ = request.eseq;
        num_retry_ = request.num_retry;
    }
    void on_ack_sent() { *this = {}; }

    bool must_answer() const { return state_ == State::llrack; }
    State state() const { return state_; }
    std::uint32_t eseq() const { return eseq_; }
    std::uint32_t num_retry() const { return num_retry_; }

    void fingerprint(Fingerprint& sink) const {
        sink.add(state_);
        sink.add(eseq_);
        sink.add(num_retry_);
    }

private:
    State state_ = State::normal;
    std::uint32_t eseq_ = 0;
    std::uint32_t num_retry_ = 0;
};

}  // namespace wireproof::cxl
