#include "wireproof/cli/job_ranks.hpp"

#include <fmt/format.h>

#include <csignal>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/app/common/version.hpp"

namespace wireproof::cli {

farm::Farm farm_of(std::string_view verb) {
    std::string program = fmt::format("{} {}", version(), verb);
    if (!farm::started_by_a_launcher()) {
        const std::string hint = farm::hint_of_a_launcher();
        if (!hint.empty()) tell("wireproof: " + hint);
        return farm::Farm::alone(std::move(program), check_interrupt);
    }
    return farm::Farm::join(std::move(program), check_interrupt);
}

int help(farm::Farm& farm, const std::function<void(farm::Farm&)>& help) {
    try {
        help(farm);
    } catch (const Interrupted& interrupted) {
        std::signal(interrupted.signal(), SIG_DFL);
        std::raise(interrupted.signal());
    }
    return 0;
}

}  // namespace wireproof::cli
