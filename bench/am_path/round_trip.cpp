// Measures half a round trip of a single message of 8 bytes between two nodes on shared memory,
// each on a processor of its own, and the same for a bare cache line. A host may move a guest's
// processors while the program runs. Therefore the measurement consists of slices of 3 ms. Each
// slice of ours is between two slices of the line. If these two differ by a quarter, the slice is
// not counted. The others are sorted by the time of the line: threads of one core, cores of one
// cache, or farther apart. The results are means without the values above twice the median. To
// compare two builds, run them in turns. The time "over" the line is software: each nanosecond of
// it is a nanosecond of every message.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "bench/am_path/am_path.hpp"
#include "bench/am_path/two_nodes.hpp"

#include "wireproof/host/spin_clock.hpp"

namespace wireproof::am {
namespace {

constexpr std::uint16_t ask = 1;
constexpr std::uint16_t answer = 2;
constexpr double slice_seconds = 0.003;
constexpr int burst = 32;  // between two readings of the counter, about 10 ns each
constexpr int warm = 4;    // bursts at the start of a slice that are not counted

enum class Now { ours, line, end };

struct alignas(128) Line {
    std::atomic<std::uint64_t> word{0};
    std::uint64_t data = 0;
};

/// Memory of both threads.
struct Shared {
    Line there;
    Line back;
    alignas(128) std::atomic<Now> now{Now::line};
};

/// Ticks of complete bursts, from one request to the next.
class Samples {
public:
    void add(std::uint64_t ticks) {
        if (++seen_ > warm) ++counts_[std::min<std::uint64_t>(ticks, counts_.size() - 1)];
    }
    double mean_half(double nanoseconds_a_tick) const {
        std::uint64_t all = 0;
        for (const std::uint64_t count : counts_) all += count;
        std::size_t median = 0;
        for (std::uint64_t below = counts_[0]; below * 2 < all; below += counts_[median]) ++median;
        double sum = 0;
        double counted = 0;
        for (std::size_t i = 0; i < std::min(2 * median, counts_.size()); ++i) {
            sum += static_cast<double>(i) * static_cast<double>(counts_[i]);
            counted += static_cast<double>(counts_[i]);
        }
        return counted > 0 ? sum / counted * nanoseconds_a_tick / (2 * burst) : 0;
    }

private:
    int seen_ = 0;
    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(200'000);
};

void serve(Shared& shared, ShmWire wire) {
    pin(1);
    Node node(host::AnyWire(std::move(wire)), config_of(1), 2);
    node.handle(ask, [&node](const Message& m) { (void)node.reply(answer, m.words().bytes()); });
    host::SpinClock clock;
    std::uint64_t last = 0;
    for (Now now = Now::line; now != Now::end; now = shared.now.load(std::memory_order_relaxed)) {
        bool busy = true;
        for (int i = 0; i < 64 && now == Now::ours; ++i) {
            busy = node.poll(busy ? clock.now() : clock.again()) > 0;
        }
        for (int i = 0; i < 64 && now == Now::line; ++i) {
            if (shared.there.word.load(std::memory_order_acquire) != last + 1) continue;
            shared.back.data = shared.there.data;
            shared.back.word.store(++last, std::memory_order_release);
        }
    }
}

class Asker {
public:
    Asker(Shared& shared, ShmWire wire)
        : shared_(shared), node_(host::AnyWire(std::move(wire)), config_of(0), 2) {
        node_.handle(answer, [this](const Message&) { ++answers_; });
        const auto from = std::chrono::steady_clock::now();
        const std::uint64_t ticks = host::ticks();
        while (std::chrono::steady_clock::now() - from < std::chrono::milliseconds(50)) {
        }
        tick_ = 50e6 / static_cast<double>(host::ticks() - ticks);
    }

    double ours() {
        Samples samples;
        shared_.now = Now::ours;
        std::array<std::uint32_t, 2> words{1, 7};
        const std::uint64_t begin = host::ticks();
        for (std::uint64_t before = begin; before - begin < slice();) {
            for (int i = 0; i < burst; ++i) {
                const std::uint64_t wanted = answers_ + 1;
                ++words[0];
                const Status status = node_.ask(1, ask, std::as_bytes(std::span(words)),
                                                [this] { return clock_.now(); });
                WIREPROOF_CHECK(status == Status::ok);
                bool busy = true;
                while (answers_ < wanted) {
                    busy = node_.poll(busy ? clock_.now() : clock_.again()) > 0;
                }
            }
            const std::uint64_t now = host::ticks();
            samples.add(now - before);
            before = now;
        }
        return samples.mean_half(tick_);
    }

    double line() {
        Samples samples;
        shared_.now = Now::line;
        const std::uint64_t begin = host::ticks();
        for (std::uint64_t before = begin; before - begin < slice();) {
            for (int i = 0; i < burst; ++i) {
                shared_.there.data = ++asked_;
                shared_.there.word.store(asked_, std::memory_order_release);
                while (shared_.back.word.load(std::memory_order_acquire) != asked_) {
                }
            }
            const std::uint64_t now = host::ticks();
            samples.add(now - before);
            before = now;
        }
        return samples.mean_half(tick_);
    }

private:
    std::uint64_t slice() const { return static_cast<std::uint64_t>(slice_seconds * 1e9 / tick_); }

    Shared& shared_;
    Node node_;
    host::SpinClock clock_;
    double tick_ = 1;
    std::uint64_t answers_ = 0;
    std::uint64_t asked_ = 0;
};

struct Slice {
    double ours = 0;
    double line = 0;
};

template <class Of>
double median(const std::vector<Slice>& slices, Of&& of) {
    std::vector<double> values;
    for (const Slice& slice : slices) values.push_back(of(slice));
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void report(const char* where, const std::vector<Slice>& slices) {
    if (slices.empty()) return;
    std::printf("%-20s %5zu %9.1f %9.1f %9.1f %8.2f\n", where, slices.size(),
                median(slices, [](const Slice& s) { return s.ours; }),
                median(slices, [](const Slice& s) { return s.line; }),
                median(slices, [](const Slice& s) { return s.ours - s.line; }),
                median(slices, [](const Slice& s) { return s.ours / s.line; }));
}

}  // namespace

void measure_round_trip(long count) {
    auto wires = open_wires();
    Shared shared;
    std::thread server(serve, std::ref(shared), std::move(wires.second));
    pin(0);
    Asker asker(shared, std::move(wires.first));
    std::array<std::vector<Slice>, 3> slices;
    for (long i = 0; i < count; ++i) {
        const double before = asker.line();
        const double ours = asker.ours();
        const double behind = asker.line();
        if (std::max(before, behind) > 1.25 * std::min(before, behind)) continue;
        const double line = (before + behind) / 2;
        slices[line < 50 ? 0 : line < 120 ? 1 : 2].push_back({ours, line});
    }
    shared.now = Now::end;
    server.join();
    std::printf("%-20s %5s %9s %9s %9s %8s\n", "", "of", "ours, ns", "line, ns", "over, ns",
                "ratio");
    report("threads of a core", slices[0]);
    report("close", slices[1]);
    report("apart", slices[2]);
}

}  // namespace wireproof::am
