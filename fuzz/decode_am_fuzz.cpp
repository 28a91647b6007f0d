// Random bytes for all decoders: headers of both layouts, bodies, and addresses as text. The
// encoder must produce the same bytes again from the decoded value.
#include <array>
#include <string_view>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {
namespace {

constexpr std::size_t header_max = 48;

void read_packet(Layout layout, std::size_t header_size, std::size_t checksum_at,
                 ConstBytes packet) {
    const FrameInfo info = describe_of(layout)(packet);
    WIREPROOF_CHECK(info.length == packet.size() && !info.kind.empty());
    (void)checksum_holds(layout, packet);
    const auto header = decode(layout, packet);
    WIREPROOF_CHECK(header.has_value() == (info.kind != "frame"));
    if (!header) return;

    std::array<std::byte, header_max> room{};
    const Bytes again = Bytes(room).first(header_size);
    encode(*header, layout, again);
    WIREPROOF_CHECK(decode(layout, again) == header);
    for (std::size_t i = 0; i < header_size; ++i) {
        const bool in_checksum = i >= checksum_at && i < checksum_at + 4;
        WIREPROOF_CHECK(again[i] == (in_checksum ? std::byte{0} : packet[i]));
    }
    // With a new checksum the packet is valid. After a change of any bit except in the filler, it
    // is not.
    const ConstBytes behind = packet.subspan(header_size);
    if (header->filler > behind.size()) {
        WIREPROOF_CHECK(!checksum_holds(layout, packet));
        return;
    }
    const ConstBytes data = behind.first(behind.size() - header->filler);
    store_checksum(layout, again, checksum(layout, again, data));
    std::vector<std::byte> sealed(again.begin(), again.end());
    sealed.insert(sealed.end(), behind.begin(), behind.end());
    WIREPROOF_CHECK(checksum_holds(layout, sealed));
    sealed[(header_size + data.size()) / 2] ^= std::byte{0x10};
    WIREPROOF_CHECK(!checksum_holds(layout, sealed));
}

template <class Body>
void read_body(ConstBytes bytes) {
    if (bytes.size() < Body::size) return;
    const auto body = bytes.first<Body::size>();
    std::array<std::byte, Body::size> again{};
    Body::decode(body).encode(again);
    WIREPROOF_CHECK(std::equal(again.begin(), again.end(), body.begin()));
}

void read_address(ConstBytes bytes) {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    const auto address = Address::parse(std::string_view(text, bytes.size()));
    if (!address) {
        WIREPROOF_CHECK(!address.error().message.empty());
        return;
    }
    WIREPROOF_CHECK(address->is_set());
    WIREPROOF_CHECK(Address::parse(address->to_string()) == *address);
}

}  // namespace
}  // namespace wireproof::am

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wireproof;
    using namespace wireproof::am;
    const ConstBytes bytes = std::as_bytes(std::span(data, size));
    read_packet(Layout::sp2, 32, 28, bytes);
    read_packet(Layout::ethernet, 48, 40, bytes);
    read_body<OpenBody>(bytes);
    read_body<GetBody>(bytes);
    read_body<NackBody>(bytes);
    read_body<HelloBody>(bytes);
    read_body<RefusalBody>(bytes);
    read_address(bytes);
    return 0;
}
