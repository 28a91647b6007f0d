// For tests: two ends on a continuous line. In each slot, each end sends one flit, which arrives
// `latency` slots later; the test decides which flits are spoilt. Each message is checked when it
// arrives.
#pragma once

#include <deque>
#include <functional>

#include "wireproof/proto/cxl/pair_test_kit.hpp"

namespace wireproof::cxl {

class Line {
public:
    /// Whether the line spoils this flit. `to_b`: it goes from A to B.
    using Spoils = std::function<bool(bool to_b, const FrameInfo&)>;

    Line(const Config& config, std::size_t latency, bool both_ways)
        : latency_(latency), both_ways_(both_ways), a_(config), b_(config) {}

    /// Both ends come up, and nothing but RETRY.Idle is under way.
    void start() {
        loads = false;
        run(20 * latency_ + 1000);
        EXPECT_EQ(a_.link.state(), Link::State::up);
        EXPECT_EQ(b_.link.state(), Link::State::up);
        loads = true;
    }
    void run(std::uint64_t slots) {
        for (std::uint64_t i = 0; i < slots; ++i) step();
    }
    /// Runs until B has `messages` messages, and A, too, if both send. Returns the slots.
    std::uint64_t run_until(std::uint64_t messages, std::uint64_t most) {
        const std::uint64_t began = slots_;
        while (slots_ - began < most &&
               (arrived_[0] < messages || (both_ways_ && arrived_[1] < messages))) {
            step();
        }
        EXPECT_GE(arrived_[0], messages);
        return slots_ - began;
    }

    End& a() { return a_; }
    End& b() { return b_; }
    std::uint64_t arrived_at_b() const { return arrived_[0]; }
    std::uint64_t slots() const { return slots_; }

    Spoils spoils = [](bool, const FrameInfo&) { return false; };
    bool loads = true;  // the ends always have messages to send

private:
    struct Flying {
        std::uint64_t arrival;
        Frame frame;
        bool spoilt;
    };

    static std::array<std::byte, 8> numbered(std::uint64_t number) {
        std::array<std::byte, 8> bytes;
        store_le<std::uint64_t>(bytes, number);
        return bytes;
    }

    void step() {
        ++slots_;
        for (const bool to_b : {true, false}) {
            auto& flying = flying_[to_b];
            while (!flying.empty() && flying.front().arrival <= slots_) {
                arrive(to_b, flying.front());
                flying.pop_front();
            }
        }
        for (const bool to_b : {true, false}) {
            End& from = to_b ? a_ : b_;
            while (loads && (to_b || both_ways_) && from.link.has_room()) {
                const auto bytes = numbered(submitted_[to_b ? 0 : 1]++);
                ASSERT_EQ(from.link.submit(bytes), SubmitStatus::accepted);
            }
            auto frame = from.poll(Instant());
            if (!frame) continue;
            const bool spoilt = spoils(to_b, describe(frame->bytes));
            flying_[to_b].push_back({slots_ + latency_, std::move(*frame), spoilt});
        }
    }

    void arrive(bool to_b, const Flying& flying) {
        End& to = to_b ? b_ : a_;
        to.got.clear();
        if (flying.spoilt) {
            to.damage(Instant());
        } else {
            // The kit decides about damage, so the CRC is checked only now and then, for speed.
            to.give(Instant(), flying.frame,
                    slots_ % 64 == 0 ? Integrity::check : Integrity::intact);
        }
        std::uint64_t& arrived = arrived_[to_b ? 0 : 1];
        for (const auto& bytes : to.got) {
            const auto expected = numbered(arrived++);
            ASSERT_EQ(bytes, std::vector(expected.begin(), expected.end()));
        }
    }

    std::size_t latency_;
    bool both_ways_;
    End a_;
    End b_;
    std::array<std::deque<Flying>, 2> flying_;
    std::array<std::uint64_t, 2> submitted_{};
    std::array<std::uint64_t, 2> arrived_{};
    std::uint64_t slots_ = 0;
};

inline Config line_config(std::uint32_t timeout, std::uint32_t depth = 200) {
    Config config;
    config.continuous = true;
    config.modulus = depth;
    config.first_number = depth - 3;
    config.timeout = timeout;
    return config;
}

}  // namespace wireproof::cxl
