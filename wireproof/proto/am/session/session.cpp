// The beginning and end of sessions.
#include "wireproof/proto/am/session/session.hpp"

#include <algorithm>

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
    const bool had_session = established();
    switch (handshake.on_hello(*body, packet.header.count != 0)) {
        case Handshake::Outcome::foreign: return RxVerdict::foreign;
        case Handshake::Outcome::mismatched: ++stats.hellos_mismatched; return RxVerdict::foreign;
        case Handshake::Outcome::noted: break;
        case Handshake::Outcome::established: begin(now, had_session); break;
    }
    return RxVerdict::control;
}

// The peer has begun a new life or has given up the session, and then received a frame of the
// session.
RxVerdict Session::on_unknown(const Packet& packet) {
    const Header& header = packet.header;
    if (!packet.payload.empty()) return RxVerdict::malformed;
    if (!handshake.is_disowned(header.cookie, header.offset)) return RxVerdict::foreign;
    give_up(told_end(header));
    return RxVerdict::control;
}

bool Session::takes(Instant now, std::uint64_t cookie) {
    const bool had_session = established();
    if (had_session && cookie == handshake.cookie()) return true;
    if (!handshake.completes(cookie)) {
        handshake.on_unknown_session(now, cookie);
        return false;
    }
    begin(now, had_session);
    return true;
}

void Session::begin(Instant now, bool replaces) {
    liveness.heard(now);
    hello_due_ = false;
    hello_interval_ = config_.keepalive_after;
    timers.stop(Timer::hello);
    ++stats.sessions;
    if (replaces) ended.begin({.why = SessionEnded::Why::restarted});
}

void Session::reset() {
    timers = {};
    watch_interval_ = config_.keepalive_after;
    hello_interval_ = config_.keepalive_after;
    hello_due_ = false;
    liveness.reset();
    leave = {};
    awaiting_ = false;
    ended = {};
}

void Session::fingerprint(Instant now, Fingerprint& sink) const {
    handshake.fingerprint(now, sink);
    timers.fingerprint(now, sink);
    sink.add(watch_interval_);
    sink.add(hello_interval_);
    sink.add(hello_due_);
    liveness.fingerprint(now, sink);
    leave.fingerprint(sink);
    sink.add(awaiting_);
    sink.add(route_);
    ended.fingerprint(sink);
}

}  // namespace wireproof::am
