// InfiniBand writes waiting times as codes. Here are the shortest codes that are not shorter than a
// time that the caller names.
#pragma once

#include <chrono>
#include <cstdint>

#include "wireproof/proto/ib/aeth_codes.hpp"
#include "wireproof/proto/ib/queue_pair_core.hpp"

namespace wireproof::rdma {

inline constexpr std::uint8_t ack_timeout_code_max = 31;
inline constexpr std::chrono::nanoseconds ack_timeout_min(ib::ack_timeout(1).nanoseconds());
inline constexpr std::chrono::nanoseconds ack_timeout_max(
    ib::ack_timeout(ack_timeout_code_max).nanoseconds());
inline constexpr std::chrono::microseconds rnr_timer_min(ib::rnr_microseconds[1]);
inline constexpr std::chrono::microseconds rnr_timer_max(ib::rnr_microseconds[0]);

/// 0, which is for ever, or within the range above.
constexpr std::uint8_t ack_timeout_code(std::chrono::nanoseconds timeout) {
    if (timeout.count() == 0) return 0;
    std::uint8_t code = 1;
    while (code < ack_timeout_code_max && ib::ack_timeout(code).nanoseconds() < timeout.count()) {
        ++code;
    }
    return code;
}

/// Within the range above. Code 0 is the longest.
constexpr std::uint8_t rnr_timer_code(std::chrono::microseconds timer) {
    std::uint8_t code = 1;
    while (code < ib::rnr_microseconds.size() && ib::rnr_microseconds[code] < timer.count()) ++code;
    return code < ib::rnr_microseconds.size() ? code : 0;
}

}  // namespace wireproof::rdma
