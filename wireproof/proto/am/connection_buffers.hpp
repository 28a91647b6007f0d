// The memory of a connection's windows and tables: by far the most of it, and needed only while
// something is under way. A node with many connections lends it to those that are not at rest.
#pragma once

#include <array>

#include "wireproof/base/ring.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/receive/receive_channel.hpp"
#include "wireproof/proto/am/send/reply_queue.hpp"
#include "wireproof/proto/am/send/send_channel.hpp"

namespace wireproof::am {

/// For any connection whose windows and tables are as long as the Config says.
struct ConnectionBuffers {
    explicit ConnectionBuffers(const Config& config);
    /// What stands in their place meanwhile: room for nothing but the beginning of a session.
    static ConnectionBuffers none(Config config);

    std::array<SendChannel::Buffers, channel_count> send;
    std::array<ReceiveChannel::Buffers, channel_count> receive;
    ReplyQueue replies;
    Ring<Delivery> ended;
};

}  // namespace wireproof::am
