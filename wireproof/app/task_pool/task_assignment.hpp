// Decides which rank of a job does which task. The tasks have the numbers from 0. No rank gets more
// tasks at a time than it has room for. The tasks of a rank that was lost are assigned again. This
// is only the state: whoever uses it sends the tasks and receives the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace wireproof::task_pool {

class TaskAssignment {
public:
    struct Assigned {
        std::size_t rank = 0;
        std::uint64_t task = 0;

        friend bool operator==(const Assigned&, const Assigned&) = default;
    };

    explicit TaskAssignment(std::uint64_t tasks) : end_(tasks) {}

    /// The rank takes part, and has at most `room` tasks at a time. A second call changes the room;
    /// tasks that were assigned already stay. A rank that was lost gets no task any more.
    void admit(std::size_t rank, std::size_t room);
    /// The rank is gone, and so are its tasks without a result.
    void lose(std::size_t rank);
    /// The results of `task` and all later tasks are not needed. This cannot be taken back.
    void end_at(std::uint64_t task);

    /// Assigns the next task: first those of lost ranks, then the lowest one. The rank with the
    /// most room gets it; of equal ranks, the lowest. Empty: no task is left, or no rank has room.
    std::optional<Assigned> next();
    /// The rank has done the task. True: the result is needed. False: this rank did not have this
    /// task, or the result is not needed any more.
    bool done(std::size_t rank, std::uint64_t task);

    /// Every result that is needed has arrived.
    bool complete() const;
    /// How many needed results have arrived.
    std::uint64_t results() const { return results_; }
    /// No task from this one on was assigned.
    std::uint64_t unassigned() const { return next_; }
    /// The ranks that take part and were not lost.
    std::size_t ranks() const;

private:
    struct Rank {
        std::size_t room = 0;
        std::set<std::uint64_t> tasks{};  // assigned, without a result
        bool lost = false;

        std::size_t free() const { return room > tasks.size() ? room - tasks.size() : 0; }
    };

    std::uint64_t end_;
    std::uint64_t next_ = 0;  // the lowest task that was never assigned
    std::uint64_t results_ = 0;
    std::set<std::uint64_t> again_;  // of lost ranks
    std::map<std::size_t, Rank> ranks_;
};

}  // namespace wireproof::task_pool
