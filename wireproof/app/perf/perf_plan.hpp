// The settings of a `wireproof perf` measurement, and its results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/histogram.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::app {

enum class PerfWire : std::uint8_t { memory, shm, udp };
enum class PerfProtocol : std::uint8_t { sp_am, rc, uc };
enum class PerfOp : std::uint8_t { request_reply, stream, store, store_async, get };  // of SP AM
enum class PerfIbOp : std::uint8_t { send, write, read, fetch_add };  // of queue pairs

struct PerfPlan {
    PerfProtocol protocol = PerfProtocol::sp_am;
    PerfWire wire = PerfWire::shm;
    PerfOp op = PerfOp::request_reply;
    std::vector<PerfIbOp> ib_ops;
    std::vector<std::size_t> sizes;  // bytes
    double loss = 0;
    std::size_t in_flight = 0;  // 0: the default of the operation
    std::size_t per_poll = 32;
    std::size_t mtu = 1500;
    bool private_memory = false;  // on shm: memory of the process, not of a shared segment
    std::string to;               // address of a `wireproof perf --listen`; empty: our own process
    std::string listen;
    // Congestion control on udp; unset: by_path between hosts, else off.
    std::optional<am::Congestion> congestion;
    bool trust_payload = false;  // payload of stores and gets on udp
    std::uint64_t seed = 0;
    double slice_seconds = 0.1;
    int rounds = 7;
    bool json = false;
    std::string html;  // file; empty: none

    am::Congestion congestion_control() const;
    bool controls_congestion() const { return congestion_control() != am::Congestion::off; }
    /// Between two hosts, packets always leave room for the header of IPv6: an end at [::] also
    /// receives IPv4, and both ends must use the same packet length.
    am::IpVersion ip() const {
        return to.empty() && listen.empty() ? am::IpVersion::v4 : am::IpVersion::v6;
    }
    bool is_ib() const { return protocol != PerfProtocol::sp_am; }
    bool sends_messages() const { return op == PerfOp::request_reply || op == PerfOp::stream; }
    std::string protocol_name() const;
    std::string wire_name() const;
    std::string op_name() const;
};

/// The configuration of the engine for the plan. Throws Failure if it does not work.
am::Config perf_config(const PerfPlan& plan, std::uint16_t node);

/// The results of one slice of time.
struct PerfSlice {
    Histogram half_rtt;  // ticks
    std::uint64_t messages = 0;
    double seconds = 0;

    double rate() const { return seconds > 0 ? static_cast<double>(messages) / seconds : 0; }
};

struct PerfRun {
    std::size_t size = 0;
    int rounds = 0;
    struct Latency {
        double min = 0;
        double mean = 0;
        double p50 = 0;
        double p99 = 0;
        double p999 = 0;
    };
    std::optional<Latency> half_rtt_ns;    // of all rounds, with the same weight for each
    std::optional<double> messages_per_s;  // median of the rounds, like all that follow
    std::optional<double> bytes_per_s;
    double cpu_seconds = 0;  // of both ends, during the measurement
    std::uint64_t resent = 0;
    std::optional<double> limit;  // in the unit of the operation's main figure
    std::optional<double> ratio;
    std::optional<double> one_per_poll;  // stream: messages/s with one request for each poll
    std::string how;                     // store and get: how the bytes travelled
};

struct PerfReport {
    std::vector<PerfRun> runs;
    std::string limit_name;  // the name of the limit
};

std::string perf_table(const PerfPlan& plan, const PerfReport& report);
std::string perf_json(const PerfPlan& plan, const PerfReport& report);
std::string perf_html(const PerfPlan& plan, const PerfReport& report);

}  // namespace wireproof::app
