// The costs of all operations on an IBM SP with TB2 adapters. "Paper": the SC '96 paper on Active
// Messages for the SP gives the value. "Fitted": we chose the value so that the raw one-word round
// trip takes the reported 47 us, and so that of the paper's 175 us to send 36 full packets some
// time is left for a library. No source divides these figures into parts.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::sp2 {

struct Costs {
    // The host's processor. Its caches are not coherent with the adapter: the host flushes an entry
    // line by line when it writes the entry, and again when it reads one.
    Duration compose_entry = Duration::nanoseconds(600);  // fitted: finding and filling an entry
    Duration compose_line = Duration::nanoseconds(750);   // fitted: write, flush 64 bytes
    Duration read_entry = Duration::nanoseconds(600);     // fitted: includes the poll that finds it
    Duration read_line = Duration::nanoseconds(300);      // fitted: flush, load 64 bytes
    Duration poll_empty = Duration::nanoseconds(400);     // fitted: a look at an empty entry
    Duration bus_access = Duration::microseconds(1);      // paper: one access to the MicroChannel

    // The adapter works as a pipeline. Latency is the time that one packet takes in it; occupancy
    // is the time until it can begin with the next packet. Occupancies are below the link's 6.4 us
    // per entry, so that the link is the bottleneck.
    Duration send_occupancy = Duration::nanoseconds(5'000);  // fitted: see the slot, fetch by DMA
    Duration send_latency = Duration::nanoseconds(9'200);    // fitted: length store to link
    Duration receive_occupancy = Duration::nanoseconds(5'000);  // fitted: store by DMA
    Duration receive_latency = Duration::nanoseconds(9'632);    // fitted: link to receive FIFO

    std::uint64_t link_bytes_per_second = 40'000'000;      // paper: close to 40 MB/s
    Duration switch_latency = Duration::nanoseconds(500);  // paper: about 0.5 us

    Duration on_link(std::size_t bytes) const {
        return Duration(
            static_cast<std::int64_t>(bytes * 1'000'000'000'000 / link_bytes_per_second));
    }
    Duration compose(std::size_t bytes) const {
        return compose_entry + compose_line * lines(bytes);
    }
    Duration read(std::size_t bytes) const { return read_entry + read_line * lines(bytes); }

private:
    static constexpr std::size_t cache_line = 64;  // paper: a thin node's data cache

    static std::int64_t lines(std::size_t bytes) {
        return static_cast<std::int64_t>((bytes + cache_line - 1) / cache_line);
    }
};

}  // namespace wireproof::sp2
