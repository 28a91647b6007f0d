// What is to go wrong: a value, as read from options or from a file of TOML. docs: README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/proto/ib/completion_queue.hpp"

namespace wireproof::verbs {

/// As this host sees a packet.
enum class Way : std::uint8_t { sent, received };

/// Chances of the packets of one way. All are 0..1.
struct FaultChances {
    FaultRates rates = {};
    double damage = 0;  // a bit is flipped behind the ICRC, which then is wrong
    double delay = 0;
    Duration delay_time = Duration::milliseconds(1);
    double burst = 0;  // begins with this packet, and all of its packets are lost
    std::uint32_t burst_packets = 8;

    friend bool operator==(const FaultChances&, const FaultChances&) = default;
};

/// Packets that meet a fate of their own, instead of what the chances say.
struct PacketRule {
    Way way = Way::sent;
    /// Its kind is the opcode, its numbers are PSNs, and packets are counted from 1 for each queue
    /// pair, each once however often it is sent.
    FaultRule rule = {};
    std::optional<std::uint32_t> queue_pair = {};  // of this device, in the order of creation: 1 …
    std::uint32_t attempt_first = 1;
    std::uint32_t attempt_last = 1;
    Duration delay = {};
};

/// Nothing comes through either way, and the port says so to the program.
struct LinkDown {
    Duration at = {};                             // since the device was opened
    std::optional<std::uint64_t> at_packet = {};  // instead: of the device, either way, from 1
    Duration lasts = {};
};

/// A work request that the device ends with this status. For a send request it sends no packet.
struct CompletionFault {
    enum class Of : std::uint8_t { send, receive };

    Of of = Of::send;
    std::optional<std::uint32_t> queue_pair = {};  // as above; nothing: of each
    std::uint64_t nth = 1;
    proto::ib::CompletionStatus status = proto::ib::CompletionStatus::retry_exceeded;
};

/// An event that the device tells the program though nothing has happened. The queue pairs that the
/// event is about go into error: all of them if it is about the device.
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
    Duration at = {};                              // as of LinkDown
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

/// The error is one line that begins with `name` and the place in the text.
Expected<FaultScript> read_fault_script(std::string_view text, const std::string& name);

}  // namespace wireproof::verbs
