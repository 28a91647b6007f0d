// Numbered packets that arrive in order, ahead or behind, except chunks: which are accepted, held
// or dropped, and which the receiver answers.

#include <algorithm>

#include "wireproof/proto/am/receive/fast_receive.hpp"

namespace wireproof::am {
namespace {

bool is_open(const Packet& packet, const Config& config) {
    const Header& header = packet.header;
    const auto* const body = std::get_if<OpenBody>(&packet.body);
    if (body == nullptr || header.id >= config.stores_max || body->handler == 0 ||
        body->handler > handler_max || body->total > config.transfer_max()) {
        return false;
    }
    const std::size_t bytes = packet.payload.size();
    if (!header.in_place) return bytes == config.open_bytes && bytes < body->total;
    return header.id == 0 && header.count <= 1 &&
           (bytes == 0 || (bytes == body->total && bytes <= config.open_bytes));
}

}  // namespace

RxVerdict Receiver::on_numbered(const Packet& packet, const Others& others) {
    const Config& config = others.session.config();
    const Header& header = packet.header;
    ReceiveWindow& window = (*this)[header.channel].window;
    if (!has_buffers() && needs_buffers(header)) return put_off(header);
    if (!well_formed(packet, config)) return RxVerdict::malformed;
    if (header.kind == Kind::bundle) return on_bundle(packet, others);
    const auto at = window.placement_of(header.number);
    using Place = ReceiveWindow::Place;
    if (at.place == Place::stale) return RxVerdict::stale;
    if (at.place == Place::behind) {
        window.owe_ack();  // AM-34: an ACK, and no NACK
        return RxVerdict::duplicate;
    }
    if (at.place == Place::ahead) {  // AM-9, AM-10
        // A dropped packet is missing, too, even if the gap before it is filled in this turn.
        const bool drops = config.recovery == Recovery::go_back_n || !has_buffers();
        if (may_nack(header.channel, others)) {
            window.owe_nack(header.round, at.distance + (drops ? 1 : 0), false);
        }
        if (drops) return RxVerdict::out_of_sequence;
    }
    return header.kind == Kind::chunk ? on_chunk(header, packet.payload, at, others)
                                      : on_short(packet, at, others);
}

// A reply in order is delivered from its frame, and the receiver owes only an acknowledgement for
// it. A connection that only waits for replies has no packet in flight, so its buffers may be lent
// to others.
bool Receiver::needs_buffers(const Header& header) {
    return header.channel == Channel::request || header.kind == Kind::chunk;
}

bool Receiver::would_put_off(const Header& header) const {
    if (has_buffers() || !is_numbered(header.kind) || !needs_buffers(header)) return false;
    const auto at = (*this)[header.channel].window.placement_of(header.number);
    using Place = ReceiveWindow::Place;
    return at.place == Place::expected || at.place == Place::ahead;
}

// Like a packet without a place for its reply: it arrived, and the receiver asks for it later.
RxVerdict Receiver::put_off(const Header& header) {
    ReceiveWindow& window = (*this)[header.channel].window;
    const auto at = window.placement_of(header.number);
    using Place = ReceiveWindow::Place;
    if (at.place == Place::stale) return RxVerdict::stale;
    if (at.place == Place::behind) {
        window.owe_ack();
        return RxVerdict::duplicate;
    }
    const bool many = header.kind == Kind::bundle || header.kind == Kind::chunk;
    const std::uint32_t packets = many ? header.count : 1;
    window.put_off(header.round, std::min(at.distance + packets, window.window()));
    return RxVerdict::refused;
}

// Whether a sender of this configuration may write this packet. The check needs no state.
bool Receiver::well_formed(const Packet& packet, const Config& config) const {
    const auto& [header, body, payload] = packet;
    const bool fits = header.count <= config.message_max && header.count == payload.size();
    switch (header.kind) {
        case Kind::request: return fits && header.id != 0 && header.id <= handler_max;
        case Kind::reply:
            if (header.id != 0) return fits && header.id <= handler_max;
            return std::holds_alternative<RefusalBody>(body) && payload.empty() &&
                   header.count == RefusalBody::size;
        case Kind::open: return is_open(packet, config);
        case Kind::get_request: {
            const auto* const get = std::get_if<GetBody>(&body);
            return get != nullptr && payload.empty() && header.id < config.gets_max &&
                   get->total <= config.transfer_max();
        }
        case Kind::chunk:
            return !payload.empty() && header.id < (*this)[header.channel].transfers.size();
        case Kind::bundle:
            return payload.size() <= config.bundle_max && header.id == 0 &&
                   BundleRange(payload, header.count).are_right(config.message_max);
        default: return false;
    }
}

// Each message counts as if it had arrived in its own packet. The receiver looks at a message when
// the messages before it have been drawn, because a handler may take the last place for a reply.
RxVerdict Receiver::on_bundle(const Packet& packet, const Others& others) {
    const Header& header = packet.header;
    deliveries.unpack(
        {{packet.payload, header.count}, header.number, header.channel, header.round});
    const RxVerdict first = unpack_next(others);
    RxVerdict verdict = first;
    while (deliveries.unpacks() && verdict != RxVerdict::accepted) verdict = unpack_next(others);
    return verdict == RxVerdict::accepted ? verdict : first;
}

RxVerdict Receiver::unpack_next(const Others& others) {
    auto& [session, sender] = others;
    if (unpack_fast(session, sender)) return RxVerdict::accepted;
    BundleRange& messages = deliveries.bundle().messages;
    const auto message = messages.next(session.config().message_max);
    if (!message) messages.drop();  // the peer has changed the frame meanwhile
    const RxVerdict verdict = message ? on_unpacked(*message, others) : RxVerdict::malformed;
    if (verdict != RxVerdict::accepted) ++session.stats.unpacked[static_cast<std::size_t>(verdict)];
    return verdict;
}

RxVerdict Receiver::on_unpacked(const BundleRange::Message& message, const Others& others) {
    Unpacking& bundle = deliveries.bundle();
    Header header;
    header.kind = message_kind(bundle.channel);
    header.channel = bundle.channel;
    header.round = bundle.round;
    header.count = static_cast<std::uint16_t>(message.arguments.size());
    header.number = bundle.number;
    header.id = message.handler;
    bundle.number = (*this)[bundle.channel].window.number_after(bundle.number);
    return on_numbered({header, {}, message.arguments}, others);
}

RxVerdict Receiver::on_short(const Packet& packet, ReceiveWindow::Placement at,
                             const Others& others) {
    const Header& header = packet.header;
    ReceiveWindow& window = (*this)[header.channel].window;
    ReceiveWindow::Message& message = window.message(at.distance);
    if (window.has(at.distance)) return RxVerdict::duplicate;
    if (message.known()) return RxVerdict::malformed;  // a chunk has begun under this number
    if (at.place == ReceiveWindow::Place::ahead) {
        if (!window.hold(message, packet.body, packet.payload)) return RxVerdict::out_of_sequence;
        message.kind = header.kind;
        message.span = message.arrived = 1;
        message.id = header.id;
        message.in_place = header.in_place;
        message.awaited = header.in_place && header.count != 0;
        window.mark(at.distance);
        return RxVerdict::held;
    }
    if (header.in_place) return on_note(packet, others.sender);
    const bool store_is_open =
        header.kind == Kind::open && (*this)[Channel::request].transfers[header.id].active;
    if (store_is_open) return RxVerdict::malformed;
    const Need need = need_of(header.kind);
    if (!met(need, others.sender)) return refuse_packet(header, need, 0);
    message.kind = header.kind;
    message.span = 1;
    pass_expected(header.channel);
    accept_short(header.kind, header.id, packet.body, packet.payload, others);
    return RxVerdict::accepted;
}

/// The expected message is complete. If a packet was refused, it was part of this message.
void Receiver::pass_expected(Channel channel) {
    (*this)[channel].window.pass();
    if (channel == Channel::request) stall_.need = Need::nothing;
}

void Receiver::accept_short(Kind kind, std::uint32_t id, const Body& body, ConstBytes payload,
                            const Others& others) {
    Sender& sender = others.sender;
    switch (kind) {
        case Kind::request: deliveries.put(Request{static_cast<HandlerId>(id), payload}); break;
        case Kind::reply:
            if (id == 0) {
                accept_refusal(std::get<RefusalBody>(body), sender);
            } else {
                deliveries.put(Reply{static_cast<HandlerId>(id), payload});
            }
            break;
        case Kind::open: open_store(id, std::get<OpenBody>(body), payload, sender); break;
        case Kind::get_request: serve_get(id, std::get<GetBody>(body), sender); break;
        default: break;
    }
}

void Receiver::accept_refusal(const RefusalBody& refusal, Sender& sender) {
    Outgoing& requests = sender[Channel::request];
    const auto reason = static_cast<Reason>(refusal.reason);
    switch (static_cast<Refusal>(refusal.what)) {
        case Refusal::handler:
            deliveries.put(Refused{static_cast<HandlerId>(refusal.id), reason});
            return;
        case Refusal::store: {
            auto& stores = requests.bulk.transfers();
            if (refusal.id < stores.size()) stores[refusal.id].reason = reason;
            (*this)[Channel::reply].window.owe_ack();  // the peer then accepts the last packet
            return;
        }
        case Refusal::note:
            if (SendWindow::Saved* note = requests.window.note(refusal.id)) {
                note->owner = refusal.reason;
                const bool awaited = note->count != 0;
                if (!awaited && reason == Reason::no_handler) {
                    deliveries.put(Refused{requests.window.handler_of_note(*note), reason});
                }
            }
            (*this)[Channel::reply].window.owe_ack();  // the peer then accepts the note
            return;
        case Refusal::get: {
            auto& gets = (*this)[Channel::reply].transfers;
            if (refusal.id >= gets.size() || !gets[refusal.id].active) return;
            (*this)[Channel::reply].end_transfer(refusal.id);
            // Only the answer to a get of no bytes may say that all is well.
            const bool whole = gets[refusal.id].total == 0;
            deliveries.put(GetEnded{gets[refusal.id].tag,
                                    whole || reason != Reason::none ? reason : Reason::forbidden});
            return;
        }
    }
}

void Receiver::serve_get(std::uint32_t id, const GetBody& body, Sender& sender) {
    const auto memory = memory_->readable(body.address, body.total);
    // AM-28: after a get of no bytes, an acknowledgement could also be of a refused get.
    if (memory && !memory->empty()) return sender.serve_get(id, *memory);
    const Reason reason = memory ? Reason::none : Reason::forbidden;
    sender.refuse(
        {static_cast<std::uint32_t>(Refusal::get), id, static_cast<std::uint32_t>(reason)}, 0);
}

// Selective recovery: a message that arrived ahead is passed once no packet before it is missing
// (AM-15). Returns whether there was one.
bool Receiver::pass_held(Channel channel, const Others& others) {
    ReceiveWindow& window = (*this)[channel].window;
    const ReceiveWindow::Message message = window.message(0);
    if (!message.complete() || waits_for_room(channel, others)) return false;
    if (message.kind == Kind::chunk) {
        const ArrivingTransfer& incoming = (*this)[channel].transfers[message.id];
        if (!incoming.active) {
            window.pass();  // a second last chunk: no sender sends one
            return true;
        }
        if (incoming.is_last_chunk(message.base, others.session.config()) &&
            lost_its_handler(channel, incoming)) {
            refuse_store(message.id, Reason::no_handler, others.sender);
            return false;
        }
        finish_chunk(channel, others.session.config());
        return true;
    }
    const ConstBytes data = window.held(message);
    const Body body = read_body(message.kind, message.id, data);
    const ConstBytes payload = data.subspan(size_of(body));
    if (message.in_place && !take_note(std::get<OpenBody>(body), payload, others.sender))
        return false;
    if (message.awaited) window.owe_ack();
    pass_expected(channel);
    if (!message.in_place) accept_short(message.kind, message.id, body, payload, others);
    if (deliveries.has_delivery()) {
        deliveries.drew_held({channel, message.slot});
    } else {
        window.free_slot(message.slot);
    }
    return true;
}

std::optional<Delivery> Receiver::draw(const Others& others) {
    while (true) {
        if (auto drawn = deliveries.take_of_frame()) return drawn;
        if (place_early(others) || pass_held(Channel::request, others) ||
            pass_held(Channel::reply, others)) {
            continue;
        }
        if (!deliveries.unpacks()) return std::nullopt;
        (void)unpack_next(others);
    }
}

}  // namespace wireproof::am
