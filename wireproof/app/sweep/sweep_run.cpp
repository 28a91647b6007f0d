#include "wireproof/app/sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/files.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/sweep/sweep_results.hpp"

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

/// Finished points, by their keys.
class SweepResults {
public:
    /// `sweep` must outlive the results.
    explicit SweepResults(const lab::Sweep& sweep) : plan_(sweep.plan) {
        for (const lab::RetrySettings& point : sweep.points) {
            wanted_.emplace(sweep_key(point, sweep.plan).dump(), point);
        }
    }

    /// Reads the lines of a file, if it exists. Ignores a last line that a killed run left
    /// incomplete.
    void load(const std::string& path) {
        check_regular(path);
        std::ifstream file(path, std::ios::binary);
        std::string line;
        for (int number = 1; std::getline(file, line); ++number) {
            if (file.eof()) break;  // no newline: the line is incomplete
            const SweepJson point = SweepJson::parse(line, nullptr, false);
            const auto asked = point.is_object() ? point.find("asked") : point.end();
            const auto wanted = asked == point.end() ? wanted_.end() : wanted_.find(asked->dump());
            if (wanted == wanted_.end()) {
                throw Failure(
                    fmt::format("{}:{}: no point of this sweep; another name or "
                                "another folder keeps both",
                                path, number));
            }
            if (const std::string field = lacking(point, wanted->second, plan_); !field.empty()) {
                throw Failure(fmt::format(
                    "{}:{}: \"{}\" is missing or not what it should be: another version "
                    "wrote this point; another name or another folder keeps both",
                    path, number, field));
            }
            done_.insert_or_assign(wanted->first, read_sweep_point(point, wanted->second));
        }
    }
    bool has(const std::string& key) const { return done_.contains(key); }
    /// A stopped point is not written, so the next run simulates it again.
    void add(const std::string& key, lab::SweepPoint point) {
        (point.stopped ? stopped_ : done_).insert_or_assign(key, std::move(point));
    }
    std::size_t missing() const { return wanted_.size() - done_.size(); }

    /// Writes all lines sorted, and renames the file in one step.
    void write(const std::string& path) const {
        std::vector<std::string> lines;
        for (const auto& [key, point] : done_) lines.push_back(sweep_json(point, plan_).dump());
        std::sort(lines.begin(), lines.end());
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        OutputFile file(path);
        file.write(0, std::as_bytes(std::span(text)));
        file.finish();
    }

    /// In the order of the sweep.
    std::vector<lab::SweepPoint> points(const lab::Sweep& sweep) const {
        std::vector<lab::SweepPoint> all;
        for (const lab::RetrySettings& point : sweep.points) {
            const std::string key = sweep_key(point, sweep.plan).dump();
            for (const auto* const points : {&done_, &stopped_}) {
                const auto at = points->find(key);
                if (at != points->end()) all.push_back(at->second);
            }
        }
        return all;
    }

private:
    const lab::RetryPlan& plan_;
    std::map<std::string, lab::RetrySettings> wanted_;
    std::map<std::string, lab::SweepPoint> done_;
    std::map<std::string, lab::SweepPoint> stopped_;
};

/// The points that are left. All threads take from them; the first error ends all threads.
class SweepCrew {
public:
    SweepCrew(const lab::Sweep& sweep, std::vector<lab::RetrySettings> points, bool jump,
              const std::string& path, SweepResults& results)
        : sweep_(sweep), points_(std::move(points)), jump_(jump), results_(results), path_(path) {
        if (points_.empty()) return;
        journal_.open(path, std::ios::binary | std::ios::app);
        if (!journal_) throw Failure(fmt::format("cannot write {}", path));
    }

    void run() {
        if (points_.empty()) return;
        const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < std::min<std::size_t>(cores, points_.size()); ++i) {
            threads.emplace_back([this] { work(); });
        }
        {
            Progress bar("points", points_.size(), "points");
            while (finished_ < points_.size() && !stopped_) {
                bar.show(finished_);
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                watch();
            }
        }
        threads.clear();
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    struct Stopped {};

