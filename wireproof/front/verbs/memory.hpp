// Protection domains and memory regions.
#pragma once

#include <atomic>
#include <optional>

#include "wireproof/front/verbs/api.hpp"
#include "wireproof/proto/ib/memory_table.hpp"

namespace wireproof::verbs {

struct ProtectionDomain : ibv_pd {
    std::atomic<std::uint32_t> users = 0;  // regions, queue pairs, …: it stays while there are some

    static ProtectionDomain& of(ibv_pd* domain) { return *static_cast<ProtectionDomain*>(domain); }
};

/// Nothing: flags that the device does not know, or does not allow together.
std::optional<proto::ib::Access> access_of(unsigned flags);
/// Of what a peer may do, as a queue pair shows it.
unsigned flags_of(const proto::ib::Access& access);

}  // namespace wireproof::verbs
