// HIPPI-6400 in the laboratory.
#pragma once

#include <array>

#include "wireproof/lab/engines/link_adapter.hpp"
#include "wireproof/proto/hippi/config.hpp"

namespace wireproof::hippi {
class Link;
}

namespace wireproof::lab {

struct HippiAdapter {
    using Engine = hippi::Link;
    using Config = hippi::Config;

    static constexpr std::string_view name = "hippi6400";
    static constexpr bool may_lose = true;
    static std::uint64_t window_of(const Config& config) { return config.w_max; }
    static Config with_fitting_window(Config config);
    static std::size_t message_max(const Config& config) { return config.message_max; }
    static std::size_t frame_max(const Config&) { return hippi::unit_size; }
    static Config of_end(Config config, std::uint64_t seed);
    static Describe describe_of(const Config& config);
    static std::size_t unacknowledged(const Engine& engine);

    static constexpr std::array<std::string_view, 10> frame_kinds = {
        "data",  "header", "null",     "status null", "credit",
        "admin", "init",   "init-ack", "reset",       "reset-ack"};
    static constexpr LinkFigures figures{Duration::nanoseconds(360), 1'000'000'000};
    static Config for_link(const LinkFigures& link);
    static void read(EngineKeys& keys, Config& config);
    static constexpr bool comes_to_rest = true;
    static Expected<Ladder> run_ladder(const Scenario& scenario);

    /// The smallest with which the receiver recognises every duplicate.
    static constexpr std::uint32_t smallest_modulus(std::uint32_t window) { return 2 * window + 1; }
    static Config search_config(std::uint32_t window, std::uint32_t modulus);
    static constexpr std::size_t search_message = hippi::data_size;  // one unit
    static std::string scenario_engine(const Config& config, bool hasty);
    static constexpr std::array<std::string_view, 3> rules = {"status-null", "literal",
                                                              "re-arm"};  // by hippi::Duplicates
    static constexpr std::string_view rules_are_of = "rule for duplicates";
    static void set_rule(Config& config, std::size_t rule);
    static std::unique_ptr<AnyLinkSearch> make_search(const Config& config, const LinkTask& task,
                                                      const SearchSetting& setting);

    static DrawnLink<Config> draw(Random& dice, const LinkFigures& line, bool datagrams);
    static LinkWorldResult run_world(const LinkWorldConfig& config);

    static constexpr std::array<std::string_view, 1> sweeps = {"hippi6400"};
    static void fit(RetrySettings& s, std::size_t sweep);
    static void fill_in(const RetrySettings& s, std::size_t sweep, RetryLink& link);
    static Expected<void> check(const RetrySettings& s, std::size_t sweep, const RetryLink& link);
    static Expected<RetryPoint> run_point(const RetrySettings& s, std::size_t sweep,
                                          const RetryPlan& plan, const RetryLink& link);
    static void add_presets(std::vector<RetryPreset>& presets);

    static constexpr std::uint32_t missing_max = 0;
    static Expected<AnyLink> over_datagrams(std::size_t frame_max, std::uint64_t seed);
};
static_assert(LinkAdapter<HippiAdapter>);

using HippiSearch = LinkSearch<HippiAdapter>;

}  // namespace wireproof::lab
