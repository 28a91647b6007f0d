#include "wireproof/cli/sweep_lines.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wireproof/app/common/files.hpp"
#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/names.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_text.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"

namespace wireproof::cli {
namespace {

constexpr std::uint64_t trace_mib_max = 256;

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const lab::RetryPreset& preset : lab::retry_presets()) names.emplace_back(preset.name);
    return names;
}

std::string is_preset(const std::string& name) {
    if (lab::retry_preset(name) != nullptr) return {};
    return fmt::format("there is no preset {}; --presets lists them", name);
}

}  // namespace

std::shared_ptr<const lab::LossTrace> read_loss_trace(const std::string& path) {
    auto trace = lab::LossTrace::read(app::text_of_file(path, trace_mib_max), path);
    if (!trace) throw app::Failure(trace.error().message);
    return std::make_shared<lab::LossTrace>(std::move(*trace));
}

void take_loss_trace(lab::Sweep& sweep, const std::string& sweep_file) {
    if (sweep.loss_trace.empty()) return;
    const std::size_t folder = sweep_file.rfind('/');
    const bool is_here = folder == std::string::npos || sweep.loss_trace.front() == '/';
    const std::string path =
        is_here ? sweep.loss_trace : sweep_file.substr(0, folder + 1) + sweep.loss_trace;
    const auto trace = read_loss_trace(path);
    for (lab::RetrySettings& point : sweep.points) point.loss_trace = trace;
}

std::string preset_table() {
    std::string text = fmt::format("{:<24}{:<15}{:>7}{:>8}{:>8}{:>7}  {}\n", "preset", "protocol",
                                   "payload", "loop", "timer", "buffer", "GB/s");
    std::string_view last;
    for (const lab::RetryPreset& preset : lab::retry_presets()) {
        const lab::RetryLink link = lab::resolve(preset.settings).value();
        // A text that several presets share stands once, before the first of them.
        if (preset.what != last) text += "\n" + wrapped(preset.what, 78) + "\n";
        last = preset.what;
        text += fmt::format("{:<24}{:<15}{:>7}{:>8}{:>8}{:>7}  {:.4g}\n", preset.name,
                            name_of(preset.settings.protocol), preset.settings.payload, link.loop,
                            link.timer, link.buffer, preset.bytes_per_second / 1e9);
    }
    return text;
}

std::string preset_json() {
    nlohmann::ordered_json all = {{"schema", "wireproof.presets/1"}};
    for (const lab::RetryPreset& preset : lab::retry_presets()) {
        const lab::RetryLink link = lab::resolve(preset.settings).value();
        all["presets"].push_back({{"preset", preset.name},
                                  {"protocol", name_of(preset.settings.protocol)},
                                  {"payload", preset.settings.payload},
                                  {"loop", link.loop},
                                  {"timer", link.timer},
                                  {"buffer", link.buffer},
                                  {"ack_every", link.ack_every},
                                  {"line_rate", preset.bytes_per_second},
                                  {"source", preset.what}});
    }
    return all.dump() + "\n";
}

void SweepLineOptions::add(CLI::App& subcommand, lab::RetrySettings& settings) {
    subcommand_ = &subcommand;
    subcommand
        .add_option("--preset", preset_,
                    "a line by its name, for instance pcie-gen5-x16; "
                    "options that are given besides stand")
        ->type_name("NAME")
        ->check(CLI::Validator(is_preset, choices_text(preset_names())))
        ->excludes(subcommand.get_option("--protocol"));
    subcommand.add_flag("--presets", lists_, "list the presets, with their figures");
    const auto probability = [&](const char* name, double& value, const char* what) {
        CLI::Option* option = subcommand.add_option(name, value, what)->type_name("P");
        accept_range(*option, 0, 1);
        return option;
    };
    CLI::Option* begin =
        probability("--burst-begin", settings.bursts.begin,
                    "a burst begins with a frame, with this probability (Gilbert-Elliott)");
    probability("--burst-end", settings.bursts.end, "a burst ends with a frame")
        ->default_str("1")
        ->needs(begin);
    probability("--burst-bad", settings.bursts.loss_in_burst, "a frame in a burst is bad")
        ->default_str("1")
        ->needs(begin);
    subcommand
        .add_option_function<std::string>(
            "--fec",
            [&settings](const std::string& word) {
                settings.fec = word == "on" ? lab::RetryFec::on : lab::RetryFec::off;
            },
            "flits: use the error-correcting code")
        ->type_name("on|off")
        ->check(CLI::IsMember({"on", "off"}));
    const auto whole = [&](const char* name, std::uint32_t& value, const char* what,
                           std::uint64_t most) {
        CLI::Option* const option = subcommand.add_option(name, value, what)->type_name("N");
        accept_whole(*option, 1, most);
        return option;
    };
    whole("--burst-bits", settings.burst_bits, "flits: bits of a lane that an error spoils", 256)
        ->default_str("1");
    whole("--lanes", settings.lanes, "flits: over 1, 2, 4, 8, 16 or 32 lanes", 32);
    probability("--lane-correlation", settings.lane_correlation,
                "flits: an error hits another lane, too");
    subcommand
        .add_option("--loss-trace", trace_,
                    "frames recorded as ok or bad (share/doc/wireproof/guide/links/link-retry.md)")
        ->type_name("FILE");
}

void SweepLineOptions::take_preset(lab::RetrySettings& settings, std::string& protocol) const {
    if (preset_.empty()) return;
    const lab::RetrySettings given = settings;
    settings = lab::with_preset(given, *lab::retry_preset(preset_));
    const auto keep = [this](const char* name, auto& value, const auto& wanted) {
        if (subcommand_->get_option(name)->count() > 0) value = wanted;
    };
    keep("--payload", settings.payload, given.payload);
    keep("--loop", settings.loop, given.loop);
    keep("--buffer", settings.buffer, given.buffer);
    keep("--ack-every", settings.ack_every, given.ack_every);
    keep("--timer", settings.timer, given.timer);
    protocol = name_of(settings.protocol);
}

void SweepLineOptions::take_files(lab::RetrySettings& settings) const {
    if (!trace_.empty()) settings.loss_trace = read_loss_trace(trace_);
}

}  // namespace wireproof::cli
