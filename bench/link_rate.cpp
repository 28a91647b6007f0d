// How many frames one core simulates per second: a saturated PCIe link, TLPs of 4096 bytes, bit
// errors at 1e-7, no trace. It counts TLPs and DLLPs that enter either cable, also those that are
// lost.
//
//      cmake --preset release -DWIREPROOF_BENCH=ON
//      cmake --build --preset release --target link_rate
//      build/release/bench/link_rate
#include <benchmark/benchmark.h>

#include <vector>

#include "wireproof/lab/common/link_pair.hpp"
#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::lab {
namespace {

void pcie_link(benchmark::State& state) {
    const pcie::LinkRate rate{pcie::Speed::gen3, 16};
    pcie::Config config = pcie::Config::of_link(rate);
    config.payload_lent = true;
    config.ack_after = 1;
    sim::NetworkConfig network;
    network.frame_max = 4096 + pcie::tlp_overhead;
    network.bytes_per_second = rate.bytes_per_second();
    network.latency = Duration::nanoseconds(50);
    network.lend_payload = true;
    network.one_at_a_time = true;
    network.faults.bit_error = 1e-7;
    network.seed = 1;
    network.describe = pcie::describe;
    LinkPair<pcie::Link> pair(network, pcie::Link(config));
    const std::vector<std::byte> payload(4096);

    std::uint64_t messages = 0;
    const auto deliver = [&](std::size_t, const LinkDelivery& delivery) {
        messages += delivery.what == LinkDelivery::What::message ? 1 : 0;
    };
    const auto feed = [&](std::size_t node) {
        if (node == 0) {
            while (pair.end(0).has_room()) (void)pair.end(0).submit(payload);
        }
        return never;
    };
    for (auto _ : state) {
        const std::uint64_t wanted = messages + 100'000;
        pair.run(deliver, feed, [&] { return messages >= wanted; });
    }
    const double frames = static_cast<double>(pair.network().totals().frames);
    state.counters["frames/s"] = benchmark::Counter(frames, benchmark::Counter::kIsRate);
    state.counters["resent"] = static_cast<double>(pair.end(0).stats().resent);
    state.counters["frames per TLP"] = frames / static_cast<double>(messages);
}

BENCHMARK(pcie_link)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wireproof::lab
