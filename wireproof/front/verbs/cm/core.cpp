// Identifiers: creation, binding to ports, resolution, destruction. connections.cpp has the
// connections.
#include "wireproof/front/verbs/cm/core.hpp"

#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "wireproof/front/verbs/cm/events.hpp"
#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::verbs {
namespace {

using State = CmIdentifier::State;

constexpr std::uint16_t first_free_port = 0x8000;
constexpr std::uint16_t free_ports = 28232;  // from the first one on; the kernel's default range
constexpr std::uint32_t backlog_max = 1024;

std::uint64_t service_of(const CmIdentifier& one) {
    return std::uint64_t{one.space} << 16 | one.source.port;
}

/// True if the address names the host instead of one process. The registry then says which process
/// a request is for.
bool needs_registry(const Address& address) {
    return is_any(address) || is_host_name(address);
}

}  // namespace

bool CmIdentifier::is_datagram() const {
    return qp_type == IBV_QPT_UD;
}

RdmaCm::RdmaCm(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)), random_(mix64(engine_->seed() ^ 0x636D)) {
    engine_->hear_connections(*this);
}

RdmaCm::~RdmaCm() {
    if (!engine_->is_ours()) return;
    linger();
    engine_->forget_connections(*this);
}

// If a DREQ gets lost after the process has exited, nobody sends it again, and the peer would
// believe that the connection still exists.
void RdmaCm::linger() {
    constexpr int longest = 1000;  // milliseconds: time for three DREQs
    for (int waited = 0; waited < longest; ++waited) {
        const bool done = engine_->managing(
            [&](Instant, proto::ib::ConnectionManagement&) { return parting_.empty(); });
        if (done) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

int RdmaCm::find(const ChannelPointer& channel, std::uint32_t number, CmIdentifier*& found) {
    const auto at = identifiers_.find(number);
    if (at == identifiers_.end()) return ENOENT;
    if (at->second.channel != channel) return EINVAL;
    found = &at->second;
    return 0;
}

CmIdentifier& RdmaCm::add(const ChannelPointer& channel) {
    std::uint32_t number = 0;
    while (identifiers_.contains(number)) ++number;
    CmIdentifier& one = identifiers_[number];
    one.number = number;
    one.channel = channel;
    one.receive_psn = proto::ib::Psn(static_cast<std::uint32_t>(random_.below(1 << 24)));
    return one;
}

proto::ib::Gid RdmaCm::own_gid() const {
    return gid_of(engine_->address());
}

int RdmaCm::create(const ChannelPointer& channel, std::uint64_t uid, std::uint16_t space,
                   std::uint8_t qp_type, std::uint32_t& number) {
    switch (space) {
        case RDMA_PS_TCP: qp_type = IBV_QPT_RC; break;
        case RDMA_PS_UDP:
        case RDMA_PS_IPOIB: qp_type = IBV_QPT_UD; break;
        case RDMA_PS_IB: break;
        default: return EINVAL;
    }
    return engine_->managing([&](Instant, proto::ib::ConnectionManagement&) {
        if (identifiers_.size() >= identifiers_max) return ENOMEM;
        CmIdentifier& one = add(channel);
        one.uid = uid;
        one.space = space;
        one.qp_type = qp_type;
        number = one.number;
        return 0;
    });
}

int RdmaCm::destroy(const ChannelPointer& channel, std::uint32_t number, std::uint32_t& taken) {
    return with(
        channel, number,
        [&](const CmIdentifier& one, Instant now, proto::ib::ConnectionManagement& management) {
            const auto counted = one.taken;
            forget(now, management, number);
            taken = *counted;
            return 0;
        });
}

void RdmaCm::forget(Instant now, proto::ib::ConnectionManagement& management,
                    std::uint32_t number) {
    CmIdentifier& one = identifiers_.at(number);
    end(now, management, one);
    give_up_port(one);
    const auto waiting = one.channel->remove(number);
    identifiers_.erase(number);
    for (const CmChannelEvent& event : waiting) {
        const bool request = event.response.event == cm_event::connect_request;
        if (request) forget(now, management, event.response.id);
    }
}

void RdmaCm::close_identifiers(const CmChannel* channel) {
    engine_->managing([&](Instant now, proto::ib::ConnectionManagement& management) {
        std::vector<std::uint32_t> numbers;
        for (const auto& [number, one] : identifiers_) {
            if (channel == nullptr || one.channel.get() == channel) numbers.push_back(number);
        }
        for (const std::uint32_t number : numbers) {
            if (identifiers_.contains(number)) forget(now, management, number);
        }
        return 0;
    });
}

void RdmaCm::close(const ChannelPointer& channel) {
    close_identifiers(channel.get());
    channel->close();
}

void RdmaCm::close_all() {
    close_identifiers(nullptr);
    linger();
}

int RdmaCm::bind(const ChannelPointer& channel, std::uint32_t number, const CmName& name) {
    return with(channel, number, [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        if (one.state != State::idle) return EINVAL;
        if (name.native) {
            one.native = true;
            one.state = State::bound;
            return 0;
        }
        return bind_to(one, name.address, true);
    });
}

/// `claims`: other processes must be able to find the service by the name of the host.
int RdmaCm::bind_to(CmIdentifier& one, const Address& address, bool claims) {
    const bool named = needs_registry(address);
    if (!named && !is_same_host(address, engine_->address())) return EADDRNOTAVAIL;
    one.source = address;
    const int error = take_port(one, address.port, claims && named);
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

int RdmaCm::take_port(CmIdentifier& one, std::uint16_t port, bool claims) {
    constexpr int draws = 1000;
    for (int draw = 0; draw < draws; ++draw) {
        std::uint16_t chosen = port;
        if (port == 0) {
            chosen = static_cast<std::uint16_t>(first_free_port + random_.below(free_ports));
        }
        // A port that may be shared is claimed in listen().
        const bool free =
            is_free(one, chosen) && (!claims || one.reuses_port || claim(one, chosen) == 0);
        if (free) {
            one.source.port = chosen;
            one.owns_port = true;
            return 0;
        }
        if (port != 0) return EADDRINUSE;
    }
    return EADDRNOTAVAIL;
}

int RdmaCm::claim(const CmIdentifier& one, std::uint16_t port) {
    const CmService service{one.space, port};
    for (const auto& [number, other] : identifiers_) {
        const bool ours = other.owns_port && other.number != one.number &&
                          other.space == one.space && other.source.port == port &&
                          needs_registry(other.source);
        if (ours && !other.reuses_port) return 0;  // claimed for the other family
    }
    CmRegistry& registry = CmRegistry::of_process();
    const CmRegistry::Claim claimed = registry.claim(service, engine_->address());
    if (claimed == CmRegistry::Claim::no_folder && !explained_) {
        explained_ = true;
        std::fprintf(stderr, "wireproof verbs: services cannot be found by 127.0.0.1: %s\n",
                     registry.why_no_folder().c_str());
    }
    return claimed == CmRegistry::Claim::taken ? EADDRINUSE : 0;
}

void RdmaCm::give_up_port(CmIdentifier& one) {
    if (!one.owns_port) return;
    one.owns_port = false;
    const bool shared = std::ranges::any_of(identifiers_, [&](const auto& entry) {
        const CmIdentifier& other = entry.second;
        return other.owns_port && other.space == one.space && other.source.port == one.source.port;
    });
    if (!shared) CmRegistry::of_process().give_up({one.space, one.source.port});
}

int RdmaCm::resolve_address(const ChannelPointer& channel, std::uint32_t number,
                            const std::optional<CmName>& source, const CmName& destination,
                            Duration limit) {
    if (destination.native || (source && source->native)) return ENODEV;
    return with(channel, number,
                [&](CmIdentifier& one, Instant now, proto::ib::ConnectionManagement&) {
                    if (one.native) return EINVAL;
                    if (one.state == State::idle) {
                        Address from{.family = destination.address.family};
                        if (source) from = source->address;
                        const int bound = bind_to(one, from, false);
                        if (bound != 0) return bound;
                    }
                    if (one.state != State::bound) return EINVAL;
                    one.destination = destination.address;
                    one.state = State::resolving;
                    one.resolved_by = now + std::min(limit, limits::early_most);
                    seek(now, one);
                    return 0;
                });
}

// The program at the peer may begin to listen at the same moment as this program begins to ask.
void RdmaCm::seek(Instant now, CmIdentifier& one) {
    if (!needs_registry(one.destination)) return resolve_to(one, one.destination);
    const auto found = CmRegistry::of_process().find({one.space, one.destination.port});
    if (found) return resolve_to(one, *found);
    if (now < one.resolved_by) {
        next_look_ = earliest(next_look_, now + between_connection_looks);
        return;
    }
    resolve_to(one, is_any(one.destination) ? engine_->address() : one.destination);
}

void RdmaCm::resolve_to(CmIdentifier& one, Address to) {
    to.port = rocev2_port;
    one.nobody = is_nobodys(to);
    if (!one.nobody) {
        if (!engine_->find_peer(to)) {
            one.state = State::bound;
            return tell(one, cm_event::address_error, -ENETUNREACH);
        }
        one.peer = to;
    }
    one.peer_gid = gid_of(to);
    one.on_device = true;
    if (is_any(one.source)) {
        const std::uint16_t port = one.source.port;
        one.source = engine_->address();
        one.source.port = port;
    }
    one.state = State::address_resolved;
    tell(one, cm_event::address_resolved);
}

void RdmaCm::on_deadline(Instant now, proto::ib::ConnectionManagement& management) {
    // If there is no memory now, this is tried again later.
    if (next_watch_ <= now) {
        const int error = errno_of([&] {
            look_after_peers(now, management);
            return 0;
        });
        if (error != 0) next_watch_ = now + between_connection_looks;
    }
    if (next_look_ > now) return;
    next_look_ = never;
    for (auto& entry : identifiers_) {
        CmIdentifier& one = entry.second;
        const int error = errno_of([&] {
            if (one.state == State::resolving) seek(now, one);
            if (one.asks_again_at <= now) ask_again(now, management, one);
            return 0;
        });
        if (error != 0) next_look_ = now + between_connection_looks;
        next_look_ = earliest(next_look_, one.asks_again_at);
    }
}

int RdmaCm::resolve_route(const ChannelPointer& channel, std::uint32_t number) {
    return with(channel, number, [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        if (one.state != State::address_resolved) return EINVAL;
        one.path_mtu = engine_->path_mtu();
        one.state = State::route_resolved;
        tell(one, cm_event::route_resolved);
        return 0;
    });
}

int RdmaCm::listen(const ChannelPointer& channel, std::uint32_t number, std::uint32_t backlog) {
    return with(
        channel, number,
        [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement& management) {
            if (one.native) return ENODEV;
            if (one.state == State::idle) {
                const int bound = bind_to(one, {.family = Address::Family::ipv4}, true);
                if (bound != 0) return bound;
            }
            if (one.state != State::bound) return EINVAL;
            one.state = State::listening;
            const bool claims = one.reuses_port && needs_registry(one.source);
            if (!is_free(one, one.source.port) || (claims && claim(one, one.source.port) != 0)) {
                one.state = State::bound;
                return EADDRINUSE;
            }
            one.backlog = backlog > 0 ? std::min(backlog, backlog_max) : backlog_max;
            const std::uint64_t service = service_of(one);
            listeners_[service].push_back(number);
            if (one.is_datagram()) {
                management.listen_datagrams(service);
            } else {
                management.listen(service);
            }
            return 0;
        });
}

/// Ends the identifier's connection or service.
void RdmaCm::end(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one) {
    if (one.state == State::listening) {
        const std::uint64_t service = service_of(one);
        auto& listeners = listeners_[service];
        std::erase(listeners, one.number);
        if (listeners.empty()) {
            listeners_.erase(service);
            if (one.is_datagram()) {
                management.stop_listening_datagrams(service);
            } else {
                management.stop_listening(service);
            }
        }
    }
    if (!one.connection) return;
    const proto::ib::CmId id = *one.connection;
    connections_.erase(id);
    one.connection.reset();
    if (one.is_datagram()) {
        if (!management.give_up(id)) {
            management.answer(now, id, {.status = proto::ib::CmServiceStatus::rejected});
        }
    } else if (one.disconnecting || management.disconnect(now, id)) {
        parting_.insert(id);
    } else {
        management.reject(now, id, proto::ib::CmReason::consumer);
    }
    one.state = State::over;
}

int RdmaCm::migrate(const ChannelPointer& from, const ChannelPointer& to, std::uint32_t number,
                    std::uint32_t& taken) {
    return with(from, number, [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        if (from != to) {
            one.channel = to;
            for (CmChannelEvent& event : from->remove(number)) {
                // Requests that wait move with their listener.
                if (event.response.event == cm_event::connect_request) {
                    identifiers_.at(event.response.id).channel = to;
                }
                to->push(std::move(event));
            }
        }
        taken = *one.taken;
        return 0;
    });
}

int RdmaCm::set_option(const ChannelPointer& channel, std::uint32_t number, std::uint32_t level,
                       std::uint32_t name, ConstBytes value) {
    return with(channel, number, [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH) return set_path(one, value);
        if (level != RDMA_OPTION_ID || name > RDMA_OPTION_ID_ACK_TIMEOUT) return ENOSYS;
        const bool is_byte = name == RDMA_OPTION_ID_TOS || name == RDMA_OPTION_ID_ACK_TIMEOUT;
        if (value.size() != (is_byte ? 1 : sizeof(int))) return EINVAL;
        const auto byte = std::to_integer<std::uint8_t>(value[0]);
        const bool on = std::ranges::any_of(value, [](std::byte b) { return b != std::byte{0}; });
        switch (name) {
            case RDMA_OPTION_ID_TOS: one.traffic_class = byte; break;
            case RDMA_OPTION_ID_ACK_TIMEOUT: one.ack_timeout = byte & 0x1F; break;
            case RDMA_OPTION_ID_REUSEADDR: one.reuses_port = on; break;
            default:
                if (one.state != State::idle && one.state != State::bound) return EINVAL;
                one.one_family = on;
        }
        return 0;
    });
}

/// Accepts a path that the program found itself. Only the path to the resolved address is valid.
int RdmaCm::set_path(CmIdentifier& one, ConstBytes paths) {
    constexpr std::uint32_t wanted = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
    constexpr std::size_t gid_at = 8;
    if (paths.size() % sizeof(ib_path_rec_data) != 0) return EINVAL;
    for (; !paths.empty(); paths = paths.subspan(sizeof(ib_path_rec_data))) {
        ib_path_rec_data path{};
        std::memcpy(&path, paths.data(), sizeof path);
        if (path.flags != wanted) continue;
        const auto* const gid = reinterpret_cast<const std::uint8_t*>(path.path_rec) + gid_at;
        const bool leads_there = std::equal(one.peer_gid.begin(), one.peer_gid.end(), gid);
        if (one.state != State::address_resolved || !leads_there) return EINVAL;
        one.path_mtu = engine_->path_mtu();
        one.state = State::route_resolved;
        tell(one, cm_event::route_resolved);
        return 0;
    }
    return EINVAL;
}

void RdmaCm::tell(const CmIdentifier& one, std::uint32_t event, int status) {
    rdma_ucm_event_resp what{};
    what.event = event;
    what.status = static_cast<std::uint32_t>(status);
    tell(one, what);
}

// The program receives no events of a request that it has not accepted. If the request has ended,
// the program learns it from accept().
void RdmaCm::tell(const CmIdentifier& one, const rdma_ucm_event_resp& what) {
    if (one.uid == 0) return;
    CmChannelEvent told{.response = what, .of = one.number, .taken = one.taken};
    told.response.uid = one.uid;
    told.response.id = one.number;
    one.channel->push(std::move(told));
}

}  // namespace wireproof::verbs
