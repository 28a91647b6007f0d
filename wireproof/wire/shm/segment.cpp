#include "wireproof/wire/shm/segment.hpp"

#include <array>
#include <bit>

namespace wireproof {
namespace {

constexpr std::size_t word_distance = 128;
constexpr std::size_t lines_limit = std::size_t{1} << 22;  // 256 MiB: sizes stay sensible

std::size_t ring_bytes(std::size_t lines) {
    return lines * line_bytes;
}

std::size_t segment_bytes(std::size_t lines) {
    return page_bytes() + 2 * ring_bytes(lines);
}

}  // namespace

bool Segment::fits(std::size_t lines) {
    return std::has_single_bit(lines) && lines <= lines_limit && lines >= 16 &&
           ring_bytes(lines) % page_bytes() == 0;
}

Expected<Segment> Segment::create(std::size_t lines) {
    WIREPROOF_CHECK(fits(lines));
    auto memory = make_sealed_memory("wireproof", segment_bytes(lines));
    if (!memory) return tl::unexpected(memory.error());
    return map(std::move(*memory), lines);
}

Expected<Segment> Segment::adopt(Descriptor memory, std::size_t lines) {
    WIREPROOF_CHECK(fits(lines));
    if (const auto checked = check_sealed_memory(memory, segment_bytes(lines)); !checked) {
        return tl::unexpected(checked.error());
    }
    return map(std::move(memory), lines);
}

Expected<Segment> Segment::map(Descriptor memory, std::size_t lines) {
    const std::size_t page = page_bytes();
    const std::size_t ring = ring_bytes(lines);
    Segment segment;
    auto mapping = Mapping::reserve(page + 4 * ring);
    if (!mapping) return tl::unexpected(mapping.error());
    const std::array<Mapping::Part, 5> parts{
        {{.at = 0, .from = 0, .size = page},
         {.at = page, .from = page, .size = ring},
         {.at = page + ring, .from = page, .size = ring},
         {.at = page + 2 * ring, .from = page + ring, .size = ring},
         {.at = page + 3 * ring, .from = page + ring, .size = ring}}};
    for (const Mapping::Part& part : parts) {
        if (const auto placed = mapping->place(memory, part); !placed) {
            return tl::unexpected(placed.error());
        }
    }
    segment.mapping_ = std::move(*mapping);
    segment.memory_ = std::move(memory);
    segment.lines_ = lines;
    return segment;
}

RingMemory Segment::ring_filled_by(std::size_t side) const {
    std::byte* const start = mapping_.bytes().data();
    return {.lines_at = start + page_bytes() + side * 2 * ring_bytes(lines_),
            .head_at = start + side * word_distance,
            .lines = lines_};
}

std::atomic_ref<std::uint32_t> Segment::word(std::size_t number) const {
    return shared_word<std::uint32_t>(mapping_.bytes().data() + number * word_distance);
}

std::atomic_ref<std::uint32_t> Segment::asleep(std::size_t side) const {
    return word(2 + side);
}

std::atomic_ref<std::uint32_t> Segment::notice(std::size_t side) const {
    return word(4 + side);
}

std::atomic_ref<std::uint32_t> Segment::copying(std::size_t side) const {
    return word(6 + side);
}

std::atomic_ref<std::uint32_t> Segment::closed(std::size_t side) const {
    return word(8 + side);
}

}  // namespace wireproof
