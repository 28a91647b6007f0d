// The costs of a message of SP Active Messages on shared memory, layer by layer:
//
//      cmake --preset release -DWIREPROOF_BENCH=ON
//      cmake --build --preset release --target am_path
//      build/release/bench/am_path engine [TURNS]         engine and pump, without a system call
//      build/release/bench/am_path software [COUNT]       two nodes on shared memory in one thread
//      build/release/bench/am_path round-trip [SLICES]    the same, with a processor for each
//      build/release/bench/am_path shm                    the wire alone, between two processes
//
// The file of each mode says what it measures.
#include <charconv>
#include <cstdio>
#include <string_view>

#include "bench/am_path/am_path.hpp"

namespace {

struct Mode {
    std::string_view name;
    void (*run)(long count);
    long usual;  // 0: without a count
};

constexpr Mode modes[] = {{"engine", wireproof::am::measure_engine, 100'000},
                          {"software", wireproof::am::measure_software, 1'000'000},
                          {"round-trip", wireproof::am::measure_round_trip, 500},
                          {"shm", wireproof::measure_shm, 0}};

}  // namespace

int main(int argc, char** argv) {
    for (const Mode& mode : modes) {
        if (argc < 2 || mode.name != argv[1] || argc > (mode.usual == 0 ? 2 : 3)) continue;
        long count = mode.usual;
        if (argc == 3) {
            const std::string_view text = argv[2];
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), count);
            if (error != std::errc() || end != text.data() + text.size() || count < 5) break;
        }
        mode.run(count);
        return 0;
    }
    std::fprintf(
        stderr,
        "usage: am_path engine|software|round-trip [COUNT], COUNT at least 5, or am_path shm\n");
    return 2;
}
