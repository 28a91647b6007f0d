#include "wireproof/front/c/lab/point.hpp"

#include <limits>
#include <optional>
#include <vector>

#include "wireproof/front/c/point_structs.hpp"
#include "wireproof/front/c/sized.hpp"

namespace wireproof::c {
namespace {

/// The name of a member whose value has no meaning; nullptr if there is none.
const char* senseless_point(const wireproof_point_settings& settings,
                            const wireproof_point_plan& plan) {
    if (settings.protocol == nullptr) return "protocol";
    if (settings.clean_back > 1) return "clean_back";
    if (settings.renak_on_bad_head > 1) return "renak_on_bad_head";
    if (settings.loaded_back > 1) return "loaded_back";
    if (plan.jump > 1) return "jump";
    if (plan.reserved != 0) return "reserved";
    return nullptr;
}

lab::PointSettings settings_of(const wireproof_point_settings& from) {
    lab::PointSettings settings;
    settings.protocol = from.protocol;
    settings.bit_error_rate = from.bit_error_rate;
    settings.clean_back = from.clean_back == 1;
    settings.notice_loss = from.notice_loss;
    settings.payload = from.payload;
    settings.loop = from.loop;
    settings.buffer = from.buffer;
    settings.ack_every = from.ack_every;
    settings.timer = from.timer;
    settings.renak_on_bad_head = from.renak_on_bad_head == 1;
    settings.loaded_back = from.loaded_back == 1;
    settings.bursts = {.begin = from.bursts_begin, .end = from.bursts_end, .bad = from.bursts_bad};
    return settings;
}

lab::PointPlan plan_of(const wireproof_point_plan& from) {
    lab::PointPlan plan;
    plan.packets = from.packets;
    plan.relative_error = from.relative_error;
    plan.packets_max = from.packets_max;
    plan.jump = from.jump == 1;
    plan.seed = from.seed;
    if (from.progress == nullptr) return plan;
    plan.progress = [progress = from.progress, user = from.user](double share) {
        if (call_progress(progress, share, user) != 0) throw Cancelled();
    };
    return plan;
}

double or_nothing(const std::optional<double>& value) {
    return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

wireproof_point_figures figures_of(const lab::PointFigures& from) {
    wireproof_point_figures figures{};
    figures.packets = from.packets;
    figures.etr = from.etr;
    figures.throughput = from.throughput;
    figures.resend_ratio = from.resend_ratio;
    figures.relative_error = or_nothing(from.relative_error);
    figures.closed_etr = or_nothing(from.closed_etr);
    figures.closed_ratio = or_nothing(from.closed_ratio);
    figures.deviation = or_nothing(from.deviation);
    figures.resent = from.resent;
    figures.timeouts = from.timeouts;
    figures.notices = from.notices;
    figures.acks = from.acks;
    figures.frames = from.frames;
    figures.line_bytes = from.line_bytes;
    figures.jumped = from.jumped;
    figures.unit_bytes = from.unit_bytes;
    figures.buffer_mean = from.buffer_mean;
    figures.buffer_most = from.buffer_most;
    figures.latency_50 = from.latency[0];
    figures.latency_99 = from.latency[1];
    figures.latency_999 = from.latency[2];
    figures.latency_max = from.latency[3];
    figures.closed_at_edge = from.closed_at_edge ? 1 : 0;
    return figures;
}

}  // namespace

wireproof_status read_point(const wireproof_point_settings* settings,
                            const wireproof_point_plan* plan, Point& into, const Why& why) {
    wireproof_point_settings own_settings = default_settings();
    wireproof_point_plan own_plan = default_plan();
    if (!read_sized(settings, own_settings)) {
        return why.bad(
            "the settings are NULL, have a wrong size, or set a member that this version does not "
            "have");
    }
    if (plan != nullptr && !read_sized(plan, own_plan)) {
        return why.bad(
            "the plan has a wrong size, or sets a member that this version does not have");
    }
    if (const char* const member = senseless_point(own_settings, own_plan); member != nullptr) {
        return why.bad("the value of " + std::string(member) + " has no meaning");
    }
    into.settings = settings_of(own_settings);
    into.plan = plan_of(own_plan);
    return WIREPROOF_OK;
}

}  // namespace wireproof::c

using namespace wireproof;
using namespace wireproof::c;

int wireproof_has_lab() {
    return 1;
}

const char* wireproof_point_protocol(size_t index) {
    return guarded(
        [&]() -> const char* {
            static const std::vector<std::string> names = [] {
                std::vector<std::string> copies;
                for (const std::string_view name : lab::point_protocols())
                    copies.emplace_back(name);
                return copies;
            }();
            return index < names.size() ? names[index].c_str() : nullptr;
        },
        [](wireproof_status, const char*) -> const char* { return nullptr; });
}

wireproof_status wireproof_point_run(const wireproof_point_settings* settings,
                                     const wireproof_point_plan* plan,
                                     wireproof_point_figures* figures, char* why,
                                     size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (!is_writable(figures)) return reason.bad("the figures are NULL or have a wrong size");
    return simulate(reason, [&]() -> wireproof_status {
        Point point;
        const wireproof_status good = read_point(settings, plan, point, reason);
        if (good != WIREPROOF_OK) return good;
        const auto run = lab::run_point(point.settings, point.plan);
        if (!run) return reason.fail(WIREPROOF_FAILED, run.error());
        write_sized(figures_of(*run), figures, size_of(figures));
        return WIREPROOF_OK;
    });
}
