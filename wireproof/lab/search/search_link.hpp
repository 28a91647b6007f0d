// The search over two ends of a link, for each link engine. A search also takes deliberately broken
// variants of an engine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/core/link_engine.hpp"
#include "wireproof/lab/ladder/scenario.hpp"
#include "wireproof/lab/search/search.hpp"
#include "wireproof/lab/search/search_setting.hpp"
#include "wireproof/lab/search/search_story.hpp"

namespace wireproof::lab {

struct LinkTask {
    static constexpr std::uint32_t messages_max = 100;

    std::uint32_t messages = 6;  // from A, all different
    bool both_ways = false;      // B sends as many
    bool start_up = false;       // begin before the link is up; everything is done when it is up
};

/// The changes that a deliberately broken variant makes to frames. Each function may change the
/// frame; no check detects it. If it returns false, the frame is lost.
template <class E>
struct LinkTampering {
    using Change = std::function<bool(const E& engine, Bytes frame)>;
    Change leaving = {};
    Change arriving = {};
};

/// A search whose engine is chosen at run time.
class AnyLinkSearch {
public:
    virtual ~AnyLinkSearch() = default;

    virtual SearchResult run(const SearchLimits& limits = {}) = 0;
    /// The path that run() found, frame by frame.
    virtual std::vector<SearchStep> story(const std::vector<SearchMove>& path) = 0;
    /// The number of different states of an end.
    virtual std::size_t end_states() const = 0;
    /// May be called after run() if SearchSetting::doubt is set.
    virtual SearchDoubts doubt() const = 0;
};

/// The search for one engine. If frames cannot vanish from its line, SearchSetting::lose means that
/// they are damaged.
template <class Adapter>
class LinkSearch final : public AnyLinkSearch {
public:
    using Config = typename Adapter::Config;

    LinkSearch(const Config& config, const LinkTask& task, const SearchSetting& setting,
               LinkTampering<typename Adapter::Engine> tampering = {});
    LinkSearch(const LinkSearch&) = delete;
    LinkSearch& operator=(const LinkSearch&) = delete;
    ~LinkSearch() override;

    SearchResult run(const SearchLimits& limits = {}) override;
    std::vector<SearchStep> story(const std::vector<SearchMove>& path) override;
    std::size_t end_states() const override;
    SearchDoubts doubt() const override;

private:
    struct Pair;  // takes long to compile
    std::unique_ptr<Pair> pair_;
};

/// Bytes at the beginning of a frame that an end can use although the rest is damaged.
template <class Adapter>
std::size_t separate_front_of(const typename Adapter::Config& config) {
    if constexpr (requires { Adapter::separate_front(config); }) {
        return Adapter::separate_front(config);
    }
    return 0;
}

/// The faults that the line can have.
template <class Adapter>
SearchSetting possible_for(const typename Adapter::Config& config, SearchSetting setting) {
    setting = possible(setting, Adapter::may_lose);
    if (setting.damage) setting.separate_front = separate_front_of<Adapter>(config);
    return setting;
}

// The same for a link protocol that is known only at run time.

/// The faults that the line of a link with this engine can have.
SearchSetting possible(const Scenario::Engine& engine, SearchSetting setting);
/// The smallest modulus with which the protocol should work.
std::uint32_t smallest_modulus(Protocol protocol, std::uint32_t window);
/// The words of `--rule`, and what they decide; the first word is the engine as shipped.
std::vector<std::string> search_rules(Protocol protocol);
std::string_view search_rules_are_of(Protocol protocol);
/// The engine with a small window and modulus, and figures for a world without time. `rule` is a
/// place in search_rules.
Scenario::Engine search_engine(Protocol protocol, std::uint32_t window, std::uint32_t modulus,
                               std::size_t rule);
std::size_t search_message(Protocol protocol);  // bytes
/// The usual limit of faults, for an engine whose states are too many without one.
std::optional<std::uint32_t> search_faults(Protocol protocol);
std::unique_ptr<AnyLinkSearch> make_link_search(const Scenario::Engine& engine,
                                                const LinkTask& task, const SearchSetting& setting);
/// The lines of the table [engine] in a scenario with this link engine. `hasty`: its timer expires
/// before an answer can arrive.
std::string scenario_engine(const Scenario::Engine& engine, bool hasty);

}  // namespace wireproof::lab
