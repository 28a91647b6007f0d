// What a connection remembers of what is under way: transfers that arrive, refusals, bundles half
// unpacked, a session that ended. Plain records; connection.hpp says who changes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// A request or reply as it lies in the frame.
struct PlainMessage {
    HandlerId handler{};
    bool is_request = false;
    const std::byte* data = nullptr;
    std::size_t size = 0;  // bytes

    ConstBytes arguments() const { return {data, size}; }
};

/// What is to leave by itself.
template <Channel channel>
struct LoneMessage {
    HandlerId handler{};
    ConstBytes arguments;
};

/// A store into our memory, or a get of ours: bytes that arrive.
struct Incoming {
    bool active = false;
    bool drained = false;          // refused: bytes are thrown away
    bool refusal_unacked = false;  // and the peer may not know yet
    std::uint64_t total = 0;
    std::uint64_t completed = 0;  // bytes of the chunks that are whole
    Bytes memory;
    std::size_t opened_with = 0;  // bytes in front of `memory` and `total`, come with the OPEN
    HandlerId handler{};
    std::uint32_t argument = 0;
    std::uint64_t tag = 0;
    bool reported = false;

    void fingerprint(Fingerprint& sink) const {
        sink.add(active);
        if (!active) return;
        sink.add(drained);
        sink.add(refusal_unacked);
        sink.add(total);
        sink.add(completed);
        sink.add(opened_with);
        sink.add(handler);
        sink.add(argument);
        sink.add(tag);
        sink.add(reported);
    }
    Bytes all() const { return {memory.data() - opened_with, memory.size() + opened_with}; }
};

/// What a refused packet waited for.
enum class Need : std::uint8_t { nothing, reply_place, get_slot, refusal_acked, note_refused };

/// Draws what an ended session leaves behind, message by message.
struct Ending {
    bool active = false;
    SessionEnded ended;
    std::size_t channel = 0;
    std::size_t next = 0;      // of what is saved
    std::uint32_t of_row = 0;  // the next of that, if it is a row
    std::size_t stage = 0;

    void fingerprint(Fingerprint& sink) const {
        sink.add(active);
        if (!active) return;
        ended.fingerprint(sink);
        sink.add(channel);
        sink.add(next);
        sink.add(of_row);
        sink.add(stage);
    }
};

/// Of the expected note, into memory that is not the peer's to write: whether it was told.
enum class NoteRefusal : std::uint8_t { none, unacked, acked };

/// Of packets as long as those of transfers: whether the path is known to carry them.
struct LongPackets {
    bool arrive = false;      // one was acknowledged in this session
    bool under_way = false;   // else: one was asked for
    std::uint64_t first = 0;  // that one's position

    void fingerprint(std::uint64_t una, Fingerprint& sink) const {
        sink.add(arrive);
        sink.add(under_way);
        if (under_way) sink.add(first - una);
    }
};

/// The messages of a BUNDLE that were not looked at yet: they lie in the frame.
struct Unpacking {
    std::uint32_t left = 0;
    std::uint32_t number = 0;  // of the next
    const std::byte* at = nullptr;
    Channel channel = Channel::request;
    std::uint8_t round = 0;
};

/// What the short way writes of one channel: ShortHeader::address.
struct ShortAddresses {
    std::uint64_t single = 0;  // of requests, or replies
    std::uint64_t bundle = 0;
    std::uint64_t chunk = 0;
    std::uint64_t open = 0;
};

}  // namespace wireproof::am
