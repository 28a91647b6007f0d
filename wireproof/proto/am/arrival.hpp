// What a frame says, as values. On shared memory the peer may change a frame while this end looks
// at it. So control bytes are read here (and by HeaderWords), each once, and whatever the engine
// decides, it decides on the values (only the map of a NACK is read where it is used). Payload
// stays where it is: its length is one of the values, and its bytes mean nothing to the engine. If
// a fast path has read a header and does not accept the frame, it has changed nothing; the general
// path then reads the frame as if it were new.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

#include "wireproof/core/frame.hpp"
#include "wireproof/proto/am/header_words.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// A frame of which only the header has been read.
struct Arrival {
    HeaderWords head;
    ConstBytes bytes;  // the whole frame
    Integrity integrity = Integrity::check;
    bool marked = false;
    bool after_overrun = false;

    [[gnu::always_inline]] static Arrival of(const HeaderWords& head, const RxFrame& frame) {
        return {head, frame.bytes, frame.integrity, frame.marked, frame.after_overrun};
    }
    /// Of any layout. A frame that is too short for a header has a header of zeroes, which is none.
    static Arrival read(Layout layout, const RxFrame& frame);
};

/// The map of a NACK is its payload.
using Body = std::variant<std::monostate, OpenBody, GetBody, RefusalBody, NackBody, HelloBody>;

/// What precedes the payload of such a packet; nothing if there are not enough bytes for it.
Body read_body(Kind kind, std::uint32_t id, ConstBytes data);
std::size_t size_of(const Body& body);
/// To a place of that size.
void encode(const Body& body, Bytes to);

/// All that a frame says.
struct Packet {
    Header header;
    Body body;
    ConstBytes payload;

    static Packet of(const Header& header, ConstBytes data) {
        const Body body = read_body(header.kind, header.id, data);
        return {header, body, data.subspan(size_of(body))};
    }
};

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
