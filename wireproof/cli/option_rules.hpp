// Rules about which options of a subcommand can be used together. A subcommand states its rules
// where it adds its options. An option that would have no effect is refused before the subcommand
// runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wireproof::cli {

class OptionRules {
public:
    /// `option` has an effect only if `holds()` is true. `where_not` says where it has none:
    /// "without --wire udp", "with --tasks".
    void applies(const CLI::Option* option, std::function<bool()> holds, std::string where_not);
    /// The same for several options.
    void apply(const std::vector<const CLI::Option*>& options, const std::function<bool()>& holds,
               const std::string& where_not);
    /// `option` names a file that the subcommand writes; "-" is standard output. The caller owns
    /// `path`, which must outlive the rules.
    void writes(const CLI::Option* option, const std::string& path);

    /// Call it once, after all options are read. Throws CLI::ValidationError if an option was given
    /// that has no effect, or if two outputs go to the same place. --json of `subcommand` also
    /// writes to standard output. If a file goes to standard output, results go to standard error
    /// from now on.
    void check(const CLI::App& subcommand) const;

private:
    struct Condition {
        const CLI::Option* option;
        std::function<bool()> holds;
        std::string where_not;
    };
    struct Output {
        const CLI::Option* option;
        const std::string* path;
    };
    void check_outputs(const CLI::App& subcommand) const;

    std::vector<Condition> conditions_;
    std::vector<Output> outputs_;
};

/// Throws the error for a wrong command line, with this reason.
[[noreturn]] void refuse_usage(const std::string& why);

}  // namespace wireproof::cli
