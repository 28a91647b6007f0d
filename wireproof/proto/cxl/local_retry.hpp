// LRSM, the local retry state machine: what this end does when the line damages a flit that it
// receives (docs/rules/cxl.md).
//
//            damaged flit            RETRY.Req sent
//   NORMAL ───────────────► LLRREQ ─────────────────► LOCAL_IDLE ──► NORMAL
//                            ▲   │ NUM_RETRY = MAX         │    RETRY.Ack with our NUM_RETRY
//                            │   ├──► PHY_REINIT ──► LLRREQ│
//                            │   └──► ABORT                │
//                            └─────────────────────────────┘ TIMEOUT
#pragma once

#include <cstdint>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/cxl/config.hpp"

namespace wireproof::cxl {

class LocalRetry {
public:
    enum class State : std::uint8_t { normal, llrreq, local_idle, phy_reinit, abort };
    enum class Answer : std::uint8_t {
        taken,       // the replay follows
        stale,       // it answers another request
        unexpected,  // this end has not asked
    };

    explicit LocalRetry(const Config& config)
        : max_num_retry_(config.max_num_retry),
          max_num_phy_reinit_(config.max_num_phy_reinit),
          compares_(config.mends.compares_num_retry) {}

    void reset() { enter(State::normal, 0, 0); }

    /// The line damaged a flit.
    void on_error();
    /// A good retryable flit was taken, in NORMAL.
    void on_good_flit() { num_retry_ = num_phy_reinit_ = 0; }  // CXL-8
    Answer on_ack(std::uint32_t num_retry, bool empty);
    /// The sequence with the RETRY.Req has left.
    void on_request_sent();
    void on_timeout();
    /// The physical layer has trained, at the wish of either end.
    void on_trained() { enter(State::llrreq, 0, num_phy_reinit_); }

    State state() const { return state_; }
    bool normal() const { return state_ == State::normal; }
    bool must_request() const { return state_ == State::llrreq; }
    /// NUM_RETRY: of the last request, or of the last of a series that was answered.
    std::uint32_t num_retry() const { return num_retry_; }
    std::uint32_t num_phy_reinit() const { return num_phy_reinit_; }

    void fingerprint(Fingerprint& sink) const {
        sink.add(state_);
        sink.add(num_retry_);
        sink.add(num_phy_reinit_);
    }

private:
    void enter(State state, std::uint32_t num_retry, std::uint32_t num_phy_reinit) {
        state_ = state;
        num_retry_ = num_retry;
        num_phy_reinit_ = num_phy_reinit;
    }
    void request_again();

    std::uint32_t max_num_retry_;
    std::uint32_t max_num_phy_reinit_;
    bool compares_;
    State state_ = State::normal;
    std::uint32_t num_retry_ = 0;
    std::uint32_t num_phy_reinit_ = 0;
};

}  // namespace wireproof::cxl
