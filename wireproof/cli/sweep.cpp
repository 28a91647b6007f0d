// Measures the cost of link-level retransmission: simulates the points of a sweep with the real
// engines and shows the closed form beside the results.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "wireproof/app/common/files.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/app/sweep/sweep_paper.hpp"
#include "wireproof/app/sweep/sweep_report.hpp"
#include "wireproof/app/sweep/sweep_results.hpp"
#include "wireproof/app/sweep/sweep_run.hpp"
#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/job_ranks.hpp"
#include "wireproof/cli/names.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/cli/sweep_advice.hpp"
#include "wireproof/cli/sweep_lines.hpp"
#include "wireproof/cli/timing.hpp"
#include "wireproof/lab/link_retry/retry_ladder.hpp"

namespace wireproof::cli {
namespace {

constexpr auto sweep_examples =
    R"(

Examples:
  wireproof sweep --protocol pcie --ber 1e-15 --packets 1e15 --json
  wireproof sweep --protocol hippi6400 --ber 1e-6 --relative-error 0.01
  wireproof sweep --preset pcie-gen5-x16 --ber 1e-12
  wireproof sweep --advise --rate 800g --length 500m --ber 1e-8
  wireproof sweep --paper
  wireproof sweep grid.toml --csv grid.csv   keeps grid.results, goes on from it
  wireproof sweep grid.toml --html grid.html curves, a ladder and a table
  sbatch --array=1-9 --wrap='wireproof sweep grid.toml'
  wireproof sweep grid.toml                  with the nine parts of this array
  mpirun wireproof sweep grid.toml           its ranks share the points

Exit code 0: simulated; 1: not; 2: the command line is wrong.)";

std::string sweep_footer() {
    std::string engines;
    for (const std::string_view name : lab::retry_protocol_names) {
        if (!lab::has_frames(*lab::retry_protocol(name))) continue;
        if (!engines.empty()) engines += name == "uc" ? " and " : ", ";
        engines += name;
    }
    return wrapped(fmt::format("A saturated sender over a link with bit errors. ETR is payload "
                               "over all bytes sent for it; throughput counts idle time too. "
                               "Lengths and times are in bytes on the line. Protocols: {} are the "
                               "engines; go-back-n (a notice for every failure) and ideal "
                               "(selective repeat) are models. Of uc, which resends nothing, ETR "
                               "is that of what was delivered.",
                               engines),
                   80) +
           sweep_examples;
}

struct SweepSubcommand {
    lab::RetrySettings settings;
    lab::RetryPlan plan;
    SweepLineOptions line;
    std::string protocol = "pcie";
    std::string csv;
    std::string html;
    std::string svg;
    std::uint64_t ladder_point = 0;
    std::string file;
    bool no_jump = false;
    bool paper = false;
    bool advise = false;
    std::string rate;
    std::string length;
    double delay = 0;  // nanoseconds
    bool json = false;
    CLI::Option* payload_given = nullptr;
    CLI::Option* relative_error = nullptr;
    CLI::Option* chosen_seed = nullptr;
    std::vector<const CLI::Option*> of_a_point;
    double point_seconds = 0;
    Timing timing;

    OptionRules rules;

    bool of_points() const { return !paper && !advise && !line.lists_presets(); }
    bool of_file() const { return !file.empty() && of_points(); }
    bool of_a_point_alone() const { return file.empty() && of_points(); }

    void check(const CLI::App& subcommand) {
        rules.check(subcommand);
        const bool has_a_point =
            std::any_of(of_a_point.begin(), of_a_point.end(),
                        [](const CLI::Option* option) { return option->count() > 0; });
        if (of_a_point_alone() && !has_a_point) {
            refuse_usage(
                "sweep needs a FILE, an option of a point such as --protocol or --ber, --advise, "
                "--paper or --presets");
        }
        line.take_preset(settings, protocol);
        settings.protocol = lab::retry_protocol(protocol).value();
        plan.jump = !no_jump;
        if (!of_a_point_alone()) return;
        if (const auto link = lab::resolve(settings); !link) {
            refuse_usage(options_of_the_point() + ": " + link.error().message);
        }
    }

