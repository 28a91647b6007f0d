// How many packets of a channel may be in flight: questions leave as often as the limit needs, and
// their answers change it.
#include "wireproof/proto/am/send/outgoing.hpp"

#include <algorithm>
#include <utility>

namespace wireproof::am {
namespace {

Flows flows_of(const Config& config, Channel channel) {
    const auto to_peer = [&](Kind kind) {
        return HeaderWords::flow_of(config.peer, config.node, kind, channel);
    };
    return {.single = to_peer(message_kind(channel)),
            .bundle = to_peer(Kind::bundle),
            .chunk = to_peer(Kind::chunk),
            .open = to_peer(Kind::open)};
}

// In go-back-N, a question in the middle of a chunk would cause a resend of the whole chunk.
std::uint32_t first_flight_of(const Config& config, Channel channel) {
    const std::uint32_t all = config.window_of(channel);
    const bool limited = config.recovery == Recovery::selective && config.resend_limit > 0;
    return limited ? std::min(config.first_flight, all) : all;
}

}  // namespace

Outgoing::Buffers::Buffers(const Config& config, Channel channel)
    : window(config.window_of(channel), config.save_bytes),
      bulk(channel == Channel::request ? config.stores_max : config.get_slots) {}

Outgoing::Outgoing(const Config& config, Channel channel, Buffers buffers)
    : window(config, channel, std::move(buffers.window)),
      flows(flows_of(config, channel)),
      keepalive_interval(config.keepalive_after),
      rtt(config.keepalive_after, config.probe_after),
      bulk(config, std::move(buffers.bulk)),
      backoff(config),
      channel_(channel),
      recovery_(config.recovery),
      all_(config.window_of(channel)),
      first_flight_(first_flight_of(config, channel)),
      longest_rto_(config.keepalive_max),
      controlled_(config.congestion != Congestion::off),
      algorithm_(congestion::algorithm_of(config.congestion)),
      congestion_(algorithm_, {}) {
    forget_path();
}

void Outgoing::reset() {
    window.reset();
    bulk.reset();
    rtt.forget();
    backoff.forget();
    forget_path();
    keepalive_interval = rto();
    keepalive_due = false;
}

void Outgoing::forget_path() {
    long_ = {};
    marks_told_ = new_marks_ = 0;
    PacketsInFlight& in_flight = window.in_flight();
    if (!controlled_) return in_flight.end_counting();
    congestion_ = congestion::Control(algorithm_, {.most = all_});
    in_flight.allow(congestion_.packets());
}

// If the peer's host has no room for frames, the sender slows down even without congestion control.
// It counts packets until the whole window may be in flight again; other losses do not change the
// limit.
void Outgoing::steer_counted(Instant now, std::uint32_t overran) {
    PacketsInFlight& in_flight = window.in_flight();
    if (in_flight.holds_new()) follow_missing();
    if (overran > 0 && (!in_flight.counted() || in_flight.seldom())) {
        congestion_ =
            congestion::Control(congestion::Algorithm::loss, {.start = overran, .most = all_});
        window.count_in_flight();
    }
    if (!in_flight.counted()) return;
    const PacketsInFlight::Heard heard = in_flight.take_heard();
    if (heard.arrived > 0) congestion_.on_arrived(now, heard.arrived, in_flight.most());
    const std::uint32_t marked = std::exchange(new_marks_, 0);
    if (marked > 0) congestion_.on_marked(now, marked);
    if (overran > 0) {
        congestion_.on_overrun(now, heard.lost);
    } else if (heard.lost > 0 && controlled_) {
        congestion_.on_lost(now, heard.lost);
    }
    if (heard.arrived > 0 || (heard.lost > 0 && !in_flight.seldom())) keepalive_interval = rto();
    const bool limited = allow_packets();
    if (!controlled_ && !limited) in_flight.end_counting();
}

void Outgoing::begin_long(std::uint64_t first) {
    if (first_flight_ == all_ || long_.arrive || long_.under_way) return;
    long_.under_way = true;
    long_.first = first;
    if (!window.in_flight().counted()) {
        congestion_ =
            congestion::Control(congestion::Algorithm::loss, {.start = all_, .most = all_});
        window.count_in_flight(true);
    }
    (void)allow_packets();
}

// True: the limit is below the window.
bool Outgoing::allow_packets() {
    if (long_.under_way && window.una() > long_.first) long_ = {.arrive = true};
    std::uint32_t most = congestion_.packets();
    if (long_.under_way) most = std::min(most, first_flight_);
    window.in_flight().allow(most);
    return most < all_ || long_.under_way;
}

void Outgoing::follow_missing() {
    backoff.on_missing(window.first_missing());
    if (backoff.times() == 0) window.in_flight().hold_new(false);
}

// A NACK that another one has overtaken has a count of before: the difference is above half of the
// modulus. Between two answers, less than a window of packets arrives.
std::uint32_t Outgoing::take_marks(std::uint32_t told) {
    const std::uint32_t more = (told - marks_told_) % nack_marks_modulus;
    if (more >= nack_marks_modulus / 2) return 0;
    marks_told_ = told;
    if (controlled_) new_marks_ += more;
    return more;
}

// The answer may be to a question that measures the round trip.
void Outgoing::on_answer(Instant now, std::uint32_t distance, std::uint32_t overran) {
    const auto measured = window.answered(now, distance);
    if (measured) congestion_.on_rtt(now, *measured);
    steer(now, overran);
    if (measured) window.in_flight().begin_most();
    if (controlled_) window.in_flight().pace(now, congestion_.burst());
}

// A single question or its answer may be lost without congestion.
void Outgoing::on_silence(Instant now, std::uint32_t unanswered, Duration silence) {
    window.ask_again();
    if (unanswered > 1 && controlled_) congestion_.on_silence(silence);
    steer(now);
}

void Outgoing::fingerprint(Instant now, Fingerprint& sink) const {
    window.fingerprint(now, sink);
    bulk.fingerprint(sink);
    sink.add(keepalive_interval);
    sink.add(keepalive_due);
    rtt.fingerprint(now, sink);
    backoff.fingerprint(now, window.first_missing(), sink);
    if (window.in_flight().counted()) congestion_.fingerprint(now, sink);
    long_.fingerprint(window.una(), sink);
    sink.add(marks_told_);
    sink.add(new_marks_);
}

}  // namespace wireproof::am
