// A sender that always has more units, a receiver, and two lines between them. Node 0 sends. Time
// is counted in bytes on the line. A regular value: a copy of it with a copy of the faults behaves
// the same.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "wireproof/core/trace.hpp"
#include "wireproof/lab/link_retry/retry_batches.hpp"
#include "wireproof/lab/link_retry/retry_counts.hpp"
#include "wireproof/lab/link_retry/retry_ends.hpp"
#include "wireproof/lab/link_retry/retry_faults.hpp"
#include "wireproof/lab/link_retry/retry_latencies.hpp"
#include "wireproof/lab/link_retry/retry_line.hpp"

namespace wireproof::lab {

/// What a world tells of the units that the receiver takes.
struct RetryRecord {
    RetryLatencies latencies;
    RetryBatches batches;

    void keep_stretch(bool keep) {
        latencies.keep_stretch(keep);
        batches.keep_stretch(keep);
    }
};

template <RetryEnd End>
class RetryWorld {
public:
    using Line = RetryLine<End::own_max>;
    using Frame = typename Line::Frame;

    struct Config {
        RetryLineTerms forward;
        RetryLineTerms back;
        std::size_t window = 0;    // limit of units that are unacknowledged or in flight
        bool loaded_back = false;  // node 1 sends as much
    };

    RetryWorld(const Config& config, const End& sender, const End& receiver)
        : loaded_back_(config.loaded_back),
          lines_{Line(config.forward), Line(config.back)},
          ends_{sender, receiver},
          left_at_(std::bit_ceil(config.window + 2)) {}

    enum class Ended : std::uint8_t { reached, late, idle };

    /// A frame that was damaged when it left, and what had left in its direction until then.
    struct Damage {
        std::size_t direction = 0;
        std::size_t length = 0;  // bytes
        std::uint64_t frames_before = 0;
        std::uint64_t bytes_before = 0;
    };

    /// Runs until the receiver has taken `accepted` units, counted since the start of counting, or
    /// until the time `until` (in bytes), or until nothing more happens.
    Ended run(std::uint64_t accepted, RetryFaults& faults, RetryRecord& record,
              Instant until = never) {
        while (accepted_ < accepted) {
            // The receiver has its turn first: a sender that is free must know what the receiver
            // sends at once.
            const bool receiver = due_[1] <= due_[0];
            const Instant due = receiver ? due_[1] : due_[0];
            if (due >= until) return due == never ? Ended::idle : Ended::late;
            now_ = due;
            if (receiver) {
                turn<1>(faults, record);
            } else {
                turn<0>(faults, record);
            }
        }
        return Ended::reached;
    }

