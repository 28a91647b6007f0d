// Both channels of the receiving direction: packets that arrive in order and ahead,
// acknowledgements and NACKs of the peer, what the caller draws, and the NACKs and
// acknowledgements of this end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "wireproof/core/engine.hpp"
#include "wireproof/proto/am/handler_table.hpp"
#include "wireproof/proto/am/memory_table.hpp"
#include "wireproof/proto/am/receive/deliveries.hpp"
#include "wireproof/proto/am/receive/incoming.hpp"
#include "wireproof/proto/am/receive/stall.hpp"
#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {

class Receiver {
public:
    /// The other parts of the connection, for the time of one call.
    struct Others {
        Session& session;
        Sender& sender;
    };

    Receiver(const Config& config, const MemoryTable& memory,
             std::array<Incoming::Buffers, channel_count> buffers, Ring<Delivery> ended);

    Incoming& operator[](Channel channel) { return channels_[static_cast<std::size_t>(channel)]; }
    const Incoming& operator[](Channel channel) const {
        return channels_[static_cast<std::size_t>(channel)];
    }
    Deliveries deliveries;

    void bind(const MemoryTable& memory) { memory_ = &memory; }
    void bind_handlers(const HandlerTable& handlers) { handlers_ = &handlers; }

    // Packets that arrive. They belong to the session, and their acknowledgements have been
    // applied.

    /// numbered_packets.cpp
    RxVerdict on_numbered(const Packet& packet, const Others& others);
    /// The packet is one that on_numbered() would put off because there are no buffers.
    bool would_put_off(const Header& header) const;
    /// The receiver answers each question (AM-17, AM-18): the answer says what is missing of all
    /// that has left.
    void on_keepalive(const Header& header) {
        ReceiveWindow& window = (*this)[header.channel].window;
        window.owe_nack(header.round, window.distance_sent(header.number), true);
    }
    /// acks_of_peer.cpp
    void on_nack(Instant now, const Packet& packet, const Others& others);
    /// AM-54: a router marked this packet of the session. Those that the peer's congestion control
    /// causes count, also repeated ones.
    void note_marked(const Header& header, Stats& stats) {
        if (!is_numbered(header.kind) && header.kind != Kind::keepalive) return;
        (*this)[header.channel].note_marked();
        ++stats.marked;
    }
    /// This host had no room for frames; the next NACK says so.
    void note_overrun() { overrun_ = true; }

    /// An undamaged packet of the session arrived: its sender lives, and its acknowledgements
    /// apply. The function that accepts the packet applies the rest: it passes the number and
    /// counts the verdict.
    inline void commit(Instant now, const Acks& acks, const Others& others);

    // The fast path: fast_receive.hpp and .cpp, fast_chunks.cpp.

    /// The next packet is a short message, undamaged and in order. `predicting`: nothing else may
    /// come. False: nothing has changed, and nothing that was read is used any more.
    inline bool accept_message(Instant now, const RxFrame& frame, bool predicting,
                               const Others& others);
    bool accept_chunk_packet(Instant now, const RxFrame& frame, const Others& others);
    /// Accepts packets of one chunk that arrived together. One by one, each would begin with a read
    /// of fields that were just written in parts; this read waits until the copy of the packet
    /// before it has reached the cache.
    std::uint32_t on_run(Instant now, const RxRun& run, const Others& others);

    // What the caller draws.

    inline std::optional<Delivery> next_delivery(const Others& others, bool& general);
    /// The same without conditions, while no ended session is being drawn.
    std::optional<Delivery> draw(const Others& others);
    void free_drawn() {
        if (const auto held = deliveries.take_drawn_held()) {
            (*this)[held->channel].window.free_slot(held->slot);
        }
    }
    inline bool unpack_fast(const Session& session, const Sender& sender);

    // Frames that tell the peer what has arrived: send_answers.cpp.

    /// If there is room again for what was refused, the receiver asks for it (AM-42).
    void fetch_refused(const Sender& sender);
    bool send_nack(Channel channel, const Others& others, TxFrame& out);
    bool send_ack(const Others& others, TxFrame& out);
    Acks acks() const { return {channels_[0].window.expected(), channels_[1].window.expected()}; }
    /// A packet with these has left.
    void acks_left() {
        channels_[0].window.acknowledged();
        channels_[1].window.acknowledged();
    }
    bool says_news(const Acks& acks, const Sender& sender) const {
        return acks[0] != sender[Channel::request].window.first_unacknowledged() ||
               acks[1] != sender[Channel::reply].window.first_unacknowledged();
    }
    /// The next packet acknowledges all that has arrived. True: it would not have done so.
    bool owe_acks();
    bool ack_due() const { return channels_[0].window.ack_due() || channels_[1].window.ack_due(); }
    bool nack_due() const {
        return channels_[0].window.nack_due() || channels_[1].window.nack_due();
    }
    bool owes() const { return channels_[0].window.owed() > 0 || channels_[1].window.owed() > 0; }

    // State.

