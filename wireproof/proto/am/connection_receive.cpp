// The receiving half of Connection: numbered packets, in sequence and ahead of it.
#include <algorithm>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {
namespace {

// Only at one entry is known where the next begins, so lines that are another processor's would
// come one by one. Not where most lines have no entry: nobody may want those.
void fetch_entries(ConstBytes data, std::uint32_t messages) {
    constexpr std::size_t line = 64;
    if (data.size() > messages * line) return;
    for (std::size_t at = line; at < data.size(); at += line) __builtin_prefetch(&data[at]);
}

}  // namespace

/// Where a CHUNK packet lies, as its offset tells.
struct Connection::ChunkPlace {
    std::uint64_t base = 0;     // of the chunk in the transfer
    std::uint32_t place = 0;    // of the packet in the chunk
    std::uint32_t packets = 0;  // of the chunk
    bool last = false;          // chunk of the transfer
};

RxVerdict Connection::on_numbered(const Header& header, ConstBytes data) {
    ReceiveWindow& window = receiver(header.channel).window;
    if (!has_buffers() && needs_buffers(header)) return put_off(header);
    if (!well_formed(header, data)) return RxVerdict::malformed;
    if (header.kind == Kind::bundle) return on_bundle(header, data);
    const auto at = window.placement_of(header.number);
    using Place = ReceiveWindow::Place;
    if (at.place == Place::stale) return RxVerdict::stale;
    if (at.place == Place::behind) {
        window.owe_ack();
        return RxVerdict::duplicate;
    }
    if (at.place == Place::ahead) {
        // What is dropped is missing itself, even when the gap before it fills in this turn.
        const bool drops = config_.recovery == Recovery::go_back_n || !has_buffers();
        if (may_complain(header.channel)) {
            window.complain(header.round, at.distance + (drops ? 1 : 0), false);
        }
        if (drops) return RxVerdict::out_of_sequence;
    }
    return header.kind == Kind::chunk ? on_chunk(header, data, at) : on_short(header, data, at);
}

// What no sender of this configuration writes, told without knowing any state.
bool Connection::well_formed(const Header& header, ConstBytes data) const {
    const bool words_fit =
        header.count <= config_.words_max && std::size_t{header.count} * 4 == data.size();
    switch (header.kind) {
        case Kind::request: return words_fit && header.id != 0 && header.id <= handler_max;
        case Kind::reply:
            if (header.id == 0)
                return std::size_t{header.count} * 4 == data.size() &&
                       data.size() == RefusalBody::size;
            return words_fit && header.id <= handler_max;
        case Kind::open: {
            if (data.size() < OpenBody::size || header.id >= config_.stores_max) return false;
            const auto body = OpenBody::decode(data.first<OpenBody::size>());
            const bool usual = body.handler != 0 && body.handler <= handler_max &&
                               body.total <= config_.transfer_max();
            const std::size_t bytes = data.size() - OpenBody::size;
            if (!header.in_place) {
                return usual && bytes == config_.open_bytes && bytes < body.total;
            }
            return usual && header.id == 0 && header.count <= 1 &&
                   (bytes == 0 || (bytes == body.total && bytes <= config_.open_bytes));
        }
        case Kind::get_request:
            return data.size() == GetBody::size && header.id < config_.gets_max &&
                   GetBody::decode(data.first<GetBody::size>()).total <= config_.transfer_max();
        case Kind::chunk:
            return !data.empty() && header.id < receiver(header.channel).incoming.size();
        case Kind::bundle:
            return data.size() <= config_.bundle_max && header.id == 0 &&
                   is_bundle(data, header.count);
        default: return false;
    }
}

bool Connection::is_bundle(ConstBytes data, std::uint32_t messages) const {
    if (messages == 0) return false;
    fetch_entries(data, messages);
    for (std::uint32_t i = 0; i < messages; ++i) {
        if (data.size() < BundleEntry::size) return false;
        const auto entry = BundleEntry::decode(data.first<BundleEntry::size>());
        const std::size_t size = BundleEntry::size + entry.words * std::size_t{4};
        if (entry.handler == 0 || entry.words > config_.words_max || size > data.size()) {
            return false;
        }
        data = data.subspan(size);
    }
    return data.empty();
}

