// The packets of a send window that are in flight, and how many may be in flight. Acknowledgements
// arrive once per chunk or per quarter of a window. This is too seldom for congestion control. So a
// sender that counts asks for an answer, by a KEEPALIVE, after each sixteenth of the packets that
// may be in flight. These questions are few, and an answer does not release a burst of packets.
// On a long path, a Pacer spreads the packets over the round trip.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "wireproof/base/check.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/core/congestion/pacer.hpp"
#include "wireproof/proto/am/bit_window.hpp"

namespace wireproof::am {

/// Positions are those of the send window. A bundle is one packet, with the position of its first
/// message.
class PacketsInFlight {
public:
    /// For a window of this many positions. If not `counted`, any number may be in flight and no
    /// question is due.
    PacketsInFlight(std::uint32_t window, bool counted)
        : PacketsInFlight(BitWindow(window), counted) {}
    PacketsInFlight(BitWindow blank, bool counted)
        : counted_(counted), first_of_packet_(std::move(blank)) {}

    /// Only while no packet is in flight. Takes other bits, all 0, and gives back its own.
    void exchange(BitWindow& blank) {
        WIREPROOF_CHECK(count_ == 0);
        std::swap(first_of_packet_, blank);
    }

    bool counted() const { return counted_; }
    bool seldom() const { return seldom_; }
    /// `seldom`: the sender asks only when its window is closed.
    void begin_counting(bool seldom) {
        counted_ = true;
        seldom_ = seldom;
    }
    void end_counting() {
        clear();
        counted_ = seldom_ = false;
        allow(unlimited);
    }
    /// While true, no packet may leave for the first time, even if packets are not counted.
    void hold_new(bool held) {
        if (held == held_) return;
        held_ = held;
        limit();
    }
    bool holds_new() const { return held_; }
    /// Not only the window limits which packets may leave.
    bool steered() const { return counted_ || held_; }
    /// No packet may leave for the first time: the limit is reached, or new packets are held, or
    /// the pacer has no room.
    bool closed() const { return count_ >= limit_; }
    /// No packet may be resent.
    bool full() const { return count_ >= allowed_; }
    /// The sender must now ask the peer what has arrived.
    bool wants_answer() const { return wants_answer_; }
    std::uint32_t count() const { return count_; }

    void allow(std::uint32_t packets) {
        allowed_ = packets;
        limit();
    }

    // Pacing.

    /// After each answer of the peer: how much may leave in what time.
    void pace(Instant now, congestion::Burst burst) {
        pacer_.allow(now, burst);
        limit();
    }
    /// After packets left. Returns when refill() is due; never: the pacer has room.
    Instant next_refill(Instant now) {
        const Instant due = pacer_.next(now);
        limit();
        return due;
    }
    void refill(Instant now) {
        pacer_.refill(now);
        limit();
    }

    void left(std::uint64_t first, std::uint32_t messages) {
        for (std::uint64_t at = first + 1; at < first + messages; ++at) (void)take(at);
        if (!first_of_packet_.test(first)) ++count_;
        first_of_packet_.set(first);
        most_ = std::max(most_, count_);
        ++since_asked_;
        pacer_.left(1);
        limit();
    }
    void lost(std::uint64_t position) { heard_.lost += take(position) ? 1U : 0U; }
    void arrived(std::uint64_t position) { heard_.arrived += take(position) ? 1U : 0U; }
    void arrived(std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t at = first; count_ > 0 && at < end; ++at) arrived(at);
    }

