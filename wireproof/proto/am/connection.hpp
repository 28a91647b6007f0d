// The engine of SP AM: a connection of this node with one peer. It has a request channel and a
// reply channel in each direction. Each channel delivers its messages in order and exactly once.
// Long transfers move in chunks, keep-alives find out whether the peer lives, and sessions begin
// and end. A node has one connection per peer, so a full or dead peer never stops traffic to
// another peer.
//
// The contract. A caller with a wire and a clock turns a connection by these calls, in this order:
//
//   1. on_frame(now, frame)       for each frame that arrived. The verdict says what became of it.
//   2. next_delivery()            after each call of 1, 4 and 5, until it returns nothing. Its
//                                 result points into the frame and is valid until the next call.
//      reply(), refuse()          answer the request or store drawn last, before the next draw.
//   3. request(), store(), …      at any time, to send something. The engine has queued it only if
//                                 the answer is `accepted`.
//   4. on_wire_event(now, event)  when the wire says that the peer's process is gone or new.
//   5. on_deadline(now)           when next_deadline() is reached. Later calls set other deadlines.
//   6. poll_transmit(now, out)    until it returns false: no frame is to leave. `out` is borrowed.
//      on_no_room(now)            instead, if the wire has no room for a frame.
//   7. next_deadline()            says when to call on_deadline() if no frame arrives before.
//
// `now` never goes back. A connection has no clock, no thread and no random source: equal calls
// have equal results, and fingerprint() tells whether two connections are in the same state. No
// call allocates memory: the constructor takes all of it, or the caller lends it. Two threads must
// not use one connection at the same time. A copy is a separate connection that borrows the same
// memory.
//
// The calls after these seven are fast paths. Each does the work of several of the seven, with the
// same result. A caller need not use them.
//
// Rules and states: README.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "wireproof/proto/am/connection_buffers.hpp"
#include "wireproof/proto/am/prediction.hpp"
#include "wireproof/proto/am/receive/fast_receive.hpp"
#include "wireproof/proto/am/receive/receiver.hpp"
#include "wireproof/proto/am/send/fast_transmit.hpp"
#include "wireproof/proto/am/send/sender.hpp"
#include "wireproof/proto/am/session/session.hpp"

namespace wireproof::am {

class Connection {
public:
    using Delivery = am::Delivery;
    using Store = am::Store;
    using Note = am::Note;
    using Get = am::Get;

    /// The caller owns `memory`, the bytes that this peer may store to and get from; it must
    /// outlive the connection. A copy uses the same table until bind(). The config has passed
    /// check().
    Connection(const Config& config, const MemoryTable& memory);
    /// The buffers may be none(). Until exchange() brings others, the connection answers as if its
    /// windows were full, puts off packets of the request channel, and accepts only replies that
    /// are in order.
    Connection(const Config& config, const MemoryTable& memory, ConnectionBuffers buffers);

    void bind(const MemoryTable& memory) { receiver_.bind(memory); }
    /// The caller owns `handlers`; it must outlive the connection. The connection looks up a
    /// store's handler when the store begins to arrive and when all of it has arrived. If the table
    /// does not have it, no handler runs and the store ends as no_handler. Without a table, every
    /// handler counts as present.
    void bind_handlers(const HandlerTable& handlers) { receiver_.bind_handlers(handlers); }

    // Receiving.

    [[gnu::always_inline]] RxVerdict on_frame(Instant now, const RxFrame& frame) {
        return accept_message(now, frame) ? RxVerdict::accepted : on_other(now, frame);
    }
    /// The same in two steps, for a caller that looks at the frame before the connection does:
    /// nobody reads the header a second time. It takes the general path.
    Arrival read(const RxFrame& frame) const { return Arrival::read(config().layout, frame); }
    RxVerdict on_arrival(Instant now, const Arrival& arrival);
    std::optional<Delivery> next_delivery() {
        bool general = false;
        const auto drawn = receiver_.next_delivery(others(), general);
        return general ? draw_general() : drawn;
    }
    void on_wire_event(Instant now, WireEvent event);
    void on_deadline(Instant now);
    Instant next_deadline() const { return session_.timers.next(); }

