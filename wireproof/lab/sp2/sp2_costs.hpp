// The costs of SP AM itself on a host, in addition to the adapter's costs for the same packet
// (sim/sp2/costs.hpp). "Fitted": chosen so that a run gives a figure of the SP '96 paper.
// "Recalled": a figure of that paper from memory, not confirmed. "Assumed": without a source.
#pragma once

#include "wireproof/base/instant.hpp"

namespace wireproof::lab {

struct AmCosts {
    // Work before a packet can leave: header, window, sequence number.
    Duration short_packet = Duration::nanoseconds(1'100);    // fitted: the round trip of 51.0 us
    Duration further_word = Duration::nanoseconds(150);      // recalled: 0.1 to 0.2 us each
    Duration chunk_packet = Duration::nanoseconds(690);      // fitted: 175 us to send a chunk
    Duration control_packet = Duration::nanoseconds(1'100);  // assumed: as a short packet

    // Work of a call after the packet left: saving and checking. It delays only the caller.
    Duration request_call = Duration::nanoseconds(2'950);  // fitted: recalled am_request_1, 7.7 us
    Duration reply_call = Duration::nanoseconds(550);      // fitted: recalled am_reply_1, 4.0 us
    Duration store_call = Duration::nanoseconds(2'950);    // assumed: as a request's

    // Polling.
    Duration message = Duration::nanoseconds(900);     // fitted: recalled 1.8 us per message taken
    Duration poll_empty = Duration::nanoseconds(900);  // fitted: recalled empty am_poll, 1.3 us
};

}  // namespace wireproof::lab
