// Random bytes for all decoders of InfiniBand packets and of captures with such packets.
#include <array>
#include <vector>

#include "fuzz/input.hpp"

#include "wireproof/base/check.hpp"
#include "wireproof/base/pcap.hpp"
#include "wireproof/proto/ib/cm/cm_messages.hpp"
#include "wireproof/proto/ib/packet/native_frame.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/wire/udp/rocev2_datagram.hpp"

namespace wireproof {
namespace {

// The decoded packet must lie in the frame. After encoding, it must decode to the same packet.
void read_packet(ConstBytes bytes) {
    WIREPROOF_CHECK(proto::ib::describe(bytes).length == bytes.size());
    const auto packet = proto::ib::Packet::decode({.bytes = bytes});
    if (!packet) return;
    fuzz::touch(packet->payload);
    std::vector<std::byte> room(bytes.size() + 4);
    TxFrame out;
    out.open(room, {.frame_max = room.size()});
    encode(packet->headers, std::span(&packet->payload, 1), out);
    std::vector<std::byte> written(out.size());
    out.gather(written);
    const auto again = proto::ib::Packet::decode({.bytes = written});
    WIREPROOF_CHECK(again && again->padded_right());
    WIREPROOF_CHECK(again->payload.size() == packet->payload.size());
    WIREPROOF_CHECK(again->headers.aeth == packet->headers.aeth);
    WIREPROOF_CHECK(again->headers.reth == packet->headers.reth);
    // Payload in other memory must decode to the same packet.
    const std::size_t head = proto::ib::Bth::size + packet->opcode->extended_size();
    std::vector<std::byte> rest(written.begin(),
                                written.begin() + static_cast<std::ptrdiff_t>(head));
    rest.insert(rest.end(), again->bth().pad, std::byte{0});
    const auto lent =
        proto::ib::Packet::decode({.bytes = rest, .lent = packet->payload, .lent_at = head});
    WIREPROOF_CHECK(lent && lent->payload.size() == packet->payload.size());
}

// A decoded datagram must decode to the same value after encoding. Reserved bits may differ.
void read_datagram(ConstBytes bytes) {
    const auto datagram = proto::ib::CmDatagram::decode(bytes);
    if (!datagram) return;
    std::array<std::byte, proto::ib::cm_datagram_size> written{};
    datagram->encode(written);
    WIREPROOF_CHECK(proto::ib::CmDatagram::decode(written) == *datagram);
}

void read_frame(ConstBytes bytes) {
    if (const auto found = Rocev2Datagram::find(bytes)) {
        (void)found->icrc_right();
        fuzz::touch(found->packet);
        read_packet(found->packet);
    }
    if (const auto native = proto::ib::NativeFrame::decode(bytes)) fuzz::touch(native->packet);
}

void read_capture(ConstBytes file) {
    CaptureReader reader(capture_in(file));
    std::uint64_t packets = 0;
    while (true) {
        const auto next = reader.next();
        if (!next) {
            WIREPROOF_CHECK(!next.error().message.empty());
            return;
        }
        if (!*next) return;
        WIREPROOF_CHECK((*next)->number == ++packets);
        fuzz::touch((*next)->bytes);
        read_frame((*next)->bytes);
    }
}

}  // namespace
}  // namespace wireproof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wireproof;
    const ConstBytes bytes = std::as_bytes(std::span(data, size));
    read_packet(bytes);
    read_datagram(bytes);
    read_frame(bytes);
    read_capture(bytes);
    return 0;
}