// As if each of its messages had come in a packet of its own. They are looked at one by one, each
// when those before it have been drawn: a handler may take the last place for a reply.
RxVerdict Connection::on_bundle(const Header& header, ConstBytes data) {
    bundle_ = {header.count, header.number, data.data(), header.channel, header.round};
    const RxVerdict first = unpack_next();
    RxVerdict verdict = first;
    while (bundle_.left > 0 && verdict != RxVerdict::accepted) verdict = unpack_next();
    return verdict == RxVerdict::accepted ? verdict : first;
}

RxVerdict Connection::unpack_next() {
    if (unpack_plain()) return RxVerdict::accepted;
    const ReceiveWindow& window = receiver(bundle_.channel).window;
    const auto entry =
        BundleEntry::decode(std::span<const std::byte, BundleEntry::size>(bundle_.at, 4));
    Header header;
    header.kind = message_kind(bundle_.channel);
    header.channel = bundle_.channel;
    header.round = bundle_.round;
    header.count = entry.words;
    header.number = bundle_.number;
    header.id = entry.handler;
    const ConstBytes data(bundle_.at + BundleEntry::size, entry.words * std::size_t{4});
    --bundle_.left;
    bundle_.number = window.number_after(bundle_.number);
    bundle_.at = data.data() + data.size();
    const RxVerdict verdict = on_numbered(header, data);
    if (verdict != RxVerdict::accepted) ++stats_.unpacked[static_cast<std::size_t>(verdict)];
    return verdict;
}

// The need that an expected packet may have to be refused for.
Need Connection::need_of(Kind kind) const {
    switch (kind) {
        case Kind::request:
        case Kind::open: return Need::reply_place;
        case Kind::get_request: return Need::get_slot;
        default: return Need::nothing;
    }
}

// A store's handler may reply; and who was refused must have heard it before the store ends.
Need Connection::need_of_last(Channel channel, const Incoming& incoming) const {
    if (channel == Channel::reply) return Need::nothing;
    return incoming.drained ? Need::refusal_acked : Need::reply_place;
}

/// A store's was taken away while the bytes came.
bool Connection::lost_its_handler(Channel channel, const Incoming& incoming) const {
    return channel == Channel::request && !incoming.drained && !has_handler(incoming.handler);
}

bool Connection::met(Need need) const {
    switch (need) {
        case Need::nothing: return true;
        case Need::reply_place: return !replies_.full();
        case Need::get_slot:
            return !replies_.full() && sender(Channel::reply).bulk.free_place().has_value();
        case Need::refusal_acked:
            return !receiver(Channel::request).incoming[refused_id_].refusal_unacked;
        case Need::note_refused: return note_refusal_ != NoteRefusal::unacked;
    }
    return true;
}

RxVerdict Connection::refuse_packet(const Header& header, Need need, std::uint32_t place) {
    refused_need_ = need;
    refused_round_ = header.round;
    refused_place_ = place;
    return RxVerdict::refused;
}

RxVerdict Connection::on_short(const Header& header, ConstBytes data, ReceiveWindow::Placement at) {
    ReceiveWindow& window = receiver(header.channel).window;
    ReceiveWindow::Message& message = window.message(at.distance);
    if (window.has(at.distance)) return RxVerdict::duplicate;
    if (message.known()) return RxVerdict::malformed;  // a chunk has begun under this number
    if (at.place == ReceiveWindow::Place::ahead) {
        if (!window.hold(message, data)) return RxVerdict::out_of_sequence;
        message.kind = header.kind;
        message.span = message.arrived = 1;
        message.id = header.id;
        message.in_place = header.in_place;
        message.awaited = header.in_place && header.count != 0;
        window.mark(at.distance);
        return RxVerdict::held;
    }
    if (header.in_place) return on_note(header, data);
    const bool store_is_open =
        header.kind == Kind::open && receiver(Channel::request).incoming[header.id].active;
    if (store_is_open) return RxVerdict::malformed;
    const Need need = need_of(header.kind);
    if (!met(need)) return refuse_packet(header, need, 0);
    message.kind = header.kind;
    message.span = 1;
    pass_expected(header.channel);
    accept_short(header.kind, header.id, data);
    return RxVerdict::accepted;
}

