// The ways to find a job, for find_job. Each looks at its environment variables first.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "wireproof/base/expected.hpp"
#include "wireproof/host/job/job_board.hpp"

namespace wireproof::host {

/// A board, or what this way lacks: then the next way is tried. An error of a way ends the search.
struct WayResult {
    std::unique_ptr<JobBoard> board;
    std::string lacks;

    static WayResult found(std::unique_ptr<JobBoard> board) { return {std::move(board), {}}; }
    static WayResult lacking(std::string what) { return {nullptr, std::move(what)}; }
};

Expected<WayResult> try_pmix(std::chrono::milliseconds patience);
Expected<WayResult> try_pmi2(std::chrono::milliseconds patience);
Expected<WayResult> try_pmi1(std::chrono::milliseconds patience);
Expected<WayResult> try_launch(std::chrono::milliseconds patience);
Expected<WayResult> try_ranks(std::chrono::milliseconds patience);
Expected<WayResult> try_torchrun(std::chrono::milliseconds patience);
Expected<WayResult> try_scheduler(std::chrono::milliseconds patience);
Expected<WayResult> try_peers(std::chrono::milliseconds patience);

}  // namespace wireproof::host
