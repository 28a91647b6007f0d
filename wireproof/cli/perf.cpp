// Measures what a protocol achieves, beside the limit of the machine.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <map>
#include <memory>

#include "wireproof/app/common/files.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/perf/perf_client.hpp"
#include "wireproof/app/perf/perf_ib.hpp"
#include "wireproof/app/perf/perf_ib_end.hpp"
#include "wireproof/app/perf/perf_ib_wires.hpp"
#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/option_text.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof::cli {
namespace {

constexpr auto perf_examples =
    R"(Operations of sp-am: request-reply (half a round trip, polled), stream (one-way
short requests), store, store-async, get. The other end is a process of perf's
own, both pinned; on the memory wire it is a function call away. Each round
measures the operation, then the machine's own limit for it; the ratio is ours /
limit. Contents are checked once, after the timed part.

Operations of rc and uc, queue pairs over shm or over udp as RoCEv2: send, write
and, of rc, read and fetch-add; without --op all of them. Each round measures
the latency of one at a time, then the rate of many. Latency is half a round
trip of send and write, and the whole of read and fetch-add. What uc loses is
counted; where its rate is measured a write carries immediate data to be
counted by. A limit is one of the bare wire, that of a rate always one way.

Examples:
  wireproof perf
  wireproof perf --wire shm --op stream --size 8,64,256
  wireproof perf --wire shm --op store --size 65536,1048576 --html store.html
  wireproof perf --wire udp --op request-reply --size 64 --json
  wireproof perf --protocol rc --wire udp --size 8,4096
  wireproof perf --listen 0.0.0.0:7100        and, on another host:
  wireproof perf --wire udp --to 192.0.2.7:7100 --op stream --size 64

Exit code 0: measured, and all contents were right; 1: not; 2: the command line
is wrong.)";

constexpr std::size_t size_max = std::size_t{1} << 30;

std::vector<std::size_t> sizes_of(const std::string& text) {
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string one = text.substr(at, end - at);
        const auto size = parse_whole(one);
        if (!size || *size < 1 || *size > size_max) {
            refuse_usage(
                fmt::format("--size: {} is not a number of bytes from 1 to {}", one, size_max));
        }
        sizes.push_back(*size);
        at = end + 1;
    }
    return sizes;
}

const CLI::Validator is_perf_address(
    [](std::string& text) {
        const auto address = Address::parse(text);
        return address ? std::string() : address.error().message;
    },
    "");

const std::map<std::string, app::PerfWire> wires = {
    {"memory", app::PerfWire::memory}, {"shm", app::PerfWire::shm}, {"udp", app::PerfWire::udp}};
const std::map<std::string, app::PerfProtocol> protocols = {{"sp-am", app::PerfProtocol::sp_am},
                                                            {"rc", app::PerfProtocol::rc},
                                                            {"uc", app::PerfProtocol::uc}};
const std::map<std::string, app::PerfIbOp> ib_ops = {{"send", app::PerfIbOp::send},
                                                     {"write", app::PerfIbOp::write},
                                                     {"read", app::PerfIbOp::read},
                                                     {"fetch-add", app::PerfIbOp::fetch_add}};
const std::map<std::string, app::PerfOp> ops = {{"request-reply", app::PerfOp::request_reply},
                                                {"stream", app::PerfOp::stream},
                                                {"store", app::PerfOp::store},
                                                {"store-async", app::PerfOp::store_async},
                                                {"get", app::PerfOp::get}};

template <class T>
std::vector<std::string> words_of(const std::map<std::string, T>& choices) {
    std::vector<std::string> words;
    for (const auto& [word, meaning] : choices) words.push_back(word);
    return words;
}

template <class T>
std::string names_of(const std::map<std::string, T>& choices) {
    std::string names;
    for (const auto& [word, meaning] : choices) names += (names.empty() ? "" : "|") + word;
    return names;
}

template <class T>
T chosen(const char* name, const std::map<std::string, T>& choices, const std::string& word) {
    const auto choice = choices.find(word);
    if (choice == choices.end()) {
        refuse_usage(fmt::format("{}: {} is not one of {}", name, word, names_of(choices)));
    }
    return choice->second;
}

