#include "wireproof/app/sweep/sweep_shard.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "wireproof/app/common/failure.hpp"

namespace wireproof::cli {
namespace {

std::optional<std::uint64_t> environment(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0') return std::nullopt;
    std::uint64_t value = 0;
    for (const char* c = text; *c != '\0'; ++c) {
        if (*c < '0' || *c > '9' || value > 1'000'000'000) {
            throw Failure(fmt::format("{} is no number, and --shard was not given", name));
        }
        value = value * 10 + static_cast<std::uint64_t>(*c - '0');
    }
    return value;
}

}  // namespace

SweepShard shard_of(const std::string& text) {
    std::uint64_t index = 0;
    std::uint64_t count = 0;
    char rest = 0;
    const bool digits = text.find_first_not_of("0123456789/") == std::string::npos;
    if (!digits || std::sscanf(text.c_str(), "%9lu/%9lu%c", &index, &count, &rest) != 2 ||
        index < 1 || index > count) {
        throw Failure(fmt::format("a shard is K/N, 1/N to N/N, not {}", text));
    }
    return {index - 1, count};
}

SweepShard shard_from_environment() {
    const auto id = environment("SLURM_ARRAY_TASK_ID");
    const auto count = environment("SLURM_ARRAY_TASK_COUNT");
    if (!id || !count) return {};
    const std::uint64_t first = environment("SLURM_ARRAY_TASK_MIN").value_or(0);
    if (*id < first || *id - first >= *count) {
        throw Failure(
            fmt::format("SLURM_ARRAY_TASK_ID is {} of {}, which is no shard; --shard K/N names one",
                        *id, *count));
    }
    return {*id - first, *count};
}

std::string results_path(const lab::Sweep& sweep, const SweepShard& shard) {
    if (shard.count == 1) return sweep.name + ".results";
    return fmt::format("{}.{}-of-{}.results", sweep.name, shard.index + 1, shard.count);
}

lab::Sweep share_of(const lab::Sweep& sweep, const SweepShard& shard) {
    lab::Sweep mine = sweep;
    mine.points.clear();
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
        if (i % shard.count == shard.index) mine.points.push_back(sweep.points[i]);
    }
    return mine;
}

}  // namespace wireproof::cli
