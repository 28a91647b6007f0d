// Shows a capture of RoCEv2: each packet, its ICRC, and the events of the connections.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

#include "wireproof/app/capture/capture_walk.hpp"
#include "wireproof/app/capture/connection_events.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/cli/capture_source.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

using capture::CaptureWalk;
using capture::ConnectionEvent;
using capture::ConnectionEvents;
using capture::Direction;
using capture::IcrcState;
using capture::SeenPacket;
using Json = nlohmann::ordered_json;

constexpr auto inspect_schema = "wireproof.inspect/1";

constexpr auto inspect_footer =
    R"(Reads a capture (pcap or pcapng, plain or compressed by gzip), decodes every
RoCEv2 packet in it, checks its ICRC, and says what happened to the
connections. FILE may be a pipe, or - for standard input.
share/doc/wireproof/guide/rdma/inspect.md says how to read the answer.

Examples:
  wireproof inspect capture.pcap
  tcpdump -U -w - -i eth0 udp port 4791 | wireproof inspect -
  wireproof inspect capture.pcapng --events
  wireproof inspect capture.pcap --json | jq '.events[] | .what'

Exit code 0: the file was read whole, whatever it holds; 1: it is damaged, cut
short, or cannot be read; 2: the command line is wrong.)";

/// The fields of a packet that have no column in its row.
std::string fields_of(const proto::ib::Packet& packet) {
    std::string text;
    const auto add = [&text](const std::string& word) { text += text.empty() ? word : " " + word; };
    const proto::ib::Headers& headers = packet.headers;
    const proto::ib::Opcode& opcode = *packet.opcode;
    if (opcode.has(proto::ib::Extended::aeth)) add(fmt::format("msn {}", headers.aeth.msn.value()));
    if (opcode.has(proto::ib::Extended::reth)) add(fmt::format("of {}", headers.reth.length));
    if (opcode.has(proto::ib::Extended::deth)) {
        add(fmt::format("from qp {:06x}", headers.deth.source_qp));
    }
    if (opcode.has(proto::ib::Extended::immediate)) {
        add(fmt::format("imm {:08x}", headers.immediate.value));
    }
    if (opcode.has(proto::ib::Extended::invalidate)) {
        add(fmt::format("inv {:08x}", headers.invalidate.rkey));
    }
    if (headers.bth.ack_request) add("AckReq");
    if (headers.bth.solicited) add("SE");
    if (headers.bth.fecn) add("FECN");
    if (headers.bth.becn) add("BECN");
    return text;
}

std::string_view packet_name(const proto::ib::Packet& packet) {
    if (packet.opcode->verb == proto::ib::Verb::acknowledge)
        return name_of(packet.headers.aeth.syndrome);
    return packet.opcode->name;
}

struct InspectSubcommand {
    std::string file;
    bool events_only = false;
    bool json = false;

    int run() {
        app::catch_interrupts();
        std::string error;
        try {
            walk();
        } catch (const app::Interrupted&) {
            throw;
        } catch (const app::Failure& failure) {
            error = failure.what();
        }
        const auto print = error.empty() ? print_result : print_result_of_failure;
        if (json) print(json_of(error));
        if (!json && opened_) fmt::print("{}", summary());
        if (error.empty()) return 0;
        std::fflush(stdout);
        throw app::Failure(error);
    }

private:
    void walk() {
        CaptureSource source(file);
        CaptureWalk capture([&source](Bytes to) { return source.read(to); });
        opened_ = true;
        if (table()) fmt::print("{}", heading());
        try {
            while (true) {
                app::check_interrupt();
                const auto seen = capture.next();
                if (!seen)
                    throw app::Failure(fmt::format("{}: {}", source.name(), seen.error().message));
                if (!*seen) break;
                look_at(**seen);
            }
        } catch (const app::Failure&) {
            counts_ = capture.counts();
            throw;
        }
        counts_ = capture.counts();
    }

    bool table() const { return !json && !events_only; }

    void look_at(const SeenPacket& seen) {
        if (seen.believed()) {
            look_at_believed(seen);
        } else if (table()) {
            fmt::print("{}", bad_row(seen));
        }
        if (seen.comment.empty()) return;
        const std::string comment = app::printable(std::as_bytes(std::span(seen.comment)));
        if (json) {
            comments_.emplace_back(seen.number, comment);
        } else {
            fmt::print("{:>6} {:>9} {:>3} # {}\n", seen.number, "", "-", comment);
        }
    }

    void look_at_believed(const SeenPacket& seen) {
        const std::size_t known = story_.directions().size();
        const std::size_t told = story_.events().size();
        const ConnectionEvents::Followed followed = story_.on_packet(seen);
        if (followed.copy_of) ++copies_;
        if (json) return;
        if (followed.direction == known) fmt::print("{}", introduction(known));
        if (table()) fmt::print("{}", row(seen, followed));
        for (std::size_t i = told; i < story_.events().size(); ++i) {
            fmt::print("{}", event_line(story_.events()[i]));
        }
    }

    static std::string heading() {
        return fmt::format("{:>6} {:>9} {:>3} {:<22} {:<5} {}\n", "packet", "seconds", "way",
                           "what", "PSN", "bytes");
    }

    std::string introduction(std::size_t direction) const {
        const Direction& way = story_.directions()[direction];
        return fmt::format("way {}: {} ({})\n", direction + 1, way.name(),
                           proto::ib::name_of(way.transport));
    }

