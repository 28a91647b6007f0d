#include "wireproof/front/c/point_structs.hpp"

#include "wireproof/front/c/guard.hpp"
#include "wireproof/front/c/sized.hpp"
#include "wireproof/lab.hpp"

namespace wireproof::c {

wireproof_point_settings default_settings() {
    const lab::PointSettings from;
    wireproof_point_settings settings{};
    settings.size = sizeof settings;
    settings.protocol = "pcie";  // as `from`, but it lives as long as the program
    settings.bit_error_rate = from.bit_error_rate;
    settings.notice_loss = from.notice_loss;
    settings.payload = from.payload;
    settings.buffer = from.buffer;
    settings.loop = from.loop;
    settings.timer = from.timer;
    settings.ack_every = from.ack_every;
    settings.clean_back = from.clean_back ? 1 : 0;
    settings.renak_on_bad_head = from.renak_on_bad_head ? 1 : 0;
    settings.loaded_back = from.loaded_back ? 1 : 0;
    settings.bursts_begin = from.bursts.begin;
    settings.bursts_end = from.bursts.end;
    settings.bursts_bad = from.bursts.bad;
    return settings;
}

wireproof_point_plan default_plan() {
    const lab::PointPlan from;
    wireproof_point_plan plan{};
    plan.size = sizeof plan;
    plan.packets = from.packets;
    plan.relative_error = from.relative_error;
    plan.packets_max = from.packets_max;
    plan.seed = from.seed;
    plan.jump = from.jump ? 1 : 0;
    return plan;
}

}  // namespace wireproof::c

wireproof_status wireproof_point_settings_init(wireproof_point_settings* settings, size_t size) {
    return wireproof::c::guarded(
        [&] { return wireproof::c::init_sized(wireproof::c::default_settings(), settings, size); },
        [](wireproof_status status, const char*) { return status; });
}

wireproof_status wireproof_point_plan_init(wireproof_point_plan* plan, size_t size) {
    return wireproof::c::init_sized(wireproof::c::default_plan(), plan, size);
}
