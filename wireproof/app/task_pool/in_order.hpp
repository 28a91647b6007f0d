// Passes results on in the order of their tasks, whatever the order in which they arrive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace wireproof::task_pool {

template <class Result>
class InOrder {
public:
    /// Each task has one result.
    void put(std::uint64_t task, Result result) { waiting_.emplace(task, std::move(result)); }

    /// The result of the task next(). Empty: it has not arrived.
    std::optional<Result> take() {
        auto node = waiting_.extract(next_);
        if (node.empty()) return std::nullopt;
        ++next_;
        return std::move(node.mapped());
    }
    /// The first task whose result was not taken.
    std::uint64_t next() const { return next_; }

private:
    std::uint64_t next_ = 0;
    std::map<std::uint64_t, Result> waiting_;
};

}  // namespace wireproof::task_pool
