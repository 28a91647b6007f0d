#include "wireproof/proto/ib/cm/cm_messages.hpp"

#include <algorithm>

#include "wireproof/proto/ib/packet/big_endian.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {
namespace {

constexpr std::size_t header_size = 24;
constexpr std::size_t body_size = cm_datagram_size - header_size;
constexpr std::uint8_t base_version = 1;
constexpr std::uint8_t management_class = 7;
constexpr std::uint8_t class_version = 2;
constexpr std::uint8_t method_send = 3;
constexpr std::uint16_t first_attribute = 0x10;

using Body = std::span<std::byte, body_size>;
using ConstBody = std::span<const std::byte, body_size>;

template <std::size_t At, std::size_t Width>
std::uint64_t get(ConstBody body) {
    return load_be_at<At, Width>(body);
}
template <std::size_t At, std::size_t Width>
void put(Body body, std::uint64_t value) {
    store_be_at<At, Width>(body, value);
}

/// Reads `Width` bits of a byte. The `Skip` bits above them are ignored.
template <std::size_t At, unsigned Skip, unsigned Width>
std::uint8_t get_bits(ConstBody body) {
    const auto byte = std::to_integer<unsigned>(body[At]);
    return static_cast<std::uint8_t>(byte >> (8 - Skip - Width) & ((1U << Width) - 1));
}
/// Adds bits to a byte. These bits must be 0 before.
template <std::size_t At, unsigned Skip, unsigned Width>
void put_bits(Body body, unsigned value) {
    body[At] |= static_cast<std::byte>((value & ((1U << Width) - 1)) << (8 - Skip - Width));
}

template <std::size_t At, std::size_t Size>
void get(ConstBody body, PrivateBytes<Size>& bytes) {
    static_assert(At + Size <= body_size);
    std::copy_n(body.begin() + At, Size, bytes.begin());
}
template <std::size_t At, std::size_t Size>
void put(Body body, const PrivateBytes<Size>& bytes) {
    static_assert(At + Size <= body_size);
    std::copy_n(bytes.begin(), Size, body.begin() + At);
}

template <std::size_t At, class T>
void get(ConstBody body, T& ids) {
    ids.local_id = static_cast<std::uint32_t>(get<At, 4>(body));
    ids.remote_id = static_cast<std::uint32_t>(get<At + 4, 4>(body));
}

template <std::size_t At, std::size_t Width, class Number>
void read(ConstBody body, Number& number) {
    number = static_cast<Number>(get<At, Width>(body));
}

// REQ. The two paths take 44 bytes each, from byte 52 and from byte 96.
void put_message(Body body, const CmRequest& message) {
    put<0, 4>(body, message.local_id);
    put<8, 8>(body, message.service);
    put<16, 8>(body, message.ca_guid);
    put<28, 4>(body, message.qkey);
    put<32, 3>(body, message.queue_pair);
    put<35, 1>(body, message.responder_resources);
    put<36, 3>(body, message.local_eec);
    put<39, 1>(body, message.initiator_depth);
    put<40, 3>(body, message.remote_eec);
    put_bits<43, 0, 5>(body, message.remote_response_timeout);
    put_bits<43, 5, 2>(body, message.transport);
    put_bits<43, 7, 1>(body, message.flow_control);
    put<44, 3>(body, message.starting_psn.value());
    put_bits<47, 0, 5>(body, message.local_response_timeout);
    put_bits<47, 5, 3>(body, message.retry_count);
    put<48, 2>(body, message.partition);
    put_bits<50, 0, 4>(body, message.path_mtu);
    put_bits<50, 4, 1>(body, message.rdc_exists);
    put_bits<50, 5, 3>(body, message.rnr_retry);
    put_bits<51, 0, 4>(body, message.max_retries);
    put_bits<51, 4, 1>(body, message.shared_receives);
    put_bits<51, 5, 3>(body, message.extended_transport);
    message.primary.encode(body.subspan<52, CmPath::size>());
    message.alternate.encode(body.subspan<96, CmPath::size>());
    put<140>(body, message.private_bytes);
}

void get_message(ConstBody body, CmRequest& message) {
    read<0, 4>(body, message.local_id);
    read<8, 8>(body, message.service);
    read<16, 8>(body, message.ca_guid);
    read<28, 4>(body, message.qkey);
    read<32, 3>(body, message.queue_pair);
    read<35, 1>(body, message.responder_resources);
    read<36, 3>(body, message.local_eec);
    read<39, 1>(body, message.initiator_depth);
    read<40, 3>(body, message.remote_eec);
    message.remote_response_timeout = get_bits<43, 0, 5>(body);
    message.transport = get_bits<43, 5, 2>(body);
    message.flow_control = get_bits<43, 7, 1>(body) != 0;
    message.starting_psn = Psn(static_cast<std::uint32_t>(get<44, 3>(body)));
    message.local_response_timeout = get_bits<47, 0, 5>(body);
    message.retry_count = get_bits<47, 5, 3>(body);
    read<48, 2>(body, message.partition);
    message.path_mtu = get_bits<50, 0, 4>(body);
    message.rdc_exists = get_bits<50, 4, 1>(body) != 0;
    message.rnr_retry = get_bits<50, 5, 3>(body);
    message.max_retries = get_bits<51, 0, 4>(body);
    message.shared_receives = get_bits<51, 4, 1>(body) != 0;
    message.extended_transport = get_bits<51, 5, 3>(body);
    message.primary = CmPath::decode(body.subspan<52, CmPath::size>());
    message.alternate = CmPath::decode(body.subspan<96, CmPath::size>());
    get<140>(body, message.private_bytes);
}

template <class T>
void put_ids(Body body, const T& message) {
    put<0, 4>(body, message.local_id);
    put<4, 4>(body, message.remote_id);
}

void put_message(Body body, const CmDelay& message) {
    put_ids(body, message);
    put_bits<8, 0, 2>(body, static_cast<unsigned>(message.subject));
    put_bits<9, 0, 5>(body, message.service_timeout);
    put<10>(body, message.private_bytes);
}

void get_message(ConstBody body, CmDelay& message) {
    get<0>(body, message);
    message.subject = static_cast<CmSubject>(get_bits<8, 0, 2>(body));
    message.service_timeout = get_bits<9, 0, 5>(body);
    get<10>(body, message.private_bytes);
}

void put_message(Body body, const CmReject& message) {
    put_ids(body, message);
    put_bits<8, 0, 2>(body, static_cast<unsigned>(message.subject));
    put_bits<9, 0, 7>(body, message.detail_length);
    put<10, 2>(body, static_cast<std::uint64_t>(message.reason));
    put<12>(body, message.detail);
    put<84>(body, message.private_bytes);
}

void get_message(ConstBody body, CmReject& message) {
    get<0>(body, message);
    message.subject = static_cast<CmSubject>(get_bits<8, 0, 2>(body));
    message.detail_length = get_bits<9, 0, 7>(body);
    read<10, 2>(body, message.reason);
    get<12>(body, message.detail);
    get<84>(body, message.private_bytes);
}

void put_message(Body body, const CmReply& message) {
    put_ids(body, message);
    put<8, 4>(body, message.qkey);
    put<12, 3>(body, message.queue_pair);
    put<16, 3>(body, message.eec);
    put<20, 3>(body, message.starting_psn.value());
    put<24, 1>(body, message.responder_resources);
    put<25, 1>(body, message.initiator_depth);
    put_bits<26, 0, 5>(body, message.target_ack_delay);
    put_bits<26, 5, 2>(body, message.failover);
    put_bits<26, 7, 1>(body, message.flow_control);
    put_bits<27, 0, 3>(body, message.rnr_retry);
    put_bits<27, 3, 1>(body, message.shared_receives);
    put<28, 8>(body, message.ca_guid);
    put<36>(body, message.private_bytes);
}

void get_message(ConstBody body, CmReply& message) {
    get<0>(body, message);
    read<8, 4>(body, message.qkey);
    read<12, 3>(body, message.queue_pair);
    read<16, 3>(body, message.eec);
    message.starting_psn = Psn(static_cast<std::uint32_t>(get<20, 3>(body)));
    read<24, 1>(body, message.responder_resources);
    read<25, 1>(body, message.initiator_depth);
    message.target_ack_delay = get_bits<26, 0, 5>(body);
    message.failover = get_bits<26, 5, 2>(body);
    message.flow_control = get_bits<26, 7, 1>(body) != 0;
    message.rnr_retry = get_bits<27, 0, 3>(body);
    message.shared_receives = get_bits<27, 3, 1>(body) != 0;
    read<28, 8>(body, message.ca_guid);
    get<36>(body, message.private_bytes);
}

void put_message(Body body, const CmDisconnect& message) {
    put_ids(body, message);
    put<8, 3>(body, message.remote_queue_pair);
    put<12>(body, message.private_bytes);
}

void get_message(ConstBody body, CmDisconnect& message) {
    get<0>(body, message);
    read<8, 3>(body, message.remote_queue_pair);
    get<12>(body, message.private_bytes);
}

void put_message(Body body, const CmServiceRequest& message) {
    put<0, 4>(body, message.request_id);
    put<4, 2>(body, message.partition);
    put<8, 8>(body, message.service);
    put<16>(body, message.private_bytes);
}

void get_message(ConstBody body, CmServiceRequest& message) {
    read<0, 4>(body, message.request_id);
    read<4, 2>(body, message.partition);
    read<8, 8>(body, message.service);
    get<16>(body, message.private_bytes);
}

void put_message(Body body, const CmServiceReply& message) {
    put<0, 4>(body, message.request_id);
    put<4, 1>(body, static_cast<std::uint64_t>(message.status));
    put<5, 1>(body, message.detail_length);
    put<8, 3>(body, message.queue_pair);
    put<12, 8>(body, message.service);
    put<20, 4>(body, message.qkey);
    put<24>(body, message.detail);
    put<96>(body, message.private_bytes);
}

void get_message(ConstBody body, CmServiceReply& message) {
    read<0, 4>(body, message.request_id);
    read<4, 1>(body, message.status);
    read<5, 1>(body, message.detail_length);
    read<8, 3>(body, message.queue_pair);
    read<12, 8>(body, message.service);
    read<20, 4>(body, message.qkey);
    get<24>(body, message.detail);
    get<96>(body, message.private_bytes);
}

// RTU and DREP have the same layout.
template <class Short>
void put_message(Body body, const Short& message) {
    put_ids(body, message);
    put<8>(body, message.private_bytes);
}

template <class Short>
void get_message(ConstBody body, Short& message) {
    get<0>(body, message);
    get<8>(body, message.private_bytes);
}

template <std::size_t Index = 0>
std::optional<CmMessage> message_of(std::size_t index, ConstBody body) {
    if constexpr (Index < std::variant_size_v<CmMessage>) {
        if (index != Index) return message_of<Index + 1>(index, body);
        CmMessage message(std::in_place_index<Index>);
        get_message(body, std::get<Index>(message));
        return message;
    } else {
        return std::nullopt;
    }
}

}  // namespace

