// Reports what an ended session leaves.
#include "wireproof/proto/am/unfinished.hpp"

namespace wireproof::am {

// Each unfinished message once and in order, then the end of the session.
std::optional<Delivery> draw_unfinished(Ended& ended, Sender& sender, Receiver& receiver) {
    using What = FateUnknown::What;
    for (; ended.channel < channel_count; ++ended.channel, ended.next = 0) {
        const SendWindow& window = sender.channels()[ended.channel].window;
        while (ended.next < window.saved().size()) {
            const auto& message = window.saved()[ended.next];
            const std::uint64_t position = message.position + ended.of_row++;
            const bool more = SendWindow::is_row(message) && ended.of_row < message.span;
            if (!more) {
                ++ended.next;
                ended.of_row = 0;
            }
            const auto handler = static_cast<HandlerId>(message.id);
            if (message.kind == Kind::request) {
                return FateUnknown{What::request, handler, window.data_at(message, position), 0};
            }
            if (message.kind == Kind::reply && message.id != 0) {
                return FateUnknown{What::reply, handler, window.data_at(message, position), 0};
            }
            if (message.kind == Kind::get_request) {
                ArrivingTransfer& get = receiver[Channel::reply].transfers[message.owner];
                if (!get.active || get.reported) continue;
                get.reported = true;
                return FateUnknown{What::get, {}, {}, get.tag};
            }
            if (ended.channel != static_cast<std::size_t>(Channel::request)) continue;
            if (message.in_place)
                return FateUnknown{
                    What::store, window.handler_of_note(message), {}, message.offset};
            auto& store = sender[Channel::request].bulk.transfers()[message.owner];
            if (store.reported) continue;
            store.reported = true;
            return FateUnknown{What::store, store.handler, {}, store.tag};
        }
    }
    for (; !sender.replies.empty() && ended.stage < sender.replies.waiting().size();) {
        const auto& waiting = sender.replies.waiting()[ended.stage++];
        if (waiting.id == 0) continue;
        return FateUnknown{What::reply, static_cast<HandlerId>(waiting.id),
                           sender.replies.arguments(waiting), 0};
    }
    for (auto& store : sender[Channel::request].bulk.transfers()) {
        if (!store.active || store.reported) continue;
        store.reported = true;
        return FateUnknown{What::store, store.handler, {}, store.tag};
    }
    for (auto& get : receiver[Channel::reply].transfers) {
        if (!get.active || get.reported) continue;
        get.reported = true;
        return FateUnknown{What::get, {}, {}, get.tag};
    }
    return std::nullopt;
}

}  // namespace wireproof::am
