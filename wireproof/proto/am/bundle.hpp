// Several short messages in one packet (BUNDLE), read one after the other. Each entry is read once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// The messages of a BUNDLE that have not been read yet.
class BundleRange {
public:
    struct Message {
        std::uint16_t handler = 0;
        ConstBytes arguments;
    };

    BundleRange() = default;
    /// `message_max`: a message has at most so many bytes.
    BundleRange(ConstBytes data, std::uint32_t messages)
        : left_(messages), at_(data.data()), end_(data.data() + data.size()) {}

    std::uint32_t left() const { return left_; }
    void drop() { left_ = 0; }
    /// The next message, while there are some; nothing if its entry is none that a sender writes.
    /// Entries of a frame that nobody can change are all right if are_right() was true.
    [[gnu::always_inline]] std::optional<Message> next(std::size_t message_max) {
        const auto room = static_cast<std::size_t>(end_ - at_);
        if (room < BundleEntry::size) return std::nullopt;
        const auto entry =
            BundleEntry::decode(std::span<const std::byte, BundleEntry::size>(at_, 4));
        const std::size_t most = std::min(room - BundleEntry::size, message_max);
        if (entry.handler == 0 || entry.bytes > most) return std::nullopt;
        const std::byte* const arguments = at_ + BundleEntry::size;
        at_ = arguments + entry.bytes;
        --left_;
        return Message{entry.handler, {arguments, entry.bytes}};
    }
    /// Looks at all messages, and at the end of the last one. It decides only whether the packet is
    /// malformed: next() relies on none of it.
    bool are_right(std::size_t message_max) const;

private:
    std::uint32_t left_ = 0;
    const std::byte* at_ = nullptr;
    const std::byte* end_ = nullptr;
};

}  // namespace wireproof::am
