#include "wireproof/front/verbs/device/counters.hpp"

#include <array>

namespace wireproof::verbs {
namespace {

// The names after "counters." are those of /sys/class/infiniband/…/ports/1/counters. The names
// after "hw_counters." are those of Linux's Soft-RoCE and of common adapters, if the meaning is the
// same.
constexpr std::array counters = {
    rdma::PortTotal{
        {"counters.port_xmit_packets", "packets"},
        [](const rdma::PortSums& s) { return s.wire.udp.frames_sent + s.shared.frames_sent; }},
    rdma::PortTotal{
        {"counters.port_xmit_data", "4 bytes"},
        [](const rdma::PortSums& s) { return (s.wire.udp.bytes_sent + s.shared.bytes_sent) / 4; }},
    rdma::PortTotal{
        {"counters.port_xmit_discards", "packets"},
        [](const rdma::PortSums& s) { return s.wire.udp.send_dropped + s.wire.udp.send_failed; }},
    rdma::PortTotal{{"counters.port_rcv_packets", "packets"},
                    [](const rdma::PortSums& s) {
                        return s.wire.udp.frames_received + s.shared.frames_received;
                    }},
    rdma::PortTotal{{"counters.port_rcv_data", "4 bytes"},
                    [](const rdma::PortSums& s) {
                        return (s.wire.udp.bytes_received + s.shared.bytes_received) / 4;
                    }},
    rdma::PortTotal{{"counters.port_rcv_errors", "packets"},
                    [](const rdma::PortSums& s) {
                        return s.wire.icrc_wrong + s.wire.too_short + s.wire.udp.too_long +
                               s.port.damaged + s.malformed;
                    }},
    rdma::PortTotal{
        {"hw_counters.sent_pkts", "packets"},
        [](const rdma::PortSums& s) { return s.wire.udp.frames_sent + s.shared.frames_sent; }},
    rdma::PortTotal{{"hw_counters.rcvd_pkts", "packets"},
                    [](const rdma::PortSums& s) {
                        return s.wire.udp.frames_received + s.shared.frames_received;
                    }},
    rdma::PortTotal{{"hw_counters.duplicate_request", "packets"},
                    [](const rdma::PortSums& s) { return s.total.duplicates; }},
    rdma::PortTotal{{"hw_counters.out_of_seq_request", "packets"},
                    [](const rdma::PortSums& s) { return s.total.gaps; }},
    rdma::PortTotal{{"hw_counters.out_of_sequence", "packets"},
                    [](const rdma::PortSums& s) { return s.total.gaps; }},
    rdma::PortTotal{{"hw_counters.packet_seq_err", "times"},
                    [](const rdma::PortSums& s) { return s.total.went_back; }},
    rdma::PortTotal{{"hw_counters.local_ack_timeout_err", "times"},
                    [](const rdma::PortSums& s) { return s.total.timeouts; }},
    rdma::PortTotal{{"hw_counters.rcvd_rnr_err", "times"},
                    [](const rdma::PortSums& s) { return s.total.rnr_waits; }},
    rdma::PortTotal{{"hw_counters.rnr_nak_retry_err", "times"},
                    [](const rdma::PortSums& s) { return s.total.rnr_waits; }},
    rdma::PortTotal{{"hw_counters.send_rnr_err", "packets"},
                    [](const rdma::PortSums& s) { return s.total.rnr_naks_sent; }},
    rdma::PortTotal{{"hw_counters.out_of_buffer", "packets"},
                    [](const rdma::PortSums& s) { return s.total.not_ready; }},
    rdma::PortTotal{{"hw_counters.resp_remote_access_errors", "packets"},
                    [](const rdma::PortSums& s) { return s.total.bad_key; }},
    rdma::PortTotal{{"hw_counters.rx_icrc_encapsulated", "packets"},
                    [](const rdma::PortSums& s) { return s.wire.icrc_wrong; }},
    rdma::PortTotal{{"hw_counters.np_cnp_sent", "packets"},
                    [](const rdma::PortSums& s) { return s.total.cnps_sent; }},
    rdma::PortTotal{{"hw_counters.np_ecn_marked_roce_packets", "packets"},
                    [](const rdma::PortSums& s) { return s.total.marked; }},
    rdma::PortTotal{{"hw_counters.rp_cnp_handled", "packets"},
                    [](const rdma::PortSums& s) { return s.total.cnps_handled; }},
    rdma::PortTotal{
        {"hw_counters.rp_cnp_ignored", "packets"},
        [](const rdma::PortSums& s) { return s.port.congestion - s.total.cnps_handled; }},
};

}  // namespace

std::span<const rdma::PortTotal> adapter_counters() {
    return counters;
}

}  // namespace wireproof::verbs
