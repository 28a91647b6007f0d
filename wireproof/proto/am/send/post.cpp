// Calls of the caller that send: requests, replies, stores, notes and gets.

#include <algorithm>

#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {
// Until the caller has drawn an ended session, a new message would be mistaken for a part of it.
PostStatus Sender::readiness(const Session& session) {
    if (!session.established() && !session.handshake.can_meet()) return PostStatus::peer_gone;
    return session.ended.active ? PostStatus::window_full : PostStatus::accepted;
}

PostStatus Sender::request(const Session& session, HandlerId handler, ConstBytes arguments) {
    if (const PostStatus status = readiness(session); status != PostStatus::accepted) return status;
    if (handler == HandlerId{}) return PostStatus::not_allowed;
    if (arguments.size() > session.config().message_max) return PostStatus::too_long;
    Outgoing& requests = (*this)[Channel::request];
    if (requests.bulk.waits() ||
        !requests.window.push_here(Kind::request, static_cast<std::uint32_t>(handler), arguments)) {
        return PostStatus::window_full;
    }
    return PostStatus::accepted;
}

bool Sender::reply_at_once(HandlerId handler, ConstBytes arguments) {
    Outgoing& channel = (*this)[Channel::reply];
    return replies.empty() && !channel.bulk.waits() &&
           channel.window.push_here(Kind::reply, static_cast<std::uint32_t>(handler), arguments);
}

void Sender::reply(HandlerId handler, ConstBytes arguments) {
    replies.push(static_cast<std::uint32_t>(handler), arguments, 0);
    refill(Channel::reply);
}

void Sender::refuse(const RefusalBody& body, std::uint32_t owner) {
    std::array<std::byte, RefusalBody::size> bytes{};
    body.encode(bytes);
    replies.push(0, bytes, owner);
    refill(Channel::reply);
}

PostStatus Sender::store(const Session& session, const Store& store) {
    const Config& config = session.config();
    if (const PostStatus status = readiness(session); status != PostStatus::accepted) return status;
    if (store.handler == HandlerId{}) return PostStatus::not_allowed;
    if (store.source.size() > config.transfer_max()) return PostStatus::too_long;
    Outgoing& requests = (*this)[Channel::request];
    SendWindow& window = requests.window;
    BulkSender& stores = requests.bulk;
    if (stores.waits()) return PostStatus::window_full;
    const OpenBody body{store.address, store.source.size(),
                        static_cast<std::uint32_t>(store.handler), store.argument};
    const std::size_t with_open = std::min(store.source.size(), config.open_bytes);
    const ConstBytes begin = store.source.first(with_open);
    const std::uint64_t next = window.next();
    if (with_open == store.source.size()) {
        const bool pushed = window.push_note(body, begin, store.tag, true);
        if (pushed && with_open > config.data_max() / 2) requests.begin_long(next);
        return pushed ? PostStatus::accepted : PostStatus::window_full;
    }
    const auto place = stores.free_place();
    if (!place || !window.push_open(*place, body, begin)) return PostStatus::window_full;
    BulkSender::Transfer transfer;
    transfer.id = *place;
    transfer.bytes = store.source.subspan(with_open);
    transfer.tag = store.tag;
    transfer.handler = store.handler;
    stores.begin(*place, transfer);
    requests.begin_long(next + 1);
    refill(Channel::request);
    return PostStatus::accepted;
}

bool Sender::can_note(const Session& session) const {
    const Outgoing& requests = (*this)[Channel::request];
    return readiness(session) == PostStatus::accepted && !requests.bulk.waits() &&
           requests.window.takes(OpenBody::size);
}

PostStatus Sender::note(const Session& session, const Note& note) {
    if (const PostStatus status = readiness(session); status != PostStatus::accepted) return status;
    if (note.handler == HandlerId{}) return PostStatus::not_allowed;
    if (note.size > session.config().transfer_max()) return PostStatus::too_long;
    const OpenBody body{note.address, note.size, static_cast<std::uint32_t>(note.handler),
                        note.argument};
    Outgoing& requests = (*this)[Channel::request];
    const bool pushed =
        !requests.bulk.waits() && requests.window.push_note(body, {}, note.tag, note.awaited);
    return pushed ? PostStatus::accepted : PostStatus::window_full;
}

PostStatus Sender::get(const Session& session, const Get& get, std::optional<std::uint32_t> id) {
    if (const PostStatus status = readiness(session); status != PostStatus::accepted) return status;
    if (get.destination.size() > session.config().transfer_max()) return PostStatus::too_long;
    Outgoing& requests = (*this)[Channel::request];
    if (!id || requests.bulk.waits()) return PostStatus::window_full;
    std::array<std::byte, GetBody::size> body{};
    GetBody{get.address, get.destination.size()}.encode(body);
    const bool pushed = requests.window.push(Kind::get_request, *id, body, *id);
    return pushed ? PostStatus::accepted : PostStatus::window_full;
}

// AM-44: on the reply channel.
void Sender::serve_get(std::uint32_t id, ConstBytes memory) {
    Outgoing& channel = (*this)[Channel::reply];
    BulkSender::Transfer transfer;
    transfer.id = id;
    transfer.bytes = memory;
    channel.bulk.begin(*channel.bulk.free_place(), transfer);
    channel.begin_long(channel.window.next());
    refill(Channel::reply);
}

// AM-24: replies have a window of their own. There is new room, or a new message needs room. A
// chunk that waited goes before replies that came later.
void Sender::refill_waiting(Channel channel) {
    SendWindow& window = (*this)[channel].window;
    BulkSender& bulk = (*this)[channel].bulk;
    if (channel == Channel::reply) {
        if (bulk.waits()) bulk.admit(window);
        while (!bulk.waits() && !replies.empty()) {
            const auto& reply = replies.front();
            const ConstBytes arguments = replies.arguments(reply);
            if (!window.push(Kind::reply, reply.id, arguments, reply.owner)) break;
            replies.pop();
        }
    }
    bulk.admit(window);
}

}  // namespace wireproof::am
