// Stores as they begin: OPENs with chunks behind them, and notes, which have none.
#include <cstring>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {
namespace {

/// The bytes that come with an OPEN, to where they belong.
void copy_opening(ConstBytes data, Bytes memory) {
    const ConstBytes bytes = data.subspan(OpenBody::size);
    if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
}

}  // namespace

void Connection::open_store(std::uint32_t id, ConstBytes data) {
    const auto body = OpenBody::decode(data.first<OpenBody::size>());
    Incoming& store = incoming_[index(Channel::request)][id];
    if (store.active) return;  // held while another of that id was open: no sender does that
    store = Incoming{};
    store.active = true;
    ++arriving_[index(Channel::request)];
    const std::size_t bytes = data.size() - OpenBody::size;
    store.total = body.total - bytes;
    store.handler = static_cast<HandlerId>(body.handler);
    store.argument = body.argument;
    const auto memory = memory_->writable(body.address, body.total);
    if (memory) {
        copy_opening(data, *memory);
        store.memory = memory->subspan(bytes);
        store.opened_with = bytes;
    } else {
        // Not a NACK, which would have it repeated for ever: it is taken in, and thrown away.
        store.drained = store.refusal_unacked = true;
        send_refusal({static_cast<std::uint32_t>(Refusal::store), id,
                      static_cast<std::uint32_t>(Reason::forbidden)},
                     id + 1);
    }
    if (store.total == 0) finish_transfer(Channel::request, id);
}

// Who stores where it may not must know before its store ends, so the note is refused until the
// refusal has been acknowledged; then it is accepted, and nothing comes of it.
RxVerdict Connection::on_note(const Header& header, ConstBytes data) {
    ReceiveWindow& window = in_window(Channel::request);
    if (!met(Need::reply_place)) return refuse_packet(header, Need::reply_place, 0);
    if (!take_note(data)) {
        if (note_refusal_ == NoteRefusal::none) refuse_note();
        return refuse_packet(header, Need::note_refused, 0);
    }
    ReceiveWindow::Message& message = window.message(0);
    message.kind = Kind::open;
    message.span = 1;
    window.pass();
    if (header.count != 0) window.owe_ack();  // as of a finished chunk: a store ends with it
    refused_need_ = Need::nothing;
    return RxVerdict::accepted;
}

/// False: not before its refusal is acknowledged.
bool Connection::take_note(ConstBytes data) {
    if (note_refusal_ == NoteRefusal::acked) {
        note_refusal_ = NoteRefusal::none;
        return true;
    }
    if (note_refusal_ == NoteRefusal::unacked) return false;
    const auto body = OpenBody::decode(data.first<OpenBody::size>());
    const auto memory = memory_->writable(body.address, body.total);
    if (!memory) return false;
    copy_opening(data, *memory);
    delivery_.emplace(std::in_place_type<Stored>,
                      Stored{static_cast<HandlerId>(body.handler), *memory, body.argument});
    return true;
}

void Connection::refuse_note() {
    note_refusal_ = NoteRefusal::unacked;
    send_refusal({static_cast<std::uint32_t>(Refusal::note), in_window(Channel::request).expected(),
                  static_cast<std::uint32_t>(Reason::forbidden)},
                 note_owner);
}

}  // namespace wireproof::am
