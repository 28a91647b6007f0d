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
// Rules and states: README.md. The layers: connection_state.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {

class Connection : private Receiver {
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

    void bind(const MemoryTable& memory) { memory_ = &memory; }
    /// The caller owns `handlers`; it must outlive the connection. The connection looks up a
    /// store's handler when the store begins to arrive and when all of it has arrived. If the table
    /// does not have it, no handler runs and the store ends as no_handler. Without a table, every
    /// handler counts as present.
    void bind_handlers(const HandlerTable& handlers) { handlers_ = &handlers; }

    // Receiving.

    [[gnu::always_inline]] RxVerdict on_frame(Instant now, const RxFrame& frame) {
        if (!fast_ || frame.bytes.size() < HeaderWords::size) return on_other(now, read(frame));
        const auto head = frame.bytes.first<HeaderWords::size>();
        const Arrival arrival = Arrival::of(HeaderWords::decode(head), frame);
        if (accept_message(now, arrival)) return RxVerdict::accepted;
        return on_other(now, arrival);
    }
    /// The same in two steps, for a caller that looks at the frame before the connection does:
    /// nobody reads the header a second time.
    Arrival read(const RxFrame& frame) const { return Arrival::read(config_.layout, frame); }
    RxVerdict on_arrival(Instant now, const Arrival& arrival) {
        const bool fast = fast_ && arrival.bytes.size() >= HeaderWords::size;
        if (fast && accept_message(now, arrival)) return RxVerdict::accepted;
        return on_other(now, arrival);
    }
    using Receiver::next_delivery;
    void on_wire_event(Instant now, WireEvent event);
    void on_deadline(Instant now);
    Instant next_deadline() const { return timers_.next(); }

    // Messages and transfers of the caller (send/post.cpp).

    /// The peer runs `handler`. The call copies the arguments, at most message_max() bytes.
    using Sender::request;
    /// Answers the request or store delivered last: once, and before the next draw. There is always
    /// room for the reply.
    using Sender::reply;
    /// Instead of a reply: this node has no handler with that number.
    using Sender::refuse;
    /// Copies bytes into the peer's memory, then runs a handler there (transfers.hpp).
    using Sender::store;
    /// Only runs the handler: the bytes are in the peer's memory already.
    using Sender::note;
    /// Copies bytes of the peer's memory to this node (transfers.hpp).
    using Sender::get;

    /// Whether there is room for note(). The caller asks before it puts the bytes in place.
    using Sender::can_note;
    /// No store of this end has chunks that wait or are unacknowledged. So all bytes of earlier
    /// chunks are in place before any that the caller now writes into the peer's memory.
    bool no_chunks_out() const { return sender(Channel::request).bulk.active() == 0; }
    /// The same for OPENs that carry all bytes of their stores.
    bool no_opens_with_bytes_out() const { return !send_[0].window.carries_bytes(); }
    /// The peer has acknowledged all that this end sent on the request channel, and all gets of
    /// this end have ended. A wire that reaches the peer's memory may read it now.
    bool can_read_at_once() const;
    /// Whether an active transfer reads or writes this memory.
    bool touches(ConstBytes memory) const;

    /// While true, keep-alives check that the peer lives even if nothing is unacknowledged. Without
    /// it they do so only while this end waits for an acknowledgement or for bytes of a transfer.
    void set_awaiting(bool awaiting) {
        awaiting_ = awaiting;
        predicting_ = false;
    }
    bool awaiting() const { return awaiting_; }

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
    bool leaving() const { return leave_.begun(); }

    bool poll_transmit(Instant now, TxFrame& out);
    /// The wire has no room, so no frame can leave. If this end waits for a peer with which it has
    /// no session, the time counts as silence of the peer: a peer that never comes is given up as
    /// one that never answers (AM-50). A wire without a peer may have no room for ever.
    void on_no_room(Instant now);
    /// poll_transmit() would return false and change nothing, whatever the time. For a caller that
    /// polls this is usually true, and much cheaper than poll_transmit().
    bool quiet() const;

    // State.

