// Messages of any length over links that may go down: cut into segments, kept until the peer says
// that it has them, and resumed where it says it stands. Knows neither wire nor engine nor time.
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
    std::size_t message_max = std::size_t{16} << 20;   // bytes of one that arrives
    std::size_t stand_every = std::size_t{128} << 10;  // bytes received between two STANDs
    std::uint64_t life = 1;                            // differs between two lives of one program
};

/// What came of a segment that arrived.
enum class Arrival : std::uint8_t {
    nothing,         // that a user would care about
    message,         // one is complete: take_message
    peer_restarted,  // the peer is another life, and what it had of our messages is lost
    broken,          // not a segment of a peer that keeps the rules
};

class MessageStream {
public:
    explicit MessageStream(const StreamConfig& config) : config_(config) {}

    /// Below the limit of the queue; one message may reach beyond it.
    bool has_room() const { return queued_bytes_ < config_.queue_bytes; }
    void submit(ConstBytes message);
    /// The peer has everything that was submitted.
    bool delivered() const { return queue_.empty(); }
    /// Messages that the peer has.
    std::uint64_t messages_delivered() const { return delivered_; }

    void on_up();
    void on_down();
    bool up() const { return up_; }

    Arrival on_segment(ConstBytes segment);
    /// The message that on_segment announced.
    std::vector<std::byte> take_message();

    /// Fills `room` with the next segment; 0: there is none now. `room` is the longest message of
    /// the link.
    std::size_t next_segment(Bytes room);
    /// Has an ASK leave, so that a silent peer shows that it is there.
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

    // Outgoing. `cursor_` and `offset_` are what leaves next; nothing does before the peer's STAND.
    std::deque<Message> queue_;
    std::uint32_t first_number_ = 0;  // of the queue's front
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
