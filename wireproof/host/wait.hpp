// Sleeps until there is something to do. A signal ends any sleep early, so callers check again and
// do not assume that time has passed.
#pragma once

#include <chrono>
#include <span>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/any_wire.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::host {

/// The time limit of a user, as a Duration of 0 to 30 days. Picoseconds overflow after 106 days.
Duration duration_of(std::chrono::milliseconds limit);

/// The time from now until `deadline`, for an event loop: zero if it is past, the maximum for
/// `never`.
std::chrono::nanoseconds timeout_until(Instant deadline, const SteadyClock& clock);

/// Sleeps until a handle is readable (returns true) or until the deadline. It takes at most 4
/// handles. A handle of -1 is never readable. If all are -1 and the deadline is `never`, it sleeps
/// until a signal.
bool wait_until(std::span<const int> handles, const SteadyClock& clock, Instant deadline);
/// The same for one handle and a bell.
bool wait_until(int handle, const SteadyClock& clock, Instant deadline, int bell = -1);

/// Sleeps until a frame arrives on the wire or the bell rings (returns true), or until the earlier
/// of the deadline and the wire's own. Returns true at once if the wire has something already.
bool wait_until(AnyWire& wire, const SteadyClock& clock, Instant deadline, int bell = -1);

/// Lets another thread run on this processor, if one is ready. Returns when this one runs again.
void yield_processor();

}  // namespace wireproof::host
