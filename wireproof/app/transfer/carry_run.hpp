// One transfer of one file: its options and its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wireproof/app/common/files.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof::app {

struct CarryOptions {
    std::string file;
    std::string out;  // empty: the received bytes are only compared
    std::string protocol = "sp-am";
    std::string wire = "udp";
    FaultRates faults;
    std::size_t mtu = 1500;
    double peer_timeout = 10;  // seconds
    double rate = 0;           // bytes per second, for uc; 0: as fast as the receiver takes
    std::uint64_t seed = 0;
    bool json = false;
};

/// The frames that one side put on the wire, and their faults.
struct SideCounts {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t resent = 0;
    std::uint64_t lost = 0;
    std::uint64_t damaged = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t acks = 0;
    std::uint64_t nacks = 0;
    std::uint64_t keepalives = 0;
    std::uint64_t timeouts = 0;
};

/// Messages of the file, for protocols in which whole messages may be lost.
struct MessageCounts {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;

    std::uint64_t abandoned() const { return sent - delivered; }
};

struct CarryResult {
    std::string protocol = "sp-am";
    std::string wire = "udp";
    bool verified = false;
    bool complete = false;
    std::string failure;      // one line; empty: none
    std::uint64_t bytes = 0;  // bytes of the file that arrived
    double seconds = 0;
    std::optional<MessageCounts> messages;  // rc and uc
    // The verbs send and recv know only their own side.
    SideCounts sender;
    SideCounts receiver;
    bool sender_known = true;
};

/// The configuration of one end. Throws Failure if the options cannot work.
am::Config carry_config(const CarryOptions& options, std::uint16_t node,
                        Address::Family family = Address::Family::ipv4);

/// The counts of the engine. The owner of the wire adds the counts of the wire.
SideCounts engine_counts(const am::Node& node, std::size_t peer);

/// Two processes over loopback sockets or shared memory. Throws Failure if the transfer cannot
/// begin, and Interrupted.
CarryResult carry_live(const CarryOptions& options, const InputFile& file);

/// Two nodes in simulated time: the same seed always gives exactly the same result.
CarryResult carry_on_sim(const CarryOptions& options, const InputFile& file);

}  // namespace wireproof::app
