#include "wireproof/lab/link_retry/retry_advice.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "wireproof/lab/engines/link_engines.hpp"

namespace wireproof::lab {
namespace {

template <class A>
concept Advises = requires(const AdviceLine& line, const Advice& advice) {
    { A::advises(std::size_t()) } -> std::same_as<bool>;  // of this protocol of the adapter
    // The settings without buffer and timer.
    { A::on_line(line, std::size_t()) } -> std::same_as<RetrySettings>;
    { A::buffer_max(std::size_t()) } -> std::same_as<std::uint32_t>;
    // The shortest timer that is worth a try, in bytes on the line.
    { A::timer_least(advice.settings, advice.link) } -> std::same_as<std::uint64_t>;
    { A::limits(advice, line) } -> std::same_as<std::vector<AdvisedLimit>>;
};

/// So many units that one standard error of a throughput is about 0.2 %: a failure costs the loop,
/// so the error of the mean cost is loop * sqrt(p / units).
std::uint64_t packets_for(double loop_units, double unit_error) {
    constexpr double precision = 0.002;
    const double wanted = unit_error * loop_units * loop_units / (precision * precision);
    return static_cast<std::uint64_t>(std::clamp(wanted, 50 * loop_units + 1'000, 3e6));
}

/// Simulated points of one line. Each buffer is simulated once.
class Trials {
public:
    Trials(RetrySettings settings, const RetryPlan& plan)
        : settings_(std::move(settings)), plan_(plan) {}

    const RetrySettings& settings() const { return settings_; }
    void set_timer(std::uint64_t timer) {
        settings_.timer = timer;
        known_.clear();
    }

    Expected<double> throughput(std::uint32_t buffer) {
        const auto known = known_.find(buffer);
        if (known != known_.end()) return known->second;
        settings_.buffer = buffer;
        const auto point = run_retry_point(settings_, plan_);
        if (!point) return tl::unexpected(point.error());
        return known_[buffer] = point->throughput();
    }

    /// Whether the timer expires on a line without errors.
    Expected<bool> expires_in_vain(std::uint32_t buffer) const {
        RetrySettings clean = settings_;
        clean.bit_error = 0;
        clean.buffer = buffer;
        RetryPlan plan = plan_;
        plan.packets = std::uint64_t{20} * buffer + 1'000;
        const auto point = run_retry_point(clean, plan);
        if (!point) return tl::unexpected(point.error());
        return point->totals[RetryCount::timeouts] > 0;
    }

private:
    RetrySettings settings_;
    RetryPlan plan_;
    std::map<std::uint32_t, double> known_;
};

/// The shortest timer, in steps of an eighth, that does not expire while the line is clean.
Expected<void> choose_timer(Trials& trials, std::uint64_t least, std::uint32_t buffer) {
    constexpr int tries_max = 64;
    for (std::uint64_t timer = least, i = 0; i < tries_max; ++i, timer += timer / 8 + 1) {
        trials.set_timer(timer);
        const auto in_vain = trials.expires_in_vain(buffer);
        if (!in_vain) return tl::unexpected(in_vain.error());
        if (!*in_vain) return {};
    }
    return unexpected("every timer up to " + std::to_string(trials.settings().timer) +
                      " bytes expires in vain");
}

/// The smallest buffer with at least this throughput; `most` if there is none. The answer is
/// expected to be a little below `guess`.
Expected<std::uint32_t> choose_buffer(Trials& trials, double wanted, std::uint32_t guess,
                                      std::uint32_t most) {
    std::uint32_t low = 1;  // too small
    std::uint32_t high = std::clamp<std::uint32_t>(guess, 2, most);
    while (true) {
        const auto reached = trials.throughput(high);
        if (!reached) return tl::unexpected(reached.error());
        if (*reached >= wanted) break;
        if (high == most) return most;
        low = high;
        high = high > most / 2 ? most : high * 2;
    }
    for (std::uint32_t next = high - high / 8; high - low > 1; next = low + (high - low) / 2) {
        const auto reached = trials.throughput(next);
        if (!reached) return tl::unexpected(reached.error());
        (*reached >= wanted ? high : low) = next;
    }
    return high;
}

/// By the engine, if one of its buffers never stalls; otherwise by the closed form.
Expected<double> throughput_of_endless(Trials& trials, const RetryPoint& foreseen,
                                       std::uint32_t most) {
    if (foreseen.link.buffer < most) return trials.throughput(foreseen.link.buffer);
    return foreseen.closed_etr().value_or(0);
}

template <Advises Adapter>
Expected<Advice> advise_for(std::size_t sweep, RetryProtocol protocol, const AdviceLine& line,
                            RetryPlan plan) {
    Advice advice;
    advice.settings = Adapter::on_line(line, sweep);
    advice.settings.protocol = protocol;
    advice.settings.bit_error = line.bit_error;
    const auto foreseen = foreseen_point(advice.settings);
    if (!foreseen) return tl::unexpected(foreseen.error());
    const RetryLink& link = foreseen->link;
    const std::uint32_t most = Adapter::buffer_max(sweep);
    const double loop_units = static_cast<double>(link.loop) / link.unit.bytes();
    const auto guess = static_cast<std::uint32_t>(
        std::min(loop_units + 2 + link.ack_every, static_cast<double>(most)));

    plan.packets = packets_for(loop_units, foreseen->unit_error);
    Trials trials(advice.settings, plan);
    const auto timed =
        choose_timer(trials, Adapter::timer_least(advice.settings, link), std::max(guess, 2U));
    if (!timed) return tl::unexpected(timed.error());
    advice.settings = trials.settings();
    advice.settings.buffer = 0;
    const auto with_timer = foreseen_point(advice.settings);
    if (!with_timer) return tl::unexpected(with_timer.error());
    const auto endless = throughput_of_endless(trials, *with_timer, most);
    if (!endless) return tl::unexpected(endless.error());
    advice.endless = *endless;

    const double wanted = Advice::share * advice.endless;
    const auto buffer = choose_buffer(trials, wanted, guess, most);
    if (!buffer) return tl::unexpected(buffer.error());
    advice.settings.buffer = *buffer;
    advice.throughput = trials.throughput(*buffer).value_or(0);
    advice.reached = advice.throughput >= wanted;
    const auto resolved = resolve(advice.settings);
    if (!resolved) return tl::unexpected(resolved.error());
    advice.link = *resolved;
    advice.limits = Adapter::limits(advice, line);
    return advice;
}

}  // namespace

std::vector<RetryProtocol> advised_protocols() {
    std::vector<RetryProtocol> all;
    for (const LinkSweep& sweep : link_sweeps) {
        LinkEngines::visit(sweep.engine, [&]<class Adapter>() {
            if constexpr (Advises<Adapter>) {
                if (Adapter::advises(sweep.sweep)) all.push_back(*retry_protocol(sweep.name));
            }
        });
    }
    return all;
}

Expected<Advice> advise(RetryProtocol protocol, const AdviceLine& line, const RetryPlan& plan) {
    const LinkSweep* const of = link_sweep_of(protocol);
    if (of == nullptr) return unexpected(std::string(name_of(protocol)) + " cannot advise");
    return LinkEngines::visit(of->engine, [&]<class Adapter>() -> Expected<Advice> {
        if constexpr (Advises<Adapter>) {
            return advise_for<Adapter>(of->sweep, protocol, line, plan);
        }
        return unexpected(std::string(Adapter::name) + " cannot advise");
    });
}

}  // namespace wireproof::lab
