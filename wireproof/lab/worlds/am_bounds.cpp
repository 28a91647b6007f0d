#include "wireproof/lab/worlds/am_bounds.hpp"

#include <algorithm>

namespace wireproof::lab {
namespace {

std::uint64_t faults_of(const sim::CableCounts& cable) {
    return cable.lost + cable.damaged + cable.held;
}

std::uint64_t numbered(const am::Stats& stats) {
    std::uint64_t sum = 0;
    for (std::size_t kind = 0; kind < stats.sent.size(); ++kind) {
        if (am::is_numbered(static_cast<am::Kind>(kind))) sum += stats.sent[kind];
    }
    return sum;
}

std::string exceeds(const char* what, std::uint64_t count, const char* limit, double most) {
    return std::string(what) + " " + std::to_string(count) + ", and " + limit + " " +
           std::to_string(static_cast<std::uint64_t>(most));
}

// If peers follow the rules and the wire keeps the lifetime of frames, a receiver can place every
// frame.
std::string check_verdicts(const AmWorldPlan& plan, const AmSpending& spent) {
    for (const RxVerdict verdict : {RxVerdict::stale, RxVerdict::malformed, RxVerdict::foreign}) {
        // The HELLOs of both nodes may cross.
        if (verdict == RxVerdict::foreign && !plan.am.cookie) continue;
        const std::uint64_t count = spent.own.received_as(verdict);
        if (count > 0)
            return std::to_string(count) + " frames were " + std::string(name_of(verdict));
    }
    return {};
}

// AM-38: every resend has its own gap, and every gap causes at most one resend. A gap is a packet
// that the cable lost, damaged or held back, a packet that the receiver refused because it had no
// room, or an early packet that it could not keep. A KEEPALIVE asks for a resend without a gap.
// With jitter, nothing counts the packets that change their order, so the check is left out.
std::string check_causes(const AmWorldPlan& plan, const AmSpending& spent) {
    if (plan.network.jitter > Duration()) return {};
    std::uint64_t causes = faults_of(spent.there) + spent.own.sent_of(am::Kind::keepalive) +
                           spent.peer.turned_away_as(RxVerdict::refused);
    if (plan.am.recovery == am::Recovery::selective) {
        causes += spent.peer.turned_away_as(RxVerdict::out_of_sequence);
    }
    if (spent.own.nacks_acted_on <= causes) return {};
    return exceeds("resends begun", spent.own.nacks_acted_on, "reasons for one",
                   static_cast<double>(causes));
}

// At every gap, go-back-N wastes all packets in flight, so a long pipeline costs more than any
// fixed figure. The bound is twice the number that pipeline and faults predict. In 26 000 worlds,
// the worst connection reached 0.8 of the bound.
std::string check_sends(const AmWorldPlan& plan, std::size_t pair, const AmSpending& spent) {
    const std::uint64_t sends = numbered(spent.own);
    const auto needed = static_cast<double>(sends - spent.own.resent);
    const double window = std::max(plan.am.window[0], plan.am.window[1]);
    // A stall is also a gap, but the cable does not cause it. If the answers that must leave first
    // are lost, it lasts longer than a round trip, so it wastes a window.
    const auto stalls = static_cast<double>(
        std::min(spent.peer.turned_away_as(RxVerdict::refused), spent.own.nacks_acted_on));
    // With selective recovery, a packet that arrived early and for which the receiver had no room
    // must leave again, and the cable does not cause that. With go-back-N, the pipeline counts it.
    const double dropped =
        plan.am.recovery == am::Recovery::selective
            ? static_cast<double>(spent.peer.turned_away_as(RxVerdict::out_of_sequence))
            : 0;
    const double most =
        2 * (needed * plan.expected_cost(pair) + dropped + stalls * window + window);
    if (static_cast<double>(sends) <= most) return {};
    return exceeds("numbered packets sent", sends, "allowed are", most);
}

// Control packets answer frames, and keep-alives follow silence. A timeout must have a cause: a
// fault, an acknowledgement that was held back because too few packets had arrived (one for each
// message), or a host that slept. Two timeouts of a channel are at least T_ka apart.
std::string check_control(const AmWorldPlan& plan, const AmSpending& spent) {
    std::uint64_t received = 0;
    for (const std::uint64_t count : spent.own.received) received += count;
    const std::uint64_t answers =
        spent.own.sent_of(am::Kind::ack) + spent.own.sent_of(am::Kind::nack);
    if (answers > received) {
        return exceeds("ACKs and NACKs sent", answers, "frames received were",
                       static_cast<double>(received));
    }
    const bool probes = plan.am.probe_after > Duration();
    const double patience = (probes ? plan.am.probe_after : plan.am.keepalive_after).seconds();
    const std::uint64_t timeouts = spent.own.keepalive_timeouts;
    const std::uint64_t faults = faults_of(spent.there) + faults_of(spent.back);
    const double asleep = static_cast<double>(spent.pauses) + spent.paused.seconds() / patience;
    const double reasons =
        static_cast<double>(spent.messages + faults) + am::channel_count * asleep;
    const double most_in_time = 2 + 2 * spent.duration.seconds() / patience;
    const double most = std::min(reasons, most_in_time);
    if (static_cast<double>(timeouts) <= most) return {};
    return exceeds("keep-alive timeouts", timeouts, "reasons for one", most);
}

// AM-54: the peer tells only marks that it has counted, and it counts only those of the cable.
std::string check_marks(const AmSpending& spent) {
    if (spent.own.marked_at_peer > spent.peer.marked) {
        return exceeds("marks told", spent.own.marked_at_peer, "the peer counted",
                       static_cast<double>(spent.peer.marked));
    }
    const std::uint64_t on_cable = spent.there.marked + spent.there.duplicated;
    if (spent.peer.marked <= on_cable) return {};
    return exceeds("marks counted", spent.peer.marked, "the cable made at most",
                   static_cast<double>(on_cable));
}

// How often a packet may be resent in this time: some times at once, and then after waits that
// double. A lane that was full may shorten one wait.
std::uint64_t resends_allowed(const am::Config& config, Duration lasted) {
    constexpr std::uint64_t at_once = 8;
    std::uint64_t allowed = at_once + 2;
    Duration wait = config.keepalive_after;
    for (Duration sum = wait; sum <= lasted; sum = sum + wait) {
        ++allowed;
        wait = std::min(wait * 2, config.keepalive_max);
    }
    return allowed;
}

// The conditions for the figure of AM-53.
bool as_in_model(const AmWorldPlan& plan, const am::Stats& totals) {
    constexpr double pipeline = 20;
    constexpr double gaps = 1 - 0.8 * 0.8;  // a fifth lost, a fifth overtaken
    if (plan.am.recovery == am::Recovery::selective) return true;
    if (plan.pipeline() > pipeline || totals.turned_away_as(RxVerdict::refused) > 0) return false;
    for (std::size_t pair = 0; pair < plan.faults.size(); ++pair) {
        if (plan.gap_rate(pair) > gaps) return false;
    }
    return true;
}

}  // namespace

// Go-back-N resends the whole window eight times, and then only its first message. Selective
// recovery resends all of it once, and then fewer and fewer packets. Each does this on two
// channels.
std::string broken_bound(const am::Config& config, const AmStandstill& standstill) {
    if (config.resend_limit == 0) return {};
    const std::uint64_t allowed = resends_allowed(config, standstill.lasted);
    if (standstill.first_missing > allowed) {
        return exceeds("the same packet left again", standstill.first_missing, "allowed by now",
                       static_cast<double>(allowed));
    }
    const std::uint64_t window = std::max(config.window[0], config.window[1]);
    const bool goes_back = config.recovery == am::Recovery::go_back_n;
    const std::uint64_t each =
        goes_back ? 9 * window + allowed * config.chunk_packets : window + 4 * allowed;
    const std::uint64_t most = am::channel_count * each;
    if (standstill.since_arrival > most) {
        return exceeds("packets sent again while none arrived", standstill.since_arrival,
                       "allowed are", static_cast<double>(most));
    }
    // New packets fill the window once. Keep-alives follow a timer that doubles, or a resend.
    const std::uint64_t questions = 3 * resends_allowed(config, standstill.since);
    const std::uint64_t all = most + am::channel_count * (window + questions);
    if (standstill.sent_since_arrival <= all) return {};
    return exceeds("packets and questions sent while none arrived", standstill.sent_since_arrival,
                   "allowed are", static_cast<double>(all));
}

std::string broken_bound(const AmWorldPlan& plan, const am::Stats& totals) {
    if (!as_in_model(plan, totals)) return {};
    const std::uint64_t sends = numbered(totals);
    const std::uint64_t luck =
        2 * std::max(plan.am.window[0], plan.am.window[1]);  // for few packets
    const std::uint64_t most = 8 * (sends - totals.resent) + luck;
    if (sends <= most) return {};
    return exceeds("numbered packets sent", sends, "AM-53 allows", static_cast<double>(most));
}

std::string broken_bound(const AmWorldPlan& plan, std::size_t pair, const AmSpending& spent) {
    const std::uint64_t window = std::max(plan.am.window[0], plan.am.window[1]);
    if (spent.own.resent > spent.own.nacks_acted_on * window) {
        return exceeds("packets resent", spent.own.resent, "NACKs asked for at most",
                       static_cast<double>(spent.own.nacks_acted_on * window));
    }
    std::string broken = check_verdicts(plan, spent);
    if (broken.empty()) broken = check_causes(plan, spent);
    if (broken.empty()) broken = check_sends(plan, pair, spent);
    if (broken.empty()) broken = check_control(plan, spent);
    if (broken.empty()) broken = check_marks(spent);
    return broken;
}

// Assumes that each packet of the busiest pair takes a round trip, is repeated as often as faults
// in both directions require, and needs a keep-alive each time. Pairs run at the same time.
Duration time_allowed(const AmWorldPlan& plan) {
    double most = 0;
    for (std::size_t from = 0; from < plan.nodes(); ++from) {
        for (std::size_t to = 0; to < plan.nodes(); ++to) {
            if (from == to) continue;
            const std::size_t there = plan.pair(from, to);
            const std::size_t back = plan.pair(to, from);
            const double packets = 50.0 + plan.traffic[there].packets + plan.traffic[back].packets;
            const double pass = (1 - plan.gap_rate(there)) * (1 - plan.gap_rate(back));
            most = std::max(most, packets / (pass * pass));
        }
    }
    const Duration each = plan.round_trip + plan.am.keepalive_after;
    return Duration(static_cast<std::int64_t>(most * static_cast<double>(each.picoseconds()))) +
           (plan.am.keepalive_max + plan.pause_max) * (plan.has_black_holes() ? 400 : 20);
}

}  // namespace wireproof::lab
