// The measuring end: runs each operation for slices of time, alternating with the bare wire.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "wireproof/app/perf/perf_ends.hpp"
#include "wireproof/app/perf/perf_ib.hpp"
#include "wireproof/app/perf/perf_ib_server.hpp"
#include "wireproof/app/perf/perf_process.hpp"

namespace wireproof::app {

class PerfIbClient {
public:
    /// Opens both ends and forks the answering process. Throws Failure.
    explicit PerfIbClient(const PerfPlan& plan);

    /// Measures one operation. Calls `progress` after each round. Throws Failure and Interrupted.
    PerfIbRun run(PerfIbOp op, std::size_t size, const std::function<void()>& progress);
    /// Asks the other end to end, and waits for that.
    void quit();

private:
    struct Measured {
        PerfSlice slice;
        PerfIbRun::Tally tally = {};
    };

    PerfIbBoard::Told ask(PerfIbBoard::Command command);
    PerfIbBoard::Told begin(PerfIbBoard::Answers answers, std::size_t size);
    Measured measured(PerfIbBoard::Answers answers, std::size_t size,
                      const std::function<void(Measured&)>& slice);
    void latency(PerfIbOp op, std::size_t size, Measured& into);
    bool there_and_back(PerfIbOp op, std::size_t size);
    void rate(PerfIbOp op, std::size_t size, Measured& into);
    std::uint64_t arrived(std::uint64_t before, std::uint64_t posted);
    PerfSlice latency_limit(PerfIbOp op, std::size_t size);
    PerfSlice rate_limit(std::size_t size);
    PerfSlice limit(LimitKind kind, const LimitShape& shape);
    void verify(PerfIbOp op, std::size_t size);
    bool verified(PerfIbOp op, std::size_t size);

    /// Posts as the measurement of a rate does: with immediate data if arrivals must be counted.
    bool post(PerfIbOp op, std::size_t size);
    void post_surely(PerfIbOp op, std::size_t size);
    bool numbers(PerfIbOp op) const;
    void turn();
    /// Returns false if `until` was not true within the limit.
    template <class Until>
    bool turn_until(Until&& until, Duration limit);
    /// Takes at least one turn. Throws Failure if no frame of the other end arrives for
    /// peer_timeout.
    template <class Until>
    void turn_until(Until&& until);
    void complete_all();

    const PerfPlan& plan_;
    double ticks_per_second_;
    std::uint64_t slice_ticks_;
    std::size_t path_mtu_;
    std::size_t memory_size_;
    SharedArena board_memory_;
    SharedArena memory_;  // source and destination of this end, then of the other end
    SharedArena limit_memory_;
    PerfIbBoard* board_;
    PerfProcess process_;
    std::unique_ptr<PerfIbEnd> end_;
    bool alone_ = false;  // both ends share one processor
    bool parting_ = false;
    std::uint32_t turns_ = 0;
    std::uint32_t number_ = PerfIbEnd::first_number;  // of the next message
    std::uint64_t posted_ = 0;                        // operations since the start
    std::uint8_t tag_ = 0;
};

}  // namespace wireproof::app
