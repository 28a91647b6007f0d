// The counters that programs and scripts know from adapters.
#pragma once

#include <span>

#include "wireproof/front/rdma/shown_port.hpp"

namespace wireproof::verbs {

/// "counters.…" and "hw_counters.…", as the kernel and its adapters have them.
std::span<const rdma::PortTotal> adapter_counters();

}  // namespace wireproof::verbs
