#pragma once

namespace wireproof::verbs {

/// The name under which a process publishes its counters (host::PublishedText).
inline constexpr const char* counters_name = "wireproof-verbs";

}  // namespace wireproof::verbs
