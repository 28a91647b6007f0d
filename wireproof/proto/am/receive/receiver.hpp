// The receiving layer: numbered packets, in sequence and ahead of it; what is handed to the caller;
// and the NACKs and acknowledgements that tell the peer.
#pragma once

#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {

class Receiver : protected Sender {
protected:
    using Sender::Sender;

    inline RxVerdict note_verdict(Instant now, RxVerdict verdict, std::uint32_t frames = 1);
    /// A packet with a number, of this session. Its acks were applied.
    RxVerdict on_numbered(const Header& header, ConstBytes data);
    /// A packet of this session that on_numbered would put off, for want of buffers.
    bool would_put_off(ConstBytes packet) const;
    /// A question is answered in any case (AM-17, AM-18), with what is missing of all that has
    /// left.
    void on_keepalive(const Header& header) {
        ReceiveWindow& window = receiver(header.channel).window;
        window.owe_nack(header.round, window.distance_sent(header.number), true);
    }

    // What is drawn: receive/draw.hpp and .cpp.
    inline std::optional<Delivery> next_delivery();
    inline const ShortMessage* take_message();

    // What tells the peer: receive/stall.cpp.

    /// What was refused for want of room is asked for once there is room (AM-42).
    void fetch_refused();
    bool send_nack(Channel channel, TxFrame& out);
    bool send_ack(TxFrame& out);

    // The fast path: fast/receive.hpp, .cpp and fast/chunks.cpp.
    inline bool accept_message(Instant now, const RxFrame& frame);
    bool accept_chunk_packet(Instant now, const RxFrame& frame);
    /// Packets of one chunk that came together. Taken one by one, each began with a load of what
    /// was just written in parts, which waits until the copy of the packet before has reached the
    /// cache.
    std::uint32_t on_run(Instant now, const RxRun& run);

private:
    struct ChunkPlace;
    struct NextOfChunk;
    struct Judged;

    // receive/numbered.cpp
    static bool needs_buffers(const Header& packet);
    RxVerdict put_off(const Header& header);
    bool well_formed(const Header& header, ConstBytes data) const;
    bool is_bundle(ConstBytes data, std::uint32_t messages) const;
    RxVerdict on_bundle(const Header& header, ConstBytes data);
    RxVerdict unpack_next();
    RxVerdict on_short(const Header& header, ConstBytes data, ReceiveWindow::Placement at);
    void pass_expected(Channel channel);
    void accept_short(Kind kind, std::uint32_t id, ConstBytes data);
    void accept_refusal(const RefusalBody& refusal);
    void serve_get(std::uint32_t id, const GetBody& body);
    bool pass_held(Channel channel);

    // receive/chunks.cpp
    RxVerdict on_chunk(const Header& header, ConstBytes data, ReceiveWindow::Placement at);
    std::optional<ChunkPlace> chunk_place(const Header& header, const Incoming& incoming,
                                          std::size_t size) const;
    void nack_holes(const Header& header, const ChunkPlace& chunk, ReceiveWindow::Placement at);
    RxVerdict keep_early(const Header& header, ConstBytes data, ReceiveWindow::Placement at);
    bool place_early();
    bool is_last_chunk(const ReceiveWindow::Message& chunk, const Incoming& incoming) const;
    bool end_is_awaited(Channel channel) const;
    void finish_chunk(Channel channel);
    void finish_transfer(Channel channel, std::uint32_t id);

    // receive/stores.cpp: stores as they begin
    void open_store(std::uint32_t id, ConstBytes data);
    RxVerdict on_note(const Header& header, ConstBytes data);
    bool take_note(ConstBytes data);
    void refuse_store(std::uint32_t id, Reason reason);
    Judged judge_store(const OpenBody& body) const;

    // receive/stall.cpp: packets that are refused for want of room
    Need need_of(Kind kind) const;
    Need need_of_last(Channel channel, const Incoming& incoming) const;
    bool lost_its_handler(Channel channel, const Incoming& incoming) const;
    bool met(Need need) const;
    RxVerdict refuse_packet(const Header& header, Need need, std::uint32_t place);
    bool waits_for_room(Channel channel) const;
    /// The packet expected came, and was not taken for want of room that there still is not.
    bool refuses() const { return !met(stall_.need) || waits_for_room(Channel::request); }
    /// A stalled channel owes no NACK for packets ahead (AM-10, AM-42).
    bool may_nack(Channel channel) const { return channel == Channel::reply || !refuses(); }

    // receive/draw.cpp
    std::optional<Delivery> draw_general();
    void unfold_short();
    /// AM-22, AM-23: requests and stores may be answered, replies not.
    void note_drawn(const Delivery& drawn) {
        may_reply_ =
            std::holds_alternative<Request>(drawn) || std::holds_alternative<Stored>(drawn);
    }

    // fast/receive.hpp and .cpp, fast/chunks.cpp
    inline bool is_next(const ShortHeader& header, const ReceiveWindow& window) const;
    template <Channel channel>
    inline bool accept_message_on(Instant now, const RxFrame& frame);
    bool takes_message(Channel channel) const;
    bool is_signed(const RxFrame& frame) const;
    template <Channel channel>
    inline void pass_message(std::uint32_t handler, ConstBytes arguments);
    inline bool unpack_fast();
    template <Channel channel>
    inline bool unpack_fast_on();
    std::optional<NextOfChunk> next_of_chunk(std::span<const std::byte, ShortHeader::size> head);
};

}  // namespace wireproof::am

#include "wireproof/proto/am/fast/receive.hpp"
#include "wireproof/proto/am/receive/draw.hpp"
