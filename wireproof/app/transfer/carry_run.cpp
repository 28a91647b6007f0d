#include "wireproof/app/transfer/carry_run.hpp"

#include "wireproof/app/common/failure.hpp"

namespace wireproof::app {

am::Config carry_config(const CarryOptions& options, std::uint16_t node, Address::Family family) {
    const auto ip = family == Address::Family::ipv6 ? am::IpVersion::v6 : am::IpVersion::v4;
    am::Config config = options.wire == "shm" ? am::Config::shared_memory()
                                              : am::Config::ethernet(options.mtu, {}, ip);
    config.node = node;
    config.peer = static_cast<std::uint16_t>(1 - node);
    config.seed = options.seed + node;
    config.give_up_after(Duration::from_seconds(options.peer_timeout));
    if (const auto checked = config.check(); !checked) {
        throw Failure("--mtu: " + checked.error().message);
    }
    return config;
}

SideCounts engine_counts(const am::Node& node, std::size_t peer) {
    const am::PeerCounters counters = node.counters(peer);
    SideCounts counts;
    counts.acks = counters.acks;
    counts.nacks = counters.nacks;
    counts.keepalives = counters.keepalives;
    counts.timeouts = counters.timeouts;
    return counts;
}

}  // namespace wireproof::app
