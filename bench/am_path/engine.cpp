// The cost of one request of 8 bytes and of one packet of a store, both ends together: engine, pump
// and memory wire, without system calls. Unless the wire promises intact bytes, both ends compute
// the CRC-32C of every packet. On a guest with 2 CPUs of an AMD EPYC at 2.6 GHz (g++ 12, release
// preset, CPU time of a busy machine), a request of 8 bytes takes 196 ns (155 intact), and a packet
// of 1424 bytes takes 540 ns (230 intact).
//
//   valgrind --tool=callgrind --toggle-collect='*bare_requests*' build/release/bench/am_path engine
//   1000
//
// counts the instructions of requests on a wire that also carries all frames, 32 for each turn: 213
// each on 24 November 2026, before the engine was divided into layers.
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "bench/am_path/am_path.hpp"

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/wire/memory/memory_wire.hpp"

namespace wireproof::am {
namespace {

constexpr long per_turn = 32;  // requests that are posted between two polls, as a caller does

/// Two engines on a memory link. Their time stands still.
class Pair {
public:
    static constexpr std::uint64_t base = 0x1000;
    static constexpr std::size_t size = 1 << 20;

    explicit Pair(const MemoryLink::Config& link) : link_(link) {
        Config config = Config::ethernet();
        config.cookie = 1;
        engines_.emplace_back(config, nothing_);
        std::swap(config.node, config.peer);
        engines_.emplace_back(config, table_);
        WIREPROOF_CHECK(table_.add(base, memory_, {.read = false, .write = true}));
    }

    Connection& sender() { return engines_[0]; }

    /// Polls each end once and counts the deliveries of the receiver.
    void turn() {
        pump(engines_[0], link_.end(0), PeerId{0}, now_, [](const Delivery&) {});
        pump(engines_[1], link_.end(1), PeerId{0}, now_, [this](const Delivery&) { ++delivered_; });
    }
    long delivered() const { return delivered_; }

private:
    MemoryLink link_;
    MemoryTable nothing_;
    MemoryTable table_;
    std::vector<std::byte> memory_ = std::vector<std::byte>(size);
    std::vector<Connection> engines_;
    Instant now_{Duration::milliseconds(1)};
    long delivered_ = 0;
};

void requests(Pair& pair, long turns) {
    const std::array<std::byte, 8> words{};
    for (long turn = 0; turn < turns; ++turn) {
        for (long i = 0; i < per_turn; ++i) {
            WIREPROOF_CHECK(pair.sender().request(HandlerId{1}, words) == PostStatus::accepted);
        }
        pair.turn();
    }
}

[[gnu::noinline]] void bare_requests(Pair& pair, long turns) {
    requests(pair, turns);
}

void store(Pair& pair, ConstBytes source) {
    const long before = pair.delivered();
    WIREPROOF_CHECK(pair.sender().store({Pair::base, source, HandlerId{1}, 0, 0}) ==
                    PostStatus::accepted);
    while (pair.delivered() == before) pair.turn();
}

void report_requests(const char* of, const MemoryLink::Config& link, void (&run)(Pair&, long),
                     long turns) {
    Pair pair(link);
    requests(pair, 1);
    const long before = pair.delivered();
    const double best = best_of_five([&] { run(pair, turns); });
    const long messages = 5 * turns * per_turn;
    WIREPROOF_CHECK(pair.delivered() == before + messages);
    std::printf("%ld requests of 8 bytes, %s: %.1f ns each\n", messages, of,
                best / static_cast<double>(turns * per_turn));
}

void report_packets(const char* of, bool intact, long stores) {
    Pair pair({.carries_intact = intact});
    const std::vector<std::byte> source(Pair::size);
    store(pair, source);
    const double best = best_of_five([&] {
        for (long i = 0; i < stores; ++i) store(pair, source);
    });
    const std::size_t data = Config::ethernet().data_max();
    const auto packets = static_cast<double>((Pair::size + data - 1) / data);
    std::printf("packets of %zu bytes of a store, %s: %.1f ns each\n", data, of,
                best / static_cast<double>(stores) / packets);
}

}  // namespace

void measure_engine(long turns) {
    const long each = turns / 5;
    report_requests(
        "on a wire that carries all frames",
        {.frame_max = Config::ethernet().packet_max, .carries_intact = true, .carries_all = true},
        bare_requests, each);
    report_requests("intact", {.carries_intact = true}, requests, each);
    report_requests("with a check", {.carries_intact = false}, requests, each);
    const long stores = each / 100 + 1;
    report_packets("intact", true, stores);
    report_packets("with a check", false, stores);
}

}  // namespace wireproof::am
