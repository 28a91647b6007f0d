// The public sweep: the points of a sweep file, one by one.
#include <nlohmann/json.hpp>

#include "wireproof/lab.hpp"
#include "wireproof/lab/link_retry/loss_trace.hpp"
#include "wireproof/lab/sweep/sweep_file.hpp"
#include "wireproof/lab/sweep/sweep_json.hpp"
#include "wireproof/lab/sweep/sweep_quantities.hpp"

namespace wireproof::lab {
namespace {

std::optional<double> number_in(const SweepJson& point, const char* field) {
    const auto at = point.find(field);
    return at != point.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

/// Nothing if the text is not of this point of the sweep.
std::optional<SweepFigures> figures_in(const SweepJson& point, const RetrySettings& settings,
                                       const RetryPlan& plan) {
    if (!point.is_object() || !point.contains("asked")) return std::nullopt;
    if (point["asked"] != sweep_key(settings, plan)) return std::nullopt;
    const auto etr = number_in(point, "etr");
    const auto throughput = number_in(point, "throughput");
    const auto resend_ratio = number_in(point, "resend_ratio");
    if (!etr || !throughput || !resend_ratio) return std::nullopt;
    return SweepFigures{.settings = settings,
                        .asked = {},
                        .etr = *etr,
                        .throughput = *throughput,
                        .resend_ratio = *resend_ratio,
                        .relative_error = number_in(point, "relative_error"),
                        .closed_etr = number_in(point, "closed_form"),
                        .closed_ratio = number_in(point, "closed_ratio")};
}

}  // namespace

struct PointSweep::Inside {
    Sweep sweep;
    bool has_losses = false;  // those that sweep.loss_trace names
};

PointSweep::PointSweep(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
PointSweep::PointSweep(const PointSweep& other)
    : inside_(std::make_unique<Inside>(*other.inside_)) {}
PointSweep::PointSweep(PointSweep&&) noexcept = default;
PointSweep& PointSweep::operator=(const PointSweep& other) {
    return *this = PointSweep(other);
}
PointSweep& PointSweep::operator=(PointSweep&&) noexcept = default;
PointSweep::~PointSweep() = default;

Result<PointSweep> PointSweep::read(std::string_view toml) {
    auto sweep = read_sweep(toml, "sweep");
    if (!sweep) return Result<PointSweep>::failure(sweep.error().message);
    return PointSweep(std::make_unique<Inside>(Inside{.sweep = std::move(*sweep)}));
}

const std::string& PointSweep::name() const {
    return inside_->sweep.name;
}

std::size_t PointSweep::points() const {
    return inside_->sweep.points.size();
}

std::uint64_t PointSweep::seed() const {
    return inside_->sweep.plan.seed;
}

double PointSweep::point_seconds() const {
    return inside_->sweep.point_seconds;
}

const std::string& PointSweep::loss_trace() const {
    return inside_->sweep.loss_trace;
}

void PointSweep::set_seed(std::uint64_t seed) {
    inside_->sweep.plan.seed = seed;
}

Result<void> PointSweep::set_packets(std::uint64_t packets) {
    if (packets == 0 || packets > 1'000'000'000'000'000'000) {
        return Result<void>::failure("a point ends after 1 to 1e18 units");
    }
    inside_->sweep.plan.packets = packets;
    return {};
}

Result<void> PointSweep::set_relative_error(double relative_error) {
    if (!(relative_error >= 1e-4 && relative_error <= 0.5)) {
        return Result<void>::failure("a relative error is 0.0001 to 0.5");
    }
    inside_->sweep.plan.relative_error = relative_error;
    return {};
}

Result<void> PointSweep::set_loss_trace(std::string_view text) {
    auto read = LossTrace::read(text, loss_trace());
    if (!read) return Result<void>::failure(read.error().message);
    const auto trace = std::make_shared<LossTrace>(std::move(*read));
    for (RetrySettings& point : inside_->sweep.points) point.loss_trace = trace;
    inside_->has_losses = true;
    return {};
}

Result<std::string> PointSweep::run(std::size_t point, const PointSweepRun& how) const {
    const Sweep& sweep = inside_->sweep;
    if (point >= sweep.points.size()) {
        return Result<std::string>::failure("there is no point " + std::to_string(point) +
                                            ": the sweep has " +
                                            std::to_string(sweep.points.size()));
    }
    if (!sweep.loss_trace.empty() && !inside_->has_losses) {
        return Result<std::string>::failure("the losses of " + sweep.loss_trace +
                                            " are missing: set_loss_trace");
    }
    const RetrySettings& settings = sweep.points[point];
    RetryPlan plan = sweep.plan;
    plan.jump = how.jump;
    plan.seed = point_seed(settings, sweep.plan.seed);
    plan.progress = how.progress;
    plan.out_of_time = how.out_of_time;
    const auto run = run_retry_point(settings, plan);
    if (!run) return Result<std::string>::failure(run.error().message);
    return sweep_json(sweep_point(settings, *run), sweep.plan).dump();
}

Result<std::string> PointSweep::draw(const std::vector<std::string>& results) const {
    using Drawn = Result<std::string>;
    const Sweep& sweep = inside_->sweep;
    if (results.size() != sweep.points.size()) {
        return Drawn::failure("there are " + std::to_string(results.size()) +
                              " results, and the sweep has " + std::to_string(sweep.points.size()) +
                              " points");
    }
    std::vector<SweepFigures> points;
    bool units = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].empty()) continue;
        const SweepJson point = SweepJson::parse(results[i], nullptr, false);
        if (point.is_object() && point.contains("stopped")) continue;
        auto figures = figures_in(point, sweep.points[i], sweep.plan);
        if (!figures) {
            return Drawn::failure("result " + std::to_string(i) + " does not belong to its point");
        }
        units = units || point.contains("unit_line");
        points.push_back(*std::move(figures));
    }
    for (SweepFigures& point : points) point.asked = quantities_of(point.settings, units);
    std::string picture = picture_of(points);
    if (picture.empty()) return Drawn::failure("there are no points to draw");
    return picture;
}

}  // namespace wireproof::lab
