#include "wireproof/lab/sharing/tcp_windows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

namespace wireproof::lab {
namespace {

constexpr double no_threshold = 1e9;
constexpr double first_window = 10;
constexpr double smallest = 2;

class Reno final : public TcpWindow {
public:
    double packets() const override { return window_; }
    void on_ack(const TcpAck&) override { window_ += window_ < threshold_ ? 1.0 : 1.0 / window_; }
    void on_loss(Instant) override { threshold_ = window_ = std::max(smallest, window_ / 2); }
    void on_timeout() override {
        threshold_ = std::max(smallest, window_ / 2);
        window_ = 1;
    }

private:
    double window_ = first_window;
    double threshold_ = no_threshold;
};

class Cubic final : public TcpWindow {
public:
    double packets() const override { return window_; }

    void on_ack(const TcpAck& ack) override {
        shortest_ = std::min(shortest_, ack.rtt);
        if (window_ < threshold_) {
            window_ += 1;
            // HyStart: the round trip has grown, so the queue is not empty.
            const double margin = std::clamp(shortest_.seconds() / 8, 0.004, 0.016);
            if (ack.rtt.seconds() > shortest_.seconds() + margin) threshold_ = window_;
            return;
        }
        if (!begun_) begin(ack.now);
        const double at = (ack.now - since_ + shortest_).seconds() - plateau_;
        const double target = before_ + scale * at * at * at;
        window_ += target > window_ ? std::min((target - window_) / window_, 0.5) : 0.01 / window_;
        reno_ += additive / reno_;
        window_ = std::max(window_, reno_);
    }

    void on_loss(Instant) override {
        before_ = window_ < before_ ? window_ * (1 + beta) / 2 : window_;
        window_ = std::max(smallest, window_ * beta);
        threshold_ = window_;
        begun_ = false;
    }
    void on_timeout() override {
        on_loss({});
        window_ = 1;
    }

private:
    static constexpr double scale = 0.4;
    static constexpr double beta = 0.7;
    static constexpr double additive = 3 * (1 - beta) / (1 + beta);

    void begin(Instant now) {
        begun_ = true;
        since_ = now;
        plateau_ = window_ < before_ ? std::cbrt((before_ - window_) / scale) : 0;
        before_ = std::max(before_, window_);
        reno_ = window_;
    }

    double window_ = first_window;
    double threshold_ = no_threshold;
    double before_ = 0;   // the window at which the last loss came
    double plateau_ = 0;  // seconds from the loss until the window has this size again
    double reno_ = 0;
    bool begun_ = false;  // since the last loss
    Instant since_;
    Duration shortest_ = never - Instant();
};

class Bbr final : public TcpWindow {
public:
    double packets() const override {
        if (measures_) return 4;
        if (rates_.empty()) return first_window;
        const double gain = phase_ == Phase::steady ? 2 : start_gain;
        return std::max(4.0, gain * rates_.front().rate * shortest_.seconds());
    }
    double pace() const override { return rates_.empty() ? 0 : gain_ * rates_.front().rate; }

    void on_ack(const TcpAck& ack) override {
        learn_shortest(ack);
        learn_rate(ack);
        const double path = rates_.front().rate * shortest_.seconds();
        if (ack.now >= round_end_) {
            round_end_ = ack.now + ack.rtt;
            if (phase_ == Phase::starting) end_starting_round();
        }
        if (phase_ == Phase::draining && ack.in_flight <= path) {
            phase_ = Phase::steady;
            step_ = 2;
            step_since_ = ack.now;
            gain_ = gains[step_];
        }
        if (phase_ != Phase::steady || ack.now - step_since_ <= shortest_) return;
        if (step_ == 0 && ack.in_flight < 1.25 * path && ack.now - step_since_ < shortest_ * 3)
            return;
        step_ = (step_ + 1) % gains.size();
        step_since_ = ack.now;
        gain_ = gains[step_];
    }
    void on_loss(Instant) override {}
    void on_timeout() override {}

private:
    enum class Phase : std::uint8_t { starting, draining, steady };
    struct Rate {
        Instant at;
        double rate = 0;
    };
    static constexpr double start_gain = 2.89;
    static constexpr std::array gains = {1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    static constexpr Duration shortest_period = Duration::milliseconds(10'000);
    static constexpr Duration measure_time = Duration::milliseconds(200);

    void learn_shortest(const TcpAck& ack) {
        const bool old = ack.now - shortest_since_ > shortest_period;
        if (ack.rtt <= shortest_ || old) {
            if (old && !measures_) measures_until_ = ack.now + measure_time + ack.rtt;
            measures_ = measures_ || old;
            shortest_ = ack.rtt;
            shortest_since_ = ack.now;
        }
        if (measures_ && ack.now > measures_until_) measures_ = false;
    }
    // The highest rate of ten round trips stands first.
    void learn_rate(const TcpAck& ack) {
        while (!rates_.empty() && rates_.back().rate <= ack.rate) rates_.pop_back();
        rates_.push_back({ack.now, ack.rate});
        while (ack.now - rates_.front().at > ack.rtt * 10) rates_.pop_front();
    }
    void end_starting_round() {
        if (rates_.front().rate > full_rate_ * 1.25) {
            full_rate_ = rates_.front().rate;
            flat_rounds_ = 0;
        } else if (++flat_rounds_ >= 3) {
            phase_ = Phase::draining;
            gain_ = 1 / start_gain;
        }
    }

    Phase phase_ = Phase::starting;
    double gain_ = start_gain;
    Duration shortest_ = never - Instant();
    Instant shortest_since_;
    std::deque<Rate> rates_;
    Instant round_end_;
    double full_rate_ = 0;
    int flat_rounds_ = 0;
    std::size_t step_ = 0;
    Instant step_since_;
    bool measures_ = false;  // the shortest round trip, with nearly nothing in flight
    Instant measures_until_;
};

}  // namespace

std::string_view name_of(Tcp tcp) {
    constexpr std::array<std::string_view, 3> names = {"Reno", "CUBIC", "BBR"};
    return names[static_cast<std::size_t>(tcp)];
}

std::unique_ptr<TcpWindow> make_window(Tcp tcp) {
    if (tcp == Tcp::reno) return std::make_unique<Reno>();
    if (tcp == Tcp::cubic) return std::make_unique<Cubic>();
    return std::make_unique<Bbr>();
}

}  // namespace wireproof::lab
