// Roads between two nodes, with one interface for the tests. A road has a wire for each node, the
// number of the peer as each node sees it, and a time. The test advances the time, or the machine
// does. Each road is a type in the lists at the end.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/memory/memory_wire.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::parity {

/// Faults for the roads that can have them. Each direction has its own random faults.
struct RoadFaults {
    FaultRates rates = {};
    std::vector<FaultRule> script = {};
    std::uint64_t seed = 1;
    Describe describe = describe_nothing;
};

/// Time that passes only in rest(). Each frame in flight arrives in that time.
class HandTurnedTime {
public:
    static constexpr bool repeatable = true;

    Instant now() const { return now_; }
    void rest() { now_ = now_ + Duration::microseconds(200); }

private:
    Instant now_{Duration::milliseconds(1)};
};

/// The machine's time. Frames that were sent together may arrive at different times.
class MachineTime {
public:
    static constexpr bool repeatable = false;

    Instant now() const { return clock_.now(); }
    void rest() const { host::wait_until(-1, clock_, clock_.now() + Duration::microseconds(100)); }

private:
    host::SteadyClock clock_;
};

class SimulatedCable : public HandTurnedTime {
public:
    static std::string name() { return "SimulatedCable"; }

    explicit SimulatedCable(const RoadFaults& faults = {})
        : network_({.nodes = 2, .faults = faults.rates, .seed = faults.seed}) {}
    sim::NodeWire& wire(std::size_t node) { return network_.wire(node); }
    static PeerId peer(std::size_t node) { return static_cast<PeerId>(1 - node); }

private:
    sim::Network network_;
};

class MemoryRoad : public HandTurnedTime {
public:
    static std::string name() { return "Memory"; }

    explicit MemoryRoad(const RoadFaults& = {}) : link_(MemoryLink::Config{}) {}
    MemoryWire& wire(std::size_t node) { return link_.end(node); }
    static PeerId peer(std::size_t) { return PeerId{0}; }

private:
    MemoryLink link_;
};

/// Two sockets on this machine. The kernel chooses their ports.
class UdpRoad : public MachineTime {
public:
    static std::string name() { return "Udp"; }

    explicit UdpRoad(const RoadFaults& = {}) {
        const Address anywhere = *Address::parse("127.0.0.1:0");
        for (std::size_t i = 0; i < 2; ++i) {
            auto wire = UdpWire::open({.local = anywhere, .peers = {Address{}}, .batch = 256});
            WIREPROOF_CHECK(wire.has_value());
            wires_.push_back(std::move(*wire));
        }
        for (std::size_t i = 0; i < 2; ++i) {
            const auto set = wires_[i].set_peer(PeerId{0}, wires_[1 - i].local_address());
            WIREPROOF_CHECK(set.has_value());
        }
    }
    UdpWire& wire(std::size_t node) { return wires_[node]; }
    static PeerId peer(std::size_t) { return PeerId{0}; }

private:
    std::vector<UdpWire> wires_;
};

/// Two nodes of this process on one sealed memory. Its rings are short, so they wrap in the tests.
class ShmRoad : public MachineTime {
public:
    static std::string name() { return "Shm"; }

    explicit ShmRoad(const RoadFaults& = {}) {
        auto wires = ShmWire::pair({.frame_max = 2040, .lines = 256});
        WIREPROOF_CHECK(wires.has_value());
        wires_.push_back(std::move(wires->first));
        wires_.push_back(std::move(wires->second));
    }
    ShmWire& wire(std::size_t node) { return wires_[node]; }
    static PeerId peer(std::size_t node) { return static_cast<PeerId>(1 - node); }

private:
    std::vector<ShmWire> wires_;
};

/// Any other road with a FaultyWire at both ends.
template <class Road>
class Faulty : public Road {
public:
    static std::string name() { return "Faulty" + Road::name(); }

    explicit Faulty(const RoadFaults& faults = {}) {
        for (std::size_t i = 0; i < 2; ++i) {
            typename FaultyWire<Inner>::Config config;
            config.rates = faults.rates;
            config.script = faults.script;
            config.seed = faults.seed + 1000 * i;
            config.describe = faults.describe;
            ends_.emplace_back(std::move(Road::wire(i)), std::move(config));
        }
    }
    auto& wire(std::size_t node) { return ends_[node]; }

private:
    using Inner = std::remove_reference_t<decltype(std::declval<Road&>().wire(0))>;

    std::vector<FaultyWire<Inner>> ends_;
};

using Roads = testing::Types<SimulatedCable, MemoryRoad, UdpRoad, ShmRoad, Faulty<MemoryRoad>,
                             Faulty<UdpRoad>, Faulty<ShmRoad>>;
using FaultyRoads =
    testing::Types<SimulatedCable, Faulty<MemoryRoad>, Faulty<UdpRoad>, Faulty<ShmRoad>>;
using ScriptedRoads = testing::Types<Faulty<MemoryRoad>, Faulty<UdpRoad>, Faulty<ShmRoad>>;

struct RoadNames {
    template <class Road>
    static std::string GetName(int) {
        return Road::name();
    }
};

}  // namespace wireproof::parity
