// What stops the request channel: the packet expected came, and there was no room for what it asks
// for. It is refused, and fetched once there is room (AM-42).
#pragma once

#include <cstdint>

#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

/// What a refused packet waits for.
enum class Need : std::uint8_t { nothing, reply_place, get_slot, refusal_acked, note_refused };

struct Stall {
    Need need = Need::nothing;
    std::uint32_t store = 0;  // whose refusal is to be acknowledged: a transfer id
    std::uint8_t round = 0;   // of the refused packet
    std::uint32_t place = 0;  // of that packet in its chunk

    void fingerprint(Fingerprint& sink) const {
        sink.add(need);
        if (need == Need::nothing) return;
        sink.add(store);
        sink.add(round);
        sink.add(place);
    }
};

/// Of the expected note, into memory that is not the peer's to write: whether it was told.
enum class NoteRefusal : std::uint8_t { none, unacked, acked };

}  // namespace wireproof::am
