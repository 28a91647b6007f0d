// The wires that join the two processes of a carry. What both need is made before the fork; each
// then opens its own end and lets the other's go.
#pragma once

#include <array>
#include <memory>

#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/host/any_wire.hpp"

namespace wireproof::cli {

/// A process's end, with its faults.
class LiveEnd {
public:
    virtual ~LiveEnd() = default;
    /// Borrows from this end.
    virtual host::AnyWire wire() = 0;
    virtual void add_counts(SideCounts& counts) const = 0;
};

/// An end as it is before the fork.
class ClosedEnd {
public:
    virtual ~ClosedEnd() = default;
    /// Once. Throws Failure.
    virtual std::unique_ptr<LiveEnd> open() = 0;
};

using LivePair = std::array<std::unique_ptr<ClosedEnd>, 2>;

/// On the wire that the options name. Throws Failure.
LivePair open_live_pair(const CarryOptions& options);

}  // namespace wireproof::cli
