// The first failure of a point, frame by frame: the units before it, the bad unit, the units that
// follow in vain, the notice or the timeout, and the resent units. Times are bytes on the line.
#pragma once

#include "wireproof/lab/ladder/ladder.hpp"
#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

/// Whether the frames of a point can be shown. Engines have frames, models have none.
bool has_frames(RetryProtocol protocol);

/// Runs the same point as `run_retry_point` with this plan, up to the first failure. It ignores the
/// trace of the plan and always reports the progress 0. Of a long stretch of like frames it keeps
/// the first and the last ones. Returns errors in one line: of the settings, of a protocol without
/// frames, or of a run in which no unit is sent in vain.
Expected<Ladder> run_retry_ladder(const RetrySettings& settings, const RetryPlan& plan);

}  // namespace wireproof::lab
