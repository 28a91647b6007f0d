// What a device with faults on demand, or with a log of its packets, does between port and wire.
// All packets pass here as copies, so it costs what a device without either does not pay.
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
#include "wireproof/front/verbs/fault_draws.hpp"
#include "wireproof/front/verbs/packet_log.hpp"
#include "wireproof/proto/ib/port.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::verbs {

struct FaultTotals {
    std::uint64_t packets = 0;  // either way
    std::uint64_t lost = 0;
    std::uint64_t damaged = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t held = 0;
};

/// Under the engine's lock.
class Faults {
public:
    /// `own` is the device's address, `first_number` that of its first queue pair.
    Faults(FaultScript script, std::uint64_t seed, std::optional<PacketLog> log, Address own,
           std::uint32_t first_number);

    /// A packet of the port's, whole in `frame`, on its way to a peer. False: its memory is gone.
    bool send(Instant now, const proto::ib::Port& port, PeerId peer, const Address& to,
              const TxFrame& frame);
    /// Hands what is due to the wire, which is to be flushed then.
    void leave(Instant now, Rocev2Wire& wire);

    using Next = std::function<std::optional<RxFrame>()>;
    /// The next packet for the port; `next` gives the wire's. Lent until the next call.
    std::optional<RxFrame> receive(Instant now, const proto::ib::Port& port, Rocev2Wire& wire,
                                   const Next& next);

    /// The device is opened now: planned times count from here.
    void begin(Instant now);
    /// Whether the link is up, if that has changed since it was asked last.
    std::optional<bool> link_change(Instant now);
    bool link_is_up() const { return up_; }
    /// When there is something to do though no packet comes.
    Instant next_deadline() const;
    /// Whether something is to happen before any packet does.
    bool keeps_time() const { return !script_.downs.empty() || !script_.events.empty(); }
    /// Of the script's events one that is due; each is given once.
    std::optional<EventFault> next_event(Instant now);

    const std::vector<CompletionFault>& completions() const { return script_.completions; }
    /// The place of a queue pair of this device in the order of creation, from 1.
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
    };
    /// One way: what others overtake, by peer, and what is due.
    struct Road {
        std::map<PeerId, HoldBack<Kept>> held = {};
        std::deque<Kept> due = {};
    };
    /// What is planned for a time since the device was opened, or for a packet.
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
              bool after_overrun);
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
    std::vector<Planned<EventFault>> events_;  // those that were not told yet
    bool up_ = true;
    Instant looked_;  // when that was asked last
    Road sent_;
    Road received_;
    Kept lent_;  // to the port
    std::vector<std::byte> whole_;
    FaultTotals totals_;
};

}  // namespace wireproof::verbs
