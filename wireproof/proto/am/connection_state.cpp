#include "wireproof/proto/am/connection_state.hpp"

#include <utility>

namespace wireproof::am {
ConnectionState::ConnectionState(const Config& config, const MemoryTable& memory,
                                 ConnectionBuffers buffers)
    : config_(config),
      memory_(&memory),
      send_{SendChannel(config, Channel::request, std::move(buffers.send[0])),
            SendChannel(config, Channel::reply, std::move(buffers.send[1]))},
      receive_{ReceiveChannel(config, Channel::request, std::move(buffers.receive[0])),
               ReceiveChannel(config, Channel::reply, std::move(buffers.receive[1]))},
      replies_(std::move(buffers.replies)),
      handshake_(config),
      liveness_(config),
      watch_interval_(config.keepalive_after),
      hello_interval_(config.keepalive_after),
      route_(static_cast<std::uint8_t>((config.node + config.peer) % 4)),
      ended_(std::move(buffers.ended)) {}

bool ConnectionState::holds_back_ack() const {
    if (!holds_acks_) return false;
    const bool owed = receive_[0].window.owed() > 0 || receive_[1].window.owed() > 0;
    return (owed && timers_.running(Timer::held_ack)) || receive_[0].window.ack_due() ||
           receive_[1].window.ack_due();
}

bool ConnectionState::nothing_else_to_say() const {
    return wide_ && handshake_.established() && !ending_.active && !hello_due_ &&
           !handshake_.answer_due() && !leave_.due() && !leave_.peer_leaves() &&
           stall_.need == Need::nothing && !receive_[0].window.nack_due() &&
           !receive_[1].window.nack_due() && !send_[0].window.in_flight().wants_answer() &&
           !send_[1].window.in_flight().wants_answer() && watches_as_it_should() &&
           !question_goes_first();
}

// No packet is missing, refused or part of a chunk. Only acknowledgements and messages are to
// leave. The caller has drawn all deliveries, except a message that the fast path accepted.
bool ConnectionState::can_predict() const {
    if (!nothing_else_to_say() || !has_buffers()) return false;
    for (std::size_t i = 0; i < channel_count; ++i) {
        const bool steady = send_[i].window.nothing_lost() && !send_[i].window.is_awaited() &&
                            !send_[i].window.in_flight().steered() &&
                            receive_[i].window.nothing_ahead() && send_[i].bulk.active() == 0 &&
                            !send_[i].bulk.waits() && !send_[i].keepalive_due;
        if (!steady) return false;
    }
    return replies_.empty() && ended_.empty() && !delivery_ && !drawn_slot_ &&
           bundle_.messages.left() == 0;
}

void ConnectionState::fingerprint(Instant now, Fingerprint& sink) const {
    WIREPROOF_CHECK(!predicting_ || can_predict());  // predicting_ is not part of the fingerprint:
                                                     // the rest of the state implies it
    handshake_.fingerprint(now, sink);
    for (const SendChannel& channel : send_) channel.fingerprint(now, sink);
    for (const ReceiveChannel& channel : receive_) channel.fingerprint(sink);
    replies_.fingerprint(sink);
    const auto pending = short_here_ ? std::optional(as_delivery(short_)) : delivery_;
    sink.add(pending.has_value());
    if (pending) add(*pending, sink);
    sink.add(bundle_.messages.left());
    sink.add(ended_.size());
    for (std::size_t i = 0; i < ended_.size(); ++i) add(ended_[i], sink);
    sink.add(drawn_slot_.has_value());
    sink.add(may_reply_);
    sink.add(note_refusal_);
    stall_.fingerprint(sink);
    timers_.fingerprint(now, sink);
    sink.add(overrun_);
    sink.add(watch_interval_);
    sink.add(hello_interval_);
    sink.add(hello_due_);
    liveness_.fingerprint(now, sink);
    leave_.fingerprint(sink);
    sink.add(awaiting_);
    sink.add(route_);
    sink.add(turn_);
    ending_.fingerprint(sink);
}

}  // namespace wireproof::am
