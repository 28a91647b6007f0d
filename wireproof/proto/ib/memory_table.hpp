// The memory that a port may touch, for its own work requests and for its peers': regions, and
// windows that lend a part of a region for a while. Keys, addresses and lengths come from the
// network: nothing outside a region is ever found.
//
// A key is the place in the table (24 bits), or a name for it, and a key byte below it, so a bind
// that changes the byte ends the old key. A region has one key, for local and remote use.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/key_names.hpp"

namespace wireproof::proto::ib {

/// What may be done with a region, a window or through a queue pair. Reading by its own side is
/// always allowed.
struct Access {
    bool local_write = false;
    bool remote_write = false;
    bool remote_read = false;
    bool remote_atomic = false;
    bool window_bind = false;
    void fingerprint(Fingerprint& sink) const {
        for (const bool right :
             {local_write, remote_write, remote_read, remote_atomic, window_bind}) {
            sink.add(right);
        }
    }
    friend bool operator==(const Access&, const Access&) = default;
};

enum class RemoteRight : std::uint8_t { write, read, atomic };

constexpr bool allows(const Access& access, RemoteRight right) {
    switch (right) {
        case RemoteRight::write: return access.remote_write;
        case RemoteRight::read: return access.remote_read;
        case RemoteRight::atomic: return access.remote_atomic;
    }
    return false;
}

/// Who comes with a key: a queue pair, and the protection domain it belongs to.
struct KeyBearer {
    std::uint32_t domain = 0;
    std::uint32_t queue_pair = 0;
};

/// Type 1 belongs to a protection domain; 2A to the queue pair that bound it; 2B to both.
enum class WindowType : std::uint8_t { type_1, type_2a, type_2b };

/// Some bytes of a region, by its key.
struct Piece {
    std::uint64_t address = 0;
    std::uint32_t length = 0;  // bytes
    std::uint32_t key = 0;
    void fingerprint(Fingerprint& sink) const {
        sink.add(address);
        sink.add(length);
        sink.add(key);
    }
    friend bool operator==(const Piece&, const Piece&) = default;
};

/// What a window shall show from now on.
struct WindowBind {
    std::uint32_t window = 0;  // any key that it has had
    std::uint8_t key_byte = 0;
    std::uint32_t region = 0;  // the region's key
    std::uint64_t address = 0;
    std::uint64_t length = 0;  // bytes; none: a window of type 1 is unbound
    Access access = {};
    bool zero_based = false;  // peers count addresses from 0; not with type 1
    void fingerprint(Fingerprint& sink) const;
};

/// A regular value, but for the memory that its regions name: that is lent, and put_memory lends
/// other bytes to a copy.
class MemoryTable {
public:
    struct Region {
        std::uint32_t domain = 0;
        std::uint64_t address = 0;  // of its first byte, for work requests and peers
        Bytes memory = {};
        Access access = {};
        /// Not the bytes: they are lent.
        void fingerprint(Fingerprint& sink) const;
    };

    /// How bytes come to or from the memory of a region, the last word last (copy_last_word_last).
    /// False: the memory is not there any more, or `to` may not be written.
    using Copy = bool (*)(std::byte* to, const std::byte* from, std::size_t size);

    MemoryTable() = default;
    /// Keys are drawn with this seed: who knows neither it nor a key can guess none. Without one
    /// they count up.
    explicit MemoryTable(std::uint64_t key_seed) : names_(key_seed), key_bytes_(mix64(key_seed)) {}

    /// The region's key. Refused: an address that wraps, or a right of peers to change what its
    /// own side may not write.
    Expected<std::uint32_t> add_region(const Region& region);
    /// The region of this key becomes another one, and its key stays. Refused as by add_region, and
    /// where there is none with this key or a window is bound to it; then nothing has changed.
    Expected<void> change_region(std::uint32_t key, const Region& region);
    /// False: there is none with this key, or a window is bound to it.
    bool remove_region(std::uint32_t key);
    /// The same, and windows that are bound to it are bound to nothing. False: there is none.
    bool end_region(std::uint32_t key);
    const Region* region(std::uint32_t key) const;
    /// Other memory of the same length for a region.
    void put_memory(std::uint32_t key, Bytes memory);

