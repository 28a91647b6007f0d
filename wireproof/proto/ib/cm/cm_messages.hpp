// The datagrams of communication management, class version 2, which travel to queue pair 1. A
// datagram has the header of 24 bytes that all management datagrams have, and a message of 232
// bytes. IBA volume 1, chapter 12. Annex 11 describes the IP addresses that rdma_cm writes in front
// of the private data of its user.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/proto/ib/packet/gid.hpp"
#include "wireproof/proto/ib/packet/opcode.hpp"
#include "wireproof/proto/ib/packet/psn.hpp"

namespace wireproof::proto::ib {

inline constexpr std::size_t cm_datagram_size = 256;
inline constexpr std::uint32_t cm_queue_pair = 1;
inline constexpr std::uint32_t cm_qkey = 0x80010000;  // well known

template <std::size_t Size>
using PrivateBytes = std::array<std::byte, Size>;

/// One of the two paths in a request. If all fields are zero, the path does not exist.
struct CmPath {
    static constexpr std::size_t size = 44;
    std::uint16_t local_lid = 0;
    std::uint16_t remote_lid = 0;
    Gid local_gid = {};
    Gid remote_gid = {};
    std::uint32_t flow_label = 0;  // 20 bits
    std::uint8_t packet_rate = 0;  // 6 bits
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t service_level = 0;  // 4 bits
    bool subnet_local = false;
    std::uint8_t ack_timeout = 0;  // 4.096 us x 2^n, 5 bits

    void encode(std::span<std::byte, size> to) const;
    static CmPath decode(std::span<const std::byte, size> from);
    friend bool operator==(const CmPath&, const CmPath&) = default;
};

/// REQ. ConnectionManagement fills in identifiers and timeouts.
struct CmRequest {
    std::uint32_t local_id = 0;
    std::uint64_t service = 0;
    std::uint64_t ca_guid = 0;
    std::uint32_t qkey = 0;
    std::uint32_t queue_pair = 0;          // 24 bits
    std::uint8_t responder_resources = 0;  // Reads and Atomics of the peer that this side keeps
    std::uint32_t local_eec = 0;           // 24 bits; only for RD
    std::uint8_t initiator_depth = 0;      // Reads and Atomics that this side may have outstanding
    std::uint32_t remote_eec = 0;          // 24 bits
    std::uint8_t remote_response_timeout = 0;  // 4.096 us x 2^n, 5 bits
    std::uint8_t transport = 0;                // 2 bits: RC, UC, RD, extended
    bool flow_control = false;                 // end-to-end credits
    Psn starting_psn = {};
    std::uint8_t local_response_timeout = 0;  // as above
    std::uint8_t retry_count = 0;             // 3 bits
    std::uint16_t partition = 0xFFFF;
    std::uint8_t path_mtu = 0;  // 4 bits: 1 is 256, 5 is 4096
    bool rdc_exists = false;
    std::uint8_t rnr_retry = 0;    // 3 bits
    std::uint8_t max_retries = 0;  // for these datagrams; 4 bits
    bool shared_receives = false;
    std::uint8_t extended_transport = 0;  // 3 bits
    CmPath primary = {};
    CmPath alternate = {};
    PrivateBytes<92> private_bytes = {};
    friend bool operator==(const CmRequest&, const CmRequest&) = default;
};

/// The message that an MRA or REJ refers to.
enum class CmSubject : std::uint8_t { request = 0, reply = 1, other = 2 };

/// MRA: the message has arrived, and the answer takes some time.
struct CmDelay {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    CmSubject subject = CmSubject::request;  // 2 bits
    std::uint8_t service_timeout = 0;        // 4.096 us x 2^n, 5 bits
    PrivateBytes<222> private_bytes = {};
    friend bool operator==(const CmDelay&, const CmDelay&) = default;
};

/// The reason of a REJ. A datagram may also carry other values.
enum class CmReason : std::uint16_t {
    no_queue_pair = 1,
    no_resources = 3,
    timeout = 4,
    unsupported = 5,
    invalid_id = 6,
    invalid_instance = 7,
    invalid_service = 8,
    invalid_transport = 9,
    stale_connection = 10,
    invalid_path_mtu = 26,
    too_few_resources = 27,
    consumer = 28,  // the user says no
    invalid_rnr_retry = 29,
    duplicate_id = 30,
};

/// For example "invalid service". Empty for a reason that is not listed above: the caller then
/// prints its number.
std::string_view name_of(CmReason reason);

/// REJ.
struct CmReject {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    CmSubject subject = CmSubject::request;  // 2 bits
    std::uint8_t detail_length = 0;          // bytes of `detail`, 7 bits
    CmReason reason = CmReason::consumer;
    PrivateBytes<72> detail = {};
    PrivateBytes<148> private_bytes = {};
    friend bool operator==(const CmReject&, const CmReject&) = default;
};

/// REP.
struct CmReply {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    std::uint32_t qkey = 0;
    std::uint32_t queue_pair = 0;  // 24 bits
    std::uint32_t eec = 0;         // 24 bits
    Psn starting_psn = {};
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t target_ack_delay = 0;  // 5 bits
    std::uint8_t failover = 0;          // 2 bits
    bool flow_control = false;
    std::uint8_t rnr_retry = 0;  // 3 bits
    bool shared_receives = false;
    std::uint64_t ca_guid = 0;
    PrivateBytes<196> private_bytes = {};
    friend bool operator==(const CmReply&, const CmReply&) = default;
};

/// RTU: ready to use.
struct CmReady {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    PrivateBytes<224> private_bytes = {};
    friend bool operator==(const CmReady&, const CmReady&) = default;
};

/// DREQ.
struct CmDisconnect {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    std::uint32_t remote_queue_pair = 0;  // 24 bits
    PrivateBytes<220> private_bytes = {};
    friend bool operator==(const CmDisconnect&, const CmDisconnect&) = default;
};

/// DREP.
struct CmDisconnected {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    PrivateBytes<224> private_bytes = {};
    friend bool operator==(const CmDisconnected&, const CmDisconnected&) = default;
};

/// SIDR_REQ: asks which queue pair receives the datagrams of a service.
struct CmServiceRequest {
    std::uint32_t request_id = 0;
    std::uint16_t partition = 0xFFFF;
    std::uint64_t service = 0;
    PrivateBytes<216> private_bytes = {};
    friend bool operator==(const CmServiceRequest&, const CmServiceRequest&) = default;
};

/// The status of a SIDR_REP. A datagram may also carry other values.
enum class CmServiceStatus : std::uint8_t {
    valid = 0,
    unsupported = 1,  // no listener
    rejected = 2,     // the user says no
    no_queue_pair = 3,
    redirect = 4,
    unsupported_version = 5,
};

/// For example "nobody listens there". Empty for a status that is not listed above: the caller then
/// prints its number.
std::string_view name_of(CmServiceStatus status);

/// SIDR_REP. The queue pair and the Q_Key are valid only if the status is `valid`.
struct CmServiceReply {
    std::uint32_t request_id = 0;
    CmServiceStatus status = CmServiceStatus::valid;
    std::uint8_t detail_length = 0;  // bytes of `detail`, 8 bits
    std::uint32_t queue_pair = 0;    // 24 bits
    std::uint64_t service = 0;       // the one that was asked for
    std::uint32_t qkey = 0;
    PrivateBytes<72> detail = {};
    PrivateBytes<136> private_bytes = {};
    friend bool operator==(const CmServiceReply&, const CmServiceReply&) = default;
};

/// The order is that of the attribute numbers of the messages, from 0x0010 on.
using CmMessage = std::variant<CmRequest, CmDelay, CmReject, CmReply, CmReady, CmDisconnect,
                               CmDisconnected, CmServiceRequest, CmServiceReply>;

inline constexpr std::array<std::string_view, std::variant_size_v<CmMessage>> cm_message_names = {
    "REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"};

constexpr std::string_view name_of(const CmMessage& message) {
    return cm_message_names[message.index()];
}

/// Why a datagram is not one of these messages. decode checks the reasons in this order.
enum class NotCm : std::uint8_t {
    length,     // not 256 bytes
    version,    // wrong version of the header or of the class
    other,      // another class of management, or a method other than Send
    attribute,  // not a message, or one that is not supported
};

struct CmDatagram {
    std::uint64_t transaction = 0;
    CmMessage message;

