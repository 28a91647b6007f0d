// Random bytes for all decoders of links and of the layers around them: TLPs, DLLPs, micropackets,
// datagrams of a sequenced wire, segments of messages.
#include <array>
#include <vector>

#include "fuzz/input.hpp"

#include "wireproof/base/check.hpp"
#include "wireproof/front/link/message_stream.hpp"
#include "wireproof/proto/hippi/wire_format.hpp"
#include "wireproof/proto/pcie/wire_format.hpp"
#include "wireproof/wire/sequenced/datagram_header.hpp"
#include "wireproof/wire/sequenced/frame_packer.hpp"

namespace wireproof {
namespace {

void read_pcie(ConstBytes bytes) {
    WIREPROOF_CHECK(pcie::describe(bytes).length == bytes.size());
    if (bytes.size() >= pcie::Dllp::size) {
        const auto first = bytes.first<pcie::Dllp::size>();
        if (const auto dllp = pcie::Dllp::decode(first, true)) {
            std::array<std::byte, pcie::Dllp::size> again;
            dllp->encode(again, true);
            WIREPROOF_CHECK(std::equal(again.begin(), again.end(), first.begin()));
        }
    }
    const auto tlp = pcie::TlpPieces::of(RxFrame{.bytes = bytes});
    if (!tlp) return;
    (void)tlp->computed_lcrc();
    (void)tlp->ecrc_matches();
    const auto head = pcie::TlpHead::decode(tlp->head);
    if (!head) return;
    WIREPROOF_CHECK(head->length <= 4096 && head->frame_size() % 4 == 0);
    std::array<std::byte, pcie::TlpHead::size> again;
    head->encode(again);
    const auto same = pcie::TlpHead::decode(again);
    WIREPROOF_CHECK(same && same->length == head->length && same->type == head->type);
}

void read_datagram(ConstBytes bytes) {
    const auto header = DatagramHeader::decode(bytes);
    if (!header) return;
    FrameUnpacker unpacker(*header, bytes);
    while (unpacker.left() > 0) {
        const auto frame = unpacker.next();
        if (!frame) return;
        fuzz::touch(*frame);
    }
}

void read_segments(ConstBytes bytes) {
    link::MessageStream stream({.message_max = 500, .life = 1});
    stream.on_up();
    stream.submit(bytes.first(std::min<std::size_t>(bytes.size(), 100)));
    std::array<std::byte, 64> room;
    fuzz::Input in(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    while (!in.empty()) {
        const link::Arrival arrival = stream.on_segment(in.bytes(in.byte() % 64U));
        if (arrival == link::Arrival::message) WIREPROOF_CHECK(stream.take_message().size() <= 500);
        for (int i = 0; i < 10 && stream.next_segment(room) > 0; ++i) {
        }
    }
}

}  // namespace
}  // namespace wireproof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wireproof;
    const ConstBytes bytes = std::as_bytes(std::span(data, size));
    read_pcie(bytes);
    // A control word without data may be a micropacket whose data is lent in other memory.
    const std::size_t length = hippi::describe(bytes).length;
    WIREPROOF_CHECK(length == bytes.size() ||
                    (bytes.size() == hippi::control_size && length == hippi::unit_size));
    read_datagram(bytes);
    read_segments(bytes);
    return 0;
}
