// The cost of a single request of 8 bytes with its reply, and of a store of 64 bytes in one copy
// with its note. The two nodes share memory in one thread, so no cache line moves between
// processors and all of the cost is software. The program prints nanoseconds. Under callgrind
//
//   cd build/release/bench
//   valgrind --tool=callgrind --toggle-collect='*round_trips*' ./am_path software 10000
//
// counts the instructions of the 10,000 round trips that the program reports. '*stores_sent*' and
// '*notes_received*' count those of the two sides of the 10,000 stores. On 24 November 2026, before
// the engine was divided into layers, the counts were 2,020, 880 and 1,270.
#include <array>
#include <cstdio>

#include "bench/am_path/am_path.hpp"
#include "bench/am_path/two_nodes.hpp"

namespace wireproof::am {
namespace {

constexpr std::uint16_t ask = 1;
constexpr std::uint16_t answer = 2;
constexpr std::uint16_t stored = 3;
constexpr std::uint64_t address = 4096;

struct Pair {
    explicit Pair(std::pair<ShmWire, ShmWire> wires)
        : asking(host::AnyWire(std::move(wires.first)), config_of(0), 2),
          asked(host::AnyWire(std::move(wires.second)), config_of(1), 2) {
        asked.handle(ask, [this](const Message& message) {
            WIREPROOF_CHECK(asked.reply(answer, message.words().bytes()) == Status::ok);
        });
        asking.handle(answer, [this](const Message& message) { sum += message.words()[0]; });
        asked.handle(stored, [this](const Message&) { ++sum; });
        const auto memory = asked.wire().allocate_shared(4096);
        WIREPROOF_CHECK(memory &&
                        asked.register_memory(0, address, *memory, {.get = true, .store = true}));
        meet();
    }
    /// After one store has found the handler, later stores need not wait.
    void meet() {
        bool found = false;
        const std::array<std::byte, 64> bytes{};
        WIREPROOF_CHECK(asking.store_async(1, address, bytes, stored, 0, [&](Status status) {
            found = status == Status::ok;
        }) == Status::ok);
        for (int i = 0; i < 1000 && !found; ++i) {
            now = now + Duration::microseconds(100);
            asking.poll(now);
            asked.poll(now);
        }
        WIREPROOF_CHECK(found);
    }

    Node asking;
    Node asked;
    Instant now{Duration::milliseconds(1)};
    std::uint64_t sum = 0;
};

[[gnu::noinline]] void round_trips(Pair& pair, long messages) {
    std::array<std::uint32_t, 2> words{1, 7};
    for (long i = 0; i < messages; ++i) {
        const std::uint64_t before = pair.sum;
        pair.now = pair.now + Duration::nanoseconds(100);
        WIREPROOF_CHECK(pair.asking.ask(1, ask, std::as_bytes(std::span(words)),
                                        [&] { return pair.now; }) == Status::ok);
        while (pair.sum == before) {
            pair.asking.poll(pair.now);
            pair.asked.poll(pair.now);
        }
    }
}

// Sends a store as Endpoint::store does.
[[gnu::noinline]] void stores_sent(Pair& pair, ConstBytes bytes) {
    WIREPROOF_CHECK(pair.asking.store_at_once(1, address, bytes, stored, 0) == Status::ok);
    if (pair.asking.wants_turn()) {
        pair.asking.poll(pair.now);
    } else {
        pair.asking.push(pair.now);
    }
}

[[gnu::noinline]] void notes_received(Pair& pair, std::uint64_t before) {
    while (pair.sum == before) pair.asked.poll(pair.now);
}

void stores(Pair& pair, long count) {
    const std::array<std::byte, 64> bytes{};
    for (long i = 0; i < count; ++i) {
        const std::uint64_t before = pair.sum;
        pair.now = pair.now + Duration::nanoseconds(100);
        stores_sent(pair, bytes);
        notes_received(pair, before);
    }
}

void report(const char* what, Pair& pair, void (&measured)(Pair&, long), long count) {
    measured(pair, 1);
    const double best = best_of_five([&] { measured(pair, count / 5); });
    std::printf("%ld %s, %.1f ns each\n", count / 5 * 5, what,
                best / static_cast<double>(count / 5));
}

}  // namespace

void measure_software(long count) {
    Pair pair(open_wires());
    report("round trips", pair, round_trips, count);
    report("stores", pair, stores, count);
}

}  // namespace wireproof::am
