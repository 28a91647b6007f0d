#include "wireproof/front/am/options.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "wireproof/host/wait.hpp"

namespace wireproof::am {
namespace {

constexpr std::string_view shm_prefix = "shm:";
constexpr std::size_t mtu_max = 65'535;
// Each peer needs a descriptor. With this limit, most of the usual 1,024 descriptors remain for
// allocated memory and for the program.
constexpr std::size_t shm_nodes_max = 256;
constexpr std::size_t active_max = 65'535;
constexpr std::chrono::milliseconds timeout_min{1};
constexpr std::chrono::milliseconds timeout_max = std::chrono::hours(24);

bool is_shm(const std::string& peer) {
    return peer.starts_with(shm_prefix);
}

std::string place_of(std::size_t node) {
    return "peers[" + std::to_string(node) + "]";
}

Expected<void> check_nodes(const Options& options) {
    const std::size_t nodes = options.peers.size();
    if (options.self >= nodes) {
        return unexpected("node " + std::to_string(options.self) + " is not one of the " +
                          std::to_string(nodes) + " peers");
    }
    if (nodes > std::size_t{1} + std::numeric_limits<std::uint16_t>::max()) {
        return unexpected(std::to_string(nodes) + " peers are more than 16 bits can number");
    }
    return {};
}

// The comparison refuses NaN, too.
Expected<void> check_probability(const char* name, double value) {
    if (value >= 0 && value <= 1) return {};
    return unexpected(std::string("faults.") + name + " is " + std::to_string(value) +
                      ", not 0 to 1");
}

Expected<void> check_mtu(const Options& options, IpVersion ip) {
    // A header and the longest body of a packet of the protocol itself.
    constexpr std::size_t packet_min = 80;
    const std::size_t mtu_min = ip_and_udp_size(ip) + packet_min;
    if (options.mtu >= mtu_min && options.mtu <= mtu_max) return {};
    return unexpected("mtu is " + std::to_string(options.mtu) + ", not " + std::to_string(mtu_min) +
                      " to " + std::to_string(mtu_max));
}

Expected<void> check_figures(const Options& options) {
    const auto timeout = options.peer_timeout;
    if (timeout < timeout_min || timeout > timeout_max) {
        return unexpected("peer_timeout is " + std::to_string(timeout.count()) + " ms, not " +
                          std::to_string(timeout_min.count()) + " to " +
                          std::to_string(timeout_max.count()));
    }
    if (options.congestion_control > CongestionControl::never) {
        return unexpected("congestion_control has no valid value");
    }
    if (options.congestion_algorithm > CongestionAlgorithm::by_path) {
        return unexpected("congestion_algorithm has no valid value");
    }
    if (options.active_peers < 1 || options.active_peers > active_max) {
        return unexpected("active_peers is " + std::to_string(options.active_peers) +
                          ", not 1 to " + std::to_string(active_max));
    }
    const Faults& faults = options.faults;
    return check_probability("loss", faults.loss)
        .and_then([&] { return check_probability("bit_error", faults.bit_error); })
        .and_then([&] { return check_probability("duplicate", faults.duplicate); })
        .and_then([&] { return check_probability("reorder", faults.reorder); });
}

Expected<std::string> shm_name_of(const Options& options) {
    const std::string& first = options.peers.front();
    if (options.peers.size() > shm_nodes_max) {
        return unexpected(std::to_string(options.peers.size()) +
                          " peers on shared memory are more than " + std::to_string(shm_nodes_max));
    }
    for (std::size_t i = 0; i < options.peers.size(); ++i) {
        const std::string& peer = options.peers[i];
        if (peer == first) continue;
        if (is_shm(peer)) {
            return unexpected("peers on shared memory have one name, not " + first + " and " +
                              peer);
        }
        return unexpected(place_of(i) + " is " + peer + " and " + place_of(0) + " is " + first +
                          ": all are on shared memory, or none");
    }
    return first.substr(shm_prefix.size());
}

// A node may listen at all addresses of its host; its peers must name one of them. It may let the
// system choose its port.
std::string_view why_not_own(const Address& address) {
    Address with_port = address;
    with_port.port = std::max<std::uint16_t>(address.port, 1);
    return address.is_any() ? std::string_view() : with_port.why_no_peer();
}

// The address of each node; unset if not known yet.
Expected<std::vector<Address>> addresses_of(const Options& options) {
    std::vector<Address> addresses;
    std::unordered_map<Address, std::size_t, AddressHash> owners;
    std::optional<std::size_t> first;  // the first node whose address is known
    for (std::size_t i = 0; i < options.peers.size(); ++i) {
        const std::string& text = options.peers[i];
        if (text.empty() && i != options.self) {
            addresses.emplace_back();
            continue;
        }
        if (is_shm(text)) {
            return unexpected(place_of(i) + " is " + text + " and " + place_of(0) + " is " +
                              options.peers[0] + ": all are on shared memory, or none");
        }
        const auto address = Address::parse(text);
        if (!address) return unexpected(place_of(i) + ": " + address.error().message);
        const auto why = i == options.self ? why_not_own(*address) : address->why_no_peer();
        if (!why.empty()) return unexpected(place_of(i) + ": " + text + " " + std::string(why));
        if (!first) first = i;
        if (i != *first && address->family != addresses[*first].family) {
            return unexpected(place_of(i) + " is " + text + " and " + place_of(*first) + " is " +
                              options.peers[*first] + ": all are IPv4, or all are IPv6");
        }
        const auto [known, fresh] = owners.emplace(*address, i);
        if (!fresh) {
            return unexpected(place_of(known->second) + " and " + place_of(i) + " are both " +
                              text);
        }
        addresses.push_back(*address);
    }
    return addresses;
}

}  // namespace

Expected<ReadOptions> read_options(const Options& options) {
    if (const auto checked = check_nodes(options); !checked) return tl::unexpected(checked.error());
    const bool on_shm = is_shm(options.peers.front());
    if (const auto checked = check_figures(options); !checked) {
        return tl::unexpected(checked.error());
    }
    ReadOptions read;
    if (on_shm) {
        auto name = shm_name_of(options);
        if (!name) return tl::unexpected(name.error());
        read.shm_name = std::move(*name);
        read.config = Config::shared_memory();
    } else {
        auto addresses = addresses_of(options);
        if (!addresses) return tl::unexpected(addresses.error());
        read.addresses = std::move(*addresses);
        const bool over_ipv6 = read.addresses[options.self].family == Address::Family::ipv6;
        const IpVersion ip = over_ipv6 ? IpVersion::v6 : IpVersion::v4;
        if (const auto checked = check_mtu(options, ip); !checked) {
            return tl::unexpected(checked.error());
        }
        read.config = Config::ethernet(options.mtu, {}, ip);
    }
    const Faults& faults = options.faults;
    read.faults = {faults.loss, faults.bit_error, faults.duplicate, faults.reorder};
    read.config.node = static_cast<std::uint16_t>(options.self);
    read.config.job = options.job;
    read.config.seed = options.seed;
    read.config.trusts_payload = !on_shm && options.trust_payload;
    read.config.give_up_after(host::duration_of(options.peer_timeout));
    if (const auto checked = read.config.check(); !checked) {
        return tl::unexpected(checked.error());
    }
    return read;
}

}  // namespace wireproof::am
