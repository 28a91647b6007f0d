// The base transport header and the headers that may follow it, all big-endian. Each header has a
// size, encode and decode. decode accepts any bytes and cannot fail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/packet/aeth_codes.hpp"
#include "wireproof/proto/ib/packet/psn.hpp"

namespace wireproof::proto::ib {

inline constexpr std::uint16_t default_partition = 0xFFFF;

/// The header at the beginning of every packet.
///
///      0        opcode
///      1        SE 1 | MigReq 1 | pad 2 | version 4
///      2 … 3    P_Key
///      4        FECN 1 | BECN 1 | reserved 6
///      5 … 7    destination QP
///      8        AckReq 1 | reserved 7
///      9 … 11   PSN
///
/// Reserved bits are sent as zero and ignored on receipt (UC-1).
struct Bth {
    static constexpr std::size_t size = 12;
    std::uint8_t opcode = 0;
    bool solicited = false;
    bool migrated = false;
    std::uint8_t pad = 0;      // bytes after the payload, 0 … 3
    std::uint8_t version = 0;  // of the transport, 4 bits; only 0 exists
    std::uint16_t partition = default_partition;
    bool fecn = false;
    bool becn = false;
    std::uint32_t dest_qp = 0;  // 24 bits
    bool ack_request = false;
    Psn psn = {};

    void encode(std::span<std::byte, size> to) const;
    static Bth decode(std::span<const std::byte, size> from);
    friend bool operator==(const Bth&, const Bth&) = default;
};

/// RDMA: address, key and length.
struct Reth {
    static constexpr std::size_t size = 16;
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::uint32_t length = 0;  // bytes of the whole message

    void encode(std::span<std::byte, size> to) const;
    static Reth decode(std::span<const std::byte, size> from);
    void fingerprint(Fingerprint& sink) const {
        sink.add(address);
        sink.add(rkey);
        sink.add(length);
    }
    friend bool operator==(const Reth&, const Reth&) = default;
};

struct AtomicEth {
    static constexpr std::size_t size = 28;
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::uint64_t swap_or_add = 0;
    std::uint64_t compare = 0;

    void encode(std::span<std::byte, size> to) const;
    static AtomicEth decode(std::span<const std::byte, size> from);
    friend bool operator==(const AtomicEth&, const AtomicEth&) = default;
};

/// In every response except the Middle packets of a Read.
struct Aeth {
    static constexpr std::size_t size = 4;
    Syndrome syndrome = {};
    Msn msn = {};  // 24 bits

    void encode(std::span<std::byte, size> to) const;
    static Aeth decode(std::span<const std::byte, size> from);
    friend bool operator==(const Aeth&, const Aeth&) = default;
};

struct AtomicAckEth {
    static constexpr std::size_t size = 8;
    std::uint64_t original = 0;  // the value in memory before the operation

    void encode(std::span<std::byte, size> to) const;
    static AtomicAckEth decode(std::span<const std::byte, size> from);
    friend bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;
};

/// For the completion at the receiver. It is a number. A user who wants the bytes in the order of
/// the sender's memory swaps them on both sides.
struct ImmDt {
    static constexpr std::size_t size = 4;
    std::uint32_t value = 0;

    void encode(std::span<std::byte, size> to) const;
    static ImmDt decode(std::span<const std::byte, size> from);
    friend bool operator==(const ImmDt&, const ImmDt&) = default;
};

struct Ieth {
    static constexpr std::size_t size = 4;
    std::uint32_t rkey = 0;  // to invalidate

    void encode(std::span<std::byte, size> to) const;
    static Ieth decode(std::span<const std::byte, size> from);
    friend bool operator==(const Ieth&, const Ieth&) = default;
};

/// In datagrams.
struct Deth {
    static constexpr std::size_t size = 8;
    std::uint32_t qkey = 0;
    std::uint32_t source_qp = 0;  // 24 bits

    void encode(std::span<std::byte, size> to) const;
    static Deth decode(std::span<const std::byte, size> from);
    friend bool operator==(const Deth&, const Deth&) = default;
};

}  // namespace wireproof::proto::ib
