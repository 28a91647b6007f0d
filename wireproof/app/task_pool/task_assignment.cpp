#include "wireproof/app/task_pool/task_assignment.hpp"

#include <algorithm>

namespace wireproof::task_pool {

void TaskAssignment::admit(std::size_t rank, std::size_t room) {
    ranks_[rank].room = room;
}

void TaskAssignment::lose(std::size_t rank) {
    Rank& lost = ranks_[rank];
    for (const std::uint64_t task : lost.tasks) {
        if (task < end_) again_.insert(task);
    }
    lost.tasks.clear();
    lost.lost = true;
}

void TaskAssignment::end_at(std::uint64_t task) {
    end_ = std::min(end_, task);
    again_.erase(again_.lower_bound(end_), again_.end());
}

std::optional<TaskAssignment::Assigned> TaskAssignment::next() {
    if (again_.empty() && next_ >= end_) return std::nullopt;
    auto best = ranks_.end();
    for (auto rank = ranks_.begin(); rank != ranks_.end(); ++rank) {
        if (rank->second.lost || rank->second.free() == 0) continue;
        if (best == ranks_.end() || rank->second.free() > best->second.free()) best = rank;
    }
    if (best == ranks_.end()) return std::nullopt;
    const std::uint64_t task = again_.empty() ? next_++ : *again_.begin();
    again_.erase(task);
    best->second.tasks.insert(task);
    return Assigned{best->first, task};
}

bool TaskAssignment::done(std::size_t rank, std::uint64_t task) {
    const auto at = ranks_.find(rank);
    if (at == ranks_.end() || at->second.tasks.erase(task) == 0 || task >= end_) return false;
    ++results_;
    return true;
}

bool TaskAssignment::complete() const {
    return next_ >= end_ && again_.empty() && std::ranges::all_of(ranks_, [this](const auto& rank) {
               const auto& tasks = rank.second.tasks;
               return tasks.empty() || *tasks.begin() >= end_;
           });
}

std::size_t TaskAssignment::ranks() const {
    const auto here = [](const auto& rank) { return !rank.second.lost; };
    return static_cast<std::size_t>(std::ranges::count_if(ranks_, here));
}

}  // namespace wireproof::task_pool
