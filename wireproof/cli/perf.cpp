// The ruler: what the protocol achieves, beside what the machine itself can do.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <map>
#include <memory>

#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/files.hpp"
#include "wireproof/cli/interrupt.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/perf_client.hpp"
#include "wireproof/cli/progress.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/verbs.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::cli {
namespace {

constexpr auto perf_examples =
    R"(Operations: request-reply (half a round trip, polled), stream (one-way short
requests), store, store-async, get. The other end is a process of perf's own,
both pinned; on the memory wire it is a function call away. Each round measures
the operation, then the machine's own limit for it; the ratio is ours / limit.
Contents are checked once, after the timed part.

Examples:
  wireproof perf
  wireproof perf --wire shm --op stream --size 8,64,256
  wireproof perf --wire shm --op store --size 65536,1048576 --html store.html
  wireproof perf --wire udp --op request-reply --size 64 --json
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

const CLI::Validator is_address(
    [](std::string& text) {
        const auto address = Address::parse(text);
        return address ? std::string() : address.error().message;
    },
    "");

const std::map<std::string, PerfWire> wires = {
    {"memory", PerfWire::memory}, {"shm", PerfWire::shm}, {"udp", PerfWire::udp}};
const std::map<std::string, PerfOp> ops = {{"request-reply", PerfOp::request_reply},
                                           {"stream", PerfOp::stream},
                                           {"store", PerfOp::store},
                                           {"store-async", PerfOp::store_async},
                                           {"get", PerfOp::get}};

template <class T>
CLI::Option* add_choice(CLI::App& verb, const char* name, const std::map<std::string, T>& choices,
                        T& value, const char* what) {
    std::string names;
    for (const auto& [word, meaning] : choices) names += (names.empty() ? "" : "|") + word;
    return verb
        .add_option_function<std::string>(
            name,
            [&choices, &value, names, name](const std::string& word) {
                const auto choice = choices.find(word);
                if (choice == choices.end()) {
                    refuse_usage(fmt::format("{}: {} is none of {}", name, word, names));
                }
                value = choice->second;
            },
            what)
        ->type_name(names);
}

struct PerfVerb {
    PerfPlan plan;
    std::string protocol = "sp-am";
    std::string sizes = "8,64";
    std::string memory = "shared";
    std::string congestion = "auto";
    const CLI::Option* wire = nullptr;
    OptionRules rules;

    bool on_udp() const { return plan.wire == PerfWire::udp; }
    bool listens() const { return !plan.listen.empty(); }

    void check(const CLI::App& verb) {
        if (protocol != "sp-am") {
            refuse_usage("--protocol: " + protocol + " cannot be measured; sp-am can");
        }
        if (memory != "shared" && memory != "private") {
            refuse_usage("--memory: " + memory + " is neither shared nor private");
        }
        plan.private_memory = memory == "private";
        if (congestion != "auto" && congestion != "on" && congestion != "off") {
            refuse_usage("--congestion: " + congestion + " is none of auto, on, off");
        }
        if (congestion != "auto") plan.congestion = congestion == "on";
        const bool between_hosts = listens() || !plan.to.empty();
        if (between_hosts && wire->count() == 0) plan.wire = PerfWire::udp;
        rules.check(verb);
        plan.sizes = sizes_of(sizes);
        check_config();
    }

    /// Refuses what the engine's figures cannot be.
    void check_config() const {
        std::size_t most = 0;
        try {
            most = perf_config(plan, 0).words_max * 4;
        } catch (const Failure& failure) {
            refuse_usage(failure.what());
        }
        if (!plan.sends_messages() || listens()) return;
        for (const std::size_t size : plan.sizes) {
            if (size % 4 == 0 && size <= most) continue;
            refuse_usage(fmt::format(
                "--size: a message carries whole words, 4 to {} bytes here, not {}", most, size));
        }
    }

    int run() const {
        catch_interrupts();
        if (!plan.listen.empty()) perf_listen(plan);
        OutputFile page(plan.html);
        const PerfReport report = measure();
        if (!plan.html.empty()) {
            const std::string html = perf_html(plan, report);
            page.write(0, std::as_bytes(std::span(html)));
            page.finish();
        }
        print_result(plan.json ? perf_json(plan, report) : perf_table(plan, report));
        return 0;
    }

    PerfReport measure() const {
        PerfReport report;
        report.limit_name = limit_name(limit_of(plan));
        PerfEnds ends(plan);
        PerfClient client(plan, ends);
        const std::uint64_t rounds = plan.sizes.size() * static_cast<std::uint64_t>(plan.rounds);
        Progress bar("measuring", rounds);
        std::uint64_t done = 0;
        for (const std::size_t size : plan.sizes) {
            report.runs.push_back(client.run(size, [&] { bar.show(++done); }));
        }
        client.quit();
        return report;
    }
};

