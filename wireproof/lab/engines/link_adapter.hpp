// What the laboratory and the command must know of a link engine. An adapter is a struct with only
// static members, one for each engine. link_engines.hpp has the list of all adapters.
// docs/developers/add-a-link-protocol.md says where an engine is entered; hippi.cpp is a model.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/lab/engines/drawn_link.hpp"
#include "wireproof/lab/engines/engine_keys.hpp"
#include "wireproof/lab/engines/link_figures.hpp"

namespace wireproof {
class AnyLink;
}

namespace wireproof::lab {

// Adapters only name these types in their headers, so that a header stays small.
struct Advice;
struct AdvisedLimit;
struct AdviceLine;
struct Ladder;
struct Labels;
struct LinkTask;
struct LinkWorldConfig;
struct LinkWorldResult;
struct RetryLink;
struct RetryPlan;
struct RetryPoint;
struct RetryPreset;
struct RetrySettings;
struct Scenario;
struct SearchSetting;
class AnyLinkSearch;
template <class Adapter>
class LinkSearch;

// clang-format off
template <class A>
concept LinkAdapter = requires(
    const typename A::Config& config, const typename A::Engine& engine, typename A::Config& writable,
    EngineKeys& keys, const LinkFigures& figures, std::uint64_t seed, std::uint32_t small,
    std::size_t size, ConstBytes frame, const RetrySettings& settings, RetrySettings& changeable,
    const RetryLink& link, RetryLink& fillable) {
    // The protocol's name on the command line and in files.
    { A::name } -> std::convertible_to<std::string_view>;

    // A Config of its own type, with check() and a member `modulus`.
    { config.check() } -> std::same_as<Expected<void>>;
    { A::window_of(config) } -> std::same_as<std::uint64_t>;
    // The same configuration with a window that is not too large for the modulus.
    { A::with_fitting_window(config) } -> std::same_as<typename A::Config>;
    // Longest message, and longest frame on the wire; bytes.
    { A::message_max(config) } -> std::same_as<std::size_t>;
    { A::frame_max(config) } -> std::same_as<std::size_t>;
    // The configuration of one of the two ends. If the ends draw random numbers, `seed` is theirs.
    { A::of_end(config, seed) } -> std::same_as<typename A::Config>;
    // Names the frames of links with this configuration.
    { A::describe_of(config) } -> std::same_as<Describe>;
    // Messages that were submitted and are not yet acknowledged. It may not be too small.
    { A::unacknowledged(engine) } -> std::same_as<std::size_t>;
    // An adapter may also have `bool may_flush(config)`. True: messages may be lost when the link
    // goes down, and it comes up again by itself. A search then permits that.
    // An adapter of an engine with labels (search_labels.hpp) also has labels(engine),
    // fingerprint_without_labels(engine, now, sink), set_labels_aside(frame), which returns the
    // labels of a frame and sets them to zero, and label_count(config), the modulus. And an adapter
    // may have separate_front(config): so many bytes at the beginning of a frame are of use even if
    // the rest is damaged. A search then also damages the rest alone.
    // False: a frame never vanishes from the line. Then a fault that loses a frame damages it.
    { A::may_lose } -> std::convertible_to<bool>;

    // Ladders: names of frames for faults, the cable, and the keys of [engine].
    { A::frame_kinds.size() } -> std::convertible_to<std::size_t>;
    { A::figures } -> std::convertible_to<LinkFigures>;
    { A::for_link(figures) } -> std::same_as<typename A::Config>;
    { A::read(keys, writable) } -> std::same_as<void>;
    // False: the engine sends forever, so a ladder ends when everything is acknowledged.
    { A::comes_to_rest } -> std::convertible_to<bool>;
    requires std::same_as<decltype(A::run_ladder), Expected<Ladder>(const Scenario&)>;

    // Searches: a configuration for a world without time, and the lines of [engine] for a
    // counterexample. `hasty`: a timer expires before an answer can arrive.
    { A::smallest_modulus(small) } -> std::same_as<std::uint32_t>;
    { A::search_config(small, small) } -> std::same_as<typename A::Config>;
    { A::search_message } -> std::convertible_to<std::size_t>;  // bytes; one numbered frame
    { A::scenario_engine(config, bool()) } -> std::same_as<std::string>;
    // Words of `--rule`; the first one is the engine as shipped. Empty: there is no choice.
    { A::rules.size() } -> std::convertible_to<std::size_t>;
    { A::rules_are_of } -> std::convertible_to<std::string_view>;  // what the rules decide
    { A::set_rule(writable, size) } -> std::same_as<void>;
    requires std::same_as<decltype(A::make_search),
                          std::unique_ptr<AnyLinkSearch>(const typename A::Config&, const LinkTask&,
                                                         const SearchSetting&)>;

    // Random worlds: a configuration that suits the line, or datagrams between processes.
    requires std::same_as<decltype(A::draw), DrawnLink<typename A::Config>(
                                                 Random&, const LinkFigures&, bool)>;
    requires std::same_as<decltype(A::run_world), LinkWorldResult(const LinkWorldConfig&)>;
    // An adapter may also have `void train(Engine&, Instant, bool begins)`: the line below trains,
    // and then is up again.
    // And it may have `bool retries(engine)`: a retry is under way, so the link may go down although
    // all messages are acknowledged. Without it, such a link must stay up when the faults end.

    // Sweeps: an engine has one or more protocols in sweeps, by name. `size` is the place of the
    // name in `sweeps`.
    { A::sweeps.size() } -> std::convertible_to<std::size_t>;
    // Removes settings that the protocol does not have, for grids with several protocols.
    { A::fit(changeable, size) } -> std::same_as<void>;
    // Fills in the unit, all settings that are 0, and how the closed form sees the link.
    { A::fill_in(settings, size, fillable) } -> std::same_as<void>;
    { A::check(settings, size, link) } -> std::same_as<Expected<void>>;
    // Parameters: settings, place in `sweeps`, plan, what fill_in() made.
    requires std::same_as<decltype(A::run_point),
                          Expected<RetryPoint>(const RetrySettings&, std::size_t, const RetryPlan&,
                                               const RetryLink&)>;
    requires std::same_as<decltype(A::add_presets), void(std::vector<RetryPreset>&)>;

    // carry: an end of a link over datagrams of at most so many bytes, between processes, with this
    // seed. The error names what is wrong with the bytes.
    requires std::same_as<decltype(A::over_datagrams), Expected<AnyLink>(std::size_t, std::uint64_t)>;
    // For an engine that counts the frames that arrive: how many missing frames in a row the wire
    // tells as damaged frames without bytes (SequencedConfig). Beyond that, the link starts again.
    // 0: the engine need not know of missing frames.
    { A::missing_max } -> std::convertible_to<std::uint32_t>;
};
// clang-format on

}  // namespace wireproof::lab
