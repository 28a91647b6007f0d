// Decides whether the program polls again soon, so that the keeper may rest. The polls of such a
// program receive the packets that arrive. A program that waits for its memory to change, that
// computes, or that sleeps until an event comes, needs the keeper.
//
// The keeper's thread takes a processor from the program each time it wakes: on a virtual machine
// for up to 30 us. So the keeper wakes seldom while the program polls all the time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/spin_budget.hpp"

namespace wireproof::verbs {

/// All calls but those that say otherwise are made under the lock of the turns.
class PollHabit {
public:
    /// If the next call comes later than this after a poll that found a completion, it is late.
    static constexpr Duration soon = Duration::microseconds(2);
    /// After this many calls that come soon, one after the other, the program is expected to come
    /// back. If it comes back fewer than `worth` times and then does not, the number doubles, up to
    /// the largest. If it comes back more often, the rests of the keeper were worth it, and the
    /// number is the least again.
    static constexpr int trusted_after = 16;
    static constexpr int trusted_after_most = 16'384;
    static constexpr int worth = 128;
    /// How long the keeper rests: a sixteenth of the time since it last had to work, within these
    /// limits. So the program seldom waits for a keeper that rests.
    static constexpr Duration rest_least = Duration::microseconds(100);
    static constexpr Duration rest_most = Duration::microseconds(1000);

    /// The program posts work or polls.
    void called(Instant now) {
        if (found_ && comes_back_) {
            came_back_ = std::min(came_back_ + 1, worth);
        } else if (found_) {
            soon_in_a_row_ = now - found_at_ < soon ? soon_in_a_row_ + 1 : 0;
            comes_back_ = soon_in_a_row_ >= trusted_after_;
        }
        found_ = false;
    }
    void polled(Instant now) {
        called(now);
        polled_at_.store(now, std::memory_order_relaxed);
    }
    /// The poll that ends now found a completion.
    void found(Instant now) {
        found_ = true;
        found_at_ = now;
    }
    /// The program asks for an event, so it is about to sleep.
    void sleeps() { distrust(); }
    /// The keeper did the work, because the program does not poll now. It received packets or not.
    void keeper_worked(Instant now, bool received) {
        if (is_polling(now)) return;  // it means nothing that the keeper was faster
        worked_at_.store(now, std::memory_order_relaxed);
        if (!received || !found_ || !comes_back_) return;
        trusted_after_ =
            came_back_ == worth ? trusted_after : std::min(trusted_after_ * 2, trusted_after_most);
        distrust();
    }

    /// A thread of the program is about to sleep in a poll, until a packet arrives, but not longer
    /// than until `end`.
    void naps(Instant end) {
        nap_ends_.store(std::max(end, nap_ends_.load()));
        nappers_.fetch_add(1);
    }
    /// The thread is awake again. It does not hold the lock.
    void awakes() { nappers_.fetch_sub(1); }
    bool anyone_naps() const { return nappers_.load() > 0; }

    bool comes_back() const { return comes_back_; }
    /// True if the program polls and is expected to go on, or if a thread of it sleeps in a poll.
    /// Then the keeper leaves the work to it. A keeper that listened beside a thread that sleeps
    /// would wake with it for each packet. The keeper asks this without the lock: it may have
    /// interrupted the thread that holds the lock.
    bool keeper_rests(Instant now) const {
        // A thread that should be awake may have no processor, or a signal may have ended its
        // sleep.
        const bool naps = anyone_naps() && now < nap_ends_.load() + rest_least;
        return naps || (comes_back_ && is_polling(now));
    }
    /// The keeper has woken. True: it rests again, until the time that `plan` receives.
    template <class Plan>
    bool keeper_rests_again(Instant now, Plan&& plan) const {
        if (!keeper_rests(now)) return false;
        plan(now + rest(now));
        // Meanwhile the program may be about to sleep, and may have seen that the keeper listens.
        return keeper_rests(now);
    }
    Duration rest(Instant now) const {
        const Duration alone = now - worked_at_.load(std::memory_order_relaxed);
        return std::clamp(Duration(alone.picoseconds() / 16), rest_least, rest_most);
    }
    /// How long after a call of the program the keeper does what is due. A rest is shorter, so
    /// calls need not wake a keeper that rests.
    Duration patience(Instant now) const { return rest(now) + rest_least; }
    Instant polled_at() const { return polled_at_.load(std::memory_order_relaxed); }

private:
    /// True if the last poll was a moment ago.
    bool is_polling(Instant now) const { return now - polled_at() < host::SpinBudget::most; }
    void distrust() {
        comes_back_ = false;
        soon_in_a_row_ = came_back_ = 0;
    }

    std::atomic<Instant> polled_at_{Instant()};
    std::atomic<Instant> worked_at_{Instant()};
    std::atomic<bool> comes_back_ = true;
    std::atomic<std::uint32_t> nappers_ = 0;
    std::atomic<Instant> nap_ends_{Instant()};  // of all naps so far
    Instant found_at_{};
    bool found_ = false;     // the last call was a poll that found a completion
    int soon_in_a_row_ = 0;  // since a call was late, or the keeper had to work
    int trusted_after_ = trusted_after;
    int came_back_ = 0;  // since the program is trusted; counted up to `worth`
};

}  // namespace wireproof::verbs
