#include "wireproof/front/verbs/settings.hpp"

#include <charconv>
#include <cstdlib>
#include <string>

#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::verbs {
namespace {

Expected<Address> parse_address(std::string_view text) {
    const std::string host(text);
    auto address = Address::parse(text.find(':') == text.npos ? host + ":0" : "[" + host + "]:0");
    if (!address) return unexpected(std::string(address_variable) + ": " + address.error().message);
    address->port = rocev2_port;
    if (const auto why = address->why_no_peer(); !why.empty()) {
        return unexpected(std::string(address_variable) + ": " + host + " " + std::string(why));
    }
    return address;
}

Expected<std::uint64_t> parse_seed(std::string_view text) {
    std::uint64_t seed = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, seed);
    if (error == std::errc() && stopped == end) return seed;
    return unexpected(std::string(seed_variable) + ": '" + std::string(text) +
                      "' is not a number of at most 64 bits");
}

std::string_view variable(const char* name) {
    const char* const text = ::secure_getenv(name);
    return text == nullptr ? std::string_view() : text;
}

}  // namespace

Expected<Settings> parse_settings(std::string_view address, std::string_view seed) {
    Settings settings;
    if (!address.empty()) {
        const auto parsed = parse_address(address);
        if (!parsed) return tl::unexpected(parsed.error());
        settings.address = *parsed;
    }
    if (!seed.empty()) {
        const auto parsed = parse_seed(seed);
        if (!parsed) return tl::unexpected(parsed.error());
        settings.seed = *parsed;
    }
    return settings;
}

Expected<Settings> settings_of_environment() {
    return parse_settings(variable(address_variable), variable(seed_variable));
}

}  // namespace wireproof::verbs
