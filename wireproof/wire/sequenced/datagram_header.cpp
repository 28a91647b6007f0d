#include "wireproof/wire/sequenced/datagram_header.hpp"

#include <algorithm>

#include "wireproof/base/check.hpp"
#include "wireproof/base/crc.hpp"

namespace wireproof {

void DatagramHeader::encode(ConstBytes lengths, Bytes out) const {
    WIREPROOF_CHECK(lengths.size() == frames * length_size && out.size() == size(frames));
    const auto head = out.first<fixed_size>();
    head[0] = magic;
    head[1] = version;
    store_le_at<std::uint16_t, 2>(head, frames);
    store_le_at<std::uint32_t, 4>(head, link);
    store_le_at<std::uint32_t, 8>(head, from);
    store_le_at<std::uint32_t, 12>(head, to);
    store_le_at<std::uint32_t, 16>(head, counter);
    std::copy(lengths.begin(), lengths.end(), out.begin() + fixed_size);
    store_le<std::uint32_t>(out.last<check_size>(), Crc32c::of(out.first(out.size() - check_size)));
}

bool DatagramHeader::stands_before(ConstBytes datagram) {
    return datagram.size() >= size(0) && datagram[0] == magic && datagram[1] == version;
}

std::optional<DatagramHeader> DatagramHeader::decode(ConstBytes datagram) {
    if (!stands_before(datagram)) return std::nullopt;
    const auto head = datagram.first<fixed_size>();
    DatagramHeader header;
    header.frames = load_le_at<std::uint16_t, 2>(head);
    if (datagram.size() < size(header.frames)) return std::nullopt;
    const std::size_t checked = size(header.frames) - check_size;
    const auto check = datagram.subspan(checked).first<check_size>();
    if (load_le<std::uint32_t>(check) != Crc32c::of(datagram.first(checked))) return std::nullopt;
    header.link = load_le_at<std::uint32_t, 4>(head);
    header.from = load_le_at<std::uint32_t, 8>(head);
    header.to = load_le_at<std::uint32_t, 12>(head);
    header.counter = load_le_at<std::uint32_t, 16>(head);
    if (header.from == 0) return std::nullopt;  // no end draws 0
    return header;
}

}  // namespace wireproof