/// What is measured, how long, and where the result goes.
void add_measurement(CLI::App& verb, PerfVerb& perf) {
    PerfPlan& plan = perf.plan;
    CLI::Option* const size =
        verb.add_option("--size", perf.sizes, "bytes, one or several with commas")
            ->type_name("N,N")
            ->capture_default_str();
    accept_whole(*verb.add_option("--in-flight", plan.in_flight,
                                  "messages or transfers at once (stream 1024,\n"
                                  "store-async what the window holds, at most 64 MiB;\n"
                                  "others 1)")
                      ->type_name("N"),
                 1, 1 << 20);
    CLI::Option* const per_poll =
        verb.add_option("--per-poll", plan.per_poll, "stream: requests between two polls")
            ->type_name("N")
            ->capture_default_str();
    accept_whole(*per_poll, 1, 1 << 16);
    CLI::Option* const rounds =
        verb.add_option("--rounds", plan.rounds, "of which the medians are taken")
            ->type_name("N")
            ->capture_default_str();
    accept_whole(*rounds, 1, 1000);
    CLI::Option* const seconds =
        verb.add_option("--seconds", plan.slice_seconds, "that each round takes")
            ->type_name("S")
            ->capture_default_str();
    accept_range(*seconds, 0.001, 60);
    CLI::Option* const html =
        verb.add_option("--html", plan.html, "write a page with plots over size")
            ->type_name("FILE");
    CLI::Option* const json =
        verb.add_flag("--json", plan.json, "print one JSON object (schema wireproof.perf/1)");
    perf.rules.writes(html, plan.html);
    perf.rules.applies(
        per_poll, [&plan] { return plan.op == PerfOp::stream; }, "--op stream");
    perf.rules.apply(
        {size, per_poll, rounds, seconds, html, json}, [&perf] { return !perf.listens(); },
        "a measurement, and --listen makes none");
}

/// The way between both ends.
void add_path(CLI::App& verb, PerfVerb& perf) {
    PerfPlan& plan = perf.plan;
    accept_range(*verb.add_option("--loss", plan.loss, "lose a frame, with a probability of 0 to 1")
                      ->type_name("P"),
                 0, 0.9);
    CLI::Option* const mtu =
        verb.add_option("--mtu", plan.mtu, "IP packet on udp, 128 to 65535 bytes")
            ->type_name("N")
            ->capture_default_str();
    accept_whole(*mtu, 128, 65535);
    CLI::Option* const memory =
        verb.add_option("--memory", perf.memory, "of stores and gets on shm: shared or private")
            ->type_name("KIND")
            ->capture_default_str();
    CLI::Option* const congestion =
        verb.add_option("--congestion", perf.congestion,
                        "control on udp: on, off, or auto: between hosts")
            ->type_name("KIND")
            ->capture_default_str();
    CLI::Option* const trust = verb.add_flag("--trust-payload", plan.trust_payload,
                                             "on udp: no CRC of the bytes of stores and gets;\n"
                                             "at both ends");
    CLI::Option* const to =
        verb.add_option("--to", plan.to, "the other end is a perf --listen there")
            ->type_name("ADDR:PORT")
            ->check(is_address);
    CLI::Option* const listen =
        verb.add_option("--listen", plan.listen, "be the other end, until interrupted")
            ->type_name("ADDR:PORT")
            ->check(is_address);
    to->excludes(listen);
    perf.rules.apply(
        {mtu, congestion, trust, to, listen}, [&perf] { return perf.on_udp(); }, "--wire udp");
    const auto transfers = [&perf] { return !perf.plan.sends_messages(); };
    perf.rules.applies(
        memory, [&perf, transfers] { return perf.plan.wire == PerfWire::shm && transfers(); },
        "--wire shm and --op store, store-async or get");
    perf.rules.applies(
        trust, [&perf, transfers] { return perf.listens() || transfers(); },
        "--op store, store-async or get");
}

}  // namespace

void add_perf(CLI::App& app, Run& run) {
    const auto perf = std::make_shared<PerfVerb>();
    PerfPlan& plan = perf->plan;
    plan.seed = chosen_seed(0);
    CLI::App* verb =
        app.add_subcommand("perf", "measure latency and rates, beside the machine's limit");
    verb->add_option("--protocol", perf->protocol, "sp-am")->type_name("NAME");
    perf->wire = add_choice(*verb, "--wire", wires, plan.wire, "what carries it (shm)");
    add_choice(*verb, "--op", ops, plan.op, "what is measured (request-reply)");
    add_measurement(*verb, *perf);
    add_path(*verb, *perf);
    accept_whole(
        *verb->add_option("--seed", plan.seed, "of faults, sessions and contents")->type_name("N"),
        0, std::numeric_limits<std::uint64_t>::max());
    verb->footer(perf_examples);
    verb->callback([perf, verb, &run] {
        perf->check(*verb);
        run = [perf] { return perf->run(); };
    });
}

}  // namespace wireproof::cli
