#include "wireproof/proto/ib/packet/headers.hpp"

#include "wireproof/proto/ib/packet/big_endian.hpp"

namespace wireproof::proto::ib {
namespace {

template <std::size_t Offset, std::size_t Extent>
std::uint32_t load_24_at(std::span<const std::byte, Extent> from) {
    return static_cast<std::uint32_t>(load_be_at<Offset, 3>(from));
}

template <std::size_t Offset, std::size_t Extent>
std::uint32_t load_32_at(std::span<const std::byte, Extent> from) {
    return static_cast<std::uint32_t>(load_be_at<Offset, 4>(from));
}

std::byte flag(bool set, unsigned bit) {
    return static_cast<std::byte>(set ? 1U << bit : 0U);
}

bool is_set(std::byte byte, unsigned bit) {
    return (std::to_integer<unsigned>(byte) >> bit & 1) != 0;
}

}  // namespace

// UC-1: reserved bits are sent as zero.
void Bth::encode(std::span<std::byte, size> to) const {
    to[0] = static_cast<std::byte>(opcode);
    to[1] = flag(solicited, 7) | flag(migrated, 6) | static_cast<std::byte>((pad & 3U) << 4) |
            static_cast<std::byte>(version & 0xFU);
    store_be_at<2, 2>(to, partition);
    to[4] = flag(fecn, 7) | flag(becn, 6);
    store_be_at<5, 3>(to, dest_qp);
    to[8] = flag(ack_request, 7);
    store_be_at<9, 3>(to, psn.value());
}

Bth Bth::decode(std::span<const std::byte, size> from) {
    Bth bth;
    bth.opcode = std::to_integer<std::uint8_t>(from[0]);
    bth.solicited = is_set(from[1], 7);
    bth.migrated = is_set(from[1], 6);
    bth.pad = std::to_integer<std::uint8_t>(from[1] >> 4 & std::byte{3});
    bth.version = std::to_integer<std::uint8_t>(from[1] & std::byte{0xF});
    bth.partition = static_cast<std::uint16_t>(load_be_at<2, 2>(from));
    bth.fecn = is_set(from[4], 7);
    bth.becn = is_set(from[4], 6);
    bth.dest_qp = load_24_at<5>(from);
    bth.ack_request = is_set(from[8], 7);
    bth.psn = Psn(load_24_at<9>(from));
    return bth;
}

void Reth::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 8>(to, address);
    store_be_at<8, 4>(to, rkey);
    store_be_at<12, 4>(to, length);
}

Reth Reth::decode(std::span<const std::byte, size> from) {
    return {load_be_at<0, 8>(from), load_32_at<8>(from), load_32_at<12>(from)};
}

void AtomicEth::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 8>(to, address);
    store_be_at<8, 4>(to, rkey);
    store_be_at<12, 8>(to, swap_or_add);
    store_be_at<20, 8>(to, compare);
}

AtomicEth AtomicEth::decode(std::span<const std::byte, size> from) {
    return {load_be_at<0, 8>(from), load_32_at<8>(from), load_be_at<12, 8>(from),
            load_be_at<20, 8>(from)};
}

void Aeth::encode(std::span<std::byte, size> to) const {
    to[0] = static_cast<std::byte>(syndrome.byte);
    store_be_at<1, 3>(to, msn.value());
}

Aeth Aeth::decode(std::span<const std::byte, size> from) {
    return {Syndrome{std::to_integer<std::uint8_t>(from[0])}, Msn(load_24_at<1>(from))};
}

void AtomicAckEth::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 8>(to, original);
}

AtomicAckEth AtomicAckEth::decode(std::span<const std::byte, size> from) {
    return {load_be_at<0, 8>(from)};
}

void ImmDt::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 4>(to, value);
}

ImmDt ImmDt::decode(std::span<const std::byte, size> from) {
    return {load_32_at<0>(from)};
}

void Ieth::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 4>(to, rkey);
}

Ieth Ieth::decode(std::span<const std::byte, size> from) {
    return {load_32_at<0>(from)};
}

void Deth::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 4>(to, qkey);
    to[4] = std::byte{0};
    store_be_at<5, 3>(to, source_qp);
}

Deth Deth::decode(std::span<const std::byte, size> from) {
    return {load_32_at<0>(from), load_24_at<5>(from)};
}

}  // namespace wireproof::proto::ib
