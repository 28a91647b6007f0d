// The ranks of a job do numbered tasks. Rank 0 assigns them out, collects the results, and does
// tasks itself. A process without a job is rank 0 of one rank. The results do not depend on which
// rank did a task.
//
//     rank 0                                   another rank
//     TaskPool::join()                         TaskPool::join()
//     run():  sends the setup       ────►      await_setup()
//             sends tasks           ────►      work(): does them on its threads
//             takes results         ◄────
//             the end               ────►      work() returns
//
// A rank that dies is noticed: its tasks are done by others. If rank 0 dies, the other ranks throw.
// One thread of each rank owns its Endpoint and polls while the others work, so a long task does
// not look like death. Errors are exceptions: std::runtime_error with one line.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/app/task_pool/parcel.hpp"
#include "wireproof/app/task_pool/task_assignment.hpp"
#include "wireproof/app/task_pool/work_threads.hpp"

namespace wireproof::task_pool {

/// The environment says that a launcher started this process as a rank of a job: PMIx, PMI2,
/// `wireproof launch` or WIREPROOF_PEERS; or that Slurm, Open MPI or PMI started more than one.
bool started_by_a_launcher();
/// One line: other variables look as if a launcher had started this process as one of several, but
/// plain programs have them, too. Empty: there are none.
std::string hint_of_a_launcher();

/// The work of rank 0.
struct TaskPlan {
    std::string setup{};  // what other ranks must know before they can do tasks
    std::uint64_t tasks = 0;
    Work work{};
    /// Takes a result. Each task comes once, in any order. It may call end_at().
    std::function<void(TaskAssignment& assignment, std::uint64_t task, std::string bytes)> take{};
    /// Called after each result, and ten times in a second. An exception ends the work.
    std::function<void(TaskAssignment& assignment)> turn{};
};

class TaskPool {
public:
    /// `program` says what this program is, and its version: it must be the same at all ranks.
    /// `check` is called ten times in a second; an exception of it ends the work.
    static TaskPool alone(std::string program, std::function<void()> check);
    /// Joins the job that the launcher started. It waits for all ranks, one minute at most.
    static TaskPool join(std::string program, std::function<void()> check);
    TaskPool(TaskPool&&) noexcept;
    TaskPool& operator=(TaskPool&&) = delete;
    ~TaskPool();

    bool is_rank_0() const { return !endpoint_ || endpoint_->self() == 0; }
    std::size_t size() const { return endpoint_ ? endpoint_->nodes() : 1; }

    /// For rank 0: returns when all results are there, and ends the work of the other ranks.
    void run(const TaskPlan& plan);

    /// For rank 0: there is no work for the other ranks. run() and the destructor do this, too. A
    /// rank 0 that does not call run() for a long time must do it, because it does not poll.
    void dismiss();

    /// For the other ranks: waits for rank 0. Empty: there is no work, and rank 0 has said why.
    std::optional<std::string> await_setup();
    /// Then: does tasks until rank 0 says that there is no more work.
    void work(Work work);

private:
    struct Event {
        std::size_t rank = 0;
        Parcel parcel{};
        std::string lost{};  // why; empty: it was not lost
    };
    struct Peer {
        std::deque<std::string> unsent{};  // parts
        ParcelParts arriving{};
        bool lost = false;
    };
    /// On the heap: the handlers of the Endpoint keep its address when the TaskPool is moved.
    struct Mail {
        std::deque<Event> arrived{};
        std::vector<Peer> peers{};
    };

    TaskPool(std::string program, std::function<void()> check)
        : program_(std::move(program)), check_(std::move(check)) {}
    void receive();
    void post(std::size_t rank, const Parcel& parcel);
    void send();
    bool all_sent() const;
    std::optional<Event> next_event();
    void wait(const std::function<bool()>& until);
    void wait_for_event(const WorkThreads& threads);
    void wake() const;
    std::size_t threads() const;
    void take_own(const TaskPlan& plan, TaskAssignment& assignment, WorkThreads& threads);
    void take_event(const TaskPlan& plan, TaskAssignment& assignment, Event event);
    void check_rank_0(const Event& event) const;

    std::string program_;
    std::function<void()> check_;
    std::unique_ptr<Mail> mail_ = std::make_unique<Mail>();
    std::unique_ptr<am::Endpoint> endpoint_{};  // none: this process is alone
};

}  // namespace wireproof::task_pool