/// The expected message is complete; so what was refused, which was that one, is there.
void Connection::pass_expected(Channel channel) {
    receiver(channel).window.pass();
    if (channel == Channel::request) refused_need_ = Need::nothing;
}

void Connection::accept_short(Kind kind, std::uint32_t id, ConstBytes data) {
    switch (kind) {
        case Kind::request: delivery_ = Request{static_cast<HandlerId>(id), data}; break;
        case Kind::reply:
            if (id == 0) {
                accept_refusal(RefusalBody::decode(data.first<RefusalBody::size>()));
            } else {
                delivery_ = Reply{static_cast<HandlerId>(id), data};
            }
            break;
        case Kind::open: open_store(id, data); break;
        case Kind::get_request: serve_get(id, GetBody::decode(data.first<GetBody::size>())); break;
        default: break;
    }
}

void Connection::accept_refusal(const RefusalBody& refusal) {
    const auto reason = static_cast<Reason>(refusal.reason);
    switch (static_cast<Refusal>(refusal.what)) {
        case Refusal::handler:
            delivery_ = Refused{static_cast<HandlerId>(refusal.id), reason};
            return;
        case Refusal::store: {
            auto& stores = sender(Channel::request).bulk.transfers();
            if (refusal.id < stores.size()) stores[refusal.id].reason = reason;
            receiver(Channel::reply).window.owe_ack();  // the store's last packet waits for it
            return;
        }
        case Refusal::note:
            if (SendWindow::Saved* note = sender(Channel::request).window.note(refusal.id)) {
                note->owner = refusal.reason;
                const bool awaited = note->count != 0;
                if (!awaited && reason == Reason::no_handler) {
                    delivery_ =
                        Refused{handler_of_note(sender(Channel::request).window, *note), reason};
                }
            }
            receiver(Channel::reply).window.owe_ack();  // the note waits for it
            return;
        case Refusal::get: {
            auto& gets = receiver(Channel::reply).incoming;
            if (refusal.id >= gets.size() || !gets[refusal.id].active) return;
            receiver(Channel::reply).end_transfer(refusal.id);
            // The answer to a get of no bytes, and to no other, may be that all is well.
            const bool whole = gets[refusal.id].total == 0;
            delivery_ = GetEnded{gets[refusal.id].tag,
                                 whole || reason != Reason::none ? reason : Reason::forbidden};
            return;
        }
    }
}

void Connection::send_refusal(RefusalBody body, std::uint32_t owner) {
    std::array<std::byte, RefusalBody::size> bytes{};
    body.encode(bytes);
    replies_.push(0, bytes, owner);
    refill(Channel::reply);
}

void Connection::serve_get(std::uint32_t id, const GetBody& body) {
    BulkSender& gets = sender(Channel::reply).bulk;
    const auto memory = memory_->readable(body.address, body.total);
    if (!memory) {
        send_refusal({static_cast<std::uint32_t>(Refusal::get), id,
                      static_cast<std::uint32_t>(Reason::forbidden)},
                     0);
        return;
    }
    if (memory->empty()) {  // an acknowledgement would not tell that from a refusal on its way
        send_refusal({static_cast<std::uint32_t>(Refusal::get), id,
                      static_cast<std::uint32_t>(Reason::none)},
                     0);
        return;
    }
    BulkSender::Transfer transfer;
    transfer.id = id;
    transfer.bytes = *memory;
    gets.begin(*gets.free_place(), transfer);
    sender(Channel::reply).begin_long(sender(Channel::reply).window.next());
    refill(Channel::reply);
}

std::optional<Connection::ChunkPlace> Connection::chunk_place(const Header& header,
                                                              const Incoming& incoming,
                                                              std::size_t size) const {
    const std::uint64_t data_max = config_.data_max();
    if (header.offset >= incoming.total || header.offset % data_max != 0) return std::nullopt;
    ChunkPlace place;
    const std::uint64_t in_chunk = header.offset % config_.chunk_bytes();
    place.base = header.offset - in_chunk;
    place.place = static_cast<std::uint32_t>(in_chunk / data_max);
    const std::uint64_t left = incoming.total - place.base;
    place.last = left <= config_.chunk_bytes();
    const std::uint64_t bytes = std::min<std::uint64_t>(left, config_.chunk_bytes());
    place.packets = static_cast<std::uint32_t>((bytes + data_max - 1) / data_max);
    if (header.count != place.packets) return std::nullopt;
    if (size != std::min(data_max, incoming.total - header.offset)) return std::nullopt;
    return place;
}

