#include "wireproof/lab/worlds/link_world_plan.hpp"

#include <algorithm>
#include <cmath>

#include "wireproof/lab/common/am_content.hpp"

namespace wireproof::lab {
namespace {

using Happening = LinkWorldEvent::What;

double log_uniform(Random& dice, double least, double most) {
    return least * std::pow(most / least, dice.uniform());
}

}  // namespace

LinkWorldPlan::LinkWorldPlan(std::uint64_t seed) : dice(seed) {
    datagrams = dice.chance(0.3);
    const double rate = datagrams ? log_uniform(dice, 1e8, 1e9) : log_uniform(dice, 1e8, 5e10);
    line.bytes_per_second = static_cast<std::uint64_t>(rate);
    line.latency = datagrams ? Duration::nanoseconds(between(dice, 10'000, 200'000))
                             : about(dice, line.time_of(256), 0.1, 40);
}

void LinkWorldPlan::fill_in(const LinkWorldTerms& terms) {
    const auto rate = [this](double most) { return dice.chance(0.5) ? 0 : most * dice.uniform(); };
    rates.loss = rate(0.2);
    rates.bit_error = rate(1e-4);
    if (dice.chance(0.3)) {
        bursts = {.begin = 0.02 * dice.uniform(),
                  .end = 0.05 + 0.3 * dice.uniform(),
                  .loss_in_burst = 0.5 + 0.5 * dice.uniform()};
    }
    network_seed = dice.next();

    // If messages may be lost, the receiver must recognise each one.
    const auto lives = dice.chance(0.3) ? between(dice, 1, 2) : 0;
    const bool loses_messages = terms.may_go_down || lives > 0;
    const std::size_t most = std::min<std::size_t>(terms.message_max, 600);
    const std::size_t least = std::min<std::size_t>(loses_messages ? 8 : 0, most);
    std::uint64_t count = 0;
    for (std::size_t node = 0; node < 2; ++node) {
        const std::uint32_t wanted = between(dice, 0, 5) == 0 ? 0 : between(dice, 1, 150);
        for (std::uint32_t i = 0; i < wanted; ++i) {
            const bool any = dice.chance(0.3);
            const auto size =
                between(dice, static_cast<std::uint32_t>(least),
                        static_cast<std::uint32_t>(any ? most : std::min(most, least + 64)));
            std::vector<std::byte> message(size);
            Content(mix64(mix64(network_seed + node) + i)).write(message);
            messages[node].push_back(std::move(message));
        }
        count += wanted;
    }
    hesitation = dice.chance(0.5) ? 0.2 * dice.uniform() : 0;
    wait = about(dice, line.latency, 0, 20);

    const Duration frame = line.time_of(terms.frame_max);
    const Duration loop = line.latency * 2 + frame * 4;
    const auto rounds =
        static_cast<std::int64_t>(20 + count / std::max<std::uint64_t>(terms.window, 1));
    const Duration nominal = loop * rounds + frame * static_cast<std::int64_t>(2 * count);
    faults_end = Instant(about(dice, nominal, 0.3, 4));
    end = faults_end + nominal * 40 + wait * static_cast<std::int64_t>(count);

    const auto add = [&](Happening event, double share = 1) {
        events.push_back({Instant(about(dice, faults_end.since_start(), 0, share)), event,
                          static_cast<std::size_t>(dice.below(2))});
    };
    for (std::uint32_t i = 0; i < lives; ++i) add(Happening::new_life);
    if (dice.chance(0.3)) {
        add(Happening::training);
        LinkWorldEvent after = events.back();
        after.what = Happening::trained;
        after.at = after.at + about(dice, loop, 0, 4);
        events.push_back(after);
    }
    if (terms.may_lose && dice.chance(0.2)) {
        add(Happening::cut, 0.8);
        LinkWorldEvent after = events.back();
        after.what = Happening::mended;
        after.at = std::min(after.at + about(dice, loop, 0, 20), faults_end);
        events.push_back(after);
    }
    if (dice.chance(0.2)) {
        add(Happening::pause);
        events.back().length = about(dice, loop, 0, 1);
        what = "a pause, ";
    }
    for (std::uint32_t copies = between(dice, 0, 2); copies > 0; --copies) add(Happening::copy);
    std::stable_sort(events.begin(), events.end(),
                     [](const auto& x, const auto& y) { return x.at < y.at; });
    what += (datagrams ? "datagrams, " : "a line, ") + std::to_string(messages[0].size()) +
            " and " + std::to_string(messages[1].size()) + " messages, loss " +
            std::to_string(rates.loss) + ", bit errors " + std::to_string(rates.bit_error) +
            (bursts.begin > 0 ? ", bursts" : "") + ", " + std::to_string(events.size()) + " events";
}

}  // namespace wireproof::lab