template <class T>
CLI::Option* add_choice(CLI::App& subcommand, const char* name,
                        const std::map<std::string, T>& choices, T& value, const char* what) {
    CLI::Option* const option = subcommand.add_option_function<std::string>(
        name,
        [&choices, &value, name](const std::string& word) { value = chosen(name, choices, word); },
        what);
    offer(*option, words_of(choices));
    return option->type_name("NAME");
}

struct PerfSubcommand {
    app::PerfPlan plan;
    std::string op;
    std::string sizes = "8,64";
    std::string memory = "shared";
    std::string congestion = "auto";
    const CLI::Option* wire = nullptr;
    const CLI::Option* size_given = nullptr;
    const CLI::Option* mtu_given = nullptr;
    OptionRules rules;

    bool on_udp() const { return plan.wire == app::PerfWire::udp; }
    bool listens() const { return !plan.listen.empty(); }

    void choose_congestion() {
        if (congestion == "auto") return;
        if (congestion == "off") {
            plan.congestion = am::Congestion::off;
        } else if (congestion == "loss") {
            plan.congestion = am::Congestion::by_loss;
        } else if (congestion == "path" || congestion == "on") {
            plan.congestion = am::Congestion::by_path;
        } else {
            refuse_usage("--congestion: " + congestion +
                         " is not one of auto, on, off, loss, path");
        }
    }
    void check(const CLI::App& subcommand) {
        choose_operations();
        if (memory != "shared" && memory != "private") {
            refuse_usage("--memory: " + memory + " is neither shared nor private");
        }
        plan.private_memory = memory == "private";
        choose_congestion();
        const bool between_hosts = listens() || !plan.to.empty();
        if (between_hosts && wire->count() == 0) plan.wire = app::PerfWire::udp;
        rules.check(subcommand);
        if (plan.is_ib()) return check_ib();
        plan.sizes = sizes_of(sizes);
        check_config();
    }

    void choose_operations() {
        if (!plan.is_ib()) {
            if (!op.empty()) plan.op = chosen("--op", ops, op);
            return;
        }
        if (op.empty()) {
            plan.ib_ops = {app::PerfIbOp::send, app::PerfIbOp::write};
            if (plan.protocol == app::PerfProtocol::uc) return;
            plan.ib_ops.push_back(app::PerfIbOp::read);
            plan.ib_ops.push_back(app::PerfIbOp::fetch_add);
            return;
        }
        plan.ib_ops = {chosen("--op", ib_ops, op)};
        if (plan.protocol == app::PerfProtocol::uc &&
            !app::is_half_round_trip(plan.ib_ops.front())) {
            refuse_usage("--op: " + op + " needs --protocol rc; uc has send and write");
        }
    }

    /// Refuses what queue pairs cannot do, and sets their usual values.
    void check_ib() {
        if (plan.wire == app::PerfWire::memory) {
            refuse_usage("--wire memory: " + plan.protocol_name() +
                         " is measured over shm and udp");
        }
        if (plan.in_flight > app::PerfIbEnd::in_flight_max) {
            refuse_usage(fmt::format("--in-flight: {} has at most {}, not {}", plan.protocol_name(),
                                     app::PerfIbEnd::in_flight_max, plan.in_flight));
        }
        if (mtu_given->count() == 0) plan.mtu = app::perf_ib_mtu_usual();
        if (app::perf_path_mtu(plan) == 0) {
            refuse_usage(fmt::format("--mtu: packets of InfiniBand take {} bytes at least",
                                     app::perf_ib_mtu_least()));
        }
        plan.sizes = sizes_of(size_given->count() == 0 ? "8,65536" : sizes);
        const bool adds_only = plan.ib_ops == std::vector{app::PerfIbOp::fetch_add};
        if (!adds_only) return;
        for (const std::size_t one : plan.sizes) {
            if (one == app::fetch_add_size || size_given->count() == 0) continue;
            refuse_usage(fmt::format("--size: a fetch-and-add has {} bytes, not {}",
                                     app::fetch_add_size, one));
        }
        plan.sizes = {app::fetch_add_size};
    }

