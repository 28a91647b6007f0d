// Runs a random world of one link engine. The source file of the engine's adapter includes this.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "wireproof/core/pump.hpp"
#include "wireproof/lab/engines/link_adapter.hpp"
#include "wireproof/lab/worlds/link_world.hpp"
#include "wireproof/lab/worlds/link_world_costs.hpp"
#include "wireproof/lab/worlds/link_world_users.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::lab {

template <LinkAdapter Adapter>
class LinkWorld {
public:
    using Engine = typename Adapter::Engine;
    using Config = typename Adapter::Config;

    explicit LinkWorld(const LinkWorldConfig& config)
        : config_(config),
          plan_(config.seed),
          drawn_(Adapter::draw(plan_.dice, plan_.line, plan_.datagrams)),
          network_(build_network()),
          users_(plan_, drawn_.ways_apart),
          ends_{Engine(Adapter::of_end(drawn_.config, mix64(config.seed))),
                Engine(Adapter::of_end(drawn_.config, mix64(~config.seed)))} {
        const auto good = drawn_.config.check();
        if (!good) fail("a configuration that cannot work: " + good.error().message);
        for (std::size_t node = 0; node < 2; ++node) {
            FaultPlan& faults = network_.faults(node, 1 - node);
            if (plan_.bursts.begin > 0) faults.set_bursts(plan_.bursts);
            if constexpr (!Adapter::may_lose) faults.damage_what_would_be_lost();
            if constexpr (requires { Adapter::separate_front(drawn_.config); }) {
                if (!flips_bits_) faults.keep_fronts(Adapter::separate_front(drawn_.config));
            }
        }
    }

    LinkWorldResult run() {
        for (int lives = 0; result_.violation.empty(); ++lives) {
            const sim::RunResult ended = run_until_rest(plan_.end + drawn_.patience * (lives + 1));
            if (finished()) break;
            // Nothing will happen any more, or not for a long time. If an end has said so, someone
            // would now begin a new life of the link.
            constexpr int lives_max = 4;
            const bool said = !users_.up(0) || !users_.up(1);
            if (!said || lives == lives_max) {
                fail(ended.end == sim::RunEnd::idle ? "messages are missing, and both ends rest"
                                                    : "messages are missing after a long time");
                break;
            }
            ++result_.verdicts;
            if (lives > 1) calm();
            begin_life(schedule_.now());
        }
        if (result_.violation.empty()) rest();
        return judge();
    }

private:
    sim::Network build_network() {
        LinkWorldTerms terms{.message_max = Adapter::message_max(drawn_.config),
                             .frame_max = Adapter::frame_max(drawn_.config),
                             .window = Adapter::window_of(drawn_.config),
                             .may_lose = Adapter::may_lose,
                             .may_go_down = drawn_.may_go_down};
        plan_.fill_in(terms);
        sim::NetworkConfig network;
        network.frame_max = terms.frame_max;
        network.bytes_per_second = plan_.line.bytes_per_second;
        network.latency = plan_.line.latency;
        network.one_at_a_time = drawn_.one_at_a_time;
        network.flip_bits = drawn_.checks_all && plan_.dice.chance(0.4);
        // A wire that tells missing frames has no other damage.
        tells_late_ = !Adapter::may_lose && plan_.datagrams && !drawn_.one_at_a_time;
        if (tells_late_) network.flip_bits = false;
        flips_bits_ = network.flip_bits;
        network.faults = plan_.rates;
        network.seed = plan_.network_seed;
        result_.what = drawn_.what + (drawn_.hasty ? ", hasty" : "") + "; " + plan_.what;
        return sim::Network(network);
    }

    void fail(const std::string& what) {
        if (result_.violation.empty()) result_.violation = what;
    }

    bool finished() const {
        return users_.fulfilled() && next_event_ == plan_.events.size() && users_.up(0) &&
               users_.up(1) && Adapter::unacknowledged(ends_[0]) == 0 &&
               Adapter::unacknowledged(ends_[1]) == 0;
    }

    sim::RunResult run_until_rest(Instant until) {
        return run([this] { return finished() || !result_.violation.empty(); }, until);
    }

