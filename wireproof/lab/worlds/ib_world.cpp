#include "wireproof/lab/worlds/ib_world.hpp"

#include <deque>

#include "wireproof/core/pump.hpp"
#include "wireproof/lab/engines/drawn_link.hpp"
#include "wireproof/lab/worlds/ib_world_user.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::lab {
namespace {

using proto::ib::Request;

constexpr std::uint32_t rd_atomic_max = 4;
constexpr Duration time_limit = Duration::milliseconds(60'000);

IbAsk draw_ask(Random& dice, const IbLine& line) {
    constexpr std::array requests = {Request::send,  Request::send_immediate,
                                     Request::write, Request::write_immediate,
                                     Request::read,  Request::fetch_add};
    IbAsk ask;
    const bool rc = line.transport == proto::ib::Transport::rc;
    ask.request = requests[dice.below(rc ? requests.size() : 4)];
    const auto most = static_cast<std::uint32_t>(IbUser::place_size);
    ask.length = dice.chance(0.5) ? between(dice, 0, most) : between(dice, 0, 600);
    if (proto::ib::is_atomic(ask.request)) ask.length = 8;
    ask.signalled = dice.chance(0.7);
    ask.fence = rc && dice.chance(0.1);
    return ask;
}

IbLine draw_line(Random& dice, std::uint32_t number, double rnr_share,
                 std::optional<proto::ib::Transport> transport) {
    const proto::ib::Transport drawn =
        dice.chance(0.3) ? proto::ib::Transport::uc : proto::ib::Transport::rc;
    IbLine line{.transport = transport.value_or(drawn), .number = number};
    constexpr std::array<std::size_t, 4> mtus = {256, 512, 1024, 2048};
    line.path_mtu = mtus[dice.below(mtus.size())];
    for (std::size_t node = 0; node < 2; ++node) {
        const std::uint32_t asks = between(dice, node == 0 ? 1 : 0, IbUser::asks_max);
        for (std::uint32_t i = 0; i < asks; ++i) line.asks[node].push_back(draw_ask(dice, line));
        line.first_psn[node] = proto::ib::Psn(0xFFFFFF - between(dice, 0, 40));
    }
    line.retry_count = dice.chance(0.3) ? static_cast<std::uint8_t>(between(dice, 0, 2)) : 7;
    line.rnr_timer = static_cast<std::uint8_t>(between(dice, 1, 10));
    line.timeout = static_cast<std::uint8_t>(between(dice, 9, 12));
    line.rd_atomic = static_cast<std::uint8_t>(between(dice, 1, rd_atomic_max));
    line.credits = dice.chance(rnr_share);
    line.in_flight_max = between(dice, 1, 40);
    if (dice.chance(0.5)) line.ack_delay = Duration::microseconds(between(dice, 1, 50));
    return line;
}

// The path that loses long packets carries packets of the shortest path MTU, and responses of that
// length.
constexpr std::size_t short_frame = 320;

FrameInfo describe_packet(ConstBytes frame) {
    FrameInfo info = describe_nothing(frame);
    info.kind = frame.size() > short_frame ? "long" : "short";
    return info;
}

struct WorldPlan {
    explicit WorldPlan(const IbWorldConfig& config) {
        Random dice(config.seed);
        const std::uint32_t count = between(dice, 1, 3);
        for (std::uint32_t i = 0; i < count; ++i) {
            lines.push_back(draw_line(dice, 2 + i, 0.4, config.transport));
        }
        network.seed = dice.next();
        network.frame_max = proto::ib::packet_max(4096);
        network.latency = Duration::nanoseconds(between(dice, 100, 20'000));
        network.in_flight_max = between(dice, 2, 200);
        const auto rate = [&dice](double most) {
            return dice.chance(0.5) ? 0 : most * dice.uniform();
        };
        network.faults.loss = rate(0.2);
        network.faults.duplicate = rate(0.2);
        network.faults.reorder = rate(0.2);
        network.faults.bit_error = rate(3e-5);
        hurry = dice.uniform();
        // Uses separate random numbers, so that the worlds of older seeds change only in this.
        Random more(config.seed ^ 0x10C);
        for (IbLine& line : lines) line.backs_off = more.chance(0.4);
        loses_long = more.chance(0.2);
        if (loses_long) network.describe = describe_packet;
        if (more.chance(0.5)) {
            peer_window.start = between(more, 1, 40);
            peer_window.least = between(more, 1, peer_window.start);
        }
        for (IbLine& line : lines) {
            if (line.transport != proto::ib::Transport::rc) continue;
            if (more.chance(0.5)) {
                line.congestion = more.chance(0.5) ? proto::ib::Congestion::by_path
                                                   : proto::ib::Congestion::by_loss;
            }
            line.congestion = config.congestion.value_or(line.congestion);
            controlled += line.congestion != proto::ib::Congestion::off ? 1U : 0U;
        }
        if (more.chance(0.5)) network.faults.mark = 0.2 * more.uniform();
        acks_unasked = more.chance(0.5);
        for (IbLine& line : lines) line.acks_unasked = acks_unasked;
        what = std::to_string(count) + " queue pairs, loss " + std::to_string(network.faults.loss) +
               ", repeated " + std::to_string(network.faults.duplicate) + ", held back " +
               std::to_string(network.faults.reorder) +
               (loses_long ? ", long packets never arrive" : "") +
               (peer_window.start > 0
                    ? ", " + std::to_string(peer_window.start) + " packets to a peer at first"
                    : "") +
               ", " + std::to_string(controlled) + " with congestion control, marks " +
               std::to_string(network.faults.mark) +
               (acks_unasked ? ", acknowledgements that nobody asks for" : "");
    }

    proto::ib::PortConfig port() const { return {.path_mtu = 4096, .peer_window = peer_window}; }

    std::deque<IbLine> lines;
    sim::NetworkConfig network;
    bool loses_long = false;
    bool acks_unasked = false;
    proto::ib::PeerWindows::Config peer_window;
    double hurry = 1;              // probability that a user continues in a turn
    std::uint32_t controlled = 0;  // queue pairs with congestion control
    std::string what;
};

class QueuePairWorld {
public:
    explicit QueuePairWorld(const IbWorldConfig& config)
        : plan_(config), network_(plan_.network), dice_(config.seed ^ 0x5EED) {
        for (std::size_t node = 0; node < 2; ++node) {
            const PeerId peer{static_cast<std::uint16_t>(1 - node)};
            ports_[node].neighbours().set_acks_unasked(peer, plan_.acks_unasked);
            for (const IbLine& line : plan_.lines) {
                users_[node].push_back(std::make_unique<IbUser>(line, node, ports_[node]));
            }
        }
    }

    IbWorldResult run(std::uint64_t seed) {
        if (plan_.loses_long) {
            network_.faults(0, 1).add_rule({.kind = "long", .fate = {.lost = true}});
        }
        sim::Schedule schedule(2);
        const auto ended = sim::run(
            network_, schedule, [this](std::size_t node, Instant now) { return turn(node, now); },
            [] { return false; }, {.until = Instant(time_limit)});
        IbWorldResult result{.seed = seed, .what = plan_.what, .violation = {}};
        result.duration = ended.now.since_start();
        if (ended.end != sim::RunEnd::idle) result.violation = "this world never comes to rest";
        Fingerprint digest;
        for (std::size_t node = 0; node < 2; ++node) {
            ports_[node].fingerprint(ended.now, digest);
            for (std::size_t i = 0; i < plan_.lines.size(); ++i) judge(node, i, result);
        }
        const sim::CableCounts counts = network_.totals();
        result.controlled = plan_.controlled > 0;
        result.frames = counts.frames;
        result.faults = counts.lost + counts.damaged + counts.duplicated + counts.held;
        digest.add(counts.frames);
        result.digest = digest.value();
        // One lost response may cause a recovery for each Read and Atomic that is outstanding: the
        // requester ignores their responses, and misses each one after the ones before it have
        // arrived again.
        if (result.violation.empty() && result.recoveries > rd_atomic_max * result.faults) {
            result.violation = "more recoveries than the faults explain";
        }
        // A requester asks again after 1, 2, 4 and 8 ms. Then its answer timeout comes.
        constexpr std::uint64_t silences_max = 4;
        if (result.violation.empty() &&
            result.silences > silences_max * (result.faults + result.recoveries)) {
            result.violation = "more silences than the faults explain";
        }
        return result;
    }

private:
    Instant turn(std::size_t node, Instant now) {
        proto::ib::Port& port = ports_[node];
        sim::NodeWire& wire = network_.wire(node);
        while (const auto frame = wire.receive(now)) port.on_frame(now, *frame);
        if (port.next_deadline() <= now) port.on_deadline(now);
        while (port.next_delivery()) {
        }
        bool wants = false;
        for (auto& user : users_[node]) {
            user->draw(port);
            if (dice_.chance(plan_.hurry)) user->go_on(port);
            wants = wants || user->wants_to_go_on();
        }
        for (auto& user : users_[node]) user->note_sent(port);
        // If the cable loses frames at a flush, there is room at once, but no later event would
        // start another turn for it.
        sim::Cable& lane = wire.lane(PeerId{static_cast<std::uint16_t>(1 - node)});
        for (bool again = true; again;) {
            const Transmitted sent = transmit(port, lane, now);
            wire.flush(now);
            again = sent.lane_full && sent.frames > 0;
        }
        for (auto& user : users_[node]) {
            user->check_resends(port);
            user->draw(port);
        }
        const Instant again = wants ? now + Duration::microseconds(3) : never;
        return earliest(again, port.next_deadline());
    }

    void judge(std::size_t node, std::size_t line, IbWorldResult& result) {
        IbUser& user = *users_[node][line];
        IbUser& other = *users_[1 - node][line];
        user.check_end(other, ports_[node]);
        if (result.violation.empty()) result.violation = user.violation();
        const bool uc = user.line().transport == proto::ib::Transport::uc;
        result.asked += user.asked();
        result.failed += user.failed();
        result.delivered += user.delivered();
        if (uc) result.lost += user.receives_wanted() - user.delivered();
        const proto::ib::QueuePairCounters& counters =
            ports_[node].queue_pair(user.line().number)->counters;
        result.recoveries += counters.went_back + counters.timeouts;
        result.resent += counters.resent;
        result.silences += counters.silences;
        result.notices += counters.cnps_handled;
        // Each recovery sends at most what may be outstanding again: packets, and Read requests.
        const std::uint64_t rounds = counters.went_back + counters.timeouts + counters.rnr_waits;
        const std::uint64_t round = user.line().in_flight_max + IbUser::asks_max;
        if (result.violation.empty() && counters.resent > counters.silences + rounds * round) {
            result.violation = "more packets resent than the recoveries are reason for";
        }
    }

    WorldPlan plan_;
    sim::Network network_;
    Random dice_;
    std::array<proto::ib::Port, 2> ports_ = {proto::ib::Port(plan_.port()),
                                             proto::ib::Port(plan_.port())};
    std::array<std::vector<std::unique_ptr<IbUser>>, 2> users_;
};

}  // namespace

IbWorldResult run_ib_world(const IbWorldConfig& config) {
    return QueuePairWorld(config).run(config.seed);
}

void IbWorldsSummary::add(const IbWorldResult& result) {
    ++worlds;
    broken += result.ok() ? 0U : 1U;
    controlled += result.controlled ? 1U : 0U;
    sum.asked += result.asked;
    sum.failed += result.failed;
    sum.delivered += result.delivered;
    sum.lost += result.lost;
    sum.frames += result.frames;
    sum.faults += result.faults;
    sum.recoveries += result.recoveries;
    sum.resent += result.resent;
    sum.silences += result.silences;
    sum.notices += result.notices;
    if (result.faults == 0) return;
    const double cost = static_cast<double>(result.recoveries) / static_cast<double>(result.faults);
    if (cost <= cost_max) return;
    cost_max = cost;
    costliest_seed = result.seed;
}

}  // namespace wireproof::lab
