#include "wireproof/app/perf/perf_plan.hpp"

#include <algorithm>
#include <array>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof::app {

std::string PerfPlan::protocol_name() const {
    constexpr std::array names = {"sp-am", "rc", "uc"};
    return names[static_cast<std::size_t>(protocol)];
}

std::string PerfPlan::wire_name() const {
    constexpr std::array names = {"memory", "shm", "udp"};
    return names[static_cast<std::size_t>(wire)];
}

std::string PerfPlan::op_name() const {
    constexpr std::array names = {"request-reply", "stream", "store", "store-async", "get"};
    return names[static_cast<std::size_t>(op)];
}

am::Congestion PerfPlan::congestion_control() const {
    if (wire != PerfWire::udp) return am::Congestion::off;
    if (congestion) return *congestion;
    const auto address = Address::parse(to.empty() ? listen : to);
    const bool between_hosts = address && !address->is_loopback();
    return between_hosts ? am::Congestion::by_path : am::Congestion::off;
}

am::Config perf_config(const PerfPlan& plan, std::uint16_t node) {
    am::Config config = plan.wire == PerfWire::udp ? am::Config::ethernet(plan.mtu, {}, plan.ip())
                                                   : am::Config::shared_memory();
    if (plan.op == PerfOp::stream && plan.in_flight > 0) {
        // The window limits the messages in flight. Both ends must have the same window.
        const auto least = static_cast<std::uint32_t>(config.chunk_packets * 2);
        const auto asked = static_cast<std::uint32_t>(plan.in_flight);
        config.window[0] = std::max(asked, least);
    }
    config.congestion = plan.congestion_control();
    config.trusts_payload = plan.trust_payload;
    config.node = node;
    config.peer = static_cast<std::uint16_t>(1 - node);
    config.seed = plan.seed + node;
    if (const auto checked = config.check(); !checked) throw Failure(checked.error().message);
    return config;
}

}  // namespace wireproof::app