    template <class Done>
    sim::RunResult run(Done&& done, Instant until) {
        constexpr std::uint64_t turns_max = 5'000'000;
        const sim::RunResult ended = sim::run(
            network_, schedule_, [this](std::size_t node, Instant now) { return turn(node, now); },
            done, {.until = until, .turns = turns_max});
        result_.turns += ended.turns;
        if (ended.end == sim::RunEnd::turn_limit) fail("the ends send without end");
        return ended;
    }

    // Everything has arrived, and no frame is spoilt any more. If a retry is under way, its last
    // request or answer may have been lost before, so the link may go down once more.
    void rest() {
        calm();
        const bool retrying = retries(ends_[0]) || retries(ends_[1]);
        await_rest();
        if (retrying && (!users_.up(0) || !users_.up(1))) {
            ++result_.verdicts;
            begin_life(schedule_.now());
            run_until_rest(schedule_.now() + drawn_.patience);
            await_rest();
        }
        if (!finished()) fail("the ends rest, but do not stay up");
    }

    void await_rest() {
        const Duration more =
            plan_.line.latency * 64 + (drawn_.rests ? drawn_.patience : Duration());
        const sim::RunResult ended =
            run([this] { return !result_.violation.empty(); }, schedule_.now() + more);
        if (drawn_.rests && ended.end != sim::RunEnd::idle) fail("the ends never come to rest");
    }

    static bool retries(const Engine& engine) {
        if constexpr (requires { Adapter::retries(engine); }) return Adapter::retries(engine);
        return false;
    }

    Instant turn(std::size_t node, Instant now) {
        while (next_event_ < plan_.events.size() && plan_.events[next_event_].at <= now) {
            happen(plan_.events[next_event_++], now);
        }
        if (now >= plan_.faults_end) calm();
        Engine& engine = ends_[node];
        sim::NodeWire& wire = network_.wire(node);
        while (const auto frame = wire.receive(now)) receive(node, now, *frame);
        if (engine.next_deadline() <= now) {
            engine.on_deadline(now);
            draw(node);
            if (engine.next_deadline() <= now) fail("a deadline stays in the past");
        }
        sim::Cable& lane = wire.lane(PeerId{static_cast<std::uint16_t>(1 - node)});
        for (bool again = true; again;) {
            submit(node, now);
            const Transmitted sent = transmit(engine, lane, now);
            wire.flush(now);
            draw(node);
            again = sent.lane_full && sent.frames > 0 && !drawn_.one_at_a_time;
            if (!again && !sent.lane_full) check_quiet(engine);
        }
        const Instant event =
            next_event_ < plan_.events.size() ? plan_.events[next_event_].at : never;
        return earliest(engine.next_deadline(), users_.next_wish(node, now), event);
    }

    void check_quiet(const Engine& engine) {
        if constexpr (requires { engine.quiet(); }) {
            if (engine.quiet()) return;
            // It may have more to send later, but then it must say when.
            if (engine.next_deadline() == never) fail("an end has a frame to send and no deadline");
        }
    }

    void receive(std::size_t node, Instant now, const RxFrame& frame) {
        digest_.add(node);
        digest_.add(now - Instant());
        digest_.add(frame.integrity);
        digest_.add_bytes(frame.bytes);
        if (tells_late_ && frame.integrity == Integrity::damaged) {
            ++missing_[node];
            return;
        }
        for (; missing_[node] > 0; --missing_[node]) {
            give(node, now, RxFrame{.bytes = {}, .integrity = Integrity::damaged, .lent = {}});
        }
        give(node, now, frame);
    }

    void give(std::size_t node, Instant now, const RxFrame& frame) {
        const RxVerdict verdict = ends_[node].on_frame(now, frame);
        ++verdicts_;
        taken_ += verdict == RxVerdict::refused ? 1U : 0U;
        draw(node);
    }

    void draw(std::size_t node) {
        while (const auto delivery = ends_[node].next_delivery()) {
            const std::string wrong = users_.take(node, *delivery);
            if (!wrong.empty()) fail(wrong);
        }
    }

    void submit(std::size_t node, Instant now) {
        while (ends_[node].has_room()) {
            const auto message = users_.wish(node, now);
            if (!message) return;
            if (ends_[node].submit(*message) != SubmitStatus::accepted) {
                return fail("an end has room and accepts no message");
            }
            users_.submitted(node);
        }
    }

