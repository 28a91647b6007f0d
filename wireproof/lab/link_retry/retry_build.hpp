// Points with engines that are no link engines. Settings and link as for run_retry_point.
#pragma once

#include "wireproof/lab/link_retry/retry_point.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::lab {

Expected<RetryPoint> run_am(const RetrySettings& settings, const RetryPlan& plan,
                            const RetryLink& link, am::Recovery recovery);
Expected<RetryPoint> run_rc(const RetrySettings& settings, const RetryPlan& plan,
                            const RetryLink& link);
Expected<RetryPoint> run_uc(const RetrySettings& settings, const RetryPlan& plan,
                            const RetryLink& link);

}  // namespace wireproof::lab
