// For tests: two ends on a line with latency and rate. The test decides the fate of each frame.
#pragma once

#include <deque>
#include <functional>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ue/pair_test_kit.hpp"

namespace wireproof::ue {

enum class Fate : std::uint8_t { arrives, lost, damaged };

/// `a` sends messages to `b`, and with `both_ways` b to a.
class World {
public:
    using Decide = std::function<Fate(const Frame& frame, bool from_a)>;
    /// The same for a frame that occupies the line from `begin` to `end`, in bytes since the start.
    using DecidePlace = std::function<Fate(const Frame& frame, bool from_a, std::uint64_t begin,
                                           std::uint64_t end)>;

    World(const Config& config, Duration flight) : a(config), b(config), flight_(flight) {
        byte_time_ = config.byte_time;
    }

    void offer(std::uint32_t count) { offers_ += count; }

    /// Runs until `done` says so.
    void run_until(const std::function<bool()>& done) {
        while (!done()) {
            ASSERT_LT(++turns_, 10'000'000U);
            offer_messages(a, offered, offers_);
            if (both_ways) offer_messages(b, offered_by_b, offers_);
            send(a, to_b_, true);
            send(b, to_a_, false);
            Instant next = std::min({a.link.next_deadline(), b.link.next_deadline(),
                                     to_b_.ready(now), to_a_.ready(now)});
            if (!to_b_.frames.empty()) next = std::min(next, to_b_.frames.front().first);
            if (!to_a_.frames.empty()) next = std::min(next, to_a_.frames.front().first);
            ASSERT_NE(next, never);
            now = std::max(now, next);
            arrive(to_b_, b);
            arrive(to_a_, a);
            a.on_deadline(now);
            b.on_deadline(now);
        }
    }
    void run_until_delivered() {
        run_until([this] {
            const bool back = !both_ways || (a.got.size() == offers_ && idle(b));
            return offered == offers_ && b.got.size() == offers_ && idle(a) && back;
        });
    }
    void start() {
        run_until([this] { return is_ready(a) && is_ready(b); });
    }

    // With Behavior::discard there is room before the link is up.
    static bool is_ready(const End& end) { return end.link.up() && end.link.transmitter().runs(); }
    static bool idle(const End& end) {
        return end.link.transmitter().outstanding() + end.link.transmitter().waiting() == 0;
    }

    void expect_in_order() const {
        expect_in_order(b, offers_);
        if (both_ways) expect_in_order(a, offers_);
    }

    std::size_t size = 44;  // of a message: a frame of 64 bytes
    bool both_ways = false;
    bool poisons = false;  // each message
    bool checks = false;   // compute FCS
    Decide decide = [](const Frame&, bool) { return Fate::arrives; };
    DecidePlace decide_place;
    std::uint64_t spoilt = 0;
    std::uint64_t spoilt_ctl = 0;
    std::vector<std::string> nacks;  // that left b

    Instant now;
    End a;
    End b;
    std::uint32_t offered = 0;
    std::uint32_t offered_by_b = 0;

private:
    struct Way {
        std::deque<std::pair<Instant, std::pair<Frame, Fate>>> frames;
        Instant free;
        Instant ready(Instant at) const { return free > at ? free : never; }
    };

    static void expect_in_order(const End& end, std::uint32_t count) {
        ASSERT_EQ(end.got.size(), count);
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(end.got[i], message(end.got[i].size(), i)) << i;
        }
    }

    void offer_messages(End& end, std::uint32_t& count, std::uint32_t most) {
        while (count < most && is_ready(end) && end.link.has_room() &&
               end.link.transmitter().waiting() < 2) {
            if (poisons) end.link.poison_next();
            ASSERT_EQ(end.link.submit(message(size, count)), SubmitStatus::accepted);
            ++count;
        }
    }

    void send(End& from, Way& way, bool from_a) {
        if (way.free > now) return;
        auto frame = from.poll(now, checks);
        if (!frame) return;
        // Idle bytes follow a frame, but not a control ordered set.
        const std::size_t bytes = frame->bytes.size() + (frame->is_ctl() ? 0 : gap_size);
        way.free = now + byte_time_ * static_cast<std::int64_t>(bytes);
        if (!from_a && frame->kind() == "NACK") nacks.push_back(frame->name());
        Fate fate = decide(*frame, from_a);
        if (decide_place) {
            const auto begin = static_cast<std::uint64_t>(now.since_start().picoseconds() /
                                                          byte_time_.picoseconds());
            fate = decide_place(*frame, from_a, begin, begin + frame->bytes.size());
        }
        if (fate != Fate::arrives) ++(frame->is_ctl() ? spoilt_ctl : spoilt);
        if (fate != Fate::lost)
            way.frames.push_back({way.free + flight_, {std::move(*frame), fate}});
    }

    void arrive(Way& way, End& to) {
        while (!way.frames.empty() && way.frames.front().first <= now) {
            const auto [frame, fate] = std::move(way.frames.front().second);
            way.frames.pop_front();
            to.give(now, frame,
                    fate == Fate::damaged ? Integrity::damaged
                    : checks              ? Integrity::check
                                          : Integrity::intact);
        }
    }

    Duration flight_;
    Duration byte_time_;
    std::uint32_t offers_ = 0;
    Way to_a_;
    Way to_b_;
    std::uint64_t turns_ = 0;
};

}  // namespace wireproof::ue