    // Messages and transfers of the caller.

    /// The peer runs `handler`. The call copies the arguments, at most message_max() bytes.
    [[nodiscard]] PostStatus request(HandlerId handler, ConstBytes arguments) {
        return sender_.request(session_, handler, arguments);
    }
    /// Answers the request or store delivered last: once, and before the next draw. There is always
    /// room for the reply.
    [[nodiscard]] PostStatus reply(HandlerId handler, ConstBytes arguments);
    /// Instead of a reply: this node has no handler with that number.
    [[nodiscard]] PostStatus refuse(HandlerId missing);
    /// Copies bytes into the peer's memory, then runs a handler there (transfers.hpp).
    [[nodiscard]] PostStatus store(const Store& store);
    /// Only runs the handler: the bytes are in the peer's memory already.
    [[nodiscard]] PostStatus note(const Note& note);
    /// Copies bytes of the peer's memory to this node (transfers.hpp).
    [[nodiscard]] PostStatus get(const Get& get);

    /// Whether there is room for note(). The caller asks before it puts the bytes in place.
    bool can_note() const { return sender_.can_note(session_); }
    /// No store of this end has chunks that wait or are unacknowledged. So all bytes of earlier
    /// chunks are in place before any that the caller now writes into the peer's memory.
    bool no_chunks_out() const { return sender_[Channel::request].bulk.active() == 0; }
    /// The same for OPENs that carry all bytes of their stores.
    bool no_opens_with_bytes_out() const {
        return !sender_[Channel::request].window.carries_bytes();
    }
    /// The peer has acknowledged all that this end sent on the request channel, and all gets of
    /// this end have ended. A wire that reaches the peer's memory may read it now.
    bool can_read_at_once() const;
    /// Whether an active transfer reads or writes this memory.
    bool touches(ConstBytes memory) const;

    /// While true, keep-alives check that the peer lives even if nothing is unacknowledged. Without
    /// it they do so only while this end waits for an acknowledgement or for bytes of a transfer.
    void set_awaiting(bool awaiting) {
        session_.set_awaiting(awaiting);
        prediction_.end();
    }
    bool awaiting() const { return session_.awaiting(); }

    // Sending.

    /// The next frame acknowledges all that has arrived; otherwise a later message may do this. For
    /// a caller that ends the connection soon: the peer then knows that its messages have arrived.
    void acknowledge();

    /// This end is idle() and ends soon. It asks the peer whether the acknowledgements have
    /// arrived, at most Leave::questions_max times, until has_left(). Only a path that may lose
    /// frames needs this.
    void leave();
    /// The peer waits for no acknowledgement of this end: it has answered, it leaves as well, or
    /// there is no session. Or it has not answered any question.
    bool has_left() const;
    /// leave() was called in this session.
    bool leaving() const { return session_.leave.begun(); }

    bool poll_transmit(Instant now, TxFrame& out);
    /// The wire has no room, so no frame can leave. If this end waits for a peer with which it has
    /// no session, the time counts as silence of the peer: a peer that never comes is given up as
    /// one that never answers (AM-50). A wire without a peer may have no room for ever.
    void on_no_room(Instant now);
    /// poll_transmit() would return false and change nothing, whatever the time. For a caller that
    /// polls this is usually true, and much cheaper than poll_transmit().
    bool quiet() const;

    // State.

    bool established() const { return session_.established(); }
    /// No message or transfer of this connection is unacknowledged, waits or is active, and the
    /// connection holds back no acknowledgement.
    bool idle() const;
    std::size_t message_max() const { return config().message_max; }
    const Config& config() const { return session_.config(); }
    const Stats& stats() const { return session_.stats; }
    /// The messages of a channel that wait, are in flight or are unacknowledged.
    const SendWindow& sending(Channel channel) const { return sender_[channel].window; }
    void fingerprint(Instant now, Fingerprint& sink) const;

