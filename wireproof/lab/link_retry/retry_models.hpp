// Two model senders without an engine. One gets a notice of every failure and goes back; the other
// resends only the bad units. The recovery of the engines is compared with them. They have no
// timers, and their way back has no errors and no delay.
#pragma once

#include <vector>

#include "wireproof/lab/link_retry/retry_batches.hpp"
#include "wireproof/lab/link_retry/retry_faults.hpp"
#include "wireproof/lab/link_retry/retry_latencies.hpp"
#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

/// The model treats the loop as a round of places. A unit that leaves from a place is judged when
/// the turn of that place comes again, so each place is a stop-and-wait sender. A window shorter
/// than the loop leaves the rest of the round idle. A regular value.
class RetryModel {
public:
    RetryModel(const RetryLink& link, RetryFaults faults, bool jumps, RetryPulse pulse = {});

    void advance(Wide accepted);

    const RetryTotals& totals() const { return totals_; }
    std::size_t kept_most() const { return failed_.size(); }
    const Histogram& latencies() { return latencies_.histogram(); }
    const RetryBatches& batches() const { return batches_; }
    const RetryFaults& faults() const { return faults_; }
    Wide jumped() const { return jumped_; }

private:
    bool skip(Wide left);
    void live();
    void live_selective(bool bad);
    void live_going_back(bool bad);
    void accept(std::uint64_t failures, std::uint64_t units = 1);
    void pass(std::uint64_t units);

    std::uint64_t unit_;   // bytes
    std::uint64_t round_;  // bytes
    bool selective_;
    bool jumps_;
    RetryPulse pulse_;
    std::uint64_t turns_ = 0;
    RetryFaults faults_;
    RetryLatencies latencies_;
    RetryBatches batches_;
    RetryTotals totals_;
    Wide jumped_ = 0;

    std::vector<std::uint32_t> failed_;  // how often the unit of each place has failed
    std::size_t place_ = 0;
    std::size_t pending_ = 0;    // places that have failed
    std::uint64_t in_vain_ = 0;  // units to be sent in vain before the expected one leaves again
};

}  // namespace wireproof::lab
