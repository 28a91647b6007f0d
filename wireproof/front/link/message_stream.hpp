// Sends messages of any length over links that may go down. The stream cuts messages into segments,
// keeps them until the peer says that it has them, and resumes at the place that the peer names. It
// knows neither wire nor engine nor time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/front/link/segment.hpp"

namespace wireproof::link {

struct StreamConfig {
    std::size_t queue_bytes = std::size_t{4} << 20;    // of messages that the peer may still need
    std::size_t message_max = std::size_t{16} << 20;   // the longest message that is accepted
    std::size_t stand_every = std::size_t{128} << 10;  // bytes received between two STANDs
    std::uint64_t life = 1;                            // differs each time the program starts
};

/// The result of a received segment.
enum class Arrival : std::uint8_t {
    nothing,         // no event for the user
    message,         // a message is complete: call take_message
    peer_restarted,  // the peer has a new life, and has lost our messages
    broken,          // a peer that keeps the rules does not send this segment
};

class MessageStream {
public:
    explicit MessageStream(const StreamConfig& config) : config_(config) {}

    /// The queue is below its limit. The next message may exceed it.
    bool has_room() const { return queued_bytes_ < config_.queue_bytes; }
    void submit(ConstBytes message);
    /// The peer has all submitted messages.
    bool delivered() const { return queue_.empty(); }
    /// Number of messages that the peer has.
    std::uint64_t messages_delivered() const { return delivered_; }

    void on_up();
    void on_down();
    bool up() const { return up_; }

    Arrival on_segment(ConstBytes segment);
    /// The message that on_segment reported as complete.
    std::vector<std::byte> take_message();

    /// Writes the next segment to `room` and returns its size; 0: there is none now. `room` has the
    /// size of the longest message of the link.
    std::size_t next_segment(Bytes room);
    /// Schedules an ASK, so that a silent peer must acknowledge it.
    void ask() { ask_due_ = up_; }

private:
    struct Message {
        std::vector<std::byte> bytes;
    };

    Arrival on_stand(const Segment& stand, ConstBytes life);
    Arrival on_data(const Segment& data, ConstBytes bytes);
    std::size_t write_stand(Bytes room);

    StreamConfig config_;
    bool up_ = false;

    // Outgoing. `cursor_` and `offset_` name the next byte to send. No data leaves before the
    // peer's STAND.
    std::deque<Message> queue_;
    std::uint32_t first_number_ = 0;  // number of the front of the queue
    std::size_t cursor_ = 0;          // index in the queue
    std::size_t offset_ = 0;
    std::size_t queued_bytes_ = 0;
    std::uint64_t delivered_ = 0;
    bool peer_stands_ = false;
    std::optional<std::uint64_t> peer_life_;

    // Incoming.
    std::uint32_t number_ = 0;
    std::vector<std::byte> arriving_;
    bool complete_ = false;
    std::size_t since_stand_ = 0;
    bool stand_due_ = false;
    bool ask_due_ = false;
};

}  // namespace wireproof::link
