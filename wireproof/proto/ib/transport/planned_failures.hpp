// Planned failures of requests, for tests of programs. Each plan counts requests from the moment at
// which it is made.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/transport/completion_queue.hpp"

namespace wireproof::proto::ib {

class PlannedFailures {
public:
    /// `nth` counts from 1.
    void add(std::uint64_t nth, CompletionStatus status) { failures_.push_back({nth, status}); }
    /// The status with which the next request must end.
    CompletionStatus next() const {
        CompletionStatus status = CompletionStatus::success;
        for (const Failure& failure : failures_) {
            if (failure.left == 1) status = failure.status;
        }
        return status;
    }
    /// The next request was used; each plan counts it.
    void pass() {
        for (Failure& failure : failures_) --failure.left;
        std::erase_if(failures_, [](const Failure& failure) { return failure.left == 0; });
    }
    void fingerprint(Fingerprint& sink) const {
        sink.add(failures_.size());
        for (const Failure& failure : failures_) {
            sink.add(failure.left);
            sink.add(failure.status);
        }
    }

private:
    struct Failure {
        std::uint64_t left;  // requests up to and including the failing one
        CompletionStatus status;
    };
    std::vector<Failure> failures_;
};

}  // namespace wireproof::proto::ib
