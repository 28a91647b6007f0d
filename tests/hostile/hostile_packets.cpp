#include "tests/hostile/hostile_packets.hpp"

#include <algorithm>

#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::hostile {
namespace {

constexpr std::size_t masked_byte = 4;  // byte of the base header that the ICRC does not cover

void write(const proto::ib::Headers& headers, ConstBytes payload, PacketBytes& to) {
    std::vector<std::byte> room(
        proto::ib::packet_size(*proto::ib::find_opcode(headers.bth.opcode),  //
                               payload.size()));
    TxFrame frame;
    frame.open(room, {.frame_max = room.size()});
    encode(headers, std::span(&payload, 1), frame);
    to.resize(frame.size());
    frame.gather(to);
}

}  // namespace

/// Usually an address near one of the ends of a region.
std::uint64_t HostilePackets::near(const proto::ib::Piece& region) {
    if (chance(0.02)) return dice_.next();
    const std::uint64_t border = region.address + (chance(0.5) ? region.length : 0);
    return border + dice_.below(64) - (chance(0.5) ? 32 : dice_.below(4096));
}

/// Uses the key of the region, and often an address in it. Then only the rights can refuse it.
void HostilePackets::aim_at(const proto::ib::Piece& region, proto::ib::Headers& headers) {
    const bool within = chance(0.5);
    headers.reth.rkey = headers.atomic.rkey = region.key;
    headers.reth.address = within ? region.address + dice_.below(region.length / 2) : near(region);
    headers.atomic.address = headers.reth.address / 8 * 8;
}

std::uint32_t HostilePackets::length() {
    switch (dice_.below(6)) {
        case 0: return static_cast<std::uint32_t>(dice_.next());
        case 1: return 0x80000000U + static_cast<std::uint32_t>(dice_.below(3)) - 1;
        case 2: return static_cast<std::uint32_t>(0 - dice_.below(4096));
        default: return static_cast<std::uint32_t>(dice_.below(3000));
    }
}

proto::ib::Psn HostilePackets::near(proto::ib::Psn psn) {
    const std::uint64_t far = chance(0.2) ? dice_.below(proto::ib::wire_circle.modulus())
                                          : proto::ib::wire_circle.modulus() + dice_.below(9) - 4;
    return proto::ib::wire_circle.advance(psn, far % proto::ib::wire_circle.modulus());
}

void HostilePackets::alter_headers(proto::ib::Headers& headers) {
    switch (dice_.below(12)) {
        case 0: {
            const auto& all = proto::ib::opcodes::all;
            headers.bth.opcode = all[dice_.below(all.size())].byte;
            break;
        }
        case 1: {
            const auto& all = proto::ib::opcodes::connected;
            const std::size_t count = aims_.transport == proto::ib::Transport::uc
                                          ? proto::ib::opcodes::unreliable
                                          : all.size();
            headers.bth.opcode =
                proto::ib::opcode_of(aims_.transport, all[dice_.below(count)].operation());
            break;
        }
        case 2: headers.bth.dest_qp = any_of(aims_.queue_pairs); break;
        case 3: headers.bth.dest_qp = static_cast<std::uint32_t>(dice_.below(1U << 24)); break;
        case 4: headers.bth.partition = static_cast<std::uint16_t>(dice_.next()); break;
        case 5: headers.bth.psn = near(headers.bth.psn); break;
        case 6: headers.reth.address = headers.atomic.address = near(any_of(aims_.regions)); break;
        case 7: headers.reth.rkey = headers.atomic.rkey = any_of(aims_.regions).key; break;
        case 8: headers.reth.rkey ^= static_cast<std::uint32_t>(1 + dice_.below(0x3FF)); break;
        case 9: headers.reth.length = length(); break;
        case 10: {
            headers.aeth = proto::ib::Aeth::decode(std::array{
                std::byte(dice_.next()), std::byte(0), std::byte(0), std::byte(dice_.next())});
            break;
        }
        default:
            headers.invalidate.rkey = any_of(aims_.regions).key;
            headers.atomic.swap_or_add = headers.atomic.compare = dice_.next();
            headers.bth.solicited = chance(0.5);
            headers.bth.ack_request = chance(0.5);
    }
}

void HostilePackets::alter_bytes(PacketBytes& packet) {
    const std::size_t words = packet.size() / 4;
    switch (dice_.below(4)) {
        case 0: packet[dice_.below(packet.size())] = std::byte(dice_.next()); break;
        case 1: packet.resize(4 * (3 + dice_.below(words - 2))); break;  // keeps the base header
        case 2:
            packet.resize(std::min(packet.size() + 4 * dice_.below(64), aims_.packet_max));
            break;
        default: packet[1] = std::byte(dice_.next());  // flags, pad, version
    }
}

