// The limits keep the model like the hardware. The adapter must work as a pipeline. The receive
// FIFO must have more entries than lazy_pop, or the host might never return entries and stop for
// ever.
#include "wireproof/sim/sp2/config.hpp"

#include <string>

namespace wireproof::sp2 {

Expected<void> Config::check() const {
    if (nodes < 2 || nodes > 0xFFFF) return unexpected("nodes: 2 to 65535");
    if (active_peers >= nodes) return unexpected("active_peers: fewer than nodes");
    if (send_entries == 0 || receive_entries_per_peer == 0) {
        return unexpected("send_entries, receive_entries_per_peer: at least 1");
    }
    if (lazy_pop == 0 || lazy_pop >= receive_entries()) {
        return unexpected("lazy_pop: 1 to " + std::to_string(receive_entries() - 1) +
                          ", below the entries of the receive FIFO");
    }
    if (lengths_per_access == 0 || adapter_packets == 0) {
        return unexpected("lengths_per_access, adapter_packets: at least 1");
    }
    if (costs.link_bytes_per_second == 0) return unexpected("link_bytes_per_second: at least 1");
    if (costs.send_occupancy > costs.send_latency ||
        costs.receive_occupancy > costs.receive_latency) {
        return unexpected("an adapter's occupancy is part of its latency and cannot exceed it");
    }
    const Duration full_entry = costs.on_link(entry_size);
    if (costs.send_occupancy >= full_entry || costs.receive_occupancy >= full_entry) {
        return unexpected("an adapter's occupancy must be below a full packet's time on the link");
    }
    return {};
}

}  // namespace wireproof::sp2
