// Messages that draw one another, each by itself and as foreseen, are only counted while they come
// and leave (connection_lone.hpp). Here that begins, and what was counted is taken in.
#include <algorithm>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

// Where a loop is measured, each acknowledgement counts by itself.
bool Connection::foresee() {
    const bool calm = calm_ && exchanges_.came == 0 && !plain_here_ && send_[0].window.settled() &&
                      send_[1].window.settled() && !holds_acks_ &&
                      config_.probe_after == Duration();
    if (!calm) return false;
    exchanges_.longest = config_.words_max * std::size_t{4};
    for (std::size_t at = 0; at < channel_count; ++at) {
        exchanges_.coming[at] = receive_[at].window.expected();
        exchanges_.leaving[at] = send_[at].window.first_unsent();
        exchanges_.longest = std::min(exchanges_.longest, send_[at].window.longest_with_ease());
    }
    return true;
}

// As accept_message and left_alone have it, one by one.
[[gnu::noinline]] void Connection::take_in_exchanges() {
    const Exchanges& seen = exchanges_;
    const Channel out = other(seen.channel);
    const bool answered = has_followed();
    const std::uint32_t freed = answered ? seen.left - 1 : seen.left;
    liveness_.heard(seen.since);
    nothing_to_draw_ = false;
    may_reply_ = seen.channel == Channel::request && !answered;
    for (const Channel channel : {Channel::request, Channel::reply}) {
        if (!sender(channel).window.empty()) end_all(seen.began, channel);
    }
    if (freed > 0) {
        sender(out).window.skip(freed);
        note_freed(seen.since, out, freed);
    }
    if (seen.left > 0) {
        note_acks_left();
        turn_ = seen.channel;
    }
    ReceiveWindow& in = receiver(seen.channel).window;
    in.pass_plain(seen.came, in.owed() + (answered ? 0 : 1));
    stats_.received[static_cast<std::size_t>(RxVerdict::accepted)] += seen.came;
    const Kind kind = message_kind(out);
    stats_.sent[static_cast<std::size_t>(kind)] += freed;
    if (answered) {
        WIREPROOF_CHECK(sender(out).window.push_here(kind, static_cast<std::uint32_t>(seen.handler),
                                                     static_cast<std::uint16_t>(seen.size / 4),
                                                     ConstBytes(seen.words).first(seen.size)));
        note_left(out, kind, 1, 1);
        note_departure(seen.left_at, out);
    }
    exchanges_.came = exchanges_.left = 0;
}

}  // namespace wireproof::am
