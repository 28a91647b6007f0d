// SP AM between two nodes: the engine. A request and a reply channel, each way; messages in order
// and exactly once on each; bulk in chunks; keep-alive; sessions. One connection a peer, so that a
// full or dead peer never stops traffic to another.
//
// Rules and states: README.md. No call takes memory: it is there from the start, or lent. Not for
// use by two threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/core/timer_table.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/connection_buffers.hpp"
#include "wireproof/proto/am/connection_records.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/handler_table.hpp"
#include "wireproof/proto/am/handshake.hpp"
#include "wireproof/proto/am/liveness.hpp"
#include "wireproof/proto/am/memory_table.hpp"
#include "wireproof/proto/am/receive_channel.hpp"
#include "wireproof/proto/am/reply_queue.hpp"
#include "wireproof/proto/am/send_channel.hpp"
#include "wireproof/proto/am/stats.hpp"
#include "wireproof/proto/am/transfers.hpp"

namespace wireproof::am {

class Connection {
public:
    using Delivery = am::Delivery;

    /// `memory` is lent: what this peer may store to and get from. A copy shares it until bound
    /// again.
    Connection(const Config& config, const MemoryTable& memory);
    /// The buffers may be none(): until it is given others it answers as if its windows were full,
    /// puts packets of the request channel off, and takes replies in as far as they are in order.
    Connection(const Config& config, const MemoryTable& memory, ConnectionBuffers buffers);
    bool has_buffers() const { return receive_[0].has_buffers(); }
    /// Nothing lies in the buffers.
    bool at_rest() const;
    /// While at_rest(): takes these for its own, and lets go of those, none() or not.
    void exchange(ConnectionBuffers& buffers);
    /// A packet of this session that on_frame would put off. Nothing is checked of what it says.
    bool would_put_off(ConstBytes packet) const;
    /// Packets were put off.
    bool wants_buffers() const {
        return receive_[0].window.puts_off() || receive_[1].window.puts_off();
    }

    void bind(const MemoryTable& memory) { memory_ = &memory; }
    /// Lent, too: a store whose handler is not among these, when it begins to arrive or when all of
    /// it has, runs none and ends as no_handler. Without them, every handler is taken to be there.
    void bind_handlers(const HandlerTable& handlers) { handlers_ = &handlers; }

    // What a user asks for. Nothing is queued unless the answer is `accepted`.

    /// Has the peer run `handler`. Arguments: whole words, copied.
    [[nodiscard]] PostStatus request(HandlerId handler, ConstBytes arguments);

    /// Answers the request or store delivered last, once, before the next draw. Never fails for
    /// room.
    [[nodiscard]] PostStatus reply(HandlerId handler, ConstBytes arguments);
    /// Instead of a reply: there is no handler of that number here.
    [[nodiscard]] PostStatus refuse(HandlerId missing);

    using Store = am::Store;
    using Note = am::Note;
    using Get = am::Get;
    [[nodiscard]] PostStatus store(const Store& store);
    [[nodiscard]] PostStatus note(const Note& note);
    /// Whether note() would be accepted for room: asked before bytes are put in place.
    bool can_note() const;
    /// No bytes of a store of ours are on their way in chunks, or with their OPEN: what is put in
    /// place now comes after all before it.
    bool no_chunks_out() const;
    bool no_opens_with_bytes_out() const { return !send_[0].window.carries_bytes(); }
    /// The peer's memory holds what came of all that we asked for, and no get of ours is still to
    /// end: a wire that reaches it may read it now.
    bool can_read_at_once() const {
        return handshake_.established() && !ending_.active && send_[0].window.empty() &&
               receiver(Channel::reply).arriving() == 0;
    }

    [[nodiscard]] PostStatus get(const Get& get);

    /// While true, keep-alives find out whether the peer lives even if nothing is unacknowledged.
    /// They do so anyway while bytes of a transfer are still to come.
    void set_awaiting(bool awaiting) {
        awaiting_ = awaiting;
        calm_ = false;
    }
    bool awaiting() const { return awaiting_; }

    /// Whether a transfer under way reads or writes this memory.
    bool touches(ConstBytes memory) const;

