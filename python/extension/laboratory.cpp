// Points, sweeps and ladders.
#include "laboratory.hpp"

#include <pybind11/stl.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "progress.hpp"

namespace wireproof::python {
namespace {

/// The arguments of a point, in the forms of C.
struct Point {
    std::string protocol;
    wireproof_point_settings settings{};
    wireproof_point_plan plan{};
};

template <class T>
void take(const py::dict& from, const char* key, T& into) {
    if (from.contains(key)) into = from[key].cast<T>();
}

void take_flag(const py::dict& from, const char* key, std::uint32_t& into) {
    if (from.contains(key)) into = from[key].cast<bool>() ? 1 : 0;
}

void read_point(const py::dict& from, Point& point) {
    wireproof_point_settings& s = point.settings;
    wireproof_point_settings_init(&s, sizeof s);
    point.protocol = from["protocol"].cast<std::string>();
    s.protocol = point.protocol.c_str();
    take(from, "bit_error_rate", s.bit_error_rate);
    take(from, "notice_loss", s.notice_loss);
    take(from, "payload", s.payload);
    take(from, "loop", s.loop);
    take(from, "buffer", s.buffer);
    take(from, "ack_every", s.ack_every);
    take(from, "timer", s.timer);
    take_flag(from, "clean_back", s.clean_back);
    take_flag(from, "renak_on_bad_head", s.renak_on_bad_head);
    take_flag(from, "loaded_back", s.loaded_back);
    take(from, "bursts_begin", s.bursts_begin);
    take(from, "bursts_end", s.bursts_end);
    take(from, "bursts_bad", s.bursts_bad);
    wireproof_point_plan& plan = point.plan;
    wireproof_point_plan_init(&plan, sizeof plan);
    take(from, "packets", plan.packets);
    take(from, "relative_error", plan.relative_error);
    take(from, "packets_max", plan.packets_max);
    take(from, "seed", plan.seed);
    take_flag(from, "jump", plan.jump);
}

std::optional<double> or_none(double value) {
    return std::isnan(value) ? std::nullopt : std::optional(value);
}

py::dict point_run(const py::dict& arguments, py::object callback) {
    Point point;
    read_point(arguments, point);
    Progress progress(std::move(callback));
    point.plan.progress = &Progress::on_share;
    point.plan.user = &progress;
    wireproof_point_figures f{};
    f.size = sizeof f;
    Why why;
    wireproof_status status = WIREPROOF_OK;
    {
        const py::gil_scoped_release released;
        status = wireproof_point_run(&point.settings, &point.plan, &f, why.room(), why.bytes());
    }
    progress.check(status, why);
    py::dict figures;
    figures["packets"] = f.packets;
    figures["etr"] = f.etr;
    figures["throughput"] = f.throughput;
    figures["resend_ratio"] = f.resend_ratio;
    figures["relative_error"] = or_none(f.relative_error);
    figures["closed_etr"] = or_none(f.closed_etr);
    figures["closed_ratio"] = or_none(f.closed_ratio);
    figures["deviation"] = or_none(f.deviation);
    figures["closed_at_edge"] = f.closed_at_edge != 0;
    figures["resent"] = f.resent;
    figures["timeouts"] = f.timeouts;
    figures["notices"] = f.notices;
    figures["acks"] = f.acks;
    figures["frames"] = f.frames;
    figures["line_bytes"] = f.line_bytes;
    figures["jumped"] = f.jumped;
    figures["unit_bytes"] = f.unit_bytes;
    figures["buffer_mean_units"] = f.buffer_mean;
    figures["buffer_most_units"] = f.buffer_most;
    figures["latency_p50_bytes"] = f.latency_50;
    figures["latency_p99_bytes"] = f.latency_99;
    figures["latency_p99_9_bytes"] = f.latency_999;
    figures["latency_max_bytes"] = f.latency_max;
    return figures;
}

py::tuple taken(wireproof_ladder* ladder) {
    const std::unique_ptr<wireproof_ladder, decltype(&wireproof_ladder_free)> owner(
        ladder, &wireproof_ladder_free);
    return py::make_tuple(wireproof_ladder_name(ladder), wireproof_ladder_text(ladder),
                          wireproof_ladder_svg(ladder), wireproof_ladder_frames(ladder));
}

py::tuple ladder_of_first_failure(const py::dict& arguments, py::object callback) {
    Point point;
    read_point(arguments, point);
    Progress progress(std::move(callback));
    point.plan.progress = &Progress::on_share;
    point.plan.user = &progress;
    wireproof_ladder* ladder = nullptr;
    Why why;
    wireproof_status status = WIREPROOF_OK;
    {
        const py::gil_scoped_release released;
        status = wireproof_ladder_of_first_failure(&point.settings, &point.plan, &ladder,
                                                   why.room(), why.bytes());
    }
    progress.check(status, why);
    return taken(ladder);
}

py::tuple ladder_of_scenario(const std::string& toml) {
    wireproof_ladder* ladder = nullptr;
    Why why;
    wireproof_status status = WIREPROOF_OK;
    {
        const py::gil_scoped_release released;
        status = wireproof_ladder_of_scenario(toml.data(), toml.size(), &ladder, why.room(),
                                              why.bytes());
    }
    why.check(status);
    return taken(ladder);
}

/// A sweep that was read. Several threads may run its points.
class Sweep {
public:
    explicit Sweep(const std::string& toml) {
        Why why;
        why.check(wireproof_sweep_read(toml.data(), toml.size(), &sweep_, why.room(), why.bytes()));
    }
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    ~Sweep() { wireproof_sweep_free(sweep_); }