    // Buffers that the caller lends (connection_buffers.hpp).

    bool has_buffers() const { return receiver_.has_buffers(); }
    /// The buffers hold nothing.
    bool at_rest() const;
    /// Only while at_rest(). The connection takes these buffers and gives back its own; either may
    /// be none().
    void exchange(ConnectionBuffers& buffers);
    /// A packet of this session that on_arrival() would put off.
    bool would_put_off(const Arrival& arrival) const;
    /// This connection has put packets off.
    bool wants_buffers() const { return receiver_.wants_buffers(); }

    // Fast paths for receiving.

    using ShortMessage = am::ShortMessage;
    /// The next delivery, if it is a short message that waits on the fast path; else nullptr. The
    /// result is not copied and is valid until the next draw or call.
    const ShortMessage* take_message();
    /// True: next_delivery() would return nothing, so the caller need not call it now.
    bool nothing_drawn() {
        if (!prediction_.holds() || receiver_.deliveries.has_message()) return false;
        receiver_.deliveries.end_reply();
        return true;
    }
    /// False: the caller need not try on_run(). The connection expects only messages, or still has
    /// some to be drawn.
    bool takes_run() const { return !prediction_.holds() && receiver_.deliveries.empty(); }
    /// Accepts frames of `run` from the first on, as long as they are packets of the chunk that
    /// arrives now. The result is as with on_frame() for each, and there is nothing to draw.
    /// Returns how many it accepted; the next frame is for on_frame(). The run has at least one
    /// frame.
    std::uint32_t on_run(Instant now, const RxRun& run);

    // Fast paths for sending.

    /// A request, or the answer to the last delivery, for transmit_single() (core/pump.hpp). The
    /// caller writes it to the frame first; the connection saves it after the peer can see it.
    template <Channel channel>
    using Single = SingleMessage<channel>;
    /// A request made now would leave in its own packet: no message waits, and no request is in
    /// flight.
    bool would_leave_single();
    /// Whether the connection would accept it, and send it now in its own packet.
    template <Channel channel>
    [[gnu::always_inline]] bool leaves_single(const Single<channel>& message) const {
        const bool may = channel == Channel::request || receiver_.deliveries.may_reply();
        return prediction_.holds() && may &&
               sender_.leaves_single<channel>(message, config().message_max);
    }
    /// Writes the frame into `room`, which has at least packet_max bytes, and returns its length.
    template <Channel channel>
    [[gnu::always_inline]] std::size_t write_single(const Single<channel>& message,
                                                    Bytes room) const {
        return sender_.write_single<channel>(session_, receiver_.acks(), message, room);
    }
    /// Changes what request() or reply() and the departure of the packet change.
    template <Channel channel>
    [[gnu::always_inline]] void single_left(Instant now, const Single<channel>& message) {
        if constexpr (channel == Channel::reply) receiver_.deliveries.end_reply();
        sender_.single_left<channel>(now, session_, message);
        receiver_.acks_left();
    }

    /// A run of requests or of replies when nothing else is to be sent. It does what as many calls
    /// of poll_transmit() do, with one check. After `begun`, the caller calls next_of_run() as long
    /// as it has room and in_run() is true. If a packet left, it then calls end_run(), which says
    /// whether the engine is quiet() now.
    RunStart begin_run();
    bool end_run(Instant now);
    bool in_run() { return sender_.in_run(); }
    void next_of_run(TxFrame& out) { sender_.next_of_run(session_, receiver_.acks(), out); }
    /// If the next packet of the run belongs to a chunk: how many full packets of the chunk wait;
    /// else 0. write_equal() writes several of them at once, of equal_size() bytes each.
    std::size_t equal_in_run() const { return sender_.equal_in_run(); }
    std::size_t equal_size() const { return config().packet_max; }
    void write_equal(const FrameRun& run) { sender_.write_equal(session_, receiver_.acks(), run); }

