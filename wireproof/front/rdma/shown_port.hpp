// What other processes see of a device: the counters of its port, its wires and its queue pairs
// (host::CounterSection; `wireproof stat`).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wireproof/host/counters/counter_section.hpp"
#include "wireproof/host/counters/publish_pace.hpp"
#include "wireproof/proto/ib/port/port.hpp"
#include "wireproof/wire/shm/counters.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::rdma {

/// What the counters of a whole device are computed from.
struct PortSums {
    const Rocev2Counters& wire;
    ShmCounters shared;
    const proto::ib::PortCounters& port;
    proto::ib::QueuePairCounters total;  // of all queue pairs, also of removed ones
    std::uint64_t malformed = 0;
    std::uint64_t queue_pairs = 0;
};

/// A counter of the whole device.
struct PortTotal {
    host::CounterName name;
    std::uint64_t (*of)(const PortSums&);
};

/// The totals are "device.queue_pairs", those that the device adds, "total.…" (the sums of all
/// queue pairs), "wire.…", "shared.…" and "port.…". The rows are the queue pairs, in the order of
/// their numbers. Only one thread at a time may call.
class ShownPort {
public:
    struct Source {
        const proto::ib::Port& port;
        const Rocev2Counters& wire;
        std::function<ShmCounters()> shared;  // empty: the device shares no memory
        std::function<std::string(PeerId)> host_of;
    };
    struct Form {
        host::CounterSource source;
        std::string details;  // lines of "name=value", beside the path MTU
        std::span<const PortTotal> more = {};
    };
    /// Null: the process cannot publish them. The caller owns what `source` and `form.more` name.
    static std::unique_ptr<ShownPort> open(Source source, const Form& form,
                                           const host::SteadyClock& clock);

    // As host::PublishPace says. The caller notes frames that move through shared memory.
    bool polled(Instant now) { return pace_.polled(now); }
    /// The caller has polled at `now`. True: something has changed, and it copies now.
    bool due(Instant now) { return pace_.polled(now) && next_copy() <= now; }
    void note() { pace_.note(); }
    bool copies_before_sleep() const { return pace_.copies_before_sleep(frames()); }
    Instant next_copy() const { return pace_.next(frames()); }

    void copy();

private:
    /// What the text of a row was made of.
    struct Told {
        std::uint32_t number = 0;  // 0: there is no text yet
        proto::ib::Transport transport{};
        proto::ib::QueuePairState state{};
        bool has_address = false;
        PeerId peer{};
        std::uint32_t peer_queue_pair = 0;
        proto::ib::Congestion congestion{};
        bool operator==(const Told&) const = default;
    };
    ShownPort(Source source, std::span<const PortTotal> more)
        : source_(std::move(source)), more_(more) {}
    /// Sent and received ones by UDP.
    std::uint64_t frames() const {
        return source_.wire.udp.frames_sent + source_.wire.udp.frames_received;
    }
    PortSums sums(const std::vector<std::uint32_t>& numbers) const;
    void copy_totals(const PortSums& sums);
    void copy_row(std::size_t row, const proto::ib::QueuePairCore& core);
    std::string details_of(const Told& told) const;

    Source source_;
    std::span<const PortTotal> more_;
    std::vector<Told> told_;  // by row
    std::unique_ptr<host::CounterSection> section_;
    host::PublishPace pace_;
};

}  // namespace wireproof::rdma