void CmPath::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 2>(to, local_lid);
    store_be_at<2, 2>(to, remote_lid);
    std::ranges::copy(std::as_bytes(std::span(local_gid)), to.begin() + 4);
    std::ranges::copy(std::as_bytes(std::span(remote_gid)), to.begin() + 20);
    store_be_at<36, 4>(to, std::uint64_t{flow_label} << 12 | (packet_rate & 0x3FU));
    store_be_at<40, 1>(to, traffic_class);
    store_be_at<41, 1>(to, hop_limit);
    store_be_at<42, 1>(to, (service_level & 0xFU) << 4 | (subnet_local ? 8U : 0U));
    store_be_at<43, 1>(to, (ack_timeout & 0x1FU) << 3);
}

CmPath CmPath::decode(std::span<const std::byte, size> from) {
    CmPath path;
    path.local_lid = static_cast<std::uint16_t>(load_be_at<0, 2>(from));
    path.remote_lid = static_cast<std::uint16_t>(load_be_at<2, 2>(from));
    std::copy_n(from.begin() + 4, 16, std::as_writable_bytes(std::span(path.local_gid)).begin());
    std::copy_n(from.begin() + 20, 16, std::as_writable_bytes(std::span(path.remote_gid)).begin());
    const std::uint64_t word = load_be_at<36, 4>(from);
    path.flow_label = static_cast<std::uint32_t>(word >> 12);
    path.packet_rate = static_cast<std::uint8_t>(word & 0x3F);
    path.traffic_class = static_cast<std::uint8_t>(load_be_at<40, 1>(from));
    path.hop_limit = static_cast<std::uint8_t>(load_be_at<41, 1>(from));
    const std::uint64_t level = load_be_at<42, 1>(from);
    path.service_level = static_cast<std::uint8_t>(level >> 4);
    path.subnet_local = (level & 8) != 0;
    path.ack_timeout = static_cast<std::uint8_t>(load_be_at<43, 1>(from) >> 3);
    return path;
}

