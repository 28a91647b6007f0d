// The wire of a node on UDP: a socket, and the faults that the user requests, if any, around it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/host/any_wire.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::am {

/// Owns the wire that its AnyWire borrows, so that the caller can read its counters.
class UdpNode {
public:
    struct Options {
        Address local = {};
        std::vector<Address> peers = {};       // by node, with this node itself
        bool unset_is_open = true;             // see UdpWire::Config
        std::optional<PeerId> only_peer = {};  // the other of two nodes; see UdpWire::Config
        std::size_t frame_max = 1472;
        Ecn ecn = Ecn::off;
        bool succeeds_ended = false;  // see UdpWire::Config
        FaultRates faults = {};
        std::uint64_t seed = 0;
    };

    /// Counts of the wire, for all peers together.
    struct Counts {
        std::uint64_t frames_sent = 0;  // by the protocol, before faults are applied
        std::uint64_t bytes_sent = 0;
        std::uint64_t frames_resent = 0;  // those of frames_sent whose content was sent before
        std::uint64_t lost = 0;  // by a fault on purpose, or because the kernel had no room
        std::uint64_t damaged = 0;
        std::uint64_t duplicated = 0;
        std::uint64_t unknown_source = 0;
    };

    static Expected<UdpNode> open(const Options& options);

    host::AnyWire wire() {
        return faulty_ != nullptr ? host::AnyWire(std::ref(*faulty_))
                                  : host::AnyWire(std::ref(*plain_));
    }
    UdpWire& socket() { return faulty_ != nullptr ? faulty_->inner() : *plain_; }
    const UdpWire& socket() const { return faulty_ != nullptr ? faulty_->inner() : *plain_; }
    Counts counts() const;

private:
    UdpNode() = default;

    // Exactly one of the two is set.
    std::unique_ptr<UdpWire> plain_;
    std::unique_ptr<FaultyWire<UdpWire>> faulty_;
};

}  // namespace wireproof::am