    // The engine contract (core/engine.hpp).
    [[gnu::always_inline]] RxVerdict on_frame(Instant now, const RxFrame& frame) {
        if (accept_message(now, frame)) return RxVerdict::accepted;
        return on_other_frame(now, frame);
    }
    inline std::optional<Delivery> next_delivery();
    /// False where on_run need not be asked: messages are all there is, or some are to be drawn.
    bool takes_run() const {
        return !calm_ && !delivery_ && !drawn_slot_ && !plain_here_ && bundle_.left == 0 &&
               ended_.empty();
    }
    /// Takes in frames, at least one, from the first on: packets of the chunk that is arriving,
    /// with what on_frame would have said and done of each, and nothing to draw. Returns how many;
    /// the next of them is for on_frame.
    std::uint32_t on_run(Instant now, const RxRun& run);

    using PlainMessage = am::PlainMessage;
    /// What next_delivery would hand over now, if that is a message that came the short way; else
    /// nullptr. Nothing of it is copied; dead at the next draw or call.
    inline const PlainMessage* take_message();

    // What leaves by itself is written at once, and only then written down: connection_lone.hpp.

    /// A request, or the answer to what was delivered last, for transmit_alone (core/pump.hpp).
    template <Channel channel>
    using Lone = LoneMessage<channel>;
    /// Whether it would be accepted and leave now by itself.
    template <Channel channel>
    inline bool leaves_alone(const Lone<channel>& message) const;
    /// The frame, into room of at least packet_max bytes; returns how long it is.
    template <Channel channel>
    inline std::size_t write_alone(const Lone<channel>& message, Bytes room) const;
    /// What request() or reply(), and the departure, write down.
    template <Channel channel>
    inline void left_alone(Instant now, const Lone<channel>& message);
    /// True: next_delivery would bring nothing, and need not be called before what follows.
    bool nothing_drawn() {
        if (!calm_ || plain_here_) return false;
        may_reply_ = false;
        return true;
    }
    void on_deadline(Instant now);
    void on_wire_event(Instant now, WireEvent event);
    bool poll_transmit(Instant now, TxFrame& out);
    Instant next_deadline() const { return timers_.next(); }
    /// No deadline that was set since this was asked last is earlier: for who knows the next of
    /// then.
    Instant take_soonest_set() { return timers_.take_soonest_set(); }
    /// poll_transmit would return false and change nothing, whatever the time: true nearly always
    /// while one spins, and far cheaper than to ask for a frame.
    bool quiet() const {
        return handshake_.established() && !ending_.active && send_[0].window.at_rest() &&
               send_[1].window.at_rest() && !receive_[0].window.complains() &&
               !receive_[1].window.complains() && !hello_due_ && !handshake_.answer_due() &&
               refused_need_ == Need::nothing && watches_as_it_should() && !small_talk_due();
    }
    /// The same in fewer steps while calm; false where one would have to look.
    bool quiet_while_calm() const {
        return calm_ && send_[0].window.settled() && send_[1].window.settled() && !small_talk_due();
    }
    void fingerprint(Instant now, Fingerprint& sink) const;

    // A run of requests or of replies with nothing else to be said between them: as many calls of
    // poll_transmit, but asked once. Begun: next_of_run() as there is room, again while in_run(),
    // then end_run() if there was any, which says whether the engine is quiet() now.
    [[nodiscard]] inline RunStart begin_run();
    bool in_run() {
        next_of_run_ = sender(run_).window.next_plain();
        return next_of_run_ != nullptr;
    }
    void next_of_run(TxFrame& out) { fill_plain(run_, *next_of_run_, out); }
    bool end_run(Instant now);
    // Where the next of the run is a chunk: its full packets that wait, written at once.
    std::size_t alike_in_run() const;
    std::size_t alike_size() const { return config_.packet_max; }
    void write_alike(const FrameRun& run);

    /// A request that is made now would leave by itself: nothing waits, and no other is under way.
    bool would_leave_alone() {
        if (send_[1].window.waiting() > 0 || !send_[0].window.empty()) return false;
        if (calm_) return true;
        const bool alone = is_calm();
        calm_ = alone && fast_;
        return alone;
    }

    /// What waits to leave is only what was asked for, fewer packets than `gather`, and as many
    /// are under way or an answer is: they may wait for more.
    inline bool may_gather();

