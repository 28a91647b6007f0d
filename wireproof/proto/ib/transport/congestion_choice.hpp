// With which peers the RC queue pairs of a device use congestion control, and which.
#pragma once

#include <cstdint>

#include "wireproof/proto/ib/transport/queue_pair_state.hpp"

namespace wireproof::proto::ib {

struct CongestionChoice {
    enum class With : std::uint8_t {
        other_hosts,  // a path between hosts carries other flows, too
        all,
        none,
    };
    With with = With::other_hosts;
    Congestion algorithm = Congestion::by_path;

    Congestion to(bool other_host) const {
        const bool on = with == With::all || (with == With::other_hosts && other_host);
        return on ? algorithm : Congestion::off;
    }
    /// A device uses it with at least some peers. On loopback, all peers are on this host.
    bool used(bool on_loopback) const { return to(!on_loopback) != Congestion::off; }
};

}  // namespace wireproof::proto::ib
