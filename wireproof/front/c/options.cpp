#include "wireproof/front/c/options.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "wireproof/front/c/sized.hpp"

namespace wireproof::c {
namespace {

constexpr std::size_t nodes_max = 65'536;

wireproof_options defaults() {
    const am::Options from;
    wireproof_options options{};
    options.size = sizeof options;
    options.mtu = from.mtu;
    options.peer_timeout_ms = static_cast<std::uint64_t>(from.peer_timeout.count());
    options.congestion_control = static_cast<std::uint32_t>(from.congestion_control);
    options.congestion_algorithm = static_cast<std::uint32_t>(from.congestion_algorithm);
    options.active_peers = from.active_peers;
    options.publish_counters = from.publish_counters ? 1 : 0;
    return options;
}
static_assert(static_cast<int>(am::CongestionControl::between_hosts) ==
              WIREPROOF_CONGESTION_BETWEEN_HOSTS);
static_assert(static_cast<int>(am::CongestionControl::always) == WIREPROOF_CONGESTION_ALWAYS);
static_assert(static_cast<int>(am::CongestionControl::never) == WIREPROOF_CONGESTION_NEVER);
static_assert(static_cast<int>(am::CongestionAlgorithm::by_loss) == WIREPROOF_CONGESTION_BY_LOSS);
static_assert(static_cast<int>(am::CongestionAlgorithm::by_path) == WIREPROOF_CONGESTION_BY_PATH);

/// The name of a member whose value has no meaning; nullptr if there is none.
const char* senseless(const wireproof_options& options) {
    if (options.peers == nullptr && options.nodes != 0) return "peers";
    if (options.nodes > nodes_max) return "nodes";
    if (options.congestion_control > WIREPROOF_CONGESTION_NEVER) return "congestion_control";
    if (options.congestion_algorithm > WIREPROOF_CONGESTION_BY_PATH) return "congestion_algorithm";
    if (options.trust_payload > 1) return "trust_payload";
    if (options.publish_counters > 1) return "publish_counters";
    if (options.reserved != 0) return "reserved";
    if (options.reserved_2 != 0) return "reserved_2";
    return nullptr;
}

}  // namespace

wireproof_status read_options(const wireproof_options* options, am::Options& into, const Why& why) {
    wireproof_options read = defaults();
    if (!read_sized(options, read)) {
        return why.bad(
            "the options are NULL, have a wrong size, or set a member that this version does not "
            "have");
    }
    if (const char* const member = senseless(read); member != nullptr) {
        return why.bad("the value of " + std::string(member) + " in the options has no meaning");
    }
    for (std::size_t node = 0; node < read.nodes; ++node) {
        const char* const address = read.peers[node];
        into.peers.emplace_back(address != nullptr ? address : "");
    }
    into.self = read.self;
    into.job = read.job;
    into.mtu = read.mtu;
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    into.peer_timeout = std::chrono::milliseconds(std::min(read.peer_timeout_ms, most));
    into.congestion_control = static_cast<am::CongestionControl>(read.congestion_control);
    into.congestion_algorithm = static_cast<am::CongestionAlgorithm>(read.congestion_algorithm);
    into.trust_payload = read.trust_payload == 1;
    into.active_peers = read.active_peers;
    into.seed = read.seed;
    into.faults.loss = read.fault_loss;
    into.faults.bit_error = read.fault_bit_error;
    into.faults.duplicate = read.fault_duplicate;
    into.faults.reorder = read.fault_reorder;
    into.publish_counters = read.publish_counters == 1;
    return WIREPROOF_OK;
}

}  // namespace wireproof::c

wireproof_status wireproof_options_init(wireproof_options* options, size_t size) {
    return wireproof::c::init_sized(wireproof::c::defaults(), options, size);
}
