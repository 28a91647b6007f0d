#include "wireproof/front/verbs/faults/faults.hpp"

#include <algorithm>
#include <limits>

#include "wireproof/base/check.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/core/packet_marks.hpp"
#include "wireproof/host/memory_guard.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"

namespace wireproof::verbs {
namespace {

/// Begins the plans that wait for the packet that is counted now, or for an earlier one.
template <class All>
void begin_with_packet(All& all, std::uint64_t packets, Instant now) {
    for (auto& one : all) {
        if (!one.begins && one.plan.at_packet && packets >= *one.plan.at_packet) one.begins = now;
    }
}

/// The device is opened now. Sets the beginning of the plans that wait for a time.
template <class All>
void begin_with_time(All& all, Instant now) {
    for (auto& one : all) {
        if (!one.plan.at_packet) one.begins = now + one.plan.at;
    }
}

// If the packets that should overtake a held packet do not come, the held packet leaves after this
// time.
constexpr Duration hold_time = Duration::milliseconds(10);
constexpr std::uint32_t behind_all = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t salt_bit = 0x666C6970;

/// Chooses a bit that the ICRC covers and that matters to every port: after the base header, or in
/// its PSN.
std::size_t bit_to_flip(std::uint64_t key, std::size_t packet) {
    constexpr std::size_t psn_at = 9;
    const std::size_t from = packet > proto::ib::Bth::size ? proto::ib::Bth::size : psn_at;
    return 8 * from +
           static_cast<std::size_t>(Random(mix64(key ^ salt_bit)).below(8 * (packet - from)));
}

std::string mark_of(const PacketFate& decided, const std::optional<std::size_t>& flipped) {
    std::string what;
    const auto add = [&what](bool there, const std::string& word) {
        if (there) what += (what.empty() ? "" : ", ") + word;
    };
    const Fate& fate = decided.fate;
    add(fate.lost, std::string(mark_lost));
    add(flipped.has_value(), "damaged");
    add(fate.held_behind > 0, "held back behind " + std::to_string(fate.held_behind));
    add(decided.delay > Duration(),
        "delayed by " + std::to_string(decided.delay.nanoseconds() / 1000) + " us");
    add(fate.duplicated, "duplicated");
    return what.empty() ? what : what + ": " + decided.which;
}

}  // namespace

Faults::Faults(FaultScript script, std::uint64_t seed, std::optional<PacketLog> log, Address own,
               std::uint32_t first_number)
    : script_(std::move(script)),
      draws_(script_, seed),
      log_(std::move(log)),
      own_(own),
      first_number_(first_number) {
    for (const LinkDown& plan : script_.downs) downs_.push_back({plan});
    for (const EventFault& plan : script_.events) events_.push_back({plan});
}

std::uint32_t Faults::place_of(std::uint32_t number) const {
    return number - first_number_ + 1;
}

PassingPacket Faults::passing(const proto::ib::Port& port, Way way, PeerId peer,
                              const Address& other, ConstBytes bytes) const {
    const proto::ib::Bth bth = proto::ib::Bth::decode(bytes.first<proto::ib::Bth::size>());
    const std::uint32_t number = way == Way::sent ? port.last_sender() : bth.dest_qp;
    PassingPacket packet{.way = way, .peer = peer, .queue_pair = place_of(number), .bytes = bytes};
    const bool own_is_lower = own_.host < other.host;
    packet.from_lower = (way == Way::sent) == own_is_lower;
    const proto::ib::QueuePairCore* const core = port.queue_pair(number);
    const proto::ib::Opcode* const opcode = proto::ib::find_opcode(bth.opcode);
    if (core == nullptr || opcode == nullptr) return packet;
    // A response has the PSN of its request.
    const bool ours = (way == Way::sent) != opcode->is_response();
    const proto::ib::QueuePairAttributes& known = core->attributes();
    packet.first_psn = (ours ? known.send_psn : known.receive_psn).value();
    return packet;
}

bool Faults::send(Instant now, const proto::ib::Port& port, PeerId peer, const Address& to,
                  const TxFrame& frame) {
    whole_.resize(frame.size());
    if (!host::guarded([&] { frame.gather(whole_); })) return false;
    take(now, sent_, passing(port, Way::sent, peer, to, whole_), to, {});
    return true;
}

void Faults::count_packet(Instant now) {
    ++totals_.packets;
    begin_with_packet(downs_, totals_.packets, now);
    begin_with_packet(events_, totals_.packets, now);
}

void Faults::take(Instant now, Road& road, const PassingPacket& packet, const Address& other,
                  const RxFrame& arrived) {
    count_packet(now);
    PacketFate decided = draws_.decide(packet);
    Kept kept{
        .peer = packet.peer, .after_overrun = arrived.after_overrun, .marked = arrived.marked};
    kept.bytes.assign(packet.bytes.begin(), packet.bytes.end());
    if (decided.fate.lost || is_down(now)) {
        ++totals_.lost;
        const bool down = !decided.fate.lost;
        decided.fate = Fate{.lost = true};
        kept.mark = (down ? "link down, " : "") + mark_of(decided, {});
        log(now, packet.way, other, kept);
        return;
    }
    if (decided.fate.damaged) {
        kept.flipped = bit_to_flip(decided.key, kept.bytes.size());
        ++totals_.damaged;
    }
    kept.mark = mark_of(decided, kept.flipped);
    // The log has the packets in the order in which their fates were decided.
    for (int copies = decided.fate.duplicated ? 2 : 1; copies > 0; --copies) {
        log(now, packet.way, other, kept);
    }
    if (decided.fate.duplicated) ++totals_.duplicated;
    if (packet.way == Way::received && kept.flipped) return;  // its ICRC is wrong
    if (decided.fate.duplicated) put_on(now, road, kept, decided);
    put_on(now, road, std::move(kept), decided);
    if (decided.fate.held_behind == 0 && decided.delay == Duration()) {
        road.held[packet.peer].pass([&road](Kept one) { road.due.push_back(std::move(one)); });
    }
}

void Faults::put_on(Instant now, Road& road, Kept kept, const PacketFate& decided) {
    const std::uint32_t behind = decided.fate.held_behind;
    if (behind == 0 && decided.delay == Duration()) {
        road.due.push_back(std::move(kept));
        return;
    }
    ++totals_.held;
    const bool delays = decided.delay > Duration();
    const PeerId peer = kept.peer;
    road.held[peer].hold(std::move(kept), behind > 0 ? behind : behind_all,
                         now + (delays ? decided.delay : hold_time));
}

void Faults::leave(Instant now, Rocev2Wire& wire) {
    for (auto& [peer, held] : sent_.held) {
        held.expire(now, [this](Kept one) { sent_.due.push_back(std::move(one)); });
    }
    for (; !sent_.due.empty(); sent_.due.pop_front()) {
        const Kept& kept = sent_.due.front();
        Rocev2Lane& lane = wire.lane(kept.peer);
        TxFrame* room = lane.claim();
        if (room == nullptr) {
            wire.flush(now);
            room = lane.claim();
        }
        // A flush empties the batch, and each peer of this wire has an address.
        WIREPROOF_CHECK(room != nullptr);
        std::copy(kept.bytes.begin(), kept.bytes.end(), room->add_all(kept.bytes.size()).begin());
        if (kept.flipped) {
            lane.commit_damaged(*kept.flipped);
        } else {
            lane.commit();
        }
    }
}

std::optional<RxFrame> Faults::receive(Instant now, const proto::ib::Port& port, Rocev2Wire& wire,
                                       const Next& next) {
    for (auto& [peer, held] : received_.held) {
        held.expire(now, [this](Kept one) { received_.due.push_back(std::move(one)); });
    }
    while (received_.due.empty()) {
        const auto frame = next();
        if (!frame) return std::nullopt;
        if (frame->bytes.size() < proto::ib::Bth::size) return frame;
        const Address& from = wire.lane(frame->from).address();
        take(now, received_, passing(port, Way::received, frame->from, from, frame->bytes), from,
             *frame);
    }
    lent_ = std::move(received_.due.front());
    received_.due.pop_front();
    return RxFrame{.bytes = lent_.bytes,
                   .from = lent_.peer,
                   .integrity = Integrity::intact,
                   .after_overrun = lent_.after_overrun,
                   .marked = lent_.marked};
}

void Faults::add_used_peers(PeerSet& to) const {
    for (const Road* const road : {&sent_, &received_}) {
        for (const auto& [peer, held] : road->held) {
            if (!held.empty()) to.add(peer);
        }
        for (const Kept& kept : road->due) to.add(kept.peer);
    }
}

void Faults::forget(const PeerSet& gone) {
    for (Road* const road : {&sent_, &received_}) {
        std::erase_if(road->held, [&gone](const auto& one) { return gone.contains(one.first); });
    }
    draws_.forget(gone);
}

bool Faults::is_down(Instant now) const {
    return std::any_of(downs_.begin(), downs_.end(),
                       [now](const Down& down) { return is_at(down, now); });
}

void Faults::begin(Instant now) {
    begin_with_time(downs_, now);
    begin_with_time(events_, now);
    link_change(now);
}

std::optional<bool> Faults::link_change(Instant now) {
    looked_ = now;
    const bool up = !is_down(now);
    if (up == up_) return std::nullopt;
    up_ = up;
    return up;
}

std::optional<EventFault> Faults::next_event(Instant now) {
    const auto due = std::ranges::find_if(
        events_, [now](const auto& event) { return event.begins && *event.begins <= now; });
    if (due == events_.end()) return std::nullopt;
    const EventFault plan = due->plan;
    events_.erase(due);
    return plan;
}

Instant Faults::next_deadline() const {
    Instant next = never;
    for (const Road* const road : {&sent_, &received_}) {
        for (const auto& [peer, held] : road->held) next = earliest(next, held.next_deadline());
    }
    if (is_down(looked_) == up_) return looked_;  // a packet began or ended the outage
    for (const auto& event : events_) {
        if (event.begins) next = earliest(next, *event.begins);
    }
    for (const Down& down : downs_) {
        if (!down.begins) continue;
        for (const Instant change : {*down.begins, *down.begins + down.plan.lasts}) {
            if (change > looked_) next = earliest(next, change);
        }
    }
    return next;
}

void Faults::log(Instant now, Way way, const Address& other, const Kept& kept) {
    if (!log_) return;
    const bool sent = way == Way::sent;
    log_->add(now, {.from = sent ? own_ : other,
                    .to = sent ? other : own_,
                    .packet = kept.bytes,
                    .flipped = kept.flipped,
                    .mark = kept.mark});
}

void Faults::flush_log() {
    if (log_) log_->flush();
}

}  // namespace wireproof::verbs