    /// Refuses values that the engine cannot have.
    void check_config() const {
        std::size_t most = 0;
        try {
            most = app::perf_config(plan, 0).message_max;
        } catch (const app::Failure& failure) {
            refuse_usage(failure.what());
        }
        if (!plan.sends_messages() || listens()) return;
        for (const std::size_t size : plan.sizes) {
            if (size % 4 == 0 && size <= most) continue;
            refuse_usage(fmt::format(
                "--size: a message has 4 to {} bytes here, a multiple of 4, not {}", most, size));
        }
    }

    int run() const {
        app::catch_interrupts();
        if (!plan.listen.empty()) app::perf_listen(plan);
        app::OutputFile page(plan.html);
        if (plan.is_ib()) {
            const app::PerfIbReport report = app::measure_ib(plan);
            if (!plan.html.empty()) finish(page, app::perf_ib_html(plan, report));
            print_result(plan.json ? app::perf_ib_json(plan, report)
                                   : app::perf_ib_table(plan, report));
            return 0;
        }
        const app::PerfReport report = measure();
        if (!plan.html.empty()) finish(page, app::perf_html(plan, report));
        print_result(plan.json ? app::perf_json(plan, report) : app::perf_table(plan, report));
        return 0;
    }

    static void finish(app::OutputFile& page, const std::string& html) {
        page.write(0, std::as_bytes(std::span(html)));
        page.finish();
    }

    app::PerfReport measure() const {
        app::PerfReport report;
        report.limit_name = app::limit_name(app::limit_of(plan));
        app::PerfEnds ends(plan);
        app::PerfClient client(plan, ends);
        const std::uint64_t rounds = plan.sizes.size() * static_cast<std::uint64_t>(plan.rounds);
        app::Progress bar("measuring", rounds);
        std::uint64_t done = 0;
        for (const std::size_t size : plan.sizes) {
            report.runs.push_back(client.run(size, [&] { bar.show(++done); }));
        }
        client.quit();
        return report;
    }
};

/// Options that say what to measure, for how long, and where the result goes.
void add_measurement(CLI::App& subcommand, PerfSubcommand& perf) {
    app::PerfPlan& plan = perf.plan;
    CLI::Option* const size =
        subcommand
            .add_option("--size", perf.sizes,
                        "bytes, one or several with commas (rc and uc: 8,65536)")
            ->type_name("N,N")
            ->capture_default_str();
    perf.size_given = size;
    accept_whole(*subcommand
                      .add_option("--in-flight", plan.in_flight,
                                  "messages or transfers at once (stream 1024, "
                                  "store-async what the window holds, at most 64 MiB; "
                                  "rates of rc and uc 64, of read and fetch-add 16, "
                                  "at most 64 MiB; others 1)")
                      ->type_name("N"),
                 1, 1 << 20);
    CLI::Option* const per_poll =
        subcommand.add_option("--per-poll", plan.per_poll, "stream: requests between two polls")
            ->type_name("N")
            ->capture_default_str();
    accept_whole(*per_poll, 1, 1 << 16);
    CLI::Option* const rounds =
        subcommand.add_option("--rounds", plan.rounds, "rounds of which the medians are taken")
            ->type_name("N")
            ->capture_default_str();
    accept_whole(*rounds, 1, 1000);
    CLI::Option* const seconds =
        subcommand.add_option("--seconds", plan.slice_seconds, "seconds that each round takes")
            ->type_name("S")
            ->capture_default_str();
    accept_range(*seconds, 0.001, 60);
    CLI::Option* const html =
        subcommand.add_option("--html", plan.html, "write a page with plots over size")
            ->type_name("FILE");
    CLI::Option* const json =
        subcommand.add_flag("--json", plan.json, "print one JSON object (schema wireproof.perf/1)");
    perf.rules.writes(html, plan.html);
    perf.rules.applies(
        per_poll, [&plan] { return !plan.is_ib() && plan.op == app::PerfOp::stream; },
        "without --op stream");
    perf.rules.apply(
        {size, per_poll, rounds, seconds, html, json}, [&perf] { return !perf.listens(); },
        "with --listen");
}

