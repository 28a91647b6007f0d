#include "wireproof/proto/cxl/local_retry.hpp"

namespace wireproof::cxl {

// CXL-24
void LocalRetry::on_error() {
    if (state_ == State::normal) request_again();
}

// CXL-10: after MAX_NUM_RETRY requests in vain the physical layer is trained; after
// MAX_NUM_PHY_REINIT trainings in vain the link goes down. NUM_RETRY never begins again without a
// training: an answer that is still in flight could have the same number (CXL-6).
void LocalRetry::request_again() {
    if (num_retry_ < max_num_retry_) {
        state_ = State::llrreq;
    } else if (num_phy_reinit_ < max_num_phy_reinit_) {
        state_ = State::phy_reinit;
        if (max_num_phy_reinit_ != Config::unlimited) ++num_phy_reinit_;
    } else {
        state_ = State::abort;
    }
}

// CXL-6: a TIMEOUT that is shorter than the loop gives two answers; only the last one is followed
// by the replay that counts.
LocalRetry::Answer LocalRetry::on_ack(std::uint32_t num_retry, bool empty) {
    if (state_ == State::normal) return Answer::unexpected;
    if (state_ != State::local_idle) return Answer::stale;
    if (compares_ && num_retry != num_retry_) return Answer::stale;
    state_ = State::normal;
    if (empty) num_retry_ = num_phy_reinit_ = 0;  // CXL-8
    return Answer::taken;
}

// CXL-26
void LocalRetry::on_request_sent() {
    state_ = State::local_idle;
    ++num_retry_;
}

void LocalRetry::on_timeout() {
    if (state_ == State::local_idle) request_again();
}

}  // namespace wireproof::cxl
