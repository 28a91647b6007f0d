// The meaning of a point's settings for each protocol.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <tuple>

#include "wireproof/lab/link_retry/retry_point.hpp"
#include "wireproof/lab/link_retry/retry_unit_line.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/ib/packet/native_frame.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/pcie/wire_format.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint32_t buffer_max = 2047;
// Around a packet on Ethernet: preamble and gap 20, header and frame check 18, IP and UDP 28.
constexpr std::size_t ethernet_framing = 66;
constexpr std::size_t native_framing = proto::ib::Lrh::size + proto::ib::native_tail;
constexpr std::size_t rc_notice = native_framing + proto::ib::Bth::size + proto::ib::Aeth::size;

std::size_t framing_of(RetryProtocol protocol) {
    switch (protocol) {
        case RetryProtocol::sp_am_selective: return ethernet_framing;
        case RetryProtocol::rc:
        case RetryProtocol::uc: return native_framing;
        default: return 0;  // the engine's frame has all bytes
    }
}

// The models send TLPs.
std::size_t model_frame(const RetrySettings& s) {
    return pcie::TlpHead{0, pcie::FlowType::posted, s.payload}.frame_size();
}

std::size_t frame_of(const RetrySettings& s) {
    const std::size_t words = (std::size_t{s.payload} + 3) / 4 * 4;
    switch (s.protocol) {
        case RetryProtocol::sp_am: return am::Config::sp2().header_size() + words;
        case RetryProtocol::sp_am_selective: return am::Config::ethernet().header_size() + words;
        case RetryProtocol::rc:
            return proto::ib::packet_size(
                *proto::ib::find_opcode(proto::ib::opcode_of(proto::ib::Transport::rc,
                                                             proto::ib::Operation::write_only)),
                s.payload);
        case RetryProtocol::uc:
            return proto::ib::packet_size(
                *proto::ib::find_opcode(proto::ib::opcode_of(proto::ib::Transport::uc,
                                                             proto::ib::Operation::write_only)),
                s.payload);
        default: return model_frame(s);
    }
}

LineUnit unit_of(const RetrySettings& s) {
    const std::size_t bytes = frame_of(s) + framing_of(s.protocol);
    return {static_cast<double>(s.payload), static_cast<double>(bytes - s.payload)};
}

std::uint64_t bytes_of(const LineUnit& unit) {
    return static_cast<std::uint64_t>(unit.bytes());
}

// The timeouts of RC are 4.096 us x 2^code, and here a byte takes a nanosecond. Returns the
// shortest timeout that is not below `wanted`.
std::uint64_t rc_timer(std::uint64_t wanted) {
    return std::max<std::uint64_t>(8192, std::bit_ceil(wanted));
}

void fill_in_am(const RetrySettings& s, RetryLink& link, std::uint64_t unit) {
    const std::uint64_t round = s.loop + unit;
    if (link.buffer == 0) {
        // Four loops: the retransmission may be late, too, and the receiver acknowledges only each
        // quarter of the window.
        const std::uint64_t wanted = 4 * ((round + unit - 1) / unit + 1);
        link.buffer = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            std::bit_ceil(std::max<std::uint64_t>(wanted, 64)), buffer_max));
    }
    link.ack_every = std::max(1U, link.buffer / 4);  // AM-14
    if (link.timer == 0) link.timer = std::max(4 * round, s.loop + (link.ack_every + 2) * unit);
    link.scheme = s.protocol == RetryProtocol::sp_am ? RetryScheme::fresh_notice
                                                     : RetryScheme::selective_repeat;
    if (s.protocol == RetryProtocol::sp_am) {
        link.notice = {am::Config::sp2().header_size(), 1};
        link.notice_of = NoticeOf::each_next_whole;
    }
}

void fill_in_rc(const RetrySettings& s, RetryLink& link, std::uint64_t unit) {
    link.ack_every = 1;
    link.timer = rc_timer(link.timer > 0 ? link.timer : 2 * (s.loop + 2 * unit));
    if (link.buffer == 0) {
        const std::uint64_t never_stalls = (s.loop + link.timer + unit - 1) / unit + 3;
        link.buffer = static_cast<std::uint32_t>(std::min<std::uint64_t>(never_stalls, buffer_max));
    }
    link.scheme = RetryScheme::one_notice;
    link.notice = {rc_notice, 1};
    link.notice_of = NoticeOf::next_whole;
    link.timer_from_start = true;
}

