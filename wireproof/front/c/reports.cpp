// Lost peers, refused messages, and counters.
#include <cstdint>
#include <string>
#include <vector>

#include "wireproof/front/c/endpoint.hpp"
#include "wireproof/front/c/sized.hpp"

using namespace wireproof;
using namespace wireproof::c;

namespace {

static_assert(static_cast<int>(am::PeerLost::Why::silent) == WIREPROOF_LOST_SILENT);
static_assert(static_cast<int>(am::PeerLost::Why::restarted) == WIREPROOF_LOST_RESTARTED);
static_assert(static_cast<int>(am::PeerLost::Why::gone) == WIREPROOF_LOST_GONE);
static_assert(static_cast<int>(am::PeerLost::Why::unanswered) == WIREPROOF_LOST_UNANSWERED);
using Kind = am::Undelivered::Kind;
static_assert(static_cast<int>(Kind::request) == WIREPROOF_UNDELIVERED_REQUEST);
static_assert(static_cast<int>(Kind::reply) == WIREPROOF_UNDELIVERED_REPLY);
static_assert(static_cast<int>(Kind::store) == WIREPROOF_UNDELIVERED_STORE);
static_assert(static_cast<int>(Kind::get) == WIREPROOF_UNDELIVERED_GET);
using Path = am::PeerCounters::Path;
static_assert(static_cast<int>(Path::udp) == WIREPROOF_PATH_UDP);
static_assert(static_cast<int>(Path::shared_memory) == WIREPROOF_PATH_SHARED_MEMORY);
static_assert(static_cast<int>(Path::udp_on_one_host) == WIREPROOF_PATH_UDP_ON_ONE_HOST);

/// The report of a loss in structs of C. They point into `from`.
class Report {
public:
    explicit Report(const am::PeerLost& from) : message_(from.message()) {
        for (const am::Undelivered& one : from.undelivered) {
            undelivered_.push_back({.size = sizeof(wireproof_undelivered),
                                    .kind = static_cast<std::uint32_t>(one.kind),
                                    .handler = one.handler,
                                    .bytes = one.bytes.data(),
                                    .length = one.bytes.size()});
        }
        for (const wireproof_undelivered& one : undelivered_) pointers_.push_back(&one);
        lost_ = {.size = sizeof(wireproof_peer_lost),
                 .peer = from.peer,
                 .why = static_cast<std::uint32_t>(from.why),
                 .by_peer = from.by_peer ? 1U : 0U,
                 .packet_bytes = from.packet_bytes,
                 .packet_times = from.packet_times,
                 .message = message_.c_str(),
                 .cause = from.cause.c_str(),
                 .undelivered = pointers_.data(),
                 .undelivered_count = pointers_.size()};
    }
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    const wireproof_peer_lost& lost() const { return lost_; }

private:
    std::string message_;
    std::vector<wireproof_undelivered> undelivered_;
    std::vector<const wireproof_undelivered*> pointers_;
    wireproof_peer_lost lost_{};
};

wireproof_counters counters_of(const am::PeerCounters& from) {
    wireproof_counters counters{};
    counters.path = static_cast<std::uint64_t>(from.path);
    static_assert(am::verdict_names.size() == 10);
    counters.accepted = from.received[0];
    counters.held = from.received[1];
    counters.control = from.received[2];
    counters.duplicate = from.received[3];
    counters.out_of_sequence = from.received[4];
    counters.stale = from.received[5];
    counters.corrupt = from.received[6];
    counters.malformed = from.received[7];
    counters.foreign = from.received[8];
    counters.refused_frames = from.received[9];
    counters.mismatched = from.mismatched;
    counters.sent = from.sent;
    counters.resent = from.resent;
    counters.acks = from.acks;
    counters.nacks = from.nacks;
    counters.overruns = from.overruns;
    counters.marked = from.marked;
    counters.marked_at_peer = from.marked_at_peer;
    counters.keepalives = from.keepalives;
    counters.hellos = from.hellos;
    counters.timeouts = from.timeouts;
    counters.sessions = from.sessions;
    counters.unhandled_replies = from.unhandled_replies;
    counters.unsent = from.unsent;
    counters.refused = from.refused;
    return counters;
}

}  // namespace

wireproof_status wireproof_endpoint_on_peer_lost(wireproof_endpoint* endpoint,
                                                 wireproof_peer_lost_report report, void* user) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (!end.am.is_open()) return am::Status::closed;
        if (report == nullptr) {
            end.am.on_peer_lost({});
            return am::Status::ok;
        }
        end.am.on_peer_lost([&end, report, user](const am::PeerLost& from) {
            const Report made(from);
            run_inside(end, [&] { report(&end, &made.lost(), user); });
        });
        return am::Status::ok;
    });
}

wireproof_status wireproof_endpoint_on_refused(wireproof_endpoint* endpoint,
                                               wireproof_refused_report report, void* user) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (!end.am.is_open()) return am::Status::closed;
        if (report == nullptr) {
            end.am.on_refused({});
            return am::Status::ok;
        }
        end.am.on_refused([&end, report, user](std::size_t peer, std::uint16_t handler) {
            run_inside(end, [&] { report(&end, peer, handler, user); });
        });
        return am::Status::ok;
    });
}

wireproof_status wireproof_endpoint_counters(wireproof_endpoint* endpoint, size_t peer,
                                             wireproof_counters* counters) {
    return call(endpoint, [&](wireproof_endpoint& end) {
        if (!is_writable(counters)) {
            return fail(end, WIREPROOF_BAD_ARGUMENT, "the counters are NULL or have a wrong size");
        }
        if (!end.am.is_open()) return done(end, WIREPROOF_CLOSED);
        if (peer >= end.am.nodes() || peer == end.am.self()) {
            return done(end, WIREPROOF_NO_SUCH_PEER);
        }
        write_sized(counters_of(end.am.counters(peer)), counters, size_of(counters));
        return done(end, WIREPROOF_OK);
    });
}
