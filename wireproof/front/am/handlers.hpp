// The functions that the user registered: the handlers of messages, and the reports.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/proto/am/handler_table.hpp"

namespace wireproof::am {

/// A function of the user that may replace itself while it runs.
template <class... Of>
class Report {
public:
    void set(std::function<void(Of...)> report) {
        report_ = std::make_shared<std::function<void(Of...)>>(std::move(report));
    }
    void operator()(Of... of) const {
        const auto report = report_;  // a share of the function, until it returns
        if (report && *report) (*report)(of...);
    }

private:
    std::shared_ptr<std::function<void(Of...)>> report_;  // null: none
};

/// A function that is set takes effect with change(): a handler that runs must not be replaced.
class Handlers {
public:
    /// An empty `run` removes the handler.
    void set(std::uint16_t handler, Handler run) { next_.emplace_back(handler, std::move(run)); }
    bool must_change() const { return !next_.empty(); }
    void change() {
        for (auto& [handler, run] : std::exchange(next_, {})) {
            if (handler >= handlers_.size()) handlers_.resize(handler + std::size_t{1});
            if (handlers_[handler] && !run) ++removed_;
            table_.set(static_cast<HandlerId>(handler), static_cast<bool>(run));
            handlers_[handler] = std::move(run);
        }
    }

    /// nullptr: there is none.
    const Handler* find(HandlerId handler) const {
        const auto place = static_cast<std::size_t>(handler);
        return place < handlers_.size() && handlers_[place] ? &handlers_[place] : nullptr;
    }
    /// Which handlers there are. Connections point at it.
    const HandlerTable& table() const { return table_; }
    /// How many handlers were ever removed.
    std::uint32_t removed() const { return removed_; }

    Report<const PeerLost&> on_peer_lost;
    Report<std::size_t, std::uint16_t> on_refused;

private:
    std::vector<Handler> handlers_;  // by number
    HandlerTable table_;
    std::vector<std::pair<std::uint16_t, Handler>> next_;
    std::uint32_t removed_ = 0;
};

}  // namespace wireproof::am
