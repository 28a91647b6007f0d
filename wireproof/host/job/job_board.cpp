#include "wireproof/host/job/job_board.hpp"

#include "wireproof/host/job/ways.hpp"

namespace wireproof::host {

Expected<std::unique_ptr<JobBoard>> find_job(std::chrono::milliseconds) {
    auto found = try_launch();
    if (!found) return unexpected("wireproof launch: " + found.error().message);
    if (found->board) return std::move(found->board);
    return unexpected("no job is found: wireproof launch: " + found->lacks);
}

}  // namespace wireproof::host
