#include <CLI/CLI.hpp>

#include <memory>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/transfer/carry_side.hpp"
#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/names.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/report.hpp"
#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

constexpr auto carry_examples = R"(Examples:
  wireproof carry big.iso --loss 0.01 --reorder 0.01
  wireproof carry big.iso --wire sim --ber 1e-6 --seed 7 --json
  wireproof carry big.iso --protocol all --loss 0.01 --ber 1e-6
  wireproof carry big.iso --wire shm
  wireproof carry big.iso --protocol uc --loss 0.001

Probabilities are per frame, --ber is per bit. Frames are counted on both sides,
resent ones too; etr is the file's bytes over the bytes of all frames of the
sender. What fails is also said in "error" of the JSON object.

uc loses whole messages: what arrives is verified, the lost ones are counted,
"complete" says whether there are none, and only then --out keeps the file.

Exit code 0: verified; 1: not, or it could not begin; 2: the command line is
wrong.)";

constexpr auto every_protocol = "all";
constexpr std::string_view unreliable_protocol = "uc";

std::vector<std::string> wanted(const app::CarryOptions& options) {
    if (options.protocol != every_protocol) return {options.protocol};
    std::vector<std::string> reliable;
    for (const std::string_view name : app::carry_protocols()) {
        if (name != unreliable_protocol) reliable.emplace_back(name);
    }
    return reliable;
}

std::vector<std::string> choices() {
    const auto names = app::carry_protocols();
    std::vector<std::string> all(names.begin(), names.end());
    all.emplace_back(every_protocol);
    return all;
}

std::string protocols_text() {
    std::string text;
    for (const std::string_view name : app::carry_protocols()) text += std::string(name) + ", ";
    return text + "or in turn all but uc";
}

/// Refuses the command line if the frames of a protocol do not fit in --mtu.
void check_datagrams(const app::CarryOptions& options) {
    for (const std::string& protocol : wanted(options)) {
        app::CarryOptions one = options;
        one.protocol = protocol;
        try {
            (void)app::datagram_max(one);
        } catch (const app::Failure& failure) {
            refuse_usage(failure.what());
        }
    }
}

int carry(const app::CarryOptions& options) {
    app::catch_interrupts();
    Report report{.schema = "wireproof.carry/1", .file = options.file};
    try {
        const app::InputFile file(options.file);
        app::check_output(options.out);  // before any frame moves
        report.file_bytes = file.size();
        for (const std::string& protocol : wanted(options)) {
            app::CarryOptions one = options;
            one.protocol = protocol;
            report.runs.push_back(options.wire == "sim" ? app::carry_on_sim(one, file)
                                                        : app::carry_live(one, file));
        }
    } catch (const app::Interrupted&) {
        throw;
    } catch (const app::Failure& failure) {
        report.error = failure.what();
        return conclude(options, report);
    }
    for (const app::CarryResult& result : report.runs) {
        // If an unreliable protocol loses messages, that is a result and not a failure.
        const bool lossy = result.verified && result.failure.empty() && result.messages;
        if (result.complete || lossy || !report.error.empty()) continue;
        report.error = options.file + " was not carried by " + result.protocol + ": " +
                       (result.failure.empty() ? "not complete" : result.failure) + " (seed " +
                       std::to_string(options.seed) + ")";
    }
    return conclude(options, report);
}

}  // namespace

void add_carry(CLI::App& app, Run& run) {
    const auto options = std::make_shared<app::CarryOptions>();
    CLI::App* subcommand =
        app.add_subcommand("carry", "carry a file over a bad wire and verify it");
    subcommand->add_option("FILE", options->file, "the file")->required()->type_name("");
    const auto rules = std::make_shared<OptionRules>();
    rules->writes(subcommand
                      ->add_option("--out", options->out,
                                   "keep what arrives under this name; -: standard output")
                      ->type_name("FILE"),
                  options->out);
    subcommand->add_option("--protocol", options->protocol, protocols_text())
        ->capture_default_str()
        ->check(CLI::IsMember(choices()))
        ->type_name("NAME");
    subcommand
        ->add_option("--wire", options->wire,
                     "udp, shm: two processes; sim: two nodes in virtual time")
        ->capture_default_str()
        ->check(CLI::IsMember({"udp", "shm", "sim"}))
        ->type_name("NAME");
    add_fault_options(*subcommand, *options);
    CLI::Option* const mtu = add_path_options(*subcommand, *options);
    CLI::Option* const rate =
        subcommand
            ->add_option("--rate", options->rate,
                         "pace of uc, bytes per second; without it, what the receiver "
                         "is seen to take")
            ->type_name("N");
    accept_range(*rate, 1, 1e12);
    rules->applies(
        rate, [options] { return options->protocol == unreliable_protocol; },
        "without --protocol uc");
    rules->applies(
        mtu, [options] { return options->wire != "shm" || options->protocol != "sp-am"; },
        "with --wire shm and --protocol sp-am");
    subcommand->add_flag("--json", options->json,
                         "print one JSON object (schema wireproof.carry/1)");
    subcommand->footer(carry_examples);
    subcommand->callback([options, rules, subcommand, &run] {
        rules->check(*subcommand);
        if (app::is_standard_output(options->out) && options->protocol == every_protocol) {
            refuse_usage("--out " + options->out +
                         ": --protocol all writes a file for each protocol; choose one");
        }
        check_datagrams(*options);
        run = [options] { return carry(*options); };
    });
}

}  // namespace wireproof::cli
