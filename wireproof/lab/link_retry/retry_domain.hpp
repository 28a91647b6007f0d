// Where the closed forms describe a link. They see one failure at a time, and a sender that nothing
// but failures delays. For each thing that they leave out there is a measure; the worst decides.
// The limits are those of random points (retry_domain_long_test.cpp): beyond the first one, a form
// may be wrong by some per cent, beyond the second one by any factor.
#pragma once

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

/// The domain of the closed form for a link that resolve() has made of these settings.
FormDomain form_domain(const RetrySettings& settings, const RetryLink& link, double unit_error);

}  // namespace wireproof::lab
