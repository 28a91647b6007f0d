// Connections and datagram services. Each side chooses the first PSN that it receives.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "wireproof/front/verbs/cm/core.hpp"
#include "wireproof/front/verbs/cm/events.hpp"
#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/wire/udp/icrc.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::verbs {
namespace {

namespace ib = proto::ib;
using State = CmIdentifier::State;

constexpr std::uint16_t permissive_lid = 0xFFFF;  // as Linux does: it names a host by its address
constexpr std::uint8_t target_ack_delay = 15;     // 134 ms: the scheduler may run the process late
constexpr std::uint8_t retries_max = 7;           // the largest value of three bits
constexpr std::uint32_t queue_pair_mask = 0xFFFFFF;
constexpr std::size_t address_header = ib::CmIpAddresses::size;

ConstBytes private_data(const rdma_ucm_conn_param& asked) {
    return std::as_bytes(std::span(asked.private_data).first(asked.private_data_len));
}

/// Returns false if there is not enough room after `at`.
template <std::size_t Size>
bool put(ConstBytes told, std::size_t at, ib::PrivateBytes<Size>& to) {
    if (told.size() > Size - at) return false;
    std::ranges::copy(told, to.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
}

/// Copies the whole field, as the kernel does, even if the peer filled only a part of it.
template <class Param>
void show_private(ConstBytes told, Param& to) {
    std::memcpy(to.private_data, told.data(), told.size());
    to.private_data_len = static_cast<std::uint8_t>(told.size());
}

/// An IP address as the header has it: an IPv4 address is in the last four bytes, after
/// zeros.
ib::Gid ip_of(const ib::Gid& gid) {
    ib::Gid ip = gid;
    if (ib::is_ipv4(gid)) ip[10] = ip[11] = 0;
    return ip;
}

/// If a program uses the host's name (127.0.0.1) as its own, the peer sees that name, too:
/// libraries look a connection up by the address that the peer has published.
ib::CmIpAddresses addresses_of(const CmIdentifier& one, const ib::Gid& own) {
    return {.ipv6 = !ib::is_ipv4(own),
            .source_port = one.source.port,
            .source = ip_of(is_host_name(one.source) ? gid_of(one.source) : own),
            .destination = ip_of(one.peer_gid)};
}

template <std::size_t Size>
void put_addresses(const CmIdentifier& one, const ib::Gid& own, ib::PrivateBytes<Size>& to) {
    addresses_of(one, own).encode(std::span(to).template first<address_header>());
}

/// If a program of this host uses the host's name as its own, stores that name in `named`. Packets
/// to that name go by way of the registry.
void take_host_name(const ib::CmIpAddresses& addresses, Address& named) {
    ib::Gid gid = addresses.source;
    if (!addresses.ipv6) gid[10] = gid[11] = 0xFF;
    const auto source = address_of(gid);
    if (!source || !is_host_name(*source)) return;
    named.family = source->family;
    named.host = source->host;
}

std::uint64_t service_asked(const CmIdentifier& one) {
    return std::uint64_t{one.space} << 16 | one.destination.port;
}

void take_parameters(CmIdentifier& one, const rdma_ucm_conn_param& asked) {
    one.responder_resources = asked.responder_resources;
    one.initiator_depth = asked.initiator_depth;
}

/// A message that asks for a connection (REQ) or for a datagram service (SIDR_REQ).
struct Asked {
    explicit Asked(const ib::CmEvent& event)
        : datagrams(event.what == ib::CmEvent::What::asked),
          connection(std::get_if<ib::CmRequest>(&event.message)) {
        if (connection != nullptr) {
            service = connection->service;
            told = connection->private_bytes;
        } else {
            const auto& query = std::get<ib::CmServiceRequest>(event.message);
            service = query.service;
            told = query.private_bytes;
        }
    }
    bool datagrams;
    const ib::CmRequest* connection;  // null: asks for a datagram service
    std::uint64_t service = 0;
    ConstBytes told;
};

}  // namespace

void RdmaCm::over(CmIdentifier& one) {
    if (one.connection) connections_.erase(*one.connection);
    one.connection.reset();
    one.disconnecting = false;
    one.state = State::over;
}

int RdmaCm::connect(const ChannelPointer& channel, std::uint32_t number,
                    const rdma_ucm_conn_param& asked) {
    if (asked.valid == 0) return EINVAL;
    const auto socket = socket_of_peer(channel, number);
    return with(channel, number,
                [&](CmIdentifier& one, Instant now, ib::ConnectionManagement& management) {
                    if (one.state != State::route_resolved) return EINVAL;
                    one.peer_socket = socket;
                    return one.is_datagram() ? ask_service(now, management, one, asked)
                                             : request(now, management, one, asked);
                });
}

int RdmaCm::request(Instant now, ib::ConnectionManagement& management, CmIdentifier& one,
                    const rdma_ucm_conn_param& asked) {
    const ib::Gid own = own_gid();
    ib::CmRequest request{.service = service_asked(one)};
    if (!put(private_data(asked), address_header, request.private_bytes)) return EINVAL;
    put_addresses(one, own, request.private_bytes);
    take_parameters(one, asked);
    one.retry_count = std::min(asked.retry_count, retries_max);
    request.queue_pair = asked.qp_num & queue_pair_mask;
    request.responder_resources = asked.responder_resources;
    request.initiator_depth = asked.initiator_depth;
    request.transport = one.qp_type == IBV_QPT_UC ? 1 : 0;
    request.flow_control = asked.flow_control != 0;
    request.starting_psn = one.receive_psn;
    request.retry_count = one.retry_count;
    request.rnr_retry = std::min(asked.rnr_retry_count, retries_max);
    request.shared_receives = asked.srq != 0;
    request.path_mtu = ib::path_mtu_code(one.path_mtu);
    request.primary = {.local_lid = permissive_lid,
                       .remote_lid = permissive_lid,
                       .local_gid = own,
                       .remote_gid = one.peer_gid,
                       .traffic_class = one.traffic_class,
                       .hop_limit = cm_hop_limit,
                       .ack_timeout = one.ack_timeout};
    return ask_first(now, management, one, request);
}

int RdmaCm::ask_service(Instant now, ib::ConnectionManagement& management, CmIdentifier& one,
                        const rdma_ucm_conn_param& asked) {
    ib::CmServiceRequest request{.service = service_asked(one)};
    if (!put(private_data(asked), address_header, request.private_bytes)) return EINVAL;
    put_addresses(one, own_gid(), request.private_bytes);
    return ask_first(now, management, one, request);
}

int RdmaCm::accept(const ChannelPointer& channel, std::uint32_t number, std::uint64_t uid,
                   const rdma_ucm_conn_param& asked) {
    const auto socket = socket_of_peer(channel, number);
    return with(channel, number,
                [&](CmIdentifier& one, Instant now, ib::ConnectionManagement& management) {
                    if (!one.connection) return EINVAL;
                    one.peer_socket = socket;
                    watch(now, one);
                    if (asked.valid == 0) {
                        if (!management.confirm(now, *one.connection)) return EINVAL;
                        one.state = State::connected;
                        return 0;
                    }
                    if (one.state != State::requested) return EINVAL;
                    const int error = accept_request(now, management, one, asked);
                    if (error == 0) one.uid = uid;
                    return error;
                });
}

int RdmaCm::accept_request(Instant now, ib::ConnectionManagement& management, CmIdentifier& one,
                           const rdma_ucm_conn_param& asked) {
    if (one.is_datagram()) {
        ib::CmServiceReply reply{.queue_pair = asked.qp_num & queue_pair_mask,
                                 .qkey = datagram_key};
        if (!put(private_data(asked), 0, reply.private_bytes)) return EINVAL;
        if (!management.answer(now, *one.connection, reply)) return EINVAL;
        over(one);
        one.state = State::connected;
        return 0;
    }
    ib::CmReply reply{.queue_pair = asked.qp_num & queue_pair_mask,
                      .starting_psn = one.receive_psn,
                      .responder_resources = asked.responder_resources,
                      .initiator_depth = asked.initiator_depth,
                      .target_ack_delay = target_ack_delay,
                      .flow_control = asked.flow_control != 0,
                      .rnr_retry = std::min(asked.rnr_retry_count, retries_max),
                      .shared_receives = asked.srq != 0};
    if (!put(private_data(asked), 0, reply.private_bytes)) return EINVAL;
    take_parameters(one, asked);
    if (!management.accept(now, *one.connection, reply)) return EINVAL;
    one.state = State::replying;
    return 0;
}

int RdmaCm::reject(const ChannelPointer& channel, std::uint32_t number, ib::CmReason reason,
                   ConstBytes why) {
    return with(channel, number,
                [&](CmIdentifier& one, Instant now, ib::ConnectionManagement& management) {
                    if (!one.connection) return EINVAL;
                    bool done = false;
                    if (one.is_datagram()) {
                        ib::CmServiceReply reply{.status = ib::CmServiceStatus::rejected};
                        if (!put(why, 0, reply.private_bytes)) return EINVAL;
                        done = management.answer(now, *one.connection, reply);
                    } else {
                        ib::PrivateBytes<148> bytes{};
                        if (!put(why, 0, bytes)) return EINVAL;
                        done = management.reject(now, *one.connection, reason, bytes);
                    }
                    if (done) over(one);
                    return done ? 0 : EINVAL;
                });
}

// If the connection is already over, the result is success.
int RdmaCm::disconnect(const ChannelPointer& channel, std::uint32_t number) {
    return with(channel, number,
                [&](CmIdentifier& one, Instant now, ib::ConnectionManagement& management) {
                    if (one.state < State::requesting) return EINVAL;
                    if (one.connection && management.disconnect(now, *one.connection)) {
                        one.disconnecting = true;
                    }
                    return 0;
                });
}

int RdmaCm::notify(const ChannelPointer& channel, std::uint32_t number, std::uint32_t event) {
    return with(channel, number,
                [&](const CmIdentifier& one, Instant, ib::ConnectionManagement& management) {
                    if (event != IBV_EVENT_COMM_EST || !one.on_device) return EINVAL;
                    if (one.connection) management.note_first_packet(*one.connection);
                    return 0;
                });
}

// If there is no memory for an event, nothing changes and the event comes again.
void RdmaCm::on_event(Instant now, ib::ConnectionManagement& management, const ib::CmEvent& event) {
    using What = ib::CmEvent::What;
    if (event.what == What::requested || event.what == What::asked) {
        return on_request(now, management, event);
    }
    if (event.what == What::disconnected) parting_.erase(event.id);
    const auto found = connections_.find(event.id);
    if (found == connections_.end()) return;
    CmIdentifier& one = identifiers_.at(found->second);
    one.channel->make_room();
    if (!may_ask_again(now, one, event)) return on_answer(one, event);
    connections_.erase(found);
    one.connection.reset();
    next_try_ = earliest(next_try_, one.asks_again_at);
}

void RdmaCm::on_answer(CmIdentifier& one, const ib::CmEvent& event) {
    using What = ib::CmEvent::What;
    switch (event.what) {
        case What::replied: return on_reply(one, std::get<ib::CmReply>(event.message));
        case What::established:
            one.state = State::connected;
            return tell(one, cm_event::established);
        case What::rejected: return on_rejection(one, std::get<ib::CmReject>(event.message));
        case What::resolved: return on_service(one, std::get<ib::CmServiceReply>(event.message));
        case What::unanswered: over(one); return tell(one, cm_event::unreachable, -ETIMEDOUT);
        case What::disconnected: over(one); return tell(one, cm_event::disconnected);
        default: return;
    }
}

void RdmaCm::on_reply(CmIdentifier& one, const ib::CmReply& reply) {
    // Not always the process that was asked. The program's answer looks at its socket.
    one.peer_socket.reset();
    one.peer_gone = false;
    one.state = State::replied;
    one.send_psn = reply.starting_psn;
    one.remote_queue_pair = reply.queue_pair;
    one.rnr_retry = reply.rnr_retry;
    one.responder_resources = reply.initiator_depth;
    one.initiator_depth = reply.responder_resources;
    rdma_ucm_event_resp what{};
    what.event = cm_event::connect_response;
    what.param.conn.qp_num = reply.queue_pair;
    what.param.conn.responder_resources = reply.initiator_depth;
    what.param.conn.initiator_depth = reply.responder_resources;
    what.param.conn.flow_control = reply.flow_control ? 1 : 0;
    what.param.conn.rnr_retry_count = reply.rnr_retry;
    what.param.conn.srq = reply.shared_receives ? 1 : 0;
    show_private(reply.private_bytes, what.param.conn);
    tell(one, what);
}

void RdmaCm::on_rejection(CmIdentifier& one, const ib::CmReject& reject) {
    rdma_ucm_event_resp what{};
    what.event = cm_event::rejected;
    what.status = static_cast<std::uint32_t>(reject.reason);
    show_private(reject.private_bytes, what.param.conn);
    over(one);
    tell(one, what);
}

/// The answer to a question for a datagram service.
void RdmaCm::on_service(CmIdentifier& one, const ib::CmServiceReply& reply) {
    const bool valid = reply.status == ib::CmServiceStatus::valid;
    rdma_ucm_event_resp what{};
    what.event = valid ? cm_event::established : cm_event::unreachable;
    what.status = static_cast<std::uint32_t>(reply.status);
    what.param.ud.qp_num = reply.queue_pair;
    what.param.ud.qkey = reply.qkey;
    describe_address_vector(one, what.param.ud.ah_attr);
    show_private(reply.private_bytes, what.param.ud);
    over(one);
    if (valid) one.state = State::connected;
    tell(one, what);
}

CmIdentifier* RdmaCm::listener(std::uint64_t service, bool ipv6) {
    const auto found = listeners_.find(service);
    if (found == listeners_.end()) return nullptr;
    CmIdentifier* other = nullptr;
    for (const std::uint32_t number : found->second) {
        CmIdentifier& one = identifiers_.at(number);
        if ((one.source.family == Address::Family::ipv6) == ipv6) return &one;
        // A listener of IPv6 receives IPv4 requests, too, unless the program forbids it.
        if (!ipv6 && !one.one_family) other = &one;
    }
    return other;
}

/// Refuses requests that no program could accept.
void RdmaCm::on_request(Instant now, ib::ConnectionManagement& management,
                        const ib::CmEvent& event) {
    const Asked asked(event);
    const auto refuse = [&](ib::CmReason reason, ib::CmServiceStatus status) {
        if (asked.datagrams) {
            management.answer(now, event.id, {.status = status});
        } else {
            management.reject(now, event.id, reason);
        }
    };
    const auto addresses = ib::CmIpAddresses::decode(asked.told.first<address_header>());
    if (!addresses) {
        return refuse(ib::CmReason::unsupported, ib::CmServiceStatus::unsupported_version);
    }
    CmIdentifier* const heard = listener(asked.service, addresses->ipv6);
    const ib::Gid* const gid = device_->gid_of_peer(event.peer);
    if (heard == nullptr || gid == nullptr) {
        return refuse(ib::CmReason::invalid_service, ib::CmServiceStatus::unsupported);
    }
    const auto unfit =
        asked.connection != nullptr ? why_unfit(*heard, *asked.connection) : std::nullopt;
    if (unfit == ib::CmReason::invalid_path_mtu) {
        const std::byte most{ib::path_mtu_code(device_->path_mtu())};
        management.reject(now, event.id, *unfit, {}, std::span(&most, 1));
        return;
    }
    if (unfit) return refuse(*unfit, {});
    if (heard->channel->waiting(heard->number, cm_event::connect_request) >= heard->backlog ||
        identifiers_.size() >= identifiers_max) {
        return refuse(ib::CmReason::no_resources, ib::CmServiceStatus::no_queue_pair);
    }
    heard->channel->make_room();
    CmIdentifier& one = add_requested(*heard, event.id, *gid);
    one.peer_number = event.peer;
    const bool is_local = one.destination.is_loopback() || device_->has_met(event.peer);
    if (is_local) take_host_name(*addresses, one.destination);
    one.destination.port = addresses->source_port;
    CmChannelEvent news{.of = heard->number, .taken = heard->taken};
    news.response.uid = heard->uid;
    news.response.id = one.number;
    news.response.event = cm_event::connect_request;
    if (asked.connection != nullptr) {
        describe_request(one, *asked.connection, news.response.param.conn);
    } else {
        show_private(asked.told.subspan(address_header), news.response.param.ud);
    }
    heard->channel->push(std::move(news));
}

std::optional<ib::CmReason> RdmaCm::why_unfit(const CmIdentifier& heard,
                                              const ib::CmRequest& request) const {
    const bool rc = request.transport == 0 && heard.qp_type == IBV_QPT_RC;
    const bool uc = request.transport == 1 && heard.qp_type == IBV_QPT_UC;
    if (!rc && !uc) return ib::CmReason::invalid_transport;
    const auto path_mtu = ib::path_mtu_of(request.path_mtu);
    if (!path_mtu || *path_mtu > device_->path_mtu()) return ib::CmReason::invalid_path_mtu;
    return std::nullopt;
}

CmIdentifier& RdmaCm::add_requested(const CmIdentifier& heard, ib::CmId id, const ib::Gid& gid) {
    CmIdentifier& one = add(heard.channel);
    one.space = heard.space;
    one.qp_type = heard.qp_type;
    one.state = State::requested;
    one.on_device = true;
    one.source = device_->address();
    one.source.port = heard.source.port;
    // The address from which the packets came. An address in the message may be forged.
    one.destination = address_of(gid).value_or(Address());
    one.peer_gid = gid;
    one.path_mtu = device_->path_mtu();
    one.connection = id;
    try {
        connections_[id] = one.number;
    } catch (...) {
        identifiers_.erase(one.number);
        throw;
    }
    return one;
}

void RdmaCm::describe_request(CmIdentifier& one, const ib::CmRequest& request,
                              rdma_ucm_conn_param& to) {
    one.path_mtu = ib::path_mtu_of(request.path_mtu).value_or(one.path_mtu);
    one.send_psn = request.starting_psn;
    one.remote_queue_pair = request.queue_pair;
    one.responder_resources = request.initiator_depth;
    one.initiator_depth = request.responder_resources;
    one.retry_count = request.retry_count;
    one.rnr_retry = request.rnr_retry;
    one.traffic_class = request.primary.traffic_class;
    if (request.primary.ack_timeout != 0) one.ack_timeout = request.primary.ack_timeout;
    to.qp_num = request.queue_pair;
    to.responder_resources = one.responder_resources;
    to.initiator_depth = one.initiator_depth;
    to.flow_control = request.flow_control ? 1 : 0;
    to.retry_count = request.retry_count;
    to.rnr_retry_count = request.rnr_retry;
    to.srq = request.shared_receives ? 1 : 0;
    show_private(ConstBytes(request.private_bytes).subspan(address_header), to);
}

}  // namespace wireproof::verbs
