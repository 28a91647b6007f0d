#include "wireproof/app/sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <stop_token>
#include <utility>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/sweep/finished_points.hpp"
#include "wireproof/app/sweep/results_file.hpp"
#include "wireproof/app/sweep/sweep_results.hpp"
#include "wireproof/lab/link_retry/loss_trace.hpp"

namespace wireproof::app {
namespace {

/// What a rank must know to simulate points: the sweep, and which of its points are the tasks.
struct PointTasks {
    lab::Sweep sweep;
    bool jump = true;
    std::vector<std::size_t> points{};  // by task; indexes of sweep.points

    const lab::RetrySettings& settings(std::uint64_t task) const {
        return sweep.points.at(points.at(task));
    }
};

std::string trace_text(const lab::LossTrace& trace) {
    std::string text;
    for (const lab::LossTrace::Run& run : trace.runs()) {
        text += fmt::format("{} {}\n", run.bad ? "bad" : "ok", run.frames);
    }
    return text;
}

// CBOR, because the text of a sweep file may have any bytes.
std::string setup_of(const SweepTask& task, const PointTasks& tasks) {
    const lab::Sweep& sweep = task.sweep;
    nlohmann::json setup = {{"file", task.file},
                            {"text", task.text},
                            {"jump", tasks.jump},
                            {"packets", sweep.plan.packets},
                            {"relative_error", sweep.plan.relative_error},
                            {"seed", sweep.plan.seed},
                            {"point_seconds", sweep.point_seconds},
                            {"points", tasks.points}};
    if (!sweep.points.empty() && sweep.points.front().loss_trace) {
        setup["trace"] = trace_text(*sweep.points.front().loss_trace);
    }
    std::string bytes;
    nlohmann::json::to_cbor(setup, bytes);
    return bytes;
}

PointTasks tasks_of(const std::string& bytes) {
    const nlohmann::json setup = nlohmann::json::from_cbor(bytes);
    const auto file = setup.at("file").get<std::string>();
    auto sweep = lab::read_sweep(setup.at("text").get<std::string>(), file);
    if (!sweep) throw Failure(sweep.error().message);
    PointTasks tasks{*std::move(sweep), setup.at("jump"), setup.at("points")};
    tasks.sweep.plan.packets = setup.at("packets");
    tasks.sweep.plan.relative_error = setup.at("relative_error");
    tasks.sweep.plan.seed = setup.at("seed");
    tasks.sweep.point_seconds = setup.at("point_seconds");
    if (!setup.contains("trace")) return tasks;
    auto read = lab::LossTrace::read(setup.at("trace").get<std::string>(), file);
    if (!read) throw Failure(read.error().message);
    const auto trace = std::make_shared<lab::LossTrace>(*std::move(read));
    for (lab::RetrySettings& point : tasks.sweep.points) point.loss_trace = trace;
    return tasks;
}

struct Stopped {};

/// Simulates the point of a task. Its result is a line of the results file.
task_pool::Work work_on(const PointTasks& tasks) {
    return [&tasks](std::uint64_t task, const std::stop_token& stop) -> std::optional<std::string> {
        const lab::RetrySettings& settings = tasks.settings(task);
        lab::RetryPlan plan = tasks.sweep.plan;
        plan.jump = tasks.jump;
        plan.out_of_time = out_of_time_after(tasks.sweep.point_seconds);
        plan.seed = point_seed(settings, tasks.sweep.plan.seed);
        plan.progress = [&stop](double) {
            if (stop.stop_requested()) throw Stopped();
        };
        try {
            const auto point = lab::run_retry_point(settings, plan);
            if (!point) throw Failure(point.error().message);
            return results_line(lab::sweep_point(settings, *point), tasks.sweep.plan);
        } catch (const Stopped&) {
            return std::nullopt;
        }
    };
}

/// The points that are not in the file, each once.
std::vector<std::size_t> waiting_points(const lab::Sweep& sweep, const SweepPart& part,
                                        const FinishedPoints& finished) {
    std::vector<std::size_t> waiting;
    std::set<std::string> seen;
    for (std::size_t i = part.index; i < sweep.points.size(); i += part.count) {
        const lab::RetrySettings& point = sweep.points[i];
        const bool first = seen.insert(sweep_key(point, sweep.plan).dump()).second;
        if (first && !finished.has(point)) waiting.push_back(i);
    }
    return waiting;
}

/// Takes the points of all parts of the sweep that are in this folder.
void load_parts(const lab::Sweep& sweep, FinishedPoints& finished) {
    std::set<std::string> parts;
    for (const auto& entry : std::filesystem::directory_iterator(".")) {
        std::string name = entry.path().filename().string();
        if (is_part_of(sweep, name)) parts.insert(std::move(name));
    }
    for (const std::string& part : parts) finished.load(finished_results(part), part);
}

}  // namespace

std::function<bool()> out_of_time_after(double seconds) {
    using Clock = std::chrono::steady_clock;
    if (seconds == 0) return {};
    return [start = Clock::now(), limit = std::chrono::duration<double>(seconds)] {
        return Clock::now() - start > limit;
    };
}

std::vector<lab::SweepPoint> run_sweep(const SweepTask& task, const SweepPart& part,
                                       task_pool::TaskPool& pool) {
    const lab::Sweep mine = share_of(task.sweep, part);
    FinishedPoints finished(mine);
    if (part.count == 1) load_parts(mine, finished);
    ResultsFile file(results_path(task.sweep, part));
    finished.load(file.text(), file.path());
    file.drop_torn_line();
    const PointTasks tasks{task.sweep, task.jump, waiting_points(task.sweep, part, finished)};
    {
        Progress bar("points", tasks.points.size(), "points");
        pool.run({.setup = pool.size() > 1 ? setup_of(task, tasks) : std::string(),
                  .tasks = tasks.points.size(),
                  .work = work_on(tasks),
                  .take =
                      [&](task_pool::TaskAssignment&, std::uint64_t done, const std::string& line) {
                          lab::SweepPoint point = point_of_line(line, tasks.settings(done));
                          if (!point.stopped) file.append(line);
                          finished.add(std::move(point));
                      },
                  .turn =
                      [&](const task_pool::TaskAssignment& assignment) {
                          if (pool.size() > 1)
                              bar.set_note(fmt::format("{} ranks", assignment.ranks()));
                          bar.show(assignment.results());
                      }});
    }
    file.replace(finished.text());
    return finished.points(mine);
}

void help_with_sweep(task_pool::TaskPool& pool) {
    const auto setup = pool.await_setup();
    if (!setup) return;
    const PointTasks tasks = tasks_of(*setup);
    pool.work(work_on(tasks));
}

}  // namespace wireproof::app
