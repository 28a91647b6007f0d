// What the settings of a point mean for each protocol.
#include <algorithm>
#include <cmath>
#include <string>

#include "wireproof/lab/retry_point.hpp"
#include "wireproof/proto/hippi/config.hpp"
#include "wireproof/proto/pcie/wire_format.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint32_t pcie_outstanding = 2047;
constexpr std::uint32_t hippi_window = 127;

double units_of_message(const RetrySettings& s) {
    if (s.protocol != RetryProtocol::hippi6400) return 1;
    const std::uint32_t cut = (s.payload + 31) / 32;
    return s.payload % hippi::data_size == 0 ? cut : cut + 1;
}

LineUnit unit_of(const RetrySettings& s) {
    if (s.protocol == RetryProtocol::hippi6400) {
        const double payload = s.payload / units_of_message(s);
        return {payload, static_cast<double>(hippi::unit_size) - payload};
    }
    const std::size_t frame = pcie::TlpHead{0, pcie::FlowType::posted, s.payload}.frame_size();
    return {static_cast<double>(s.payload), static_cast<double>(frame - s.payload)};
}

std::uint64_t bytes_of(const LineUnit& unit) {
    return static_cast<std::uint64_t>(unit.bytes());
}

// Of a x1 link at 2.5 GT/s, where a symbol is a byte; longer where loop and acks alone would end
// it.
std::uint64_t pcie_timer(const RetrySettings& s, const RetryLink& link, std::uint64_t unit) {
    std::uint32_t size = 128;
    while (size < s.payload) size *= 2;
    const std::uint64_t limit = pcie::replay_limit({pcie::Speed::gen1, 1}, size);
    return std::max(limit, s.loop + (link.ack_every + 1) * unit);
}

void fill_in(const RetrySettings& s, RetryLink& link) {
    const std::uint64_t unit = bytes_of(link.unit);
    const auto units = [unit](std::uint64_t bytes) { return (bytes + unit - 1) / unit; };
    switch (s.protocol) {
        case RetryProtocol::pcie:
            if (link.ack_every == 0) link.ack_every = 1;
            if (link.timer == 0) link.timer = pcie_timer(s, link, unit);
            if (link.buffer == 0) {
                const std::uint64_t never_stalls = units(s.loop + link.timer) + link.ack_every + 2;
                link.buffer = static_cast<std::uint32_t>(
                    std::min<std::uint64_t>(never_stalls, pcie_outstanding));
            }
            link.scheme =
                s.renak_on_bad_head ? RetryScheme::fresh_notice : RetryScheme::patient_notice;
            break;
        case RetryProtocol::hippi6400:
            if (link.ack_every == 0) link.ack_every = 8;
            if (link.timer == 0) {
                link.timer = std::max(4 * (s.loop + unit), s.loop + (link.ack_every + 1) * unit);
            }
            if (link.buffer == 0) link.buffer = hippi_window;
            link.scheme = RetryScheme::one_notice;
            break;
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
    }
}

// That a notice fails: HIPPI's both copies are needed.
double notice_loss_of(const RetrySettings& s) {
    const double back = s.clean_back ? 0 : s.bit_error;
    const auto lost = [&](double bytes) {
        return 1 - (1 - s.notice_loss) * (1 - unit_error(back, bytes));
    };
    switch (s.protocol) {
        case RetryProtocol::pcie: return lost(pcie::Dllp::size);
        case RetryProtocol::hippi6400: {
            const double q = lost(hippi::unit_size);
            return 1 - (1 - q) * (1 - q);
        }
        default: return 0;
    }
}

