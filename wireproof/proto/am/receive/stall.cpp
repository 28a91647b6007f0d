// Packets that are refused because there is no room for them or for their reply.

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
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
Need Receiver::need_of_last(Channel channel, const ArrivingTransfer& incoming) {
    if (channel == Channel::reply) return Need::nothing;
    return incoming.discarded ? Need::refusal_acked : Need::reply_place;
}

/// The store's handler was removed while the bytes arrived.
bool Receiver::lost_its_handler(Channel channel, const ArrivingTransfer& incoming) const {
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
    const ArrivingTransfer& incoming = (*this)[channel].transfers[message.id];
    if (!incoming.active || !incoming.is_last_chunk(message.base, others.session.config()))
        return false;
    const Need need = need_of_last(channel, incoming);
    return need == Need::refusal_acked ? incoming.refusal_unacked : !met(need, others.sender);
}

}  // namespace wireproof::am
