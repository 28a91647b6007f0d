#include "wireproof/front/verbs/settings.hpp"

#include <array>
#include <charconv>
#include <cstdlib>

#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::verbs {
namespace {

std::string quoted(std::string_view text) {
    return "'" + std::string(text) + "'";
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stopped != end) return std::nullopt;
    return number;
}

Expected<void> read_address(Settings& into, std::string_view text) {
    const std::string host(text);
    auto address = Address::parse(text.find(':') == text.npos ? host + ":0" : "[" + host + "]:0");
    if (!address) return tl::unexpected(address.error());
    address->port = rocev2_port;
    if (const auto why = address->why_no_peer(); !why.empty()) {
        return unexpected(host + " " + std::string(why));
    }
    into.address = *address;
    return {};
}

Expected<void> read_link(Settings& into, std::string_view text) {
    if (text != "ethernet" && text != "infiniband") {
        return unexpected(quoted(text) + " is neither ethernet nor infiniband");
    }
    into.link = text == "ethernet" ? Link::ethernet : Link::infiniband;
    return {};
}

Expected<void> read_seed(Settings& into, std::string_view text) {
    const auto seed = number_in<std::uint64_t>(text);
    if (!seed) return unexpected(quoted(text) + " is not a number of at most 64 bits");
    into.seed = *seed;
    return {};
}

Expected<void> read_receive_buffer(Settings& into, std::string_view text) {
    constexpr int least = 4096;
    constexpr int most = 1 << 30;
    const auto bytes = number_in<int>(text);
    if (!bytes || *bytes < least || *bytes > most) {
        return unexpected(quoted(text) + " is not a number of bytes, " + std::to_string(least) +
                          " to " + std::to_string(most));
    }
    into.receive_buffer = *bytes;
    return {};
}

constexpr std::array table = {
    Setting{"--address", "WIREPROOF_VERBS_ADDRESS", "address", "A",
            "of the device: of an interface of this host", read_address},
    Setting{"--link", "WIREPROOF_VERBS_LINK", "link", "KIND",
            "that the port says it has: ethernet, or infiniband, with LIDs", read_link},
    Setting{"--seed", "WIREPROOF_VERBS_SEED", "seed", "N",
            "repeat queue pair numbers and keys of memory", read_seed},
    Setting{"--receive-buffer", "WIREPROOF_VERBS_RECEIVE_BUFFER", "receive_buffer", "BYTES",
            "wanted of the socket; the kernel may grant less", read_receive_buffer},
};

std::string_view variable_of_process(const char* name) {
    const char* const text = ::secure_getenv(name);
    return text == nullptr ? std::string_view() : text;
}

}  // namespace

std::span<const Setting> all_settings() {
    return table;
}

Expected<Settings> settings_of(Variables variable) {
    Settings settings;
    if (const std::string file(variable(file_variable)); !file.empty()) {
        const auto text = file_text(file);
        if (!text) {
            return unexpected(std::string(file_variable) + ": " + file + ": " +
                              text.error().message);
        }
        const auto read = read_settings_file(*text, file, settings);
        if (!read) return tl::unexpected(read.error());
    }
    for (const Setting& setting : table) {
        const std::string_view text = variable(setting.variable);
        if (text.empty()) continue;
        const auto read = setting.read(settings, text);
        if (!read) return unexpected(setting.variable + (": " + read.error().message));
    }
    return settings;
}

Expected<Settings> settings_of_environment() {
    return settings_of(&variable_of_process);
}

}  // namespace wireproof::verbs
