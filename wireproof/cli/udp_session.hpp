// One side of a transfer between processes: a node on a socket, turned until both ends are done.
#pragma once

#include <functional>
#include <string>

#include "wireproof/cli/carry_run.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::cli {

class UdpSession {
public:
    UdpSession(am::UdpNode wire, const am::Config& config);

    am::Node& node() { return node_; }
    SideCounts counts(std::size_t peer) const;
    Address local_address() { return udp_.socket().local_address(); }

    /// Polls and steps until `step` returns true: its transfer is over and it may leave. Asks
    /// `alive` now and then; a line from it ends the session as a Failure, a signal as Interrupted.
    void run(const std::function<bool(Instant)>& step, const std::function<std::string()>& alive);

private:
    host::SteadyClock clock_;
    am::UdpNode udp_;
    am::Node node_;
};

}  // namespace wireproof::cli
