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
Need Receiver::need_of(Kind kind) const {
    switch (kind) {
        case Kind::request:
        case Kind::open: return Need::reply_place;
        case Kind::get_request: return Need::get_slot;
        default: return Need::nothing;
    }
}

// The handler of a store may reply, so its last packet needs a place for the reply. The peer must
// know of a refusal before its store ends.
Need Receiver::need_of_last(Channel channel, const Incoming& incoming) const {
    if (channel == Channel::reply) return Need::nothing;
    return incoming.discarded ? Need::refusal_acked : Need::reply_place;
}

/// The store's handler was removed while the bytes arrived.
bool Receiver::lost_its_handler(Channel channel, const Incoming& incoming) const {
    return channel == Channel::request && !incoming.discarded && !has_handler(incoming.handler);
}

bool Receiver::met(Need need) const {
    switch (need) {
        case Need::nothing: return true;
        case Need::reply_place: return !replies_.full();
        case Need::get_slot:
            return !replies_.full() && sender(Channel::reply).bulk.free_place().has_value();
        case Need::refusal_acked:
            return !receiver(Channel::request).incoming[stall_.store].refusal_unacked;
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
bool Receiver::waits_for_room(Channel channel) const {
    const ReceiveWindow::Message& message = receiver(channel).window.message(0);
    if (!message.complete()) return false;
    if (message.in_place && note_refusal_ == NoteRefusal::unacked) return true;
    if (message.kind != Kind::chunk) return !met(need_of(message.kind));
    const Incoming& incoming = receiver(channel).incoming[message.id];
    if (!incoming.active || !is_last_chunk(message, incoming)) return false;
    const Need need = need_of_last(channel, incoming);
    return need == Need::refusal_acked ? incoming.refusal_unacked : !met(need);
}

void Receiver::fetch_refused() {
    if (stall_.need == Need::nothing || !met(stall_.need)) return;
    stall_.need = Need::nothing;
    receiver(Channel::request).window.owe_nack(stall_.round, stall_.place + 1, true);
}

bool Receiver::send_nack(Channel channel, TxFrame& out) {
    ReceiveWindow& window = receiver(channel).window;
    if (!window.nack_due()) return false;
    const auto& pending = window.pending_nack();
    if (!pending) return false;
    Header header;
    header.kind = Kind::nack;
    header.channel = channel;
    header.round = pending->round;
    header.number = window.expected();
    if (leave_.peer_leaves()) header.id = nack_to_leaver;
    std::array<std::byte, NackBody::size + map_max> data;
    std::size_t size = 0;
    if (config_.recovery == Recovery::selective) {
        const std::size_t room = std::min(data.size(), config_.data_max()) - NackBody::size;
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
    const bool refused = (channel == Channel::request && refuses()) || window.puts_off();
    if (refused) header.count |= nack_refuses;
    header.count |= static_cast<std::uint16_t>(receiver(channel).marked() << nack_marks_shift);
    window.nack_left();
    emit(out, header, ConstBytes(data).first(size));
    return true;
}

bool Receiver::send_ack(TxFrame& out) {
    if (!receive_[0].window.ack_due() && !receive_[1].window.ack_due()) return false;
    Header header;
    emit(out, header, {});
    return true;
}

}  // namespace wireproof::am