    static std::string place(const SeenPacket& seen) {
        if (!seen.seconds) return fmt::format("{:>6} {:>9}", seen.number, "-");
        return fmt::format("{:>6} {:>9.6f}", seen.number, *seen.seconds);
    }

    static std::string row(const SeenPacket& seen, const ConnectionEvents::Followed& followed) {
        const proto::ib::Packet& packet = *seen.packet;
        std::string fields = followed.copy_of ? fmt::format("copy of packet {}", *followed.copy_of)
                                              : fields_of(packet);
        if (seen.icrc == IcrcState::not_captured) {
            fields += fields.empty() ? "ICRC cut" : " ICRC cut";
        }
        return fmt::format("{} {:>3} {:<22} {:06x} {:>4}{}{}\n", place(seen),
                           followed.direction + 1, packet_name(packet), packet.bth().psn.value(),
                           packet.payload.size(), fields.empty() ? "" : " ", fields);
    }

    static std::string bad_row(const SeenPacket& seen) {
        const bool decoded = !seen.datagram.packet.empty();
        const std::string_view why =
            decoded && seen.icrc == IcrcState::wrong ? "ICRC wrong" : seen.malformed;
        return fmt::format("{} {:>3} ! {}\n", place(seen), "-", why);
    }

    static std::string event_line(const ConnectionEvent& event) {
        return fmt::format("{:>6} {:>9} {:>3} * {}\n", event.packet, "", event.direction + 1,
                           event.what);
    }

    std::string summary() const {
        std::string text;
        for (const auto& [what, frames] : counts_.unread) {
            text += fmt::format("{}: {} packet{} not read\n", what, frames, frames == 1 ? "" : "s");
        }
        if (counts_.cut > 0) {
            text += fmt::format("ICRC not captured: {} packet{} cut by the snap length\n",
                                counts_.cut, counts_.cut == 1 ? "" : "s");
        }
        if (counts_.time_above_unit > 0) {
            text += fmt::format("time above its unit: {} packet{}; the file may count in another\n",
                                counts_.time_above_unit, counts_.time_above_unit == 1 ? "" : "s");
        }
        if (copies_ > 0) {
            text += fmt::format("copies of packets that the capture has before: {}\n", copies_);
        }
        return text + fmt::format(
                          "{} packets of RoCEv2, {} other; ICRC wrong: {}, malformed: {}; "
                          "{} events\n",
                          counts_.packets, counts_.other, counts_.icrc_bad, counts_.malformed,
                          story_.events().size());
    }

    std::string json_of(const std::string& error) const {
        Json object;
        object["schema"] = inspect_schema;
        object["file"] = file;
        object["packets"] = counts_.packets;
        object["other"] = counts_.other;
        object["icrc_bad"] = counts_.icrc_bad;
        object["icrc_not_captured"] = counts_.cut;
        object["malformed"] = counts_.malformed;
        object["copies"] = copies_;
        object["time_above_unit"] = counts_.time_above_unit;
        object["unread"] = Json::array();
        for (const auto& [what, frames] : counts_.unread) {
            object["unread"].push_back({{"what", what}, {"packets", frames}});
        }
        object["connections"] = Json::array();
        for (std::size_t i = 0; i < story_.directions().size(); ++i) {
            const Direction& way = story_.directions()[i];
            const auto peer = story_.answered_by(i);
            object["connections"].push_back(
                {{"name", way.name()},
                 {"transport", proto::ib::name_of(way.transport)},
                 {"qp", way.queue_pair},
                 {"answered_by", peer ? Json(story_.directions()[*peer].name()) : Json()}});
        }
        object["events"] = Json::array();
        for (const ConnectionEvent& event : story_.events()) {
            object["events"].push_back(json_of(event));
        }
        object["comments"] = Json::array();
        for (const auto& [packet, text] : comments_) {
            object["comments"].push_back({{"packet", packet}, {"text", text}});
        }
        if (!error.empty()) object["error"] = error;
        // A file name may contain bytes that are not valid text.
        return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }

    Json json_of(const ConnectionEvent& event) const {
        const auto name_of_way = [this](std::size_t way) {
            return story_.directions()[way].name();
        };
        Json object = {{"packet", event.packet},
                       {"connection", name_of_way(event.direction)},
                       {"what", event.what}};
        if (event.refused) object["refused"] = name_of_way(*event.refused);
        for (const std::size_t way : event.possible) object["possible"].push_back(name_of_way(way));
        return object;
    }

    CaptureWalk::Counts counts_;
    std::uint64_t copies_ = 0;
    ConnectionEvents story_;
    std::vector<std::pair<std::uint64_t, std::string>> comments_;
    bool opened_ = false;
};

}  // namespace

void add_inspect(CLI::App& app, Run& run) {
    const auto inspect = std::make_shared<InspectSubcommand>();
    CLI::App* subcommand = app.add_subcommand("inspect", "what a capture of RoCEv2 holds");
    subcommand->add_option("FILE", inspect->file, "the capture; - is standard input")
        ->required()
        ->type_name("");
    const auto rules = std::make_shared<OptionRules>();
    rules->applies(
        subcommand->add_flag("--events", inspect->events_only,
                             "print what happened, not every packet"),
        [inspect] { return !inspect->json; }, "with --json, which prints only events");
    subcommand->add_flag("--json", inspect->json,
                         "print one JSON object (schema wireproof.inspect/1)");
    subcommand->footer(inspect_footer);
    subcommand->callback([inspect, rules, subcommand, &run] {
        rules->check(*subcommand);
        run = [inspect] { return inspect->run(); };
    });
}

}  // namespace wireproof::cli
