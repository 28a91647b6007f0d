// The memory that a port may access, for its own work requests and for those of its peers: regions,
// and windows that give access to a part of a region for a while. Keys, addresses and lengths come
// from the network: each lookup checks them, so it never returns bytes outside a region.
//
// A key has the place in the table (24 bits), or a name for the place, and below it a key byte. A
// bind that changes the key byte makes the old key invalid. A region has one key, for local and
// remote use.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/transport/key_names.hpp"

namespace wireproof::proto::ib {

/// The rights of a region, of a window or of a queue pair. Local reads are always allowed.
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

/// The user of a key: a queue pair and its protection domain.
struct KeyBearer {
    std::uint32_t domain = 0;
    std::uint32_t queue_pair = 0;
};

/// Type 1 belongs to a protection domain, type 2A to the queue pair that bound it, and type 2B to
/// both.
enum class WindowType : std::uint8_t { type_1, type_2a, type_2b };

/// Some bytes of a region, which the key names.
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

/// The request to bind a window.
struct WindowBind {
    std::uint32_t window = 0;  // any key that the window has had
    std::uint8_t key_byte = 0;
    std::uint32_t region = 0;  // the region's key
    std::uint64_t address = 0;
    std::uint64_t length = 0;  // bytes; 0 unbinds a window of type 1
    Access access = {};
    bool zero_based = false;  // peers count addresses from 0; not with type 1
    void fingerprint(Fingerprint& sink) const;
};

/// A regular value, except for the memory of its regions. The caller owns that memory. After a
/// copy, put_memory gives the copy other memory.
class MemoryTable {
public:
    struct Region {
        std::uint32_t domain = 0;
        std::uint64_t address = 0;  // address of the first byte, as work requests and peers use it
        Bytes memory = {};
        Access access = {};
        /// Without the bytes: the caller owns them.
        void fingerprint(Fingerprint& sink) const;
    };

    /// Copies bytes to or from the memory of a region, the last word last (copy_last_word_last).
    /// Returns false if the memory is gone or `to` is not writable.
    using Copy = bool (*)(std::byte* to, const std::byte* from, std::size_t size);

    MemoryTable() = default;
    /// The seed chooses the keys. A host that knows neither the seed nor a key cannot guess one.
    /// Without a seed, keys count up.
    explicit MemoryTable(std::uint64_t key_seed) : names_(key_seed), key_bytes_(mix64(key_seed)) {}

    /// Returns the key of the region. Refuses an address that wraps, and rights of peers to change
    /// memory that the own side may not write.
    Expected<std::uint32_t> add_region(const Region& region);
    /// Replaces the region of this key; the key stays. Refuses the same as add_region, and also an
    /// unknown key and a region to which a window is bound. If it refuses, nothing changes.
    Expected<void> change_region(std::uint32_t key, const Region& region);
    /// Returns false if no region has this key, or if a window is bound to it.
    bool remove_region(std::uint32_t key);
    /// Removes the region and unbinds the windows that are bound to it. Returns false if no region
    /// has this key.
    bool end_region(std::uint32_t key);
    const Region* region(std::uint32_t key) const;
    /// Gives a region other memory of the same length.
    void put_memory(std::uint32_t key, Bytes memory);

    /// Returns the first key of the window. The key gives no access before a bind.
    std::uint32_t add_window(std::uint32_t domain, WindowType type);
    /// Takes any key that the window has had. Returns false if there is no such window.
    bool remove_window(std::uint32_t key);

    /// Returns the new key of the window, or empty if a rule in section 10.6.7 of the specification
    /// forbids the bind.
    std::optional<std::uint32_t> bind(const WindowBind& bind, const KeyBearer& bearer);
    /// Whether a window of type 2 has this key and `bearer` may invalidate it.
    bool can_invalidate(std::uint32_t key, const KeyBearer& bearer) const;
    bool invalidate(std::uint32_t key, const KeyBearer& bearer);
    /// The queue pair is gone. Unbinds its windows of type 2, because a later queue pair with the
    /// same number must not use them.
    void release_windows_of(std::uint32_t queue_pair);

    /// The bytes of a piece of a work request. Empty if they are not all in one region of the
    /// domain, or if they are to be written and the region forbids it. A piece of length 0 is
    /// always found.
    std::optional<Bytes> local(const Piece& piece, std::uint32_t domain, bool write) const;
    /// The bytes that a peer names, if its key gives this right to all of them.
    std::optional<Bytes> remote(const Piece& piece, RemoteRight right,
                                const KeyBearer& bearer) const;

    /// Sets the copy function. It is for a process in which memory may disappear without a call to
    /// the table. Without a copy function, the table assumes that the memory stays.
    void copy_with(Copy copy) { copy_ = copy; }
    /// Writes to bytes that local() or remote() returned. Returns false if the memory is gone; some
    /// bytes may have been written.
    bool store(Bytes to, ConstBytes from) const;
    /// Reads from such bytes. Returns false if the memory is gone.
    bool load(Bytes to, ConstBytes from) const { return store(to, from); }
    /// Whether all bytes that local() or remote() returned earlier are still readable.
    bool is_there(ConstBytes bytes) const;

    /// The number of regions and windows.
    std::size_t size() const { return used_; }
    /// Regions, windows and their keys; not the bytes of the memory.
    void fingerprint(Fingerprint& sink) const;

private:
    struct Window {
        std::uint32_t domain = 0;
        WindowType type = WindowType::type_1;
        bool bound = false;
        std::uint32_t queue_pair = 0;  // the queue pair that bound it
        std::uint32_t region = 0;      // key of the region
        std::uint64_t address = 0;     // address in the region
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
    /// The place that a key names, counted from 1. The table may have no such place.
    std::size_t place_of(std::uint32_t key) const {
        return names_ ? names_->place(key >> 8) : key >> 8;
    }
    std::uint8_t next_key_byte(std::uint8_t before);
    void remove(std::uint32_t key);
    /// Whether a window is bound to a part of the region.
    bool is_bound(std::uint32_t region) const;
    /// Ignores the key byte.
    Entry* find_window(std::uint32_t key);
    Entry* find(std::uint32_t key, Use use);
    const Entry* find(std::uint32_t key, Use use) const;

    Copy copy_ = nullptr;  // null: the memory stays
    std::size_t used_ = 0;
    std::vector<Entry> entries_;  // index: place minus 1, so no key is 0 to 255
    std::optional<KeyNames> names_;
    Random key_bytes_{0};  // only with names
    // These two avoid a search of all entries when regions are added and removed.
    std::size_t used_before_ = 0;  // no place before this one is free
    std::size_t windows_ = 0;
};

}  // namespace wireproof::proto::ib