    bool established() const { return handshake_.established(); }
    /// What is foreseen goes the shortest way now, for who tests.
    bool calm() const { return calm_; }
    /// Nothing of ours is unacknowledged, waiting or under way, and no acknowledgement is held
    /// back.
    bool idle() const;
    /// What of a channel waits, is under way or unacknowledged, for who measures.
    const SendWindow& sending(Channel channel) const { return sender(channel).window; }
    std::uint32_t words_max() const { return static_cast<std::uint32_t>(config_.words_max); }
    const Config& config() const { return config_; }
    const Stats& stats() const { return stats_; }

private:
    static constexpr std::uint32_t handler_max = 0xFFFF;
    // As the owner of a reply: it refuses a note.
    static constexpr std::uint32_t note_owner = 0xFFFFFFFF;
    // Data up to this size is copied behind its header, so that the frame is one piece.
    static constexpr std::size_t copied_max = 192;

    enum class Timer : std::uint8_t { keepalive_request, keepalive_reply, hello, held_ack };

    struct ChunkPlace;
    struct NextOfChunk;
    struct Judged;

    // connection_post.cpp: what the user asks for
    PostStatus readiness() const;
    bool holds_back_ack() const;

    // connection_plain.hpp and .cpp: the short way; connection_lone.hpp and .cpp: its shortest
    bool is_calm() const;
    inline bool is_next(const ShortHeader& header, const ReceiveWindow& window) const;
    inline bool accept_message(Instant now, const RxFrame& frame);
    template <Channel channel>
    inline bool accept_message_on(Instant now, const RxFrame& frame);
    bool takes_message(Channel channel) const;
    bool is_signed(const RxFrame& frame) const;
    template <Channel channel>
    inline void pass_message(std::uint32_t handler, ConstBytes arguments);
    inline void end_all(Instant now, Channel channel);
    RunStart begin_any_run();
    template <Channel channel>
    inline RunStart begin_calm_run();
    bool nothing_else_to_say() const;
    /// What leaves only where no message does: acknowledgements, keep-alives; or who is waited for
    /// has changed.
    bool small_talk_due() const {
        return receive_[0].window.ack_due() || receive_[1].window.ack_due() ||
               send_[0].keepalive_due || send_[1].keepalive_due ||
               waits_for_peer() != liveness_.waits();
    }
    bool send_plain(Instant now, TxFrame& out);
    inline void fill_plain(Channel channel, const SendWindow::Saved& message, TxFrame& out);
    template <Channel channel>
    inline void fill_alone(const SendWindow::Saved& message, TxFrame& out);
    void fill_other(Channel channel, const SendWindow::Saved& message, TxFrame& out);
    void fill_more(Channel channel, const SendWindow::Saved& message, TxFrame& out);
    template <class AnyHeader>
    inline void stamp(AnyHeader& header) const;
    inline ShortHeader plain_header(Channel channel) const;
    template <Channel channel>
    inline void write_message(std::uint32_t handler, ConstBytes arguments, Bytes room) const;
    void head_open(const SendWindow::Saved& open, ConstBytes data, const TxFrame& out,
                   ShortHeader& header);
    inline void note_left(Channel channel, Kind kind, std::uint32_t packets, std::uint32_t numbers);
    bool accept_chunk_packet(Instant now, const RxFrame& frame);
    std::optional<NextOfChunk> next_of_chunk(std::span<const std::byte, ShortHeader::size> head);
    std::uint16_t filler_of(const TxFrame& out, Channel channel,
                            const SendWindow::Departure& packet);
    std::uint64_t bytes_besides(Channel channel, const SendWindow::Departure& packet) const;
    ShortHeader chunk_header(Channel channel, const SendWindow::Saved& chunk,
                             const SendWindow::Departure& packet) const;
    void fill_chunk_packet(Channel channel, const SendWindow::Saved& chunk, TxFrame& out);
    void sign_short(Bytes frame, bool covered) const;
    void add_plain(TxFrame& out, const ShortHeader& header, ConstBytes data, bool covered) const;
    inline bool unpack_plain();
    template <Channel channel>
    inline bool unpack_plain_on();

