// A node's TB2 adapter with the driver the host runs over it, as a Wire. Calls take time: they move
// their host's clock, and a packet is seen only by a poll made after it arrived. The `now` of a
// call means "not before": the host may well be later than that.
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

/// Towards one peer. All lanes of a node share its send FIFO: room claimed and not committed is
/// lent again to whichever lane claims next.
class AdapterLane {
public:
    AdapterLane(Adapter* adapter, std::uint16_t peer) : adapter_(adapter), peer_(peer) {}

    /// The switch checks packets in hardware; it loses what it finds damaged.
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
    std::uint64_t sent = 0;           // lengths stored
    std::uint64_t received = 0;       // packets the host has read
    std::uint64_t overflows = 0;      // packets lost because the receive FIFO was full
    std::uint64_t crc_drops = 0;      // packets the hardware found damaged
    std::uint64_t length_stores = 0;  // bus accesses, each for one or more lengths
    std::uint64_t length_reads = 0;   // bus accesses that look for free entries
    std::uint64_t pops = 0;           // bus accesses that return entries
    std::uint64_t empty_polls = 0;
};

/// For each node, who has packets in the switch on the way to it, in ascending order. Kept by the
/// adapters, so that none has to look at the cables of silent nodes.
using OnTheWay = std::vector<std::vector<std::uint16_t>>;

class Adapter {
public:
    /// The switch is where packets go and come from; its cables carry heads of packets.
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
    /// When the next packet can be seen, or room that was refused be had.
    Instant next_deadline() const;

    const AdapterCounts& counts() const { return counts_; }
    const SendFifo& send_fifo() const { return send_fifo_; }
    const ReceiveFifo& receive_fifo() const { return receive_fifo_; }

private:
    friend class AdapterLane;

    // What becomes of a packet whose head waits at this node's port of the switch.
    struct Landing {
        Instant off_link;
        Instant begins;  // the adapter turns to it
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
    std::size_t known_free_;  // entries the host knows to be free without asking
    bool refused_ = false;    // a claim, since the last flush
    Instant wake_at_ = never;
    Instant port_free_;     // the link from the switch to here
    Instant adapter_free_;  // its receive side
    AdapterCounts counts_;
};

static_assert(Wire<Adapter>);

}  // namespace wireproof::sp2
