// For tests: what an engine keeps when its life ends. Two ends of a link on a bad line do what a
// seed says. Then one of them begins a new life, and must have the fingerprint of a new engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/core/link_engine.hpp"

namespace wireproof {

/// Of an engine, or of a part of one.
template <class Part>
Fingerprint::Value fingerprint_at(Instant now, const Part& part) {
    Fingerprint sink;
    if constexpr (requires { part.fingerprint(now, sink); }) {
        part.fingerprint(now, sink);
    } else {
        part.fingerprint(sink);
    }
    return sink.value();
}

/// What a protocol adds to the steps that all links have.
template <LinkEngine Engine>
struct LinkSteps {
    using Step = void (*)(Engine&, Random&, Instant);

    Duration pause = Duration::microseconds(1);  // the longest between two steps without a timer
    double damage = 0.1;                         // chance that a frame arrives damaged
    bool (*may_submit)(const Engine&) = [](const Engine& engine) { return engine.has_room(); };
    Step more = [](Engine&, Random&, Instant) {};
};

/// Frames leave, arrive in order or damaged, and timers expire; the seed says when.
template <LinkEngine Engine>
class BadLine {
public:
    BadLine(const Engine& a, const Engine& b, std::uint64_t seed, const LinkSteps<Engine>& steps)
        : ends{a, b}, random(seed), steps_(steps), room_(8192) {}

    void run(std::uint64_t steps) {
        for (std::uint64_t i = 0; i < steps; ++i) step();
    }
    /// Lets time pass, without a frame.
    void pass(Duration time) {
        now = now + time;
        for (std::size_t end = 0; end < 2; ++end) expire(end);
    }

    std::array<Engine, 2> ends;
    Random random;
    Instant now{Duration::milliseconds(1)};

private:
    void step() {
        const auto end = static_cast<std::size_t>(random.below(2));
        switch (random.below(9)) {
            case 0:
            case 1: submit(ends[end]); break;
            case 2:
            case 3:
            case 4: send(end); break;
            case 5:
            case 6: receive(end); break;
            case 7: wait(); break;
            default: steps_.more(ends[end], random, now); break;
        }
        draw(end);
    }
    void submit(Engine& end) {
        for (std::uint64_t n = 1 + random.below(4); n > 0 && steps_.may_submit(end); --n) {
            std::vector<std::byte> message(
                random.below(std::min<std::size_t>(end.message_max(), 64) + 1));
            for (std::byte& byte : message) byte = static_cast<std::byte>(random.next());
            (void)end.submit(message);
        }
    }
    void send(std::size_t from) {
        for (std::uint64_t n = 1 + random.below(12); n > 0; --n) {
            TxFrame out;
            out.open(room_, {.frame_max = room_.size()});
            if (!ends[from].poll_transmit(now, out)) return;
            std::vector<std::byte> bytes(out.size());
            out.gather(bytes);
            flights_[from].push_back(std::move(bytes));
        }
    }
    void receive(std::size_t to) {
        auto& flight = flights_[1 - to];
        for (std::uint64_t n = 1 + random.below(12); n > 0 && !flight.empty(); --n) {
            const std::vector<std::byte> bytes = std::move(flight.front());
            flight.pop_front();
            const bool spoilt = random.chance(steps_.damage);
            ends[to].on_frame(
                now, {.bytes = bytes, .integrity = spoilt ? Integrity::damaged : Integrity::check});
            draw(to);
        }
    }
    void wait() {
        const Instant next = std::min(ends[0].next_deadline(), ends[1].next_deadline());
        const bool timer = next != never && next > now && random.chance(0.5);
        now = timer ? next
                    : now + Duration(static_cast<std::int64_t>(random.below(
                                static_cast<std::uint64_t>(steps_.pause.picoseconds()) + 1)));
        for (std::size_t end = 0; end < 2; ++end) expire(end);
    }
    void expire(std::size_t end) {
        if (ends[end].next_deadline() <= now) ends[end].on_deadline(now);
        draw(end);
    }
    void draw(std::size_t end) {
        while (ends[end].next_delivery()) {
        }
    }

    LinkSteps<Engine> steps_;
    std::array<std::deque<std::vector<std::byte>>, 2> flights_;  // by the end that they left
    std::vector<std::byte> room_;
};

/// For each of some seeds: the first of two ends has any history, then `ends_life` is called, and
/// `is_new(engine, now)` must hold. At least a few of these ends must have had something to forget.
template <LinkEngine Engine>
void expect_nothing_is_left(const Engine& a, const Engine& b, const LinkSteps<Engine>& steps,
                            const std::function<void(Engine&, Instant)>& ends_life,
                            const std::function<bool(const Engine&, Instant)>& is_new) {
    constexpr std::uint64_t seeds = 24;
    std::uint64_t used = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        BadLine<Engine> line(a, b, seed, steps);
        line.run(50 + line.random.below(350));
        if (!is_new(line.ends[0], line.now)) ++used;
        ends_life(line.ends[0], line.now);
        // Distances that the line asks for between two frames go on, and end now.
        line.pass(Duration::milliseconds(100));
        ASSERT_TRUE(is_new(line.ends[0], line.now)) << "seed " << seed;
    }
    EXPECT_GT(used, seeds / 2);
}

}  // namespace wireproof
