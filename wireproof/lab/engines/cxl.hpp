// The link layer retry of CXL in the laboratory.
#pragma once

#include <array>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/lab/engines/link_adapter.hpp"
#include "wireproof/proto/cxl/config.hpp"

namespace wireproof::cxl {
class Link;
}

namespace wireproof::lab {

struct CxlAdapter {
    using Engine = cxl::Link;
    using Config = cxl::Config;

    static constexpr std::string_view name = "cxl-llr";
    static constexpr bool may_lose = false;
    static std::uint64_t window_of(const Config& config) { return config.modulus - 2; }
    static Config with_fitting_window(Config config);
    static std::size_t message_max(const Config& config);
    static std::size_t frame_max(const Config& config);
    static Config of_end(const Config& config, std::uint64_t) { return config; }
    static Describe describe_of(const Config& config);
    static std::size_t unacknowledged(const Engine& engine);

    static constexpr std::array<std::string_view, 8> frame_kinds = {
        "data",      "LLCRD",       "RETRY.Idle", "RETRY.Req",
        "RETRY.Ack", "RETRY.Frame", "INIT.Param", "training"};
    static constexpr LinkFigures figures{Duration::nanoseconds(200), 1'000'000'000};
    static Config for_link(const LinkFigures& link);
    static void read(EngineKeys& keys, Config& config);
    static constexpr bool comes_to_rest = true;
    static Expected<Ladder> run_ladder(const Scenario& scenario);

    /// Two entries of the retry buffer are for acknowledgements.
    static constexpr std::uint32_t smallest_modulus(std::uint32_t window) { return window + 2; }
    static Config search_config(std::uint32_t window, std::uint32_t modulus);
    static constexpr std::size_t search_message = 1;
    /// PHY_REINIT makes the states too many without a limit.
    static constexpr std::uint32_t search_faults = 3;
    // The numbers of trainings (CXL-20).
    static Labels labels(const Engine& engine);
    static void fingerprint_without_labels(const Engine& engine, Instant now, Fingerprint& sink);
    static Labels set_labels_aside(std::vector<std::byte>& frame);
    static std::uint32_t label_count(const Config& config) { return config.training_numbers; }
    static std::string scenario_engine(const Config& config, bool hasty);
    static constexpr std::array<std::string_view, 4> rules = {"as-shipped", "fill-buffer",
                                                              "any-answer", "no-ack-timer"};
    static constexpr std::string_view rules_are_of = "rule for retry";
    static void set_rule(Config& config, std::size_t rule);
    static std::unique_ptr<AnyLinkSearch> make_search(const Config& config, const LinkTask& task,
                                                      const SearchSetting& setting);

    static DrawnLink<Config> draw(Random& dice, const LinkFigures& line, bool datagrams);
    static LinkWorldResult run_world(const LinkWorldConfig& config);
    /// The physical layer retrains.
    static void train(Engine& engine, Instant now, bool begins);
    /// Damage of any flit begins a retry, also if nothing is to be repeated (CXL-24). ABORT ends it
    /// if all its requests were in vain (CXL-10).
    static bool retries(const Engine& engine);

    static constexpr std::array<std::string_view, 1> sweeps = {"cxl-llr"};
    static void fit(RetrySettings& s, std::size_t sweep);
    static void fill_in(const RetrySettings& s, std::size_t sweep, RetryLink& link);
    static Expected<void> check(const RetrySettings& s, std::size_t sweep, const RetryLink& link);
    static Expected<RetryPoint> run_point(const RetrySettings& s, std::size_t sweep,
                                          const RetryPlan& plan, const RetryLink& link);
    static void add_presets(std::vector<RetryPreset>& presets);

    /// One would do, but the link need not start again after a long pause of the path.
    static constexpr std::uint32_t missing_max = 65'536;
    static Expected<AnyLink> over_datagrams(std::size_t frame_max, std::uint64_t seed);
};
static_assert(LinkAdapter<CxlAdapter>);

using CxlSearch = LinkSearch<CxlAdapter>;

}  // namespace wireproof::lab
