#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/front/verbs/objects/context.hpp"
#include "wireproof/proto/ib/transport/memory_table.hpp"

namespace wireproof::verbs {

/// The result is empty if a window cannot give these rights.
std::optional<proto::ib::WindowBind> bind_of(const ibv_mw& window, std::uint32_t key,
                                             const ibv_mw_bind_info& info);

// Entries of the table of operations.
ibv_mw* allocate_window(ibv_pd* domain, ibv_mw_type type);
int free_window(ibv_mw* window);
int bind_window(ibv_qp* queue_pair, ibv_mw* window, ibv_mw_bind* bind);

}  // namespace wireproof::verbs
