// What a connection knows of the path that its packets share with others: questions leave as often
// as the window needs, and what was heard moves it.
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

void Connection::forget_path() {
    for (const Channel channel : {Channel::request, Channel::reply}) {
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
void Connection::heed_counted(Instant now, Channel channel, std::uint32_t overran) {
    const bool controlled = config_.congestion == Congestion::on;
    SendWindow& window = out_window(channel);
    PacketsAfoot& afoot = window.afoot();
    CongestionWindow& congestion = congestion_[index(channel)];
    if (overran > 0 && !afoot.counted()) {
        congestion = CongestionWindow({.start = overran, .most = config_.window_of(channel)});
        window.count_afoot();
    }
    const PacketsAfoot::Heard heard = afoot.take_heard();
    if (heard.arrived > 0) congestion.on_arrived(heard.arrived, afoot.most());
    if (overran > 0) {
        congestion.on_overrun(now, heard.lost);
    } else if (heard.lost > 0 && controlled) {
        congestion.on_lost(now, heard.lost);
    }
    const bool waits = backoff_[index(channel)].wait() > Duration();
    if (heard.arrived > 0 || (heard.lost > 0 && !waits)) {
        keepalive_interval_[index(channel)] = patience(channel);
    }
    if (!controlled && congestion.packets() == config_.window_of(channel)) {
        afoot.end_counting();
    } else {
        afoot.allow(congestion.packets());
    }
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
