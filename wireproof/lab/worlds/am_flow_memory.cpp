#include "wireproof/lab/worlds/am_flow_memory.hpp"

#include <algorithm>

#include "wireproof/base/check.hpp"
#include "wireproof/lab/common/am_content.hpp"

namespace wireproof::lab {
namespace {

constexpr std::byte untouched{0xEE};
constexpr std::byte spoilt{0x5B};

Bytes part(std::vector<std::byte>& of, std::size_t begin, std::uint64_t bytes) {
    return Bytes(of).subspan(begin, static_cast<std::size_t>(bytes));
}

}  // namespace

AmFlowMemory::AmFlowMemory(std::uint32_t slots, std::uint64_t bytes_max, std::uint64_t seed)
    : stride_(static_cast<std::size_t>(bytes_max) + gap),
      // Anywhere in the first half of the address space, not aligned.
      inbox_base_(mix64(seed) >> 1),
      shelf_base_(inbox_base_ + 2 * stride_ * slots),
      shelf_key_(mix64(~seed)),
      taken_(slots),
      outbox_(slots * stride_, untouched),
      inbox_(slots * stride_, untouched),
      inbox_image_(inbox_),
      shelf_(static_cast<std::size_t>(bytes_max)),
      landing_(slots * stride_, untouched),
      landing_image_(landing_) {
    Content(shelf_key_).write(shelf_);
}

void AmFlowMemory::register_at(am::MemoryTable& target) {
    const bool fits = target.add(inbox_base_, inbox_, {.write = true}) &&
                      target.add(shelf_base_, shelf_, {.read = true});
    WIREPROOF_CHECK(fits);
}

std::optional<std::uint32_t> AmFlowMemory::claim() {
    for (std::uint32_t slot = 0; slot < taken_.size(); ++slot) {
        if (taken_[slot]) continue;
        taken_[slot] = true;
        return slot;
    }
    return std::nullopt;
}

void AmFlowMemory::fill_outbox(std::uint32_t slot, std::uint64_t bytes, std::uint64_t key) {
    Content(key).write(part(outbox_, begin(slot), bytes));
}

ConstBytes AmFlowMemory::outbox(std::uint32_t slot, std::uint64_t bytes) const {
    return ConstBytes(outbox_).subspan(begin(slot), static_cast<std::size_t>(bytes));
}

bool AmFlowMemory::inbox_holds(std::uint32_t slot, std::uint64_t bytes, std::uint64_t key) {
    const Bytes arrived = part(inbox_, begin(slot), bytes);
    std::copy(arrived.begin(), arrived.end(), part(inbox_image_, begin(slot), bytes).begin());
    const auto first = static_cast<std::ptrdiff_t>(begin(slot));
    const auto last = first + static_cast<std::ptrdiff_t>(stride_);
    return Content(key).is(arrived) &&
           std::equal(inbox_.begin() + first, inbox_.begin() + last, inbox_image_.begin() + first);
}

bool AmFlowMemory::is_inbox(ConstBytes memory, std::uint32_t slot) const {
    return memory.data() == inbox_.data() + begin(slot);
}

void AmFlowMemory::spoil_outbox(std::uint32_t slot) {
    const Bytes source = part(outbox_, begin(slot), stride_);
    std::fill(source.begin(), source.end(), spoilt);
}

Bytes AmFlowMemory::landing(std::uint32_t slot, std::uint64_t bytes) {
    return part(landing_, begin(slot), bytes);
}

bool AmFlowMemory::landing_holds(std::uint32_t slot, std::uint64_t bytes, std::uint64_t offset) {
    const Bytes arrived = part(landing_, begin(slot), bytes);
    std::copy(arrived.begin(), arrived.end(), part(landing_image_, begin(slot), bytes).begin());
    return std::equal(arrived.begin(), arrived.end(),
                      shelf_.begin() + static_cast<std::ptrdiff_t>(offset));
}

bool AmFlowMemory::as_expected() const {
    return inbox_ == inbox_image_ && landing_ == landing_image_ && Content(shelf_key_).is(shelf_);
}

}  // namespace wireproof::lab
