// One bottleneck that several flows share: a cable with a rate and a queue. The cable back has no
// limit. Each frame begins with the number of the node that it goes to. In flow i, node 2i sends
// and node 2i + 1 answers.
#pragma once

#include <memory>
#include <vector>

#include "wireproof/sim/cable.hpp"

namespace wireproof::lab {

class SharedLink;

class LinkFlow {
public:
    virtual ~LinkFlow() = default;
    virtual void on_data(Instant now, const RxFrame& frame) = 0;
    virtual void on_answer(Instant now, const RxFrame& frame) = 0;
    /// Does all work that is due and sends all frames that may leave.
    virtual void turn(Instant now, SharedLink& link) = 0;
    virtual Instant next_deadline() const = 0;
    /// Bytes that have arrived, without headers.
    virtual std::uint64_t arrived() const = 0;
};

class SharedLink {
public:
    struct Config {
        std::uint64_t bytes_per_second = 12'500'000;  // 100 Mbit/s
        Duration round_trip = Duration::milliseconds(4);
        std::size_t queue = 50'000;  // bytes; the default is one round trip
        double loss = 0;             // share of the frames lost in the bottleneck
        /// Bytes in the queue above which the bottleneck marks frames (ECN). 0: it marks none. The
        /// models of TCP ignore marks.
        std::size_t mark_above = 0;
    };

    explicit SharedLink(const Config& config)
        : there_(cable_of(config, true), 1, 0, 1), back_(cable_of(config, false), 2, 1, 0) {}

    LinkFlow& add(std::unique_ptr<LinkFlow> flow, Instant start) {
        flows_.push_back({std::move(flow), start});
        return *flows_.back().flow;
    }

    /// The bottleneck: from the senders to the receivers.
    sim::Cable& there() { return there_; }
    sim::Cable& back() { return back_; }
    Instant now() const { return now_; }
    /// Bytes in the queue of the bottleneck.
    double queued() const { return there_.queued(now_); }

    void run_until(Instant end) {
        while (true) {
            const Instant next = next_event();
            if (next > end) break;
            now_ = std::max(now_, next);
            deliver(there_, &LinkFlow::on_data);
            deliver(back_, &LinkFlow::on_answer);
            for (Place& place : flows_) {
                if (place.start > now_ || due(place) > now_) continue;
                place.touched = false;
                place.begun = true;
                place.flow->turn(now_, *this);
            }
        }
        now_ = end;
    }

    /// Runs until `end`. Returns the rate of each flow in this time, in bytes per second.
    std::vector<double> rates_until(Instant end) {
        const double seconds = (end - now_).seconds();
        std::vector<double> rates;
        for (const Place& place : flows_)
            rates.push_back(-static_cast<double>(place.flow->arrived()));
        run_until(end);
        for (std::size_t i = 0; i < flows_.size(); ++i) {
            rates[i] = (rates[i] + static_cast<double>(flows_[i].flow->arrived())) / seconds;
        }
        return rates;
    }

private:
    struct Place {
        std::unique_ptr<LinkFlow> flow;
        Instant start;
        bool begun = false;
        bool touched = false;
    };

    static sim::CableConfig cable_of(const Config& config, bool is_bottleneck) {
        sim::CableConfig cable;
        cable.latency = Duration(config.round_trip.picoseconds() / 2);
        cable.bytes_per_second = is_bottleneck ? config.bytes_per_second : 0;
        cable.queue_max = is_bottleneck ? config.queue : 0;
        cable.mark_above = is_bottleneck ? config.mark_above : 0;
        cable.in_flight_max = 1 << 16;  // the queue of a long and fast path
        if (is_bottleneck) cable.faults.loss = config.loss;
        // Without jitter, a sender that sends one packet for each answer would always find the free
        // place that its last packet has left in the queue. The jitter is about two packets long,
        // so that few answers overtake others.
        const double packet = 1'500 / static_cast<double>(config.bytes_per_second);
        if (!is_bottleneck) cable.jitter = Duration::from_seconds(1.7 * packet);
        return cable;
    }

    Instant due(const Place& place) const {
        if (!place.begun) return place.start;
        return place.touched ? now_ : place.flow->next_deadline();
    }

    Instant next_event() const {
        Instant next = earliest(there_.next_arrival(), back_.next_arrival());
        for (const Place& place : flows_) next = earliest(next, due(place));
        return next;
    }

    void deliver(sim::Cable& cable, void (LinkFlow::*take)(Instant, const RxFrame&)) {
        while (const auto frame = cable.take(now_)) {
            const std::size_t to = load_le<std::uint16_t>(frame->bytes.first<2>());
            ((*flows_[to / 2].flow).*take)(now_, *frame);
            flows_[to / 2].touched = true;
        }
    }

    sim::Cable there_;
    sim::Cable back_;
    std::vector<Place> flows_;
    Instant now_;
};

}  // namespace wireproof::lab
