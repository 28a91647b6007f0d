// Calls of the caller that send: requests, replies, stores, notes and gets.

#include <algorithm>

#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {
// Until the caller has drawn an ended session, a new message would be mistaken for a part of it.
PostStatus Sender::readiness() const {
    if (!handshake_.established() && !handshake_.can_meet()) return PostStatus::peer_gone;
    return ending_.active ? PostStatus::window_full : PostStatus::accepted;
}

PostStatus Sender::request(HandlerId handler, ConstBytes arguments) {
    if (const PostStatus status = readiness(); status != PostStatus::accepted) return status;
    if (handler == HandlerId{}) return PostStatus::not_allowed;
    if (arguments.size() > config_.message_max) return PostStatus::too_long;
    if (sender(Channel::request).bulk.waits() ||
        !sender(Channel::request)
             .window.push_here(Kind::request, static_cast<std::uint32_t>(handler), arguments)) {
        return PostStatus::window_full;
    }
    return PostStatus::accepted;
}

PostStatus Sender::reply(HandlerId handler, ConstBytes arguments) {
    // AM-22, AM-23: one reply to a request or store, and none to a reply.
    if (!may_reply_ || handler == HandlerId{}) return PostStatus::not_allowed;
    if (arguments.size() > config_.message_max) return PostStatus::too_long;
    may_reply_ = false;
    // With nothing before it, it need not pass through the queue.
    const bool straight =
        fast_ && replies_.empty() && !sender(Channel::reply).bulk.waits() &&
        sender(Channel::reply)
            .window.push_here(Kind::reply, static_cast<std::uint32_t>(handler), arguments);
    if (straight) return PostStatus::accepted;
    predicting_ = false;
    replies_.push(static_cast<std::uint32_t>(handler), arguments, 0);
    refill(Channel::reply);
    return PostStatus::accepted;
}

PostStatus Sender::refuse(HandlerId missing) {
    if (!may_reply_) return PostStatus::not_allowed;
    may_reply_ = predicting_ = false;
    send_refusal({static_cast<std::uint32_t>(Refusal::handler), static_cast<std::uint32_t>(missing),
                  static_cast<std::uint32_t>(Reason::no_handler)},
                 0);
    refill(Channel::reply);
    return PostStatus::accepted;
}

void Sender::send_refusal(RefusalBody body, std::uint32_t owner) {
    std::array<std::byte, RefusalBody::size> bytes{};
    body.encode(bytes);
    replies_.push(0, bytes, owner);
    refill(Channel::reply);
}

PostStatus Sender::store(const Store& store) {
    if (const PostStatus status = readiness(); status != PostStatus::accepted) return status;
    if (store.handler == HandlerId{}) return PostStatus::not_allowed;
    if (store.source.size() > config_.transfer_max()) return PostStatus::too_long;
    predicting_ = false;
    BulkSender& stores = sender(Channel::request).bulk;
    if (stores.waits()) return PostStatus::window_full;
    const OpenBody body{store.address, store.source.size(),
                        static_cast<std::uint32_t>(store.handler), store.argument};
    SendWindow& window = sender(Channel::request).window;
    const std::size_t with_open = std::min(store.source.size(), config_.open_bytes);
    const ConstBytes begin = store.source.first(with_open);
    const std::uint64_t next = window.next();
    if (with_open == store.source.size()) {
        const bool pushed = window.push_note(body, begin, store.tag, true);
        if (pushed && with_open > config_.data_max() / 2) sender(Channel::request).begin_long(next);
        return pushed ? PostStatus::accepted : PostStatus::window_full;
    }
    const auto place = stores.free_place();
    if (!place || !window.push_open(*place, body, begin)) {
        return PostStatus::window_full;
    }
    BulkSender::Transfer transfer;
    transfer.id = *place;
    transfer.bytes = store.source.subspan(with_open);
    transfer.tag = store.tag;
    transfer.handler = store.handler;
    stores.begin(*place, transfer);
    sender(Channel::request).begin_long(next + 1);
    refill(Channel::request);
    return PostStatus::accepted;
}

bool Sender::can_note() const {
    return readiness() == PostStatus::accepted && !sender(Channel::request).bulk.waits() &&
           sender(Channel::request).window.takes(OpenBody::size);
}

PostStatus Sender::note(const Note& note) {
    if (const PostStatus status = readiness(); status != PostStatus::accepted) return status;
    if (note.handler == HandlerId{}) return PostStatus::not_allowed;
    if (note.size > config_.transfer_max()) return PostStatus::too_long;
    const OpenBody body{note.address, note.size, static_cast<std::uint32_t>(note.handler),
                        note.argument};
    if (sender(Channel::request).bulk.waits() ||
        !sender(Channel::request).window.push_note(body, {}, note.tag, note.awaited)) {
        return PostStatus::window_full;
    }
    if (note.awaited) predicting_ = false;
    return PostStatus::accepted;
}

PostStatus Sender::get(const Get& get) {
    if (const PostStatus status = readiness(); status != PostStatus::accepted) return status;
    if (get.destination.size() > config_.transfer_max()) return PostStatus::too_long;
    predicting_ = false;
    auto& gets = receiver(Channel::reply).incoming;
    const auto free =
        std::find_if(gets.begin(), gets.end(), [](const Incoming& i) { return !i.active; });
    if (free == gets.end() || sender(Channel::request).bulk.waits()) return PostStatus::window_full;
    const auto id = static_cast<std::uint32_t>(free - gets.begin());
    std::array<std::byte, GetBody::size> body{};
    GetBody{get.address, get.destination.size()}.encode(body);
    if (!sender(Channel::request).window.push(Kind::get_request, id, body, id)) {
        return PostStatus::window_full;
    }
    Incoming& arriving = receiver(Channel::reply).begin_transfer(id);
    arriving.total = get.destination.size();
    arriving.memory = get.destination;
    arriving.tag = get.tag;
    return PostStatus::accepted;
}

}  // namespace wireproof::am
