// SP AM between two nodes: the engine. A request and a reply channel, each way; messages in order
// and exactly once on each; bulk in chunks; keep-alive; sessions. One connection a peer, so that a
// full or dead peer never stops traffic to another.
//
// The contract. A caller with a wire and a clock turns a connection by these calls, in this order:
//
//   1. on_frame(now, frame)       for each frame that came. The verdict says what became of it.
//   2. next_delivery()            after each call of 1, 4 and 5 until it returns nothing. What it
//                                 returns points into the frame, and is dead at the next call.
//      reply(), refuse()          answer the request or store drawn last, before the next draw.
//   3. request(), store(), …      what the caller asks for, at any time. Nothing is queued unless
//                                 the answer is `accepted`.
//   4. on_wire_event(now, event)  when the wire says that the peer's process is gone or new.
//   5. on_deadline(now)           when next_deadline() is reached. Later calls set others.
//   6. poll_transmit(now, out)    until it returns false: then nothing is to leave. `out` is lent.
//   7. next_deadline()            says when to come again if nothing arrives before.
//
// `now` never goes back. A connection has no clock, thread or random source: equal calls have equal
// results, and fingerprint() tells whether two connections are in the same state. No call takes
// memory: all of it is there from the start, or lent. Two threads must not use one connection at
// once. A copy is a connection of its own that shares the memory lent.
//
// Below the contract are its fast paths: calls that do what several of the seven would do, with the
// same result. A caller may use them or leave them.
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

    /// `memory` is lent: what this peer may store to and get from. A copy shares it until bound
    /// again. The config has passed check().
    Connection(const Config& config, const MemoryTable& memory);
    /// The buffers may be none(): until it is given others it answers as if its windows were full,
    /// puts packets of the request channel off, and takes replies in as far as they are in order.
    Connection(const Config& config, const MemoryTable& memory, ConnectionBuffers buffers);

    void bind(const MemoryTable& memory) { memory_ = &memory; }
    /// Lent, too: a store whose handler is not among these, when it begins to arrive or when all of
    /// it has, runs none and ends as no_handler. Without them, every handler is taken to be there.
    void bind_handlers(const HandlerTable& handlers) { handlers_ = &handlers; }

    // Received.

    [[gnu::always_inline]] RxVerdict on_frame(Instant now, const RxFrame& frame) {
        if (accept_message(now, frame)) return RxVerdict::accepted;
        return on_other_frame(now, frame);
    }
    using Receiver::next_delivery;
    void on_wire_event(Instant now, WireEvent event);
    void on_deadline(Instant now);
    Instant next_deadline() const { return timers_.next(); }

    // Asked for by the caller (send/post.cpp).

    /// Has the peer run `handler`. Arguments: at most message_max() bytes, copied.
    using Sender::request;
    /// Answers the request or store delivered last, once, before the next draw. Never fails for
    /// room.
    using Sender::reply;
    /// Instead of a reply: there is no handler of that number here.
    using Sender::refuse;
    /// Bytes into the peer's memory, then a handler there (transfers.hpp).
    using Sender::store;
    /// The handler alone, where the bytes are in place already.
    using Sender::note;
    /// Bytes of the peer's memory (transfers.hpp).
    using Sender::get;

    /// Whether note() would be accepted for room: asked before bytes are put in place.
    using Sender::can_note;
    /// No bytes of a store of ours are on their way in chunks: what is put in place now comes after
    /// all before it.
    bool no_chunks_out() const { return sender(Channel::request).bulk.active() == 0; }
    /// Nor with an OPEN.
    bool no_opens_with_bytes_out() const { return !send_[0].window.carries_bytes(); }
    /// The peer's memory holds what came of all that we asked for, and no get of ours is still to
    /// end: a wire that reaches it may read it now.
    bool can_read_at_once() const;
    /// Whether a transfer under way reads or writes this memory.
    bool touches(ConstBytes memory) const;

    /// While true, keep-alives find out whether the peer lives even if nothing is unacknowledged.
    /// They do so anyway while bytes of a transfer are still to come.
    void set_awaiting(bool awaiting) {
        awaiting_ = awaiting;
        predicting_ = false;
    }
    bool awaiting() const { return awaiting_; }

    // Sent.

    bool poll_transmit(Instant now, TxFrame& out);
    /// poll_transmit would return false and change nothing, whatever the time: true nearly always
    /// while a caller polls, and far cheaper than to ask for a frame.
    bool quiet() const;

    // State.

    bool established() const { return handshake_.established(); }
    /// Nothing of ours is unacknowledged, waiting or under way, and no acknowledgement is held
    /// back.
    bool idle() const;
    std::size_t message_max() const { return config_.message_max; }
    const Config& config() const { return config_; }
    const Stats& stats() const { return stats_; }
    /// What of a channel waits, is in flight or unacknowledged.
    const SendWindow& sending(Channel channel) const { return sender(channel).window; }
    using ConnectionState::fingerprint;

    // Buffers that are lent (connection_buffers.hpp).

    using ConnectionState::has_buffers;
    /// Nothing lies in the buffers.
    bool at_rest() const;
    /// While at_rest(): takes these for its own, and lets go of those, none() or not.
    void exchange(ConnectionBuffers& buffers);
    /// A packet of this session that on_frame would put off. Nothing is checked of what it says.
    using Receiver::would_put_off;
    /// Packets were put off.
    bool wants_buffers() const {
        return receive_[0].window.puts_off() || receive_[1].window.puts_off();
    }

    // Fast paths, received.

    using ShortMessage = am::ShortMessage;
    /// What next_delivery would hand over now, if that is a message that was predicted; else
    /// nullptr. Nothing of it is copied; dead at the next draw or call.
    using Receiver::take_message;
    /// True: next_delivery would bring nothing, and need not be called before what follows.
    bool nothing_drawn() {
        if (!predicting_ || short_here_) return false;
        may_reply_ = false;
        return true;
    }
    /// False where on_run need not be asked: messages are all there is, or some are to be drawn.
    bool takes_run() const {
        return !predicting_ && !delivery_ && !drawn_slot_ && !short_here_ && bundle_.left == 0 &&
               ended_.empty();
    }
    /// Takes in frames, at least one, from the first on: packets of the chunk that is arriving,
    /// with what on_frame would have said and done of each, and nothing to draw. Returns how many;
    /// the next of them is for on_frame.
    using Receiver::on_run;

    // Fast paths, sent.

    /// A request or the answer to what was delivered last, for transmit_single (core/pump.hpp): it
    /// is written to the frame first, and saved once the peer can see it.
    template <Channel channel>
    using Single = SingleMessage<channel>;
    /// A request that is made now would leave by itself: nothing waits, and no other is in flight.
    bool would_leave_single();
    /// Whether it would be accepted and leave now by itself.
    using Sender::leaves_single;
    /// The frame, into room of at least packet_max bytes; returns how long it is.
    using Sender::write_single;
    /// What request() or reply(), and the departure, change.
    using Sender::single_left;

    /// A run of requests or of replies with nothing else to be said between them: as many calls of
    /// poll_transmit, but asked once. Begun: next_of_run() as there is room, again while in_run(),
    /// then end_run() if there was any, which says whether the engine is quiet() now.
    using Sender::begin_run;
    using Sender::end_run;
    using Sender::in_run;
    using Sender::next_of_run;
    /// Where the next of the run is a chunk: how many of its full packets wait; write_equal()
    /// writes so many at once, of equal_size() bytes each.
    using Sender::equal_in_run;
    std::size_t equal_size() const { return config_.packet_max; }
    using Sender::write_equal;

    /// What waits to leave is only what was asked for, fewer packets than `coalesce`, and as many
    /// are in flight or an answer is: they may wait for more.
    using Sender::may_coalesce;
    /// No deadline that was set since this was asked last is earlier: for a caller that knows the
    /// next deadline of then.
    Instant take_soonest_set() { return timers_.take_soonest_set(); }
    /// The fast path is open.
    bool predicting() const { return predicting_; }

private:
    RxVerdict on_other_frame(Instant now, const RxFrame& frame);
    RxVerdict judge(Instant now, const RxFrame& frame);
};

static_assert(Engine<Connection>);

}  // namespace wireproof::am
