// Ultra Ethernet's Link Layer Retry in the laboratory.
#pragma once

#include <array>

#include "wireproof/lab/engines/link_adapter.hpp"
#include "wireproof/proto/ue/config.hpp"

namespace wireproof::ue {
class Link;
}

namespace wireproof::lab {

struct UeAdapter {
    using Engine = ue::Link;
    using Config = ue::Config;

    static constexpr std::string_view name = "ue-llr";
    static constexpr bool may_lose = true;  // a bad codeword may take the begin of a frame
    static std::uint64_t window_of(const Config& config) { return config.outstanding_seq_max; }
    static Config with_fitting_window(Config config);
    static std::size_t message_max(const Config& config) { return config.payload_max; }
    static std::size_t frame_max(const Config& config);
    static Config of_end(const Config& config, std::uint64_t) { return config; }
    static Describe describe_of(const Config& config);
    static std::size_t unacknowledged(const Engine& engine);
    /// A flush loses messages.
    static bool may_flush(const Config& config);

    static constexpr std::array<std::string_view, 7> frame_kinds = {
        "FRAME", "PLAIN", "ACK", "NACK", "INIT", "INIT_ECHO", "CF_UPDATE"};
    static constexpr LinkFigures figures{Duration::nanoseconds(200), 1'000'000'000};
    static Config for_link(const LinkFigures& link);
    static void read(EngineKeys& keys, Config& config);
    static constexpr bool comes_to_rest = true;
    static Expected<Ladder> run_ladder(const Scenario& scenario);

    static constexpr std::uint32_t smallest_modulus(std::uint32_t window) { return 2 * window; }
    static Config search_config(std::uint32_t window, std::uint32_t modulus);
    static constexpr std::size_t search_message = 1;
    static std::string scenario_engine(const Config& config, bool hasty);
    /// By the mends of ue::Config.
    static constexpr std::array<std::string_view, 5> rules = {
        "none", "half-is-gap", "mute-duplicates", "no-timer", "init-once"};
    static constexpr std::string_view rules_are_of = "defect";
    static void set_rule(Config& config, std::size_t rule);
    static std::unique_ptr<AnyLinkSearch> make_search(const Config& config, const LinkTask& task,
                                                      const SearchSetting& setting);

    static DrawnLink<Config> draw(Random& dice, const LinkFigures& line, bool datagrams);
    static LinkWorldResult run_world(const LinkWorldConfig& config);
    /// The physical layer loses the peer, and finds it again.
    static void train(Engine& engine, Instant now, bool begins);

    static constexpr std::array<std::string_view, 1> sweeps = {"ue-llr"};
    static void fit(RetrySettings& s, std::size_t sweep);
    static void fill_in(const RetrySettings& s, std::size_t sweep, RetryLink& link);
    static Expected<void> check(const RetrySettings& s, std::size_t sweep, const RetryLink& link);
    static Expected<RetryPoint> run_point(const RetrySettings& s, std::size_t sweep,
                                          const RetryPlan& plan, const RetryLink& link);
    static void add_presets(std::vector<RetryPreset>& presets);

    // Advice (retry_advice.hpp).
    static bool advises(std::size_t) { return true; }
    static RetrySettings on_line(const AdviceLine& line, std::size_t sweep);
    static constexpr std::uint32_t buffer_max(std::size_t) { return ue::Config::numbers / 2; }
    static std::uint64_t timer_least(const RetrySettings& s, const RetryLink& link);
    static std::vector<AdvisedLimit> limits(const Advice& advice, const AdviceLine& line);

    static constexpr std::uint32_t missing_max = 0;
    static Expected<AnyLink> over_datagrams(std::size_t frame_max, std::uint64_t seed);
};
static_assert(LinkAdapter<UeAdapter>);

using UeSearch = LinkSearch<UeAdapter>;

}  // namespace wireproof::lab
