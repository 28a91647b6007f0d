// A world with its faults and totals, and the jump: as long as the run knows what follows from a
// state of the world, it does not simulate the world. It replaces the world by an earlier state of
// it that is equal. The run knows what follows if it has simulated it before: the time without
// errors, and each failure, by the frame that is bad. The totals (128 bits) and the random draws
// are the same as without a jump.
#pragma once

#include "wireproof/lab/link_retry/retry_state_cache.hpp"

namespace wireproof::lab {

template <RetryEnd End>
class RetryRun {
public:
    using World = RetryWorld<End>;

    struct Config {
        std::size_t unit = 0;  // bytes of one on the line
        bool jumps = true;
        std::size_t states_max = 1024;  // limit of the states that are kept
        RetryPulse pulse = {};
    };
    /// `world` must have started.
    RetryRun(const Config& config, World world, RetryFaults faults)
        : config_(config),
          world_(std::move(world)),
          faults_(std::move(faults)),
          cache_(config.states_max),
          stride_(world_.end(0).stride()) {
        record_.keep_stretch(config.jumps);
    }

    /// Runs until the receiver has taken `accepted` units in all. False: the link came to rest
    /// before.
    bool advance(Wide accepted) {
        while (total_accepted() < accepted) {
            const Wide left = accepted - total_accepted();
            const std::uint64_t here = world_.accepted();
            const std::uint64_t grid = config_.jumps ? stride_ - here % stride_ : units_a_pulse;
            if (!live(here + static_cast<std::uint64_t>(std::min<Wide>(left, grid)))) return false;
            if (left < grid || !config_.jumps || !far_from_errors()) {
                lose_the_way();
                continue;
            }
            // One unit may have brought several that were stored.
            if (arrive() && total_accepted() < accepted) jump(accepted - total_accepted());
        }
        return true;
    }

    /// From now on, records every frame and does not jump.
    void record(Trace* trace) {
        config_.jumps = false;
        record_.keep_stretch(false);
        if constexpr (requires(const End& end) { end.description(); }) {
            world_.record(trace, world_.end(0).description());
        } else {
            world_.record(trace, End::describe);
        }
    }

    RetryTotals totals() const { return carried_ + world_.counts().template as<Wide>(); }
    std::size_t kept_most() const { return std::max(kept_most_, world_.kept_most()); }
    const Histogram& latencies() { return record_.latencies.histogram(); }
    const RetryBatches& batches() const { return record_.batches; }
    /// Units that were not simulated.
    Wide jumped() const { return jumped_; }
    const RetryFaults& faults() const { return faults_; }
    World& world() { return world_; }

private:
    using StateCache = RetryStateCache<End>;
    using StateNumber = typename StateCache::StateNumber;
    static constexpr StateNumber unknown = StateCache::unknown;
    // If most bits are bad, the random draws take more time than the rest of the simulation.
    static constexpr std::uint64_t units_a_pulse = std::uint64_t{1} << 15;

    Wide total_accepted() const { return carried_[RetryCount::accepted] + world_.accepted(); }
    /// Sends pulses by the number of simulated units and also by their time, because the line may
    /// be so bad that the receiver takes none. To look for a point of the grid takes as long as a
    /// stride, so each call counts at least one stride.
    bool live(std::uint64_t accepted) {
        unheard_ += std::max(stride_, accepted - world_.accepted());
        if (unheard_ >= units_a_pulse) pulse();
        const Duration slice = line_time(units_a_pulse * config_.unit);
        Instant until = world_.now() + slice;
        while (true) {
            const auto ended = world_.run(accepted, faults_, record_, until);
            if (ended != World::Ended::late) return ended == World::Ended::reached;
            pulse();
            until = until + slice;
        }
    }
    void pulse() {
        unheard_ = 0;
        if (config_.pulse) config_.pulse(total_accepted());
    }

    /// Whether the next error is so far away that a search for a known state may be worth its time.
    bool far_from_errors() const {
        const std::uint64_t bits = 8 * stride_ * config_.unit * 4;
        return faults_.clean_bits(0) >= bits && faults_.clean_bits(1) >= bits;
    }

    /// The world stands on the grid. Returns whether its state is known; if not, its way
    /// from the last known state goes on.
    bool arrive() {
        const std::uint64_t forgotten = cache_.forgotten();
        const StateNumber here = cache_.find(world_);
        if (forgotten != cache_.forgotten()) last_ = unknown;
        if (here == unknown) return false;
        auto latencies = record_.latencies.take_stretch();
        auto wastes = record_.batches.take_stretch();
        if (last_ != unknown) {
            learn(here, {world_.counts() - counts_then_, std::move(latencies), std::move(wastes)});
        }
        stand_at(here);
        return true;
    }

    void lose_the_way() {
        last_ = unknown;
        record_.latencies.take_stretch();
        record_.batches.take_stretch();
    }

    void stand_at(StateNumber state) {
        last_ = state;
        counts_then_ = world_.counts();
        damaged_ = faults_.damaged();
    }

