#include "wireproof/app/sweep/sweep_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "wireproof/app/common/failure.hpp"

namespace wireproof::app {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::uint64_t> environment(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0') return std::nullopt;
    const auto value = number_of(text);
    if (!value) throw Failure(fmt::format("{} is {}, which is no number", name, text));
    return value;
}

}  // namespace

SweepPart part_of_array() {
    const auto id = environment("SLURM_ARRAY_TASK_ID");
    const auto count = environment("SLURM_ARRAY_TASK_COUNT");
    if (!id || !count || *count == 1) return {};
    const std::uint64_t first = environment("SLURM_ARRAY_TASK_MIN").value_or(0);
    const std::uint64_t step = environment("SLURM_ARRAY_TASK_STEP").value_or(1);
    const auto last = environment("SLURM_ARRAY_TASK_MAX");
    const bool counts = step > 0 && *id >= first && (*id - first) % step == 0 &&
                        (*id - first) / step < *count &&
                        (!last || (*last >= first && (*last - first) / step + 1 == *count));
    if (!counts) {
        throw Failure(
            fmt::format("the Slurm array has {} tasks, and SLURM_ARRAY_TASK_ID is {}: its "
                        "indexes have a gap; outside an array, the same command "
                        "simulates what is missing",
                        *count, *id));
    }
    return {(*id - first) / step, *count};
}

std::string results_path(const lab::Sweep& sweep, const SweepPart& part) {
    if (part.count == 1) return sweep.name + ".results";
    return fmt::format("{}.{}-of-{}.results", sweep.name, part.index + 1, part.count);
}

bool is_part_of(const lab::Sweep& sweep, const std::string& name) {
    constexpr std::string_view between = "-of-";
    constexpr std::string_view end = ".results";
    std::string_view rest = name;
    if (!rest.starts_with(sweep.name + ".") || !rest.ends_with(end)) return false;
    rest.remove_prefix(sweep.name.size() + 1);
    rest.remove_suffix(std::min(end.size(), rest.size()));
    const std::size_t at = rest.find(between);
    if (at == std::string_view::npos) return false;
    return number_of(rest.substr(0, at)) && number_of(rest.substr(at + between.size()));
}

lab::Sweep share_of(const lab::Sweep& sweep, const SweepPart& part) {
    lab::Sweep mine = sweep;
    mine.points.clear();
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
        if (i % part.count == part.index) mine.points.push_back(sweep.points[i]);
    }
    return mine;
}

}  // namespace wireproof::app
