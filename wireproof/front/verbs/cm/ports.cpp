// The ports of identifiers, and their names in the registry. `naming_` keeps the order of calls
// that give or end names: the device's lock is not held while they work with files.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/front/verbs/cm/core.hpp"

namespace wireproof::verbs {
namespace {

using State = CmIdentifier::State;

constexpr std::uint16_t first_free_port = 0x8000;
constexpr std::uint16_t free_ports = 28232;  // from the first one on; the kernel's default range
constexpr int port_draws = 1000;
constexpr std::uint32_t backlog_max = 1024;

}  // namespace

int RdmaCm::bind(const ChannelPointer& channel, std::uint32_t number, const CmName& name) {
    const std::lock_guard alone(naming_);
    if (!name.native) return bind_and_claim(channel, number, name.address);
    return with(channel, number, [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        if (one.state != State::idle) return EINVAL;
        one.native = true;
        one.state = State::bound;
        return 0;
    });
}

/// Other processes can then find the service by the name of the host. The caller holds `naming_`,
/// so the identifier stays.
int RdmaCm::bind_and_claim(const ChannelPointer& channel, std::uint32_t number,
                           const Address& address) {
    for (int draw = 0; draw < port_draws; ++draw) {
        std::optional<CmService> wanted;
        const int error = with(channel, number,
                               [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
                                   if (one.state != State::idle) return EINVAL;
                                   const int bound = bind_to(one, address);
                                   // A port that may be shared is claimed in listen().
                                   if (bound == 0 && !one.reuses_port) wanted = claim_of(one);
                                   return bound;
                               });
        if (error != 0 || !wanted) return error;
        bool held = false;
        const int failed = errno_of([&] { return held = claim(*wanted), 0; });
        if (held) return 0;
        device_->managing([&](Instant, proto::ib::ConnectionManagement&) {
            CmIdentifier& one = identifiers_.at(number);
            one.owns_port = one.on_device = false;
            one.source = {};
            one.state = State::idle;
            return 0;
        });
        if (failed != 0) return failed;
        if (address.port != 0) return EADDRINUSE;
    }
    return EADDRNOTAVAIL;
}

int RdmaCm::bind_to(CmIdentifier& one, const Address& address) {
    const bool named = needs_registry(address);
    if (!named && !is_same_host(address, device_->address())) return EADDRNOTAVAIL;
    one.source = address;
    const int error = take_port(one, address.port);
    if (error != 0) {
        one.source = {};
        return error;
    }
    one.on_device = !is_any(address);
    one.state = State::bound;
    return 0;
}

bool RdmaCm::is_free(const CmIdentifier& one, std::uint16_t port) const {
    const auto ipv6 = Address::Family::ipv6;
    return std::ranges::none_of(identifiers_, [&](const auto& entry) {
        const CmIdentifier& other = entry.second;
        const bool same = other.owns_port && other.number != one.number &&
                          other.space == one.space && other.source.port == port;
        if (!same) return false;
        const bool shared = one.reuses_port && other.reuses_port &&
                            other.state != State::listening && one.state != State::listening;
        const bool apart = one.source.family != other.source.family &&
                           (one.source.family == ipv6 ? one.one_family : other.one_family);
        return !shared && !apart;
    });
}

int RdmaCm::take_port(CmIdentifier& one, std::uint16_t port) {
    for (int draw = 0; draw < port_draws; ++draw) {
        std::uint16_t chosen = port;
        if (port == 0) {
            chosen = static_cast<std::uint16_t>(first_free_port + random_.below(free_ports));
        }
        if (is_free(one, chosen)) {
            one.source.port = chosen;
            one.owns_port = true;
            return 0;
        }
        if (port != 0) return EADDRINUSE;
    }
    return EADDRNOTAVAIL;
}

/// What the identifier must claim in the registry. Empty: nothing, because it is bound to the
/// address of the device, or because this process has claimed the service for the other family.
std::optional<CmService> RdmaCm::claim_of(const CmIdentifier& one) const {
    if (!needs_registry(one.source)) return std::nullopt;
    for (const auto& [number, other] : identifiers_) {
        const bool ours = other.owns_port && other.number != one.number &&
                          other.space == one.space && other.source.port == one.source.port &&
                          needs_registry(other.source);
        if (ours && !other.reuses_port) return std::nullopt;
    }
    return CmService{one.space, one.source.port};
}

/// False: another process has the service. The caller holds `naming_` and not the device's lock.
bool RdmaCm::claim(const CmService& service) {
    CmRegistry& registry = CmRegistry::of_process();
    const CmRegistry::Claim claimed = registry.claim(service, device_->address());
    if (claimed == CmRegistry::Claim::no_folder && !explained_) {
        explained_ = true;
        std::fprintf(stderr, "wireproof verbs: services cannot be found by 127.0.0.1: %s\n",
                     registry.why_no_folder().c_str());
    }
    return claimed != CmRegistry::Claim::taken;
}

void RdmaCm::give_up_port(CmIdentifier& one) {
    if (!one.owns_port) return;
    one.owns_port = false;
    const bool shared = std::ranges::any_of(identifiers_, [&](const auto& entry) {
        const CmIdentifier& other = entry.second;
        return other.owns_port && other.space == one.space && other.source.port == one.source.port;
    });
    if (!shared) given_up_.push_back({one.space, one.source.port});
}

/// The caller holds `naming_` and not the device's lock.
void RdmaCm::give_up_services() {
    for (const CmService& service : std::exchange(given_up_, {})) {
        CmRegistry::of_process().give_up(service);
    }
}

int RdmaCm::listen(const ChannelPointer& channel, std::uint32_t number, std::uint32_t backlog) {
    const std::lock_guard alone(naming_);
    bool idle = false;
    int error = with(channel, number,
                     [&](const CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
                         idle = one.state == State::idle;
                         return one.native ? ENODEV : 0;
                     });
    if (error == 0 && idle) {
        error = bind_and_claim(channel, number, {.family = Address::Family::ipv4});
    }
    if (error != 0) return error;
    std::optional<CmService> wanted;
    error =
        with(channel, number, [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
            if (one.state != State::bound) return EINVAL;
            one.state = State::listening;
            if (!is_free(one, one.source.port)) {
                one.state = State::bound;
                return EADDRINUSE;
            }
            if (one.reuses_port) wanted = claim_of(one);
            return 0;
        });
    if (error != 0) return error;
    bool held = !wanted;
    const int failed = errno_of([&] { return held = held || claim(*wanted), 0; });
    return device_->managing([&](Instant, proto::ib::ConnectionManagement& management) {
        CmIdentifier& one = identifiers_.at(number);
        const auto refused = [&one](int error) { return one.state = State::bound, error; };
        if (!held) return refused(failed != 0 ? failed : EADDRINUSE);
        one.backlog = backlog > 0 ? std::min(backlog, backlog_max) : backlog_max;
        const std::uint64_t service = one.service();
        const int error = errno_of([&] {
            listeners_[service].push_back(number);
            if (one.is_datagram()) {
                management.listen_datagrams(service);
            } else {
                management.listen(service);
            }
            return 0;
        });
        return error == 0 ? 0 : refused(error);
    });
}

}  // namespace wireproof::verbs
