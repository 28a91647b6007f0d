// What an ended session leaves: each unfinished message once and in order.
#pragma once

#include <optional>

#include "wireproof/proto/am/receive/receiver.hpp"
#include "wireproof/proto/am/send/sender.hpp"
#include "wireproof/proto/am/session/ended.hpp"

namespace wireproof::am {

/// The next of them; nothing if all have been drawn.
std::optional<Delivery> draw_unfinished(Ended& ended, Sender& sender, Receiver& receiver);

}  // namespace wireproof::am