    bool established() const { return handshake_.established(); }
    /// No message or transfer of this connection is unacknowledged, waits or is active, and the
    /// connection holds back no acknowledgement.
    bool idle() const;
    std::size_t message_max() const { return config_.message_max; }
    const Config& config() const { return config_; }
    const Stats& stats() const { return stats_; }
    /// The messages of a channel that wait, are in flight or are unacknowledged.
    const SendWindow& sending(Channel channel) const { return sender(channel).window; }
    using ConnectionState::fingerprint;

    // Buffers that the caller lends (connection_buffers.hpp).

    using ConnectionState::has_buffers;
    /// The buffers hold nothing.
    bool at_rest() const;
    /// Only while at_rest(). The connection takes these buffers and gives back its own; either may
    /// be none().
    void exchange(ConnectionBuffers& buffers);
    /// A packet of this session that on_arrival() would put off.
    using Receiver::would_put_off;
    /// This connection has put packets off.
    bool wants_buffers() const {
        return receive_[0].window.puts_off() || receive_[1].window.puts_off();
    }

    // Fast paths for receiving.

    using ShortMessage = am::ShortMessage;
    /// The next delivery, if it is a short message that waits on the fast path; else nullptr. The
    /// result is not copied and is valid until the next draw or call.
    using Receiver::take_message;
    /// True: next_delivery() would return nothing, so the caller need not call it now.
    bool nothing_drawn() {
        if (!predicting_ || short_here_) return false;
        may_reply_ = false;
        return true;
    }
    /// False: the caller need not try on_run(). The connection expects only messages, or still has
    /// some to be drawn.
    bool takes_run() const {
        return !predicting_ && !delivery_ && !drawn_slot_ && !short_here_ &&
               bundle_.messages.left() == 0 && ended_.empty();
    }
    /// Accepts frames of `run` from the first on, as long as they are packets of the chunk that
    /// arrives now. The result is as with on_frame() for each, and there is nothing to draw.
    /// Returns how many it accepted; the next frame is for on_frame(). The run has at least one
    /// frame.
    using Receiver::on_run;

    // Fast paths for sending.

    /// A request, or the answer to the last delivery, for transmit_single() (core/pump.hpp). The
    /// caller writes it to the frame first; the connection saves it after the peer can see it.
    template <Channel channel>
    using Single = SingleMessage<channel>;
    /// A request made now would leave in its own packet: no message waits, and no request is in
    /// flight.
    bool would_leave_single();
    /// Whether the connection would accept it, and send it now in its own packet.
    using Sender::leaves_single;
    /// Writes the frame into `room`, which has at least packet_max bytes, and returns its length.
    using Sender::write_single;
    /// Changes what request() or reply() and the departure of the packet change.
    using Sender::single_left;

    /// A run of requests or of replies when nothing else is to be sent. It does what as many calls
    /// of poll_transmit() do, with one check. After `begun`, the caller calls next_of_run() as long
    /// as it has room and in_run() is true. If a packet left, it then calls end_run(), which says
    /// whether the engine is quiet() now.
    using Sender::begin_run;
    using Sender::end_run;
    using Sender::in_run;
    using Sender::next_of_run;
    /// If the next packet of the run belongs to a chunk: how many full packets of the chunk wait;
    /// else 0. write_equal() writes several of them at once, of equal_size() bytes each.
    using Sender::equal_in_run;
    std::size_t equal_size() const { return config_.packet_max; }
    using Sender::write_equal;

    /// The messages that wait may wait longer, to leave together with others. They are fewer
    /// packets than `coalesce`, nothing else is to be sent, and at least `coalesce` packets are in
    /// flight or the peer is about to answer.
    using Sender::may_coalesce;
    /// Returns the earliest deadline set since the last call of this function. A caller that knows
    /// the next deadline of that time compares the two.
    Instant take_soonest_set() { return timers_.take_soonest_set(); }
    /// The fast path is open.
    bool predicting() const { return predicting_; }

private:
    RxVerdict on_other(Instant now, Arrival arrival);
    RxVerdict judge(Instant now, const Arrival& arrival);
};

static_assert(Engine<Connection>);

}  // namespace wireproof::am
