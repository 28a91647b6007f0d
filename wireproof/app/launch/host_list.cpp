#include "wireproof/app/launch/host_list.hpp"

#include <fmt/format.h>

#include <charconv>

namespace wireproof::launch {
namespace {

bool is_of_a_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.@%:").find(c) != std::string_view::npos;
}

// ssh would take a name that begins with "-" for an option.
bool is_host(std::string_view name) {
    if (name.empty() || name.front() == '-') return false;
    for (const char c : name) {
        if (!is_of_a_name(c)) return false;
    }
    return true;
}

Expected<std::size_t> number_of_places(std::string_view text) {
    std::size_t places = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), places);
    if (error != std::errc() || end != text.data() + text.size() || places == 0 ||
        places > ranks_max) {
        return unexpected(
            fmt::format("\"{}\" is no number of ranks from 1 to {}", text, ranks_max));
    }
    return places;
}

struct Entry {
    std::string_view host;
    std::string_view places;
};

/// An IPv6 address is in brackets if places follow: "[fe80::1%eth0]:4".
Expected<Entry> split(std::string_view text) {
    Entry entry{text, "1"};
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == text.npos) return unexpected(fmt::format("\"{}\" has no ]", text));
        entry.host = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        if (text.empty()) return entry;
        if (text.front() != ':') return unexpected(fmt::format("\"{}\" follows a ]", text));
        entry.places = text.substr(1);
        return entry;
    }
    const std::size_t colon = text.find(':');
    if (colon == text.npos || text.find(':', colon + 1) != text.npos) return entry;
    entry.host = text.substr(0, colon);
    entry.places = text.substr(colon + 1);
    return entry;
}

}  // namespace

Expected<std::vector<std::string>> parse_hosts(std::string_view text) {
    std::vector<std::string> hosts;
    while (true) {
        const std::size_t comma = text.find(',');
        const auto entry = split(text.substr(0, comma));
        if (!entry) return tl::unexpected(entry.error());
        if (!is_host(entry->host)) {
            return unexpected(fmt::format("\"{}\" is no name of a host", entry->host));
        }
        const auto places = number_of_places(entry->places);
        if (!places) return tl::unexpected(places.error());
        hosts.insert(hosts.end(), *places, std::string(entry->host));
        if (hosts.size() > ranks_max) {
            return unexpected(fmt::format("more than {} ranks", ranks_max));
        }
        if (comma == text.npos) return hosts;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace wireproof::launch
