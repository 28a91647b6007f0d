// The parts of the text below the options of a subcommand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wireproof::cli {

struct Example {
    std::string command;
    std::string note;  // may be empty
};

struct ExitCode {
    std::string code;  // "0", "else"
    std::string meaning;
};

struct FooterText {
    std::vector<std::string> paragraphs;  // without line breaks
    std::vector<Example> examples;
    std::vector<ExitCode> codes;
};

/// Paragraphs are separated by empty lines. One begins with "Examples:" and has an example in each
/// line, and behind three spaces a note. One is "Exit code 0: …; 1: …; 2: …". Throws
/// std::runtime_error if one of these two is missing.
FooterText parse_footer(std::string_view subcommand, std::string_view footer);

}  // namespace wireproof::cli
