// One file carried once: how it is asked for, what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wireproof/app/common/files.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::cli {

struct CarryOptions {
    std::string file;
    std::string out;  // empty: what arrives is compared and thrown away
    std::string protocol = "sp-am";
    std::string wire = "udp";
    FaultRates faults;
    std::size_t mtu = 1500;
    double peer_timeout = 10;  // seconds
    double rate = 0;           // bytes per second, of uc; 0: what the receiver takes
    std::uint64_t seed = 0;
    bool json = false;
};

/// What one side put on the wire, and what befell it there.
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

/// Of the file, where it goes in messages that may get lost as a whole.
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
    std::uint64_t bytes = 0;  // of the file, that arrived
    double seconds = 0;
    std::optional<MessageCounts> messages;  // rc and uc
    // send and recv know their own side only.
    SideCounts sender;
    SideCounts receiver;
    bool sender_known = true;
};

/// The configuration of one end. Throws Failure if the options cannot work.
am::Config carry_config(const CarryOptions& options, std::uint16_t node,
                        Address::Family family = Address::Family::ipv4);

/// What the engine counted; the wire's part is added by who owns the wire.
SideCounts engine_counts(const am::Node& node, std::size_t peer);

/// Two processes over loopback sockets or shared memory. Throws Failure for what cannot begin,
/// Interrupted.
CarryResult carry_live(const CarryOptions& options, const InputFile& file);

/// Two nodes in virtual time: the same seed gives the same result to the last digit.
CarryResult carry_on_sim(const CarryOptions& options, const InputFile& file);

}  // namespace wireproof::cli
