#include "wireproof/proto/ib/transport/memory_table.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "wireproof/base/check.hpp"
#include "wireproof/base/publish.hpp"

namespace wireproof::proto::ib {
namespace {

constexpr std::size_t entries_max = (std::size_t{1} << 24) - 1;

/// The offset of `length` bytes at `address` inside `size` bytes at `first`; empty if they do not
/// fit.
std::optional<std::size_t> offset_within(std::uint64_t address, std::uint64_t length,
                                         std::uint64_t first, std::uint64_t size) {
    if (address < first) return std::nullopt;
    const std::uint64_t offset = address - first;
    if (offset > size || length > size - offset) return std::nullopt;
    return static_cast<std::size_t>(offset);
}

std::optional<Bytes> bytes_of(const MemoryTable::Region& region, std::uint64_t address,
                              std::uint64_t length) {
    const auto offset = offset_within(address, length, region.address, region.memory.size());
    if (!offset) return std::nullopt;
    return region.memory.subspan(*offset, static_cast<std::size_t>(length));
}

bool changes(const Access& access) {
    return access.remote_write || access.remote_atomic;
}

/// Null if the region is valid.
const char* wrong_with(const MemoryTable::Region& region) {
    if (region.memory.size() > std::numeric_limits<std::uint64_t>::max() - region.address) {
        return "a memory region must not wrap around the end of all addresses";
    }
    if (changes(region.access) && !region.access.local_write) {
        return "remote write and atomic access to a region need local write access";
    }
    return nullptr;
}

}  // namespace

std::uint32_t MemoryTable::add(Entry entry) {
    const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(used_before_);
    auto place =
        std::find_if(first, entries_.end(), [](const Entry& one) { return one.use == Use::free; });
    if (place == entries_.end()) {
        WIREPROOF_CHECK(entries_.size() < entries_max);
        place = entries_.insert(place, Entry{});
    }
    // A new key byte: an old key of this place must not find the new entry.
    entry.key_byte = next_key_byte(place->key_byte);
    *place = entry;
    if (entry.use == Use::window) ++windows_;
    ++used_;
    const auto index = static_cast<std::uint32_t>(place - entries_.begin()) + 1;
    used_before_ = index;
    return (names_ ? names_->name(index) : index) << 8 | entry.key_byte;
}

std::uint8_t MemoryTable::next_key_byte(std::uint8_t before) {
    const std::uint64_t step = names_ ? 1 + key_bytes_.below(255) : 1;
    return static_cast<std::uint8_t>(before + step);
}

void MemoryTable::remove(std::uint32_t key) {
    const std::size_t place = place_of(key) - 1;
    Entry& entry = entries_[place];
    if (entry.use == Use::window) --windows_;
    used_before_ = std::min(used_before_, place);
    entry = Entry{.key_byte = entry.key_byte};
    --used_;
}

const MemoryTable::Entry* MemoryTable::find(std::uint32_t key, Use use) const {
    const std::size_t index = place_of(key);
    if (index == 0 || index > entries_.size()) return nullptr;
    const Entry& entry = entries_[index - 1];
    return entry.use == use && entry.key_byte == (key & 0xFF) ? &entry : nullptr;
}

MemoryTable::Entry* MemoryTable::find(std::uint32_t key, Use use) {
    return const_cast<Entry*>(std::as_const(*this).find(key, use));
}

MemoryTable::Entry* MemoryTable::find_window(std::uint32_t key) {
    const std::size_t index = place_of(key);
    if (index == 0 || index > entries_.size()) return nullptr;
    return find((key & ~0xFFU) | entries_[index - 1].key_byte, Use::window);
}

Expected<std::uint32_t> MemoryTable::add_region(const Region& region) {
    if (const char* wrong = wrong_with(region)) return unexpected(wrong);
    return add(Entry{.use = Use::region, .region = region});
}

Expected<void> MemoryTable::change_region(std::uint32_t key, const Region& region) {
    Entry* entry = find(key, Use::region);
    if (entry == nullptr) return unexpected("no memory region has this key");
    if (is_bound(key)) return unexpected("a memory window is bound to this region");
    if (const char* wrong = wrong_with(region)) return unexpected(wrong);
    entry->region = region;
    return {};
}

bool MemoryTable::is_bound(std::uint32_t region) const {
    return windows_ > 0 && std::ranges::any_of(entries_, [region](const Entry& entry) {
               return entry.use == Use::window && entry.window.bound &&
                      entry.window.region == region;
           });
}

bool MemoryTable::remove_region(std::uint32_t key) {
    if (find(key, Use::region) == nullptr || is_bound(key)) return false;
    remove(key);
    return true;
}

bool MemoryTable::end_region(std::uint32_t key) {
    if (find(key, Use::region) == nullptr) return false;
    if (windows_ > 0) {
        for (Entry& entry : entries_) {
            if (entry.use == Use::window && entry.window.region == key) entry.window.bound = false;
        }
    }
    remove(key);
    return true;
}

const MemoryTable::Region* MemoryTable::region(std::uint32_t key) const {
    const Entry* entry = find(key, Use::region);
    return entry == nullptr ? nullptr : &entry->region;
}

void MemoryTable::put_memory(std::uint32_t key, Bytes memory) {
    Entry* entry = find(key, Use::region);
    WIREPROOF_CHECK(entry != nullptr && entry->region.memory.size() == memory.size());
    entry->region.memory = memory;
}

std::uint32_t MemoryTable::add_window(std::uint32_t domain, WindowType type) {
    return add(Entry{.use = Use::window, .window = {.domain = domain, .type = type}});
}

bool MemoryTable::remove_window(std::uint32_t key) {
    if (find_window(key) == nullptr) return false;
    remove(key);
    return true;
}

// Rules of the specification: domain C10-72, right to bind C10-73, write right of the region
// C10-74, range C10-75.
std::optional<std::uint32_t> MemoryTable::bind(const WindowBind& bind, const KeyBearer& bearer) {
    Entry* entry = find_window(bind.window);
    if (entry == nullptr || entry->window.domain != bearer.domain) return std::nullopt;
    Window& window = entry->window;
    const bool type_1 = window.type == WindowType::type_1;
    if (!type_1 && (window.bound || bind.length == 0)) return std::nullopt;
    if (type_1 && bind.zero_based) return std::nullopt;
    if (bind.length > 0) {
        const Region* region = this->region(bind.region);
        if (region == nullptr || region->domain != bearer.domain) return std::nullopt;
        if (!region->access.window_bind) return std::nullopt;
        if (changes(bind.access) && !region->access.local_write) return std::nullopt;
        if (!bytes_of(*region, bind.address, bind.length)) return std::nullopt;
    }
    entry->key_byte = bind.key_byte;  // UC-23: the old key becomes invalid
    window.bound = bind.length > 0;
    window.queue_pair = bearer.queue_pair;
    window.region = bind.region;
    window.address = bind.address;
    window.length = bind.length;
    window.access = bind.access;
    window.zero_based = bind.zero_based;
    return (bind.window & ~0xFFU) | bind.key_byte;
}

bool MemoryTable::can_invalidate(std::uint32_t key, const KeyBearer& bearer) const {
    const Entry* entry = find(key, Use::window);
    if (entry == nullptr) return false;
    const Window& window = entry->window;
    return window.type != WindowType::type_1 && window.bound &&
           window.queue_pair == bearer.queue_pair && window.domain == bearer.domain;
}

bool MemoryTable::invalidate(std::uint32_t key, const KeyBearer& bearer) {
    if (!can_invalidate(key, bearer)) return false;
    find(key, Use::window)->window.bound = false;
    return true;
}

void MemoryTable::release_windows_of(std::uint32_t queue_pair) {
    for (Entry& entry : entries_) {
        Window& window = entry.window;
        const bool its = entry.use == Use::window && window.queue_pair == queue_pair;
        if (its && window.type != WindowType::type_1) window.bound = false;
    }
}

std::optional<Bytes> MemoryTable::local(const Piece& piece, std::uint32_t domain,
                                        bool write) const {
    if (piece.length == 0) return Bytes();
    const Region* region = this->region(piece.key);
    if (region == nullptr || region->domain != domain) return std::nullopt;
    if (write && !region->access.local_write) return std::nullopt;
    return bytes_of(*region, piece.address, piece.length);
}

std::optional<Bytes> MemoryTable::remote(const Piece& piece, RemoteRight right,
                                         const KeyBearer& bearer) const {
    if (piece.length == 0) return Bytes();  // UC-8: a length of 0 needs no key
    if (const Region* region = this->region(piece.key)) {
        if (region->domain != bearer.domain || !allows(region->access, right)) return std::nullopt;
        return bytes_of(*region, piece.address, piece.length);
    }
    const Entry* entry = find(piece.key, Use::window);
    if (entry == nullptr || !entry->window.bound) return std::nullopt;
    const Window& window = entry->window;
    if (window.type != WindowType::type_2a && window.domain != bearer.domain) return std::nullopt;
    if (window.type != WindowType::type_1 && window.queue_pair != bearer.queue_pair) {
        return std::nullopt;
    }
    if (!allows(window.access, right)) return std::nullopt;
    const std::uint64_t first = window.zero_based ? 0 : window.address;
    const auto offset = offset_within(piece.address, piece.length, first, window.length);
    const Region* region = this->region(window.region);
    if (!offset || region == nullptr) return std::nullopt;
    return bytes_of(*region, window.address + *offset, piece.length);
}

bool MemoryTable::store(Bytes to, ConstBytes from) const {
    if (copy_ != nullptr) return copy_(to.data(), from.data(), to.size());
    copy_last_word_last(to.data(), from.data(), to.size());
    return true;
}

// Reads one byte of each page of 4096 bytes. That is enough for larger pages, too.
bool MemoryTable::is_there(ConstBytes bytes) const {
    if (copy_ == nullptr || bytes.empty()) return true;
    constexpr std::size_t page = 4096;
    std::byte seen{};
    for (std::size_t at = 0; at < bytes.size(); at += page) {
        if (!copy_(&seen, &bytes[at], 1)) return false;
    }
    return copy_(&seen, &bytes.back(), 1);
}

void WindowBind::fingerprint(Fingerprint& sink) const {
    sink.add(window);
    sink.add(key_byte);
    sink.add(region);
    sink.add(address);
    sink.add(length);
    access.fingerprint(sink);
    sink.add(zero_based);
}

void MemoryTable::Region::fingerprint(Fingerprint& sink) const {
    sink.add(domain);
    sink.add(address);
    sink.add(memory.size());
    access.fingerprint(sink);
}

void MemoryTable::Window::fingerprint(Fingerprint& sink) const {
    sink.add(domain);
    sink.add(type);
    sink.add(bound);
    sink.add(queue_pair);
    sink.add(region);
    sink.add(address);
    sink.add(length);
    access.fingerprint(sink);
    sink.add(zero_based);
}

void MemoryTable::fingerprint(Fingerprint& sink) const {
    sink.add(entries_.size());
    if (names_) {
        sink.add(names_->name(1));
        for (const std::uint64_t word : key_bytes_.state()) sink.add(word);
    }
    for (const Entry& entry : entries_) {
        sink.add(entry.use);
        sink.add(entry.key_byte);
        if (entry.use == Use::region) entry.region.fingerprint(sink);
        if (entry.use == Use::window) entry.window.fingerprint(sink);
    }
}

}  // namespace wireproof::proto::ib
