#include "wireproof/host/job/host_facts.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "wireproof/host/job/interfaces.hpp"
#include "wireproof/host/rendezvous/environment.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {
namespace {

constexpr std::string_view greeting = "wireproof-host 1 ";
constexpr std::size_t word_max = 128;
constexpr auto boot_file = "/proc/sys/kernel/random/boot_id";
constexpr auto network_file = "/proc/thread-self/ns/net";

bool is_word(std::string_view text) {
    return !text.empty() && text.size() <= word_max &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Expected<std::string> boot_id() {
    std::string line;
    std::ifstream(boot_file) >> line;
    if (!is_word(line)) return unexpected(std::string(boot_file) + " cannot be read");
    return line;
}

Expected<std::string> network_namespace() {
    struct stat file {};
    if (::stat(network_file, &file) != 0) {
        return unexpected(std::string(network_file) + ": " + std::strerror(errno));
    }
    return std::to_string(file.st_dev) + "." + std::to_string(file.st_ino);
}

std::string_view network_of(std::string_view key) {
    return key.substr(0, key.rfind('/'));
}

/// The addresses of one interface, or of all if `only` is empty.
Expected<std::vector<std::string>> addresses_of(const std::string& only) {
    const auto interfaces = own_interfaces();
    if (!interfaces) return tl::unexpected(interfaces.error());
    std::vector<std::string> addresses;
    for (const auto family : {Address::Family::ipv4, Address::Family::ipv6}) {
        for (const OwnAddress& one : *interfaces) {
            const bool wanted = only.empty() || one.interface == only;
            if (!wanted || one.host.is_loopback() || one.host.family != family ||
                !can_be_named(one.host))
                continue;
            if (addresses.size() < HostFacts::addresses_max)
                addresses.push_back(one.host.host_text());
        }
    }
    if (!only.empty() && addresses.empty()) {
        return unexpected("WIREPROOF_INTERFACE: " + only +
                          (::if_nametoindex(only.c_str()) == 0
                               ? " is no interface of this host"
                               : " is not up, or has no address that other hosts can use"));
    }
    return addresses;
}

}  // namespace

Expected<HostFacts> HostFacts::of_this_host() {
    HostFacts facts;
    auto machine = boot_id();
    if (!machine) return tl::unexpected(machine.error());
    const auto network = network_namespace();
    if (!network) return tl::unexpected(network.error());
    facts.machine = std::move(*machine);
    facts.key = facts.machine + "/" + *network + "/" + std::to_string(::geteuid());
    auto addresses = addresses_of(text_in("WIREPROOF_INTERFACE"));
    if (!addresses) return tl::unexpected(addresses.error());
    facts.addresses = std::move(*addresses);
    return facts;
}

std::string HostFacts::to_text() const {
    std::string text = std::string(greeting) + key + " " + machine;
    for (const std::string& address : addresses) text += " " + address;
    return text;
}

Expected<HostFacts> HostFacts::parse(std::string_view text) {
    if (!text.starts_with(greeting)) return unexpected("no text about a host, of version 1");
    text.remove_prefix(greeting.size());
    std::vector<std::string> words;
    while (words.size() <= addresses_max + 2) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (!is_word(text.substr(0, end))) return unexpected("a text about a host has a bad word");
        words.emplace_back(text.substr(0, end));
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    if (words.size() < 2 || words.size() > addresses_max + 2) {
        return unexpected("a text about a host has the wrong number of words");
    }
    HostFacts facts{std::move(words[0]), std::move(words[1]), {}};
    if (std::count(facts.key.begin(), facts.key.end(), '/') != 2) {
        return unexpected("a text about a host has a bad key");
    }
    for (std::size_t i = 2; i < words.size(); ++i) {
        const auto host = Address::parse_host(words[i]);
        if (!host || !can_be_named(*host) || host->is_loopback()) {
            return unexpected("a text about a host has a bad address");
        }
        facts.addresses.push_back(host->host_text());
    }
    return facts;
}

bool HostFacts::same_network(const HostFacts& other) const {
    return network_of(key) == network_of(other.key);
}

}  // namespace wireproof::host