    // connection.cpp, and inline connection_plain.hpp: what arrives on the whole
    using Acks = std::array<std::uint32_t, channel_count>;
    RxVerdict on_other_frame(Instant now, const RxFrame& frame);
    inline void commit(Instant now, const Acks& acks);
    inline RxVerdict note_verdict(Instant now, RxVerdict verdict, std::uint32_t frames = 1);
    bool says_no_news(const Acks& acks) const {
        return acks[0] == send_[0].window.first_unacknowledged() &&
               acks[1] == send_[1].window.first_unacknowledged();
    }
    std::optional<Delivery> draw_general();
    RxVerdict judge(Instant now, const RxFrame& frame);
    RxVerdict on_hello(Instant now, const Header& header, ConstBytes data);
    void begin_session(Instant now, bool replaces);
    void end_session(SessionEnded ended);
    /// This end ends it, and begins no other by itself.
    void give_up(const SessionEnded& ended) {
        handshake_.end(ended);
        end_session(ended);
    }
    void give_up(SessionEnded::Why why) { give_up(SessionEnded{.why = why}); }
    void forget_session();
    std::optional<Delivery> draw_ending();
    inline void apply_ack(Instant now, Channel channel, std::uint32_t expected);
    void on_ack(Instant now, Channel channel, std::uint32_t expected);
    /// So many packets of the channel were acknowledged.
    inline void note_freed(Instant now, Channel channel, std::uint32_t packets);
    void on_acked(Channel channel, const SendWindow::Saved& message);
    void on_keepalive(const Header& header);
    void on_nack(Instant now, const Header& header, ConstBytes data);
    bool resend_missing(Instant now, const Header& header, const SendWindow::Missing& missing,
                        bool progress);
    RxVerdict on_unknown(const Header& header, ConstBytes data);
    inline void refill(Channel channel);
    void refill_waiting(Channel channel);

    void unfold_plain();
    void note_drawn(const Delivery& drawn) {
        may_reply_ =
            std::holds_alternative<Request>(drawn) || std::holds_alternative<Stored>(drawn);
    }

    // connection_receive.cpp: numbered packets
    RxVerdict on_numbered(const Header& header, ConstBytes data);
    static bool needs_buffers(const Header& packet);
    RxVerdict put_off(const Header& header);
    RxVerdict on_short(const Header& header, ConstBytes data, ReceiveWindow::Placement at);
    RxVerdict on_chunk(const Header& header, ConstBytes data, ReceiveWindow::Placement at);
    bool well_formed(const Header& header, ConstBytes data) const;
    bool is_bundle(ConstBytes data, std::uint32_t messages) const;
    RxVerdict on_bundle(const Header& header, ConstBytes data);
    RxVerdict unpack_next();
    std::optional<ChunkPlace> chunk_place(const Header& header, const Incoming& incoming,
                                          std::size_t size) const;
    void complain_of_holes(const Header& header, const ChunkPlace& chunk,
                           ReceiveWindow::Placement at);
    RxVerdict keep_early(const Header& header, ConstBytes data, ReceiveWindow::Placement at);
    bool place_early();
    Need need_of(Kind kind) const;
    Need need_of_last(Channel channel, const Incoming& incoming) const;
    bool lost_its_handler(Channel channel, const Incoming& incoming) const;
    bool is_last_chunk(const ReceiveWindow::Message& chunk, const Incoming& incoming) const;
    bool met(Need need) const;
    RxVerdict refuse_packet(const Header& header, Need need, std::uint32_t place);
    void pass_expected(Channel channel);
    void accept_short(Kind kind, std::uint32_t id, ConstBytes data);
    void accept_refusal(const RefusalBody& refusal);
    void serve_get(std::uint32_t id, const GetBody& body);
    bool end_is_awaited(Channel channel) const;
    void finish_chunk(Channel channel);
    void finish_transfer(Channel channel, std::uint32_t id);
    bool waits_for_room(Channel channel) const;
    bool pass_held(Channel channel);
    void send_refusal(RefusalBody body, std::uint32_t owner);

    // connection_open.cpp: stores as they begin
    void open_store(std::uint32_t id, ConstBytes data);
    RxVerdict on_note(const Header& header, ConstBytes data);
    bool take_note(ConstBytes data);
    void refuse_store(std::uint32_t id, Reason reason);
    Judged judge_store(const OpenBody& body) const;
    static HandlerId handler_of_note(const SendWindow& window, const SendWindow::Saved& note);
    bool has_handler(HandlerId handler) const {
        return handlers_ == nullptr || handlers_->has(handler);
    }

