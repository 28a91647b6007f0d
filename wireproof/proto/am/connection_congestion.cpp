// What a connection knows of the path that its packets share with others: questions leave as often
// as the window needs, and what was heard moves it.
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

void Connection::forget_path() {
    if (config_.congestion == Congestion::off) return;
    for (const Channel channel : {Channel::request, Channel::reply}) {
        congestion_[index(channel)] = CongestionWindow({.most = config_.window_of(channel)});
        out_window(channel).afoot().allow(congestion_[index(channel)].packets());
    }
}

// What was heard of the packets under way decides how many may be.
void Connection::heed_path(Instant now, Channel channel) {
    if (config_.congestion == Congestion::off) return;
    CongestionWindow& congestion = congestion_[index(channel)];
    PacketsAfoot& afoot = out_window(channel).afoot();
    const PacketsAfoot::Heard heard = afoot.take_heard();
    if (heard.arrived > 0) congestion.on_arrived(heard.arrived, afoot.most());
    if (heard.lost > 0) congestion.on_lost(now, heard.lost);
    if (heard.arrived + heard.lost > 0) keepalive_interval_[index(channel)] = patience(channel);
    afoot.allow(congestion.packets());
}

// An answer may be to the question that measures the loop.
void Connection::heed_answer(Instant now, Channel channel, std::uint32_t distance) {
    const auto loop = out_window(channel).answered(now, distance);
    if (loop) congestion_[index(channel)].on_loop(now, *loop);
    heed_path(now, channel);
    if (loop) out_window(channel).afoot().begin_most();
}

// One question may be lost by itself, and its answer too.
void Connection::heed_silence(Instant now, Channel channel) {
    out_window(channel).afoot().forget_questions();
    if (unanswered_ > 1) congestion_[index(channel)].on_silence(now - silent_since_);
    heed_path(now, channel);
}

// Before what waits to leave, so that answers come spread over the round trip.
bool Connection::send_question(Instant now, Channel channel, TxFrame& out) {
    if (!out_window(channel).afoot().wants_answer()) return false;
    keepalive_due_[index(channel)] = true;
    return send_keepalive(now, channel, out);
}

}  // namespace wireproof::am
