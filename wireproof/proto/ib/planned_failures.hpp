// Requests that are told to fail, for the tests of programs: each is the nth from when it was told.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/completion_queue.hpp"

namespace wireproof::proto::ib {

class PlannedFailures {
public:
    /// `nth` counts from 1.
    void add(std::uint64_t nth, CompletionStatus status) { failures_.push_back({nth, status}); }
    /// How the next request is to end.
    CompletionStatus next() const {
        CompletionStatus status = CompletionStatus::success;
        for (const Failure& failure : failures_) {
            if (failure.left == 1) status = failure.status;
        }
        return status;
    }
    /// It has had its turn.
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
        std::uint64_t left;  // requests up to it
        CompletionStatus status;
    };
    std::vector<Failure> failures_;
};

}  // namespace wireproof::proto::ib
