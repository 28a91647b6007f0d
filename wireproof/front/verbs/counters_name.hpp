#pragma once

namespace wireproof::verbs {

/// What the counters of a process are published as (host::PublishedText).
inline constexpr const char* counters_name = "wireproof-verbs";

}  // namespace wireproof::verbs
