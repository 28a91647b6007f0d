#include "wireproof/lab/search/search_link.hpp"

namespace wireproof::lab {
namespace {

/// Calls `visit.template operator()<Adapter>(config)` for the link engine.
template <class Visit>
auto visit_config(const Scenario::Engine& engine, Visit&& visit) {
    return visit_adapter(static_cast<Protocol>(engine.index()), [&]<class Adapter>() {
        return visit.template operator()<Adapter>(std::get<typename Adapter::Config>(engine));
    });
}

}  // namespace

SearchSetting possible(const Scenario::Engine& engine, SearchSetting setting) {
    return visit_config(engine, [&setting]<class Adapter>(const auto& config) {
        return possible_for<Adapter>(config, setting);
    });
}

std::uint32_t smallest_modulus(Protocol protocol, std::uint32_t window) {
    return visit_adapter(protocol,
                         [window]<class Adapter>() { return Adapter::smallest_modulus(window); });
}

std::vector<std::string> search_rules(Protocol protocol) {
    std::vector<std::string> words;
    visit_adapter(protocol, [&words]<class Adapter>() {
        for (const std::string_view rule : Adapter::rules) words.emplace_back(rule);
    });
    return words;
}

std::string_view search_rules_are_of(Protocol protocol) {
    return visit_adapter(protocol, []<class Adapter>() { return Adapter::rules_are_of; });
}

Scenario::Engine search_engine(Protocol protocol, std::uint32_t window, std::uint32_t modulus,
                               std::size_t rule) {
    return visit_adapter(protocol, [&]<class Adapter>() {
        auto config = Adapter::search_config(window, modulus);
        Adapter::set_rule(config, rule);
        return Scenario::Engine(config);
    });
}

std::size_t search_message(Protocol protocol) {
    return visit_adapter(protocol,
                         []<class Adapter>() -> std::size_t { return Adapter::search_message; });
}

std::optional<std::uint32_t> search_faults(Protocol protocol) {
    return visit_adapter(protocol, []<class Adapter>() -> std::optional<std::uint32_t> {
        if constexpr (requires { Adapter::search_faults; }) return Adapter::search_faults;
        return std::nullopt;
    });
}

std::unique_ptr<AnyLinkSearch> make_link_search(const Scenario::Engine& engine,
                                                const LinkTask& task,
                                                const SearchSetting& setting) {
    return visit_config(engine, [&]<class Adapter>(const auto& config) {
        return Adapter::make_search(config, task, setting);
    });
}

std::string scenario_engine(const Scenario::Engine& engine, bool hasty) {
    return visit_config(engine, [hasty]<class Adapter>(const auto& config) {
        return Adapter::scenario_engine(config, hasty);
    });
}

}  // namespace wireproof::lab
