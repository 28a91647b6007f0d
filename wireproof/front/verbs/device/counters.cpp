#include "wireproof/front/verbs/device/counters.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "wireproof/front/verbs/device/identity.hpp"

namespace wireproof::verbs {
namespace {

using host::CounterKind;
using host::CounterName;
using proto::ib::QueuePairCounter;

/// What the counters of the whole device are computed from.
struct Sums {
    const UdpCounters& udp;
    const Rocev2Counters& wire;
    const ShmCounters& shared;
    const proto::ib::PortCounters& port;
    proto::ib::QueuePairCounters total;
    std::uint64_t malformed = 0;
    std::uint64_t queue_pairs = 0;
};

struct DeviceCounter {
    CounterName name;
    std::uint64_t (*of)(const Sums&);
};

// The names after "counters." are those of /sys/class/infiniband/…/ports/1/counters. The names
// after "hw_counters." are those of Linux's Soft-RoCE and of common adapters, if the meaning is the
// same.
constexpr std::array device_counters = {
    DeviceCounter{{"device.queue_pairs", "queue pairs", CounterKind::gauge},
                  [](const Sums& s) { return s.queue_pairs; }},
    DeviceCounter{{"counters.port_xmit_packets", "packets"},
                  [](const Sums& s) { return s.udp.frames_sent + s.shared.frames_sent; }},
    DeviceCounter{{"counters.port_xmit_data", "4 bytes"},
                  [](const Sums& s) { return (s.udp.bytes_sent + s.shared.bytes_sent) / 4; }},
    DeviceCounter{{"counters.port_xmit_discards", "packets"},
                  [](const Sums& s) { return s.udp.send_dropped + s.udp.send_failed; }},
    DeviceCounter{{"counters.port_rcv_packets", "packets"},
                  [](const Sums& s) { return s.udp.frames_received + s.shared.frames_received; }},
    DeviceCounter{
        {"counters.port_rcv_data", "4 bytes"},
        [](const Sums& s) { return (s.udp.bytes_received + s.shared.bytes_received) / 4; }},
    DeviceCounter{{"counters.port_rcv_errors", "packets"},
                  [](const Sums& s) {
                      return s.wire.icrc_wrong + s.wire.too_short + s.udp.too_long +
                             s.port.damaged + s.malformed;
                  }},
    DeviceCounter{{"hw_counters.sent_pkts", "packets"},
                  [](const Sums& s) { return s.udp.frames_sent + s.shared.frames_sent; }},
    DeviceCounter{{"hw_counters.rcvd_pkts", "packets"},
                  [](const Sums& s) { return s.udp.frames_received + s.shared.frames_received; }},
    DeviceCounter{{"hw_counters.duplicate_request", "packets"},
                  [](const Sums& s) { return s.total.duplicates; }},
    DeviceCounter{{"hw_counters.out_of_seq_request", "packets"},
                  [](const Sums& s) { return s.total.gaps; }},
    DeviceCounter{{"hw_counters.out_of_sequence", "packets"},
                  [](const Sums& s) { return s.total.gaps; }},
    DeviceCounter{{"hw_counters.packet_seq_err", "times"},
                  [](const Sums& s) { return s.total.went_back; }},
    DeviceCounter{{"hw_counters.local_ack_timeout_err", "times"},
                  [](const Sums& s) { return s.total.timeouts; }},
    DeviceCounter{{"hw_counters.rcvd_rnr_err", "times"},
                  [](const Sums& s) { return s.total.rnr_waits; }},
    DeviceCounter{{"hw_counters.rnr_nak_retry_err", "times"},
                  [](const Sums& s) { return s.total.rnr_waits; }},
    DeviceCounter{{"hw_counters.send_rnr_err", "packets"},
                  [](const Sums& s) { return s.total.rnr_naks_sent; }},
    DeviceCounter{{"hw_counters.out_of_buffer", "packets"},
                  [](const Sums& s) { return s.total.not_ready; }},
    DeviceCounter{{"hw_counters.resp_remote_access_errors", "packets"},
                  [](const Sums& s) { return s.total.bad_key; }},
    DeviceCounter{{"hw_counters.rx_icrc_encapsulated", "packets"},
                  [](const Sums& s) { return s.wire.icrc_wrong; }},
    DeviceCounter{{"hw_counters.np_cnp_sent", "packets"},
                  [](const Sums& s) { return s.total.cnps_sent; }},
    DeviceCounter{{"hw_counters.np_ecn_marked_roce_packets", "packets"},
                  [](const Sums& s) { return s.total.marked; }},
    DeviceCounter{{"hw_counters.rp_cnp_handled", "packets"},
                  [](const Sums& s) { return s.total.cnps_handled; }},
    DeviceCounter{{"hw_counters.rp_cnp_ignored", "packets"},
                  [](const Sums& s) { return s.port.congestion - s.total.cnps_handled; }},
    DeviceCounter{{"wire.frames_resent", "frames"},
                  [](const Sums& s) { return s.udp.frames_resent + s.shared.frames_resent; }},
    DeviceCounter{{"wire.super_packets_sent", "datagrams"},
                  [](const Sums& s) { return s.udp.super_packets_sent; }},
    DeviceCounter{{"wire.super_packets_received", "datagrams"},
                  [](const Sums& s) { return s.udp.super_packets_received; }},
    DeviceCounter{{"wire.segments_refused", "datagrams"},
                  [](const Sums& s) { return s.udp.segments_refused; }},
    DeviceCounter{{"wire.send_dropped", "frames"},
                  [](const Sums& s) { return s.udp.send_dropped; }},
    DeviceCounter{{"wire.send_failed", "frames"}, [](const Sums& s) { return s.udp.send_failed; }},
    DeviceCounter{{"wire.kernel_dropped", "datagrams"},
                  [](const Sums& s) { return s.udp.kernel_dropped; }},
    DeviceCounter{{"wire.frames_marked", "frames"},
                  [](const Sums& s) { return s.udp.frames_marked; }},
    DeviceCounter{{"wire.unknown_source", "frames"},
                  [](const Sums& s) { return s.udp.unknown_source; }},
    DeviceCounter{{"wire.too_long", "datagrams"}, [](const Sums& s) { return s.udp.too_long; }},
    DeviceCounter{{"wire.too_short", "datagrams"}, [](const Sums& s) { return s.wire.too_short; }},
    DeviceCounter{{"wire.icrc_wrong", "packets"}, [](const Sums& s) { return s.wire.icrc_wrong; }},
    DeviceCounter{{"wire.identification_jumped", "packets"},
                  [](const Sums& s) { return s.wire.identification_jumped; }},
    DeviceCounter{{"shared.frames_sent", "frames"},
                  [](const Sums& s) { return s.shared.frames_sent; }},
    DeviceCounter{{"shared.frames_received", "frames"},
                  [](const Sums& s) { return s.shared.frames_received; }},
    DeviceCounter{{"shared.full_rings", "claims"},
                  [](const Sums& s) { return s.shared.full_rings; }},
    DeviceCounter{{"shared.doorbells_rung", "wakes"},
                  [](const Sums& s) { return s.shared.doorbells_rung; }},
    DeviceCounter{{"shared.connections", "connections"},
                  [](const Sums& s) { return s.shared.connections; }},
    DeviceCounter{{"shared.malformed_peers", "peers"},
                  [](const Sums& s) { return s.shared.malformed_peers; }},
    DeviceCounter{{"port.damaged", "packets"}, [](const Sums& s) { return s.port.damaged; }},
    DeviceCounter{{"port.unknown_queue_pair", "packets"},
                  [](const Sums& s) { return s.port.unknown_queue_pair; }},
    DeviceCounter{{"port.foreign_partition", "packets"},
                  [](const Sums& s) { return s.port.foreign_partition; }},
    DeviceCounter{{"port.foreign_source", "packets"},
                  [](const Sums& s) { return s.port.foreign_source; }},
    DeviceCounter{{"port.wrong_transport", "packets"},
                  [](const Sums& s) { return s.port.wrong_transport; }},
    DeviceCounter{{"port.congestion", "packets"}, [](const Sums& s) { return s.port.congestion; }},
};

template <class Use>
void for_each_counter(Use&& use) {
    for (const QueuePairCounter& one : proto::ib::reception_counters) use(one);
    for (const QueuePairCounter& one : proto::ib::more_counters) use(one);
}

Sums sums_of(const CountersOf& of, const std::vector<std::uint32_t>& numbers) {
    Sums sums{of.wire.udp, of.wire, of.shared, of.port.counters(), of.port.total()};
    for (const std::uint64_t count : sums.port.malformed) sums.malformed += count;
    // Queue pair 1 answers requests for connections. It is not counted.
    const auto counted = std::ranges::count_if(numbers, [](auto number) { return number > 1; });
    sums.queue_pairs = static_cast<std::uint64_t>(counted);
    return sums;
}

}  // namespace

void ShownCounters::open(const CountersOf& of) {
    opened_ = true;
    std::vector<CounterName> totals;
    for (const DeviceCounter& one : device_counters) totals.push_back(one.name);
    std::vector<CounterName> of_rows = {{"sends_posted", "requests", CounterKind::gauge},
                                        {"receives_posted", "requests", CounterKind::gauge}};
    for_each_counter([&](const QueuePairCounter& one) { of_rows.push_back({one.name, one.unit}); });
    section_ = host::CounterSection::open({.source = host::CounterSource::verbs_device,
                                           .totals = totals,
                                           .of_rows = of_rows,
                                           .rows = host::counter_rows_max},
                                          clock_);
    if (!section_) return;
    section_->begin(clock_.now());
    section_->set_details("name=" + std::string(device_name) + "\naddress=" + of.address +
                          "\npath_mtu=" + std::to_string(of.port.config().path_mtu) + "\n");
    section_->end();
}

void ShownCounters::copy(const CountersOf& of, Instant now) {
    const auto numbers = of.port.numbers();
    const Sums sums = sums_of(of, numbers);
    const std::size_t rows = std::min(numbers.size(), section_->row_places());
    section_->begin(now);
    for (std::size_t i = 0; i < device_counters.size(); ++i) {
        section_->set_total(i, device_counters[i].of(sums));
    }
    for (std::size_t row = 0; row < rows; ++row) {
        copy_row(of, row, *of.port.queue_pair(numbers[row]));
    }
    section_->set_rows(rows, numbers.size() - rows);
    section_->end();
}

void ShownCounters::copy_row(const CountersOf& of, std::size_t row,
                             const proto::ib::QueuePairCore& core) {
    const proto::ib::QueuePairAttributes& known = core.attributes();
    const Told told{core.number(), core.config().transport, core.state(),    known.has_address,
                    known.address, known.dest_queue_pair,   known.congestion};
    if (row == told_.size()) told_.emplace_back();
    if (told_[row] != told) {
        told_[row] = told;
        section_->set_row_text(row, std::to_string(told.number), details_of(of, told));
    }
    std::size_t at = 0;
    section_->set_value(row, at++, core.sends.size());
    section_->set_value(row, at++, core.receives.size());
    for_each_counter([&](const QueuePairCounter& one) {
        section_->set_value(row, at++, core.counters.*one.count);
    });
}

std::string ShownCounters::details_of(const CountersOf& of, const Told& told) const {
    std::string details = "transport=" + std::string(proto::ib::name_of(told.transport)) +
                          "\nstate=" + std::string(proto::ib::name_of(told.state)) + "\n";
    if (told.has_address) {
        details += "peer=" + of.address_of(told.peer) +
                   "\npeer_queue_pair=" + std::to_string(told.peer_queue_pair) + "\n";
    }
    if (told.transport == proto::ib::Transport::rc) {
        details += "congestion_control=" + std::string(name_of(told.congestion)) + "\n";
    }
    return details;
}

// Without memory for a text, they are not published, or are copied later.
void ShownCounters::show(const CountersOf& of) try {
    constexpr Duration least = Duration::milliseconds(10);
    constexpr std::int64_t share = 100;  // a copy takes at most 1/100 of the time
    if (!opened_) open(of);
    noted_ = false;
    if (!section_) {
        again_ = never;
        return;
    }
    const Instant begun = clock_.now();
    copy(of, begun);
    const Instant ended = clock_.now();
    again_ = ended + std::max(least, (ended - begun) * share);
} catch (const std::bad_alloc&) {
}

}  // namespace wireproof::verbs
