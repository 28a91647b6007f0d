// The receive FIFO in host memory: one ring for all senders. The adapter writes at the tail and the
// host reads at the head. The host keeps entries that it has read and returns several together
// (lazy pop), because each return costs a bus access. AM-20, AM-32.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::sp2 {

class ReceiveFifo {
public:
    struct Packet {
        ConstBytes bytes;  // in the entry; valid until the entry is returned
        std::uint16_t from = 0;
    };

    ReceiveFifo(std::size_t entries, std::size_t entry_bytes);

    // The adapter's side.
    bool full() const { return unread_ + read_ == entries_.size(); }
    /// The host can see the packet from `visible` on.
    void deposit(ConstBytes packet, std::uint16_t from, Instant visible);

    // The host's side.
    std::size_t unread() const { return unread_; }
    /// When the oldest unread packet can be seen; `never` if there is none.
    Instant next_visible() const { return unread_ == 0 ? never : entries_[head_].visible; }
    /// Reads the oldest unread packet.
    Packet read();
    /// Entries that are read but not returned.
    std::size_t unreturned() const { return read_; }
    void return_read();

private:
    // The owner of an entry. It only serves to check the counters.
    enum class State : std::uint8_t { adapters, unread, read };

    struct Entry {
        State state = State::adapters;
        std::uint16_t size = 0;
        std::uint16_t from = 0;
        Instant visible;
    };

    std::size_t wrapped(std::size_t index) const {
        return index < entries_.size() ? index : index - entries_.size();
    }

    std::size_t entry_bytes_;
    std::vector<std::byte> memory_;
    std::vector<Entry> entries_;
    std::size_t first_read_ = 0;  // first_read_, read_ entries, head_, unread_ entries, tail
    std::size_t head_ = 0;
    std::size_t read_ = 0;
    std::size_t unread_ = 0;
};

}  // namespace wireproof::sp2
