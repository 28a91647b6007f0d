// What other processes see of a Device: its counters and those of its queue pairs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/host/counters/counter_section.hpp"
#include "wireproof/host/counters/publish_pace.hpp"
#include "wireproof/proto/ib/port/port.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::ib {

/// The rows are the queue pairs, in the order of their numbers.
class ShownDevice {
public:
    struct Source {
        const proto::ib::Port& port;
        const Rocev2Counters& wire;
        std::function<std::string(PeerId)> host_of;
    };
    /// Null: the process cannot publish them. The caller owns what `source` names.
    static std::unique_ptr<ShownDevice> open(Source source, const std::string& address,
                                             const host::SteadyClock& clock);

    // As host::PublishPace says.
    bool polled(Instant now) { return pace_.polled(now); }
    void note() { pace_.note(); }
    bool copies_before_sleep() const { return pace_.copies_before_sleep(frames()); }
    Instant next_copy() const { return pace_.next(frames()); }

    void copy();

private:
    explicit ShownDevice(Source source) : source_(std::move(source)) {}
    /// What the text of a row was made of.
    struct Told {
        std::uint32_t number = 0;  // 0: there is no text yet
        proto::ib::Transport transport{};
        proto::ib::QueuePairState state{};
        bool has_address = false;
        PeerId peer{};
        std::uint32_t peer_queue_pair = 0;
        bool operator==(const Told&) const = default;
    };
    /// Sent and received ones.
    std::uint64_t frames() const {
        return source_.wire.udp.frames_sent + source_.wire.udp.frames_received;
    }
    void copy_totals(const std::vector<std::uint32_t>& numbers);
    void copy_row(std::size_t row, const proto::ib::QueuePairCore& core);

    Source source_;
    std::vector<Told> told_;  // by row
    std::unique_ptr<host::CounterSection> section_;
    host::PublishPace pace_;
};

}  // namespace wireproof::ib
