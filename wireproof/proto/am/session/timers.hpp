// The timers of a connection.
#pragma once

#include <cstdint>

#include "wireproof/core/timer_table.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {

enum class Timer : std::uint8_t {
    keepalive_request,
    keepalive_reply,
    hello,
    held_ack,
    pace,  // of both channels
    leave,
};
using Timers = TimerTable<Timer, 6>;

constexpr Timer keepalive_timer(Channel channel) {
    return channel == Channel::request ? Timer::keepalive_request : Timer::keepalive_reply;
}

}  // namespace wireproof::am
