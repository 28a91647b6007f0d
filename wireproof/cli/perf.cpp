// The ruler: what the protocol achieves, beside what the machine itself can do.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <limits>
#include <map>
#include <memory>

#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/files.hpp"
#include "wireproof/cli/interrupt.hpp"
#include "wireproof/cli/perf_client.hpp"
#include "wireproof/cli/progress.hpp"
#include "wireproof/cli/verbs.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::cli {
namespace {

constexpr auto examples =
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
        std::size_t size = 0;
        const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, size);
        if (error != std::errc() || stop != text.data() + end || size < 1 || size > size_max) {
            throw CLI::ValidationError(
                fmt::format("--size: {} is not a number of bytes from 1 to {}",
                            text.substr(at, end - at), size_max),
                exit_usage);
        }
        sizes.push_back(size);
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
                    throw CLI::ValidationError(
                        fmt::format("{}: {} is none of {}", name, word, names), exit_usage);
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

    void check() {
        const auto refuse = [](const std::string& why) {
            throw CLI::ValidationError(why, exit_usage);
        };
        if (protocol != "sp-am")
            refuse("--protocol: " + protocol + " cannot be measured; sp-am can");
        if (memory != "shared" && memory != "private") {
            refuse("--memory: " + memory + " is neither shared nor private");
        }
        plan.private_memory = memory == "private";
        if (plan.private_memory && plan.wire != PerfWire::shm) refuse("--memory is of --wire shm");
        if (congestion != "auto" && congestion != "on" && congestion != "off") {
            refuse("--congestion: " + congestion + " is none of auto, on, off");
        }
        if (congestion != "auto") plan.congestion = congestion == "on";
        plan.sizes = sizes_of(sizes);
        if (!plan.to.empty() || !plan.listen.empty()) {
            if (!plan.to.empty() && !plan.listen.empty())
                refuse("--to and --listen exclude each other");
            if (wire->count() == 0) plan.wire = PerfWire::udp;
            if (plan.wire != PerfWire::udp) refuse("--to and --listen need --wire udp");
        }
        if (plan.congestion && plan.wire != PerfWire::udp) refuse("--congestion is of --wire udp");
        if (plan.trust_payload && plan.wire != PerfWire::udp) {
            refuse("--trust-payload is of --wire udp");
        }
        if (plan.trust_payload && plan.sends_messages() && plan.listen.empty()) {
            refuse("--trust-payload is of stores and gets");
        }
        if (!plan.sends_messages()) return;
        const std::size_t most = perf_config(plan, 0).words_max * 4;
        for (const std::size_t size : plan.sizes) {
            if (size % 4 != 0 || size > most) {
                refuse(
                    fmt::format("--size: a message carries whole words, 4 to {} bytes here, not {}",
                                most, size));
            }
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
        fmt::print("{}", plan.json ? perf_json(plan, report) : perf_table(plan, report));
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
    verb->add_option("--size", perf->sizes, "bytes, one or several with commas")
        ->type_name("N,N")
        ->capture_default_str();
    accept_range(
        *verb->add_option("--loss", plan.loss, "lose a frame, with a probability of 0 to 1")
             ->type_name("P"),
        0, 0.9);
    accept_whole(*verb->add_option("--in-flight", plan.in_flight,
                                   "messages or transfers at once (stream 1024, others 1,\n"
                                   "store-async what the window holds)")
                      ->type_name("N"),
                 1, 1 << 20);
    accept_whole(
        *verb->add_option("--per-poll", plan.per_poll, "stream: requests between two polls")
             ->type_name("N")
             ->capture_default_str(),
        1, 1 << 16);
    accept_whole(*verb->add_option("--mtu", plan.mtu, "IP packet on udp, 128 to 65535 bytes")
                      ->type_name("N")
                      ->capture_default_str(),
                 128, 65535);
    verb->add_option("--memory", perf->memory, "of stores and gets on shm: shared or private")
        ->type_name("KIND")
        ->capture_default_str();
    verb->add_option("--congestion", perf->congestion,
                     "control on udp: on, off, or auto: to and for other hosts")
        ->type_name("KIND")
        ->capture_default_str();
    verb->add_flag("--trust-payload", plan.trust_payload,
                   "on udp: no CRC of the bytes of stores and gets; at both ends");
    verb->add_option("--to", plan.to, "the other end is a perf --listen there")
        ->type_name("ADDR:PORT")
        ->check(is_address);
    verb->add_option("--listen", plan.listen, "be the other end, until interrupted")
        ->type_name("ADDR:PORT")
        ->check(is_address);
    accept_whole(*verb->add_option("--rounds", plan.rounds, "of which the medians are taken")
                      ->type_name("N")
                      ->capture_default_str(),
                 1, 1000);
    accept_range(*verb->add_option("--seconds", plan.slice_seconds, "that each round takes")
                      ->type_name("S")
                      ->capture_default_str(),
                 0.001, 60);
    accept_whole(
        *verb->add_option("--seed", plan.seed, "of faults, sessions and contents")->type_name("N"),
        0, std::numeric_limits<std::uint64_t>::max());
    verb->add_option("--html", plan.html, "write a page with plots over size")->type_name("FILE");
    verb->add_flag("--json", plan.json, "print one JSON object (schema wireproof.perf/1)");
    verb->footer(examples);
    verb->callback([perf, &run] {
        perf->check();
        run = [perf] { return perf->run(); };
    });
}

}  // namespace wireproof::cli
