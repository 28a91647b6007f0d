// Packets that are refused because there is no room, and the frames that say what to send again.

#include <algorithm>
#include <utility>

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
namespace {

// Longest map of a NACK in bytes. Windows of more than 8192 packets are reported in parts.
constexpr std::size_t map_max = 1024;

}  // namespace

// What an expected packet of this kind needs. AM-43: packets on the reply channel are never
// refused.
Need Receiver::need_of(Kind kind) {
    switch (kind) {
        case Kind::request:
        case Kind::open: return Need::reply_place;
        case Kind::get_request: return Need::get_slot;
        default: return Need::nothing;
    }
}

// The handler of a store may reply, so its last packet needs a place for the reply. The peer must
// know of a refusal before its store ends.
Need Receiver::need_of_last(Channel channel, const Arriving& incoming) {
    if (channel == Channel::reply) return Need::nothing;
    return incoming.discarded ? Need::refusal_acked : Need::reply_place;
}

/// The store's handler was removed while the bytes arrived.
bool Receiver::lost_its_handler(Channel channel, const Arriving& incoming) const {
    return channel == Channel::request && !incoming.discarded && !has_handler(incoming.handler);
}

bool Receiver::met(Need need, const Sender& sender) const {
    switch (need) {
        case Need::nothing: return true;
        case Need::reply_place: return !sender.replies.full();
        case Need::get_slot:
            return !sender.replies.full() && sender[Channel::reply].bulk.free_place().has_value();
        case Need::refusal_acked:
            return !(*this)[Channel::request].transfers[stall_.store].refusal_unacked;
        case Need::note_refused: return note_refusal_ != NoteRefusal::unacked;
    }
    return true;
}

RxVerdict Receiver::refuse_packet(const Header& header, Need need, std::uint32_t place) {
    stall_.need = need;
    stall_.round = header.round;
    stall_.place = place;
    return RxVerdict::refused;
}

// Selective recovery: the expected message is held, but there is no room for it: the channel is
// stalled.
bool Receiver::waits_for_room(Channel channel, const Others& others) const {
    const ReceiveWindow::Message& message = (*this)[channel].window.message(0);
    if (!message.complete()) return false;
    if (message.in_place && note_refusal_ == NoteRefusal::unacked) return true;
    if (message.kind != Kind::chunk) return !met(need_of(message.kind), others.sender);
    const Arriving& incoming = (*this)[channel].transfers[message.id];
    if (!incoming.active || !incoming.is_last_chunk(message.base, others.session.config()))
        return false;
    const Need need = need_of_last(channel, incoming);
    return need == Need::refusal_acked ? incoming.refusal_unacked : !met(need, others.sender);
}

void Receiver::fetch_refused(const Sender& sender) {
    if (stall_.need == Need::nothing || !met(stall_.need, sender)) return;
    stall_.need = Need::nothing;
    (*this)[Channel::request].window.owe_nack(stall_.round, stall_.place + 1, true);
}

bool Receiver::send_nack(Channel channel, const Others& others, TxFrame& out) {
    auto& [session, sender] = others;
    const Config& config = session.config();
    ReceiveWindow& window = (*this)[channel].window;
    if (!window.nack_due()) return false;
    const auto& pending = window.pending_nack();
    if (!pending) return false;
    Header header;
    header.kind = Kind::nack;
    header.channel = channel;
    header.round = pending->round;
    header.number = window.expected();
    if (session.leave.peer_leaves()) header.id = nack_to_leaver;
    std::array<std::byte, NackBody::size + map_max> data;
    std::size_t size = 0;
    if (config.recovery == Recovery::selective) {
        const std::size_t room = std::min(data.size(), config.data_max()) - NackBody::size;
        const std::size_t map_size = std::min(window.map_bytes(), room);
        // A map that was cut short says nothing about later packets.
        const bool whole = map_size == window.map_bytes();
        const std::uint32_t reach =
            whole ? window.window() : static_cast<std::uint32_t>(map_size * 8);
        NackBody{window.nack_end(), reach}.encode(Bytes(data).first<NackBody::size>());
        window.write_map(Bytes(data).subspan(NackBody::size, map_size));
        size = NackBody::size + map_size;
        header.count = std::exchange(overrun_, false) ? nack_overrun : 0;
    }
    const bool refused = (channel == Channel::request && refuses(others)) || window.puts_off();
    if (refused) header.count |= nack_refuses;
    header.count |= static_cast<std::uint16_t>((*this)[channel].marked() << nack_marks_shift);
    window.nack_left();
    sender.emit(session, acks(), header, ConstBytes(data).first(size), out);
    acks_left();
    return true;
}

bool Receiver::send_ack(const Others& others, TxFrame& out) {
    if (!ack_due()) return false;
    Header header;
    others.sender.emit(others.session, acks(), header, {}, out);
    acks_left();
    return true;
}

}  // namespace wireproof::am