    /// As the user may have typed them: what is wrong may be how they go together.
    std::string options_of_the_point() const {
        std::string text;
        for (const CLI::Option* option : of_a_point) {
            if (option->count() == 0) continue;
            text += (text.empty() ? "" : " ") + option->get_name();
            if (option->get_expected_min() == 0) continue;  // a flag
            text += " " + CLI::detail::join(option->results(), ",");
        }
        return text;
    }

    int run() {
        if (line.lists_presets()) {
            print_result(json ? preset_json() : preset_table());
            return 0;
        }
        app::catch_interrupts();
        if (advise) return run_advice();
        task_pool::TaskPool pool = task_pool_of("sweep");
        if (!pool.is_rank_0()) return help(pool, app::help_with_sweep);
        if (!of_file()) pool.dismiss();
        if (paper) return run_paper();
        line.take_files(settings);
        app::SweepTask task{file, {}, {}, !no_jump};
        task.sweep = file.empty() ? single_point() : read_file(task.text);
        const lab::Sweep& sweep = task.sweep;
        const app::SweepPart part = file.empty() ? app::SweepPart() : app::part_of_array();
        const lab::Sweep mine = app::share_of(sweep, part);
        if (ladder_point > 0) app::check_ladder_point(ladder_point, mine.points);
        app::OutputFile table(csv);
        app::OutputFile page(html);
        app::OutputFile picture(svg);
        std::vector<lab::SweepPoint> points;
        std::optional<app::SweepWall> wall;
        if (file.empty()) {
            points = {run_point(wall)};
        } else {
            points = app::run_sweep(task, part, pool);
        }
        const std::string unfinished = unfinished_of(points, sweep.point_seconds);
        if (!unfinished.empty() && std::ranges::all_of(points, &lab::SweepPoint::stopped)) {
            print(points, sweep.plan, wall, unfinished);
            throw app::Failure(unfinished);
        }
        // Write either all files or none.
        const app::SweepReport report = report_of(mine, points);
        const auto fill = [](app::OutputFile& output, const std::string& text) {
            output.write(0, std::as_bytes(std::span(text)));
        };
        if (!csv.empty()) fill(table, app::sweep_csv(points));
        if (!html.empty()) fill(page, app::sweep_html(report));
        if (!svg.empty()) fill(picture, app::sweep_svg(report));
        table.finish();
        page.finish();
        picture.finish();
        print(points, sweep.plan, wall, unfinished);
        if (!unfinished.empty()) throw app::Failure(unfinished);
        return 0;
    }

    /// If points were stopped, the reason why the sweep is no success.
    std::string unfinished_of(const std::vector<lab::SweepPoint>& points, double limit) const {
        const auto stopped = std::ranges::count_if(points, &lab::SweepPoint::stopped);
        if (stopped == 0) return {};
        return fmt::format("{} of {} points stopped after {} s ({})", stopped, points.size(), limit,
                           point_seconds > 0 ? "--point-seconds" : "point_seconds");
    }

    lab::Sweep single_point() const {
        lab::Sweep sweep;
        sweep.name = name_of(settings.protocol);
        sweep.plan = plan;
        sweep.point_seconds = point_seconds;
        sweep.points = {settings};
        return sweep;
    }

    app::SweepReport report_of(const lab::Sweep& sweep,
                               const std::vector<lab::SweepPoint>& points) const {
        app::SweepReport report{sweep.name, sweep.plan, points};
        std::erase_if(report.points, std::mem_fn(&lab::SweepPoint::stopped));
        report.stopped = points.size() - report.points.size();
        report.plan.jump = plan.jump;
        if (ladder_point > 0) report.ladder_point = ladder_point;
        return report;
    }