    /// The world went from the last known state to this one. Two bad frames on one way are not
    /// worth remembering.
    void learn(StateNumber here, typename StateCache::Stretch way) {
        const std::uint64_t damaged = faults_.damaged() - damaged_;
        if (damaged == 0) cache_.connect(last_, here, std::move(way));
        if (damaged != 1) return;
        typename World::Damage damage = world_.damage();
        damage.frames_before -= counts_then_[frames_of[damage.direction]];
        damage.bytes_before -= counts_then_[bytes_of[damage.direction]];
        cache_.connect(last_, {std::move(way), damage, here});
    }

    /// Goes on from the last known state as long as the next one is known and no pulse is due.
    void jump(Wide left) {
        RetryTotals skipped;
        StateNumber at = last_;
        while (unheard_ < units_a_pulse) {
            const auto* const cycle = cache_.cycle(at);
            if (cycle != nullptr) skip(*cycle, repetitions(*cycle, left), skipped, left);
            const bool clean = cache_.next(at) != unknown;
            if (clean && repetitions(cache_.between(at), left) > 0) {
                skip(cache_.between(at), 1, skipped, left);
                at = cache_.next(at);
                continue;
            }
            const StateNumber after = fail(at, skipped, left);
            if (after == unknown) break;
            at = after;
        }
        if (skipped[RetryCount::accepted] == 0) return;
        const RetryTotals reached = totals() + skipped;
        jumped_ += skipped[RetryCount::accepted];
        kept_most_ = kept_most();
        world_ = cache_.world(at);
        carried_ = reached - world_.counts().template as<Wide>();
        stand_at(at);
    }

    /// Passes the way on which the next error is the only one. Returns its end; unknown, and
    /// nothing is passed, if such a way is not known.
    StateNumber fail(StateNumber from, RetryTotals& skipped, Wide& left) {
        for (std::size_t direction = 0; direction < 2; ++direction) {
            const auto* const way = cache_.failure(from, direction, faults_.clean_bits(direction));
            if (way == nullptr || left < way->counts[RetryCount::accepted]) continue;
            if (!meets_only(*way)) continue;
            skipped += way->counts.template as<Wide>();
            left -= way->counts[RetryCount::accepted];
            record_.latencies.add(way->latencies, 1);
            record_.batches.repeat(way->wastes, way->counts[RetryCount::accepted], 1);
            unheard_ += stride_;
            return way->to;
        }
        return unknown;
    }

    /// Draws the failure of this way. False, and nothing is drawn, if another error is on the way.
    bool meets_only(const typename StateCache::Failure& way) {
        RetryFaults faults = faults_;
        const std::size_t bad = way.damage.direction;
        faults.skip(bad, way.damage.frames_before, way.bits_before());
        if (!faults.damages(bad, way.damage.length)) return false;
        std::array<std::uint64_t, 2> frames{};
        std::array<std::uint64_t, 2> bits{};
        for (std::size_t direction = 0; direction < 2; ++direction) {
            frames[direction] = way.counts[frames_of[direction]];
            bits[direction] = 8 * way.counts[bytes_of[direction]];
        }
        frames[bad] -= way.damage.frames_before + 1;
        bits[bad] -= way.bits_until();
        for (std::size_t direction = 0; direction < 2; ++direction) {
            if (bits[direction] > faults.clean_bits(direction)) return false;
            faults.skip(direction, frames[direction], bits[direction]);
        }
        faults_ = std::move(faults);
        return true;
    }

    /// How often the stretch fits before the next error and before the end of the run.
    std::uint64_t repetitions(const typename StateCache::Stretch& stretch, Wide left) const {
        Wide times = left / stretch.counts[RetryCount::accepted];
        for (std::size_t direction = 0; direction < 2; ++direction) {
            const std::uint64_t bits = 8 * stretch.counts[bytes_of[direction]];
            if (bits > 0) times = std::min<Wide>(times, faults_.clean_bits(direction) / bits);
        }
        return static_cast<std::uint64_t>(times);
    }

    void skip(const typename StateCache::Stretch& stretch, std::uint64_t times,
              RetryTotals& skipped, Wide& left) {
        if (times == 0) return;
        skipped += stretch.counts.template as<Wide>() * Wide{times};
        left -= Wide{stretch.counts[RetryCount::accepted]} * times;
        record_.latencies.add(stretch.latencies, times);
        record_.batches.repeat(stretch.wastes, stretch.counts[RetryCount::accepted], times);
        for (std::size_t direction = 0; direction < 2; ++direction) {
            faults_.skip(direction, times * stretch.counts[frames_of[direction]],
                         times * 8 * stretch.counts[bytes_of[direction]]);
        }
    }

    Config config_;
    World world_;
    RetryFaults faults_;
    RetryRecord record_;
    StateCache cache_;
    std::uint64_t stride_;  // units between two points of the grid
    RetryTotals carried_;   // counts that the world's own counts do not contain
    std::size_t kept_most_ = 0;
    Wide jumped_ = 0;
    std::uint64_t unheard_ = 0;  // units since the last pulse

    StateNumber last_ = unknown;  // the last known state of the world, and its counts there
    RetryCounts counts_then_;
    std::uint64_t damaged_ = 0;
};

}  // namespace wireproof::lab