void fill_in(const RetrySettings& s, RetryLink& link) {
    if (const LinkSweep* const of = link_sweep_of(s.protocol)) {
        LinkEngines::visit(of->engine,
                           [&]<class Adapter>() { Adapter::fill_in(s, of->sweep, link); });
        return;
    }
    link.unit = unit_of(s);
    link.framing = framing_of(s.protocol);
    const std::uint64_t unit = bytes_of(link.unit);
    const auto units = [unit](std::uint64_t bytes) { return (bytes + unit - 1) / unit; };
    switch (s.protocol) {
        case RetryProtocol::sp_am:
        case RetryProtocol::sp_am_selective: fill_in_am(s, link, unit); break;
        case RetryProtocol::rc: fill_in_rc(s, link, unit); break;
        case RetryProtocol::uc: link.scheme = RetryScheme::selective_repeat; break;
        case RetryProtocol::go_back_n:
        case RetryProtocol::ideal:
            if (link.ack_every == 0) link.ack_every = 1;
            if (link.buffer == 0) {
                link.buffer = static_cast<std::uint32_t>(
                    std::min<std::uint64_t>(units(s.loop) + 1, 1U << 30));
            }
            link.scheme = s.protocol == RetryProtocol::ideal ? RetryScheme::selective_repeat
                                                             : RetryScheme::fresh_notice;
            break;
        default: break;
    }
}

// The probability that a notice is lost, or one of its copies if there are several.
double notice_loss_of(const RetrySettings& s, const RetryLink& link) {
    const RetryNotice& notice = link.notice;
    if (notice.bytes == 0) return 0;
    const double back = s.clean_back ? 0 : s.bit_error;
    const double one =
        1 - (1 - s.notice_loss) * (1 - frame_error(link, back, static_cast<double>(notice.bytes)));
    double any = one;
    for (int i = 1; i < notice.copies; ++i) any = 1 - (1 - any) * (1 - one);
    return any;
}

// Checks the settings of the protocols whose units are packets between hosts.
Expected<void> check_packets(const RetrySettings& s, const RetryLink& link) {
    const std::string name(name_of(s.protocol));
    const auto has_none = [&name](std::string_view what) {
        return unexpected(name + " has no " + std::string(what));
    };
    switch (s.protocol) {
        case RetryProtocol::sp_am:
        case RetryProtocol::sp_am_selective:
            if (s.ack_every > 0) {
                return unexpected(name +
                                  " acknowledges each quarter of its window: that is buffer, "
                                  "and there is no ack_every");
            }
            if (link.buffer > buffer_max) {
                return unexpected("buffer of " + name + " is 1 to " + std::to_string(buffer_max));
            }
            if (link.timer <= s.loop + bytes_of(link.unit)) {
                return unexpected("the timer of " + name + " must be longer than loop and unit, " +
                                  std::to_string(s.loop + bytes_of(link.unit)) + " bytes");
            }
            break;
        case RetryProtocol::rc:
            if (s.ack_every > 1) {
                return unexpected("rc acknowledges each message: its ack_every is 1");
            }
            if (link.buffer > buffer_max) {
                return unexpected("buffer of rc is 1 to " + std::to_string(buffer_max));
            }
            if (link.timer <= s.loop + bytes_of(link.unit)) {
                return unexpected("the timer of rc must be longer than loop and unit, " +
                                  std::to_string(s.loop + bytes_of(link.unit)) + " bytes");
            }
            break;
        case RetryProtocol::uc:
            if (s.ack_every > 0) return has_none("acks: only protocols that resend have ack_every");
            if (s.buffer > 0) return has_none("buffer: it resends nothing");
            if (s.timer > 0) return has_none("timer: it resends nothing");
            if (s.notice_loss > 0) return has_none("notices that can be lost");
            if (s.loaded_back) return has_none("traffic in the other direction");
            break;
        default: return {};
    }
    const bool infiniband = s.protocol == RetryProtocol::rc || s.protocol == RetryProtocol::uc;
    if (infiniband && s.payload > 4096) {
        return unexpected("payload of " + name + " is 1 to 4096, the largest path MTU");
    }
    return {};
}

Expected<void> check_protocol(const RetrySettings& s, const RetryLink& link) {
    if (const LinkSweep* const of = link_sweep_of(s.protocol)) {
        return LinkEngines::visit(
            of->engine, [&]<class Adapter>() { return Adapter::check(s, of->sweep, link); });
    }
    if (const auto good = check_packets(s, link); !good) return good;
    if (s.renak_on_bad_head) return unexpected("renak_on_bad_head works only with pcie");
    if (s.protocol == RetryProtocol::ideal || s.protocol == RetryProtocol::go_back_n) {
        if (s.loaded_back) return unexpected("the models have no traffic in the other direction");
        if (s.notice_loss > 0) return unexpected("the models have no notices that can be lost");
        if (s.timer > 0) return unexpected("the models have no timer");
    }
    return {};
}

}  // namespace

