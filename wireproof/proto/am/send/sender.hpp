// The sending layer: calls of the caller, packets that leave, and the acknowledgements and NACKs
// that arrive for them.
#pragma once

#include "wireproof/proto/am/session/session.hpp"
#include "wireproof/proto/am/transfers.hpp"

namespace wireproof::am {

class Sender : protected Session {
protected:
    using Session::Session;

    // Calls of the caller: send/post.cpp. connection.hpp documents each.
    [[nodiscard]] PostStatus request(HandlerId handler, ConstBytes arguments);
    [[nodiscard]] PostStatus reply(HandlerId handler, ConstBytes arguments);
    [[nodiscard]] PostStatus refuse(HandlerId missing);
    [[nodiscard]] PostStatus store(const Store& store);
    [[nodiscard]] PostStatus note(const Note& note);
    [[nodiscard]] PostStatus get(const Get& get);
    bool can_note() const;
    /// A refusal leaves like a reply. `owner`: the refused store's id + 1, note_owner, or 0.
    void send_refusal(RefusalBody body, std::uint32_t owner);

    // Acknowledgements and NACKs that arrive: send/acknowledge.cpp.

    /// An undamaged packet of the session arrived: its sender lives, and its acknowledgements
    /// apply. The function that accepts the packet applies the rest.
    inline void commit(Instant now, const Acks& acks);
    void on_nack(Instant now, const Packet& packet);
    bool says_no_news(const Acks& acks) const {
        return acks[0] == send_[0].window.first_unacknowledged() &&
               acks[1] == send_[1].window.first_unacknowledged();
    }
    /// Puts messages that waited for room into the window.
    inline void refill(Channel channel);

    // Packets that leave: send/transmit.cpp.

    /// The fields that every packet of the session has, also a retransmission (AM-41).
    template <class AnyHeader>
    [[gnu::always_inline]] void stamp(AnyHeader& header) const {
        header.route = route_;
        header.cookie = handshake_.cookie();
        header.ack = {receive_[0].window.expected(), receive_[1].window.expected()};
    }
    /// The general path for any packet: completes, writes, signs and counts it.
    void emit(TxFrame& out, Header& header, ConstBytes data);
    bool send_hello(Instant now, TxFrame& out);
    /// A HELLO leaves, or would leave if there were room.
    void set_hello_timer(Instant now);
    bool send_unknown(TxFrame& out);
    bool send_numbered(Instant now, Channel channel, TxFrame& out);
    bool send_question(Instant now, Channel channel, TxFrame& out);
    bool send_keepalive(Instant now, Channel channel, TxFrame& out);
    bool send_leave(Instant now, TxFrame& out);
    void emit_keepalive(Channel channel, std::uint16_t count, TxFrame& out);

    // The fast path: fast/transmit.hpp, .cpp and fast/chunks.cpp. connection.hpp documents its
    // calls.
    bool send_fast(Instant now, TxFrame& out);
    inline RunStart begin_run();
    bool in_run() {
        next_of_run_ = sender(run_).window.next_fast();
        return next_of_run_ != nullptr;
    }
    void next_of_run(TxFrame& out) { fill_fast(run_, *next_of_run_, out); }
    bool end_run(Instant now);
    std::size_t equal_in_run() const;
    void write_equal(const FrameRun& run);
    inline bool may_coalesce();
    template <Channel channel>
    inline bool leaves_single(const SingleMessage<channel>& message) const;
    template <Channel channel>
    inline std::size_t write_single(const SingleMessage<channel>& message, Bytes room) const;
    template <Channel channel>
    inline void single_left(Instant now, const SingleMessage<channel>& message);

private:
    // Data up to this size is copied behind its header, so that the frame is one piece.
    static constexpr std::size_t copied_max = 192;

    PostStatus readiness() const;

    inline void apply_ack(Instant now, Channel channel, std::uint32_t expected);
    inline void end_all(Instant now, Channel channel);
    void on_ack(Instant now, Channel channel, std::uint32_t expected);
    void on_acked(Channel channel, const SendWindow::Saved& message);
    inline void note_freed(Instant now, Channel channel, std::uint32_t packets);
    bool resend_missing(Instant now, const Header& header, const SendWindow::Missing& missing,
                        bool progress);
    void refill_waiting(Channel channel);

    void note_acks_left() {
        receive_[0].window.acknowledged();
        receive_[1].window.acknowledged();
    }
    void note_departure(Instant now, Channel channel, bool again = false);
    std::uint16_t filler_of(const TxFrame& out, Channel channel,
                            const SendWindow::Departure& packet);
    std::uint64_t bytes_besides(Channel channel, const SendWindow::Departure& packet) const;

    RunStart begin_any_run();
    template <Channel channel>
    inline RunStart begin_predicted_run();
    inline HeaderWords fast_header(Channel channel) const;
    template <Channel channel>
    inline void write_message(std::uint32_t handler, ConstBytes arguments, Bytes room) const;
    inline void note_left(Channel channel, Kind kind, std::uint32_t packets, std::uint32_t numbers);
    inline void fill_fast(Channel channel, const SendWindow::Saved& message, TxFrame& out);
    template <Channel channel>
    inline void fill_single(const SendWindow::Saved& message, TxFrame& out);
    void fill_other(Channel channel, const SendWindow::Saved& message, TxFrame& out);
    void fill_more(Channel channel, const SendWindow::Saved& message, TxFrame& out);
    void head_open(const SendWindow::Saved& open, ConstBytes data, const TxFrame& out,
                   HeaderWords& header);
    void add_fast(TxFrame& out, const HeaderWords& header, ConstBytes data, Kind kind) const;
    void sign_short(Bytes frame, Kind kind) const;
    HeaderWords chunk_header(Channel channel, const SendWindow::Saved& chunk,
                             const SendWindow::Departure& packet) const;
    void fill_chunk_packet(Channel channel, const SendWindow::Saved& chunk, TxFrame& out);
};

}  // namespace wireproof::am

#include "wireproof/proto/am/fast/transmit.hpp"
#include "wireproof/proto/am/send/acknowledge.hpp"
