// The first failure of a point, frame by frame: the units before it, the one that was bad, what
// followed in vain, the notice or the timer, and the resent ones. Times are bytes on the line.
#pragma once

#include "wireproof/lab/ladder/ladder.hpp"
#include "wireproof/lab/retry/retry_point.hpp"

namespace wireproof::lab {

/// Whether a point's frames can be shown: of the engines; models have none.
bool has_frames(RetryProtocol protocol);

/// The run is that of `run_retry_point` with this plan, up to its first failure; the plan's trace
/// is not used, and its progress is told 0 throughout. Long stretches of like frames are cut to
/// their ends. Errors, in one line: those of the settings, a protocol without frames, or a run in
/// which no unit is sent in vain.
Expected<Ladder> run_retry_ladder(const RetrySettings& settings, const RetryPlan& plan);

}  // namespace wireproof::lab