/// Options of the path between both ends.
void add_path(CLI::App& subcommand, PerfSubcommand& perf) {
    app::PerfPlan& plan = perf.plan;
    accept_range(
        *subcommand.add_option("--loss", plan.loss, "lose a frame, with a probability of 0 to 1")
             ->type_name("P"),
        0, 0.9);
    CLI::Option* const mtu = subcommand
                                 .add_option("--mtu", plan.mtu,
                                             "IP packet on udp, 128 to 65535 bytes (rc and uc: "
                                             "what a path MTU of 4096 takes)")
                                 ->type_name("N")
                                 ->capture_default_str();
    perf.mtu_given = mtu;
    accept_whole(*mtu, 128, 65535);
    CLI::Option* const memory =
        subcommand
            .add_option("--memory", perf.memory,
                        "memory of stores and gets on shm: shared or private")
            ->type_name("KIND")
            ->capture_default_str();
    offer(*memory, {"shared", "private"});
    CLI::Option* const congestion = subcommand
                                        .add_option("--congestion", perf.congestion,
                                                    "control on udp: off, by loss or by path; "
                                                    "auto: by path between hosts (rc: off); "
                                                    "on: by path")
                                        ->type_name("KIND")
                                        ->capture_default_str();
    offer(*congestion, {"auto", "on", "off", "loss", "path"});
    CLI::Option* const trust =
        subcommand.add_flag("--trust-payload", plan.trust_payload,
                            "on udp: no CRC of the bytes of stores and gets; "
                            "at both ends");
    CLI::Option* const to =
        subcommand.add_option("--to", plan.to, "the other end is a perf --listen there")
            ->type_name("ADDR:PORT")
            ->check(is_perf_address);
    CLI::Option* const listen =
        subcommand.add_option("--listen", plan.listen, "be the other end, until interrupted")
            ->type_name("ADDR:PORT")
            ->check(is_perf_address);
    to->excludes(listen);
    perf.rules.apply(
        {memory, trust, to, listen}, [&plan] { return !plan.is_ib(); }, "without --protocol sp-am");
    perf.rules.applies(
        congestion, [&plan] { return plan.protocol != app::PerfProtocol::uc; },
        "without --protocol sp-am or rc");
    perf.rules.apply(
        {mtu, congestion, trust, to, listen}, [&perf] { return perf.on_udp(); },
        "without --wire udp");
    const auto transfers = [&perf] { return !perf.plan.sends_messages(); };
    perf.rules.applies(
        memory, [&perf, transfers] { return perf.plan.wire == app::PerfWire::shm && transfers(); },
        "without --wire shm and --op store, store-async or get");
    perf.rules.applies(
        trust, [&perf, transfers] { return perf.listens() || transfers(); },
        "without --op store, store-async or get");
}

}  // namespace

void add_perf(CLI::App& app, Run& run) {
    const auto perf = std::make_shared<PerfSubcommand>();
    app::PerfPlan& plan = perf->plan;
    plan.seed = chosen_seed(0);
    CLI::App* subcommand = app.add_subcommand("perf", "measure latency and rates");
    add_choice(*subcommand, "--protocol", protocols, plan.protocol, "what is measured")
        ->default_str("sp-am");
    perf->wire =
        add_choice(*subcommand, "--wire", wires, plan.wire, "what carries it")->default_str("shm");
    CLI::Option* const op =
        subcommand
            ->add_option("--op", perf->op,
                         "the operation, one of those below (request-reply; rc and uc: all)")
            ->type_name("NAME");
    std::vector<std::string> operations = words_of(ops);
    for (const std::string& one : words_of(ib_ops)) operations.push_back(one);
    offer(*op, operations);
    add_measurement(*subcommand, *perf);
    add_path(*subcommand, *perf);
    accept_whole(
        *subcommand->add_option("--seed", plan.seed, "seed of faults, sessions and contents")
             ->type_name("N"),
        0, std::numeric_limits<std::uint64_t>::max());
    subcommand->footer(perf_examples);
    subcommand->callback([perf, subcommand, &run] {
        perf->check(*subcommand);
        run = [perf] { return perf->run(); };
    });
}

}  // namespace wireproof::cli
