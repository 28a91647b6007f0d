// Why the request channel is stalled: the expected packet arrived, but what it needs is not there.
// The receiver refuses it, and asks for it again once there is room (AM-42).
#pragma once

#include <cstdint>

#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

/// What a refused packet waits for.
enum class Need : std::uint8_t { nothing, reply_place, get_slot, refusal_acked, note_refused };

struct Stall {
    Need need = Need::nothing;
    std::uint32_t store = 0;  // transfer id of the store whose refusal must be acknowledged
    std::uint8_t round = 0;   // of the refused packet
    std::uint32_t place = 0;  // of the refused packet in its chunk

    void fingerprint(Fingerprint& sink) const {
        sink.add(need);
        if (need == Need::nothing) return;
        sink.add(store);
        sink.add(round);
        sink.add(place);
    }
};

/// Whether the peer knows that the note which is expected now is refused.
enum class NoteRefusal : std::uint8_t { none, unacked, acked };

}  // namespace wireproof::am
