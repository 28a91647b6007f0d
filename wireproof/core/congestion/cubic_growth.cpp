#include "wireproof/core/congestion/cubic_growth.hpp"

#include <algorithm>

namespace wireproof::congestion {
namespace {

// RFC 9438, C = 0.4 packets per second cubed. The window after a loss is 3/4 of the one before;
// the standard has 0.7. In the simulations of lab/sharing, a flow with 0.7 gets less than a fair
// share beside CUBIC, since it also loses while it looks whether the queue has become empty.
constexpr std::int64_t milliseconds_cubed = 1'000'000'000;  // in a second cubed
constexpr std::int64_t farthest = 100'000;                  // milliseconds from the plateau
constexpr std::int64_t nanoseconds_in_millisecond = 1'000'000;

std::int64_t cube(std::int64_t value) {
    return value * value * value;
}

// The largest number whose cube is at most `value`.
std::int64_t cube_root(std::int64_t value) {
    std::int64_t root = 0;
    for (std::int64_t bit = std::int64_t{1} << 19; bit > 0; bit /= 2) {
        if (cube(root + bit) <= value) root += bit;
    }
    return root;
}

}  // namespace

CubicGrowth::CubicGrowth(Instant now, std::uint32_t packets, std::uint32_t most)
    : most_(most * one),
      window_(std::max(least, packets * one)),
      reno_(window_),
      before_(window_),
      since_(now) {}

// C (t - K)^3 + W_max, in which K is the time of the plateau.
std::uint64_t CubicGrowth::cubic(Duration since_loss) const {
    const std::int64_t passed = since_loss.nanoseconds() / nanoseconds_in_millisecond;
    const std::int64_t away = std::clamp(passed - plateau_, -farthest, farthest);
    const std::int64_t grown =
        cube(away) / (milliseconds_cubed / static_cast<std::int64_t>(one)) * 4 / 10;
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(static_cast<std::int64_t>(before_) + grown, least));
}

void CubicGrowth::on_arrived(Instant now, std::uint32_t packets, Duration rtt, bool fast) {
    const std::uint64_t arrived = packets * one;
    if (fast && !lost_) {  // as at the start of a flow, but slower
        window_ = reno_ = before_ = std::min(window_ + arrived / 8, most_);
        since_ = now;
        return;
    }
    const std::uint64_t target = std::min(cubic(now - since_ + rtt), most_);
    // At most by half of what arrived, so that a long pause makes no burst.
    if (target > window_) {
        window_ += std::min((target - window_) * arrived / window_, arrived / 2);
    }
    // RFC 9438: Reno's additive increase that fits a decrease to 0.75 is 3/7 of a packet.
    reno_ += arrived * one * 3 / 7 / reno_;
    window_ = std::min(std::max(window_, reno_), most_);
}

void CubicGrowth::on_lost(Instant now, Duration rtt) {
    if (lost_ && now - since_ <= rtt) return;
    lost_ = true;
    // Fast convergence: a flow that shrinks leaves room for one that grows.
    before_ = window_ < before_ ? window_ * 7 / 8 : window_;
    window_ = std::max(least, window_ * 3 / 4);
    reno_ = window_;
    const std::uint64_t lost = before_ > window_ ? before_ - window_ : 0;
    plateau_ = cube_root(static_cast<std::int64_t>(lost * 10 / 4) *
                         (milliseconds_cubed / static_cast<std::int64_t>(one)));
    since_ = now;
}

void CubicGrowth::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(lost_);
    sink.add(window_);
    sink.add(reno_);
    sink.add(before_);
    sink.add(plateau_);
    sink.add(now - since_);
}

}  // namespace wireproof::congestion