    void happen(const LinkWorldEvent& event, Instant now) {
        using What = LinkWorldEvent::What;
        const std::size_t node = event.node;
        ++happened_;
        switch (event.what) {
            case What::new_life: begin_life(now); break;
            case What::training:
            case What::trained:
                if constexpr (requires { Adapter::train(ends_[node], now, true); }) {
                    Adapter::train(ends_[node], now, event.what == What::training);
                    draw(node);
                }
                break;
            case What::cut: network_.cut(node, 1 - node); break;
            case What::mended:
                for (std::size_t from = 0; from < 2; ++from) network_.mend(from, 1 - from);
                break;
            case What::pause:
                schedule_.pause(node, now + event.length);
                paused_ = true;
                break;
            case What::copy: {
                const Engine copy = ends_[node];
                ends_[node] = copy;
                break;
            }
        }
        schedule_.wake(1 - node, now);
        schedule_.wake(node, now);
    }

    // As a wire does that begins a new epoch.
    void begin_life(Instant now) {
        users_.begin_life();
        missing_ = {};
        for (std::size_t node = 0; node < 2; ++node) {
            sim::Cable& cable = network_.cable(node, 1 - node);
            while (cable.front() != nullptr) {
                (void)cable.take(cable.next_arrival());
                ++taken_;
            }
            ends_[node].on_wire_event(now, WireEvent::new_life);
            draw(node);
            schedule_.wake(node, now);
        }
    }

    // The faults end.
    void calm() {
        if (calm_) return;
        calm_ = true;
        for (std::size_t from = 0; from < 2; ++from) {
            FaultPlan& faults = network_.faults(from, 1 - from);
            faults = FaultPlan();
            network_.mend(from, 1 - from);
        }
    }

    LinkCounts counts() const {
        LinkCounts sum;
        for (std::size_t node = 0; node < 2; ++node) sum.add(ends_[node].stats());
        return sum;
    }

    LinkWorldResult judge() {
        const LinkCounts sum = counts();
        const sim::CableCounts cables = network_.totals();
        result_.seed = config_.seed;
        result_.duration = schedule_.now().since_start();
        result_.submitted = users_.submitted_of_both();
        result_.delivered = users_.delivered_of_both();
        result_.lost = result_.submitted - result_.delivered;
        result_.downs = users_.downs();
        result_.frames = cables.frames;
        result_.faults = cables.lost + cables.damaged + cables.cut + taken_;
        result_.numbered = sum.numbered;
        result_.resent = sum.resent;
        result_.acks = sum.acks;
        result_.naks = sum.naks;
        result_.replays = sum.replays;
        result_.timeouts = sum.timeouts;
        result_.resets = sum.resets;
        if (sum.received != verdicts_) fail("a received frame has no verdict");
        for (const Engine& engine : ends_) engine.fingerprint(schedule_.now(), digest_);
        digest_.add(cables.frames);
        result_.digest = digest_.value();
        if (result_.violation.empty() && !drawn_.hasty && !paused_) {
            fail(broken_bound(result_, {.window = Adapter::window_of(drawn_.config),
                                        .events = happened_ + result_.verdicts,
                                        .rests = drawn_.rests,
                                        .echoes = drawn_.echoes}));
        }
        return result_;
    }

    LinkWorldConfig config_;
    LinkWorldResult result_;
    bool tells_late_ = false;
    bool flips_bits_ = false;  // in place of a lost frame, the next one brings a damaged one first
    LinkWorldPlan plan_;
    DrawnLink<Config> drawn_;
    sim::Network network_;
    sim::Schedule schedule_{2};
    LinkWorldUsers users_;
    std::array<Engine, 2> ends_;
    std::array<std::uint64_t, 2> missing_{};
    std::size_t next_event_ = 0;
    std::uint64_t happened_ = 0;
    std::uint64_t taken_ = 0;  // frames that an event took, or that an end refused
    std::uint64_t verdicts_ = 0;
    bool calm_ = false;
    bool paused_ = false;
    Fingerprint digest_;
};

}  // namespace wireproof::lab
