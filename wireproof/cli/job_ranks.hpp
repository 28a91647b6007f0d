// How a subcommand shares its work with the other ranks of its job.
#pragma once

#include <functional>
#include <string_view>

#include "wireproof/app/task_pool/task_pool.hpp"

namespace wireproof::cli {

/// Joins the job of this process, if a launcher started it. Otherwise the process is alone. Throws
/// Failure.
task_pool::TaskPool task_pool_of(std::string_view subcommand);

/// The run of a rank other than 0: `help` does tasks until rank 0 needs no more. Only rank 0
/// prints. A signal ends this rank without a line. Returns the exit code: 0 even if rank 0 fails,
/// because a launcher takes the first code that is not 0 for that of the job.
int help(task_pool::TaskPool& pool, const std::function<void(task_pool::TaskPool&)>& help);

}  // namespace wireproof::cli
