// The receiving layer: numbered packets in order and ahead, deliveries to the caller, and the NACKs
// and acknowledgements to the peer.
#pragma once

#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {

class Receiver : protected Sender {
protected:
    using Sender::Sender;

    inline RxVerdict note_verdict(Instant now, RxVerdict verdict, std::uint32_t frames = 1);
    /// A numbered packet of this session. Its acks have been applied.
    RxVerdict on_numbered(const Packet& packet);
    /// AM-54: a router marked this packet of the session. Those that the peer's congestion control
    /// causes count, also repeated ones.
    void note_marked(const Header& header) {
        if (!is_numbered(header.kind) && header.kind != Kind::keepalive) return;
        receiver(header.channel).note_marked();
        ++stats_.marked;
    }
    /// A packet of this session that on_numbered() would put off because there are no buffers.
    bool would_put_off(const Arrival& arrival) const;
    /// The receiver answers each question (AM-17, AM-18): the answer says what is missing of all
    /// that has left.
    void on_keepalive(const Header& header) {
        ReceiveWindow& window = receiver(header.channel).window;
        window.owe_nack(header.round, window.distance_sent(header.number), true);
        if (header.count == keepalive_leaves) leave_.peer_left();
    }

    // Deliveries: receive/draw.hpp and .cpp.
    inline std::optional<Delivery> next_delivery();
    inline const ShortMessage* take_message();

    // Frames that tell the peer what has arrived: receive/stall.cpp.

    /// If there is room again for what was refused, the receiver asks for it (AM-42).
    void fetch_refused();
    bool send_nack(Channel channel, TxFrame& out);
    bool send_ack(TxFrame& out);

    // The fast path: fast/receive.hpp, .cpp and fast/chunks.cpp.
    inline bool accept_message(Instant now, const Arrival& arrival);
    bool accept_chunk_packet(Instant now, const Arrival& arrival);
    /// Accepts packets of one chunk that arrived together. One by one, each would begin with a read
    /// of fields that were just written in parts; this read waits until the copy of the packet
    /// before it has reached the cache.
    std::uint32_t on_run(Instant now, const RxRun& run);

private:
    struct ChunkPlace;
    struct NextOfChunk;
    struct Judged;

    // receive/numbered.cpp
    static bool needs_buffers(const Header& header);
    RxVerdict put_off(const Header& header);
    bool well_formed(const Packet& packet) const;
    bool is_open(const Packet& packet) const;
    RxVerdict on_bundle(const Packet& packet);
    RxVerdict unpack_next();
    RxVerdict on_unpacked(const BundleRange::Message& message);
    RxVerdict on_short(const Packet& packet, ReceiveWindow::Placement at);
    void pass_expected(Channel channel);
    void accept_short(Kind kind, std::uint32_t id, const Body& body, ConstBytes payload);
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

    // receive/stores.cpp: the beginning of stores
    void open_store(std::uint32_t id, const OpenBody& body, ConstBytes bytes);
    RxVerdict on_note(const Packet& packet);
    bool take_note(const OpenBody& body, ConstBytes bytes);
    void refuse_store(std::uint32_t id, Reason reason);
    Judged judge_store(const OpenBody& body) const;

    // receive/stall.cpp: packets that are refused because there is no room
    Need need_of(Kind kind) const;
    Need need_of_last(Channel channel, const Incoming& incoming) const;
    bool lost_its_handler(Channel channel, const Incoming& incoming) const;
    bool met(Need need) const;
    RxVerdict refuse_packet(const Header& header, Need need, std::uint32_t place);
    bool waits_for_room(Channel channel) const;
    /// The expected packet arrived and was refused, and there is still no room for it.
    bool refuses() const { return !met(stall_.need) || waits_for_room(Channel::request); }
    /// A stalled channel owes no NACK for packets ahead (AM-10, AM-42).
    bool may_nack(Channel channel) const { return channel == Channel::reply || !refuses(); }

    // receive/draw.cpp
    std::optional<Delivery> draw_general();
    void unfold_short();
    /// AM-22, AM-23: the caller may answer requests and stores, but not replies.
    void note_drawn(const Delivery& drawn) {
        may_reply_ =
            std::holds_alternative<Request>(drawn) || std::holds_alternative<Stored>(drawn);
    }

    // fast/receive.hpp and .cpp, fast/chunks.cpp
    inline bool is_next(const HeaderWords& header, const ReceiveWindow& window) const;
    template <Channel channel>
    inline bool accept_message_on(Instant now, const Arrival& arrival);
    bool takes_message(Channel channel) const;
    bool is_signed(const Arrival& arrival) const;
    template <Channel channel>
    inline void pass_message(std::uint32_t handler, ConstBytes arguments);
    inline bool unpack_fast();
    template <Channel channel>
    inline bool unpack_fast_on();
    std::optional<NextOfChunk> next_of_chunk(const HeaderWords& header);
};

}  // namespace wireproof::am

#include "wireproof/proto/am/fast/receive.hpp"
#include "wireproof/proto/am/receive/draw.hpp"
