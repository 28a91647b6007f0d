#include "wireproof/lab/worlds/am_world.hpp"

#include <array>
#include <memory>

#include "wireproof/lab/common/am_net.hpp"
#include "wireproof/lab/worlds/am_bounds.hpp"
#include "wireproof/lab/worlds/am_flow.hpp"

namespace wireproof::lab {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

class World final : public AmUser {
public:
    World(const AmWorldPlan& plan, bool fingerprints);

    AmWorldResult run();

    Instant on_turn(std::size_t node, Instant now) override;
    void on_delivery(std::size_t node, std::size_t peer, Instant now,
                     const am::Delivery& delivery) override;
    void on_verdict(std::size_t node, std::size_t peer, RxVerdict verdict) override {
        digest_.add(plan_.pair(node, peer));
        digest_.add(verdict);
    }
    void on_departure(std::size_t node, std::size_t peer, const TxFrame& frame,
                      ConstBytes start) override;

private:
    AmFlow& flow(std::size_t asking, std::size_t target) {
        return *flows_[plan_.pair(asking, target)];
    }
    void note(const AmFlow& flow, std::size_t asking, std::size_t target);
    void on_bundle_departure(std::size_t node, std::size_t peer, const am::Header& bundle,
                             const TxFrame& frame);
    void on_numbered_departure(std::size_t node, std::size_t peer, const am::Header& header,
                               ConstBytes data);
    void fail(const std::string& sentence) {
        if (result_.violation.empty()) result_.violation = sentence;
    }
    void check_standstill(std::size_t node, std::size_t peer, am::Channel channel, bool again);
    void on_session_ended(std::size_t node, std::size_t peer, const am::SessionEnded& ended);
    /// True if the session of either end has ended: then open operations never end.
    bool ended(std::size_t node, std::size_t peer) const {
        return ended_[plan_.pair(node, peer)] || ended_[plan_.pair(peer, node)];
    }
    void check_end();
    void check_costs(std::size_t node, std::size_t peer);
    void fill_result(const sim::RunResult& run);

