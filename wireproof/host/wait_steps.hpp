// Decides what a caller does next if it waits and has found nothing: it polls again (SpinBudget),
// gives its processor to other threads (YieldBudget), or sleeps.
//
// Two processes that answer each other may run on the same processor while another one is idle. If
// both sleep, each packet wakes its receiver on the processor of its sender, so they stay together.
// With yields, both are ready to run, and the kernel moves one of them to the idle processor.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/spin_budget.hpp"
#include "wireproof/host/yield_budget.hpp"

namespace wireproof::host {

class WaitSteps {
public:
    enum class Step : std::uint8_t { poll, yield, sleep };

    /// Something has arrived, or was done, now.
    void heard(Instant now) {
        spin_.heard(now);
        yields_.heard();
    }
    /// After a yield, the caller calls back() and polls.
    Step next(Instant now) {
        // On a crowded processor, a poll keeps the peer from running.
        if (!yields_.crowded() && spin_.look_again(now)) return Step::poll;
        return yields_.yield(now) ? Step::yield : Step::sleep;
    }
    /// The yield has returned.
    void back(Instant now) {
        yields_.back(now);
        spin_.yielded();
    }

private:
    SpinBudget spin_;
    YieldBudget yields_;
};

}  // namespace wireproof::host
