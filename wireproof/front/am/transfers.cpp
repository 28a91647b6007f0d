#include "wireproof/front/am/transfers.hpp"

#include <utility>

namespace wireproof::am {

std::uint64_t Transfers::add(Transfer transfer) {
    if (free_.empty()) {
        free_.push_back(under_way_.size());
        under_way_.emplace_back();
    }
    const std::uint64_t tag = free_.back();
    free_.pop_back();
    under_way_[tag] = std::move(transfer);
    return tag;
}

Transfers::Transfer Transfers::take(std::uint64_t tag) {
    if (tag == nobody_waits) return {};
    free_.push_back(tag);
    return std::exchange(under_way_[tag], {});
}

// A callback may end further transfers, which wait for the next turn.
std::size_t Transfers::run_ended() {
    const std::size_t count = ended_.size();
    for (std::size_t i = 0; i < count; ++i) {
        const Done done = std::move(ended_.front());
        ended_.pop_front();
        if (done) done(Status::ok);
    }
    return count;
}

void Transfers::end_all(Status status) {
    while (any_ended()) run_ended();
    for (Transfer& transfer : under_way_) {
        if (const Done done = std::exchange(transfer, {}).done) done(status);
    }
}

}  // namespace wireproof::am
