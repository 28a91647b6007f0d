// What the device counts, as text: one line for each, its name with dots between the parts, a space
// and the value. Other processes read it (host::PublishedText; `wireproof stat`).
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

/// "device.…", then "counters.…" and "hw_counters.…" under the names that the kernel and its
/// adapters use, "wire.…" and "port.…" under our own, and "queue_pairs.NUMBER.…".
std::string counters_text(const CountersOf& of);

/// Where others read them: once in a while, and the rarer the longer it takes. Under the lock of
/// what it shows.
class ShownCounters {
public:
    explicit ShownCounters(const host::SteadyClock& clock) : clock_(clock) {}

    /// Something was counted, so they are to be shown again.
    void note() { noted_ = true; }
    bool due(Instant now) const { return next() <= now; }
    /// When they are to be shown; never: nothing was counted since.
    Instant next() const { return noted_ ? again_ : never; }
    void show(const CountersOf& of);

private:
    const host::SteadyClock& clock_;
    std::optional<host::PublishedText> text_;  // none: the process may not have one more file
    bool noted_ = true;
    Instant again_;
};

}  // namespace wireproof::verbs
