// What a connection knows of the path that its packets share with others: questions leave as often
// as the window needs, and what was heard moves it.
#include <algorithm>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

void Connection::forget_path() {
    for (const Channel channel : {Channel::request, Channel::reply}) {
        long_[index(channel)] = {};
        PacketsAfoot& afoot = out_window(channel).afoot();
        if (config_.congestion == Congestion::off) {
            afoot.end_counting();
            continue;
        }
        congestion_[index(channel)] = CongestionWindow({.most = config_.window_of(channel)});
        afoot.allow(congestion_[index(channel)].packets());
    }
}

// What was heard of the packets under way decides how many may be. A peer whose host has no room is
// heeded without congestion control, too: from then on until the window is whole again packets are
// counted, and nothing else counts. `overran`: packets under way that were too many for it.
void Connection::heed_steered(Instant now, Channel channel, std::uint32_t overran) {
    const bool controlled = config_.congestion == Congestion::on;
    SendWindow& window = out_window(channel);
    PacketsAfoot& afoot = window.afoot();
    CongestionWindow& congestion = congestion_[index(channel)];
    if (afoot.holds_new()) follow_missing(channel);
    if (overran > 0 && (!afoot.counted() || afoot.seldom())) {
        congestion = CongestionWindow({.start = overran, .most = config_.window_of(channel)});
        window.count_afoot();
    }
    if (!afoot.counted()) return;
    const PacketsAfoot::Heard heard = afoot.take_heard();
    if (heard.arrived > 0) congestion.on_arrived(heard.arrived, afoot.most());
    if (overran > 0) {
        congestion.on_overrun(now, heard.lost);
    } else if (heard.lost > 0 && controlled) {
        congestion.on_lost(now, heard.lost);
    }
    if (heard.arrived > 0 || (heard.lost > 0 && !afoot.seldom())) {
        keepalive_interval_[index(channel)] = patience(channel);
    }
    const bool limited = allow_packets(channel);
    if (!controlled && !limited) afoot.end_counting();
}

// A transfer begins; its first long packet is, or will be, the one at that position.
void Connection::begin_long(Channel channel, std::uint64_t first) {
    LongPackets& known = long_[index(channel)];
    const std::uint32_t all = config_.window_of(channel);
    // In go-back-N a question amid a chunk would have all of it sent again.
    const bool limited = config_.recovery == Recovery::selective && config_.resend_limit > 0 &&
                         config_.first_flight < all;
    if (!limited || known.arrive || known.under_way) return;
    known.under_way = true;
    known.first = first;
    SendWindow& window = out_window(channel);
    if (!window.afoot().counted()) {
        congestion_[index(channel)] = CongestionWindow({.start = all, .most = all});
        window.count_afoot(true);
    }
    (void)allow_packets(channel);
}

// True: fewer may be under way than the window.
bool Connection::allow_packets(Channel channel) {
    SendWindow& window = out_window(channel);
    LongPackets& known = long_[index(channel)];
    if (known.under_way && window.una() > known.first) known = {.arrive = true};
    std::uint32_t most = congestion_[index(channel)].packets();
    if (known.under_way) most = std::min(most, config_.first_flight);
    window.afoot().allow(most);
    return most < config_.window_of(channel) || known.under_way;
}

// Once the packet that the peer misses is another, or none, nothing is held for it.
void Connection::follow_missing(Channel channel) {
    SendWindow& window = out_window(channel);
    ResendBackoff& backoff = backoff_[index(channel)];
    backoff.on_missing(window.first_missing());
    if (backoff.times() == 0) window.afoot().hold_new(false);
}

// An answer may be to the question that measures the loop.
void Connection::heed_answer(Instant now, Channel channel, std::uint32_t distance,
                             std::uint32_t overran) {
    const auto loop = out_window(channel).answered(now, distance);
    if (loop) congestion_[index(channel)].on_loop(now, *loop);
    heed_path(now, channel, overran);
    if (loop) out_window(channel).afoot().begin_most();
}

// One question may be lost by itself, and its answer too.
void Connection::heed_silence(Instant now, Channel channel) {
    out_window(channel).afoot().forget_questions();
    if (unanswered_ > 1 && config_.congestion == Congestion::on) {
        congestion_[index(channel)].on_silence(now - silent_since_);
    }
    heed_path(now, channel);
}

// Before what waits to leave, so that answers come spread over the round trip.
bool Connection::send_question(Instant now, Channel channel, TxFrame& out) {
    if (!out_window(channel).afoot().wants_answer()) return false;
    keepalive_due_[index(channel)] = true;
    return send_keepalive(now, channel, out);
}

}  // namespace wireproof::am
