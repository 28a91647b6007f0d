// The state of a connection with one peer. Four layers work on it, each above the ones before it:
//
//   session/session.hpp    begins and ends sessions, and finds out whether the peer lives
//   send/sender.hpp        calls of the caller, packets that leave, acknowledgements that arrive
//   receive/receiver.hpp   numbered packets that arrive, and what the caller draws
//   connection.hpp         the engine contract
//
// A layer calls those below it and never one above. The state is one class because most rules need
// both directions: each packet that leaves acknowledges packets that arrived, and each packet that
// arrives may free places in the send window.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/core/timer_table.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/connection_buffers.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/fast/short_message.hpp"
#include "wireproof/proto/am/handler_table.hpp"
#include "wireproof/proto/am/memory_table.hpp"
#include "wireproof/proto/am/receive/receive_channel.hpp"
#include "wireproof/proto/am/receive/stall.hpp"
#include "wireproof/proto/am/receive/unpacking.hpp"
#include "wireproof/proto/am/send/reply_queue.hpp"
#include "wireproof/proto/am/send/send_channel.hpp"
#include "wireproof/proto/am/session/ending.hpp"
#include "wireproof/proto/am/session/handshake.hpp"
#include "wireproof/proto/am/session/leave.hpp"
#include "wireproof/proto/am/session/liveness.hpp"
#include "wireproof/proto/am/stats.hpp"

namespace wireproof::am {

class ConnectionState {
protected:
    using Acks = std::array<std::uint32_t, channel_count>;  // by channel: the number expected next
    enum class Timer : std::uint8_t {
        keepalive_request,
        keepalive_reply,
        hello,
        held_ack,
        pace,  // of both channels
        leave,
    };

    static constexpr std::uint32_t handler_max = 0xFFFF;
    // The owner of a reply that refuses a note.
    static constexpr std::uint32_t note_owner = 0xFFFFFFFF;

    ConnectionState(const Config& config, const MemoryTable& memory, ConnectionBuffers buffers);

    static Channel other(Channel channel) {
        return channel == Channel::request ? Channel::reply : Channel::request;
    }
    static std::size_t index(Channel channel) { return static_cast<std::size_t>(channel); }
    SendChannel& sender(Channel channel) { return send_[index(channel)]; }
    const SendChannel& sender(Channel channel) const { return send_[index(channel)]; }
    ReceiveChannel& receiver(Channel channel) { return receive_[index(channel)]; }
    const ReceiveChannel& receiver(Channel channel) const { return receive_[index(channel)]; }
    static Timer keepalive_timer(Channel channel) {
        return channel == Channel::request ? Timer::keepalive_request : Timer::keepalive_reply;
    }
    bool has_buffers() const { return receive_[0].has_buffers(); }
    bool has_handler(HandlerId handler) const {
        return handlers_ == nullptr || handlers_->has(handler);
    }

    /// This end waits for something from the peer, and not only for acknowledgements of its own
    /// packets.
    bool expects_peer() const {
        return awaiting_ || receive_[0].arriving() > 0 || receive_[1].arriving() > 0;
    }
    bool waits_for_peer() const {
        return expects_peer() || !send_[0].window.empty() || !send_[1].window.empty();
    }
    /// If this end only waits for its peer, a timer asks the peer from time to time whether it
    /// lives.
    bool watches_as_it_should() const {
        return !expects_peer() || !send_[0].window.empty() ||
               timers_.running(Timer::keepalive_request);
    }
    /// A question leaves before packets that wait: the peer has been silent for more than one
    /// timer.
    bool asks_first() const { return liveness_.unanswered() > 1; }
    bool question_goes_first() const {
        return asks_first() && (send_[0].keepalive_due || send_[1].keepalive_due);
    }
    /// This end owes an acknowledgement that a timer or poll_transmit() will send.
    bool holds_back_ack() const;

    // Conditions of the fast path.

    /// The last frame may no longer exist, so nothing of it may be unpacked.
    void leave_fast_path() {
        predicting_ = false;
        bundle_.messages.drop();
        nothing_to_draw_ = false;
    }
    /// Only messages, acknowledgements and questions are to leave.
    bool nothing_else_to_say() const;
    /// An acknowledgement or question is due even if no message leaves; or this end has begun or
    /// stopped to wait for the peer, and liveness_ does not know it yet.
    bool small_talk_due() const {
        return receive_[0].window.ack_due() || receive_[1].window.ack_due() ||
               send_[0].keepalive_due || send_[1].keepalive_due ||
               waits_for_peer() != liveness_.waits();
    }
    bool can_predict() const;

    void fingerprint(Instant now, Fingerprint& sink) const;

    Config config_;
    bool wide_ = config_.layout == Layout::ethernet;
    bool fast_ = wide_ && config_.fast_paths;           // the fast paths may be taken
    bool holds_acks_ = config_.ack_after > Duration();  // for a limited time
    const MemoryTable* memory_;
    const HandlerTable* handlers_ = nullptr;
    std::array<SendChannel, channel_count> send_;
    std::array<ReceiveChannel, channel_count> receive_;
    ReplyQueue replies_;
    TimerTable<Timer, 6> timers_;
    Stats stats_;

    // Session.
    Handshake handshake_;
    Ending ending_;
    Liveness liveness_;
    Leave leave_;
    Duration watch_interval_;  // until the next question to a peer while nothing is unacknowledged
    Duration hello_interval_;
    bool hello_due_ = false;
    bool awaiting_ = false;
    std::uint8_t route_;

    // Sender.
    Channel turn_ = Channel::reply;   // the channel that sends first
    Channel run_ = Channel::request;  // of the run that is in progress
    const SendWindow::Saved* next_of_run_ = nullptr;

    // Receiver: deliveries that wait to be drawn.
    std::optional<Delivery> delivery_;  // of the last frame
    ShortMessage short_;                // the same, if the fast path accepted it
    bool short_here_ = false;
    bool nothing_to_draw_ = false;  // true: the next draw need not check
    bool may_reply_ = false;        // the caller may answer the last delivery
    Unpacking bundle_;
    Ring<Delivery> ended_;  // ends of transfers that acknowledgements ended, and SessionBegan
    // Slot of the held message drawn last. The next draw frees it.
    std::optional<std::uint32_t> drawn_slot_;
    Channel drawn_channel_ = Channel::request;
    // Receiver: what stops a channel.
    Stall stall_;  // of the request channel
    NoteRefusal note_refusal_ = NoteRefusal::none;
    bool overrun_ = false;  // this host had no room for frames; the next NACK says so

    // True only while can_predict() holds. The fast path sets it after a message that it accepted.
    // Each function that may change the answer clears it.
    bool predicting_ = false;
};

}  // namespace wireproof::am