    /// The window's first key; nobody can use it before a bind.
    std::uint32_t add_window(std::uint32_t domain, WindowType type);
    /// By any key that it has had. False: there is none.
    bool remove_window(std::uint32_t key);

    /// The window's new key; nothing if a rule of section 10.6.7 of the specification forbids it.
    std::optional<std::uint32_t> bind(const WindowBind& bind, const KeyBearer& bearer);
    /// Whether a window of type 2 has this key and this bearer may end it.
    bool can_invalidate(std::uint32_t key, const KeyBearer& bearer) const;
    bool invalidate(std::uint32_t key, const KeyBearer& bearer);
    /// The queue pair is gone: what it bound of type 2 must not serve the next of its number.
    void release_windows_of(std::uint32_t queue_pair);

    /// The bytes of a piece of a work request; nothing if they are not all in a region of the
    /// domain, or shall be written and may not. No bytes are everywhere.
    std::optional<Bytes> local(const Piece& piece, std::uint32_t domain, bool write) const;
    /// The bytes that a peer names, if its key shows them all with that right.
    std::optional<Bytes> remote(const Piece& piece, RemoteRight right,
                                const KeyBearer& bearer) const;

    /// From now on bytes are copied so. For a process whose memory may go away without a word to
    /// the table; else it is believed to stay.
    void copy_with(Copy copy) { copy_ = copy; }
    /// Into what local() or remote() has found. False: it is not there any more; some of the bytes
    /// may have been written.
    bool store(Bytes to, ConstBytes from) const;
    /// Out of it: false as above.
    bool load(Bytes to, ConstBytes from) const { return store(to, from); }
    /// Whether all of what local() or remote() has found is still there to be read, later.
    bool is_there(ConstBytes bytes) const;

    /// Regions and windows that there are.
    std::size_t size() const { return used_; }
    /// Regions, windows and their keys; not the bytes of the memory.
    void fingerprint(Fingerprint& sink) const;

private:
    struct Window {
        std::uint32_t domain = 0;
        WindowType type = WindowType::type_1;
        bool bound = false;
        std::uint32_t queue_pair = 0;  // that bound it
        std::uint32_t region = 0;      // its key
        std::uint64_t address = 0;     // in the region
        std::uint64_t length = 0;
        Access access = {};
        bool zero_based = false;
        void fingerprint(Fingerprint& sink) const;
    };
    enum class Use : std::uint8_t { free, region, window };
    struct Entry {
        Use use = Use::free;
        std::uint8_t key_byte = 0;
        Region region = {};
        Window window = {};
    };

    std::uint32_t add(Entry entry);
    /// The place that a key means, counted from 1; it may be no place of this table.
    std::size_t place_of(std::uint32_t key) const {
        return names_ ? names_->place(key >> 8) : key >> 8;
    }
    std::uint8_t next_key_byte(std::uint8_t before);
    void remove(std::uint32_t key);
    /// Whether a window shows a part of it.
    bool is_bound(std::uint32_t region) const;
    /// Whatever its key byte.
    Entry* find_window(std::uint32_t key);
    Entry* find(std::uint32_t key, Use use);
    const Entry* find(std::uint32_t key, Use use) const;

    Copy copy_ = nullptr;  // none: the memory stays
    std::size_t used_ = 0;
    std::vector<Entry> entries_;  // by place, less one: a key is never 0 to 255
    std::optional<KeyNames> names_;
    Random key_bytes_{0};  // of keys with names
    // So that many regions come and go without a look at all of them.
    std::size_t used_before_ = 0;  // no place in front of this one is free
    std::size_t windows_ = 0;
};

}  // namespace wireproof::proto::ib