    // connection_transmit.cpp: what leaves
    void watch_peer(Instant now);
    bool send_hello(Instant now, TxFrame& out);
    bool send_unknown(TxFrame& out);
    bool send_nack(Channel channel, TxFrame& out);
    bool send_numbered(Instant now, Channel channel, TxFrame& out);
    void note_departure(Instant now, Channel channel, bool again = false);
    /// A packet left that carries the acks of now.
    void note_acks_left() {
        receive_[0].window.acknowledged();
        receive_[1].window.acknowledged();
    }
    bool send_question(Instant now, Channel channel, TxFrame& out);
    bool send_keepalive(Instant now, Channel channel, TxFrame& out);
    /// A question leaves before packets that wait: the peer was silent for more than one timer.
    bool asks_first() const { return liveness_.unanswered() > 1; }
    bool question_goes_first() const {
        return asks_first() && (send_[0].keepalive_due || send_[1].keepalive_due);
    }
    bool send_ack(TxFrame& out);
    void emit(TxFrame& out, Header& header, ConstBytes data);
    void on_hello_timer(Instant now, Instant due);
    void release_held_acks();
    void on_keepalive_timer(Instant now, Instant due, Channel channel);
    bool expects_peer() const {
        return awaiting_ || receive_[0].arriving() > 0 || receive_[1].arriving() > 0;
    }
    /// Who only waits for the peer asks it for a sign of life now and then.
    bool watches_as_it_should() const {
        return !expects_peer() || !send_[0].window.empty() ||
               timers_.running(Timer::keepalive_request);
    }
    void watch_idle(Instant now) {
        watch_interval_ = config_.keepalive_after;
        timers_.set(Timer::keepalive_request, now + watch_interval_);
    }
    bool waits_for_peer() const {
        return expects_peer() || !send_[0].window.empty() || !send_[1].window.empty();
    }
    /// The packet expected came, and was not taken for want of room that there still is not.
    bool refuses() const { return !met(refused_need_) || waits_for_room(Channel::request); }
    /// A stalled channel does not complain of packets ahead (AM-10, AM-42).
    bool may_complain(Channel channel) const { return channel == Channel::reply || !refuses(); }

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

    Config config_;
    bool wide_ = config_.layout == Layout::ethernet;
    bool fast_ = wide_ && config_.fast_paths;           // the short ways are open
    bool holds_acks_ = config_.ack_after > Duration();  // for a time only
    const MemoryTable* memory_;
    const HandlerTable* handlers_ = nullptr;
    Handshake handshake_;
    std::array<SendChannel, channel_count> send_;
    std::array<ReceiveChannel, channel_count> receive_;
    ReplyQueue replies_;

    std::optional<Delivery> delivery_;  // of the frame just judged
    PlainMessage plain_;                // the same, if it came the short way
    bool plain_here_ = false;
    bool nothing_to_draw_ = false;  // known without a look
    // is_calm() holds: found when a message came or left the short way or is to be made, and given
    // up by whatever may end it.
    bool calm_ = false;
    Unpacking bundle_;
    Ring<Delivery> ended_;  // of transfers of ours that acknowledgements ended
    std::optional<std::uint32_t>
        drawn_slot_;  // of the held message drawn last, freed at the next draw
    Channel drawn_channel_ = Channel::request;
    bool may_reply_ = false;

    Need refused_need_ = Need::nothing;  // of the request channel: stalled while it is not met
    std::uint32_t refused_id_ = 0;
    std::uint8_t refused_round_ = 0;
    std::uint32_t refused_place_ = 0;  // in its chunk

    NoteRefusal note_refusal_ = NoteRefusal::none;

    TimerTable<Timer, 4> timers_;
    Duration watch_interval_;  // to the next question to a peer that is only waited for
    Duration hello_interval_;
    bool hello_due_ = false;
    Liveness liveness_;
    bool awaiting_ = false;
    bool overrun_ = false;  // our host had no room for frames, and the next NACK is to say so
    std::uint8_t route_;
    Channel turn_ = Channel::reply;   // which channel sends first
    Channel run_ = Channel::request;  // of the run under way
    const SendWindow::Saved* next_of_run_ = nullptr;
    Ending ending_;
    Stats stats_;
};

}  // namespace wireproof::am

#include "wireproof/proto/am/connection_lone.hpp"
#include "wireproof/proto/am/connection_plain.hpp"

namespace wireproof::am {

static_assert(Engine<Connection>);

}  // namespace wireproof::am
