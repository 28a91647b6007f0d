// PCI Express in the laboratory.
#pragma once

#include <array>

#include "wireproof/lab/engines/link_adapter.hpp"
#include "wireproof/proto/pcie/config.hpp"

namespace wireproof::pcie {
class Link;
}

namespace wireproof::lab {

struct PcieAdapter {
    using Engine = pcie::Link;
    using Config = pcie::Config;

    static constexpr std::string_view name = "pcie";
    static constexpr bool may_lose = true;
    static std::uint64_t window_of(const Config& config) { return config.outstanding; }
    static Config with_fitting_window(Config config);
    static std::size_t message_max(const Config& config) { return config.payload_max; }
    static std::size_t frame_max(const Config& config);
    static Config of_end(const Config& config, std::uint64_t) { return config; }
    static Describe describe_of(const Config& config);
    static std::size_t unacknowledged(const Engine& engine);

    static constexpr std::array<std::string_view, 14> frame_kinds = {
        "TLP",        "nullified TLP", "Ack",          "Nak",        "InitFC1-P",
        "InitFC1-NP", "InitFC1-Cpl",   "InitFC2-P",    "InitFC2-NP", "InitFC2-Cpl",
        "UpdateFC-P", "UpdateFC-NP",   "UpdateFC-Cpl", "DLLP"};
    static constexpr LinkFigures figures{Duration::nanoseconds(200), 1'000'000'000};
    static Config for_link(const LinkFigures& link);
    static void read(EngineKeys& keys, Config& config);
    static constexpr bool comes_to_rest = false;  // the ends renew their credits
    static Expected<Ladder> run_ladder(const Scenario& scenario);

    static constexpr std::uint32_t smallest_modulus(std::uint32_t window) { return 2 * window + 2; }
    static Config search_config(std::uint32_t window, std::uint32_t modulus);
    static constexpr std::size_t search_message = 1;
    static std::string scenario_engine(const Config& config, bool hasty);
    static constexpr std::array<std::string_view, 0> rules{};
    static constexpr std::string_view rules_are_of{};
    static void set_rule(Config&, std::size_t) {}
    static std::unique_ptr<AnyLinkSearch> make_search(const Config& config, const LinkTask& task,
                                                      const SearchSetting& setting);

    static DrawnLink<Config> draw(Random& dice, const LinkFigures& line, bool datagrams);
    static LinkWorldResult run_world(const LinkWorldConfig& config);
    /// The physical layer retrains.
    static void train(Engine& engine, Instant now, bool begins);

    static constexpr std::array<std::string_view, 1> sweeps = {"pcie"};
    static void fit(RetrySettings&, std::size_t) {}
    static void fill_in(const RetrySettings& s, std::size_t sweep, RetryLink& link);
    static Expected<void> check(const RetrySettings& s, std::size_t sweep, const RetryLink& link);
    static Expected<RetryPoint> run_point(const RetrySettings& s, std::size_t sweep,
                                          const RetryPlan& plan, const RetryLink& link);
    static void add_presets(std::vector<RetryPreset>& presets);

    static constexpr std::uint32_t missing_max = 0;
    static Expected<AnyLink> over_datagrams(std::size_t frame_max, std::uint64_t seed);
};
static_assert(LinkAdapter<PcieAdapter>);

using PcieSearch = LinkSearch<PcieAdapter>;

}  // namespace wireproof::lab