namespace {

std::uint64_t digest_of(const std::shared_ptr<const LossTrace>& trace) {
    return trace ? trace->digest() : 0;
}

}  // namespace

bool operator<(const RetrySettings& a, const RetrySettings& b) {
    const auto all = [](const RetrySettings& s) {
        return std::tuple(s.protocol, s.bit_error, s.clean_back, s.notice_loss, s.bursts.begin,
                          s.bursts.end, s.bursts.loss_in_burst, digest_of(s.loss_trace), s.payload,
                          s.loop, s.buffer, s.ack_every, s.timer, s.renak_on_bad_head, s.overhead,
                          s.loaded_back, s.fec, s.burst_bits, s.lanes, s.lane_correlation,
                          s.preset);
    };
    return all(a) < all(b);
}

std::optional<RetryProtocol> retry_protocol(std::string_view name) {
    for (std::size_t i = 0; i < retry_protocol_names.size(); ++i) {
        if (retry_protocol_names[i] == name) return static_cast<RetryProtocol>(i);
    }
    return std::nullopt;
}

namespace {

Expected<void> check_bursts(const LossBursts& bursts) {
    const auto is_probability = [](double p) { return p >= 0 && p <= 1; };
    if (!is_probability(bursts.begin) || !is_probability(bursts.end) ||
        !is_probability(bursts.loss_in_burst)) {
        return unexpected("that a burst begins, ends or damages are probabilities, 0 to 1");
    }
    if (bursts.begin > 0 && bursts.end == 0) {
        return unexpected("a burst that begins must be able to end");
    }
    return {};
}

}  // namespace

Expected<RetryLink> resolve(const RetrySettings& s) {
    constexpr std::uint64_t loop_max = 100'000'000;
    if (!(s.bit_error == 0 || (s.bit_error >= 1e-17 && s.bit_error <= 0.1))) {
        return unexpected("a bit error rate is 0, or 1e-17 to 0.1");
    }
    if (!(s.notice_loss >= 0 && s.notice_loss <= 1)) {
        return unexpected("the loss of notices is a probability, 0 to 1");
    }
    if (const auto good = check_bursts(s.bursts); !good) return tl::unexpected(good.error());
    if (s.payload < 1 || s.payload > 65536) return unexpected("payload is 1 to 65536 bytes");
    if (s.loop > loop_max) return unexpected("a loop is at most 100000000 bytes");
    if (s.timer > 100 * loop_max) return unexpected("a timer is at most 10000000000 bytes");
    if (s.ack_every > 1024) return unexpected("an ack is for 1 to 1024 units");
    if (s.overhead > 0 && s.protocol != RetryProtocol::pcie) {
        return unexpected("overhead works only with pcie");
    }
    if (s.overhead > 0 && (s.overhead < 12 || s.overhead > 64)) {
        return unexpected("overhead of pcie is 12 to 64");
    }
    RetryLink link;
    link.loop = s.loop;
    link.timer = s.timer;
    link.buffer = s.buffer;
    link.ack_every = s.ack_every;
    fill_in(s, link);
    if (const auto good = apply_line(s, link); !good) return tl::unexpected(good.error());
    if (const auto good = check_protocol(s, link); !good) return tl::unexpected(good.error());
    if (link.ack_every > link.buffer) {
        return unexpected("acks for " + std::to_string(link.ack_every) +
                          " units never leave with a replay buffer of " +
                          std::to_string(link.buffer));
    }
    FailureCosts::Line line{.unit = link.unit.bytes(),
                            .loop = static_cast<double>(link.loop),
                            .apart = link.notice_after,
                            .timer_from_start = link.timer_from_start,
                            .timer_after_replay = link.timer_after_replay};
    if (link.buffer > 0) line.window = static_cast<double>(link.buffer);
    if (link.timer > 0) line.timer = static_cast<double>(link.timer);
    const double notice_loss = notice_loss_of(s, link);
    if (link.announcing > 0) {
        const double bad = unit_error(s.bit_error, link.announcing * link.unit.bytes());
        link.costs = FailureCosts::of_announced(line, link.announcing, notice_loss, bad);
    } else {
        link.costs = FailureCosts::of(line, notice_loss);
    }
    link.costs.notice_of = link.notice_of;
    return link;
}

}  // namespace wireproof::lab
