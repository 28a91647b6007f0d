// Numbers that the user gives to tests of random worlds: WIREPROOF_SEED and WIREPROOF_WORLDS.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace wireproof {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

}  // namespace wireproof
