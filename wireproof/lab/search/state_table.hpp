// The states that a search has met, as packed bytes, numbered in the order in which they were first
// met. Two states are the same if their bytes are, or if a key that is made from these bytes is.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof::lab {

/// A state as bytes. The bytes after `size` are zero.
class PackedState {
public:
    static constexpr std::size_t size_max = 72;

    PackedState() = default;
    explicit PackedState(ConstBytes bytes) : size_(bytes.size()) {
        WIREPROOF_CHECK(size_ <= size_max);
        std::copy(bytes.begin(), bytes.end(), bytes_.begin());
    }

    void add(std::uint32_t value, std::size_t bytes) {
        WIREPROOF_CHECK(size_ + bytes <= size_max && (bytes == 4 || value >> (8 * bytes) == 0));
        for (std::size_t i = 0; i < bytes; ++i) bytes_[size_++] = std::byte(value >> (8 * i));
    }
    ConstBytes bytes() const { return ConstBytes(bytes_).first(size_); }
    friend bool operator==(const PackedState&, const PackedState&) = default;

    std::uint64_t hash() const {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < size_; i += 8) {
            hash = mix64(hash ^ load_le<std::uint64_t>(ConstBytes(bytes_).subspan(i).first<8>()));
        }
        return hash;
    }

private:
    std::array<std::byte, size_max> bytes_{};
    std::size_t size_ = 0;
};

/// Reads what PackedState::add has written, in the same order.
class PackedReader {
public:
    explicit PackedReader(ConstBytes bytes) : bytes_(bytes) {}

    std::uint32_t read(std::size_t bytes) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < bytes; ++i) {
            value |= std::to_integer<std::uint32_t>(bytes_[at_++]) << (8 * i);
        }
        return value;
    }

private:
    ConstBytes bytes_;
    std::size_t at_ = 0;
};

/// At most 2^32 - 2 states, all of the same size. Each needs its bytes and 7 to 13 more. A slot of
/// the table has the number of a state and 8 bits of its hash, so few other states are read.
class StateTable {
public:
    using Id = std::uint32_t;
    static constexpr Id none = 0xFFFFFFFF;

    struct Place {
        Id id = none;
        bool is_new = false;
    };

    /// What decides whether two states are the same; none: all their bytes.
    using Key = std::function<PackedState(ConstBytes)>;

    explicit StateTable(Key key = {}) : key_(std::move(key)) {}

    std::uint64_t hash_of(const PackedState& state) const {
        return key_ ? key_(state.bytes()).hash() : state.hash();
    }

    /// Loads into the cache what find_or_add will need soon.
    void prefetch(std::uint64_t hash) const {
        if (tags_.empty()) return;
        __builtin_prefetch(&tags_[first_slot(hash)]);
        __builtin_prefetch(&ids_[first_slot(hash)]);
    }
    /// The same, when the slots are in the cache.
    void prefetch_state(std::uint64_t hash) const {
        if (tags_.empty()) return;
        const std::size_t slot = find_tag(first_slot(hash), tag_of(hash));
        if (tags_[slot] != empty) __builtin_prefetch(at(ids_[slot]).data());
    }

    /// `hash` is that of hash_of().
    Place find_or_add(const PackedState& state, std::uint64_t hash) {
        if (5 * (size_ + 1) > 4 * tags_.size()) grow();
        const std::uint8_t tag = tag_of(hash);
        std::size_t slot = find_tag(first_slot(hash), tag);
        for (; tags_[slot] != empty; slot = find_tag(after(slot), tag)) {
            if (same(at(ids_[slot]), state.bytes())) return {ids_[slot], false};
        }
        tags_[slot] = tag;
        ids_[slot] = append(state.bytes());
        return {ids_[slot], true};
    }
    Place find_or_add(const PackedState& state) { return find_or_add(state, hash_of(state)); }

    /// Frees the memory of the table until the next find_or_add().
    void rest() {
        std::vector<std::uint8_t>().swap(tags_);
        std::vector<Id>().swap(ids_);
    }

    std::size_t size() const { return size_; }
    ConstBytes at(Id id) const {
        return {chunks_[id / chunk_states].get() + id % chunk_states * stride_, stride_};
    }

private:
    static constexpr std::size_t chunk_states = 1 << 16;
    static constexpr std::uint8_t empty = 0;

    bool same(ConstBytes one, ConstBytes other) const {
        if (std::memcmp(one.data(), other.data(), one.size()) == 0) return true;
        return key_ && key_(one) == key_(other);
    }
    static std::uint8_t tag_of(std::uint64_t hash) {
        return static_cast<std::uint8_t>(std::max<std::uint64_t>(hash >> 56, 1));
    }
    std::size_t first_slot(std::uint64_t hash) const { return hash & (tags_.size() - 1); }
    std::size_t after(std::size_t slot) const { return (slot + 1) & (tags_.size() - 1); }
    /// The first slot from `slot` on that has this tag or is empty.
    std::size_t find_tag(std::size_t slot, std::uint8_t tag) const {
        while (tags_[slot] != tag && tags_[slot] != empty) slot = after(slot);
        return slot;
    }

    Id append(ConstBytes bytes) {
        if (size_ == 0) stride_ = bytes.size();
        WIREPROOF_CHECK(bytes.size() == stride_ && size_ < none);
        if (size_ % chunk_states == 0) {
            chunks_.push_back(std::make_unique<std::byte[]>(chunk_states * stride_));
        }
        const auto id = static_cast<Id>(size_++);
        std::memcpy(chunks_.back().get() + id % chunk_states * stride_, bytes.data(), stride_);
        return id;
    }

    void grow() {
        std::size_t slots = std::max<std::size_t>(1024, tags_.size() * 2);
        while (5 * (size_ + 1) > 4 * slots) slots *= 2;
        // So that the old slots and the new ones do not exist at once.
        std::vector<Id>().swap(ids_);
        tags_.assign(slots, empty);
        ids_.resize(slots);
        // Each state goes to another place in memory, so places are loaded some states ahead.
        constexpr Id ahead = 16;
        std::array<std::uint64_t, ahead> hashes{};
        const auto states = static_cast<Id>(size_);
        for (Id id = 0; id < states + ahead; ++id) {
            std::uint64_t& hash = hashes[id % ahead];
            if (id >= ahead) {
                std::size_t slot = first_slot(hash);
                while (tags_[slot] != empty) slot = after(slot);
                tags_[slot] = tag_of(hash);
                ids_[slot] = id - ahead;
            }
            if (id >= states) continue;
            hash = hash_of(PackedState(at(id)));
            prefetch(hash);
        }
    }

    Key key_;
    std::size_t stride_ = 0;
    std::size_t size_ = 0;
    std::vector<std::unique_ptr<std::byte[]>> chunks_;
    std::vector<std::uint8_t> tags_;  // by slot
    std::vector<Id> ids_;             // by slot
};

}  // namespace wireproof::lab
