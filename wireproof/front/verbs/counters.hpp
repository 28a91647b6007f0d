// The counters of the device as text. Each line has one counter: its name with dots between the
// parts, a space, and the value. Other processes read the text (host::PublishedText; `wireproof
// stat`).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "wireproof/core/frame.hpp"
#include "wireproof/front/verbs/counters_name.hpp"
#include "wireproof/host/published_text.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/proto/ib/port.hpp"
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

/// "device.…", then "counters.…" and "hw_counters.…" with the names that the kernel and its
/// adapters use, "wire.…" and "port.…" with our own names, and "queue_pairs.NUMBER.…".
std::string counters_text(const CountersOf& of);

/// Publishes the counters for other processes. If the text takes longer to make, it is published
/// less often. Calls need the lock that protects the counters.
class ShownCounters {
public:
    explicit ShownCounters(const host::SteadyClock& clock) : clock_(clock) {}

    /// A counter has changed, so the text must be published again.
    void note() { noted_ = true; }
    bool due(Instant now) const { return next() <= now; }
    /// When to publish the text. The result is `never` if no counter has changed since the last
    /// time.
    Instant next() const { return noted_ ? again_ : never; }
    void show(const CountersOf& of);

private:
    const host::SteadyClock& clock_;
    std::optional<host::PublishedText> text_;  // empty: the process cannot have one more file
    bool noted_ = true;
    Instant again_;
};

}  // namespace wireproof::verbs
