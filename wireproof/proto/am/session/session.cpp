// The beginning and end of sessions.

#include "wireproof/proto/am/session/session.hpp"

namespace wireproof::am {
namespace {

// What the peer's UNKNOWN says about a session that this end still has.
SessionEnded told_end(const Header& unknown) {
    using Why = SessionEnded::Why;
    switch (unknown.count) {
        case unknown_silent: return {.why = Why::silent, .by_peer = true};
        case unknown_unanswered:
            return {.why = Why::unanswered,
                    .packet_bytes = unknown.id,
                    .packet_times = unknown.number,
                    .by_peer = true};
        default: return {.why = Why::restarted};
    }
}

}  // namespace

RxVerdict Session::on_hello(Instant now, const Packet& packet) {
    const auto* const body = std::get_if<HelloBody>(&packet.body);
    if (body == nullptr || !packet.payload.empty()) return RxVerdict::malformed;
    const bool had_session = handshake_.established();
    switch (handshake_.on_hello(*body, packet.header.count != 0)) {
        case Handshake::Outcome::foreign: return RxVerdict::foreign;
        case Handshake::Outcome::mismatched: ++stats_.hellos_mismatched; return RxVerdict::foreign;
        case Handshake::Outcome::noted: break;
        case Handshake::Outcome::established: begin_session(now, had_session); break;
    }
    return RxVerdict::control;
}

// The peer has begun a new life or has given up the session, and then received a frame of the
// session.
RxVerdict Session::on_unknown(const Packet& packet) {
    const Header& header = packet.header;
    if (!packet.payload.empty()) return RxVerdict::malformed;
    if (!handshake_.is_disowned(header.cookie, header.offset)) return RxVerdict::foreign;
    give_up(told_end(header));
    return RxVerdict::control;
}

void Session::begin_session(Instant now, bool replaces) {
    liveness_.heard(now);
    hello_due_ = false;
    hello_interval_ = config_.keepalive_after;
    timers_.stop(Timer::hello);
    ++stats_.sessions;
    if (replaces) {
        end_session({.why = SessionEnded::Why::restarted});
    } else {
        ended_.push(SessionBegan{});
    }
}

void Session::end_session(SessionEnded ended) {
    ending_ = Ending{};
    ending_.active = true;
    ending_.ended = ended;
    delivery_.reset();
    short_here_ = false;
    bundle_.messages.drop();
    ended_.clear();
}

void Session::forget_session() {
    for (SendChannel& channel : send_) channel.reset();
    for (ReceiveChannel& channel : receive_) channel.reset();
    replies_.clear();
    delivery_.reset();
    short_here_ = false;
    bundle_.messages.drop();
    ended_.clear();
    may_reply_ = false;
    drawn_slot_.reset();
    stall_ = {};
    note_refusal_ = NoteRefusal::none;
    timers_ = {};
    watch_interval_ = config_.keepalive_after;
    hello_interval_ = config_.keepalive_after;
    hello_due_ = false;
    liveness_.reset();
    leave_ = {};
    awaiting_ = false;
    overrun_ = false;
    turn_ = Channel::reply;
    ending_ = Ending{};
    if (handshake_.established()) ended_.push(SessionBegan{});
}

}  // namespace wireproof::am
