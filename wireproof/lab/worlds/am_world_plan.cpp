#include "wireproof/lab/worlds/am_world_plan.hpp"

#include <algorithm>
#include <cmath>

#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::lab {
namespace {

constexpr double fault_max = 0.2;  // for each kind of fault (AM-53)
constexpr std::uint64_t transfer_bytes_max = 300'000;

/// Random numbers with a shape: most figures need many small values and some large ones.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
    bool chance(double probability) { return random_.chance(probability); }
    double uniform() { return random_.uniform(); }
    std::uint32_t between(std::uint32_t least, std::uint32_t most) {
        return least + static_cast<std::uint32_t>(random_.below(most - least + 1));
    }
    /// Uniform in the logarithm.
    double spread(double least, double most) {
        return least * std::pow(most / least, random_.uniform());
    }

private:
    Random random_;
};

// The receiver holds acknowledgements back below a quarter of the window. The rest must have room
// for a chunk (AM-51).
std::uint32_t widened(std::uint32_t window, std::uint32_t chunk) {
    while (window + (window >= 4 ? 1 : 0) < chunk + window / 4) ++window;
    return window;
}

// W < M / 4, and often near that limit: the numbers wrap after a few windows.
void draw_modulus(Dice& dice, am::Config& config, std::uint64_t most) {
    const std::uint64_t least = 4 * std::max<std::uint64_t>(config.window[0], config.window[1]) + 4;
    config.modulus = most;
    if (dice.chance(0.7)) {
        config.modulus = std::min(most, least + dice.below(3 * least));
    }
    for (std::size_t i = 0; i < am::channel_count; ++i) {
        const std::uint64_t before_wrap = 1 + dice.below(2ULL * config.window[i]);
        config.first_number[i] = static_cast<std::uint32_t>(config.modulus - before_wrap);
    }
}

am::Config draw_sp2(Dice& dice) {
    am::Config config = am::Config::sp2();
    for (auto& first : config.first_number) first = 65'535 - dice.between(0, 200);
    return config;
}

// Windows of a few packets, which meet every limit all the time.
am::Config draw_small(Dice& dice) {
    am::Config config;
    config.layout = dice.chance(0.5) ? am::Layout::sp2 : am::Layout::ethernet;
    config.recovery = dice.chance(0.5) ? am::Recovery::go_back_n : am::Recovery::selective;
    config.packet_max = config.header_size() + 32 + 4 * dice.below(30);
    config.message_max = 4 * dice.between(0, static_cast<std::uint32_t>(config.data_max() / 4));
    config.chunk_packets = dice.between(1, 9);
    config.chunks_in_flight = dice.between(1, 3);
    config.ack_chunks = dice.between(1, config.chunks_in_flight);
    for (auto& window : config.window) {
        window = widened(dice.between(1, 2 * config.chunk_packets + 8), config.chunk_packets);
    }
    config.reply_places = dice.between(1, 8);
    config.stores_max = dice.between(1, 4);
    config.gets_max = dice.between(1, 4);
    config.get_slots = dice.between(1, 3);
    config.save_bytes =
        std::max<std::size_t>({config.message_max + am::BundleEntry::size, am::HelloBody::size}) +
        dice.below(20 * config.data_max());
    config.held_packets = dice.between(0, 8);
    config.poll_every = 1;
    draw_modulus(dice, config, config.layout == am::Layout::sp2 ? 1U << 16 : 1ULL << 32);
    return config;
}

am::Config draw_ethernet(Dice& dice, am::Recovery recovery) {
    constexpr std::array<std::size_t, 5> mtus = {128, 576, 1500, 4096, 9000};
    am::Config config = am::Config::ethernet(mtus[dice.below(mtus.size())]);
    config.recovery = recovery;
    if (dice.chance(0.7)) {  // too little is in flight here to fill the windows of a real path
        config.chunk_packets = dice.between(8, 32);
        config.chunks_in_flight = dice.between(1, 4);
        config.ack_chunks = dice.between(1, config.chunks_in_flight);
        const std::uint32_t bulk = config.chunk_packets * config.chunks_in_flight;
        for (auto& window : config.window) {
            window = widened(bulk + dice.between(3, 30), config.chunk_packets);
        }
    }
    draw_modulus(dice, config, 1ULL << 32);
    return config;
}

