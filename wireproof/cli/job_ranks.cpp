#include "wireproof/cli/job_ranks.hpp"

#include <fmt/format.h>

#include <csignal>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/app/common/version.hpp"

namespace wireproof::cli {

task_pool::TaskPool task_pool_of(std::string_view subcommand) {
    std::string program = fmt::format("{} {}", app::version(), subcommand);
    if (!task_pool::started_by_a_launcher()) {
        const std::string hint = task_pool::hint_of_a_launcher();
        if (!hint.empty()) app::tell("wireproof: " + hint);
        return task_pool::TaskPool::alone(std::move(program), app::check_interrupt);
    }
    return task_pool::TaskPool::join(std::move(program), app::check_interrupt);
}

int help(task_pool::TaskPool& pool, const std::function<void(task_pool::TaskPool&)>& help) {
    try {
        help(pool);
    } catch (const app::Interrupted& interrupted) {
        std::signal(interrupted.signal(), SIG_DFL);
        std::raise(interrupted.signal());
    }
    return 0;
}

}  // namespace wireproof::cli
