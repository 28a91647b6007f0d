// What other processes see of an Endpoint: its counters and those of its peers.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "wireproof/front/am/node.hpp"
#include "wireproof/host/counters/counter_section.hpp"
#include "wireproof/host/counters/publish_pace.hpp"
#include "wireproof/wire/shm/counters.hpp"
#include "wireproof/wire/udp/counters.hpp"

namespace wireproof::am {

/// The rows are the peers of Node::seen(), in that order.
class ShownEndpoint {
public:
    struct Source {
        const Node& node;
        const UdpCounters* udp = nullptr;     // null: it has no such wire
        const ShmCounters* shared = nullptr;  // null: it has no such wire
    };
    /// Null: the process cannot publish them. The caller owns what `source` names.
    static std::unique_ptr<ShownEndpoint> open(const Source& source, std::string_view details,
                                               const host::SteadyClock& clock);

    // As host::PublishPace says.
    bool polled(Instant now) { return pace_.polled(now); }
    void note() { pace_.note(); }
    bool copies_before_sleep() const { return pace_.copies_before_sleep(frames()); }
    Instant next_copy() const { return pace_.next(frames()); }

    /// The details of the rows have changed.
    void forget_details() { named_ = 0; }

    /// Copies all values. `details_of(peer)` makes the details of a row.
    template <class DetailsOf>
    void copy(DetailsOf&& details_of) {
        const PeerSet& peers = source_.node.seen();
        const std::size_t rows = std::min(peers.size(), section_->row_places());
        section_->begin(pace_.last());
        copy_totals();
        for (; named_ < rows; ++named_) {
            const std::size_t peer = peers[named_];
            section_->set_row_text(named_, std::to_string(peer), details_of(peer));
        }
        for (std::size_t row = 0; row < rows; ++row) copy_row(row, peers[row]);
        section_->set_rows(rows, peers.size() - rows);
        section_->end();
        pace_.copied(rows, frames());
    }

private:
    explicit ShownEndpoint(const Source& source) : source_(source) {}
    /// Sent and received ones.
    std::uint64_t frames() const {
        std::uint64_t sum = 0;
        if (source_.udp != nullptr) sum += source_.udp->frames_sent + source_.udp->frames_received;
        if (source_.shared != nullptr) {
            sum += source_.shared->frames_sent + source_.shared->frames_received;
        }
        return sum;
    }
    void copy_totals();
    void copy_row(std::size_t row, std::size_t peer);

    Source source_;
    std::unique_ptr<host::CounterSection> section_;
    host::PublishPace pace_;
    std::size_t named_ = 0;  // rows whose details are there
};

}  // namespace wireproof::am