void CmDatagram::encode(std::span<std::byte, cm_datagram_size> to) const {
    std::ranges::fill(to, std::byte{0});
    store_be_at<0, 1>(to, base_version);
    store_be_at<1, 1>(to, management_class);
    store_be_at<2, 1>(to, class_version);
    store_be_at<3, 1>(to, method_send);
    store_be_at<8, 8>(to, transaction);
    store_be_at<16, 2>(to, first_attribute + message.index());
    const Body body = to.last<body_size>();
    std::visit([body](const auto& one) { put_message(body, one); }, message);
}

ExpectedOr<CmDatagram, NotCm> CmDatagram::decode(ConstBytes bytes) {
    if (bytes.size() != cm_datagram_size) return tl::unexpected(NotCm::length);
    const auto from = bytes.first<cm_datagram_size>();
    if (load_be_at<0, 1>(from) != base_version) return tl::unexpected(NotCm::version);
    if (load_be_at<1, 1>(from) != management_class || load_be_at<3, 1>(from) != method_send) {
        return tl::unexpected(NotCm::other);
    }
    if (load_be_at<2, 1>(from) != class_version) return tl::unexpected(NotCm::version);
    const std::uint64_t attribute = load_be_at<16, 2>(from);
    if (attribute < first_attribute) return tl::unexpected(NotCm::attribute);
    auto message = message_of(attribute - first_attribute, from.last<body_size>());
    if (!message) return tl::unexpected(NotCm::attribute);
    return CmDatagram{.transaction = load_be_at<8, 8>(from), .message = std::move(*message)};
}

