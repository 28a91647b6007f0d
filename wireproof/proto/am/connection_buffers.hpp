// The memory of a connection's windows and tables. This is most of its memory, and the connection
// needs it only while messages or transfers are active. A node with many connections lends it to
// the active ones.
#pragma once

#include <array>

#include "wireproof/base/ring.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/receive/incoming.hpp"
#include "wireproof/proto/am/send/outgoing.hpp"
#include "wireproof/proto/am/send/reply_queue.hpp"

namespace wireproof::am {

/// The buffers fit any connection whose windows and tables have the sizes of `config`.
struct ConnectionBuffers {
    explicit ConnectionBuffers(const Config& config);
    /// Replaces the buffers while they are lent elsewhere. It has room only for the events at the
    /// beginning of a session.
    static ConnectionBuffers none(Config config);

    std::array<Outgoing::Buffers, channel_count> send;
    std::array<Incoming::Buffers, channel_count> receive;
    ReplyQueue replies;
    Ring<Delivery> ended;
};

}  // namespace wireproof::am
