// Stores as they begin: OPENs with chunks behind them, and notes, which have none.

#include <cstring>

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
/// Where a store goes, or why it goes nowhere.
struct Receiver::Judged {
    Reason reason = Reason::none;
    Bytes memory;
};

namespace {

/// The bytes that come with an OPEN, to where they belong.
void copy_opening(ConstBytes data, Bytes memory) {
    const ConstBytes bytes = data.subspan(OpenBody::size);
    if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
}

}  // namespace

void Receiver::open_store(std::uint32_t id, ConstBytes data) {
    const auto body = OpenBody::decode(data.first<OpenBody::size>());
    // Held while another of that id was open: no sender does that.
    if (receiver(Channel::request).incoming[id].active) return;
    Incoming& store = receiver(Channel::request).begin_transfer(id);
    const std::size_t bytes = data.size() - OpenBody::size;
    store.total = body.total - bytes;  // never 0: a store that is whole in its OPEN is a note
    store.handler = static_cast<HandlerId>(body.handler);
    store.argument = body.argument;
    const Judged judged = judge_store(body);
    if (judged.reason != Reason::none) return refuse_store(id, judged.reason);
    copy_opening(data, judged.memory);
    store.memory = judged.memory.subspan(bytes);
    store.opened_with = bytes;
}

// Not by a NACK, which would have it repeated for ever: what is still to come of it is taken in and
// thrown away.
void Receiver::refuse_store(std::uint32_t id, Reason reason) {
    Incoming& store = receiver(Channel::request).incoming[id];
    store.discarded = store.refusal_unacked = true;
    send_refusal(
        {static_cast<std::uint32_t>(Refusal::store), id, static_cast<std::uint32_t>(reason)},
        id + 1);
}

// A peer that may not write there does not learn which handlers there are.
Receiver::Judged Receiver::judge_store(const OpenBody& body) const {
    const auto memory = memory_->writable(body.address, body.total);
    if (!memory) return {Reason::forbidden, {}};
    if (!has_handler(static_cast<HandlerId>(body.handler))) return {Reason::no_handler, {}};
    return {Reason::none, *memory};
}

// A peer that stores where it may not must know that before its store ends. So the note is refused
// until the peer has acknowledged the refusal; then it is accepted, and no handler runs.
// AM-28: a store of no bytes is one.
RxVerdict Receiver::on_note(const Header& header, ConstBytes data) {
    ReceiveWindow& window = receiver(Channel::request).window;
    if (!met(Need::reply_place)) return refuse_packet(header, Need::reply_place, 0);
    if (!take_note(data)) return refuse_packet(header, Need::note_refused, 0);
    ReceiveWindow::Message& message = window.message(0);
    message.kind = Kind::open;
    message.span = 1;
    pass_expected(Channel::request);
    if (header.count != 0) window.owe_ack();  // as of a finished chunk: a store ends with it
    return RxVerdict::accepted;
}

/// False: not before its refusal, which is on its way, is acknowledged.
bool Receiver::take_note(ConstBytes data) {
    if (note_refusal_ == NoteRefusal::acked) {
        note_refusal_ = NoteRefusal::none;
        return true;
    }
    if (note_refusal_ == NoteRefusal::unacked) return false;
    const auto body = OpenBody::decode(data.first<OpenBody::size>());
    const Judged judged = judge_store(body);
    if (judged.reason != Reason::none) {
        note_refusal_ = NoteRefusal::unacked;
        send_refusal({static_cast<std::uint32_t>(Refusal::note),
                      receiver(Channel::request).window.expected(),
                      static_cast<std::uint32_t>(judged.reason)},
                     note_owner);
        return false;
    }
    copy_opening(data, judged.memory);
    delivery_.emplace(std::in_place_type<Stored>,
                      Stored{static_cast<HandlerId>(body.handler), judged.memory, body.argument});
    return true;
}

}  // namespace wireproof::am
