// Sleeping until there is something to do. A signal ends every sleep early, so callers look again
// and never count on time having passed.
#pragma once

#include <chrono>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/any_wire.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::host {

/// What a user allows. Picoseconds overflow after 106 days; who says more than 30 means for ever.
Duration duration_of(std::chrono::milliseconds limit);

/// From now until then, as an event loop wants it: zero where that is past, the longest there is
/// for `never`.
std::chrono::nanoseconds timeout_until(Instant deadline, const SteadyClock& clock);

/// Sleeps until the handle or the bell is readable (then true) or the deadline. Handles of -1 never
/// are; with `never` besides it sleeps until a signal.
bool wait_until(int handle, const SteadyClock& clock, Instant deadline, int bell = -1);

/// Sleeps until a frame came on the wire or the bell rang (then true), or the earlier of the
/// deadline and the wire's own. Returns at once if the wire has something already.
bool wait_until(AnyWire& wire, const SteadyClock& clock, Instant deadline, int bell = -1);

}  // namespace wireproof::host
