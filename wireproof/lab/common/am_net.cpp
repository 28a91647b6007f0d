#include "wireproof/lab/common/am_net.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace wireproof::lab {
namespace {

// am::Stats has only counters. The addition treats it as an array, so it also covers counters that
// a later version adds.
using Counters = std::array<std::uint64_t, sizeof(am::Stats) / sizeof(std::uint64_t)>;

void add(am::Stats& sum, const am::Stats& stats) {
    auto counters = std::bit_cast<Counters>(sum);
    const auto more = std::bit_cast<Counters>(stats);
    for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += more[i];
    sum = std::bit_cast<am::Stats>(counters);
}

}  // namespace

void AmUser::on_verdict(std::size_t, std::size_t, RxVerdict) {}
void AmUser::on_departure(std::size_t, std::size_t, const TxFrame&, ConstBytes) {}

AmNet::AmNet(const sim::NetworkConfig& network, const am::Config& config, std::uint64_t seed)
    : config_(config),
      seed_(seed),
      network_(network),
      schedule_(network.nodes),
      memory_(network.nodes * (network.nodes - 1)) {
    ends_.reserve(memory_.size());
    for (std::size_t node = 0; node < nodes(); ++node) {
        for (std::size_t peer = 0; peer < nodes(); ++peer) {
            if (peer == node) continue;
            ends_.emplace_back(config_of(node, peer), memory_[index(node, peer)]);
        }
    }
}

am::Config AmNet::config_of(std::size_t node, std::size_t peer) const {
    am::Config config = config_;
    config.node = static_cast<std::uint16_t>(node);
    config.peer = static_cast<std::uint16_t>(peer);
    config.seed = mix64(seed_ + node + lives_ * nodes());
    if (config_.cookie) {
        const auto [low, high] = std::minmax(node, peer);
        config.cookie = mix64(*config_.cookie + low * nodes() + high) | 1;
    }
    return config;
}

void AmNet::restart(std::size_t node) {
    ++lives_;
    for (std::size_t peer = 0; peer < nodes(); ++peer) {
        if (peer == node) continue;
        add(ended_, at(node, peer).stats());
        at(node, peer) = am::Connection(config_of(node, peer), memory(node, peer));
        if (handlers_) at(node, peer).bind_handlers(*handlers_);
    }
    schedule_.wake(node, schedule_.now());
}

void AmNet::have_handlers(const am::HandlerTable& handlers) {
    handlers_ = handlers;
    for (am::Connection& end : ends_) end.bind_handlers(*handlers_);
}

sim::RunResult AmNet::run(AmUser& user, sim::RunLimits limits) {
    return run_until(
        user, [] { return false; }, limits);
}

sim::RunResult AmNet::run_until(AmUser& user, const Done& done, sim::RunLimits limits) {
    const auto step = [&](std::size_t node, Instant now) { return turn(user, node, now); };
    return sim::run(network_, schedule_, step, done, limits);
}

Instant AmNet::turn(AmUser& user, std::size_t node, Instant now) {
    sim::NodeWire& wire = network_.wire(node);
    while (const auto frame = wire.receive(now)) {
        const auto peer = static_cast<std::size_t>(frame->from);
        user.on_verdict(node, peer, at(node, peer).on_frame(now, *frame));
        draw(user, node, peer, now);
    }
    for (std::size_t peer = 0; peer < nodes(); ++peer) {
        if (peer == node || at(node, peer).next_deadline() > now) continue;
        at(node, peer).on_deadline(now);
        draw(user, node, peer, now);
    }
    Instant next = user.on_turn(node, now);
    for (std::size_t peer = 0; peer < nodes(); ++peer) {
        if (peer == node) continue;
        transmit(user, node, peer, now);
        next = std::min(next, at(node, peer).next_deadline());
    }
    wire.flush(now);
    return next;
}

void AmNet::draw(AmUser& user, std::size_t node, std::size_t peer, Instant now) {
    while (const auto delivery = at(node, peer).next_delivery()) {
        user.on_delivery(node, peer, now, *delivery);
    }
}

void AmNet::transmit(AmUser& user, std::size_t node, std::size_t peer, Instant now) {
    sim::Cable& lane = network_.wire(node).lane(PeerId{static_cast<std::uint16_t>(peer)});
    while (TxFrame* room = lane.claim()) {
        if (!at(node, peer).poll_transmit(now, *room)) return;
        user.on_departure(node, peer, *room, room->pieces()[0]);
        lane.commit();
    }
}

am::Stats AmNet::totals() const {
    am::Stats sum = ended_;
    for (const am::Connection& end : ends_) add(sum, end.stats());
    return sum;
}

}  // namespace wireproof::lab
