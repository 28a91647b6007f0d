// A connection without its buffers, and how it gives them up and gets them.
#include "wireproof/proto/am/connection_buffers.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {
namespace {

constexpr auto requests = static_cast<std::size_t>(Channel::request);
constexpr auto replies_at = static_cast<std::size_t>(Channel::reply);

}  // namespace

ConnectionBuffers::ConnectionBuffers(const Config& config)
    : send{SendWindow::Buffers(config.window[requests], config.save_bytes),
           SendWindow::Buffers(config.window[replies_at], config.save_bytes)},
      receive{ReceiveWindow::Buffers(config, config.window[requests]),
              ReceiveWindow::Buffers(config, config.window[replies_at])},
      bulk{std::vector<BulkSender::Transfer>(config.stores_max),
           std::vector<BulkSender::Transfer>(config.get_slots)},
      incoming{std::vector<Incoming>(config.stores_max), std::vector<Incoming>(config.gets_max)},
      replies(config),
      ended(config.stores_max + config.gets_max + config.window[requests] + 1) {}

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
        const bool rests = send_[i].empty() && receive_[i].holds_nothing() &&
                           bulk_[i].active() == 0 && !bulk_[i].waits() && arriving_[i] == 0;
        if (!rests) return false;
    }
    return replies_.empty() && ended_.empty() && !delivery_ && !plain_here_ && !drawn_slot_ &&
           bundle_.left == 0 && exchanges_.came == 0 && refused_need_ == Need::nothing &&
           !ending_.active;
}

void Connection::exchange(ConnectionBuffers& buffers) {
    WIREPROOF_CHECK(at_rest());
    calm_ = may_reply_ = false;
    for (std::size_t i = 0; i < channel_count; ++i) {
        send_[i].exchange(buffers.send[i]);
        receive_[i].exchange(buffers.receive[i]);
        bulk_[i].exchange(buffers.bulk[i]);
        std::fill(incoming_[i].begin(), incoming_[i].end(), Incoming{});
        std::swap(incoming_[i], buffers.incoming[i]);
        if (has_buffers() && receive_[i].puts_off()) receive_[i].ask_for_put_off();
    }
    std::swap(replies_, buffers.replies);
    std::swap(ended_, buffers.ended);
}

// As a packet that finds no place for its reply: it came, and is asked for when it can be had.
RxVerdict Connection::put_off(const Header& header) {
    ReceiveWindow& window = in_window(header.channel);
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
