// The receiving end of one channel: packets that have arrived, acknowledgements that are owed, and
// transfers whose bytes arrive here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/proto/am/header_words.hpp"
#include "wireproof/proto/am/receive/arriving_transfer.hpp"
#include "wireproof/proto/am/receive/receive_window.hpp"

namespace wireproof::am {

class Incoming {
public:
    /// The memory that a channel needs while messages or transfers are active.
    struct Buffers {
        Buffers(const Config& config, Channel channel)
            : window(config, config.window_of(channel)),
              transfers(channel == Channel::request ? config.stores_max : config.gets_max) {}
        ReceiveWindow::Buffers window;
        std::vector<ArrivingTransfer> transfers;
    };

    Incoming(const Config& config, Channel channel, Buffers buffers)
        : window(config, channel, std::move(buffers.window)),
          single_flow(flow_of(config, channel, message_kind(channel))),
          chunk_flow(flow_of(config, channel, Kind::chunk)),
          transfers(std::move(buffers.transfers)) {}

    ReceiveWindow window;
    // Of packets that arrive.
    std::uint64_t single_flow;
    std::uint64_t chunk_flow;
    /// By transfer id. Request channel: stores of the peer; reply channel: gets of this node.
    std::vector<ArrivingTransfer> transfers;

    /// AM-54: packets of the channel that arrived with the mark of a router. Each NACK carries the
    /// count, so that a lost one loses nothing.
    void note_marked() { marked_ = (marked_ + 1) % nack_marks_modulus; }
    std::uint32_t marked() const { return marked_; }

    /// Active transfers.
    std::uint32_t arriving() const { return arriving_; }
    std::optional<std::uint32_t> free_transfer() const {
        for (std::uint32_t id = 0; id < transfers.size(); ++id) {
            if (!transfers[id].active) return id;
        }
        return std::nullopt;
    }
    ArrivingTransfer& begin_transfer(std::uint32_t id) {
        transfers[id] = {};
        transfers[id].active = true;
        ++arriving_;
        return transfers[id];
    }
    void end_transfer(std::uint32_t id) {
        transfers[id].active = false;
        --arriving_;
    }

    bool has_buffers() const { return !transfers.empty(); }
    /// No transfer is active.
    bool is_idle() const { return arriving_ == 0; }
    /// The buffers hold nothing.
    bool at_rest() const { return window.holds_nothing() && arriving_ == 0; }
    /// Only while at_rest().
    void exchange(Buffers& buffers) {
        window.exchange(buffers.window);
        std::fill(transfers.begin(), transfers.end(), ArrivingTransfer{});
        std::swap(transfers, buffers.transfers);
        if (has_buffers() && window.puts_off()) window.ask_for_put_off();
    }

    /// For a new session.
    void reset() {
        window.reset();
        std::fill(transfers.begin(), transfers.end(), ArrivingTransfer{});
        arriving_ = marked_ = 0;
    }
    void fingerprint(Fingerprint& sink) const {
        window.fingerprint(sink);
        sink.add(marked_);
        for (const ArrivingTransfer& transfer : transfers) transfer.fingerprint(sink);
    }

private:
    static std::uint64_t flow_of(const Config& config, Channel channel, Kind kind) {
        return HeaderWords::flow_of(config.node, config.peer, kind, channel);
    }

    std::uint32_t arriving_ = 0;
    std::uint32_t marked_ = 0;  // modulo nack_marks_modulus, from 0 in each session
};

}  // namespace wireproof::am
