// InfiniBand encodes waiting times. These functions return the code of the shortest time that is
// not shorter than the caller's.
#pragma once

#include <chrono>
#include <cstdint>

#include "wireproof/proto/ib/packet/aeth_codes.hpp"
#include "wireproof/proto/ib/transport/queue_pair_core.hpp"

namespace wireproof::ib {

inline constexpr std::uint8_t ack_timeout_code_max = 31;
inline constexpr std::chrono::nanoseconds ack_timeout_min(proto::ib::ack_timeout(1).nanoseconds());
inline constexpr std::chrono::nanoseconds ack_timeout_max(
    proto::ib::ack_timeout(ack_timeout_code_max).nanoseconds());
inline constexpr std::chrono::microseconds rnr_timer_min(proto::ib::rnr_microseconds[1]);
inline constexpr std::chrono::microseconds rnr_timer_max(proto::ib::rnr_microseconds[0]);

/// `timeout` must be 0, which means for ever, or within the range above.
constexpr std::uint8_t ack_timeout_code(std::chrono::nanoseconds timeout) {
    if (timeout.count() == 0) return 0;
    std::uint8_t code = 1;
    while (code < ack_timeout_code_max &&
           proto::ib::ack_timeout(code).nanoseconds() < timeout.count()) {
        ++code;
    }
    return code;
}

/// `timer` must be within the range above. Code 0 is the longest time.
constexpr std::uint8_t rnr_timer_code(std::chrono::microseconds timer) {
    std::uint8_t code = 1;
    while (code < proto::ib::rnr_microseconds.size() &&
           proto::ib::rnr_microseconds[code] < timer.count()) {
        ++code;
    }
    return code < proto::ib::rnr_microseconds.size() ? code : 0;
}

}  // namespace wireproof::ib
