// The doctor says whether a program would see the device, and if not, why.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>

#include "wireproof/app/common/text.hpp"
#include "wireproof/cli/doctor_checks.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

constexpr auto doctor_schema = "wireproof.doctor/1";
constexpr std::array<const char*, 3> health_names = {"ok", "warning", "failure"};

constexpr auto how_to_ask_the_doctor =
    R"(Looks at the libraries, the settings in the environment, the address, the
receive buffer, and at PROGRAM if there is one: whether it would see the RDMA
device that wireproof verbs gives it, and what to do where it would not.

Examples:
  wireproof doctor
  wireproof doctor -- ib_write_bw
  wireproof verbs --address 10.0.0.7 -- wireproof doctor

Exit code 0: a program would see the device, warnings or not; 1: it would not;
2: the command line is wrong.)";

/// Breaks the text into lines of 80 columns. All lines except the first are indented.
std::string wrapped_behind(const std::string& text, std::size_t indent) {
    constexpr std::size_t width = 80;
    std::string lines;
    std::size_t column = indent;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::size_t length = end - at;
        if (column > indent && column + 1 + length > width) {
            lines += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            lines += ' ';
            ++column;
        }
        lines += text.substr(at, length);
        column += length;
        at = end + 1;
    }
    return lines;
}

std::string line_of(const Check& check) {
    std::string text = check.found;
    if (!check.remedy.empty()) text += "; " + check.remedy;
    const std::string head = fmt::format(
        "{:<8} {:<9} ", health_names[static_cast<std::size_t>(check.health)], check.about);
    return head + wrapped_behind(app::one_line(text), head.size()) + "\n";
}

struct DoctorSubcommand {
    std::string program;
    bool json = false;

    int run() const {
        std::vector<Check> checks = check_host();
        if (!program.empty()) {
            for (Check& one : check_program(program)) checks.push_back(std::move(one));
        }
        const bool sees = std::none_of(checks.begin(), checks.end(), [](const Check& one) {
            return one.health == Health::failure;
        });
        print_result(json ? json_of(checks, sees) : text_of(checks, sees));
        return sees ? 0 : app::exit_failed;
    }

private:
    static std::string text_of(const std::vector<Check>& checks, bool sees) {
        std::string text;
        for (const Check& one : checks) text += line_of(one);
        return text + (sees ? "A program sees the device: wireproof verbs -- PROGRAM\n"
                            : "A program does not see the device.\n");
    }

    std::string json_of(const std::vector<Check>& checks, bool sees) const {
        nlohmann::ordered_json object;
        object["schema"] = doctor_schema;
        object["program"] = program;
        object["sees_device"] = sees;
        object["checks"] = nlohmann::ordered_json::array();
        for (const Check& one : checks) {
            object["checks"].push_back(
                {{"about", one.about},
                 {"health", health_names[static_cast<std::size_t>(one.health)]},
                 {"found", one.found},
                 {"remedy", one.remedy}});
        }
        return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }
};

}  // namespace

void add_doctor(CLI::App& app, Run& run) {
    const auto doctor = std::make_shared<DoctorSubcommand>();
    CLI::App* subcommand = app.add_subcommand("doctor", "why a program would see no RDMA device");
    subcommand
        ->add_option("PROGRAM", doctor->program, "behind --: by its path, or as a shell finds it")
        ->type_name("");
    subcommand->add_flag("--json", doctor->json,
                         "print one JSON object (schema wireproof.doctor/1)");
    subcommand->footer(how_to_ask_the_doctor);
    subcommand->callback([doctor, &run] { run = [doctor] { return doctor->run(); }; });
}

}  // namespace wireproof::cli
