#include "wireproof/core/congestion/loss_window.hpp"

#include <algorithm>

namespace wireproof::congestion {
namespace {

// A busy host may add this much to a round trip. It says nothing about the path.
constexpr Duration host_delay = Duration::microseconds(50);
constexpr Duration period = Duration::milliseconds(5'000);  // the lowest round trip is per period
// Stands for the round trip if none is measured.
constexpr Duration unmeasured_rtt = Duration::milliseconds(1);

Duration part(Duration whole, std::int64_t divisor) {
    return Duration(whole.picoseconds() / divisor);
}

}  // namespace

void LossWindow::on_arrived(Instant /*now*/, std::uint32_t packets, std::uint32_t most_in_flight) {
    if (most_in_flight * 2 <= packets_) return;
    if (is_starting()) {
        packets_ = std::min(packets_ + packets, limits_.most);
        return;
    }
    credit_ += packets;
    while (credit_ >= packets_) {
        credit_ -= packets_;
        packets_ = std::min(packets_ + 1, limits_.most);
    }
}

void LossWindow::on_lost(Instant now, std::uint32_t packets) {
    lose(now, packets, false);
}

// RFC 3168: a mark stands for a loss by a full queue.
void LossWindow::on_marked(Instant now, std::uint32_t packets) {
    lose(now, packets, true);
}

void LossWindow::on_overrun(Instant now, std::uint32_t packets) {
    lose(now, packets, true);
}

void LossWindow::lose(Instant now, std::uint32_t packets, bool queue_full) {
    const Duration rtt = recent_ == Duration() ? unmeasured_rtt : recent_;
    if (!losing_ || now - losing_since_ >= rtt + part(rtt, 2)) {
        losing_ = true;
        losing_since_ = now;
        before_losing_ = packets_;
        lost_ = 0;
    }
    lost_ += packets;
    const bool starting = is_starting();
    const std::uint32_t floor = std::max(least, before_losing_ / 2);
    const bool full = queue_full || rtt_has_grown() || lost_ * 4 > before_losing_;
    if (full) {
        packets_ = std::min(packets_, floor);
    } else if (packets_ > floor) {
        packets_ -= std::min(packets, packets_ - floor);
    }
    if (full || !starting) threshold_ = std::min(threshold_, packets_);
}

void LossWindow::on_rtt(Instant now, Duration rtt) {
    const bool first = recent_ == Duration();
    if (first || now - period_since_ >= period) {
        period_since_ = now;
        lowest_before_ = lowest_;
        lowest_ = unmeasured;
    }
    lowest_ = std::min(lowest_, rtt);
    recent_ = recent_ == Duration() ? rtt : recent_ + part(rtt - recent_, 4);
    if (is_starting() && rtt_has_grown()) threshold_ = packets_;
}

void LossWindow::on_silence(Duration silence) {
    const Duration timeout = recent_ == Duration() ? first_timeout : recent_ * 2;
    if (silence < timeout || packets_ == 1) return;
    threshold_ = std::max(least, packets_ / 2);
    packets_ = 1;
    credit_ = 0;
}

bool LossWindow::rtt_has_grown() const {
    if (recent_ == Duration()) return false;
    return recent_ > lowest() + part(lowest(), 8) + host_delay;
}

void LossWindow::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(packets_);
    sink.add(threshold_);
    sink.add(credit_);
    sink.add(recent_);
    sink.add(lowest_);
    sink.add(lowest_before_);
    // Before the first measurement there is no period. A period that has reached its full length
    // ends at the next measurement, however long that takes.
    sink.add(recent_ == Duration() ? Duration() : std::min(now - period_since_, period));
    sink.add(losing_);
    if (!losing_) return;
    const Duration most = std::max(recent_, unmeasured_rtt) * 2;
    sink.add(std::min(now - losing_since_, most));  // beyond this, the age has no effect
    sink.add(before_losing_);
    sink.add(lost_);
}

}  // namespace wireproof::congestion