Expected<void> check_protocol(const RetrySettings& s, const RetryLink& link) {
    const auto too = [](std::string_view what, std::uint64_t most) {
        return unexpected(std::string(what) + " is 1 to " + std::to_string(most));
    };
    if (s.protocol == RetryProtocol::pcie) {
        if (s.payload > 4096) return too("payload of pcie", 4096);
        if (link.buffer > pcie_outstanding) return too("replay buffer of pcie", pcie_outstanding);
        if (link.timer <= bytes_of(link.unit)) {
            return unexpected("the replay timer must be longer than a unit, which is " +
                              std::to_string(bytes_of(link.unit)) + " bytes");
        }
    }
    if (s.protocol == RetryProtocol::hippi6400) {
        if (link.buffer > 254) return too("replay buffer of hippi6400", 254);
        if (link.timer <= s.loop + 2 * hippi::unit_size) {
            return unexpected("the timer of hippi6400 must be longer than the loop and 80 bytes");
        }
        if (link.timer <= std::uint64_t{link.ack_every} * hippi::unit_size) {
            return unexpected("the timer of hippi6400 must be longer than the wait for an ack");
        }
    }
    if (s.renak_on_bad_head && s.protocol != RetryProtocol::pcie) {
        return unexpected("renak_on_bad_head is of pcie");
    }
    if (s.loaded_back &&
        (s.protocol == RetryProtocol::ideal || s.protocol == RetryProtocol::go_back_n)) {
        return unexpected("the models have no way back to be loaded");
    }
    return {};
}

}  // namespace

bool operator==(const RetrySettings& a, const RetrySettings& b) {
    return a.protocol == b.protocol && a.bit_error == b.bit_error && a.clean_back == b.clean_back &&
           a.notice_loss == b.notice_loss && a.bursts.begin == b.bursts.begin &&
           a.bursts.end == b.bursts.end && a.bursts.loss_in_burst == b.bursts.loss_in_burst &&
           a.payload == b.payload && a.loop == b.loop && a.buffer == b.buffer &&
           a.ack_every == b.ack_every && a.timer == b.timer &&
           a.renak_on_bad_head == b.renak_on_bad_head && a.loaded_back == b.loaded_back;
}

std::optional<RetryProtocol> retry_protocol(std::string_view name) {
    for (std::size_t i = 0; i < retry_protocol_names.size(); ++i) {
        if (retry_protocol_names[i] == name) return static_cast<RetryProtocol>(i);
    }
    return std::nullopt;
}

Expected<RetryLink> resolve(const RetrySettings& s) {
    constexpr std::uint64_t loop_max = 100'000'000;
    if (!(s.bit_error == 0 || (s.bit_error >= 1e-17 && s.bit_error <= 0.1))) {
        return unexpected("a bit error rate is 0, or 1e-17 to 0.1");
    }
    if (!(s.notice_loss >= 0 && s.notice_loss <= 1)) {
        return unexpected("the loss of notices is a probability, 0 to 1");
    }
    if (s.payload < 1 || s.payload > 65536) return unexpected("payload is 1 to 65536 bytes");
    if (s.loop > loop_max) return unexpected("a loop is at most 100000000 bytes");
    if (s.timer > 100 * loop_max) return unexpected("a timer is at most 10000000000 bytes");
    if (s.ack_every > 1024) return unexpected("an ack is for 1 to 1024 units");
    RetryLink link;
    link.unit = unit_of(s);
    link.loop = s.loop;
    link.timer = s.timer;
    link.buffer = s.buffer;
    link.ack_every = s.ack_every;
    fill_in(s, link);
    if (const auto good = check_protocol(s, link); !good) return tl::unexpected(good.error());
    if (link.ack_every > link.buffer) {
        return unexpected("acks for " + std::to_string(link.ack_every) +
                          " units never come with a replay buffer of " +
                          std::to_string(link.buffer));
    }
    FailureCosts::Line line{.unit = link.unit.bytes(),
                            .loop = static_cast<double>(link.loop),
                            .window = static_cast<double>(link.buffer)};
    if (link.timer > 0) line.timer = static_cast<double>(link.timer);
    link.costs = FailureCosts::of(line, notice_loss_of(s));
    return link;
}

}  // namespace wireproof::lab