// Selective recovery: what is missing before this packet was lost, inside its own chunk too.
void Connection::complain_of_holes(const Header& header, const ChunkPlace& chunk,
                                   ReceiveWindow::Placement at) {
    ReceiveWindow& window = receiver(header.channel).window;
    if (config_.recovery != Recovery::selective || !may_complain(header.channel)) return;
    const bool in_order =
        at.distance == 0 && window.message(0).arrived == chunk.place;  // as it is without loss
    if (!in_order) window.complain(header.round, at.distance + chunk.place, false);
}

// Ahead of its OPEN, a packet is kept as it is: to write it early could undo the order of two
// stores to the same memory.
RxVerdict Connection::keep_early(const Header& header, ConstBytes data,
                                 ReceiveWindow::Placement at) {
    ReceiveWindow& window = receiver(header.channel).window;
    const auto place =
        static_cast<std::uint32_t>(header.offset % config_.chunk_bytes() / config_.data_max());
    if (place >= header.count || at.distance + header.count > window.window() ||
        header.count > config_.chunk_packets || window.message(at.distance).known()) {
        return RxVerdict::malformed;
    }
    if (may_complain(header.channel)) {
        window.complain(header.round, at.distance + place, false);
    }
    if (window.has(at.distance + place)) return RxVerdict::duplicate;
    ReceiveWindow::Early packet;
    packet.id = header.id;
    packet.count = header.count;
    packet.round = header.round;
    packet.offset = header.offset;
    return window.keep_early(at.distance, place, packet, data) ? RxVerdict::held
                                                               : RxVerdict::out_of_sequence;
}

// The expected message is a chunk of which packets were kept: now its OPEN is there. True: some
// were.
bool Connection::place_early() {
    ReceiveWindow& window = receiver(Channel::request).window;
    bool any = false;
    const std::uint32_t number = window.expected();
    while (window.expected() == number) {
        const auto packet = window.take_early(config_.chunk_packets);
        if (!packet) break;
        any = true;
        Header header;
        header.kind = Kind::chunk;
        header.id = packet->id;
        header.count = packet->count;
        header.round = packet->round;
        header.offset = packet->offset;
        header.number = number;
        // What does not fit its store is as if it had never arrived. The rest waits for room as
        // packets ahead do: a NACK may have said that it is there, so it can not be refused now.
        if (receiver(Channel::request).incoming[header.id].active) {
            (void)on_chunk(header, window.data_of(*packet), {ReceiveWindow::Place::ahead, 0});
        }
        window.free_slot(packet->slot);
    }
    return any;
}

RxVerdict Connection::on_chunk(const Header& header, ConstBytes data, ReceiveWindow::Placement at) {
    ReceiveWindow& window = receiver(header.channel).window;
    const bool ahead = at.place == ReceiveWindow::Place::ahead;
    Incoming& incoming = receiver(header.channel).incoming[header.id];
    if (!incoming.active) {
        return ahead ? keep_early(header, data, at) : RxVerdict::malformed;
    }
    const auto chunk = chunk_place(header, incoming, data.size());
    if (!chunk) return RxVerdict::malformed;
    ReceiveWindow::Message& message = window.message(at.distance);
    if (message.known()) {
        if (message.kind != Kind::chunk || message.id != header.id || message.base != chunk->base) {
            return RxVerdict::malformed;
        }
    } else if (!ahead && chunk->base != incoming.completed) {
        return RxVerdict::malformed;
    }
    const std::uint32_t distance = at.distance + chunk->place;
    if (at.distance + chunk->packets > window.window()) return RxVerdict::malformed;
    complain_of_holes(header, *chunk, at);
    if (window.has(distance)) return RxVerdict::duplicate;
    const bool completes = message.arrived + 1 == chunk->packets;
    if (!ahead && completes && chunk->last) {
        const Need need = need_of_last(header.channel, incoming);
        refused_id_ = need == Need::refusal_acked ? header.id : refused_id_;
        if (!met(need)) return refuse_packet(header, need, chunk->place);
        if (lost_its_handler(header.channel, incoming)) {
            refuse_store(header.id, Reason::no_handler);
            refused_id_ = header.id;
            return refuse_packet(header, Need::refusal_acked, chunk->place);
        }
    }
    if (!incoming.drained) {
        std::copy(data.begin(), data.end(),
                  incoming.memory.begin() + static_cast<std::ptrdiff_t>(header.offset));
    }
    message.kind = Kind::chunk;
    message.span = chunk->packets;
    message.id = header.id;
    message.base = chunk->base;
    ++message.arrived;
    window.mark(distance);
    if (ahead) return RxVerdict::held;
    if (completes) finish_chunk(header.channel);
    return RxVerdict::accepted;
}

