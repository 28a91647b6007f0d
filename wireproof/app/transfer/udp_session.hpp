// One side of a transfer between processes: a node on a socket that takes turns until both ends are
// done.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/host/spin_budget.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/wait.hpp"

namespace wireproof::app {

/// Polls and steps until `step` returns true: then the transfer is over and the side may leave.
/// Calls `alive` now and then; if it returns a line, throws it as a Failure. Throws Interrupted
/// after a signal.
template <class Node>
void turn_until(Node& node, const host::SteadyClock& clock,
                const std::function<bool(Instant)>& step,
                const std::function<std::string()>& alive) {
    constexpr Duration look_after = Duration::milliseconds(100);
    Instant look = clock.now();
    host::SpinBudget spin;
    while (true) {
        check_interrupt();
        const Instant now = clock.now();
        const std::size_t handled = node.poll(now);
        if (step(now)) break;
        if (now >= look) {
            look = now + look_after;
            if (const std::string gone = alive(); !gone.empty()) throw Failure(gone);
        }
        if (handled > 0) spin.heard(now);
        if (handled > 0 || spin.look_again(now)) continue;
        // Sends what the step posted. If frames arrived in the meantime, they get their step before
        // the thread sleeps.
        if (const Instant late = clock.now(); node.poll(late) > 0) {
            spin.heard(late);
            continue;
        }
        host::wait_until(node.wire(), clock, std::min(look, node.next_deadline()));
    }
    node.poll(clock.now());
}

void add_wire_counts(const am::UdpNode& udp, SideCounts& side);

class UdpSession {
public:
    UdpSession(am::UdpNode wire, const am::Config& config);

    am::Node& node() { return node_; }
    SideCounts counts(std::size_t peer) const;
    Address local_address() { return udp_.socket().local_address(); }

    void run(const std::function<bool(Instant)>& step, const std::function<std::string()>& alive) {
        turn_until(node_, clock_, step, alive);
    }

private:
    host::SteadyClock clock_;
    am::UdpNode udp_;
    am::Node node_;
};

}  // namespace wireproof::app