    /// Brings the link up without faults, and starts counting then. False: the link does not come
    /// up.
    bool start() {
        RetryFaults none({}, 0);
        RetryRecord unheard;
        const auto settled = [this] {
            return ends_[0].up() && ends_[1].up() && lines_[0].in_flight() == 0 &&
                   lines_[1].in_flight() == 0 && lines_[0].free_at() <= now_;
        };
        for (int turns = 0; !settled(); ++turns) {
            const std::size_t node = due_[1] <= due_[0] ? 1 : 0;
            if (due_[node] == never || turns == 10'000) return false;
            now_ = due_[node];
            if (node == 1) {
                turn<1>(none, unheard, false);
            } else {
                turn<0>(none, unheard, false);
            }
        }
        base_ = counts();
        due_[0] = now_;
        return true;
    }

    std::uint64_t accepted() const { return accepted_; }
    Instant now() const { return now_; }
    std::size_t kept_most() const { return kept_most_; }
    const End& end(std::size_t node) const { return ends_[node]; }
    /// The last one. It says nothing if no frame was damaged.
    const Damage& damage() const { return damage_; }

    /// The counts since the start of counting.
    RetryCounts counts() const {
        RetryCounts counts = counts_;
        const LinkStats sender = ends_[0].stats();
        const LinkStats receiver = ends_[1].stats();
        counts[RetryCount::accepted] = accepted_;
        counts[RetryCount::timeouts] = sender.timeouts;
        if constexpr (requires { End::receiver_times_out; }) {
            counts[RetryCount::timeouts] += receiver.timeouts;
        }
        counts[RetryCount::replays] = sender.replays;
        counts[RetryCount::acks] = receiver.acks;
        counts[RetryCount::naks] = receiver.naks;
        counts[RetryCount::time] = static_cast<std::uint64_t>(now_.since_start().picoseconds());
        return counts - base_;
    }

    /// Everything that determines the future until the next damage, and the counts of that future.
    void fingerprint(Fingerprint& sink) const {
        for (std::size_t node = 0; node < 2; ++node) {
            ends_[node].engine.fingerprint(now_, sink);
            lines_[node].fingerprint(now_, sink);
            sink.add_deadline(due_[node], now_);
        }
        sink.add(wasted_);
        sink.add(units_ - settled_);
        for (std::uint64_t i = settled_; i < units_; ++i) {
            sink.add_deadline(left_at(i), now_);
        }
    }

    /// Records the frames that are sent from now on, and their fates. nullptr: stops recording.
    void record(Trace* trace, Describe describe) {
        trace_ = trace;
        describe_ = describe;
    }

private:
    // A template by node, so that the compiler makes separate code for each node.
    template <std::size_t node>
    void turn(RetryFaults& faults, RetryRecord& record, bool started = true) {
        auto& engine = ends_[node].engine;
        Line& in = lines_[1 - node];
        while (in.next_arrival() <= now_) {
            const Frame& frame = in.front();
            const RxVerdict verdict = engine.on_frame(now_, frame.received());
            const std::uint64_t messages = draw(engine);
            if (trace_ != nullptr) note_received(node, frame, verdict);
            if (node == 1) {
                if (!frame.unit) {
                    if (is_in_vain(frame)) ++wasted_;
                } else if constexpr (End::order == RetryOrder::stored) {
                    judge_stored(messages, record);
                } else {
                    judge(frame, verdict, record);
                }
            }
            in.pop();
        }
        if (deadline_[node] <= now_) {
            const std::uint64_t timeouts = trace_ != nullptr ? ends_[node].stats().timeouts : 0;
            engine.on_deadline(now_);
            draw(engine);
            if (trace_ != nullptr && ends_[node].stats().timeouts != timeouts) note_timer(node);
        }
        const bool waits = send<node>(faults, started && (node == 0 || loaded_back_));
        deadline_[node] = engine.next_deadline();
        due_[node] =
            earliest(deadline_[node], in.next_arrival(), waits ? lines_[node].free_at() : never);
        due_[1 - node] = earliest(due_[1 - node], lines_[node].next_arrival());
    }

    // The number of messages that the engine delivers now. Only counted where it matters.
    static std::uint64_t draw(decltype(End::engine)& engine) {
        std::uint64_t messages = 0;
        while (const auto delivery = engine.next_delivery()) {
            if constexpr (End::order == RetryOrder::stored) {
                if (delivery->what == LinkDelivery::What::message) ++messages;
            }
        }
        return messages;
    }

    // Returns true if there may be more to send when the line is free.
    template <std::size_t node>
    bool send(RetryFaults& faults, bool fed) {
        Line& out = lines_[node];
        End& end = ends_[node];
        while (out.free_at() <= now_) {
            if (fed) end.feed();
            TxFrame& room = out.open();
            const std::uint64_t numbered = end.numbered();
            const std::uint64_t naks = counted_notices(end);
            if (!end.engine.poll_transmit(now_, room)) return false;
            depart<node>(faults, end.numbered() != numbered, counted_notices(end) != naks);
        }
        return fed || !end.quiet();
    }

    static std::uint64_t counted_notices([[maybe_unused]] const End& end) {
        if constexpr (requires { End::counts_notices; }) return end.stats().naks;
        return 0;
    }

    template <std::size_t node>
    void depart(RetryFaults& faults, bool unit, [[maybe_unused]] bool counted_notice) {
        Frame& frame = lines_[node].depart(now_, unit);
        const std::size_t length = frame.length();
        frame.damaged = faults.damages(node, length);
        if (frame.damaged) {
            damage_ = {node, length, counts_[frames_of[node]] - base_[frames_of[node]],
                       counts_[bytes_of[node]] - base_[bytes_of[node]]};
        }
        counts_[frames_of[node]] += 1;
        counts_[bytes_of[node]] += length;
        if (node == 0 && unit) count_unit(frame);
        bool lost = node == 1 && faults.loses_notices() && End::is_notice(frame.bytes());
        if constexpr (requires { End::counts_notices; }) lost = lost && counted_notice;
        lost = lost && faults.loses_notice();
        if (trace_ != nullptr) note_sent(node, frame, lost);
        if (lost) lines_[node].lose_last();
    }

    void count_unit(Frame& frame) {
        counts_[RetryCount::units] += 1;
        if (frame.resent) {
            counts_[RetryCount::resent] += 1;
            return;
        }
        frame.index = units_;
        left_at(units_++) = now_;
        const std::size_t kept_now = ends_[0].kept();
        counts_[RetryCount::kept] += kept_now;
        kept_most_ = std::max(kept_most_, kept_now);
    }

    void judge(const Frame& frame, RxVerdict verdict, RetryRecord& record) {
        const bool taken = verdict == RxVerdict::accepted || verdict == RxVerdict::held;
        if (!taken) {
            ++wasted_;
            return;
        }
        count_wasted(1, record);
        ++accepted_;
        settle(index_of(frame), record.latencies);
    }

    /// The receiver takes so many units.
    void count_wasted(std::uint64_t units, RetryRecord& record) {
        record.batches.take_in_stretch(units, wasted_);
        if (wasted_ == 0) return;
        counts_[RetryCount::wasted] += wasted_;
        counts_[RetryCount::wasted_squared] += wasted_ * wasted_;
        wasted_ = 0;
    }

    // A stored unit seems wasted until it is delivered, because the receiver may drop it again.
    void judge_stored(std::uint64_t messages, RetryRecord& record) {
        if (messages == 0) {
            ++wasted_;
            return;
        }
        wasted_ -= messages - 1;
        count_wasted(messages, record);
        accepted_ += messages;
        for (std::uint64_t i = 0; i < messages; ++i) settle(settled_, record.latencies);
    }

    static bool is_in_vain(const Frame& frame) {
        if constexpr (requires { End::is_in_vain(frame.bytes()); }) {
            return End::is_in_vain(frame.bytes());
        }
        return false;
    }

    std::uint64_t index_of(const Frame& frame) const {
        if constexpr (End::order == RetryOrder::oldest) return settled_;
        if constexpr (End::order == RetryOrder::any) {
            if (frame.resent) return ends_[1].index_of(frame.bytes(), settled_);
        }
        return frame.index;
    }

    void settle(std::uint64_t index, RetryLatencies& latencies) {
        latencies.add(now_ - left_at(index));
        if constexpr (End::order == RetryOrder::any) {
            left_at(index) = never;
            while (settled_ < units_ && left_at(settled_) == never) ++settled_;
        } else {
            settled_ = index + 1;
        }
    }

    Instant& left_at(std::uint64_t index) { return left_at_[index & (left_at_.size() - 1)]; }
    Instant left_at(std::uint64_t index) const { return left_at_[index & (left_at_.size() - 1)]; }

    void note_sent(std::size_t node, const Frame& frame, bool lost) {
        trace_->record({.time = now_,
                        .direction = Direction::sent,
                        .from = static_cast<std::uint16_t>(node),
                        .to = static_cast<std::uint16_t>(1 - node),
                        .frame = described(frame),
                        .resent = frame.resent,
                        .fate = {.lost = lost, .damaged = frame.damaged},
                        .verdict = std::nullopt});
    }
    void note_received(std::size_t node, const Frame& frame, RxVerdict verdict) {
        trace_->record({.time = now_,
                        .direction = Direction::received,
                        .from = static_cast<std::uint16_t>(1 - node),
                        .to = static_cast<std::uint16_t>(node),
                        .frame = described(frame),
                        .resent = frame.resent,
                        .fate = {},
                        .verdict = verdict});
    }
    void note_timer(std::size_t node) {
        trace_->record({.time = now_,
                        .direction = Direction::timer,
                        .from = static_cast<std::uint16_t>(node),
                        .to = static_cast<std::uint16_t>(1 - node),
                        .frame = {},
                        .resent = false,
                        .fate = {},
                        .verdict = std::nullopt});
    }
    FrameInfo described(const Frame& frame) const {
        FrameInfo info = describe_(frame.bytes());
        info.length = frame.length();
        return info;
    }

    bool loaded_back_;
    std::array<Line, 2> lines_;  // from node 0, from node 1
    std::array<End, 2> ends_;
    Instant now_;
    std::array<Instant, 2> deadline_{never, never};  // of the engines
    std::array<Instant, 2> due_{};                   // when the turns of the nodes are due

    RetryCounts counts_;
    RetryCounts base_;           // when counting began
    std::uint64_t units_ = 0;    // units that left for the first time
    std::uint64_t settled_ = 0;  // of these: all units before this one were taken, or never will be
    std::uint64_t accepted_ = 0;
    std::uint64_t wasted_ = 0;  // units since the last accepted one
    std::size_t kept_most_ = 0;
    Damage damage_;
    std::vector<Instant> left_at_;  // ring, of the units from settled_ on; never: it was taken

    Trace* trace_ = nullptr;
    Describe describe_ = describe_nothing;
};

}  // namespace wireproof::lab
