// Options that the user did not type: from environment variables, and from a file in TOML.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace wireproof::cli {

/// The words of a command line, and the options that the environment and a file add to them. A
/// typed option wins over a variable, and a variable over the file.
class Configuration {
public:
    /// Reads the configuration of the subcommand in `words`, which are those of a command line
    /// without the name of the program. Reads nothing if the words make no sense or ask for help.
    /// Throws CLI::ParseError with one line if the configuration has a mistake.
    explicit Configuration(std::vector<std::string> words);

    /// The command line as if the user had typed all options.
    const std::vector<std::string>& words() const { return words_; }
    /// Removes an option of the configuration, because it has no effect. False if it has none of
    /// this name.
    bool leave_out(const std::string& option);
    /// " (--mtu is from FILE:2:1)" if `complaint` begins with an option of the configuration.
    std::string origin_of(const std::string& complaint) const;

    /// True if the user wants to see the configuration: --print-config.
    bool is_wanted() const { return is_wanted_; }
    /// The value of each option of the subcommand, in TOML that --config accepts. Throws
    /// CLI::ParseError if the command line is wrong.
    std::string in_toml() const;

private:
    struct Value {
        std::string option;  // "--mtu"
        std::string key;     // "mtu"
        std::string text;
        std::string place;
        std::string left_out;  // why; empty: it is used
    };
    void read_variables(const CLI::App& subcommand);
    void read_file(const CLI::App& subcommand, const std::string& path);
    void add(Value value);
    void check_values() const;
    void leave_out_what_cannot_be(CLI::App& subcommand);
    void build_words();

    std::vector<std::string> typed_;
    std::vector<std::string> words_;
    std::string subcommand_;
    std::vector<Value> values_;      // one for each option
    std::vector<Value> overridden_;  // also read, and of no use
    bool is_wanted_ = false;
};

}  // namespace wireproof::cli
