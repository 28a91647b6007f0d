#include "wireproof/front/verbs/faults/fault_draws.hpp"

#include <algorithm>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"

namespace wireproof::verbs {
namespace {

constexpr std::uint32_t psn_mask = 0xFFFFFF;
// A flow remembers the attempts of this many packets, then forgets packets far behind the newest.
constexpr std::size_t seen_max = std::size_t{1} << 16;
constexpr std::uint32_t behind_max = 1U << 15;

// Salts that make draws for different purposes independent.
constexpr std::uint64_t salt_damage = 0x64616D61;
constexpr std::uint64_t salt_delay = 0x64656C61;
constexpr std::uint64_t salt_burst = 0x62757273;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    return mix64(hash ^ mix64(value));
}

bool draw(std::uint64_t key, std::uint64_t salt, double chance) {
    return chance > 0 && Random(mixed(key, salt)).chance(chance);
}

/// Requests, responses with data, and each kind of acknowledgement are counted separately.
std::uint64_t class_of(const proto::ib::Packet& packet, std::string_view kind) {
    if (!packet.opcode->is_response()) return 0;
    if (packet.opcode->verb != proto::ib::Verb::acknowledge) return 1;
    std::uint64_t hash = 2;
    for (const char letter : kind) hash = mixed(hash, static_cast<unsigned char>(letter));
    return hash;
}

}  // namespace

std::uint64_t FaultDraws::Identity::key(std::uint64_t seed) const {
    return mixed(mixed(mixed(mix64(seed), flow), place), attempt);
}

FaultDraws::FaultDraws(const FaultScript& script, std::uint64_t seed)
    : script_(script), seed_(seed) {}

FaultDraws::Flow& FaultDraws::flow_of(const FlowName& name, std::uint32_t first_psn) {
    const auto [found, is_new] = flows_.try_emplace(name);
    Flow& flow = found->second;
    if (is_new || flow.first_psn != first_psn) {  // another connection
        flow = {.first_psn = first_psn};
        flow.named.resize(script_.rules.size());
    }
    return flow;
}

FaultDraws::Seen& FaultDraws::note(Flow& flow, std::uint32_t place) {
    const auto ahead = [](std::uint32_t a, std::uint32_t b) { return (a - b) & psn_mask; };
    if (ahead(place, flow.newest) <= psn_mask / 2) flow.newest = place;
    if (flow.seen.size() >= seen_max) {
        std::erase_if(flow.seen,
                      [&](const auto& one) { return ahead(flow.newest, one.first) > behind_max; });
    }
    return flow.seen[place];
}

/// Returns the rules that apply to the packet. Each rule that names the packet counts it. A rule
/// applies if its count is within the rule's range.
std::uint64_t FaultDraws::rules_for(const PassingPacket& packet, FrameInfo info, Flow& flow) {
    std::uint64_t applying = 0;
    for (std::size_t i = 0; i < script_.rules.size(); ++i) {
        const PacketRule& one = script_.rules[i];
        if (one.way != packet.way) continue;
        if (one.queue_pair && *one.queue_pair != packet.queue_pair) continue;
        if (!names(one.rule, info)) continue;
        const std::uint64_t nth = ++flow.named[i];
        if (nth >= one.rule.nth_first && nth <= one.rule.nth_last) {
            applying |= std::uint64_t{1} << i;
        }
    }
    return applying;
}

bool FaultDraws::rule_decides(const Seen& seen, PacketFate& decided) const {
    for (std::size_t i = 0; i < script_.rules.size(); ++i) {
        const PacketRule& one = script_.rules[i];
        if ((seen.rules >> i & 1) == 0) continue;
        if (seen.attempts < one.attempt_first || seen.attempts > one.attempt_last) continue;
        decided.fate = one.rule.fate;
        decided.delay = one.delay;
        return true;
    }
    return false;
}

// A burst starts at a packet of the first attempt and covers the packets after it. Only first
// attempts are lost in bursts.
bool FaultDraws::in_burst(const FaultChances& chances, const Identity& packet) const {
    if (chances.burst <= 0 || packet.attempt != 1) return false;
    const std::uint32_t before = std::min(chances.burst_packets - 1, packet.place);
    for (std::uint32_t i = 0; i <= before; ++i) {
        const Identity first{packet.flow, packet.place - i, 1};
        if (draw(first.key(seed_), salt_burst, chances.burst)) return true;
    }
    return false;
}

void FaultDraws::forget(const PeerSet& gone) {
    std::erase_if(
        flows_, [&gone](const auto& flow) { return gone.contains(std::get<PeerId>(flow.first)); });
}

PacketFate FaultDraws::decide(const PassingPacket& packet) {
    PacketFate decided;
    const auto decoded = proto::ib::Packet::decode({.bytes = packet.bytes});
    if (!decoded) return decided;
    FrameInfo info = proto::ib::describe(packet.bytes);
    const proto::ib::Bth& bth = decoded->bth();
    info.number = bth.psn.value();
    const std::uint64_t kind = class_of(*decoded, info.kind);
    const bool datagram = decoded->opcode->has(proto::ib::Extended::deth);
    const std::uint32_t remote = !datagram                 ? 0
                                 : packet.way == Way::sent ? bth.dest_qp
                                                           : decoded->headers.deth.source_qp;
    Flow& flow =
        flow_of({packet.queue_pair, packet.peer, remote, packet.way, kind}, packet.first_psn);
    const std::uint32_t place = (bth.psn.value() - packet.first_psn) & psn_mask;
    Seen& seen = note(flow, place);
    if (seen.attempts == 0) seen.rules = rules_for(packet, info, flow);
    ++seen.attempts;

    const std::uint64_t direction = packet.from_lower ? 1 : 2;
    const Identity identity{
        mixed(mixed(mixed(packet.queue_pair, direction), static_cast<std::uint64_t>(packet.way)),
              kind),
        place, seen.attempts};
    decided.key = identity.key(seed_);
    decided.which = std::string(info.kind) + ", packet " + std::to_string(place + 1) +
                    " of queue pair " + std::to_string(packet.queue_pair) + ", attempt " +
                    std::to_string(seen.attempts);
    if (rule_decides(seen, decided)) return decided;

    const FaultChances& chances = script_.of(packet.way);
    decided.fate = FaultPlan(chances.rates, decided.key).decide(info);
    if (in_burst(chances, identity)) decided.fate = Fate{.lost = true};
    if (decided.fate.lost) return decided;
    if (draw(decided.key, salt_damage, chances.damage)) decided.fate.damaged = true;
    if (draw(decided.key, salt_delay, chances.delay)) decided.delay = chances.delay_time;
    return decided;
}

}  // namespace wireproof::verbs
