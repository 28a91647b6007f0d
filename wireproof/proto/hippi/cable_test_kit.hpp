// For tests: two links on two cables with latency, in simulated time. Each cable carries one
// micropacket after the other, and the test decides the fate of each frame. Each message is checked
// when it arrives.
#pragma once

#include <deque>

#include "wireproof/proto/hippi/pair_test_kit.hpp"

namespace wireproof::hippi::test {

enum class Fate : std::uint8_t { arrives, lost, damaged };

class Cables {
public:
    /// `to_b`: the frame goes from A to B.
    using Plan = std::function<Fate(bool to_b, const FrameInfo&)>;

    explicit Cables(const Config& config, LinkFigures figures = {})
        : pair(config), figures_(figures) {}

    /// Lets time pass in steps of one micropacket.
    void run(std::uint64_t micropackets) {
        for (std::uint64_t i = 0; i < micropackets; ++i) step();
    }
    /// Runs until `done`, for at most `most` steps.
    bool run_until(const std::function<bool()>& done, std::uint64_t most) {
        for (std::uint64_t i = 0; i < most && !done(); ++i) step();
        return done();
    }

    Plan plan = [](bool, const FrameInfo&) { return Fate::arrives; };
    std::function<void()> before_each_step = [] {};
    Pair pair;

private:
    struct Flying {
        Instant arrival;
        Frame frame;
        Fate fate = Fate::arrives;
    };

    void step() {
        before_each_step();
        pair.wait(figures_.micropacket);
        for (const bool to_b : {true, false}) {
            End& to = to_b ? pair.b : pair.a;
            for (auto& flying = cables_[to_b]; !flying.empty(); flying.pop_front()) {
                const Flying& first = flying.front();
                if (first.arrival > pair.now) break;
                if (first.fate == Fate::arrives) pair.give(to, first.frame);
                if (first.fate == Fate::damaged) pair.damage(to, first.frame);
            }
        }
        for (const bool to_b : {true, false}) {
            End& from = to_b ? pair.a : pair.b;
            for (Frame& frame : pair.take(from, 1)) {
                const Fate fate = plan(to_b, describe(frame.bytes));
                cables_[to_b].push_back({pair.now + figures_.one_way, std::move(frame), fate});
            }
        }
    }

    LinkFigures figures_;
    std::array<std::deque<Flying>, 2> cables_;
};

}  // namespace wireproof::hippi::test