// Who stores waits for the end; of a get its place at the peer does, where there may be too few.
bool Connection::end_is_awaited(Channel channel) const {
    return channel == Channel::request || !holds_acks_ || config_.get_slots < config_.gets_max;
}

// The expected message is a whole chunk.
void Connection::finish_chunk(Channel channel) {
    ReceiveWindow& window = receiver(channel).window;
    const ReceiveWindow::Message chunk = window.message(0);
    Incoming& incoming = receiver(channel).incoming[chunk.id];
    const std::uint64_t left = incoming.total - chunk.base;
    incoming.completed = chunk.base + std::min<std::uint64_t>(left, config_.chunk_bytes());
    pass_expected(channel);
    // AM-5: one for the chunk; where many are in flight, one for some of them.
    const bool ends = incoming.completed == incoming.total;
    const bool enough = window.owed() >= config_.ack_chunks * config_.chunk_packets;
    if (enough || (ends && end_is_awaited(channel))) window.owe_ack();
    if (ends) finish_transfer(channel, chunk.id);
}

void Connection::finish_transfer(Channel channel, std::uint32_t id) {
    Incoming& incoming = receiver(channel).incoming[id];
    receiver(channel).end_transfer(id);
    if (channel == Channel::reply) {
        delivery_ = GetEnded{incoming.tag, Reason::none};
    } else if (!incoming.drained) {
        delivery_ = Stored{incoming.handler, incoming.all(), incoming.argument};
    }
}

bool Connection::is_last_chunk(const ReceiveWindow::Message& chunk,
                               const Incoming& incoming) const {
    return incoming.total - chunk.base <= config_.chunk_bytes();
}

// Selective recovery: the expected message is there and finds no room, so the channel is stalled.
bool Connection::waits_for_room(Channel channel) const {
    const ReceiveWindow::Message& message = receiver(channel).window.message(0);
    if (!message.complete()) return false;
    if (message.in_place && note_refusal_ == NoteRefusal::unacked) return true;
    if (message.kind != Kind::chunk) return !met(need_of(message.kind));
    const Incoming& incoming = receiver(channel).incoming[message.id];
    if (!incoming.active || !is_last_chunk(message, incoming)) return false;
    const Need need = need_of_last(channel, incoming);
    return need == Need::refusal_acked ? incoming.refusal_unacked : !met(need);
}

// Selective recovery: what came ahead is passed once nothing is missing before it. True: something
// was.
bool Connection::pass_held(Channel channel) {
    ReceiveWindow& window = receiver(channel).window;
    const ReceiveWindow::Message message = window.message(0);
    if (!message.complete() || waits_for_room(channel)) return false;
    if (message.kind == Kind::chunk) {
        const Incoming& incoming = receiver(channel).incoming[message.id];
        if (!incoming.active) {
            window.pass();  // a second last chunk: no sender does that
            return true;
        }
        if (is_last_chunk(message, incoming) && lost_its_handler(channel, incoming)) {
            refuse_store(message.id, Reason::no_handler);
            return false;
        }
        finish_chunk(channel);
        return true;
    }
    const ConstBytes data = window.held(message);
    if (message.in_place && !take_note(data)) return false;
    if (message.awaited) window.owe_ack();
    pass_expected(channel);
    if (!message.in_place) accept_short(message.kind, message.id, data);
    if (delivery_) {
        drawn_slot_ = message.slot;  // its arguments are in use until the next draw
        drawn_channel_ = channel;
    } else {
        window.free_slot(message.slot);
    }
    return true;
}

}  // namespace wireproof::am