    const AmWorldPlan& plan_;
    bool fingerprints_;
    AmNet net_;
    Random random_;
    std::vector<std::unique_ptr<AmFlow>> flows_;
    std::vector<std::uint32_t> sessions_begun_;
    std::vector<bool> ended_;  // by pair: the node has a report that the session ended
    struct Sleep {
        std::uint64_t pauses = 0;
        Duration time;
    };
    std::vector<Sleep> slept_;  // by node
    struct Standstill {
        std::uint64_t arrived = 0;  // packets of this node that arrived at the peer
        std::uint64_t refused = 0;  // packets that the peer refused because it had no room
        std::uint64_t resent = 0;   // since the last arrival or refusal
        std::uint64_t sent = 0;     // numbered packets and keep-alives since then
        Instant since;              // time of the last arrival or refusal
        struct Packet {
            std::uint64_t position = 0;
            std::uint64_t times = 0;
            Instant since;
        };
        std::array<Packet, am::channel_count> first_missing;
    };
    std::vector<Standstill> standstills_;  // by pair
    Fingerprint digest_;
    AmWorldResult result_;
};

std::string way(std::size_t from, std::size_t to) {
    return std::to_string(from) + " to " + std::to_string(to) + ": ";
}

World::World(const AmWorldPlan& plan, bool fingerprints)
    : plan_(plan),
      fingerprints_(fingerprints),
      net_(plan.network, plan.am, mix64(plan.seed + 1)),
      random_(mix64(plan.seed + 2)),
      flows_(plan.nodes() * plan.nodes()),
      sessions_begun_(plan.nodes() * plan.nodes()),
      ended_(plan.nodes() * plan.nodes()),
      slept_(plan.nodes()),
      standstills_(plan.nodes() * plan.nodes()) {
    net_.have_handlers(AmFlow::handlers());
    result_.seed = plan.seed;
    result_.what = plan.what;
    for (std::size_t from = 0; from < plan.nodes(); ++from) {
        for (std::size_t to = 0; to < plan.nodes(); ++to) {
            if (from == to) continue;
            const std::size_t pair = plan.pair(from, to);
            const std::uint64_t seed = mix64(plan.seed + 3) + pair;
            net_.network().faults(from, to) = FaultPlan(plan.faults[pair], mix64(seed));
            if (plan.loses_long[pair]) {
                net_.network().faults(from, to).add_rule({.kind = "long", .fate = {.lost = true}});
            }
            flows_[pair] = std::make_unique<AmFlow>(plan.traffic[pair], plan.am, seed);
            flows_[pair]->register_memory(net_.memory(to, from));
        }
    }
}

void World::note(const AmFlow& flow, std::size_t asking, std::size_t target) {
    if (!flow.violation().empty()) fail(way(asking, target) + flow.violation());
}

Instant World::on_turn(std::size_t node, Instant now) {
    bool more = false;
    for (std::size_t peer = 0; peer < plan_.nodes(); ++peer) {
        if (fingerprints_ && peer != node) net_.at(node, peer).fingerprint(now, digest_);
        if (peer == node || ended(node, peer)) continue;
        more = flow(node, peer).post(net_.at(node, peer)) || more;
        note(flow(node, peer), node, peer);
    }
    Instant ready = now + plan_.rhythm[node];
    if (plan_.pause_chance > 0 && random_.chance(plan_.pause_chance)) {
        const double share = random_.uniform();
        const double most = static_cast<double>(plan_.pause_max.picoseconds());
        const Duration pause(static_cast<std::int64_t>(share * most));
        ready = ready + pause;
        ++slept_[node].pauses;
        slept_[node].time = slept_[node].time + pause;
    }
    net_.schedule().pause(node, ready);
    return more ? now + Duration::nanoseconds(100) : never;
}

void World::on_delivery(std::size_t node, std::size_t peer, Instant, const am::Delivery& delivery) {
    am::Connection& connection = net_.at(node, peer);
    AmFlow& asked = flow(peer, node);
    AmFlow& own = flow(node, peer);
    std::visit(Overloaded{
                   [&](const am::Request& request) { asked.on_request(request, connection); },
                   [&](const am::Stored& stored) { asked.on_stored(stored, connection); },
                   [&](const am::Reply& reply) {
                       own.on_reply(reply);
                       if (connection.reply(reply.handler, {}) != am::PostStatus::not_allowed) {
                           fail(way(node, peer) + "a reply's handler replied");
                       }
                   },
                   [&](const am::Refused& refused) { own.on_refused(refused); },
                   [&](const am::StoreEnded& ended) { own.on_store_ended(ended); },
                   [&](const am::GetEnded& ended) { own.on_get_ended(ended); },
                   [&](am::SessionBegan) { ++sessions_begun_[plan_.pair(node, peer)]; },
                   [&](const am::FateUnknown&) {
                       if (!plan_.has_black_holes())
                           fail(way(node, peer) + "a message's fate is unknown");
                   },
                   [&](const am::SessionEnded& ended) { on_session_ended(node, peer, ended); },
               },
               delivery);
    note(asked, peer, node);
    note(own, node, peer);
}

// Only the sender of a path that loses long packets may give up its session. The other end gets a
// report, or finds the peer silent.
void World::on_session_ended(std::size_t node, std::size_t peer, const am::SessionEnded& ended) {
    using Why = am::SessionEnded::Why;
    const bool by_peer = ended_[plan_.pair(peer, node)];
    ended_[plan_.pair(node, peer)] = true;
    if (ended.why == Why::silent && by_peer) return;
    const std::size_t pair = ended.by_peer ? plan_.pair(peer, node) : plan_.pair(node, peer);
    if (ended.why != Why::unanswered || !plan_.loses_long[pair] ||
        ended.packet_bytes <= AmWorldPlan::short_frame) {
        const std::string by = ended.by_peer ? " by the peer" : "";
        fail(way(node, peer) + "a session ended" + by + " without a reason: why " +
             std::to_string(static_cast<int>(ended.why)) + ", a packet of " +
             std::to_string(ended.packet_bytes) + " bytes");
    }
}

void World::on_departure(std::size_t node, std::size_t peer, const TxFrame& frame,
                         ConstBytes start) {
    digest_.add(net_.schedule().now().since_start());
    digest_.add(frame.size());
    digest_.add_bytes(start.first(plan_.am.header_size()));
    const auto header = am::decode(plan_.am.layout, start);
    if (!header) return fail(way(node, peer) + "a packet left that does not decode");
    const bool numbered = am::is_numbered(header->kind);
    if (numbered || header->kind == am::Kind::keepalive) {
        check_standstill(node, peer, header->channel, frame.resent());
    }
    if (!numbered || frame.resent()) return;
    if (header->kind == am::Kind::bundle) {
        on_bundle_departure(node, peer, *header, frame);
    } else {
        on_numbered_departure(node, peer, *header, start.subspan(plan_.am.header_size()));
    }
}

// Arrivals are counted by the peer, because the sender may not know of them.
void World::check_standstill(std::size_t node, std::size_t peer, am::Channel channel, bool again) {
    const am::Stats& there = net_.at(peer, node).stats();
    const std::uint64_t arrived =
        there.turned_away_as(RxVerdict::accepted) + there.turned_away_as(RxVerdict::held);
    const std::uint64_t refused = there.turned_away_as(RxVerdict::refused);
    Standstill& standstill = standstills_[plan_.pair(node, peer)];
    if (refused != standstill.refused) standstill.first_missing = {};
    const Instant now = net_.schedule().now();
    if (arrived != standstill.arrived || refused != standstill.refused) {
        standstill.resent = standstill.sent = 0;
        standstill.since = now;
    }
    standstill.arrived = arrived;
    standstill.refused = refused;
    ++standstill.sent;
    if (again) ++standstill.resent;
    const am::SendWindow& window = net_.at(node, peer).sending(channel);
    auto& first = standstill.first_missing[static_cast<std::size_t>(channel)];
    if (again && window.left_first_missing()) {
        const bool same = first.times > 0 && first.position == window.first_missing();
        if (!same) first = {window.first_missing(), 0, now};
        ++first.times;
    }
    const std::string broken = broken_bound(plan_.am, {.since_arrival = standstill.resent,
                                                       .sent_since_arrival = standstill.sent,
                                                       .since = now - standstill.since,
                                                       .first_missing = first.times,
                                                       .lasted = now - first.since});
    if (!broken.empty()) fail(way(node, peer) + broken);
}

// Each message of the bundle counts as if it had left alone.
void World::on_bundle_departure(std::size_t node, std::size_t peer, const am::Header& bundle,
                                const TxFrame& frame) {
    std::vector<std::byte> whole(frame.size());
    ConstBytes entries = ConstBytes(frame.gather(whole)).subspan(plan_.am.header_size());
    am::Header header = bundle;
    header.kind = bundle.channel == am::Channel::request ? am::Kind::request : am::Kind::reply;
    for (std::uint32_t i = 0; i < bundle.count; ++i) {
        const auto entry = am::BundleEntry::decode(entries.first<am::BundleEntry::size>());
        const std::size_t size = entry.bytes;
        header.id = entry.handler;
        header.count = entry.bytes;
        on_numbered_departure(node, peer, header, entries.subspan(am::BundleEntry::size, size));
        header.number =
            static_cast<std::uint32_t>((std::uint64_t{header.number} + 1) % plan_.am.modulus);
        entries = entries.subspan(am::BundleEntry::size + size);
    }
}

void World::on_numbered_departure(std::size_t node, std::size_t peer, const am::Header& header,
                                  ConstBytes data) {
    if (header.channel == am::Channel::request) {
        flow(node, peer).on_asking(header);
        note(flow(node, peer), node, peer);
    } else {
        flow(peer, node).on_answering(header, data);
        note(flow(peer, node), peer, node);
    }
}

AmWorldResult World::run() {
    // A world ends by itself: when no node waits for anything, no node has another turn.
    constexpr std::uint64_t turns_max = 2'000'000;
    const auto failed = [this] { return !result_.violation.empty(); };
    const sim::RunResult run =
        net_.run_until(*this, failed, {.until = Instant(time_allowed(plan_)), .turns = turns_max});
    if (run.end != sim::RunEnd::idle && !failed()) {
        fail("still busy after " + std::to_string(run.now.since_start().nanoseconds()) +
             " ns and " + std::to_string(run.turns) + " turns");
    }
    if (!failed()) check_end();
    fill_result(run);
    return result_;
}

void World::check_end() {
    for (std::size_t node = 0; node < plan_.nodes(); ++node) {
        for (std::size_t peer = 0; peer < plan_.nodes(); ++peer) {
            if (node == peer) continue;
            const std::string open = flow(node, peer).unfinished();
            if (!open.empty() && !ended(node, peer)) fail(way(node, peer) + open);
            if (!net_.at(node, peer).idle()) fail(way(node, peer) + "not idle at the end");
            const std::uint32_t begun = sessions_begun_[plan_.pair(node, peer)];
            if (begun > (plan_.am.cookie ? 0U : 1U)) fail(way(node, peer) + "several sessions");
            if (!ended(node, peer)) check_costs(node, peer);
        }
    }
    if (plan_.has_black_holes()) return;
    const std::string broken = broken_bound(plan_, net_.totals());
    if (!broken.empty()) fail(broken);
}

void World::check_costs(std::size_t node, std::size_t peer) {
    const auto messages = [](const AmFlow& flow) { return flow.operations() + flow.answers(); };
    const AmSpending spent{
        .own = net_.at(node, peer).stats(),
        .peer = net_.at(peer, node).stats(),
        .there = net_.network().counts(node, peer),
        .back = net_.network().counts(peer, node),
        .messages = messages(flow(node, peer)) + messages(flow(peer, node)),
        .pauses = slept_[node].pauses + slept_[peer].pauses,
        .paused = slept_[node].time + slept_[peer].time,
        .duration = net_.schedule().now().since_start(),
    };
    const std::string broken = broken_bound(plan_, plan_.pair(node, peer), spent);
    if (!broken.empty()) fail(way(node, peer) + broken);
}

void World::fill_result(const sim::RunResult& run) {
    const am::Stats stats = net_.totals();
    const sim::CableCounts cables = net_.network().totals();
    result_.duration = run.now.since_start();
    result_.turns = run.turns;
    for (const auto& flow : flows_) {
        if (flow == nullptr) continue;
        result_.operations += flow->operations();
        result_.answers += flow->answers();
    }
    result_.frames = cables.frames;
    result_.lost = cables.lost + cables.damaged;
    for (std::size_t kind = 0; kind < stats.sent.size(); ++kind) {
        if (am::is_numbered(static_cast<am::Kind>(kind))) result_.numbered += stats.sent[kind];
    }
    result_.resent = stats.resent;
    result_.filled = stats.filled;
    result_.nacks_acted_on = stats.nacks_acted_on;
    result_.keepalives = stats.sent_of(am::Kind::keepalive);
    result_.controlled = plan_.am.congestion != am::Congestion::off;
    result_.digest = digest_.value();
}

}  // namespace

AmWorldResult run_am_world(const AmWorldConfig& config) {
    AmWorldPlan plan(config.seed, config.congestion);
    plan.am.fast_paths = config.fast_paths;
    return World(plan, config.fingerprints).run();
}

AmWorldResult run_am_world(const AmWorldPlan& plan) {
    return World(plan, false).run();
}

void AmWorldsSummary::add(const AmWorldResult& result) {
    ++worlds;
    failed += result.ok() ? 0U : 1U;
    controlled += result.controlled ? 1U : 0U;
    operations += result.operations;
    frames += result.frames;
    filled += result.filled;
    cost_sum += result.cost();
    if (result.cost() > cost_max) {
        cost_max = result.cost();
        costliest_seed = result.seed;
    }
}

}  // namespace wireproof::lab