    [[gnu::always_inline]] Session::Waits waits(const Session& session,
                                                const Sender& sender) const {
        return {.for_peer = session.awaiting() || channels_[0].arriving() > 0 ||
                            channels_[1].arriving() > 0,
                .for_acks = !sender.empty(),
                .for_request_acks = !sender[Channel::request].window.empty()};
    }
    bool is_stalled() const { return stall_.need != Need::nothing; }
    bool has_buffers() const { return channels_[0].has_buffers(); }
    bool wants_buffers() const {
        return channels_[0].window.puts_off() || channels_[1].window.puts_off();
    }
    bool nothing_ahead() const {
        return channels_[0].window.nothing_ahead() && channels_[1].window.nothing_ahead();
    }
    bool idle() const { return channels_[0].is_idle() && channels_[1].is_idle(); }
    bool at_rest() const {
        return channels_[0].at_rest() && channels_[1].at_rest() && deliveries.empty() &&
               !is_stalled();
    }
    bool touches(ConstBytes memory) const;
    void exchange(std::array<Incoming::Buffers, channel_count>& buffers, Ring<Delivery>& ended);
    /// For a new session.
    void reset();
    void fingerprint(Fingerprint& sink) const;

private:
    struct ChunkPlace;
    struct NextOfChunk;
    struct Judged;

    bool has_handler(HandlerId handler) const {
        return handlers_ == nullptr || handlers_->has(handler);
    }

    // numbered_packets.cpp
    static bool needs_buffers(const Header& header);
    RxVerdict put_off(const Header& header);
    bool well_formed(const Packet& packet, const Config& config) const;
    RxVerdict on_bundle(const Packet& packet, const Others& others);
    RxVerdict unpack_next(const Others& others);
    RxVerdict on_unpacked(const BundleRange::Message& message, const Others& others);
    RxVerdict on_short(const Packet& packet, ReceiveWindow::Placement at, const Others& others);
    void pass_expected(Channel channel);
    void accept_short(Kind kind, std::uint32_t id, const Body& body, ConstBytes payload,
                      const Others& others);
    void accept_refusal(const RefusalBody& refusal, Sender& sender);
    void serve_get(std::uint32_t id, const GetBody& body, Sender& sender);
    bool pass_held(Channel channel, const Others& others);

    // chunks.cpp
    RxVerdict on_chunk(const Header& header, ConstBytes data, ReceiveWindow::Placement at,
                       const Others& others);
    static std::optional<ChunkPlace> chunk_place(const Header& header,
                                                 const ArrivingTransfer& transfer, std::size_t size,
                                                 const Config& config);
    void nack_holes(const Header& header, const ChunkPlace& chunk, ReceiveWindow::Placement at,
                    const Others& others);
    RxVerdict keep_early(const Header& header, ConstBytes data, ReceiveWindow::Placement at,
                         const Others& others);
    bool place_early(const Others& others);
    void finish_chunk(Channel channel, const Config& config);
    void finish_transfer(Channel channel, std::uint32_t id);

    // stores.cpp: the beginning of stores
    void open_store(std::uint32_t id, const OpenBody& body, ConstBytes bytes, Sender& sender);
    RxVerdict on_note(const Packet& packet, Sender& sender);
    bool take_note(const OpenBody& body, ConstBytes bytes, Sender& sender);
    void refuse_store(std::uint32_t id, Reason reason, Sender& sender);
    Judged judge_store(const OpenBody& body) const;

    // stall.cpp: packets that are refused because there is no room
    static Need need_of(Kind kind);
    static Need need_of_last(Channel channel, const ArrivingTransfer& transfer);
    bool lost_its_handler(Channel channel, const ArrivingTransfer& transfer) const;
    bool met(Need need, const Sender& sender) const;
    RxVerdict refuse_packet(const Header& header, Need need, std::uint32_t place);
    bool waits_for_room(Channel channel, const Others& others) const;
    /// The expected packet arrived and was refused, and there is still no room for it.
    bool refuses(const Others& others) const {
        return !met(stall_.need, others.sender) || waits_for_room(Channel::request, others);
    }
    /// A stalled channel owes no NACK for packets ahead (AM-10, AM-42).
    bool may_nack(Channel channel, const Others& others) const {
        return channel == Channel::reply || !refuses(others);
    }

    // acks_of_peer.cpp
    inline void apply_ack(Instant now, Channel channel, std::uint32_t expected,
                          const Others& others);
    inline void note_freed(Instant now, Channel channel, std::uint32_t packets,
                           const Others& others);
    void on_ack(Instant now, Channel channel, std::uint32_t expected, const Others& others);
    void on_acked(Channel channel, const SendWindow::Saved& message, Sender& sender);

    // fast_receive.hpp and .cpp, fast_chunks.cpp
    template <Channel channel>
    inline bool accept_message_on(Instant now, const HeaderWords& header, const RxFrame& frame,
                                  bool predicting, const Others& others);
    bool takes_message(Channel channel, const Others& others) const;
    template <Channel channel>
    inline void pass_message(std::uint32_t handler, ConstBytes arguments);
    template <Channel channel>
    inline bool unpack_fast_on(std::size_t message_max, const Sender& sender);
    inline std::optional<NextOfChunk> next_of_chunk(const HeaderWords& header,
                                                    const Session& session);

    const MemoryTable* memory_;
    const HandlerTable* handlers_ = nullptr;
    std::array<Incoming, channel_count> channels_;
    Stall stall_;  // of the request channel
    NoteRefusal note_refusal_ = NoteRefusal::none;
    bool overrun_ = false;
};

}  // namespace wireproof::am