    /// A question leaves, after all packets before `position`. Its answer names no later position.
    /// So of several questions without a new packet between them, only the first measures the round
    /// trip.
    void asked(Instant now, std::uint64_t position) {
        since_asked_ = 0;
        wants_answer_ = false;
        awaited_ = true;
        if (position <= asked_up_to_) return;
        asked_up_to_ = position;
        if (questions_ < question_.size()) question_[questions_++] = {position, now};
    }
    /// A NACK arrived. Its cause left after all packets before `position`. Returns the round trip
    /// time if the NACK answers a question.
    std::optional<Duration> answered(Instant now, std::uint64_t position) {
        awaited_ = false;
        std::optional<Duration> rtt;
        std::size_t done = 0;
        for (; done < questions_ && question_[done].position <= position; ++done) {
            if (question_[done].position == position) rtt = now - question_[done].left;
        }
        std::copy(question_.begin() + static_cast<std::ptrdiff_t>(done),
                  question_.begin() + static_cast<std::ptrdiff_t>(questions_), question_.begin());
        questions_ -= done;
        return rtt;
    }
    /// The sender asks again, because a timer expired. A question that already names the packets
    /// before `position` measures no round trip: its answer could be to the new question. The other
    /// questions still do, which matters if the round trip is longer than the timer.
    void ask_again(std::uint64_t position) {
        awaited_ = false;
        while (questions_ > 0 && question_[questions_ - 1].position >= position) --questions_;
    }

    /// Packets that arrived or were lost, as far as the sender has learned since the last call.
    struct Heard {
        std::uint32_t arrived = 0;
        std::uint32_t lost = 0;
    };
    Heard take_heard() {
        const Heard heard = heard_;
        heard_ = {};
        return heard;
    }
    /// The largest number in flight since begin_most().
    std::uint32_t most() const { return most_; }
    void begin_most() { most_ = count_; }

    void clear() {
        first_of_packet_.clear_all();
        count_ = most_ = since_asked_ = 0;
        pacer_ = {};
        wants_answer_ = false;
        asked_up_to_ = 0;
        ask_again(0);
        heard_ = {};
    }

    void fingerprint(Instant now, std::uint64_t una, Fingerprint& sink) const {
        sink.add(held_);
        if (!counted_) return;
        first_of_packet_.fingerprint(una, sink);
        sink.add(seldom_);
        sink.add(allowed_);
        sink.add(most_);
        sink.add(since_asked_);
        sink.add(wants_answer_);
        sink.add(awaited_);
        pacer_.fingerprint(now, sink);
        sink.add(asked_up_to_ > una ? asked_up_to_ - una : 0);
        sink.add(heard_.arrived);
        sink.add(heard_.lost);
        sink.add(questions_);
        for (std::size_t i = 0; i < questions_; ++i) {
            sink.add(question_[i].position > una ? question_[i].position - una : 0);
            sink.add(now - question_[i].left);
        }
    }

private:
    struct Question {
        std::uint64_t position = 0;
        Instant left;
    };

    bool take(std::uint64_t position) {
        if (!counted_ || !first_of_packet_.test(position)) return false;
        first_of_packet_.clear(position);
        --count_;
        return true;
    }
    void limit() {
        limit_ = held_ || !pacer_.open() ? 0 : allowed_;
        look();
    }
    // If the window is closed, a question must be on its way. While new packets are held, the timer
    // asks after each resend.
    void look() {
        if (!counted_ || held_) {
            wants_answer_ = false;
            return;
        }
        const bool enough = !seldom_ &&
                            since_asked_ >= std::max(allowed_ < 4 ? 1U : 2U, allowed_ / 16) &&
                            count_ >= allowed_ - allowed_ / 2;
        wants_answer_ = enough || (full() && since_asked_ > 0 && !awaited_);
    }

    bool counted_;
    static constexpr std::uint32_t unlimited = ~std::uint32_t{0};
    bool seldom_ = false;
    bool held_ = false;
    std::uint32_t allowed_ = unlimited;
    std::uint32_t limit_ = unlimited;  // the limit for new packets
    std::uint32_t count_ = 0;
    std::uint32_t most_ = 0;
    std::uint32_t since_asked_ = 0;  // packets that left since the last question
    bool wants_answer_ = false;
    bool awaited_ = false;  // an answer is on its way
    std::uint64_t asked_up_to_ = 0;
    std::array<Question, 32> question_{};  // without an answer yet, the oldest first
    std::size_t questions_ = 0;
    Heard heard_;
    congestion::Pacer pacer_;
    BitWindow first_of_packet_;
};

}  // namespace wireproof::am
