// What SP AM itself costs a host, on top of what the adapter charges for the same packet
// (sim/sp2/costs.hpp). "Fitted": chosen so that a figure of the SP '96 paper comes out of a run.
// "Recalled": such a figure, but from memory of the paper, unconfirmed. "Assumed": no source at
// all.
#pragma once

#include "wireproof/base/instant.hpp"

namespace wireproof::lab {

struct AmCosts {
    // Before a packet can leave: header, window, sequence number.
    Duration short_packet = Duration::nanoseconds(1'100);    // fitted: the round trip of 51.0 us
    Duration further_word = Duration::nanoseconds(150);      // recalled: 0.1 to 0.2 us each
    Duration chunk_packet = Duration::nanoseconds(690);      // fitted: 175 us to send a chunk
    Duration control_packet = Duration::nanoseconds(1'100);  // assumed: as a short packet

    // After it left: what a call has to save and to look at. It delays only the caller.
    Duration request_call = Duration::nanoseconds(2'950);  // fitted: recalled am_request_1, 7.7 us
    Duration reply_call = Duration::nanoseconds(550);      // fitted: recalled am_reply_1, 4.0 us
    Duration store_call = Duration::nanoseconds(2'950);    // assumed: as a request's

    // Polling.
    Duration message = Duration::nanoseconds(900);     // fitted: recalled 1.8 us per message taken
    Duration poll_empty = Duration::nanoseconds(900);  // fitted: recalled empty am_poll, 1.3 us
};

}  // namespace wireproof::lab
