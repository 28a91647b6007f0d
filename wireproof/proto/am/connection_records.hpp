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

    Bytes all() const { return {memory.data() - opened_with, memory.size() + opened_with}; }
};

/// What a refused packet waited for.
enum class Need : std::uint8_t { nothing, reply_place, get_slot, refusal_acked, note_refused };

/// Draws what an ended session leaves behind, message by message.
struct Ending {
    bool active = false;
    SessionEnded::Why why = SessionEnded::Why::silent;
    std::size_t channel = 0;
    std::size_t next = 0;      // of what is saved
    std::uint32_t of_row = 0;  // the next of that, if it is a row
    std::size_t stage = 0;
};

/// Of the expected note, into memory that is not the peer's to write: whether it was told.
enum class NoteRefusal : std::uint8_t { none, unacked, acked };

/// The messages of a BUNDLE that were not looked at yet: they lie in the frame.
struct Unpacking {
    std::uint32_t left = 0;
    std::uint32_t number = 0;  // of the next
    const std::byte* at = nullptr;
    Channel channel = Channel::request;
    std::uint8_t round = 0;
};

/// Of a frame that was foreseen, what it acknowledges while that is still to be taken in.
struct Unheeded {
    bool any = false;
    std::uint32_t requests = 0;  // the numbers expected
    std::uint32_t replies = 0;
    Instant since;  // it came
};

/// What the short way writes: of requests, replies, bundles of either, chunks, OPENs.
struct ShortAddresses {
    std::array<std::uint64_t, channel_count> single{};
    std::array<std::uint64_t, channel_count> bundle{};
    std::array<std::uint64_t, channel_count> chunk{};
    std::uint64_t open = 0;
};

}  // namespace wireproof::am
