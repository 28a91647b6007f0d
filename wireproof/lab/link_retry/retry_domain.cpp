#include "wireproof/lab/link_retry/retry_domain.hpp"

#include <algorithm>
#include <cmath>

#include "wireproof/lab/link_retry/retry_unit_line.hpp"

namespace wireproof::lab {
namespace {

struct Limits {
    double inside = 0;
    double edge = 0;
};

constexpr Limits loop_limits{0.1, 0.4};         // bad units in a loop
constexpr Limits timer_limits{0.5, 1.2};        // bad units while the timer runs
constexpr Limits ucie_timer_limits{0.02, 0.1};  // the same; the order of Naks is another one
constexpr Limits share_limits{0.01, 0.05};      // of the cost of failures that is left out

FormDomain worse(FormDomain a, FormDomain b) {
    return std::max(a, b);
}

FormDomain within(double measure, const Limits& limits) {
    if (measure <= limits.inside) return FormDomain::inside;
    return measure <= limits.edge ? FormDomain::edge : FormDomain::outside;
}

/// The model of a link in units.
struct InUnits {
    double loop = 0;
    double timer = 0;
    double window = 0;
    double ack_every = 1;
    /// Good units until one causes a notice that arrives, on average.
    double until_notice = 0;

    InUnits(const RetryLink& link, double p)
        : loop(static_cast<double>(link.loop) / link.unit.bytes()),
          timer(static_cast<double>(link.timer) / link.unit.bytes()),
          window(link.buffer),
          ack_every(std::max(link.ack_every, 1U)) {
        if (link.notice_of == NoticeOf::next_whole) until_notice = 1 / (1 - p);
        if (link.notice_of == NoticeOf::each_next_whole) {
            until_notice = 1 / ((1 - p) * (1 - link.costs.notice_loss));
        }
    }
};

/// A full buffer stops the sender. What leaves until a notice arrives must find room, beside units
/// that no acknowledgement names yet. A retry that is announced may begin twice.
FormDomain by_room(const RetryLink& link, const InUnits& units) {
    const double loop = std::ceil(units.loop);
    if (link.announcing > 0) {
        const double needed = loop + 3 * link.announcing + 2 * units.ack_every;
        return units.window >= needed ? FormDomain::inside : FormDomain::outside;
    }
    const double room = units.window - (1 + loop + units.ack_every);
    if (room >= 2 + 3 * units.until_notice) return FormDomain::inside;
    return room >= 1 + units.until_notice ? FormDomain::edge : FormDomain::outside;
}

/// A failure that meets another one: in the same loop, or while a timer runs.
FormDomain by_failures(const RetryLink& link, double p) {
    const bool ucie = link.line && link.line->check_symbol == 1;
    return worse(within(p * link.costs.by_notice, loop_limits),
                 within(p * link.costs.head_timer, ucie ? ucie_timer_limits : timer_limits));
}

/// Where notices are lost, the length of the timer in units is rounded. And the sender goes on
/// until it expires, if the buffer lets it.
FormDomain by_lost_notices(const RetryLink& link, const InUnits& units) {
    const FailureCosts& costs = link.costs;
    const double f = costs.notice_loss;
    const double mean = (1 - f) * costs.by_notice + f * costs.first_timer;
    const FormDomain rounding = within(f / mean, share_limits);
    const bool matters = f * costs.first_timer > share_limits.inside * costs.by_notice;
    // A receiver that reports each bad head repairs a lost notice before the timer does.
    const bool repaired_sooner =
        link.scheme == RetryScheme::fresh_notice && link.announcing == 0 && matters;
    if (repaired_sooner) return FormDomain::outside;
    const bool stops = std::ceil(units.loop + units.timer) + units.ack_every > units.window;
    if (link.announcing > 0 || !matters || !stops) return rounding;
    return worse(rounding, FormDomain::edge);
}

/// Whether the sender replays when its timer expires. If not, the timer only asks, or it is that of
/// the receiver, or the time for which notices are ignored.
bool timer_replays(const RetrySettings& s, const RetryLink& link) {
    const bool asks =
        s.protocol == RetryProtocol::sp_am || s.protocol == RetryProtocol::sp_am_selective;
    return !asks && !link.line && link.announcing == 0;
}

/// Acknowledgements must arrive before the timer expires. Otherwise the sender replays what has
/// arrived. If one is lost, the next one must arrive before.
FormDomain by_acks(const RetrySettings& s, const RetryLink& link, const InUnits& units, double p) {
    if (!timer_replays(s, link)) return FormDomain::inside;
    const double patience = units.timer - units.loop;
    if (patience < units.ack_every) return FormDomain::outside;
    const FormDomain late = patience < units.ack_every + 1 ? FormDomain::edge : FormDomain::inside;
    if (s.clean_back || patience >= 2 * units.ack_every + 2) return late;
    const double bytes =
        link.notice.bytes > 0 ? static_cast<double>(link.notice.bytes) : link.unit.bytes();
    const double lost = frame_error(link, s.bit_error, bytes) / units.ack_every;
    const double cost = link.costs.by_notice;
    return worse(late, within(lost * link.costs.head_timer / (p * cost), share_limits));
}

}  // namespace

FormDomain form_domain(const RetrySettings& s, const RetryLink& link, double p) {
    const bool resends_by_model =
        s.protocol == RetryProtocol::go_back_n || s.protocol == RetryProtocol::ideal;
    if (p == 0 || resends_by_model || s.protocol == RetryProtocol::uc) return FormDomain::inside;
    if (p >= 1) return FormDomain::outside;
    const InUnits units(link, p);
    const FormDomain alone = worse(by_room(link, units), by_acks(s, link, units, p));
    // If each unit behind a gap causes a notice, and if only bad units are resent, failures may
    // meet.
    const bool may_meet =
        link.notice_of == NoticeOf::each_next_whole || link.scheme == RetryScheme::selective_repeat;
    if (may_meet) return alone;
    return worse(alone, worse(by_failures(link, p), by_lost_notices(link, units)));
}

}  // namespace wireproof::lab
