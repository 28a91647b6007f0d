#include "wireproof/proto/ib/packet/packet.hpp"

#include <algorithm>
#include <type_traits>

namespace wireproof::proto::ib {
namespace {

using MalformedPacket = tl::unexpected<Malformed>;

/// Takes headers from the front. The caller has checked that the bytes are enough.
class HeaderReader {
public:
    explicit HeaderReader(ConstBytes from) : left_(from) {}
    template <class Header>
    void take(Header& header) {
        header = Header::decode(left_.first<Header::size>());
        left_ = left_.subspan(Header::size);
    }

private:
    ConstBytes left_;
};

template <class Visit, class Some>
void visit_extended(const Opcode& opcode, Some& headers, Visit&& visit) {
    if (opcode.has(Extended::deth)) visit(headers.deth);
    if (opcode.has(Extended::reth)) visit(headers.reth);
    if (opcode.has(Extended::atomic)) visit(headers.atomic);
    if (opcode.has(Extended::aeth)) visit(headers.aeth);
    if (opcode.has(Extended::atomic_ack)) visit(headers.atomic_ack);
    if (opcode.has(Extended::immediate)) visit(headers.immediate);
    if (opcode.has(Extended::invalidate)) visit(headers.invalidate);
}

}  // namespace

ExpectedOr<Packet, Malformed> Packet::decode(const RxFrame& frame) {
    const ConstBytes bytes = frame.bytes;
    if (bytes.size() < Bth::size) return MalformedPacket(Malformed::too_short);
    Packet packet;
    packet.headers.bth = Bth::decode(bytes.first<Bth::size>());
    const Bth& bth = packet.headers.bth;
    if (bth.version != 0) return MalformedPacket(Malformed::version);
    packet.opcode = find_opcode(bth.opcode);
    if (packet.opcode == nullptr) return MalformedPacket(Malformed::unknown_opcode);

    const std::size_t head = Bth::size + packet.opcode->extended_size();
    // A payload by reference is where encode put it: directly after the headers.
    if (bytes.size() < head || (!frame.lent.empty() && frame.lent_at != head)) {
        return MalformedPacket(Malformed::headers_cut);
    }
    HeaderReader reader(bytes.subspan(Bth::size));
    visit_extended(*packet.opcode, packet.headers, [&](auto& header) { reader.take(header); });

    const std::size_t behind = frame.size() - head;
    if (behind < bth.pad) return MalformedPacket(Malformed::pad_too_long);
    const ConstBytes data = frame.lent.empty() ? bytes.subspan(head) : frame.lent;
    packet.payload = data.first(std::min(data.size(), behind - bth.pad));
    return packet;
}

void encode(const Headers& headers, std::span<const ConstBytes> payload, TxFrame& out) {
    const Opcode* opcode = find_opcode(headers.bth.opcode);
    WIREPROOF_CHECK(opcode != nullptr);
    std::size_t size = 0;
    for (const ConstBytes piece : payload) size += piece.size();
    const std::size_t pad = (4 - size % 4) % 4;

    Bth bth = headers.bth;
    bth.pad = static_cast<std::uint8_t>(pad);
    bth.encode(out.add_header<Bth::size>());
    visit_extended(*opcode, headers, [&out](const auto& header) {
        header.encode(out.add_header<std::remove_cvref_t<decltype(header)>::size>());
    });
    if (payload.size() == 1) {
        out.add_payload(payload[0]);
    } else {
        Bytes room = out.add_room(size);
        for (const ConstBytes piece : payload) {
            std::copy(piece.begin(), piece.end(), room.begin());
            room = room.subspan(piece.size());
        }
    }
    std::ranges::fill(out.add_room(pad), std::byte{0});
}

FrameInfo describe(ConstBytes bytes) {
    FrameInfo info = describe_nothing(bytes);
    const auto packet = Packet::decode({.bytes = bytes});
    if (!packet) return info;
    const Bth& bth = packet->bth();
    info.channel = bth.dest_qp;
    if (packet->opcode->verb == Verb::acknowledge) {
        info.kind = name_of(packet->headers.aeth.syndrome);
        info.ack = bth.psn.value();
    } else {
        info.kind = packet->opcode->name;
        info.number = bth.psn.value();
    }
    return info;
}

}  // namespace wireproof::proto::ib
