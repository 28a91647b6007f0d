#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wireproof::congestion {

/// How an engine limits its packets in flight on a path that other flows share.
enum class Kind : std::uint8_t {
    off,      // it does not: no other flow shares the path
    by_loss,  // LossWindow
    by_path,  // PathModel
};

inline constexpr std::array<std::string_view, 3> kind_names = {"off", "loss", "path"};

constexpr std::string_view name_of(Kind kind) {
    return kind_names[static_cast<std::size_t>(kind)];
}

}  // namespace wireproof::congestion