// The bytes of a store that its OPEN carries: as many as fit, none, or a number between.
void draw_open_bytes(Dice& dice, am::Config& config) {
    const std::size_t most = config.data_max() - am::OpenBody::size;
    config.open_bytes = dice.chance(0.3) ? 0 : dice.chance(0.4) ? most : dice.below(most + 1);
    config.save_bytes = std::max(config.save_bytes, am::OpenBody::size + config.open_bytes);
}

am::Config draw_config(Dice& dice, std::string& what) {
    am::Config config;
    const double kind = dice.uniform();
    if (kind < 0.2) {
        config = draw_sp2(dice);
        what = "sp2";
    } else if (kind < 0.6) {
        config = draw_small(dice);
        what = "small";
    } else {
        config =
            draw_ethernet(dice, kind < 0.85 ? am::Recovery::selective : am::Recovery::go_back_n);
        what = "ethernet";
    }
    what += config.recovery == am::Recovery::selective ? " selective" : " go-back-N";
    if (!what.starts_with("sp2") && dice.chance(0.6)) {
        config.bundle_max = dice.below(config.data_max() + 1);
    }
    if (config.bundle_max > 0) what += " bundling";
    if (!what.starts_with("sp2")) draw_open_bytes(dice, config);
    if (config.open_bytes > 0) what += ", OPEN with " + std::to_string(config.open_bytes);
    // A launcher gives sp2 its session; the others have a session from the start or agree on one.
    if (what.starts_with("sp2") || dice.chance(0.3)) config.cookie = dice.below(1ULL << 32) | 1;
    config.job = dice.below(1ULL << 32);
    config.seed = dice.below(1ULL << 32);
    return config;
}

FaultRates draw_faults(Dice& dice, const am::Config& config) {
    FaultRates faults;
    const auto rate = [&dice] { return dice.chance(0.4) ? 0.0 : fault_max * dice.uniform(); };
    faults.loss = rate();
    faults.duplicate = rate();
    faults.reorder = rate();
    faults.hold_max = dice.between(1, 8);
    // The rate is for a frame of half the largest size.
    const double bits = 4.0 * static_cast<double>(config.packet_max + config.header_size());
    faults.bit_error = rate() / bits;
    return faults;
}

// The longest time by which a frame may be late: in this time, at most M/2 - W new numbers leave
// after it, so the receiver never takes it for a new one (docs/rules/am.md).
Duration lateness_max(const am::Config& config, Duration header_time) {
    const std::uint64_t window = std::max(config.window[0], config.window[1]);
    const std::uint64_t numbers = config.modulus / 2 - window;
    return header_time * static_cast<std::int64_t>(std::min<std::uint64_t>(numbers, 1 << 20));
}

void draw_network(Dice& dice, AmWorldPlan& plan) {
    sim::NetworkConfig& network = plan.network;
    network.nodes = dice.chance(0.6) ? 2 : dice.between(3, 4);
    network.seed = dice.below(1ULL << 32);
    network.frame_max = plan.am.packet_max;
    network.flip_bits = dice.chance(0.25);
    network.bytes_per_second = static_cast<std::uint64_t>(dice.spread(3e7, 1.25e10));
    const auto time_of = [&](std::size_t bytes) {
        return Duration(
            static_cast<std::int64_t>(bytes * 1'000'000'000'000 / network.bytes_per_second));
    };
    const Duration packet_time = time_of(plan.am.packet_max);
    // The lane lends room for no more frames than this. So the packets in flight fill about one
    // round trip, as with the FIFO of an adapter.
    network.in_flight_max = dice.between(4, 32);
    const auto in_flight = static_cast<std::int64_t>(network.in_flight_max);
    network.latency = Duration(static_cast<std::int64_t>(
        dice.spread(0.2, 0.5) * static_cast<double>((packet_time * in_flight).picoseconds())));
    const Duration late = lateness_max(plan.am, time_of(plan.am.header_size()));
    const Duration half_late(late.picoseconds() / 2);
    if (dice.chance(0.5)) {
        const double share = fault_max * dice.uniform();
        network.jitter = Duration(
            static_cast<std::int64_t>(share * static_cast<double>(network.latency.picoseconds())));
        network.jitter = std::min(network.jitter, half_late);
    }
    network.hold_limit = std::min(packet_time * 20, half_late);

    plan.faults.resize(plan.nodes() * plan.nodes());
    const bool perfect = dice.chance(0.1);
    const bool same = dice.chance(0.5);
    const FaultRates everywhere = draw_faults(dice, plan.am);
    for (auto& faults : plan.faults) {
        if (!perfect) faults = same ? everywhere : draw_faults(dice, plan.am);
    }

    Duration slowest;
    plan.rhythm.resize(plan.nodes());
    for (Duration& rhythm : plan.rhythm) {
        if (dice.chance(0.5)) {
            rhythm = Duration(static_cast<std::int64_t>(
                dice.uniform() * static_cast<double>(network.latency.picoseconds())));
        }
        slowest = std::max(slowest, rhythm);
    }
    plan.round_trip = (network.latency + network.jitter + network.hold_limit + slowest +
                       packet_time * in_flight) *
                      2;
}

