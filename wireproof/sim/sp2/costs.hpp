// What everything costs on an IBM SP with TB2 adapters, in one place. "Paper": the SC '96 paper on
// Active Messages for the SP says so. "Fitted": chosen so that the raw one-word round trip takes
// the 47 us reported for it and sending 36 full packets leaves a library some of the paper's 175
// us; no source divides those figures into parts.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::sp2 {

struct Costs {
    // The host's processor. Caches are not coherent with the adapter: an entry is flushed line by
    // line when written, and again when read.
    Duration compose_entry = Duration::nanoseconds(600);  // fitted: finding and filling an entry
    Duration compose_line = Duration::nanoseconds(750);   // fitted: write, flush 64 bytes
    Duration read_entry = Duration::nanoseconds(600);     // fitted: the poll that finds it, too
    Duration read_line = Duration::nanoseconds(300);      // fitted: flush, load 64 bytes
    Duration poll_empty = Duration::nanoseconds(400);     // fitted: a look at an empty entry
    Duration bus_access = Duration::microseconds(1);      // paper: one access to the MicroChannel

    // The adapter works as a pipeline: latency is what one packet waits for it, occupancy how soon
    // it can begin with the next. Occupancies are below the link's 6.4 us per entry, so that the
    // link is the bottleneck.
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
