// Both channels of the sending direction: messages and transfers of the caller, packets that leave,
// and which packet leaves next.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/core/engine.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/send/outgoing.hpp"
#include "wireproof/proto/am/send/reply_queue.hpp"
#include "wireproof/proto/am/session/session.hpp"
#include "wireproof/proto/am/short_message.hpp"
#include "wireproof/proto/am/transfers.hpp"

namespace wireproof::am {

/// By channel: the number that this end expects next of the peer. Each packet of the session
/// carries them, also a retransmission (AM-41).
using Acks = std::array<std::uint32_t, channel_count>;

class Sender {
public:
    Sender(const Config& config, std::array<Outgoing::Buffers, channel_count> buffers,
           ReplyQueue waiting);

    Outgoing& operator[](Channel channel) { return channels_[static_cast<std::size_t>(channel)]; }
    const Outgoing& operator[](Channel channel) const {
        return channels_[static_cast<std::size_t>(channel)];
    }
    const std::array<Outgoing, channel_count>& channels() const { return channels_; }
    ReplyQueue replies;  // that wait for room in the window

    // Calls of the caller: post.cpp. connection.hpp documents each.

    [[nodiscard]] PostStatus request(const Session& session, HandlerId handler,
                                     ConstBytes arguments);
    /// Nothing waits before this reply, so it need not pass through the queue. False: it must.
    [[nodiscard]] bool reply_at_once(HandlerId handler, ConstBytes arguments);
    void reply(HandlerId handler, ConstBytes arguments);
    /// A refusal leaves like a reply. `owner`: the refused store's id + 1, note_owner, or 0.
    void refuse(const RefusalBody& body, std::uint32_t owner);
    [[nodiscard]] PostStatus store(const Session& session, const Store& store);
    [[nodiscard]] PostStatus note(const Session& session, const Note& note);
    /// `id`: of the transfer whose bytes will arrive; nothing: none is free.
    [[nodiscard]] PostStatus get(const Session& session, const Get& get,
                                 std::optional<std::uint32_t> id);
    bool can_note(const Session& session) const;
    /// Sends bytes of this node to the peer that asked for them.
    void serve_get(std::uint32_t id, ConstBytes memory);
    /// More packets may leave, for the time that has passed.
    void refill_pace(Instant now) {
        for (Outgoing& channel : channels_) channel.refill(now);
    }
    /// Puts messages that waited for room into the window.
    void refill(Channel channel) {
        const BulkSender& bulk = (*this)[channel].bulk;
        const bool nothing =
            bulk.active() == 0 && !bulk.waits() && (channel == Channel::request || replies.empty());
        if (!nothing) refill_waiting(channel);
    }

    // Packets that leave: transmit.cpp. False: there is none of this kind.

    /// The general path for any packet: completes, writes, signs and counts it.
    void emit(Session& session, const Acks& acks, Header& header, ConstBytes data, TxFrame& out);
    bool send_hello(Instant now, Session& session, TxFrame& out);
    bool send_unknown(Session& session, TxFrame& out);
    bool send_question(Instant now, Session& session, const Acks& acks, Channel channel,
                       TxFrame& out);
    bool send_keepalive(Instant now, Session& session, const Acks& acks, Channel channel,
                        TxFrame& out);
    bool send_numbered(Instant now, Session& session, const Acks& acks, TxFrame& out);
    bool send_leave(Instant now, Session& session, const Acks& acks, TxFrame& out);

    // The fast path: fast_transmit.hpp and .cpp, fast_chunks.cpp. Nothing else is to be said.

