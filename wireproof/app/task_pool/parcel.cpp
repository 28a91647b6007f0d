#include "wireproof/app/task_pool/parcel.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace wireproof::task_pool {
namespace {

constexpr std::size_t head_size = 17;

}  // namespace

std::string Parcel::encode() const {
    std::array<std::byte, head_size> head{};
    const std::span<std::byte, head_size> all(head);
    head[0] = static_cast<std::byte>(kind);
    store_le(all.subspan<1, 8>(), task);
    store_le(all.subspan<9, 8>(), room);
    std::string text(reinterpret_cast<const char*>(head.data()), head.size());
    return text + bytes;
}

std::optional<Parcel> Parcel::decode(const std::string& encoded) {
    if (encoded.size() < head_size) return std::nullopt;
    const auto head = std::as_bytes(std::span(encoded)).first<head_size>();
    if (std::to_integer<std::uint8_t>(head[0]) > static_cast<std::uint8_t>(Kind::end)) {
        return std::nullopt;
    }
    return Parcel{static_cast<Kind>(head[0]), load_le<std::uint64_t>(head.subspan<1, 8>()),
                  load_le<std::uint64_t>(head.subspan<9, 8>()), encoded.substr(head_size)};
}

std::vector<std::string> parts_of(const std::string& encoded, std::size_t part_max) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < encoded.size();) {
        const std::size_t size = std::min(encoded.size() - at, part_max - 1);
        const bool last = at + size == encoded.size();
        parts.push_back((last ? '\1' : '\0') + encoded.substr(at, size));
        at += size;
    }
    return parts;
}

std::optional<std::string> ParcelParts::add(ConstBytes part) {
    if (part.empty()) return std::nullopt;
    begun_.append(reinterpret_cast<const char*>(part.data()) + 1, part.size() - 1);
    if (part[0] == std::byte{0}) return std::nullopt;
    return std::exchange(begun_, {});
}

}  // namespace wireproof::task_pool
