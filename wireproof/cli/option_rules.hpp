// Which options of a verb go together. A verb states its rules where it adds its options; an
// option that can have no effect is refused before anything runs.
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
    /// `option` has an effect only where `holds()`; `needs` says when that is: "--wire udp".
    void applies(const CLI::Option* option, std::function<bool()> holds, std::string needs);
    /// The same of several options.
    void apply(const std::vector<const CLI::Option*>& options, const std::function<bool()>& holds,
               const std::string& needs);
    /// `option` names a file that is written; "-" is standard output. `path` outlives the rules.
    void writes(const CLI::Option* option, const std::string& path);

    /// Call it once all options are read. Throws CLI::ValidationError for an option that was given
    /// and has no effect, and for two outputs that go to the same place; `verb`'s --json writes to
    /// standard output too. Where a file goes to standard output, results go to standard error
    /// from now on.
    void check(const CLI::App& verb) const;

private:
    struct Condition {
        const CLI::Option* option;
        std::function<bool()> holds;
        std::string needs;
    };
    struct Output {
        const CLI::Option* option;
        const std::string* path;
    };
    void check_outputs(const CLI::App& verb) const;

    std::vector<Condition> conditions_;
    std::vector<Output> outputs_;
};

/// Ends a verb's checks: the command line is wrong, for this reason.
[[noreturn]] void refuse_usage(const std::string& why);

}  // namespace wireproof::cli