std::string_view name_of(CmReason reason) {
    switch (reason) {
        case CmReason::no_queue_pair: return "no queue pair";
        case CmReason::no_resources: return "no resources";
        case CmReason::timeout: return "timeout";
        case CmReason::unsupported: return "unsupported request";
        case CmReason::invalid_id: return "invalid identifier";
        case CmReason::invalid_instance: return "invalid instance";
        case CmReason::invalid_service: return "nobody listens there";
        case CmReason::invalid_transport: return "invalid transport";
        case CmReason::stale_connection: return "stale connection";
        case CmReason::invalid_path_mtu: return "invalid path MTU";
        case CmReason::too_few_resources: return "too few resources";
        case CmReason::consumer: return "refused by its user";
        case CmReason::invalid_rnr_retry: return "invalid RNR retries";
        case CmReason::duplicate_id: return "identifier in use";
    }
    return {};
}

std::string_view name_of(CmServiceStatus status) {
    switch (status) {
        case CmServiceStatus::valid: return "valid";
        case CmServiceStatus::unsupported: return "nobody listens there";
        case CmServiceStatus::rejected: return "refused by its user";
        case CmServiceStatus::no_queue_pair: return "no queue pair";
        case CmServiceStatus::redirect: return "redirected";
        case CmServiceStatus::unsupported_version: return "unsupported version";
    }
    return {};
}

std::uint8_t path_mtu_code(std::size_t bytes) {
    const auto found = std::ranges::find(path_mtus, bytes);
    return static_cast<std::uint8_t>(found - path_mtus.begin() + 1);
}

std::optional<std::size_t> path_mtu_of(std::uint8_t code) {
    if (code == 0 || code > path_mtus.size()) return std::nullopt;
    return path_mtus[code - 1U];
}

void CmIpAddresses::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 1>(to, 0);
    store_be_at<1, 1>(to, ipv6 ? 0x60 : 0x40);
    store_be_at<2, 2>(to, source_port);
    std::ranges::copy(std::as_bytes(std::span(source)), to.begin() + 4);
    std::ranges::copy(std::as_bytes(std::span(destination)), to.begin() + 20);
}

std::optional<CmIpAddresses> CmIpAddresses::decode(std::span<const std::byte, size> from) {
    const std::uint64_t version = load_be_at<1, 1>(from) >> 4;
    if (load_be_at<0, 1>(from) != 0 || (version != 4 && version != 6)) return std::nullopt;
    CmIpAddresses addresses{.ipv6 = version == 6};
    addresses.source_port = static_cast<std::uint16_t>(load_be_at<2, 2>(from));
    std::copy_n(from.begin() + 4, 16, std::as_writable_bytes(std::span(addresses.source)).begin());
    std::copy_n(from.begin() + 20, 16,
                std::as_writable_bytes(std::span(addresses.destination)).begin());
    return addresses;
}

}  // namespace wireproof::proto::ib
