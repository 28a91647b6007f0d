// A node's TB2 adapter with the driver of the host, as a Wire. Calls take time: they move the clock
// of their host. A poll sees only packets that arrived before it. The `now` of a call is a lower
// bound: the host's clock may be later.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/wire.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/sp2/config.hpp"
#include "wireproof/sim/sp2/host.hpp"
#include "wireproof/sim/sp2/receive_fifo.hpp"
#include "wireproof/sim/sp2/send_fifo.hpp"

namespace wireproof::sp2 {

class Adapter;

/// The lane to one peer. All lanes of a node share its send FIFO. Room that is claimed but not
/// committed is lent again to the next lane that claims.
class AdapterLane {
public:
    AdapterLane(Adapter* adapter, std::uint16_t peer) : adapter_(adapter), peer_(peer) {}

    /// The hardware checks packets and drops damaged ones.
    LaneCapabilities capabilities() const {
        return {.frame_max = entry_size, .carries_intact = true, .carries_all = false};
    }
    TxFrame* claim();
    void commit();

private:
    Adapter* adapter_;
    std::uint16_t peer_;
    TxFrame frame_;
};

struct AdapterCounts {
    std::uint64_t sent = 0;           // packets whose length was stored
    std::uint64_t received = 0;       // packets that the host has read
    std::uint64_t overflows = 0;      // packets lost because the receive FIFO was full
    std::uint64_t crc_drops = 0;      // packets that the hardware found damaged
    std::uint64_t length_stores = 0;  // bus accesses, each for one or more lengths
    std::uint64_t length_reads = 0;   // bus accesses that look for free entries
    std::uint64_t pops = 0;           // bus accesses that return entries
    std::uint64_t empty_polls = 0;
};

/// For each node: which nodes have packets in the switch on the way to it, in ascending order. The
/// adapters maintain it, so that none must look at the cables of silent nodes.
using OnTheWay = std::vector<std::vector<std::uint16_t>>;

class Adapter {
public:
    /// `fabric` is the switch. Packets go to it and come from it; its cables carry the heads of
    /// packets.
    Adapter(const Config& config, std::uint16_t node, Host& host, sim::Network& fabric,
            OnTheWay& on_the_way);
    Adapter(const Adapter&) = delete;
    Adapter& operator=(const Adapter&) = delete;
    ~Adapter() = default;

    AdapterLane& lane(PeerId peer);
    /// One poll of the receive FIFO.
    std::optional<RxFrame> receive(Instant now);
    /// Stores the lengths that are still in a batch; full batches were stored at commit.
    void flush(Instant now);
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    /// When the next packet can be seen, or when room that was refused is free.
    Instant next_deadline() const;

    const AdapterCounts& counts() const { return counts_; }
    const SendFifo& send_fifo() const { return send_fifo_; }
    const ReceiveFifo& receive_fifo() const { return receive_fifo_; }

private:
    friend class AdapterLane;

    // The times of a packet whose head waits at this node's port of the switch.
    struct Landing {
        Instant off_link;
        Instant begins;  // the adapter begins with it
        Instant visible;
    };

    bool find_free_entries();
    Bytes claim(const AdapterLane* lane);
    void commit(const AdapterLane* lane, std::uint16_t peer, const TxFrame& frame);
    void store_lengths();
    void put_on_the_way(std::uint16_t to);
    void absorb(Instant now);
    RxFrame take(sim::Cable& cable);
    sim::Cable* next_cable() const;
    Landing landing(const sim::Cable& cable) const;

    Config config_;
    std::uint16_t node_;
    Host* host_;
    sim::Network* fabric_;
    OnTheWay* on_the_way_;
    std::vector<AdapterLane> lanes_;
    const AdapterLane* claimed_by_ = nullptr;
    SendFifo send_fifo_;
    ReceiveFifo receive_fifo_;
    std::size_t known_free_;  // entries that the host knows to be free without a bus access
    bool refused_ = false;    // a claim, since the last flush
    Instant wake_at_ = never;
    Instant port_free_;     // when the link from the switch is free
    Instant adapter_free_;  // when the receive side is free
    AdapterCounts counts_;
};

static_assert(Wire<Adapter>);

}  // namespace wireproof::sp2
