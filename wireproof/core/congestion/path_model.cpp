#include "wireproof/core/congestion/path_model.hpp"

#include <algorithm>
#include <bit>

namespace wireproof::congestion {
namespace {

// Simulations showed which of these figures are good (bench/simulated_sharing).
constexpr Duration lowest_period = Duration::milliseconds(5'000);
constexpr Duration rate_period = Duration::milliseconds(10);  // and at least so many rounds:
constexpr std::uint32_t rate_rounds = 5;
constexpr std::uint32_t flat_rounds_most = 3;
constexpr std::uint32_t probe_rounds = 12;    // from one probe to the next
constexpr std::uint32_t watched_rounds = 48;  // of these, if so many are high, the flow competes:
constexpr int high_rounds = 26;
// After a competition, the others may come back: of the last so many rounds so many are enough.
constexpr std::uint32_t again_within_rounds = 512;
constexpr std::uint32_t again_watched_rounds = 16;
constexpr int again_high_rounds = 8;
// The others keep a deep queue if the round trip is so many times as long as the shortest one.
// Their windows grew to this size at once when they began, so this flow must not take minutes.
constexpr std::int64_t deep_queue = 4;
constexpr std::uint32_t compete_rounds = 128;  // from one look at the queue to the next
constexpr std::uint32_t look_rounds = 2;
constexpr std::uint32_t low_rounds_enough = 64;
// A busy host adds up to this to a round trip, and it says nothing about the path.
constexpr Duration host_noise = Duration::microseconds(150);
constexpr Duration host_batch = Duration::microseconds(500);

Duration fraction(Duration whole, std::int64_t dividend, std::int64_t divisor) {
    return Duration(whole.picoseconds() / divisor * dividend);
}

std::uint32_t square_root(std::uint64_t value) {
    std::uint64_t root = 0;
    for (std::uint64_t bit = std::uint64_t{1} << 31; bit > 0; bit /= 2) {
        if ((root + bit) * (root + bit) <= value) root += bit;
    }
    return static_cast<std::uint32_t>(root);
}

}  // namespace

void PathModel::on_arrived(Instant now, std::uint32_t packets, std::uint32_t most_in_flight) {
    round_.arrived += packets;
    if (most_in_flight * 2 <= packets_) return;
    round_.limited = true;
    if (phase_ == Phase::starting) {
        packets_ = std::min(packets_ + packets, limits_.most);
    } else if (phase_ == Phase::competing && !looks_) {
        growth_->on_arrived(now, packets, recent_, recent_ > lowest() * deep_queue);
        packets_ = growth_->packets();
    } else if (phase_ == Phase::steady && packets_ < target_) {
        packets_ = std::min(packets_ + packets, target_);
    }
}

void PathModel::on_lost(Instant now, std::uint32_t packets) {
    round_.lost += packets;
    if (!is_measured()) {
        halve();
    } else if (phase_ == Phase::starting && is_high(recent_)) {
        become_steady();
    } else {
        give_way(now);
    }
}

// The queue is longer than a router wants it to be.
void PathModel::on_marked(Instant now, std::uint32_t /*packets*/) {
    round_.marked = true;
    if (!is_measured()) {
        halve();
    } else if (phase_ == Phase::starting) {
        become_steady();
    } else {
        give_way(now);
    }
}

// To flows that compete.
void PathModel::give_way(Instant now) {
    if (phase_ != Phase::competing || looks_) return;
    growth_->on_lost(now, recent_);
    packets_ = growth_->packets();
}

// The receiver's host is the bottleneck, and it says so.
void PathModel::on_overrun(Instant /*now*/, std::uint32_t packets) {
    round_.lost += packets;
    halve();
    if (is_measured()) become_steady();
}

void PathModel::on_rtt(Instant now, Duration rtt) {
    const bool first = !is_measured();
    if (first || now - lowest_since_ >= lowest_period) {
        lowest_since_ = now;
        lowest_ = {unmeasured, lowest_[0]};
    }
    lowest_[0] = std::min(lowest_[0], rtt);
    recent_ = first ? rtt : recent_ + fraction(rtt - recent_, 1, 4);
    if (first) {
        round_ = {.since = now};
        rates_since_ = now;
        return;
    }
    round_.shortest = std::min(round_.shortest, rtt);
    // The question of this answer left after the round began.
    if (now - round_.since >= rtt && now > round_.since) end_round(now);
}

void PathModel::on_silence(Duration silence) {
    const Duration timeout = is_measured() ? recent_ * 2 : first_timeout;
    if (silence < timeout || packets_ == 1) return;
    *this = PathModel({.start = 1, .most = limits_.most});
}

void PathModel::end_round(Instant now) {
    const Round round = round_;
    round_ = {.since = now};
    learn_rate(now, round);
    ++rounds_;
    if (phase_ == Phase::starting) {
        end_starting_round(round, is_high(round) || is_heavy(round));
    } else if (phase_ == Phase::steady) {
        end_steady_round(now, round);
    } else {
        end_competing_round(round);
    }
}

// A round in which the flow had little to send says nothing about the path, unless the path
// delivered more than before. If a probe makes the queue longer, what the path delivers more is
// taken from other flows.
void PathModel::learn_rate(Instant now, const Round& round) {
    constexpr std::uint64_t per_1000_seconds = 1'000'000'000'000;  // nanoseconds
    const auto nanoseconds = static_cast<std::uint64_t>((now - round.since).nanoseconds());
    std::uint64_t delivered =
        round.arrived * per_1000_seconds / std::max<std::uint64_t>(nanoseconds, 1);
    const bool probed = phase_ == Phase::steady && rounds_ % probe_rounds <= 1;
    if (probed && is_high(round)) delivered = std::min(delivered, rate());
    if (round.limited && rate_rounds_ >= rate_rounds && now - rates_since_ >= rate_period) {
        rates_ = {0, rates_[0]};
        rates_since_ = now;
        rate_rounds_ = 0;
    }
    ++rate_rounds_;
    if (round.limited || delivered > rate()) rates_[0] = std::max(rates_[0], delivered);
}

void PathModel::end_starting_round(const Round& round, bool ends) {
    if (!round.limited) return;
    if (rate() > rate_before_ + rate_before_ / 4) {
        rate_before_ = rate();
        flat_rounds_ = 0;
    } else {
        ++flat_rounds_;
    }
    if (ends || flat_rounds_ >= flat_rounds_most) become_steady();
}

void PathModel::end_steady_round(Instant now, const Round& round) {
    constexpr std::uint64_t watched = (std::uint64_t{1} << watched_rounds) - 1;
    highs_ = (highs_ << 1 | (is_high(round) ? 1U : 0U)) & watched;
    constexpr std::uint64_t last = (std::uint64_t{1} << again_watched_rounds) - 1;
    const bool again = competed_ && rounds_ < again_within_rounds &&
                       std::popcount(highs_ & last) >= again_high_rounds;
    if (std::popcount(highs_) >= high_rounds || again) {
        phase_ = Phase::competing;
        growth_.emplace(now, packets_, limits_.most);
        rounds_ = low_rounds_ = 0;
        looks_ = false;
        return;
    }
    if (is_heavy(round)) return halve();
    if (round.marked) {
        packets_ = target_ = std::max(least, in_time(lowest()));
        return;
    }
    target_ = window_of_model();
    if (rounds_ % probe_rounds == 0) {
        target_ = std::min(target_ + in_time(lowest()) / 4, limits_.most);
    } else if (rounds_ % probe_rounds == 1) {
        target_ = std::max(least, in_time(lowest()) / 2);
    }
    // More than that would be a burst.
    constexpr std::uint32_t step = 3;
    if (target_ <= packets_ + packets_ / step) packets_ = target_;
}

void PathModel::end_competing_round(const Round& round) {
    const bool low = !round.marked && is_low(round.shortest);
    low_rounds_ = low ? low_rounds_ + 1 : 0;
    if (low_rounds_ >= low_rounds_enough) return become_steady();
    if (!looks_) {
        if (rounds_ < compete_rounds) return;
        looks_ = true;
        rounds_ = 0;
        packets_ = std::clamp(in_time(lowest()), least, limits_.most);
        return;
    }
    if (!is_high(round)) return become_steady();
    if (rounds_ < look_rounds) return;
    looks_ = false;
    rounds_ = 0;
    packets_ = growth_->packets();
}

void PathModel::become_steady() {
    competed_ = phase_ == Phase::competing;
    phase_ = Phase::steady;
    growth_.reset();
    looks_ = false;
    rounds_ = low_rounds_ = 0;
    highs_ = 0;
    packets_ = target_ = window_of_model();
}

void PathModel::halve() {
    packets_ = target_ = std::max(least, packets_ / 2);
    for (std::uint64_t& each : rates_) each /= 2;
}

std::uint32_t PathModel::in_time(Duration time) const {
    if (time >= Duration::milliseconds(10'000)) time = Duration::milliseconds(10'000);
    constexpr std::uint64_t part_of_second = 10'000'000;  // 100 ns each, so that 64 bits suffice
    const auto parts = static_cast<std::uint64_t>(time.nanoseconds() / 100);
    const std::uint64_t in_1000 = std::min<std::uint64_t>(rate(), 10'000'000'000) * parts;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(in_1000 / part_of_second / 1'000, limits_.most));
}

std::uint32_t PathModel::in_queue() const {
    const std::uint32_t by_rate = square_root(rate() / 1'000) / 5;
    const std::uint32_t most = in_time(lowest() + host_batch) / 4;
    // If this number grew with the rate of a small flow, any shares of two flows would be stable.
    constexpr std::uint32_t small_flow = 4;
    return std::max(small_flow, std::min(by_rate, most));
}

Duration PathModel::own_queue() const {
    if (rate() == 0) return {};
    return Duration::nanoseconds(
        static_cast<std::int64_t>(in_queue() * std::uint64_t{1'000'000'000'000} / rate()));
}

std::uint32_t PathModel::window_of_model() const {
    return std::clamp(in_time(lowest()) + in_queue(), least, limits_.most);
}

bool PathModel::is_high(Duration rtt) const {
    return rtt > lowest() + fraction(lowest(), 1, 8) + fraction(own_queue(), 4, 5) + host_noise;
}

bool PathModel::is_low(Duration rtt) const {
    return rtt <= lowest() + fraction(lowest(), 1, 8) + own_queue() + host_noise;
}

// More than a quarter: no path loses so many at random, and the flow must not go on like this.
bool PathModel::is_heavy(const Round& round) {
    return round.lost >= 4 && round.lost * 3 > round.arrived;
}

void PathModel::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(packets_);
    sink.add(phase_);
    sink.add(is_measured() ? now - round_.since : Duration());
    sink.add(round_.arrived);
    sink.add(round_.lost);
    sink.add(round_.shortest);
    sink.add(round_.limited);
    sink.add(round_.marked);
    sink.add(rounds_);
    sink.add(recent_);
    for (const Duration lowest : lowest_) sink.add(lowest);
    sink.add(is_measured() ? std::min(now - lowest_since_, lowest_period) : Duration());
    for (const std::uint64_t rate : rates_) sink.add(rate);
    sink.add(is_measured() ? std::min(now - rates_since_, rate_period) : Duration());
    sink.add(rate_rounds_);
    sink.add(rate_before_);
    sink.add(flat_rounds_);
    sink.add(highs_);
    sink.add(competed_);
    sink.add(target_);
    sink.add(looks_);
    sink.add(low_rounds_);
    sink.add(growth_.has_value());
    if (growth_) growth_->fingerprint(now, sink);
}

}  // namespace wireproof::congestion
