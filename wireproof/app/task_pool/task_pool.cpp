#include "wireproof/app/task_pool/task_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace wireproof::task_pool {
namespace {

using std::chrono::milliseconds;
using Kind = Parcel::Kind;

constexpr std::uint16_t part_handler = 1;
// Between two looks at signals, and two turns of the progress line.
constexpr milliseconds turn_time{100};
// How long rank 0 waits for the others to hear of the end.
constexpr milliseconds end_time{5'000};
// On UDP a rank is lost after this silence. Its Endpoint has a thread of its own, but the machine
// may be busy. On shared memory the kernel tells of a death at once.
constexpr milliseconds silence_max{30'000};

bool is_more_than_one(const char* variable) {
    const char* const text = std::getenv(variable);
    const std::string_view number = text == nullptr ? "" : text;
    return !number.empty() && number != "0" && number != "1";
}

}  // namespace

bool started_by_a_launcher() {
    constexpr std::array announce = {"PMIX_RANK", "PMI_FD", "WIREPROOF_RANK", "WIREPROOF_PEERS",
                                     "WIREPROOF_LAUNCHER"};
    constexpr std::array sizes = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",      "SLURM_STEP_NUM_TASKS",
                                  "MV2_COMM_WORLD_SIZE",  "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE"};
    return std::ranges::any_of(announce, [](const char* name) { return std::getenv(name); }) ||
           std::ranges::any_of(sizes, is_more_than_one);
}

std::string hint_of_a_launcher() {
    if (!is_more_than_one("WORLD_SIZE") || std::getenv("RANK") == nullptr) return {};
    return fmt::format(
        "WORLD_SIZE is {}, but this process joins no job and does all the work itself; if torchrun "
        "started it, WIREPROOF_LAUNCHER=torchrun joins "
        "(share/doc/wireproof/guide/messages/jobs.md)",
        std::getenv("WORLD_SIZE"));
}

TaskPool TaskPool::alone(std::string program, std::function<void()> check) {
    return {std::move(program), std::move(check)};
}

TaskPool TaskPool::join(std::string program, std::function<void()> check) {
    am::Options options;
    options.peer_timeout = silence_max;
    auto joined = am::Endpoint::join(options);
    if (!joined) throw std::runtime_error("cannot join the job: " + joined.error());
    TaskPool pool(std::move(program), std::move(check));
    pool.endpoint_ = std::make_unique<am::Endpoint>(std::move(*joined));
    pool.receive();
    return pool;
}

TaskPool::TaskPool(TaskPool&&) noexcept = default;

TaskPool::~TaskPool() {
    if (!is_rank_0()) return;
    try {
        dismiss();
    } catch (const std::exception&) {
        // The other ranks then notice that this one is gone.
    }
}

void TaskPool::receive() {
    Mail* const mail = mail_.get();
    mail->peers.resize(size());
    endpoint_->handle(part_handler, [mail](const am::Message& message) {
        Peer& peer = mail->peers[message.peer()];
        const auto whole = peer.arriving.add(message.bytes());
        if (!whole || peer.lost) return;
        auto parcel = Parcel::decode(*whole);
        if (parcel) mail->arrived.push_back({message.peer(), *std::move(parcel)});
    });
    endpoint_->on_peer_lost([mail](const am::PeerLost& lost) {
        Peer& peer = mail->peers[lost.peer];
        peer = {};
        peer.lost = true;
        mail->arrived.push_back({lost.peer, {}, lost.message()});
    });
}

void TaskPool::post(std::size_t rank, const Parcel& parcel) {
    Peer& peer = mail_->peers[rank];
    if (peer.lost) return;
    for (std::string& part : parts_of(parcel.encode(), endpoint_->message_max())) {
        peer.unsent.push_back(std::move(part));
    }
    send();
}

// Sends as many parts as there is room for. A call of request() may run the handlers above.
void TaskPool::send() {
    for (std::size_t rank = 0; rank < mail_->peers.size(); ++rank) {
        std::deque<std::string>& unsent = mail_->peers[rank].unsent;
        while (!unsent.empty()) {
            const std::string part = unsent.front();
            const auto bytes = std::as_bytes(std::span(part));
            if (endpoint_->request(rank, part_handler, bytes) != am::Status::ok) break;
            if (!unsent.empty()) unsent.pop_front();
        }
    }
}

bool TaskPool::all_sent() const {
    return std::ranges::all_of(mail_->peers, [](const Peer& peer) { return peer.unsent.empty(); });
}

std::optional<TaskPool::Event> TaskPool::next_event() {
    if (mail_->arrived.empty()) return std::nullopt;
    Event event = std::move(mail_->arrived.front());
    mail_->arrived.pop_front();
    return event;
}

void TaskPool::wait(const std::function<bool()>& until) {
    endpoint_->wait(
        [this, &until] {
            send();
            return until();
        },
        turn_time);
    check_();
}

void TaskPool::wait_for_event(const WorkThreads& threads) {
    wait([this, &threads] { return !mail_->arrived.empty() || threads.has_results(); });
}

void TaskPool::wake() const {
    if (endpoint_) endpoint_->wake();
}

// The processors of this process, divided among the ranks of this host.
std::size_t TaskPool::threads() const {
    using Path = am::PeerCounters::Path;
    std::size_t ranks = 1;
    for (std::size_t rank = 0; rank < size(); ++rank) {
        const bool other = endpoint_ && rank != endpoint_->self();
        if (other && endpoint_->counters(rank).path != Path::udp) ++ranks;
    }
    return threads_of_rank(ranks);
}

void TaskPool::run(const TaskPlan& plan) {
    TaskAssignment assignment(plan.tasks);
    {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(plan.tasks, threads()));
        WorkThreads own(most, plan.work, [this] { wake(); });
        assignment.admit(0, own.room());
        for (std::size_t rank = 1; rank < size(); ++rank) {
            post(rank, {.kind = Kind::setup, .bytes = program_ + '\n' + plan.setup});
        }
        while (!assignment.complete()) {
            while (const auto next = assignment.next()) {
                if (next->rank == 0) {
                    own.begin(next->task);
                } else {
                    post(next->rank, {.kind = Kind::task, .task = next->task});
                }
            }
            if (endpoint_) {
                wait_for_event(own);
            } else {
                own.wait(turn_time);
                check_();
            }
            take_own(plan, assignment, own);
            while (auto event = next_event()) take_event(plan, assignment, *std::move(event));
            plan.turn(assignment);
        }
    }
    dismiss();
}

