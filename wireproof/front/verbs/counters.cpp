#include "wireproof/front/verbs/counters.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "wireproof/front/verbs/device_list.hpp"

namespace wireproof::verbs {
namespace {

class Lines {
public:
    explicit Lines(std::string prefix) : prefix_(std::move(prefix)) {}

    void add(std::string_view name, std::string_view value) {
        text_ += prefix_;
        text_ += name;
        text_ += ' ';
        text_ += value;
        text_ += '\n';
    }
    void add(std::string_view name, std::uint64_t value) { add(name, std::to_string(value)); }
    const std::string& text() const { return text_; }

private:
    std::string prefix_;
    std::string text_;
};

/// The name that ps shows.
std::string program_name() {
    std::string name;
    std::ifstream("/proc/self/comm") >> name;
    return name.empty() ? "?" : name;
}

std::string device_lines(const CountersOf& of) {
    Lines lines("device.");
    lines.add("name", device_name);
    lines.add("program", program_name());
    lines.add("process", static_cast<std::uint64_t>(::getpid()));
    lines.add("address", of.address);
    lines.add("path_mtu", of.port.config().path_mtu);
    // Queue pair 1 answers requests for connections. It is not counted.
    const auto numbers = of.port.numbers();
    lines.add("queue_pairs", static_cast<std::uint64_t>(
                                 std::ranges::count_if(numbers, [](auto n) { return n > 1; })));
    return lines.text();
}

/// The names are those of /sys/class/infiniband/…/ports/1/counters. Lengths are in words of 4
/// bytes.
std::string kernel_counters(const CountersOf& of) {
    const UdpCounters& udp = of.wire.udp;
    const proto::ib::PortCounters& port = of.port.counters();
    std::uint64_t malformed = 0;
    for (const std::uint64_t count : port.malformed) malformed += count;
    Lines lines("counters.");
    lines.add("port_xmit_packets", udp.frames_sent + of.shared.frames_sent);
    lines.add("port_xmit_data", (udp.bytes_sent + of.shared.bytes_sent) / 4);
    lines.add("port_xmit_discards", udp.send_dropped + udp.send_failed);
    lines.add("port_rcv_packets", udp.frames_received + of.shared.frames_received);
    lines.add("port_rcv_data", (udp.bytes_received + of.shared.bytes_received) / 4);
    lines.add("port_rcv_errors",
              of.wire.icrc_wrong + of.wire.too_short + udp.too_long + port.damaged + malformed);
    return lines.text();
}

/// The names are those of Linux's Soft-RoCE and of common adapters, if the meaning is the same.
std::string kernel_hw_counters(const CountersOf& of) {
    const proto::ib::QueuePairCounters total = of.port.total();
    Lines lines("hw_counters.");
    lines.add("sent_pkts", of.wire.udp.frames_sent + of.shared.frames_sent);
    lines.add("rcvd_pkts", of.wire.udp.frames_received + of.shared.frames_received);
    lines.add("duplicate_request", total.duplicates);
    lines.add("out_of_seq_request", total.gaps);
    lines.add("out_of_sequence", total.gaps);
    lines.add("packet_seq_err", total.went_back);
    lines.add("local_ack_timeout_err", total.timeouts);
    lines.add("rcvd_rnr_err", total.rnr_waits);
    lines.add("rnr_nak_retry_err", total.rnr_waits);
    lines.add("send_rnr_err", total.rnr_naks_sent);
    lines.add("out_of_buffer", total.not_ready);
    lines.add("resp_remote_access_errors", total.bad_key);
    lines.add("rx_icrc_encapsulated", of.wire.icrc_wrong);
    lines.add("np_cnp_sent", total.cnps_sent);
    lines.add("np_ecn_marked_roce_packets", total.marked);
    lines.add("rp_cnp_handled", total.cnps_handled);
    lines.add("rp_cnp_ignored", of.port.counters().congestion - total.cnps_handled);
    return lines.text();
}

std::string own_counters(const CountersOf& of) {
    const UdpCounters& udp = of.wire.udp;
    Lines wire("wire.");
    wire.add("frames_resent", udp.frames_resent + of.shared.frames_resent);
    wire.add("super_packets_sent", udp.super_packets_sent);
    wire.add("super_packets_received", udp.super_packets_received);
    wire.add("segments_refused", udp.segments_refused);
    wire.add("send_dropped", udp.send_dropped);
    wire.add("send_failed", udp.send_failed);
    wire.add("kernel_dropped", udp.kernel_dropped);
    wire.add("frames_marked", udp.frames_marked);
    wire.add("unknown_source", udp.unknown_source);
    wire.add("too_long", udp.too_long);
    wire.add("too_short", of.wire.too_short);
    wire.add("icrc_wrong", of.wire.icrc_wrong);
    wire.add("identification_jumped", of.wire.identification_jumped);
    Lines shared("shared.");
    shared.add("frames_sent", of.shared.frames_sent);
    shared.add("frames_received", of.shared.frames_received);
    shared.add("full_rings", of.shared.full_rings);
    shared.add("doorbells_rung", of.shared.doorbells_rung);
    shared.add("connections", of.shared.connections);
    shared.add("malformed_peers", of.shared.malformed_peers);
    const proto::ib::PortCounters& counted = of.port.counters();
    Lines port("port.");
    port.add("damaged", counted.damaged);
    port.add("unknown_queue_pair", counted.unknown_queue_pair);
    port.add("foreign_partition", counted.foreign_partition);
    port.add("foreign_source", counted.foreign_source);
    port.add("wrong_transport", counted.wrong_transport);
    port.add("congestion", counted.congestion);
    return wire.text() + shared.text() + port.text();
}

std::string queue_pair_lines(const CountersOf& of, std::uint32_t number) {
    const proto::ib::QueuePairCore& core = *of.port.queue_pair(number);
    const proto::ib::QueuePairAttributes& known = core.attributes();
    Lines lines("queue_pairs." + std::to_string(number) + ".");
    lines.add("transport", proto::ib::name_of(core.config().transport));
    lines.add("state", proto::ib::name_of(core.state()));
    if (known.has_address) {
        lines.add("peer", of.address_of(known.address));
        lines.add("peer_queue_pair", known.dest_queue_pair);
    }
    if (core.config().transport == proto::ib::Transport::rc) {
        lines.add("congestion_control", name_of(known.congestion));
    }
    lines.add("sends_posted", core.sends.size());
    lines.add("receives_posted", core.receives.size());
    for (const auto& [name, count] : proto::ib::reception_counters)
        lines.add(name, core.counters.*count);
    for (const auto& [name, count] : proto::ib::more_counters)
        lines.add(name, core.counters.*count);
    return lines.text();
}

}  // namespace

std::string counters_text(const CountersOf& of) {
    std::string text =
        device_lines(of) + kernel_counters(of) + kernel_hw_counters(of) + own_counters(of);
    for (const std::uint32_t number : of.port.numbers()) text += queue_pair_lines(of, number);
    return text;
}

void ShownCounters::show(const CountersOf& of) {
    constexpr Duration least = Duration::milliseconds(20);
    constexpr std::int64_t share = 100;  // publishing takes at most 1/100 of the time
    const Instant begun = clock_.now();
    if (!text_) {
        if (auto opened = host::PublishedText::open(counters_name)) {
            text_.emplace(*std::move(opened));
        }
    }
    if (text_) text_->publish(counters_text(of));
    const Instant ended = clock_.now();
    again_ = ended + std::max(least, (ended - begun) * share);
    noted_ = false;
}

}  // namespace wireproof::verbs
