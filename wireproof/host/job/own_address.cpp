// Which of its addresses a host gives to the others.
#include <algorithm>
#include <map>

#include "wireproof/host/job/host_facts.hpp"
#include "wireproof/host/job/interfaces.hpp"
#include "wireproof/host/rendezvous/environment.hpp"

namespace wireproof::host {
namespace {

enum class Path : std::uint8_t { none, routed, same_subnet };

/// How many of the others reach an own address.
struct Fit {
    std::size_t all = 0;
    std::size_t same_subnet = 0;
    auto operator<=>(const Fit&) const = default;
};

/// The best path from each own address to this other host.
std::map<std::string, Path> paths_to(const HostFacts& other, const HostFacts& own,
                                     std::span<const OwnAddress> interfaces) {
    std::map<std::string, Path> paths;
    for (const std::string& address : other.addresses) {
        // Both hosts have a network of this number, each for its containers.
        if (std::count(own.addresses.begin(), own.addresses.end(), address) > 0) continue;
        const auto host = Address::parse_host(address);
        const auto source = host ? source_towards(*host) : std::nullopt;
        if (!source) continue;
        const bool near = std::any_of(
            interfaces.begin(), interfaces.end(),
            [&](const OwnAddress& one) { return one.host == *source && one.same_subnet(*host); });
        Path& path = paths[source->host_text()];
        path = std::max(path, near ? Path::same_subnet : Path::routed);
    }
    return paths;
}

bool has_family(const HostFacts& host, bool ipv6) {
    return std::any_of(host.addresses.begin(), host.addresses.end(),
                       [&](const std::string& one) { return (one.find(':') != one.npos) == ipv6; });
}

/// All ranks of a job use one version of IP. All of them find the same one: IPv4 if each host has
/// an address of it.
Expected<bool> is_ipv6(const HostFacts& own, std::span<const HostFacts> others) {
    for (const bool ipv6 : {false, true}) {
        const bool all = has_family(own, ipv6) &&
                         std::all_of(others.begin(), others.end(),
                                     [&](const auto& one) { return has_family(one, ipv6); });
        if (all) return ipv6;
    }
    return unexpected("no version of IP has an address at each host of the job");
}

HostFacts only_family(HostFacts host, bool ipv6) {
    std::erase_if(host.addresses,
                  [&](const std::string& one) { return (one.find(':') != one.npos) != ipv6; });
    return host;
}

}  // namespace

Expected<std::string> own_address_to(const HostFacts& every, std::span<const HostFacts> others) {
    std::vector<HostFacts> far;
    std::copy_if(others.begin(), others.end(), std::back_inserter(far),
                 [&](const HostFacts& other) { return !every.same_network(other); });
    if (every.addresses.empty() && !far.empty()) {
        return unexpected("this host has no address that other hosts can use");
    }
    if (far.empty()) {
        return is_set("WIREPROOF_INTERFACE") ? every.addresses.front() : std::string("127.0.0.1");
    }
    const auto ipv6 = is_ipv6(every, others);
    if (!ipv6) return tl::unexpected(ipv6.error());
    const HostFacts own = only_family(every, *ipv6);
    for (HostFacts& host : far) host = only_family(std::move(host), *ipv6);
    const auto interfaces = own_interfaces();
    if (!interfaces) return tl::unexpected(interfaces.error());
    std::map<std::string, Fit> fits;
    for (const HostFacts& other : far) {
        for (const auto& [address, path] : paths_to(other, own, *interfaces)) {
            ++fits[address].all;
            if (path == Path::same_subnet) ++fits[address].same_subnet;
        }
    }
    const auto best = std::max_element(own.addresses.begin(), own.addresses.end(),
                                       [&](const std::string& left, const std::string& right) {
                                           return fits[left] < fits[right];
                                       });
    if (fits[*best].all > 0 || is_set("WIREPROOF_INTERFACE")) return *best;
    std::string theirs;
    for (const std::string& address : far.front().addresses) theirs += " " + address;
    return unexpected("this host has no route to another host of the job, whose addresses are:" +
                      (theirs.empty() ? " none" : theirs));
}

}  // namespace wireproof::host