void TaskPool::take_own(const TaskPlan& plan, TaskAssignment& assignment, WorkThreads& threads) {
    for (WorkThreads::Done& done : threads.take()) {
        if (done.failed) throw std::runtime_error(done.bytes);
        if (assignment.done(0, done.task)) plan.take(assignment, done.task, std::move(done.bytes));
    }
    assignment.admit(0, threads.room());
}

void TaskPool::take_event(const TaskPlan& plan, TaskAssignment& assignment, Event event) {
    if (!event.lost.empty()) {
        assignment.lose(event.rank);
        return;
    }
    Parcel& parcel = event.parcel;
    switch (parcel.kind) {
        case Kind::hello:
            if (parcel.bytes == program_) return;
            throw std::runtime_error(fmt::format("rank {} runs {}, but rank 0 runs {}", event.rank,
                                                 parcel.bytes, program_));
        case Kind::failed: throw std::runtime_error(parcel.bytes);
        case Kind::result:
            if (assignment.done(event.rank, parcel.task)) {
                plan.take(assignment, parcel.task, std::move(parcel.bytes));
            }
            [[fallthrough]];
        case Kind::ready: assignment.admit(event.rank, parcel.room); return;
        case Kind::setup:
        case Kind::task:
        case Kind::end: return;  // only rank 0 sends these
    }
}

void TaskPool::dismiss() {
    if (!endpoint_ || !endpoint_->is_open()) return;
    for (std::size_t rank = 1; rank < size(); ++rank) post(rank, {.kind = Kind::end});
    endpoint_->wait(
        [this] {
            send();
            return all_sent();
        },
        end_time);
    endpoint_->close(end_time);
}

void TaskPool::check_rank_0(const Event& event) const {
    if (event.rank != 0 || event.lost.empty()) return;
    throw std::runtime_error(fmt::format("rank {}: rank 0, which assigns the work, was lost ({})",
                                         endpoint_->self(), event.lost));
}

std::optional<std::string> TaskPool::await_setup() {
    post(0, {.kind = Kind::hello, .bytes = program_});
    while (true) {
        wait([this] { return !mail_->arrived.empty(); });
        while (auto event = next_event()) {
            check_rank_0(*event);
            // A rank of another program does nothing: rank 0 sees its hello, and ends the job.
            const std::string& bytes = event->parcel.bytes;
            if (event->parcel.kind == Kind::setup && bytes.starts_with(program_ + '\n')) {
                return bytes.substr(program_.size() + 1);
            }
            if (event->parcel.kind == Kind::end) {
                endpoint_->close(end_time);
                return std::nullopt;
            }
        }
    }
}

void TaskPool::work(Work work) {
    bool more = true;
    {
        WorkThreads own(threads(), std::move(work), [this] { wake(); });
        post(0, {.kind = Kind::ready, .room = own.room()});
        while (more) {
            wait_for_event(own);
            for (WorkThreads::Done& done : own.take()) {
                post(0, {.kind = done.failed ? Kind::failed : Kind::result,
                         .task = done.task,
                         .room = own.room(),
                         .bytes = std::move(done.bytes)});
            }
            while (auto event = next_event()) {
                check_rank_0(*event);
                if (event->parcel.kind == Kind::task) own.begin(event->parcel.task);
                if (event->parcel.kind == Kind::end) more = false;
            }
        }
    }
    endpoint_->close(end_time);
}

}  // namespace wireproof::task_pool
