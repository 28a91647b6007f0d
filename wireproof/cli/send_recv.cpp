// The subcommands send and recv: carry between two hosts.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/app/transfer/file_transfer.hpp"
#include "wireproof/app/transfer/udp_session.hpp"
#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/report.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

constexpr auto send_examples = R"(Examples:
  wireproof send big.iso --to 192.0.2.7:7000
  wireproof send big.iso --to [2001:db8::7]:7000 --loss 0.05 --json

Frames in the JSON object are those that this side sent. What fails is also said
in its "error".

Exit code 0: the receiver has the file, and its SHA-256 is the same; 1: not;
2: the command line is wrong.)";
constexpr auto recv_examples = R"(Examples:
  wireproof recv --listen 0.0.0.0:7000 --out big.iso
  wireproof recv --listen [::]:7000 --out big.iso --wait 60 --json
  wireproof recv --listen 0.0.0.0:7000 --out - | tar x

Waits for a sender, takes one file and ends. [::] hears IPv6 and IPv4. If send
dies and is started again, the file begins anew. It has its name once it is
whole; another of that name is kept until then. A pipe gets the bytes as they
come and cannot begin anew, so the exit code says whether all were right.
Frames in the JSON object are those that this side sent; the etr is the
sender's to tell. What fails is also said in its "error".

Exit code 0: the file is here and verified; 1: not; 2: the command line is
wrong.)";

// An invalid address is an error of the command line.
const CLI::Validator is_address(
    [](std::string& text) {
        const auto address = Address::parse(text);
        return address ? std::string() : address.error().message;
    },
    "");
const CLI::Validator is_destination(
    [](std::string& text) {
        const auto address = Address::parse(text);
        if (!address) return address.error().message;
        return address->port == 0 ? text + " has port 0, where nobody listens" : std::string();
    },
    "");

/// The end of the transfer on this host. The number of the other end is the other value.
enum class End : std::uint16_t { sender = 0, receiver = 1 };

struct TwoHosts {
    app::CarryOptions options;
    std::string address;  // the receiver's
    double wait = 0;      // seconds that recv waits for a sender; 0: for ever

    app::UdpSession open(End end) const {
        const auto self = static_cast<std::uint16_t>(end);
        const Address receiver = *Address::parse(address);
        // A receiver at [::] receives IPv4, too. Both ends must use packets of one size, so there
        // is always room for the longer header.
        const am::Config config = app::carry_config(options, self, Address::Family::ipv6);
        const char* const any = receiver.family == Address::Family::ipv6 ? "[::]:0" : "0.0.0.0:0";
        am::UdpNode::Options udp;
        udp.local = end == End::receiver ? receiver : *Address::parse(any);
        udp.frame_max = config.packet_max;
        udp.only_peer = PeerId{config.peer};
        udp.faults = options.faults;
        udp.seed = options.seed + self;
        udp.succeeds_ended = end == End::receiver;  // of a sender that is started again
        auto opened = am::UdpNode::open(udp);
        if (!opened) throw app::Failure(opened.error().message);
        // The receiver learns the sender's address from a packet, so that place stays open. This
        // end's own number has no place, so no stranger can take it.
        const Address other = end == End::sender ? receiver : Address{};
        const auto set = opened->socket().set_peer(PeerId{config.peer}, other);
        if (!set) throw app::Failure(set.error().message);
        return app::UdpSession(std::move(*opened), config);
    }
};

/// Refuses the command line if no packet fits in --mtu.
void check_packets(const app::CarryOptions& options) {
    try {
        (void)app::carry_config(options, 0, Address::Family::ipv6);
    } catch (const app::Failure& failure) {
        refuse_usage(failure.what());
    }
}

template <class Half>
app::CarryResult result_of(const Half& half) {
    app::CarryResult result;
    result.verified = half.end()->verified;
    result.complete = result.verified;
    result.failure = half.end()->failure;
    result.bytes = half.bytes_taken();
    result.seconds = half.duration().seconds();
    return result;
}

/// Lets `transfer` fill the report. If the output is text, it is one line instead of a table.
int reported(const app::CarryOptions& options, Report report, std::string_view done,
             const std::function<void(Report&)>& transfer) {
    app::catch_interrupts();
    try {
        transfer(report);
    } catch (const app::Interrupted&) {
        throw;
    } catch (const app::Failure& failure) {
        report.error = failure.what();
        return conclude(options, report);
    }
    const app::CarryResult result = report.runs.front();
    if (!result.verified) {
        report.error = fmt::format("{} was not {}: {} (seed {})", report.file, done, result.failure,
                                   options.seed);
    }
    if (!options.json) report.runs.clear();
    if (!options.json && result.verified) {
        print_result(fmt::format("{}: {} bytes {} and verified in {:.3f} s (seed {})\n",
                                 app::one_line(report.file), result.bytes, done, result.seconds,
                                 options.seed));
    }
    return conclude(options, report);
}

