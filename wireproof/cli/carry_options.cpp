#include "wireproof/cli/carry_options.hpp"

#include <CLI/CLI.hpp>

#include <limits>
#include <random>

#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/verbs.hpp"

namespace wireproof::cli {
namespace {

void add_probability(CLI::App& verb, const char* name, double& value, const char* what) {
    accept_range(*verb.add_option(name, value, what)->type_name("P"), 0, 1);
}

}  // namespace

void add_fault_options(CLI::App& verb, CarryOptions& options) {
    FaultRates& faults = options.faults;
    add_probability(verb, "--loss", faults.loss, "lose a frame, with a probability of 0 to 1");
    add_probability(verb, "--ber", faults.bit_error, "flip a bit");
    add_probability(verb, "--duplicate", faults.duplicate, "send a frame twice");
    add_probability(verb, "--reorder", faults.reorder, "hold a frame back behind the next 1 to 8");
    options.seed = chosen_seed(0);
    accept_whole(*verb.add_option("--seed", options.seed, "repeat a run: of faults and sessions")
                      ->type_name("N"),
                 0, std::numeric_limits<std::uint64_t>::max());
}

CLI::Option* add_path_options(CLI::App& verb, CarryOptions& options) {
    CLI::Option* const mtu =
        verb.add_option("--mtu", options.mtu, "IP packet, 128 to 65535 bytes, same at both ends")
            ->type_name("N")
            ->capture_default_str();
    accept_whole(*mtu, 128, 65535);
    accept_range(*verb.add_option("--peer-timeout", options.peer_timeout,
                                  "seconds of silence after which a side gives up")
                      ->type_name("S")
                      ->capture_default_str(),
                 0.1, 86400);
    return mtu;
}

std::uint64_t chosen_seed(std::uint64_t asked) {
    if (asked != 0) return asked;
    std::random_device system;
    // Short enough to be typed again.
    return 1 + system() % 1'000'000'000;
}

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

}  // namespace wireproof::cli
