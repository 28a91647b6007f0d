// What the user asks of Connection: requests, replies, stores and gets, and what is known of them.
#include <algorithm>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

// While an ended session is drawn, what is asked for would be taken for a part of it.
PostStatus Connection::readiness() const {
    if (!handshake_.established() && !handshake_.can_meet()) return PostStatus::peer_gone;
    const bool ready = !ending_.active && has_buffers();
    return ready ? PostStatus::accepted : PostStatus::window_full;
}

PostStatus Connection::request(HandlerId handler, ConstBytes arguments) {
    if (const PostStatus status = readiness(); status != PostStatus::accepted) return status;
    if (handler == HandlerId{}) return PostStatus::not_allowed;
    if (arguments.size() > config_.words_max * 4) return PostStatus::too_long;
    WIREPROOF_CHECK(arguments.size() % 4 == 0);
    const auto words = static_cast<std::uint16_t>(arguments.size() / 4);
    if (bulk_[index(Channel::request)].waits() ||
        !out_window(Channel::request)
             .push_here(Kind::request, static_cast<std::uint32_t>(handler), words, arguments)) {
        return PostStatus::window_full;
    }
    return PostStatus::accepted;
}

PostStatus Connection::reply(HandlerId handler, ConstBytes arguments) {
    if (!may_reply_ || handler == HandlerId{}) return PostStatus::not_allowed;
    if (arguments.size() > config_.words_max * 4) return PostStatus::too_long;
    WIREPROOF_CHECK(arguments.size() % 4 == 0);
    may_reply_ = false;
    // With nothing before it, it need not pass through the queue.
    const bool straight =
        fast_ && replies_.empty() && !bulk_[index(Channel::reply)].waits() &&
        out_window(Channel::reply)
            .push_here(Kind::reply, static_cast<std::uint32_t>(handler),
                       static_cast<std::uint16_t>(arguments.size() / 4), arguments);
    if (straight) return PostStatus::accepted;
    calm_ = false;
    replies_.push(static_cast<std::uint32_t>(handler), arguments, 0);
    refill(Channel::reply);
    return PostStatus::accepted;
}

PostStatus Connection::refuse(HandlerId missing) {
    if (!may_reply_) return PostStatus::not_allowed;
    may_reply_ = calm_ = false;
    send_refusal({static_cast<std::uint32_t>(Refusal::handler), static_cast<std::uint32_t>(missing),
                  static_cast<std::uint32_t>(Reason::no_handler)},
                 0);
    refill(Channel::reply);
    return PostStatus::accepted;
}

PostStatus Connection::store(const Store& store) {
    if (const PostStatus status = readiness(); status != PostStatus::accepted) return status;
    if (store.handler == HandlerId{}) return PostStatus::not_allowed;
    if (store.source.size() > config_.transfer_max()) return PostStatus::too_long;
    calm_ = false;
    BulkSender& stores = bulk_[index(Channel::request)];
    if (stores.waits()) return PostStatus::window_full;
    const OpenBody body{store.address, store.source.size(),
                        static_cast<std::uint32_t>(store.handler), store.argument};
    SendWindow& window = out_window(Channel::request);
    const std::size_t with_open = std::min(store.source.size(), config_.open_bytes);
    const ConstBytes begin = store.source.first(with_open);
    const std::uint64_t next = window.next();
    if (with_open == store.source.size()) {
        const bool pushed = window.push_note(body, begin, store.tag, true);
        if (pushed && with_open > config_.data_max() / 2) begin_long(Channel::request, next);
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
    begin_long(Channel::request, next + 1);
    refill(Channel::request);
    return PostStatus::accepted;
}

bool Connection::can_note() const {
    return readiness() == PostStatus::accepted && !bulk_[index(Channel::request)].waits() &&
           send_[index(Channel::request)].takes(OpenBody::size);
}

bool Connection::no_chunks_out() const {
    return bulk_[index(Channel::request)].active() == 0;
}

PostStatus Connection::note(const Note& note) {
    if (const PostStatus status = readiness(); status != PostStatus::accepted) return status;
    if (note.handler == HandlerId{}) return PostStatus::not_allowed;
    if (note.size > config_.transfer_max()) return PostStatus::too_long;
    const OpenBody body{note.address, note.size, static_cast<std::uint32_t>(note.handler),
                        note.argument};
    if (bulk_[index(Channel::request)].waits() ||
        !out_window(Channel::request).push_note(body, {}, note.tag, note.awaited)) {
        return PostStatus::window_full;
    }
    if (note.awaited) calm_ = false;
    return PostStatus::accepted;
}

PostStatus Connection::get(const Get& get) {
    if (const PostStatus status = readiness(); status != PostStatus::accepted) return status;
    if (get.destination.size() > config_.transfer_max()) return PostStatus::too_long;
    calm_ = false;
    auto& gets = incoming_[index(Channel::reply)];
    const auto free =
        std::find_if(gets.begin(), gets.end(), [](const Incoming& i) { return !i.active; });
    if (free == gets.end() || bulk_[index(Channel::request)].waits())
        return PostStatus::window_full;
    const auto id = static_cast<std::uint32_t>(free - gets.begin());
    std::array<std::byte, GetBody::size> body{};
    GetBody{get.address, get.destination.size()}.encode(body);
    if (!out_window(Channel::request).push(Kind::get_request, id, 0, body, id)) {
        return PostStatus::window_full;
    }
    *free = Incoming{};
    free->active = true;
    ++arriving_[index(Channel::reply)];
    free->total = get.destination.size();
    free->memory = get.destination;
    free->tag = get.tag;
    return PostStatus::accepted;
}

bool Connection::touches(ConstBytes memory) const {
    const auto overlaps = [memory](ConstBytes other) {
        return !memory.empty() && !other.empty() && memory.data() < other.data() + other.size() &&
               other.data() < memory.data() + memory.size();
    };
    for (const auto& sender : bulk_) {
        for (const auto& transfer : sender.transfers()) {
            if (transfer.active && overlaps(transfer.bytes)) return true;
        }
    }
    for (const auto& table : incoming_) {
        for (const auto& incoming : table) {
            if (incoming.active && overlaps(incoming.all())) return true;
        }
    }
    return false;
}

bool Connection::idle() const {
    const auto active = [](const auto& transfer) { return transfer.active; };
    for (std::size_t i = 0; i < channel_count; ++i) {
        if (!send_[i].empty()) return false;
        if (std::any_of(incoming_[i].begin(), incoming_[i].end(), active)) return false;
        const auto& transfers = bulk_[i].transfers();
        if (std::any_of(transfers.begin(), transfers.end(), active)) return false;
    }
    return replies_.empty() && !ending_.active && !holds_back_ack();
}

}  // namespace wireproof::am