void HostilePackets::alter(PacketBytes& packet) {
    const auto decoded = proto::ib::Packet::decode({.bytes = packet});
    if (!decoded || chance(0.25)) return alter_bytes(packet);
    proto::ib::Headers headers = decoded->headers;
    const PacketBytes payload(decoded->payload.begin(), decoded->payload.end());
    if (chance(0.3)) {
        aim_at(any_of(aims_.regions), headers);
    } else {
        for (std::uint64_t i = 1 + dice_.below(3); i > 0; --i) alter_headers(headers);
    }
    write(headers, payload, packet);
    packet.resize(std::min(packet.size(), aims_.packet_max));
    if (chance(0.1)) alter_bytes(packet);
}

PacketBytes HostilePackets::invented() {
    constexpr std::size_t least = proto::ib::Bth::size;
    PacketBytes packet(least + dice_.below(aims_.packet_max - least));
    for (std::byte& byte : packet) byte = std::byte(dice_.next());
    if (chance(0.7)) {
        proto::ib::Bth bth =
            proto::ib::Bth::decode(std::span(packet).first<proto::ib::Bth::size>());
        bth.version = 0;
        bth.partition = proto::ib::default_partition;
        bth.dest_qp = any_of(aims_.queue_pairs);
        bth.encode(std::span(packet).first<proto::ib::Bth::size>());
    }
    return packet;
}

PacketBytes HostilePackets::plausible() {
    PacketBytes payload(64 + dice_.below(500));
    for (std::byte& byte : payload) byte = std::byte(dice_.next());
    proto::ib::Headers headers;
    headers.bth.opcode = proto::ib::opcode_of(aims_.transport, proto::ib::Operation::write_only);
    headers.bth.dest_qp = any_of(aims_.queue_pairs);
    headers.bth.psn = proto::ib::Psn(static_cast<std::uint32_t>(dice_.below(1U << 24)));
    headers.reth.length = static_cast<std::uint32_t>(payload.size());
    aim_at(any_of(aims_.regions), headers);
    PacketBytes packet;
    write(headers, payload, packet);
    return packet;
}

PacketBytes HostilePackets::meeting() {
    constexpr std::array<unsigned char, 4> head = {1, 7, 2, 3};
    PacketBytes payload(proto::ib::cm_datagram_size);
    for (std::byte& byte : payload) byte = std::byte(dice_.next());
    if (chance(0.95)) std::ranges::copy(std::as_bytes(std::span(head)), payload.begin());
    payload[16] = std::byte{0};
    constexpr std::size_t attributes = std::variant_size_v<proto::ib::CmMessage>;
    payload[17] = std::byte(0x10 + dice_.below(attributes));
    if (auto datagram = proto::ib::CmDatagram::decode(payload)) {
        if (auto* request = std::get_if<proto::ib::CmRequest>(&datagram->message)) {
            if (chance(0.8)) request->service = aims_.service;
            request->local_id = static_cast<std::uint32_t>(dice_.below(256));
            request->transport = static_cast<std::uint8_t>(dice_.below(3));
            request->path_mtu = static_cast<std::uint8_t>(dice_.below(7));
        }
        if (auto* question = std::get_if<proto::ib::CmServiceRequest>(&datagram->message)) {
            if (chance(0.8)) question->service = aims_.service;
            question->request_id = static_cast<std::uint32_t>(dice_.below(256));
        }
        datagram->encode(std::span(payload).first<proto::ib::cm_datagram_size>());
    }
    if (chance(0.05)) payload.resize(dice_.below(payload.size()));
    proto::ib::Headers headers;
    headers.bth.opcode =
        proto::ib::opcode_of(proto::ib::Transport::ud, proto::ib::Operation::send_only);
    headers.bth.dest_qp = proto::ib::cm_queue_pair;
    headers.deth.qkey =
        chance(0.95) ? proto::ib::cm_qkey : static_cast<std::uint32_t>(dice_.next());
    headers.deth.source_qp = proto::ib::cm_queue_pair;
    PacketBytes packet;
    write(headers, payload, packet);
    return packet;
}

void HostilePackets::check(PacketBytes& packet, const Way& way,
                           std::uint16_t identification) const {
    const IcrcCover cover({.from = way.from,
                           .to = way.to,
                           .packet = packet.size(),
                           .identification = identification});
    std::array<std::byte, IcrcCover::icrc_size> icrc;
    store_le<std::uint32_t>(icrc, cover.icrc(packet));
    packet.insert(packet.end(), icrc.begin(), icrc.end());
}

void HostilePackets::damage(PacketBytes& checked) {
    std::size_t at = dice_.below(checked.size());
    if (at == masked_byte) ++at;
    checked[at] ^= std::byte(1U << dice_.below(8));
}

}  // namespace wireproof::hostile