    std::string name() const { return wireproof_sweep_name(sweep_); }
    std::size_t points() const { return wireproof_sweep_points(sweep_); }
    std::uint64_t seed() const { return wireproof_sweep_seed(sweep_); }
    double point_seconds() const { return wireproof_sweep_point_seconds(sweep_); }
    std::string loss_trace() const { return wireproof_sweep_loss_trace(sweep_); }

    void set_plan(std::optional<std::uint64_t> seed, std::optional<std::uint64_t> packets,
                  std::optional<double> relative_error) {
        Why why;
        if (seed) why.check(wireproof_sweep_set_seed(sweep_, *seed));
        if (packets) {
            why.check(wireproof_sweep_set_packets(sweep_, *packets, why.room(), why.bytes()));
        }
        if (relative_error) {
            why.check(wireproof_sweep_set_relative_error(sweep_, *relative_error, why.room(),
                                                         why.bytes()));
        }
    }

    void set_loss_trace(const std::string& text) {
        Why why;
        why.check(wireproof_sweep_set_loss_trace(sweep_, text.data(), text.size(), why.room(),
                                                 why.bytes()));
    }

    py::str run(std::size_t point, bool jump, double seconds, py::object callback) const {
        Progress progress(std::move(callback), seconds);
        Why why;
        char* json = nullptr;
        wireproof_status status = WIREPROOF_OK;
        {
            const py::gil_scoped_release released;
            status = wireproof_sweep_run(sweep_, point, jump ? 1 : 0, &Progress::on_share,
                                         &progress, &json, why.room(), why.bytes());
        }
        const std::unique_ptr<char, decltype(&wireproof_text_free)> owner(json,
                                                                          &wireproof_text_free);
        progress.check(status, why);
        return py::str(json);
    }

    py::str draw(const std::vector<std::string>& results) const {
        std::vector<const char*> texts;
        for (const std::string& result : results) texts.push_back(result.c_str());
        Why why;
        char* svg = nullptr;
        const wireproof_status status =
            wireproof_sweep_draw(sweep_, texts.data(), texts.size(), &svg, why.room(), why.bytes());
        const std::unique_ptr<char, decltype(&wireproof_text_free)> owner(svg,
                                                                          &wireproof_text_free);
        why.check(status);
        return py::str(svg);
    }

private:
    wireproof_sweep* sweep_ = nullptr;
};

}  // namespace

void add_laboratory(py::module_& module) {
    module.def("has_lab", [] { return wireproof_has_lab() == 1; });
    module.def("point_protocols", [] {
        py::list names;
        for (std::size_t i = 0; wireproof_point_protocol(i) != nullptr; ++i) {
            names.append(wireproof_point_protocol(i));
        }
        return names;
    });
    module.def("point_run", &point_run, py::arg("arguments"), py::arg("progress"));
    module.def("ladder_of_first_failure", &ladder_of_first_failure, py::arg("arguments"),
               py::arg("progress"));
    module.def("ladder_of_scenario", &ladder_of_scenario, py::arg("toml"));
    py::class_<Sweep>(module, "Sweep")
        .def(py::init<const std::string&>(), py::arg("toml"))
        .def_property_readonly("name", &Sweep::name)
        .def_property_readonly("points", &Sweep::points)
        .def_property_readonly("seed", &Sweep::seed)
        .def_property_readonly("point_seconds", &Sweep::point_seconds)
        .def_property_readonly("loss_trace", &Sweep::loss_trace)
        .def("set_plan", &Sweep::set_plan, py::arg("seed"), py::arg("packets"),
             py::arg("relative_error"))
        .def("set_loss_trace", &Sweep::set_loss_trace, py::arg("text"))
        .def("run", &Sweep::run, py::arg("point"), py::arg("jump"), py::arg("seconds"),
             py::arg("progress"))
        .def("draw", &Sweep::draw, py::arg("results"));
}

}  // namespace wireproof::python
