#include "wireproof/base/pcapng.hpp"

#include "wireproof/base/check.hpp"
#include "wireproof/base/pcapng_blocks.hpp"

namespace wireproof {
namespace {

constexpr std::uint16_t opt_end = 0;
constexpr std::uint16_t if_name = 2;
constexpr std::uint16_t if_tsresol = 9;

// An option's length field has 16 bits.
constexpr std::size_t option_max = 0xFFFF;

}  // namespace

PcapngFile::PcapngFile(std::string_view application) {
    begin(pcapng::section_header);
    put(pcapng::byte_order_magic, 4);
    put(1, 2);  // version 1.0
    put(0, 2);
    put(~std::uint64_t{0}, 8);  // the section's length: unknown
    put_option(pcapng::option_application, application);
    put_option(opt_end, {});
    end();
}

std::uint32_t PcapngFile::add_interface(std::string_view name, std::uint16_t link_type) {
    begin(pcapng::interface_description);
    put(link_type, 2);
    put(0, 2);
    put(0, 4);  // no limit: packets are complete
    put_option(if_name, name);
    put_option(if_tsresol, "\x09");  // 10^-9 s
    put_option(opt_end, {});
    end();
    return interfaces_++;
}

void PcapngFile::add(const Packet& packet) {
    WIREPROOF_CHECK(packet.interface < interfaces_);
    begin(pcapng::enhanced_packet);
    put(packet.interface, 4);
    put(packet.nanoseconds >> 32, 4);
    put(packet.nanoseconds & 0xFFFFFFFF, 4);
    put(packet.bytes.size(), 4);  // captured
    put(packet.bytes.size(), 4);  // on the wire
    put(packet.bytes);
    if (!packet.comment.empty()) {
        put_option(pcapng::option_comment, packet.comment);
        put_option(opt_end, {});
    }
    end();
}

//   0      4                8                           length - 4   length
//  | type | total length   | body, options              | the same   |      all in multiples of 4
void PcapngFile::begin(std::uint32_t type) {
    block_at_ = file_.size();
    put(type, 4);
    put(0, 4);
}

void PcapngFile::end() {
    const auto length = static_cast<std::uint32_t>(file_.size() + 4 - block_at_);
    put(length, 4);
    store_le<std::uint32_t>(Bytes(file_).subspan(block_at_ + 4).first<4>(), length);
}

void PcapngFile::put(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) file_.push_back(static_cast<std::byte>(value >> 8 * i));
}

void PcapngFile::put(ConstBytes bytes) {
    file_.insert(file_.end(), bytes.begin(), bytes.end());
    pad();
}

void PcapngFile::put_option(std::uint16_t code, std::string_view text) {
    text = text.substr(0, option_max);
    put(code, 2);
    put(text.size(), 2);
    put(std::as_bytes(std::span(text)));
}

void PcapngFile::pad() {
    while (file_.size() % 4 != 0) file_.push_back(std::byte{0});
}

}  // namespace wireproof
