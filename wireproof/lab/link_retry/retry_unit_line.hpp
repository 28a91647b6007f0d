// The line of a protocol whose units are flits, as the settings of a point have it.
#pragma once

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

/// Puts the settings of the line into `link.line`. Says in one line what cannot work: for example,
/// the protocol has no such line.
Expected<void> apply_line(const RetrySettings& settings, RetryLink& link);

/// The probability that a frame of `bytes` bytes is bad: a unit if the link has a UnitLine.
double frame_error(const RetryLink& link, double bit_error, double bytes);

/// The settings without those that the line of the protocol does not have.
RetrySettings fit_line(RetrySettings settings);

}  // namespace wireproof::lab
