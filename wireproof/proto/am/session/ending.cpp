// Reports what an ended session leaves.

#include "wireproof/proto/am/session/session.hpp"

namespace wireproof::am {

HandlerId Session::handler_of_note(const SendWindow& window, const SendWindow::Saved& note) {
    const ConstBytes body = window.data_of(note);
    return static_cast<HandlerId>(OpenBody::decode(body.first<OpenBody::size>()).handler);
}

// Each unfinished message once and in order, then the end of the session.
std::optional<Delivery> Session::draw_ending() {
    using What = FateUnknown::What;
    for (; ending_.channel < channel_count; ++ending_.channel, ending_.next = 0) {
        const SendWindow& window = send_[ending_.channel].window;
        while (ending_.next < window.saved().size()) {
            const auto& message = window.saved()[ending_.next];
            const std::uint64_t position = message.position + ending_.of_row++;
            const bool more = SendWindow::is_row(message) && ending_.of_row < message.span;
            if (!more) {
                ++ending_.next;
                ending_.of_row = 0;
            }
            const auto handler = static_cast<HandlerId>(message.id);
            if (message.kind == Kind::request) {
                return FateUnknown{What::request, handler, window.data_at(message, position), 0};
            }
            if (message.kind == Kind::reply && message.id != 0) {
                return FateUnknown{What::reply, handler, window.data_at(message, position), 0};
            }
            if (message.kind == Kind::get_request) {
                Incoming& get = receiver(Channel::reply).incoming[message.owner];
                if (!get.active || get.reported) continue;
                get.reported = true;
                return FateUnknown{What::get, {}, {}, get.tag};
            }
            if (ending_.channel != index(Channel::request)) continue;
            if (message.in_place)
                return FateUnknown{
                    What::store, handler_of_note(window, message), {}, message.offset};
            auto& store = sender(Channel::request).bulk.transfers()[message.owner];
            if (store.reported) continue;
            store.reported = true;
            return FateUnknown{What::store, store.handler, {}, store.tag};
        }
    }
    for (; !replies_.empty() && ending_.stage < replies_.waiting().size();) {
        const auto& waiting = replies_.waiting()[ending_.stage++];
        if (waiting.id == 0) continue;
        return FateUnknown{What::reply, static_cast<HandlerId>(waiting.id),
                           replies_.arguments(waiting), 0};
    }
    for (auto& store : sender(Channel::request).bulk.transfers()) {
        if (!store.active || store.reported) continue;
        store.reported = true;
        return FateUnknown{What::store, store.handler, {}, store.tag};
    }
    for (auto& get : receiver(Channel::reply).incoming) {
        if (!get.active || get.reported) continue;
        get.reported = true;
        return FateUnknown{What::get, {}, {}, get.tag};
    }
    const SessionEnded ended = ending_.ended;
    forget_session();
    return ended;
}

}  // namespace wireproof::am
