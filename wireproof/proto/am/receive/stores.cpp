// The beginning of stores: OPENs before chunks, and notes, which have no chunks.

#include <cstring>

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
/// Where the bytes of a store go, or why the store is refused.
struct Receiver::Judged {
    Reason reason = Reason::none;
    Bytes memory;
};

namespace {

/// Copies the bytes that an OPEN carries to their place.
void copy_opening(ConstBytes bytes, Bytes memory) {
    if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
}

}  // namespace

void Receiver::open_store(std::uint32_t id, const OpenBody& body, ConstBytes bytes,
                          Sender& sender) {
    // It was held while another store with this id was active: no sender does that.
    if ((*this)[Channel::request].transfers[id].active) return;
    ArrivingTransfer& store = (*this)[Channel::request].begin_transfer(id);
    store.total =
        body.total - bytes.size();  // never 0: a store with all bytes in its OPEN is a note
    store.handler = static_cast<HandlerId>(body.handler);
    store.argument = body.argument;
    const Judged judged = judge_store(body);
    if (judged.reason != Reason::none) return refuse_store(id, judged.reason, sender);
    copy_opening(bytes, judged.memory);
    store.memory = judged.memory.subspan(bytes.size());
    store.opened_with = bytes.size();
}

// The refusal is no NACK, because a NACK would repeat the store for ever. The receiver accepts the
// rest of the store and drops its bytes.
void Receiver::refuse_store(std::uint32_t id, Reason reason, Sender& sender) {
    ArrivingTransfer& store = (*this)[Channel::request].transfers[id];
    store.discarded = store.refusal_unacked = true;
    sender.refuse(
        {static_cast<std::uint32_t>(Refusal::store), id, static_cast<std::uint32_t>(reason)},
        id + 1);
}

// A peer that may not write to this memory does not learn which handlers exist.
Receiver::Judged Receiver::judge_store(const OpenBody& body) const {
    const auto memory = memory_->writable(body.address, body.total);
    if (!memory) return {Reason::forbidden, {}};
    if (!has_handler(static_cast<HandlerId>(body.handler))) return {Reason::no_handler, {}};
    return {Reason::none, *memory};
}

// The peer must know that its store is refused before the store ends. So the note is refused until
// the peer has acknowledged the refusal; then it is accepted, and no handler runs. AM-28: a store
// of no bytes is a note.
RxVerdict Receiver::on_note(const Packet& packet, Sender& sender) {
    const Header& header = packet.header;
    ReceiveWindow& window = (*this)[Channel::request].window;
    if (!met(Need::reply_place, sender)) return refuse_packet(header, Need::reply_place, 0);
    if (!take_note(std::get<OpenBody>(packet.body), packet.payload, sender))
        return refuse_packet(header, Need::note_refused, 0);
    ReceiveWindow::Message& message = window.message(0);
    message.kind = Kind::open;
    message.span = 1;
    pass_expected(Channel::request);
    if (header.count != 0) window.owe_ack();  // as for a complete chunk: a store ends with it
    return RxVerdict::accepted;
}

/// False: the note must wait until its refusal is acknowledged.
bool Receiver::take_note(const OpenBody& body, ConstBytes bytes, Sender& sender) {
    if (note_refusal_ == NoteRefusal::acked) {
        note_refusal_ = NoteRefusal::none;
        return true;
    }
    if (note_refusal_ == NoteRefusal::unacked) return false;
    const Judged judged = judge_store(body);
    if (judged.reason != Reason::none) {
        note_refusal_ = NoteRefusal::unacked;
        sender.refuse(
            {static_cast<std::uint32_t>(Refusal::note), (*this)[Channel::request].window.expected(),
             static_cast<std::uint32_t>(judged.reason)},
            note_owner);
        return false;
    }
    copy_opening(bytes, judged.memory);
    deliveries.put(Stored{static_cast<HandlerId>(body.handler), judged.memory, body.argument});
    return true;
}

}  // namespace wireproof::am
