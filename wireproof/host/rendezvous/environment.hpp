// Reads environment variables. An error names the variable.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "wireproof/base/expected.hpp"
#include "wireproof/host/rendezvous/rendezvous_text.hpp"

namespace wireproof::host {

inline bool is_set(const char* variable) {
    return std::getenv(variable) != nullptr;
}

/// Empty: it is not set.
inline std::string text_in(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? std::string() : std::string(text);
}

inline std::string not_set(const char* variable) {
    return std::string(variable) + " is not set";
}

/// A number from `least` to `most`.
inline Expected<std::uint64_t> number_in(const char* variable, std::uint64_t least,
                                         std::uint64_t most) {
    if (!is_set(variable)) return unexpected(not_set(variable));
    const auto number = number_of(text_in(variable), most);
    if (!number || *number < least) {
        return unexpected(std::string(variable) + " is no number from " + std::to_string(least) +
                          " to " + std::to_string(most));
    }
    return *number;
}

}  // namespace wireproof::host
