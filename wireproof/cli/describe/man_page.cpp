#include "wireproof/cli/describe/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "wireproof/cli/describe/footer.hpp"
#include "wireproof/cli/describe/mdoc.hpp"
#include "wireproof/cli/names.hpp"

namespace wireproof::cli {
namespace {

std::string head(const std::string& name, const std::string& what, const std::string& date) {
    std::string title = name;
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return fmt::format(
        ".\\\" Generated from the options of the command: do not edit.\n"
        ".Dd {}\n.Dt {} 1\n.Os\n.Sh NAME\n.Nm {}\n.Nd {}\n",
        date, title, name, mdoc_escaped(what));
}

/// "Fl Fl damage , Fl Fl no\-damage", or "Ar FILE".
std::string item_of(const OptionText& option) {
    std::string item;
    for (const auto& names : {option.names, option.off_names}) {
        for (const std::string& name : names) {
            item += (item.empty() ? "" : " , ") + std::string("Fl ") +
                    (name.starts_with("--") ? "Fl " + mdoc_escaped(name.substr(2))
                                            : mdoc_escaped(name.substr(1)));
        }
    }
    if (!option.value.empty()) item += (item.empty() ? "" : " ") + ("Ar " + option.value);
    return item + (option.repeated ? " ..." : "");
}

std::string option_text(const OptionText& option) {
    std::istringstream statements(option.what);
    std::string text;
    for (std::string line; std::getline(statements, line);) {
        text += (text.empty() ? "" : ".br\n") + mdoc_text(mdoc_sentence(line));
    }
    // A longer list, such as that of the presets, has an option that prints it.
    constexpr std::size_t choices_max = 24;
    if (!names_choices(option) && option.choices.size() <= choices_max) {
        text += mdoc_text("One of " + either_of(option.choices) + ".");
    }
    // "IP packet, 128 to 65535 bytes" has the limits.
    if (!option.limits.empty() && option.what.find(option.limits) == std::string::npos) {
        text += mdoc_text("From " + option.limits + ".");
    }
    if (!option.initial.empty()) text += mdoc_text("The default is " + option.initial + ".");
    if (option.required && !option.operand) text += mdoc_text("This option is required.");
    return text;
}

std::string list_of(const std::vector<OptionText>& options) {
    std::string text = ".Bl -tag -width Ds\n";
    for (const OptionText& option : options) {
        text += ".It " + item_of(option) + "\n" + option_text(option);
    }
    return text + ".El\n";
}

std::string synopsis(const SubcommandText& subcommand) {
    std::string text =
        fmt::format(".Sh SYNOPSIS\n.Nm wireproof {}\n.Op Ar option ...\n", subcommand.name);
    for (const OptionText& option : subcommand.options) {
        if (option.required && !option.operand) text += "." + item_of(option) + "\n";
    }
    for (const OptionText& option : subcommand.options) {
        if (!option.operand) continue;
        const std::string dashes = option.takes == Takes::program ? "Fl Fl " : "";
        const std::string item = "Ar " + option.value + (option.repeated ? " ..." : "");
        text += option.required ? "." + dashes + item + "\n" : ".Op " + dashes + item + "\n";
    }
    return text;
}

std::string exit_status(const std::vector<ExitCode>& codes) {
    std::string text = ".Sh EXIT STATUS\n.Bl -tag -width Ds\n";
    for (const ExitCode& one : codes) {
        text += fmt::format(".It {}\n{}", one.code, mdoc_text(mdoc_sentence(one.meaning)));
    }
    return text + ".El\n";
}

std::string examples_text(const std::vector<Example>& examples) {
    std::string text = ".Sh EXAMPLES\n.Bd -literal\n";
    for (const Example& example : examples) {
        text += mdoc_literal(example.command);
        if (!example.note.empty()) text += mdoc_literal("    # " + example.note);
    }
    return text + ".Ed\n";
}

// `verbs` has a file and variables of its own.
bool is_configurable(const SubcommandText& subcommand) {
    return subcommand.name != "verbs" &&
           std::any_of(subcommand.options.begin(), subcommand.options.end(),
                       [](const OptionText& option) { return option.key() == "print-config"; });
}

constexpr auto of_command = R"(.Sh SYNOPSIS
.Nm
.Ar subcommand
.Op Ar option ...
.Nm
.Cm help
.Op Ar subcommand
.Sh DESCRIPTION
Each subcommand has a manual page of its own.
)";

constexpr auto configuration = R"(.Sh CONFIGURATION
Each option that has a long name can also be given by an environment variable
or in a file.
An option on the command line wins over a variable, and a variable wins over
the file.
.Pp
The variable of
.Fl Fl ack\-every
of the subcommand
.Cm sweep
is
.Ev WIREPROOF_SWEEP_ACK_EVERY .
A flag is
.Ql true
or
.Ql false .
A variable without text sets nothing.
.Pp
The file is that of
.Fl Fl config Ar FILE ,
else
.Pa $XDG_CONFIG_HOME/wireproof/config.toml
if there is such a file.
It is TOML with a section for each subcommand:
.Bd -literal -offset indent
[sweep]
protocol = "pcie"
ack\-every = 4
loaded\-back = true
.Ed
.Pp
An option of the configuration that has no effect beside the other options, or
that they exclude, is left out.
A key, a section or a variable of the subcommand that does not exist is an
error.
With
.Fl Fl print\-config
a subcommand prints its options and where their values are from, as a file for
.Fl Fl config ,
and does nothing else.
To undo a flag of the configuration, type
.Fl Fl json Ns = Ns Ar false .
.Pp
.Cm verbs
has variables and a file of its own, see
.Xr wireproof-verbs 1 .
A process with the rights of another user reads no configuration.
.Sh ENVIRONMENT
.Bl -tag -width Ds
.It Ev WIREPROOF_ Ns Ar SUBCOMMAND Ns _ Ns Ar OPTION
An option of a subcommand.
.It Ev XDG_CONFIG_HOME
The folder of configuration files.
The default is
.Pa ~/.config .
.El
.Sh FILES
.Bl -tag -width Ds
.It Pa $XDG_CONFIG_HOME/wireproof/config.toml
The options of this user.
.El
.Sh EXIT STATUS
.Bl -tag -width Ds
.It 0
The subcommand did what was asked for.
.It 1
The subcommand failed, or what it measured, simulated or searched is not right.
The reason is one line on standard error, and with
.Fl Fl json
also the
.Ql error
of the object on standard output.
.It 2
The command line, a variable or the configuration file is wrong.
The subcommand has not begun.
.It 125, 126, 127
.Cm verbs
lacks its libraries; the program cannot be run; there is no such program.
.Cm launch
has the last two, too.
.It 128+S
As a shell shows it: signal S ended the command.
.El
.Pp
.Cm verbs
and
.Cm launch
end with the code of their program.
Each subcommand says what its codes mean.
)";

}  // namespace

