// What it costs to publish counters: a stream of requests of 8 bytes between two Endpoints of one
// thread, on shared memory and on UDP. Two pairs of Endpoints take turns of 10 ms in random order,
// so both meet the same noise of the machine; the time is processor time of the thread. In each
// round the pairs are opened anew, because a pair may be faster than another only by the place of
// its memory. First, one pair publishes. Then, as a control, none does: that ratio shows the noise.
// The program prints the nanoseconds of a request (medians of the rounds) and their ratio. Last, it
// prints what a copy costs an Endpoint with 1,000 peers.
//
//      cmake --preset release -DWIREPROOF_BENCH=ON
//      cmake --build --preset release --target counters_cost
//      build/release/bench/counters_cost [rounds]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof::am {
namespace {

constexpr std::uint16_t handler = 1;

double processor_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

class Stream {
public:
    /// An empty name: on UDP.
    Stream(const std::string& name, bool publish)
        : sender_(open(name, 0, publish)), receiver_(open(name, 1, publish)) {
        if (name.empty() && !sender_.set_peer_address(1, receiver_.local_address())) std::abort();
        receiver_.handle(handler, [this](const Message&) { ++arrived_; });
    }

    /// The nanoseconds of a request during a turn.
    double turn() {
        constexpr std::array<std::uint32_t, 2> words = {1, 2};
        constexpr double length = 10e6;
        const std::uint64_t before = arrived_;
        const double begin = processor_ns();
        double now = begin;
        for (; now - begin < length; now = processor_ns()) {
            for (int i = 0; i < 64; ++i) {
                for (int n = 0; n < 32; ++n) {
                    if (sender_.request(1, handler, words) != Status::ok) break;
                }
                sender_.poll();
                receiver_.poll();
            }
        }
        return (now - begin) / static_cast<double>(std::max<std::uint64_t>(arrived_ - before, 1));
    }

private:
    Endpoint open(const std::string& name, std::size_t self, bool publish) const {
        Options options;
        options.self = self;
        options.publish_counters = publish;
        options.peers = {name, name};
        if (name.empty()) {
            options.peers[self] = "127.0.0.1:0";
            if (self == 1) options.peers[0] = sender_.local_address();
        }
        auto opened = Endpoint::open(options);
        if (!opened) {
            std::fprintf(stderr, "counters_cost: %s\n", opened.error().c_str());
            std::exit(1);
        }
        return std::move(*opened);
    }

    Endpoint sender_;
    Endpoint receiver_;
    std::uint64_t arrived_ = 0;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// One round: the median of a request's time while counters are published (or, as a control, are
/// not), and while they are not.
std::pair<double, double> round(bool on_shm, bool publish, Random& random) {
    static int pairs = 0;
    const auto name = [&] { return on_shm ? "shm:counters-cost-" + std::to_string(++pairs) : ""; };
    std::optional<Stream> tried;
    std::optional<Stream> plain;
    const bool first = random.below(2) == 0;
    if (first) tried.emplace(name(), publish);
    plain.emplace(name(), false);
    if (!first) tried.emplace(name(), publish);
    std::vector<double> with;
    std::vector<double> without;
    constexpr int turns = 30;
    constexpr int warm = 4;
    for (int i = 0; i < turns + warm; ++i) {
        const bool begins = random.below(2) == 0;
        double with_ns = begins ? tried->turn() : 0;
        const double without_ns = plain->turn();
        if (!begins) with_ns = tried->turn();
        if (i < warm) continue;
        with.push_back(with_ns);
        without.push_back(without_ns);
    }
    return {median(with), median(without)};
}

void measure(const char* what, bool on_shm, int rounds) {
    Random random(1);
    for (const bool publish : {true, false}) {
        std::vector<double> with;
        std::vector<double> without;
        std::vector<double> ratios;
        for (int i = 0; i < rounds; ++i) {
            const auto [tried, plain] = round(on_shm, publish, random);
            with.push_back(tried);
            without.push_back(plain);
            ratios.push_back(tried / plain);
        }
        std::sort(ratios.begin(), ratios.end());
        std::printf("%s, %s: %.2f ns against %.2f ns; ratio %.4f (quartiles %.4f, %.4f)\n", what,
                    publish ? "published" : "control", median(with), median(without),
                    median(ratios), ratios[ratios.size() / 4], ratios[ratios.size() * 3 / 4]);
    }
}

/// An Endpoint that has begun to send to peers that do not exist: 127.1.0.0/16 is this host.
Endpoint open_with_peers(std::size_t peers, bool publish) {
    Options options;
    options.publish_counters = publish;
    options.active_peers = peers;
    options.peers = {"127.0.0.1:0"};
    for (std::size_t i = 0; i < peers; ++i) {
        options.peers.push_back("127.1." + std::to_string(i / 250) + "." +
                                std::to_string(i % 250 + 1) + ":9");
    }
    auto opened = Endpoint::open(options);
    if (!opened) std::abort();
    for (std::size_t peer = 1; peer <= peers; ++peer) {
        if (opened->request(peer, handler) != Status::ok) std::abort();
    }
    return std::move(*opened);
}

/// The microseconds of a poll that finds the counters of its peers in no cache; the median of 25.
double cold_poll_us(Endpoint& endpoint) {
    static std::vector<unsigned char> other(64 << 20);
    std::vector<double> us;
    for (int i = 0; i < 25; ++i) {
        const timespec pause{0, 60'000'000};
        ::nanosleep(&pause, nullptr);
        for (std::size_t at = 0; at < other.size(); at += 64) ++other[at];
        const double begin = processor_ns();
        endpoint.poll();
        us.push_back((processor_ns() - begin) / 1000);
    }
    return median(us);
}

void measure_rows(std::size_t peers) {
    Endpoint on = open_with_peers(peers, true);
    Endpoint off = open_with_peers(peers, false);
    // After some seconds there are few attempts to begin a session.
    on.wait({}, std::chrono::milliseconds(3500));
    off.wait({}, std::chrono::milliseconds(100));
    const double with_us = cold_poll_us(on);
    const double without_us = cold_poll_us(off);
    std::printf("%zu peers, cold caches: a poll that copies %.1f us, one that does not %.1f us\n",
                peers, with_us, without_us);
}

}  // namespace
}  // namespace wireproof::am

int main(int argc, char** argv) {
    const int rounds = std::max(3, argc > 1 ? std::atoi(argv[1]) : 40);
    wireproof::am::measure("shared memory", true, rounds);
    wireproof::am::measure("UDP", false, rounds);
    wireproof::am::measure_rows(1000);
}
