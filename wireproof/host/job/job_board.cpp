#include "wireproof/host/job/job_board.hpp"

#include <array>

#include "wireproof/host/job/job_number.hpp"
#include "wireproof/host/job/ways.hpp"
#include "wireproof/host/rendezvous/deadline.hpp"

namespace wireproof::host {
namespace {

struct Way {
    const char* name;
    Expected<WayResult> (*go)(std::chrono::milliseconds patience);
};

constexpr std::array ways{
    Way{"torchrun", try_torchrun},
    Way{"PMIx", try_pmix},
    Way{"PMI2", try_pmi2},
    Way{"PMI-1", try_pmi1},
    Way{"wireproof launch", try_launch},
    Way{"WIREPROOF_RANK", try_ranks},
    Way{"Slurm or Open MPI", try_scheduler},
    Way{"WIREPROOF_PEERS", try_peers},
};

}  // namespace

Expected<void> JobBoard::agree_on_job(std::chrono::milliseconds patience) {
    const auto entries = exchange(job_text(random_job_number()), patience);
    if (!entries) return tl::unexpected(entries.error());
    const auto job = parse_job(entries->front());
    if (!job) return unexpected("rank 0 has not sent the number of the job");
    place_.job = *job;
    return {};
}

Expected<std::unique_ptr<JobBoard>> find_job(std::chrono::milliseconds patience) {
    const Deadline deadline(patience);
    std::string tried;
    for (const Way& way : ways) {
        auto result = way.go(deadline.left());
        if (result && result->board) return std::move(result->board);
        tried += (tried.empty() ? "no job joined: " : "; ") + std::string(way.name) + ": " +
                 (result ? result->lacks : result.error().message);
        if (!result) break;
    }
    return unexpected(tried);
}

}  // namespace wireproof::host