std::string man_page(const CommandText& command, const std::string& date) {
    std::string what = command.what;
    what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
    if (what.ends_with('.')) what.pop_back();
    std::string text = head(command.name, what, date) + of_command;
    text += ".Bl -tag -width Ds\n";
    for (const SubcommandText& subcommand : command.subcommands) {
        text += fmt::format(".It Xr wireproof-{} 1\n{}", subcommand.name,
                            mdoc_text(mdoc_sentence(subcommand.what)));
    }
    text += ".El\n.Pp\nThe options without a subcommand are:\n" + list_of(command.options);
    text += configuration;
    std::vector<std::string> names;
    for (const SubcommandText& subcommand : command.subcommands) names.push_back(subcommand.name);
    std::sort(names.begin(), names.end());
    text += ".Sh SEE ALSO\n";
    for (const std::string& name : names) {
        text += fmt::format(".Xr wireproof-{} 1{}\n", name, name == names.back() ? "" : " ,");
    }
    return text;
}

std::string man_page(const SubcommandText& subcommand, const std::string& date) {
    const FooterText footer = parse_footer(subcommand.name, subcommand.footer);
    std::string text =
        head("wireproof-" + subcommand.name, subcommand.what, date) + synopsis(subcommand);
    text += ".Sh DESCRIPTION\n";
    if (footer.paragraphs.empty()) text += mdoc_text(mdoc_sentence(subcommand.what));
    for (const std::string& paragraph : footer.paragraphs) {
        text += (&paragraph == &footer.paragraphs.front() ? "" : ".Pp\n") + mdoc_text(paragraph);
    }
    text += ".Pp\nThe options are:\n" + list_of(subcommand.options);
    if (is_configurable(subcommand)) {
        text +=
            ".Pp\nOptions can also be given by variables of the environment and in a file:\n"
            "CONFIGURATION in\n.Xr wireproof 1 .\n";
    }
    text += exit_status(footer.codes) + examples_text(footer.examples);
    return text + ".Sh SEE ALSO\n.Xr wireproof 1\n";
}

}  // namespace wireproof::cli
