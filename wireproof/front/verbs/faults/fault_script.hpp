// A script of faults, as read from options or from a file of TOML (docs/guide/rdma/faults.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/proto/ib/transport/completion_queue.hpp"

namespace wireproof::verbs {

/// The direction of a packet, seen from this host.
enum class Way : std::uint8_t { sent, received };

/// Probabilities for the packets of one way, each from 0 to 1.
struct FaultChances {
    FaultRates rates = {};
    double damage = 0;  // of a flipped bit after the ICRC was computed, so the ICRC is wrong
    double delay = 0;
    Duration delay_time = Duration::milliseconds(1);
    double burst = 0;  // that a burst begins with this packet; all packets of the burst are lost
    std::uint32_t burst_packets = 8;

    friend bool operator==(const FaultChances&, const FaultChances&) = default;
};

/// Packets with a fate of their own. The probabilities do not apply to them.
struct PacketRule {
    Way way = Way::sent;
    /// The kind is the opcode, and the numbers are PSNs. Packets are counted from 1 for each queue
    /// pair. A packet counts once, even if it is sent several times.
    FaultRule rule = {};
    std::optional<std::uint32_t> queue_pair = {};  // of this device, in creation order, from 1
    std::uint32_t attempt_first = 1;
    std::uint32_t attempt_last = 1;
    Duration delay = {};
};

/// For a while no packet passes in either direction, and the port reports that it is down.
struct LinkDown {
    Duration at = {};                             // after the device was opened
    std::optional<std::uint64_t> at_packet = {};  // instead: the nth packet, both ways, from 1
    Duration lasts = {};
};

/// A work request that the device ends with this status. The device sends no packet for such a send
/// request.
struct CompletionFault {
    enum class Of : std::uint8_t { send, receive };

    Of of = Of::send;
    std::optional<std::uint32_t> queue_pair = {};  // as above; empty: each queue pair
    std::uint64_t nth = 1;
    proto::ib::CompletionStatus status = proto::ib::CompletionStatus::retry_exceeded;
};

/// An event that the device reports to the program although nothing has happened. The queue pairs
/// of the event go to the error state. If the event is about the device, all queue pairs do.
struct EventFault {
    enum class What : std::uint8_t {
        device_fatal,
        queue_pair_fatal,
        request_refused,
        access_refused,
        limit_reached
    };

    What what = What::device_fatal;
    std::optional<std::uint32_t> queue_pair = {};  // as above
    Duration at = {};                              // as in LinkDown
    std::optional<std::uint64_t> at_packet = {};
};

struct FaultScript {
    static constexpr std::size_t rules_max = 64;

    FaultChances sent = {};
    FaultChances received = {};
    std::vector<PacketRule> rules = {};
    std::vector<LinkDown> downs = {};
    std::vector<CompletionFault> completions = {};
    std::vector<EventFault> events = {};

    const FaultChances& of(Way way) const { return way == Way::sent ? sent : received; }
    bool empty() const {
        return sent == FaultChances() && received == FaultChances() && rules.empty() &&
               downs.empty() && completions.empty() && events.empty();
    }
};

/// The error is one line. It begins with `name` and the place in the text.
Expected<FaultScript> read_fault_script(std::string_view text, const std::string& name);

}  // namespace wireproof::verbs
