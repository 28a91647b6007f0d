#include "wireproof/cli/option_rules.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <utility>

#include "wireproof/app/common/files.hpp"
#include "wireproof/cli/no_effect.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

bool same_place(const std::string& left, const std::string& right) {
    return left == right || (app::is_standard_output(left) && app::is_standard_output(right));
}

bool was_given(const CLI::Option* option) {
    return option != nullptr && option->count() > 0;
}

}  // namespace

void OptionRules::applies(const CLI::Option* option, std::function<bool()> holds,
                          std::string where_not) {
    conditions_.push_back({option, std::move(holds), std::move(where_not)});
}

void OptionRules::apply(const std::vector<const CLI::Option*>& options,
                        const std::function<bool()>& holds, const std::string& where_not) {
    for (const CLI::Option* option : options) applies(option, holds, where_not);
}

void OptionRules::writes(const CLI::Option* option, const std::string& path) {
    outputs_.push_back({option, &path});
}

void OptionRules::check(const CLI::App& subcommand) const {
    for (const Condition& condition : conditions_) {
        if (!was_given(condition.option) || condition.holds()) continue;
        const std::string name = condition.option->get_name();
        throw NoEffect(name, fmt::format("{} has no effect {}", name, condition.where_not));
    }
    check_outputs(subcommand);
}

void OptionRules::check_outputs(const CLI::App& subcommand) const {
    bool on_standard_output = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        const auto& [option, path] = outputs_[i];
        if (path->empty()) {
            if (was_given(option)) refuse_usage(option->get_name() + ": the file has no name");
            continue;
        }
        for (std::size_t j = 0; j < i; ++j) {
            if (!same_place(*outputs_[j].path, *path)) continue;
            refuse_usage(fmt::format("{} and {} name the same file", outputs_[j].option->get_name(),
                                     option->get_name()));
        }
        if (!app::is_standard_output(*path)) continue;
        if (was_given(subcommand.get_option_no_throw("--json"))) {
            refuse_usage(fmt::format("--json and {} {} both write to standard output",
                                     option->get_name(), *path));
        }
        on_standard_output = true;
    }
    if (on_standard_output) results_to_standard_error();
}

void refuse_usage(const std::string& why) {
    throw CLI::ValidationError(why, exit_usage);
}

}  // namespace wireproof::cli