    void watch() {
        try {
            check_interrupt();
        } catch (...) {
            stop(std::current_exception());
        }
    }
    void work() {
        try {
            while (!stopped_) {
                const std::size_t next = next_++;
                if (next >= points_.size()) return;
                simulate(points_[next]);
                ++finished_;
            }
        } catch (const Stopped&) {
        } catch (...) {
            stop(std::current_exception());
        }
    }
    void simulate(const lab::RetrySettings& settings) {
        lab::RetryPlan plan = sweep_.plan;
        plan.jump = jump_;
        plan.out_of_time = out_of_time_after(sweep_.point_seconds);
        plan.seed = point_seed(settings, sweep_.plan.seed);
        plan.progress = [this](double) {
            if (stopped_) throw Stopped();
        };
        const auto point = lab::run_retry_point(settings, plan);
        if (!point) throw Failure(point.error().message);
        lab::SweepPoint done = lab::sweep_point(settings, *point);
        const std::string key = sweep_key(settings, sweep_.plan).dump();
        const std::string line = sweep_json(done, sweep_.plan).dump() + "\n";
        const std::lock_guard lock(mutex_);
        if (!done.stopped) {
            journal_ << line << std::flush;
            if (!journal_) throw Failure(fmt::format("cannot write {}", path_));
        }
        results_.add(key, std::move(done));
    }
    void stop(std::exception_ptr why) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::move(why);
        stopped_ = true;
    }

    const lab::Sweep& sweep_;
    std::vector<lab::RetrySettings> points_;
    bool jump_;
    SweepResults& results_;
    std::string path_;
    std::ofstream journal_;
    std::atomic<std::size_t> next_ = 0;
    std::atomic<std::size_t> finished_ = 0;
    std::atomic<bool> stopped_ = false;
    std::mutex mutex_;
    std::exception_ptr failure_;
};

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
    struct Launcher {
        const char* rank;
        const char* first;  // variable with the rank of the first process, if not 0
        const char* size;
    };
    constexpr std::array<Launcher, 3> launchers = {
        {{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"},
         {"OMPI_COMM_WORLD_RANK", nullptr, "OMPI_COMM_WORLD_SIZE"},
         {"PMI_RANK", nullptr, "PMI_SIZE"}}};
    for (const Launcher& launcher : launchers) {
        const auto rank = environment(launcher.rank);
        const auto size = environment(launcher.size);
        if (!rank || !size) continue;
        const auto first = launcher.first == nullptr ? 0 : environment(launcher.first).value_or(0);
        if (*rank < first || *rank - first >= *size) {
            throw Failure(fmt::format("{} is {} of {}, which is no shard; --shard K/N names one",
                                      launcher.rank, *rank, *size));
        }
        return {*rank - first, *size};
    }
    return {};
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

std::function<bool()> out_of_time_after(double seconds) {
    using Clock = std::chrono::steady_clock;
    if (seconds == 0) return {};
    return [start = Clock::now(), limit = std::chrono::duration<double>(seconds)] {
        return Clock::now() - start > limit;
    };
}

std::vector<lab::SweepPoint> run_sweep(const lab::Sweep& sweep, const SweepShard& shard,
                                       bool jump) {
    const lab::Sweep mine = share_of(sweep, shard);
    const std::string path = results_path(sweep, shard);
    SweepResults results(mine);
    results.load(path);
    // Removes an incomplete line before new lines are appended.
    if (std::filesystem::exists(path)) results.write(path);
    std::vector<lab::RetrySettings> waiting;
    std::set<std::string> seen;
    for (const lab::RetrySettings& point : mine.points) {
        const std::string key = sweep_key(point, sweep.plan).dump();
        if (!results.has(key) && seen.insert(key).second) waiting.push_back(point);
    }
    SweepCrew(sweep, std::move(waiting), jump, path, results).run();
    results.write(path);
    return results.points(mine);
}

std::vector<lab::SweepPoint> merge_sweep(const lab::Sweep& sweep) {
    SweepResults results(sweep);
    const std::string begin = sweep.name + ".";
    std::set<std::string> parts;
    for (const auto& entry : std::filesystem::directory_iterator(".")) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(begin) && name.ends_with(".results") &&
            name.find("-of-") != std::string::npos) {
            parts.insert(name);
        }
    }
    if (parts.empty()) {
        throw Failure(fmt::format("there is no {}K-of-N.results here to be merged", begin));
    }
    for (const std::string& part : parts) results.load(part);
    if (results.missing() > 0) {
        throw Failure(fmt::format("{} of {} points are missing from the {} files merged",
                                  results.missing(), sweep.points.size(), parts.size()));
    }
    results.write(sweep.name + ".results");
    return results.points(sweep);
}

}  // namespace wireproof::cli