    /// Reserved fields are sent as zero and ignored on receipt.
    void encode(std::span<std::byte, cm_datagram_size> to) const;
    static ExpectedOr<CmDatagram, NotCm> decode(ConstBytes from);
    friend bool operator==(const CmDatagram&, const CmDatagram&) = default;
};

/// 1 for 256, 5 for 4096. `bytes` must be a valid path MTU.
std::uint8_t path_mtu_code(std::size_t bytes);
std::optional<std::size_t> path_mtu_of(std::uint8_t code);

/// The data that rdma_cm writes in front of the private data of a REQ or SIDR_REQ. With it, both
/// sides know the address and port of the other side.
struct CmIpAddresses {
    static constexpr std::size_t size = 36;
    bool ipv6 = false;
    std::uint16_t source_port = 0;
    Gid source = {};  // IPv4: in the last four bytes, after zeros
    Gid destination = {};

    void encode(std::span<std::byte, size> to) const;
    /// Empty if the version is not known.
    static std::optional<CmIpAddresses> decode(std::span<const std::byte, size> from);
    friend bool operator==(const CmIpAddresses&, const CmIpAddresses&) = default;
};

/// The port spaces of rdma_cm: tcp for connections, udp for datagrams.
enum class PortSpace : std::uint16_t { tcp = 0x0106, udp = 0x0111 };

/// The service of a port in one of these port spaces.
constexpr std::uint64_t service_of_port(std::uint16_t port, PortSpace space = PortSpace::tcp) {
    return std::uint64_t{static_cast<std::uint16_t>(space)} << 16 | port;
}
constexpr bool is_ip_service(std::uint64_t service) {
    return service >> 24 == 1;
}

}  // namespace wireproof::proto::ib