void draw_patience(Dice& dice, AmWorldPlan& plan) {
    am::Config& config = plan.am;
    if (dice.chance(0.4)) plan.pause_chance = dice.spread(0.0005, 0.02);
    plan.pause_max = plan.round_trip * static_cast<std::int64_t>(dice.between(1, 30));
    config.keepalive_after =
        plan.round_trip * static_cast<std::int64_t>(dice.between(2, 6)) + Duration::nanoseconds(1);
    const auto probe = plan.round_trip * static_cast<std::int64_t>(dice.between(0, 4));
    config.probe_after = std::min(probe, config.keepalive_after);
    const auto held = plan.round_trip * static_cast<std::int64_t>(dice.between(0, 2));
    config.ack_after = std::min(held, config.keepalive_after);
    config.keepalive_max = config.keepalive_after * static_cast<std::int64_t>(dice.between(1, 32));
    // If a fifth of the frames are lost and a fifth damaged in each direction, an answer arrives in
    // 41 of 100 cases. 64 failures in a row are rarer than one in 10^14.
    config.keepalive_limit = 64;
    if (config.resend_limit > 0) config.resend_limit = 64;  // any packet of a chunk may fail
    config.peer_timeout = std::max(plan.pause_max, config.keepalive_max) * 4;
}

AmTrafficPlan draw_traffic(Dice& dice, const am::Config& config, std::uint32_t packets) {
    AmTrafficPlan traffic;
    traffic.packets = packets;
    traffic.threads = dice.between(1, 3);
    traffic.burst = dice.chance(0.5) ? 1000 : dice.between(1, 8);
    traffic.requests = dice.uniform();
    traffic.stores = dice.chance(0.7) ? dice.spread(0.01, 1) : 0;
    traffic.gets = dice.chance(0.7) ? dice.spread(0.01, 1) : 0;
    traffic.answered = dice.chance(0.3) ? 1 : dice.uniform();
    traffic.refused = dice.chance(0.3) ? 0.1 * dice.uniform() : 0;
    traffic.message_max = config.message_max;
    traffic.bytes_max = std::min<std::uint64_t>(
        transfer_bytes_max, config.chunk_bytes() * dice.between(1, 5) + dice.below(1000));
    return traffic;
}

FrameInfo describe_length(ConstBytes frame) {
    FrameInfo info = describe_nothing(frame);
    info.kind = frame.size() > AmWorldPlan::short_frame ? "long" : "short";
    return info;
}

// Some paths, in one or both directions. Uses separate random numbers, so that all other worlds
// stay the same.
void draw_black_holes(AmWorldPlan& plan) {
    constexpr double share = 0.25;
    Dice dice(mix64(plan.seed ^ 0x10C));
    plan.loses_long.resize(plan.nodes() * plan.nodes());
    const bool can_end = plan.am.resend_limit > 0 && !plan.am.cookie;
    if (!can_end || plan.am.packet_max <= AmWorldPlan::short_frame || !dice.chance(share)) return;
    for (std::size_t pair = 0; pair < plan.loses_long.size(); ++pair) {
        plan.loses_long[pair] = dice.chance(0.5);
    }
    plan.network.describe = describe_length;
    if (plan.has_black_holes()) plan.what += ", long packets are lost";
}

