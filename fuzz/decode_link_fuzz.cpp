// Random bytes for all decoders of links and of the layers around them: frames of each link engine,
// datagrams of a sequenced wire, segments of messages.
#include <array>
#include <vector>

#include "fuzz/input.hpp"
#include "fuzz/links/links.hpp"

#include "wireproof/base/check.hpp"
#include "wireproof/front/link/message_stream.hpp"
#include "wireproof/wire/sequenced/datagram_header.hpp"
#include "wireproof/wire/sequenced/frame_packer.hpp"

namespace wireproof {
namespace {

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
    fuzz::Links::for_each([bytes]<class Link>() { Link::decode(bytes); });
    read_datagram(bytes);
    read_segments(bytes);
    return 0;
}
