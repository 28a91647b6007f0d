#include "wireproof/proto/am/send/sender.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/base/overlap.hpp"

namespace wireproof::am {
namespace {

constexpr auto is_active = [](const BulkSender::Transfer& transfer) { return transfer.active; };

}  // namespace

Sender::Sender(const Config& config, std::array<Outgoing::Buffers, channel_count> buffers,
               ReplyQueue waiting)
    : replies(std::move(waiting)),
      channels_{Outgoing(config, Channel::request, std::move(buffers[0])),
                Outgoing(config, Channel::reply, std::move(buffers[1]))} {}

void Sender::on_keepalive_timer(Instant now, Instant due, Channel channel, Session& session,
                                const Session::Waits& waits) {
    if (!session.established()) return;
    Outgoing& sent = (*this)[channel];
    const bool idle = sent.window.empty();
    if (idle) {
        const bool watches = channel == Channel::request && waits.for_peer;
        if (!watches || session.was_heard(now)) return;
    }
    Duration& interval = idle ? session.watch_interval() : sent.keepalive_interval;
    if (!session.asks_again(now, due, interval)) return;
    const Liveness& peer = session.liveness;
    sent.rtt.resent();  // what answers now was asked for
    sent.on_silence(now, peer.unanswered(), now - peer.silent_since());
    // Packets that wait to leave ask as well as a keep-alive does. But if nothing was heard since
    // the last timer either, the path may lose all packets of their length.
    sent.keepalive_due = sent.window.at_rest() || session.asks_first();  // AM-16
    session.ask_later(now, keepalive_timer(channel), interval);
}

bool Sender::idle() const {
    for (const Outgoing& channel : channels_) {
        const auto& transfers = channel.bulk.transfers();
        if (!channel.window.empty()) return false;
        if (std::any_of(transfers.begin(), transfers.end(), is_active)) return false;
    }
    return replies.empty();
}

bool Sender::is_steady() const {
    for (const Outgoing& channel : channels_) {
        const bool steady = channel.window.nothing_lost() && !channel.window.is_awaited() &&
                            !channel.window.in_flight().steered() && channel.bulk.active() == 0 &&
                            !channel.bulk.waits() && !channel.keepalive_due;
        if (!steady) return false;
    }
    return replies.empty();
}

bool Sender::touches(ConstBytes memory) const {
    if (memory.empty()) return false;
    for (const Outgoing& channel : channels_) {
        for (const auto& transfer : channel.bulk.transfers()) {
            if (transfer.active && !transfer.bytes.empty() && overlap(transfer.bytes, memory))
                return true;
        }
    }
    return false;
}

void Sender::exchange(std::array<Outgoing::Buffers, channel_count>& buffers, ReplyQueue& waiting) {
    for (std::size_t i = 0; i < channel_count; ++i) channels_[i].exchange(buffers[i]);
    std::swap(replies, waiting);
}

void Sender::reset() {
    for (Outgoing& channel : channels_) channel.reset();
    replies.clear();
    turn_ = Channel::reply;
}

void Sender::fingerprint(Instant now, Fingerprint& sink) const {
    for (const Outgoing& channel : channels_) channel.fingerprint(now, sink);
    replies.fingerprint(sink);
    sink.add(turn_);
}

}  // namespace wireproof::am