    void print(const std::vector<lab::SweepPoint>& points, const lab::RetryPlan& of,
               const std::optional<app::SweepWall>& wall, const std::string& error) const {
        const auto put = error.empty() ? print_result : print_result_of_failure;
        if (json) {
            lab::SweepJson out = {{"schema", "wireproof.sweep/1"}, {"seed", of.seed}};
            out["points"] = lab::SweepJson::array();
            for (const lab::SweepPoint& point : points) {
                app::add_wall(out["points"].emplace_back(sweep_json(point, of)), wall);
            }
            if (!error.empty()) out["error"] = error;
            put(out.dump() + "\n");
            return;
        }
        std::string text = fmt::format("{}seed {}", app::sweep_table(points), of.seed);
        if (wall) {
            text += fmt::format("; {:.3g} frames/s in {:.2f} s", wall->frames_per_second,
                                wall->seconds);
        }
        put(text + "\n");
    }

    lab::Sweep read_file(std::string& text) const {
        text = app::text_of_file(file);
        auto sweep = lab::read_sweep(text, file);
        if (!sweep) throw app::Failure(sweep.error().message);
        take_loss_trace(*sweep, file);
        if (relative_error->count() > 0) sweep->plan.relative_error = plan.relative_error;
        if (chosen_seed->count() > 0) sweep->plan.seed = plan.seed;
        if (plan.packets > 0) sweep->plan.packets = plan.packets;
        if (point_seconds > 0) sweep->point_seconds = point_seconds;
        return *sweep;
    }

    lab::SweepPoint run_point(std::optional<app::SweepWall>& wall) const {
        using Clock = std::chrono::steady_clock;
        app::Progress bar("simulating", 1000);
        lab::RetryPlan own = plan;
        own.seed = point_seed(settings, plan.seed);
        own.progress = [&bar](double share) {
            app::check_interrupt();
            bar.show(static_cast<std::uint64_t>(share * 1000));
        };
        own.out_of_time = app::out_of_time_after(point_seconds);
        const auto start = Clock::now();
        const auto point = lab::run_retry_point(settings, own);
        if (!point) throw app::Failure(point.error().message);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        if (timing.seconds()) {
            wall = app::SweepWall{seconds, app::sweep_frames(*point) / std::max(seconds, 1e-9)};
        }
        return lab::sweep_point(settings, *point);
    }

    int run_advice() const {
        const lab::AdviceLine of{.bytes_per_second = parse_rate(rate).value() / 8,
                                 .metres = parse_length(length).value(),
                                 .delay_seconds = delay * 1e-9,
                                 .bit_error = settings.bit_error,
                                 .payload = payload_given->count() > 0 ? settings.payload : 0};
        print_result(advice_for(of, plan, json));
        return 0;
    }

