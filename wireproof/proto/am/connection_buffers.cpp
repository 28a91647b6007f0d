// Makes the buffers of a connection.

#include "wireproof/proto/am/connection_buffers.hpp"

namespace wireproof::am {
ConnectionBuffers::ConnectionBuffers(const Config& config)
    : send{Outgoing::Buffers(config, Channel::request), Outgoing::Buffers(config, Channel::reply)},
      receive{Incoming::Buffers(config, Channel::request),
              Incoming::Buffers(config, Channel::reply)},
      replies(config),
      ended(config.stores_max + config.gets_max + config.window_of(Channel::request) + 1) {}

ConnectionBuffers ConnectionBuffers::none(Config config) {
    config.window.fill(0);
    config.save_bytes = 0;
    config.stores_max = config.gets_max = config.get_slots = 0;
    config.reply_places = 0;
    return ConnectionBuffers(config);
}

}  // namespace wireproof::am
