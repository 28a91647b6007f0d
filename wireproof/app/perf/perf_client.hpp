// The measuring end: runs the operation for slices of time, alternating with the bare limit.
#pragma once

#include <functional>
#include <vector>

#include "wireproof/app/perf/page_bytes.hpp"
#include "wireproof/app/perf/perf_ends.hpp"
#include "wireproof/app/perf/perf_limit.hpp"

namespace wireproof::app {

class PerfClient {
public:
    PerfClient(const PerfPlan& plan, PerfEnds& ends);

    /// Measures one size. Calls `progress` after each round.
    PerfRun run(std::size_t size, const std::function<void()>& progress);
    /// Asks the other end to end.
    void quit();

private:
    /// The counts that the server reports.
    struct Told {
        std::uint64_t counted = 0;
        std::uint64_t stored = 0;
        std::uint64_t cpu_nanoseconds = 0;
        std::uint64_t resent = 0;
    };

    PerfSlice slice(std::size_t size, std::size_t per_poll);
    PerfSlice request_reply(std::size_t size);
    PerfSlice take_turns(std::size_t size);
    PerfSlice stream(std::size_t size, std::size_t per_poll);
    PerfSlice store(std::size_t size);
    PerfSlice store_async(std::size_t size);
    PerfSlice get(std::size_t size);
    PerfSlice limit(std::size_t size);
    void verify(std::size_t size);
    void verify_messages(std::size_t size);

    std::vector<std::uint32_t> ask(std::uint16_t handler, const std::vector<std::uint32_t>& words);
    Told told();
    void prepare(std::size_t size);
    void fill_source(std::size_t size, std::uint64_t seed);

    bool slice_over(std::uint64_t begin, std::uint64_t now) const {
        return now - begin >= slice_ticks_;
    }
    double seconds(std::uint64_t ticks) const {
        return static_cast<double>(ticks) / ticks_per_second_;
    }

    const PerfPlan& plan_;
    PerfEnds& ends_;
    am::Node& node_;
    double ticks_per_second_;
    std::uint64_t slice_ticks_;
    PageBytes source_;
    PageBytes destination_;
    std::uint64_t address_ = 0;
    std::uint64_t counted_ = 0;  // messages that must have arrived at the server
    std::uint64_t stored_ = 0;

    std::uint64_t answers_ = 0;
    std::vector<std::uint64_t> asked_at_;  // by slot, for request-reply
    Histogram* half_rtt_ = nullptr;
    std::vector<std::uint32_t> last_answer_;
    bool keep_answer_ = false;
    std::vector<std::uint32_t> told_;
    bool was_told_ = false;
};

}  // namespace wireproof::app
