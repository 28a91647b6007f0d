// What a user chooses by environment variables. A program with raised privileges reads none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::verbs {

inline constexpr const char* address_variable = "WIREPROOF_VERBS_ADDRESS";
inline constexpr const char* seed_variable = "WIREPROOF_VERBS_SEED";

struct Settings {
    /// Of an interface of this host. Nothing: the first of 127.0.0.1, 127.0.0.2, … that no other
    /// process has.
    std::optional<Address> address = {};
    /// Of numbers that a peer should not be able to guess. Nothing: the system's random source.
    std::optional<std::uint64_t> seed = {};
};

/// Empty texts choose nothing.
Expected<Settings> parse_settings(std::string_view address, std::string_view seed);

Expected<Settings> settings_of_environment();

}  // namespace wireproof::verbs
