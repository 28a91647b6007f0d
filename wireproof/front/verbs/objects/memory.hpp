// Protection domains and memory regions.
#pragma once

#include <atomic>
#include <optional>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/proto/ib/transport/memory_table.hpp"

namespace wireproof::verbs {

struct ProtectionDomain : ibv_pd {
    std::atomic<std::uint32_t> users = 0;  // regions, queue pairs, …; if not 0, it stays

    static ProtectionDomain& of(ibv_pd* domain) { return *static_cast<ProtectionDomain*>(domain); }
};

/// The result is empty if the device does not know a flag, or does not allow the flags together.
std::optional<proto::ib::Access> access_of(unsigned flags);
/// The rights that the device knows among the flags.
proto::ib::Access known_access_of(unsigned flags);
/// The flags for the rights of a peer, as a queue pair shows them.
unsigned flags_of(const proto::ib::Access& access);

}  // namespace wireproof::verbs
