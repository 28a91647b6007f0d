// The code between port and wire of a device that has faults or a log of packets. It copies all
// packets. A device without faults and log does not use it and does not pay for the copies.
//
//      port ──► send() ──► drawn, held back ──► leave() ──► wire
//      port ◄── receive() ◄── drawn, held back ◄────────── wire
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/hold_back.hpp"
#include "wireproof/core/peer_set.hpp"
#include "wireproof/front/verbs/faults/fault_draws.hpp"
#include "wireproof/front/verbs/faults/packet_log.hpp"
#include "wireproof/proto/ib/port/port.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::verbs {

struct FaultTotals {
    std::uint64_t packets = 0;  // in either direction
    std::uint64_t lost = 0;
    std::uint64_t damaged = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t held = 0;
};

/// Calls need the device's lock.
class Faults {
public:
    /// `own` is the device's address. `first_number` is the number of its first queue pair.
    Faults(FaultScript script, std::uint64_t seed, std::optional<PacketLog> log, Address own,
           std::uint32_t first_number);

    /// Accepts a packet of the port that goes to a peer; `frame` has the whole packet. Returns
    /// false if the packet's memory is no longer mapped.
    bool send(Instant now, const proto::ib::Port& port, PeerId peer, const Address& to,
              const TxFrame& frame);
    /// Gives the packets that are due to the wire. The caller must then flush the wire.
    void leave(Instant now, Rocev2Wire& wire);

    using Next = std::function<std::optional<RxFrame>()>;
    /// The next packet for the port. `next` returns the next packet of the wire. The result is
    /// valid until the next call.
    std::optional<RxFrame> receive(Instant now, const proto::ib::Port& port, Rocev2Wire& wire,
                                   const Next& next);

    /// Adds the peers of packets that are held back.
    void add_used_peers(PeerSet& to) const;
    /// No packets of these peers are held back, and their numbers may become those of other hosts.
    void forget(const PeerSet& gone);

    /// The device is opened now. Times in the script count from here.
    void begin(Instant now);
    /// The new state of the link (true: up). The result is empty if the state has not changed since
    /// the last call.
    std::optional<bool> link_change(Instant now);
    bool link_is_up() const { return up_; }
    /// When there is something to do although no packet arrives.
    Instant next_deadline() const;
    /// True if something may happen before the first packet.
    bool keeps_time() const { return !script_.downs.empty() || !script_.events.empty(); }
    /// One of the script's events that is due. Each event is returned once.
    std::optional<EventFault> next_event(Instant now);

    const std::vector<CompletionFault>& completions() const { return script_.completions; }
    /// The position of a queue pair of this device in the order of creation, from 1.
    std::uint32_t place_of(std::uint32_t number) const;

    const FaultTotals& totals() const { return totals_; }
    void flush_log();

private:
    struct Kept {
        PeerId peer = {};
        std::vector<std::byte> bytes = {};
        std::optional<std::size_t> flipped = {};
        std::string mark = {};
        bool after_overrun = false;
        bool marked = false;
    };
    /// One direction: for each peer the packets that are held back, and the packets that are due.
    struct Road {
        std::map<PeerId, HoldBack<Kept>> held = {};
        std::deque<Kept> due = {};
    };
    /// Something planned for a time after the device was opened, or for a packet.
    template <class Plan>
    struct Planned {
        Plan plan;
        std::optional<Instant> begins = {};
    };
    using Down = Planned<LinkDown>;

    static bool is_at(const Down& down, Instant now) {
        return down.begins && *down.begins <= now && now < *down.begins + down.plan.lasts;
    }

    PassingPacket passing(const proto::ib::Port& port, Way way, PeerId peer, const Address& other,
                          ConstBytes bytes) const;
    void take(Instant now, Road& road, const PassingPacket& packet, const Address& other,
              const RxFrame& arrived);
    void put_on(Instant now, Road& road, Kept kept, const PacketFate& decided);
    void count_packet(Instant now);
    bool is_down(Instant now) const;
    void log(Instant now, Way way, const Address& other, const Kept& kept);

    FaultScript script_;
    FaultDraws draws_;
    std::optional<PacketLog> log_;
    Address own_;
    std::uint32_t first_number_;
    std::vector<Down> downs_;
    std::vector<Planned<EventFault>> events_;  // not reported yet
    bool up_ = true;
    Instant looked_;  // time of the last link_change()
    Road sent_;
    Road received_;
    Kept lent_;  // the packet that receive() returned last
    std::vector<std::byte> whole_;
    FaultTotals totals_;
};

}  // namespace wireproof::verbs
