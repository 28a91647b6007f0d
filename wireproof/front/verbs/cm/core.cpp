// Identifiers: creation, resolution, destruction. ports.cpp has their ports, and connections.cpp
// the connections.
#include "wireproof/front/verbs/cm/core.hpp"

#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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

}  // namespace

std::uint64_t CmIdentifier::service() const {
    return std::uint64_t{space} << 16 | source.port;
}

bool CmIdentifier::is_datagram() const {
    return qp_type == IBV_QPT_UD;
}

RdmaCm::RdmaCm(std::shared_ptr<Device> device)
    : device_(std::move(device)), random_(mix64(device_->seed() ^ 0x636D)) {
    device_->hear_connections(*this);
}

RdmaCm::~RdmaCm() {
    if (!device_->is_ours()) {
        (void)looker_.release();  // the thread is the parent's
        return;
    }
    linger();
    device_->forget_connections(*this);  // after this nobody starts or wakes the looker
    looker_.reset();
}

// If a DREQ gets lost after the process has exited, nobody sends it again, and the peer would
// believe that the connection still exists.
void RdmaCm::linger() {
    constexpr int longest = 1000;  // milliseconds: time for three DREQs
    for (int waited = 0; waited < longest; ++waited) {
        const bool done = device_->managing(
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
    return gid_of(device_->address());
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
    return device_->managing([&](Instant, proto::ib::ConnectionManagement&) {
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
    const std::lock_guard alone(naming_);
    const int error = with(
        channel, number,
        [&](const CmIdentifier& one, Instant now, proto::ib::ConnectionManagement& management) {
            const auto counted = one.taken;
            forget(now, management, number);
            taken = *counted;
            return 0;
        });
    give_up_services();
    return error;
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
    const std::lock_guard alone(naming_);
    device_->managing([&](Instant now, proto::ib::ConnectionManagement& management) {
        std::vector<std::uint32_t> numbers;
        for (const auto& [number, one] : identifiers_) {
            if (channel == nullptr || one.channel.get() == channel) numbers.push_back(number);
        }
        for (const std::uint32_t number : numbers) {
            if (identifiers_.contains(number)) forget(now, management, number);
        }
        return 0;
    });
    give_up_services();
}

void RdmaCm::close(const ChannelPointer& channel) {
    close_identifiers(channel.get());
    channel->close();
}

void RdmaCm::close_all() {
    close_identifiers(nullptr);
    linger();
}

int RdmaCm::resolve_address(const ChannelPointer& channel, std::uint32_t number,
                            const std::optional<CmName>& source, const CmName& destination,
                            Duration limit) {
    if (destination.native || (source && source->native)) return ENODEV;
    const bool named = needs_registry(destination.address);
    const int error = with(channel, number,
                           [&](CmIdentifier& one, Instant now, proto::ib::ConnectionManagement&) {
                               if (one.native) return EINVAL;
                               if (one.state == State::idle) {
                                   Address from{.family = destination.address.family};
                                   if (source) from = source->address;
                                   const int bound = bind_to(one, from);
                                   if (bound != 0) return bound;
                               }
                               if (one.state != State::bound) return EINVAL;
                               one.destination = destination.address;
                               one.state = State::resolving;
                               one.resolved_by = now + std::min(limit, limits::early_most);
                               if (named) {
                                   plan_look(now + between_connection_looks);
                               } else {
                                   resolve_to(one, one.destination);
                               }
                               return 0;
                           });
    if (error == 0 && named) seek(device_->now());
    return error;
}

void RdmaCm::resolve_to(CmIdentifier& one, Address to) {
    one.channel->make_room();
    to.port = rocev2_port;
    if (!device_->find_peer(to)) {
        one.state = State::bound;
        return tell(one, cm_event::address_error, -ENETUNREACH);
    }
    one.peer = to;
    one.peer_gid = gid_of(to);
    one.on_device = true;
    if (is_any(one.source)) {
        const std::uint16_t port = one.source.port;
        one.source = device_->address();
        one.source.port = port;
    }
    one.state = State::address_resolved;
    tell(one, cm_event::address_resolved);
}

void RdmaCm::on_deadline(Instant now, proto::ib::ConnectionManagement& management) {
    // If there is no memory now, this is tried again later.
    const auto done = [](auto&& use) { return errno_of([&] { return use(), 0; }) == 0; };
    if (next_look_ <= now) {
        next_look_ = never;
        if (!done([&] { start_look(now); })) plan_look(now + between_connection_looks);
    }
    if (next_try_ > now) return;
    next_try_ = never;
    for (auto& entry : identifiers_) {
        CmIdentifier& one = entry.second;
        const bool tried = done([&] {
            if (one.connection && one.peer_gone) lose_peer(now, management, one);
            if (one.asks_again_at <= now) ask_again(now, management, one);
        });
        if (!tried) next_try_ = now + between_connection_looks;
        next_try_ = earliest(next_try_, one.asks_again_at);
    }
}

int RdmaCm::resolve_route(const ChannelPointer& channel, std::uint32_t number) {
    return with(channel, number, [&](CmIdentifier& one, Instant, proto::ib::ConnectionManagement&) {
        if (one.state != State::address_resolved) return EINVAL;
        one.path_mtu = device_->path_mtu();
        one.state = State::route_resolved;
        tell(one, cm_event::route_resolved);
        return 0;
    });
}

/// Ends the identifier's connection or service.
void RdmaCm::end(Instant now, proto::ib::ConnectionManagement& management, CmIdentifier& one) {
    if (one.state == State::listening) {
        const std::uint64_t service = one.service();
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
        one.path_mtu = device_->path_mtu();
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
