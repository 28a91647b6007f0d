// The wires between the two processes of a carry. What both need is created before the fork. Then
// each process opens its own end and closes the other.
#pragma once

#include <array>
#include <memory>

#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/host/any_wire.hpp"

namespace wireproof::app {

/// The end of one process, with its faults.
class LiveEnd {
public:
    virtual ~LiveEnd() = default;
    /// The wire borrows from this end.
    virtual host::AnyWire wire() = 0;
    virtual void add_counts(SideCounts& counts) const = 0;
};

/// An end before the fork.
class ClosedEnd {
public:
    virtual ~ClosedEnd() = default;
    /// Call it once. Throws Failure.
    virtual std::unique_ptr<LiveEnd> open() = 0;
};

using LivePair = std::array<std::unique_ptr<ClosedEnd>, 2>;

/// Uses the wire that the options name. Throws Failure.
LivePair open_live_pair(const CarryOptions& options);

}  // namespace wireproof::app
