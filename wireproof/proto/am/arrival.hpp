// What a frame says, as values. On shared memory the peer may change a frame while this end looks
// at it. So control bytes are read here (and by HeaderWords), each once, and whatever the engine
// decides, it decides on the values (only the map of a NACK is read where it is used). Payload
// stays where it is: its length is one of the values, and its bytes mean nothing to the engine. If
// a fast path has read a header and does not accept the frame, it has changed nothing; the general
// path then reads the frame as if it were new.
#pragma once

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

}  // namespace wireproof::am
