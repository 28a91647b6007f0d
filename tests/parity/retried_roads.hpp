// Roads that lose and damage frames, with PCI Express below the engine to repair this. The link
// protocol runs directly over a cable. If the network also repeats and reorders, it runs inside
// datagrams of a sequenced wire.
#pragma once

#include <optional>
#include <vector>

#include "tests/parity/roads.hpp"

#include "wireproof/proto/pcie/link.hpp"
#include "wireproof/wire/retry/retry_wire.hpp"
#include "wireproof/wire/sequenced/sequenced_wire.hpp"

namespace wireproof::parity {

/// The configuration that a process would use, with timers for a road whose time the test advances.
inline pcie::Config link_config(std::size_t frame_max) {
    pcie::Config config = pcie::Config::of_datagrams(frame_max);
    config.first_number = config.modulus - 5;
    config.ack_latency = Duration::microseconds(300);
    config.replay_after = config.init_every = Duration::milliseconds(3);
    WIREPROOF_CHECK(config.check().has_value());
    return config;
}

/// PCI Express directly over a road that loses and damages, but neither repeats nor reorders.
template <class Road>
class Retried : public Road {
public:
    static std::string name() { return "Retried" + Road::name(); }

    explicit Retried(const RoadFaults& faults = {}) : Road(faults) {
        for (std::size_t i = 0; i < 2; ++i) {
            const std::size_t longest = Road::wire(i).lane(Road::peer(i)).capabilities().frame_max;
            ends_.emplace_back(pcie::Link(link_config(longest)), std::move(Road::wire(i)),
                               Road::peer(i));
        }
    }
    auto& wire(std::size_t node) { return ends_[node]; }
    const pcie::Stats& link_stats(std::size_t node) { return ends_[node].link().stats(); }

private:
    using Inner = std::remove_reference_t<decltype(std::declval<Road&>().wire(0))>;

    std::vector<RetryWire<pcie::Link, Inner>> ends_;
};

/// Any road with a sequenced wire at both ends.
template <class Road, std::uint32_t missing_max = 0>
class Sequenced : public Road {
public:
    static std::string name() { return "Sequenced" + Road::name(); }

    explicit Sequenced(const RoadFaults& faults = {}) : Road(faults) {
        for (std::size_t i = 0; i < 2; ++i) {
            ends_.emplace_back(std::move(Road::wire(i)),
                               SequencedConfig{.link = 77,
                                               .peer = Road::peer(i),
                                               .seed = faults.seed + i,
                                               .missing_max = missing_max});
        }
    }
    auto& wire(std::size_t node) { return ends_[node]; }

private:
    using Inner = std::remove_reference_t<decltype(std::declval<Road&>().wire(0))>;

    std::vector<SequencedWire<Inner>> ends_;
};

}  // namespace wireproof::parity
