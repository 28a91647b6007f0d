#include "wireproof/proto/ib/rc/flow.hpp"

#include <algorithm>

namespace wireproof::proto::ib {
namespace {

constexpr Duration rtt_most = Duration::milliseconds(60'000);  // a longer silence is no round trip
constexpr std::uint32_t doublings_max = 8;  // of the silence after which the requester asks again

}  // namespace

RcFlow::RcFlow(Congestion kind, std::uint32_t most, bool always_watches)
    : watches_(kind != Congestion::off || always_watches) {
    if (kind == Congestion::off) return;
    const std::uint32_t start = std::min(congestion::Limits().start, most);
    control_.emplace(congestion::algorithm_of(kind),
                     congestion::Limits{.start = start, .most = most});
}

std::uint32_t RcFlow::room(std::uint32_t in_flight) const {
    if (!on()) return ~std::uint32_t{0};
    if (!pacer_.open()) return 0;
    const std::uint32_t window = packets();
    if (in_flight < window) return window - in_flight;
    return awaits_answer(in_flight) ? 0 : 1;
}

std::uint32_t RcFlow::ack_every(std::uint32_t in_flight) const {
    if (!on()) return ~std::uint32_t{0};
    return in_flight + 1 >= packets() ? 1 : std::max(packets() / asks_per_window, 1U);
}

void RcFlow::left(Instant now, const Leaving& packet) {
    if (!watches()) return;
    const std::uint64_t first = oldest_ + packet.in_flight;
    most_ = std::max(most_, packet.in_flight + packet.psns);
    sent_end_ = std::max(sent_end_, first + packet.psns);
    if (packet.in_flight == 0 && !timers_.running(Timer::silence)) heard_ = now;
    if (packet.asks) {
        asked_end_ = std::max(asked_end_, first + packet.psns);
        // The first response to a Read measures the round trip.
        if (first >= doubtful_end_ && questions_used_ < questions_.size()) {
            questions_[questions_used_++] = {first + 1, now};
        }
    }
    if ((packet.asks || packet.answered) && !timers_.running(Timer::silence)) watch(now);
    if (!on()) return;
    pacer_.left(packet.psns);
    timers_.set(Timer::pace, pacer_.next(now));
}

void RcFlow::left_again(Instant now) {
    again_due_ = false;
    questions_used_ = 0;
    ++times_again_;
    timers_.set(Timer::silence, now + silence());
    if (on() && times_again_ > 1) control_->on_silence(now - heard_);
}

// A busy host adds to some round trips, so the longest recent one counts.
Duration RcFlow::silence() const {
    const Duration least = on()                        ? silence_least
                           : longest_rtt_ > Duration() ? silence_uncontrolled
                                                       : silence_unmeasured;
    const Duration wait = std::max(least, longest_rtt_ * 3);
    return wait * (std::int64_t{1} << std::min(times_again_, doublings_max));
}

/// Congestion control must know the path before it may take silence for a loss.
void RcFlow::watch(Instant now) {
    if (on() && longest_rtt_ == Duration()) return;
    timers_.set(Timer::silence, now + silence());
}

void RcFlow::arrived(std::uint32_t psns) {
    if (!watches()) return;
    arrived_ += psns;
    oldest_ += psns;
}

/// The answer measures the round trip of the last question that it answers.
void RcFlow::answered_up_to(Instant now) {
    std::size_t done = 0;
    while (done < questions_used_ && questions_[done].end <= oldest_) ++done;
    if (done == 0) return;
    const Duration rtt = std::min(now - questions_[done - 1].left, rtt_most);
    std::copy(questions_.begin() + static_cast<std::ptrdiff_t>(done),
              questions_.begin() + static_cast<std::ptrdiff_t>(questions_used_),
              questions_.begin());
    questions_used_ -= done;
    const Duration before = longest_rtt_ - Duration(longest_rtt_.picoseconds() / 8);
    longest_rtt_ = std::max(rtt, before);
    if (!on()) {
        most_ = 0;
        return;
    }
    control_->on_rtt(now, rtt);
    control_->on_arrived(now, arrived_, most_);
    arrived_ = most_ = 0;
}

void RcFlow::apply(Instant now, std::uint32_t in_flight) {
    // The requester never calls left() for a near peer.
    if (!watches() || (!on() && sent_end_ == 0)) return;
    heard_ = now;
    const bool progress = arrived_ > 0;
    answered_up_to(now);
    if (on()) {
        if (arrived_ > 0) control_->on_arrived(now, arrived_, most_);
        if (marked_ > 0) control_->on_marked(now, marked_);
        if (lost_ > 0) control_->on_lost(now, lost_);
        pacer_.allow(now, control_->burst());
    }
    arrived_ = marked_ = lost_ = 0;
    most_ = std::max(most_, in_flight);
    if (!progress) return;
    again_due_ = false;
    times_again_ = 0;
    timers_.stop(Timer::silence);
    if (in_flight > 0) watch(now);
}

void RcFlow::timed_out(Instant now) {
    if (!on()) return;
    control_->on_lost(now, 1);
    control_->on_silence(now - heard_);
}

void RcFlow::went_back(Earlier copies) {
    if (copies == Earlier::unknown) doubtful_end_ = sent_end_;
    questions_used_ = 0;
    asked_end_ = oldest_;
    again_due_ = false;
    times_again_ = 0;
    timers_.stop(Timer::silence);
}

bool RcFlow::on_deadline(Instant now) {
    if (timers_.take_expired(Timer::pace, now)) pacer_.refill(now);
    if (!timers_.take_expired(Timer::silence, now)) return false;
    again_due_ = true;
    return true;
}

void RcFlow::fingerprint(Instant now, Fingerprint& sink) const {
    if (!watches()) return;
    if (on()) {
        control_->fingerprint(now, sink);
        pacer_.fingerprint(now, sink);
    }
    timers_.fingerprint(now, sink);
    sink.add(asked_end_ > oldest_ ? asked_end_ - oldest_ : 0);
    sink.add(sent_end_ > oldest_ ? sent_end_ - oldest_ : 0);
    sink.add(doubtful_end_ > oldest_ ? doubtful_end_ - oldest_ : 0);
    sink.add(questions_used_);
    for (std::size_t i = 0; i < questions_used_; ++i) {
        sink.add(questions_[i].end - oldest_);
        sink.add(now - questions_[i].left);
    }
    sink.add(most_);
    sink.add(arrived_);
    sink.add(marked_);
    sink.add(lost_);
    sink.add(longest_rtt_);
    sink.add(now - heard_);
    sink.add(again_due_);
    sink.add(times_again_);
}

}  // namespace wireproof::proto::ib
