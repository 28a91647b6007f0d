// A connection without its buffers, and how it gives them up and gets them.
#include "wireproof/proto/am/connection_buffers.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

ConnectionBuffers::ConnectionBuffers(const Config& config)
    : send{SendChannel::Buffers(config, Channel::request),
           SendChannel::Buffers(config, Channel::reply)},
      receive{ReceiveChannel::Buffers(config, Channel::request),
              ReceiveChannel::Buffers(config, Channel::reply)},
      replies(config),
      ended(config.stores_max + config.gets_max + config.window_of(Channel::request) + 1) {}

ConnectionBuffers ConnectionBuffers::none(Config config) {
    config.window.fill(0);
    config.save_bytes = 0;
    config.stores_max = config.gets_max = config.get_slots = 0;
    config.reply_places = 0;
    return ConnectionBuffers(config);
}

Connection::Connection(const Config& config, const MemoryTable& memory)
    : Connection(config, memory, ConnectionBuffers(config)) {}

// What is owed stays owed, and numbers go on: only what waits, or is half there, lies in buffers.
bool Connection::at_rest() const {
    for (std::size_t i = 0; i < channel_count; ++i) {
        if (!send_[i].at_rest() || !receive_[i].at_rest()) return false;
    }
    return replies_.empty() && ended_.empty() && !delivery_ && !plain_here_ && !drawn_slot_ &&
           bundle_.left == 0 && refused_need_ == Need::nothing && !ending_.active;
}

void Connection::exchange(ConnectionBuffers& buffers) {
    WIREPROOF_CHECK(at_rest());
    calm_ = may_reply_ = false;
    for (std::size_t i = 0; i < channel_count; ++i) {
        send_[i].exchange(buffers.send[i]);
        receive_[i].exchange(buffers.receive[i]);
    }
    std::swap(replies_, buffers.replies);
    std::swap(ended_, buffers.ended);
}

// A reply in order is delivered from its frame, and nothing is owed for it but an acknowledgement.
// Whoever waits for replies has no packet under way any more, so its buffers may be lent to others.
bool Connection::needs_buffers(const Header& packet) {
    return packet.channel == Channel::request || packet.kind == Kind::chunk;
}

bool Connection::would_put_off(ConstBytes packet) const {
    if (has_buffers() || ending_.active || !handshake_.established()) return false;
    const auto header = decode(config_.layout, packet);
    if (!header || header->cookie != handshake_.cookie()) return false;
    if (!is_numbered(header->kind) || !needs_buffers(*header)) return false;
    const auto at = receiver(header->channel).window.placement_of(header->number);
    using Place = ReceiveWindow::Place;
    return at.place == Place::expected || at.place == Place::ahead;
}

// As a packet that finds no place for its reply: it came, and is asked for when it can be had.
RxVerdict Connection::put_off(const Header& header) {
    ReceiveWindow& window = receiver(header.channel).window;
    const auto at = window.placement_of(header.number);
    using Place = ReceiveWindow::Place;
    if (at.place == Place::stale) return RxVerdict::stale;
    if (at.place == Place::behind) {
        window.owe_ack();
        return RxVerdict::duplicate;
    }
    const bool many = header.kind == Kind::bundle || header.kind == Kind::chunk;
    const std::uint32_t packets = many ? header.count : 1;
    window.put_off(header.round, std::min(at.distance + packets, window.window()));
    return RxVerdict::refused;
}

}  // namespace wireproof::am