    int run_paper() const {
        app::OutputFile page(html);
        app::SweepPaper result;
        {
            app::Progress bar("simulating", 2);
            result = app::sweep_paper(plan.seed, [&bar](int done) {
                app::check_interrupt();
                bar.show(static_cast<std::uint64_t>(done));
            });
        }
        const std::string shown = html.empty() ? std::string() : app::paper_html(result, plan.seed);
        page.write(0, std::as_bytes(std::span(shown)));
        page.finish();
        print_result(json ? app::paper_json(result, plan.seed)
                          : app::paper_table(result, plan.seed));
        return 0;
    }
};

void add_settings(CLI::App& subcommand, SweepSubcommand& sweep) {
    lab::RetrySettings& s = sweep.settings;
    const auto whole = [&subcommand](const char* name, auto& value, const char* what,
                                     std::uint64_t most) {
        CLI::Option* const option = subcommand.add_option(name, value, what)->type_name("N");
        accept_whole(*option, 1, most);
        return option;
    };
    std::vector<std::string> names(lab::retry_protocol_names.begin(),
                                   lab::retry_protocol_names.end());
    subcommand.add_option("--protocol", sweep.protocol, either_of(names))
        ->type_name("NAME")
        ->check(CLI::IsMember(names));
    accept_range(
        *subcommand.add_option("--ber", s.bit_error, "bit error rate, both ways: 0, or 1e-17 up")
             ->type_name("P"),
        0, 0.1);
    sweep.payload_given = whole("--payload", s.payload, "bytes of a message", 65536);
    sweep.payload_given->default_str("4096");
    accept_whole(*subcommand
                      .add_option("--loop", s.loop,
                                  "bytes from a bad unit's end until the first "
                                  "resent one may start")
                      ->default_str("2000")
                      ->type_name("N"),
                 0, 100'000'000);
    whole("--buffer", s.buffer, "units that may be unacknowledged", 524'288);
    whole("--ack-every", s.ack_every, "units for each ack", 1024);
    whole("--timer", s.timer, "bytes after which silence is a failure", 10'000'000'000);
    accept_whole(*subcommand
                      .add_option("--overhead", s.overhead,
                                  "pcie: bytes around the data: 28, or 24 without an ECRC")
                      ->default_str("28")
                      ->type_name("N"),
                 12, 64);
    accept_range(*subcommand
                      .add_option("--notice-loss", s.notice_loss,
                                  "lose the notice of a failure, with this probability")
                      ->type_name("P"),
                 0, 1);
    subcommand.add_flag("--clean-back", s.clean_back, "no bit errors on the way back");
    subcommand.add_flag("--loaded-back", s.loaded_back, "the other direction is saturated, too");
    subcommand.add_flag("--renak-on-bad-head", s.renak_on_bad_head,
                        "pcie: a resent TLP that is bad draws another Nak");
}

/// Options that choose the points and the way in which each is simulated.
void add_points(CLI::App& subcommand, SweepSubcommand& sweep) {
    CLI::Option* const file =
        subcommand
            .add_option("FILE", sweep.file,
                        "a grid of points in TOML (share/doc/wireproof/guide/links/sweeps.md)")
            ->type_name("FILE");
    const std::size_t before = subcommand.get_options().size();
    add_settings(subcommand, sweep);
    sweep.line.add(subcommand, sweep.settings);
    const std::vector<CLI::Option*> all = subcommand.get_options();
    sweep.of_a_point.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
    sweep.rules.applies(
        file, [&sweep] { return sweep.of_file(); }, "with --paper or --presets");
    for (const CLI::Option* option : sweep.of_a_point) {
        const std::string name = option->get_name();
        if (name == "--presets") continue;
        if (name == "--ber" || name == "--payload") {
            sweep.rules.applies(
                option, [&sweep] { return sweep.of_a_point_alone() || sweep.advise; },
                "with FILE, --paper or --presets");
            continue;
        }
        sweep.rules.applies(
            option, [&sweep] { return sweep.of_a_point_alone(); },
            "with FILE, --advise, --paper or --presets");
    }
}

void add_advice(CLI::App& subcommand, SweepSubcommand& sweep) {
    CLI::Option* const rate =
        subcommand
            .add_option("--rate", sweep.rate, "rate of the line in bits per second, such as 800g")
            ->type_name("R")
            ->check([](const std::string& text) {
                return parse_rate(text) ? "" : text + " is no rate such as 800g or 1.6t";
            });
    CLI::Option* const length =
        subcommand.add_option("--length", sweep.length, "length of the cable, such as 500m or 2km")
            ->type_name("L")
            ->check([](const std::string& text) {
                return parse_length(text) ? "" : text + " is no length such as 500m or 2km";
            });
    CLI::Option* const delay =
        subcommand
            .add_option("--delay", sweep.delay, "nanoseconds that both ends take, there and back")
            ->default_str("0")
            ->type_name("NS");
    accept_range(*delay, 0, 1e6);
    CLI::Option* const advise = subcommand
                                    .add_flag("--advise", sweep.advise,
                                              "the smallest buffer and timer for such a line and "
                                              "--ber")
                                    ->needs(rate)
                                    ->needs(length);
    rate->needs(advise);
    delay->needs(advise);
    length->needs(advise);
    for (const char* other : {"FILE", "--presets"}) advise->excludes(subcommand.get_option(other));
}

void add_effort(CLI::App& subcommand, SweepSubcommand& sweep) {
    CLI::Option* const packets =
        subcommand
            .add_option("--packets", sweep.plan.packets,
                        "simulate exactly so many units, for instance 1e15")
            ->type_name("N");
    accept_whole(*packets, 1, 1'000'000'000'000'000'000);
    sweep.relative_error =
        subcommand
            .add_option("--relative-error", sweep.plan.relative_error,
                        "without --packets: until one standard error of the resends is "
                        "this share of them")
            ->capture_default_str()
            ->type_name("R");
    accept_range(*sweep.relative_error, 1e-4, 0.5);
    sweep.relative_error->excludes(packets);
    CLI::Option* const no_jump = subcommand.add_flag(
        "--no-jump", sweep.no_jump, "simulate every frame of error-free stretches, too");
    sweep.chosen_seed = subcommand.add_option("--seed", sweep.plan.seed, "seed of the bit errors")
                            ->capture_default_str()
                            ->type_name("N");
    accept_whole(*sweep.chosen_seed, 0, std::numeric_limits<std::uint64_t>::max());
    CLI::Option* const point_seconds =
        subcommand
            .add_option("--point-seconds", sweep.point_seconds,
                        "stop a point after so long; a file's next run "
                        "takes it up again")
            ->type_name("S");
    accept_range(*point_seconds, lab::point_seconds_min, lab::point_seconds_max);
    CLI::Option* const no_timing = sweep.timing.add(subcommand);
    sweep.rules.apply(
        {packets, sweep.relative_error, no_jump, point_seconds},
        [&sweep] { return sweep.of_file() || sweep.of_a_point_alone(); },
        "with --advise, --paper or --presets");
    sweep.rules.apply(
        {sweep.chosen_seed, no_timing}, [&sweep] { return !sweep.line.lists_presets(); },
        "with --presets");
}

void add_output(CLI::App& subcommand, SweepSubcommand& sweep) {
    CLI::Option* const csv =
        subcommand.add_option("--csv", sweep.csv, "write the points as a table")->type_name("FILE");
    CLI::Option* const html =
        subcommand
            .add_option("--html", sweep.html, "write a page with curves, a ladder and a table")
            ->type_name("FILE");
    CLI::Option* const svg =
        subcommand.add_option("--svg", sweep.svg, "draw the curves into this file")
            ->type_name("FILE");
    CLI::Option* const ladder_point =
        subcommand
            .add_option("--ladder-point", sweep.ladder_point,
                        "the point whose first failure is drawn, as the "
                        "page's table counts them (one that tells)")
            ->type_name("N");
    accept_whole(*ladder_point, 1, 1'000'000);
    sweep.rules.writes(csv, sweep.csv);
    sweep.rules.writes(html, sweep.html);
    sweep.rules.writes(svg, sweep.svg);
    const auto points = [&sweep] { return sweep.of_file() || sweep.of_a_point_alone(); };
    sweep.rules.apply({csv, svg}, points, "with --advise, --paper or --presets");
    sweep.rules.applies(
        html, [&sweep] { return !sweep.line.lists_presets() && !sweep.advise; },
        "with --advise or --presets");
    sweep.rules.applies(
        ladder_point, [&sweep, points] { return points() && !sweep.html.empty(); },
        "without --html, or with --paper");
}

}  // namespace

void add_sweep(CLI::App& app, Run& run) {
    const auto sweep = std::make_shared<SweepSubcommand>();
    CLI::App* subcommand =
        app.add_subcommand("sweep", "what retry costs a link, down to 1e-17 a bit");
    add_points(*subcommand, *sweep);
    add_effort(*subcommand, *sweep);
    add_advice(*subcommand, *sweep);
    subcommand->add_flag("--paper", sweep->paper, "section 5 of the comparison paper, put right")
        ->excludes(subcommand->get_option("--advise"));
    add_output(*subcommand, *sweep);
    subcommand->add_flag("--json", sweep->json, "print one JSON object (schema wireproof.sweep/1)");
    subcommand->footer(sweep_footer());
    subcommand->callback([sweep, subcommand, &run] {
        sweep->check(*subcommand);
        run = [sweep] { return sweep->run(); };
    });
}

}  // namespace wireproof::cli
