// The counters of the device, as other processes see them (host::CounterSection; `wireproof stat`).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/core/frame.hpp"
#include "wireproof/host/counters/counter_section.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/proto/ib/port/port.hpp"
#include "wireproof/wire/shm/counters.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::verbs {

struct CountersOf {
    const proto::ib::Port& port;
    const Rocev2Counters& wire;
    ShmCounters shared;   // of memory that is shared with processes of this host
    std::string address;  // of the device
    std::function<std::string(PeerId)> address_of;
};

/// Publishes the counters for other processes. The names are "counters.…" and "hw_counters.…", as
/// the kernel and its adapters have them, and "wire.…", "shared.…" and "port.…". The rows are the
/// queue pairs, in the order of their numbers. If a copy takes longer, copies are further apart.
/// Calls need the lock that protects the counters.
class ShownCounters {
public:
    explicit ShownCounters(const host::SteadyClock& clock) : clock_(clock) {}

    /// A counter has changed, so the counters must be copied again.
    void note() { noted_ = true; }
    bool due(Instant now) const { return next() <= now; }
    /// When to copy them. The result is `never` if no counter has changed since the last time, or
    /// if they are not published.
    Instant next() const { return noted_ ? again_ : never; }
    void show(const CountersOf& of);

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
    void open(const CountersOf& of);
    void copy(const CountersOf& of, Instant now);
    void copy_row(const CountersOf& of, std::size_t row, const proto::ib::QueuePairCore& core);
    std::string details_of(const CountersOf& of, const Told& told) const;

    const host::SteadyClock& clock_;
    bool opened_ = false;
    std::unique_ptr<host::CounterSection> section_;  // null: they are not published
    std::vector<Told> told_;                         // by row
    bool noted_ = true;
    Instant again_;
};

}  // namespace wireproof::verbs