// Routers that mark packets. Uses separate random numbers, too. In about half of the worlds with
// selective recovery, senders answer marks: they have congestion control.
void draw_marks(AmWorldPlan& plan) {
    constexpr double share = 0.25;
    Dice dice(mix64(plan.seed ^ 0xECE));
    if (!dice.chance(share)) return;
    for (FaultRates& faults : plan.faults) {
        if (dice.chance(0.7)) faults.mark = dice.spread(0.001, 0.5);
    }
    plan.what += ", marks";
    if (dice.chance(0.5) || plan.am.recovery != am::Recovery::selective) return;
    plan.am.congestion = dice.chance(0.5) ? am::Congestion::by_loss : am::Congestion::by_path;
}

// The probability that a later packet overtakes this one, if packets are `apart` in time and each
// is late by up to `jitter`.
double overtaken(Duration jitter, Duration apart) {
    const double steps = static_cast<double>(jitter.picoseconds()) /
                         static_cast<double>(std::max(apart, Duration(1)).picoseconds());
    double sum = 0;
    for (double k = 1; k < steps; ++k) sum += (1 - k / steps) * (1 - k / steps) / 2;
    return std::min(sum, 0.5);
}

}  // namespace

bool AmWorldPlan::has_black_holes() const {
    return std::find(loses_long.begin(), loses_long.end(), true) != loses_long.end();
}

double AmWorldPlan::gap_rate(std::size_t pair) const {
    const FaultRates& rates = faults[pair];
    const double bits = 8.0 * static_cast<double>(am.packet_max);
    const Duration header_time(
        static_cast<std::int64_t>(am.header_size() * 1'000'000'000'000 / network.bytes_per_second));
    const double in_order = (1 - rates.loss) * std::pow(1 - rates.bit_error, bits) *
                            (1 - rates.reorder) * (1 - overtaken(network.jitter, header_time));
    return 1 - in_order;
}

double AmWorldPlan::pipeline() const {
    return static_cast<double>(
        std::min<std::uint64_t>(std::max(am.window[0], am.window[1]), 2 * network.in_flight_max));
}

double AmWorldPlan::expected_cost(std::size_t pair) const {
    const double gaps = gap_rate(pair);
    const double tries = 1 / (1 - gaps);
    if (am.recovery == am::Recovery::selective) return tries;
    return 1 + pipeline() * gaps * tries;
}

AmWorldPlan::AmWorldPlan(std::uint64_t world_seed, std::optional<am::Congestion> congestion)
    : seed(world_seed) {
    Dice dice(mix64(world_seed));
    am = draw_config(dice, what);
    draw_network(dice, *this);
    draw_patience(dice, *this);
    traffic.resize(nodes() * nodes());
    const double packets = dice.spread(20, 3000);
    const bool one_way = dice.chance(0.2);
    for (std::size_t from = 0; from < nodes(); ++from) {
        for (std::size_t to = 0; to < nodes(); ++to) {
            if (from == to || (one_way && from > to)) continue;
            if (nodes() > 2 && dice.chance(0.2)) continue;  // these two nodes do not talk
            const double share = packets * dice.uniform() / static_cast<double>(nodes() - 1);
            traffic[pair(from, to)] = draw_traffic(dice, am, static_cast<std::uint32_t>(1 + share));
        }
    }
    network.prefers_equal_sizes = dice.chance(0.5);
    what += ", " + std::to_string(nodes()) + " nodes, windows " + std::to_string(am.window[0]) +
            '/' + std::to_string(am.window[1]) + ", chunk " + std::to_string(am.chunk_packets) +
            ", modulus " + std::to_string(am.modulus) + ", in flight " +
            std::to_string(network.in_flight_max) + (network.prefers_equal_sizes ? ", filled" : "");
    draw_black_holes(*this);
    draw_marks(*this);
    if (congestion && am.recovery == am::Recovery::selective) am.congestion = *congestion;
    if (am.congestion != am::Congestion::off) {
        what += ", congestion control by " + std::string(congestion::name_of(am.congestion));
    }
}

}  // namespace wireproof::lab
