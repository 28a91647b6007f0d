// The retry of flits in the laboratory: PCI Express 6 and 7, and UCIe.
#pragma once

#include <array>

#include "wireproof/lab/engines/link_adapter.hpp"
#include "wireproof/proto/flit/config.hpp"

namespace wireproof::flit {
class Link;
}

namespace wireproof::lab {

struct FlitAdapter {
    using Engine = flit::Link;
    using Config = flit::Config;

    static constexpr std::string_view name = "flit";
    /// The receiver counts flits, so the line reports each one that it spoils.
    static constexpr bool may_lose = false;
    static std::uint64_t window_of(const Config& config) { return config.outstanding; }
    static Config with_fitting_window(Config config);
    static std::size_t message_max(const Config& config) { return config.message_max(); }
    static std::size_t frame_max(const Config&) { return flit::flit_max; }
    static Config of_end(const Config& config, std::uint64_t) { return config; }
    static Describe describe_of(const Config& config);
    /// The even half of a flit with two.
    static std::size_t separate_front(const Config& config);
    static std::size_t unacknowledged(const Engine& engine);

    static constexpr std::array<std::string_view, 7> frame_kinds = {
        "payload", "payload+Nak", "payload+SNak", "NOP", "NOP+Nak", "NOP+SNak", "IDLE"};
    static constexpr LinkFigures figures{Duration::nanoseconds(200), 1'000'000'000};
    static Config for_link(const LinkFigures& link);
    static void read(EngineKeys& keys, Config& config);
    static constexpr bool comes_to_rest = true;
    static Expected<Ladder> run_ladder(const Scenario& scenario);

    static constexpr std::uint32_t smallest_modulus(std::uint32_t window) { return 2 * window + 1; }
    static Config search_config(std::uint32_t window, std::uint32_t modulus);
    static constexpr std::size_t search_message = 1;
    static std::string scenario_engine(const Config& config, bool hasty);
    /// The four links, and links without one of the corrections FLIT-22 to 25, and CXL-13.
    static constexpr std::array<std::string_view, 10> rules = {
        "standard",   "selective",  "ucie",       "halves",     "no-flit-22",
        "no-flit-23", "count-nops", "no-flit-24", "no-flit-25", "no-cxl-13"};
    static constexpr std::string_view rules_are_of = "variant";
    static void set_rule(Config& config, std::size_t rule);
    static std::unique_ptr<AnyLinkSearch> make_search(const Config& config, const LinkTask& task,
                                                      const SearchSetting& setting);

    static DrawnLink<Config> draw(Random& dice, const LinkFigures& line, bool datagrams);
    static LinkWorldResult run_world(const LinkWorldConfig& config);

    static constexpr std::array<std::string_view, 5> sweeps = {"flit", "flit-selective", "flit-cxl",
                                                               "ucie", "ucie-68"};
    enum class Sweep : std::size_t { standard, selective, cxl, ucie_256, ucie_68 };
    static void fit(RetrySettings& s, std::size_t sweep);
    static void fill_in(const RetrySettings& s, std::size_t sweep, RetryLink& link);
    static Expected<void> check(const RetrySettings& s, std::size_t sweep, const RetryLink& link);
    static Expected<RetryPoint> run_point(const RetrySettings& s, std::size_t sweep,
                                          const RetryPlan& plan, const RetryLink& link);
    static void add_presets(std::vector<RetryPreset>& presets);

    // Advice (retry_advice.hpp).
    static bool advises(std::size_t sweep) { return sweep <= std::size_t(Sweep::selective); }
    static RetrySettings on_line(const AdviceLine& line, std::size_t sweep);
    static std::uint32_t buffer_max(std::size_t sweep);
    static std::uint64_t timer_least(const RetrySettings& s, const RetryLink& link);
    static std::vector<AdvisedLimit> limits(const Advice& advice, const AdviceLine& line);

    /// The engine of a protocol of sweeps, with the settings of its specification.
    static Config config_of(std::size_t sweep);
    /// FLIT-21: the ignore window is longer than the loop by so many flits.
    static constexpr std::uint64_t ignore_beyond_loop = 5;

    /// The wire tells each missing flit, because the receiver counts. A gap that no carry has.
    static constexpr std::uint32_t missing_max = 65'536;
    static Expected<AnyLink> over_datagrams(std::size_t frame_max, std::uint64_t seed);
};
static_assert(LinkAdapter<FlitAdapter>);

using FlitSearch = LinkSearch<FlitAdapter>;

}  // namespace wireproof::lab
