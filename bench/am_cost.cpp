// The cost of one request of 8 bytes, both ends together: engine, pump and memory wire, without
// system calls. The program prints nanoseconds. Under callgrind
//
//   valgrind --tool=callgrind --toggle-collect='*measured*' build/release/bench/am_cost 1000
//
// counts the instructions of the 32,000 messages that the program reports: 213 each on 24 November
// 2026, before the engine was divided into layers.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/wire/memory/memory_wire.hpp"

namespace wireproof::am {
namespace {

constexpr int per_turn = 32;  // requests that are posted between two polls

struct Pair {
    explicit Pair(const Config& config)
        : link({.frame_max = config.packet_max, .carries_intact = true, .carries_all = true}),
          sender(config, nothing),
          receiver(swapped(config), nothing) {}

    static Config swapped(Config config) {
        std::swap(config.node, config.peer);
        return config;
    }

    MemoryLink link;
    MemoryTable nothing;
    Connection sender;
    Connection receiver;
    Instant now{Duration::milliseconds(1)};
    long delivered = 0;
};

[[gnu::noinline]] void measured(Pair& pair, long turns) {
    const std::array<std::byte, 8> words{};
    for (long turn = 0; turn < turns; ++turn) {
        for (int i = 0; i < per_turn; ++i) {
            WIREPROOF_CHECK(pair.sender.request(HandlerId{1}, words) == PostStatus::accepted);
        }
        pump(pair.sender, pair.link.end(0), PeerId{0}, pair.now, [](const Delivery&) {});
        pump(pair.receiver, pair.link.end(1), PeerId{0}, pair.now, [&](const Delivery& delivery) {
            if (std::holds_alternative<Request>(delivery)) ++pair.delivered;
        });
    }
}

}  // namespace
}  // namespace wireproof::am

int main(int argc, char** argv) {
    using namespace wireproof::am;
    const long turns = argc > 1 ? std::atol(argv[1]) : 100'000;
    Config config = Config::ethernet();
    config.cookie = 1;
    Pair pair(config);
    measured(pair, 1);
    double best = 0;
    for (int run = 0; run < 5; ++run) {
        const auto from = std::chrono::steady_clock::now();
        const long before = pair.delivered;
        if (turns > 0) measured(pair, turns / 5);
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - from;
        const double each = took.count() / static_cast<double>(pair.delivered - before);
        if (run == 0 || each < best) best = each;
    }
    std::printf("%ld messages, %.1f ns each\n", pair.delivered, best);
}
