// sweep --advise: which buffer, timer and limits a line needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wireproof/lab/link_retry/retry_advice.hpp"

namespace wireproof::cli {

/// Bits per second: "800g", "2.5T", "100000000000". Nothing for other texts and for 0.
std::optional<double> parse_rate(std::string_view text);
/// Metres: "500m", "1.5km", "0m". Nothing for other texts.
std::optional<double> parse_length(std::string_view text);

/// Simulates all protocols that can advise, and returns a text or one JSON object (schema
/// wireproof.advice/1). Throws Failure.
std::string advice_for(const lab::AdviceLine& line, const lab::RetryPlan& plan, bool json);

}  // namespace wireproof::cli