    /// The messages that wait may wait longer, to leave together with others. They are fewer
    /// packets than `coalesce`, nothing else is to be sent, and at least `coalesce` packets are in
    /// flight or the peer is about to answer.
    bool may_coalesce();
    /// Returns the earliest deadline set since the last call of this function. A caller that knows
    /// the next deadline of that time compares the two.
    Instant take_soonest_set() { return session_.timers.take_soonest_set(); }
    /// The fast path is open.
    bool predicting() const { return prediction_.holds(); }

private:
    Receiver::Others others() { return {session_, sender_}; }
    [[gnu::always_inline]] Session::Waits waits() const {
        return receiver_.waits(session_, sender_);
    }
    bool accept_message(Instant now, const RxFrame& frame);
    RxVerdict on_other(Instant now, const RxFrame& frame);
    RxVerdict judge(Instant now, const Arrival& arrival);
    RxVerdict note_verdict(Instant now, RxVerdict verdict, std::uint32_t frames = 1);
    std::optional<Delivery> draw_general();
    RunStart begin_any_run();
    /// The last frame may no longer exist, and anything may happen now.
    void leave_fast_path();
    bool holds_back_ack() const;
    bool nothing_else_to_say() const;
    bool small_talk_due() const;
    bool can_predict() const;

    Session session_;
    Sender sender_;
    Receiver receiver_;
    Prediction prediction_;
};

static_assert(Engine<Connection>);

[[gnu::always_inline]] inline bool Connection::accept_message(Instant now, const RxFrame& frame) {
    if (!prediction_.possible()) return false;
    if (!receiver_.accept_message(now, frame, prediction_.holds(), others())) return false;
    if (!prediction_.holds()) prediction_.begin_if(can_predict());
    (void)note_verdict(now, RxVerdict::accepted);
    return true;
}

inline RxVerdict Connection::note_verdict(Instant now, RxVerdict verdict, std::uint32_t frames) {
    const bool holds = config().holds_acks() && verdict == RxVerdict::accepted;
    if (holds && !session_.timers.running(Timer::held_ack)) {
        session_.timers.set(Timer::held_ack, now + config().ack_after);
    }
    session_.stats.received[static_cast<std::size_t>(verdict)] += frames;
    return verdict;
}

inline const ShortMessage* Connection::take_message() {
    Deliveries& deliveries = receiver_.deliveries;
    const bool predicting = prediction_.holds();
    const bool usual = predicting || (!deliveries.has_drawn_held() && !session_.ended.active &&
                                      !deliveries.has_ended());
    if (!usual) return nullptr;
    if (!deliveries.has_message()) {
        const bool unpacked =
            !predicting && deliveries.must_unpack() && receiver_.unpack_fast(session_, sender_);
        if (!unpacked) return nullptr;
    }
    return &deliveries.take_message();
}

/// An acknowledgement or question is due even if no message leaves; or this end has begun or
/// stopped to wait for the peer, and Liveness does not know it yet.
inline bool Connection::small_talk_due() const {
    return receiver_.ack_due() || sender_.asks() || waits().for_any() != session_.liveness.waits();
}

inline RunStart Connection::begin_run() {
    if (!prediction_.holds()) return begin_any_run();
    const bool requests = sender_[Channel::request].window.waiting() > 0;
    const bool replies = sender_[Channel::reply].window.waiting() > 0;
    if (requests && replies) return RunStart::mixed;
    if (!requests && !replies) return small_talk_due() ? RunStart::mixed : RunStart::quiet;
    if (requests) {
        sender_.begin_predicted_run<Channel::request>();
    } else {
        sender_.begin_predicted_run<Channel::reply>();
    }
    return RunStart::begun;
}

inline bool Connection::may_coalesce() {
    SendWindow& requests = sender_[Channel::request].window;
    const std::uint32_t few = config().coalesce;
    return few > 0 && requests.waiting() < few &&
           (requests.under_way() >= few || requests.waits_for_answer()) &&
           requests.nothing_lost() && sender_[Channel::reply].window.settled() &&
           nothing_else_to_say() && !receiver_.ack_due() && !sender_.asks();
}

}  // namespace wireproof::am
