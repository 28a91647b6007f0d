#include "wireproof/app/launch/host_list.hpp"

#include <fmt/format.h>

#include <charconv>

#include "wireproof/os/address.hpp"

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

}  // namespace

Expected<std::vector<std::string>> parse_hosts(std::string_view text) {
    std::vector<std::string> hosts;
    while (true) {
        const std::size_t comma = text.find(',');
        const std::string_view place = text.substr(0, comma);
        const auto entry = split_host(place);
        if (!entry) return unexpected(fmt::format("\"{}\": {}", place, entry.error().message));
        if (!is_host(entry->host)) {
            return unexpected(fmt::format("\"{}\" is no name of a host", entry->host));
        }
        if (!entry->rest.empty() && entry->rest.front() != ':') {
            return unexpected(fmt::format("\"{}\" follows a ]", entry->rest));
        }
        const auto places = entry->rest.empty() ? 1 : number_of_places(entry->rest.substr(1));
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