void send(const TwoHosts& hosts, Report& report) {
    const app::InputFile file(report.file);
    report.file_bytes = file.size();
    app::UdpSession session = hosts.open(End::sender);
    app::FileSender sender(session.node(), 1, file, app::ipv6_framing);
    {
        app::Progress progress("sending", file.size(), "B");
        session.run(
            [&](Instant now) {
                sender.step(now);
                progress.show(sender.bytes_taken());
                return sender.may_leave(now);
            },
            [] { return std::string(); });
    }
    app::CarryResult result = result_of(sender);
    result.sender = session.counts(1);
    if (!result.verified && session.node().counters(1).sessions == 0) {
        const std::string& cause = sender.end()->cause;
        result.failure = fmt::format(
            "no recv answered at {} for {:g} s, or none with this --mtu and version{}{}",
            hosts.address, hosts.options.peer_timeout, cause.empty() ? "" : ": ", cause);
    }
    report.runs.push_back(result);
}

void receive(const TwoHosts& hosts, Report& report) {
    app::OutputFile out(report.file);
    app::UdpSession session = hosts.open(End::receiver);
    app::FileReceiver receiver(session.node(), 0, out, app::ipv6_framing);
    app::tell(fmt::format("listening on {} (seed {})", session.local_address().to_string(),
                          hosts.options.seed));
    {
        app::Progress progress("receiving", 0, "B");
        session.run(
            [&, restarts = std::size_t{0}](Instant now) mutable {
                receiver.step(now);
                if (std::exchange(restarts, receiver.restarts()) != receiver.restarts()) {
                    app::tell("the sender was started again: receiving from the beginning");
                }
                progress.set_total(receiver.bytes_expected());
                progress.show(receiver.bytes_taken());
                return receiver.may_leave(now);
            },
            [&, warned = false, begin = std::chrono::steady_clock::now()]() mutable {
                const std::chrono::duration<double> waited =
                    std::chrono::steady_clock::now() - begin;
                const bool heard = session.node().counters(0).sessions > 0;
                if (hosts.wait > 0 && !heard && waited.count() > hosts.wait) {
                    return fmt::format("no sender came within {:g} s", hosts.wait);
                }
                if (!warned && session.node().counters(0).mismatched > 0) {
                    app::tell("a sender with another --mtu or version asked to send");
                    warned = true;
                }
                return std::string();
            });
    }
    app::CarryResult result = result_of(receiver);
    result.receiver = session.counts(0);
    result.sender_known = false;
    report.file_bytes = receiver.bytes_expected();
    report.runs.push_back(result);
}

}  // namespace

void add_send(CLI::App& app, Run& run) {
    const auto hosts = std::make_shared<TwoHosts>();
    app::CarryOptions& options = hosts->options;
    CLI::App* subcommand = app.add_subcommand("send", "send a file to a host that runs recv");
    subcommand->add_option("FILE", options.file, "the file")->required()->type_name("");
    subcommand->add_option("--to", hosts->address, "where recv listens")
        ->required()
        ->check(is_destination)
        ->type_name("ADDR:PORT");
    add_fault_options(*subcommand, options);
    add_path_options(*subcommand, options);
    subcommand->add_flag("--json", options.json, "print one JSON object (schema wireproof.send/1)");
    subcommand->footer(send_examples);
    subcommand->callback([hosts, &run] {
        check_packets(hosts->options);
        run = [hosts] {
            return reported(hosts->options,
                            {.schema = "wireproof.send/1", .file = hosts->options.file}, "sent",
                            [hosts](Report& report) { send(*hosts, report); });
        };
    });
}

void add_recv(CLI::App& app, Run& run) {
    const auto hosts = std::make_shared<TwoHosts>();
    app::CarryOptions& options = hosts->options;
    CLI::App* subcommand =
        app.add_subcommand("recv", "receive one file from a host that runs send");
    subcommand->add_option("--listen", hosts->address, "our own address; port 0: one that is free")
        ->required()
        ->check(is_address)
        ->type_name("ADDR:PORT");
    const auto rules = std::make_shared<OptionRules>();
    rules->writes(
        subcommand
            ->add_option("--out", options.out, "its name once it is whole; -: standard output")
            ->required()
            ->type_name("FILE"),
        options.out);
    accept_range(
        *subcommand->add_option("--wait", hosts->wait, "seconds to wait for a sender (for ever)")
             ->type_name("S"),
        0.1, 1e7);
    add_fault_options(*subcommand, options);
    add_path_options(*subcommand, options);
    subcommand->add_flag("--json", options.json, "print one JSON object (schema wireproof.recv/1)");
    subcommand->footer(recv_examples);
    subcommand->callback([hosts, rules, subcommand, &run] {
        rules->check(*subcommand);
        check_packets(hosts->options);
        run = [hosts] {
            return reported(hosts->options,
                            {.schema = "wireproof.recv/1", .file = hosts->options.out}, "received",
                            [hosts](Report& report) { receive(*hosts, report); });
        };
    });
}

}  // namespace wireproof::cli