    bool send_fast(Instant now, Session& session, const Acks& acks, TxFrame& out);
    /// The channels take turns, so a run sends only one, while the other has nothing to send.
    RunStart begin_run();
    /// The same while the fast path is open.
    template <Channel channel>
    inline void begin_predicted_run();
    bool in_run() {
        next_of_run_ = (*this)[run_].window.next_fast();
        return next_of_run_ != nullptr;
    }
    inline void next_of_run(Session& session, const Acks& acks, TxFrame& out);
    void end_run(Instant now, Session& session) {
        next_of_run_ = nullptr;
        note_departure(now, session, run_, false);
    }
    bool is_run_at_rest() const { return (*this)[run_].window.at_rest() && !asks(); }
    std::size_t equal_in_run() const;
    void write_equal(Session& session, const Acks& acks, const FrameRun& run);
    template <Channel channel>
    inline bool leaves_single(const SingleMessage<channel>& message, std::size_t message_max) const;
    template <Channel channel>
    inline std::size_t write_single(const Session& session, const Acks& acks,
                                    const SingleMessage<channel>& message, Bytes room) const;
    template <Channel channel>
    inline void single_left(Instant now, Session& session, const SingleMessage<channel>& message);

    /// The keep-alive timer of the channel has expired; it was due at that time.
    void on_keepalive_timer(Instant now, Instant due, Channel channel, Session& session,
                            const Session::Waits& waits);

    // State.

    /// A question is to leave.
    bool asks() const { return channels_[0].keepalive_due || channels_[1].keepalive_due; }
    /// One that the limit of packets in flight needs.
    bool wants_answer() const {
        return channels_[0].window.in_flight().wants_answer() ||
               channels_[1].window.in_flight().wants_answer();
    }
    /// Nothing is unacknowledged or waits in the windows.
    bool empty() const { return channels_[0].window.empty() && channels_[1].window.empty(); }
    bool idle() const;
    bool at_rest() const {
        return replies.empty() && channels_[0].at_rest() && channels_[1].at_rest();
    }
    /// No packet is missing or part of a chunk, and the caller awaits the end of no message.
    bool is_steady() const;
    bool touches(ConstBytes memory) const;
    void exchange(std::array<Outgoing::Buffers, channel_count>& buffers, ReplyQueue& waiting);
    /// For a new session.
    void reset();
    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    // Data up to this size is copied behind its header, so that the frame is one piece.
    static constexpr std::size_t copied_max = 192;

    static PostStatus readiness(const Session& session);
    void refill_waiting(Channel channel);

    void emit_keepalive(Session& session, const Acks& acks, Channel channel, std::uint16_t count,
                        TxFrame& out);
    bool send_numbered(Instant now, Session& session, const Acks& acks, Channel channel,
                       TxFrame& out);
    void note_departure(Instant now, Session& session, Channel channel, bool again);
    std::uint16_t filler_of(Session& session, const TxFrame& out, Channel channel,
                            const SendWindow::Departure& packet);

    inline HeaderWords fast_header(const Session& session, const Acks& acks, Channel channel) const;
    template <Channel channel>
    inline void write_message(const Session& session, const Acks& acks, std::uint32_t handler,
                              ConstBytes arguments, Bytes room) const;
    inline void note_left(Session& session, Channel channel, Kind kind, std::uint32_t packets,
                          std::uint32_t numbers);
    template <Channel channel>
    inline void fill_single(Session& session, const Acks& acks, const SendWindow::Saved& message,
                            TxFrame& out);
    inline void fill_fast(Session& session, const Acks& acks, Channel channel,
                          const SendWindow::Saved& message, TxFrame& out);
    void fill_other(Session& session, const Acks& acks, Channel channel,
                    const SendWindow::Saved& message, TxFrame& out);
    void fill_more(Session& session, const Acks& acks, Channel channel,
                   const SendWindow::Saved& message, TxFrame& out);
    static void add_fast(const Config& config, const HeaderWords& header, ConstBytes data,
                         Kind kind, TxFrame& out);
    HeaderWords chunk_header(const Session& session, const Acks& acks, Channel channel,
                             const SendWindow::Saved& chunk,
                             const SendWindow::Departure& packet) const;
    void fill_chunk_packet(Session& session, const Acks& acks, Channel channel,
                           const SendWindow::Saved& chunk, TxFrame& out);

    std::array<Outgoing, channel_count> channels_;
    Channel turn_ = Channel::reply;   // the channel that sends first
    Channel run_ = Channel::request;  // of the run that is in progress
    const SendWindow::Saved* next_of_run_ = nullptr;
};

}  // namespace wireproof::am
