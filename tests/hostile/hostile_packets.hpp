// Makes hostile packets from valid ones: with other opcodes, numbers, keys, addresses and lengths,
// or with random bytes. The ICRC is right, wrong, or right for another IPv4 header.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/proto/ib/cm/cm_messages.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/transport/memory_table.hpp"

namespace wireproof::hostile {

enum class Hostility : std::uint8_t {
    altered,             // fields or bytes changed, right ICRC
    repeated,            // an earlier packet again
    invented,            // random bytes, right ICRC
    damaged,             // one bit of the packet or of the ICRC flipped
    unchecked,           // a random ICRC
    far_identification,  // an ICRC for an IPv4 identification that is far from the last one
    meeting,             // a message of connection management to queue pair 1
    cut,                 // too short for a packet
    too_long,            // longer than any packet of the path MTU
    stranger,            // altered, from a host that is not a peer
    impostor,            // damaged, from the host of the honest peer but from another port
};

inline constexpr std::array<std::string_view, 11> hostility_names = {
    "altered", "repeated", "invented", "damaged",  "unchecked", "far_identification",
    "meeting", "cut",      "too_long", "stranger", "impostor"};

/// Targets of hostile packets.
struct HostileAims {
    proto::ib::Transport transport = proto::ib::Transport::rc;
    std::vector<std::uint32_t> queue_pairs = {};
    std::vector<proto::ib::Piece> regions = {};
    std::uint64_t service = 0;   // that has a listener
    std::size_t packet_max = 0;  // bytes of the longest packet that the target accepts
};

using PacketBytes = std::vector<std::byte>;

class HostilePackets {
public:
    HostilePackets(std::uint64_t seed, HostileAims aims) : dice_(seed), aims_(std::move(aims)) {}

    Random& dice() { return dice_; }

    /// Changes the packet in place. The result may be any packet, valid or not.
    void alter(PacketBytes& packet);
    PacketBytes invented();
    /// A Write to one of the queue pairs, with the right length.
    PacketBytes plausible();
    /// A message of connection management in which most fields are random.
    PacketBytes meeting();

    /// Appends the ICRC to a packet that goes from `way.from` to `way.to`.
    struct Way {
        Address from;
        Address to;
    };
    void check(PacketBytes& packet, const Way& way, std::uint16_t identification = 0) const;
    /// Flips one bit that the ICRC covers, in a packet that has an ICRC.
    void damage(PacketBytes& checked);

private:
    template <class T>
    const T& any_of(const std::vector<T>& all) {
        return all[dice_.below(all.size())];
    }
    bool chance(double probability) { return dice_.chance(probability); }
    void alter_headers(proto::ib::Headers& headers);
    void alter_bytes(PacketBytes& packet);
    void aim_at(const proto::ib::Piece& region, proto::ib::Headers& headers);
    std::uint64_t near(const proto::ib::Piece& region);
    std::uint32_t length();
    proto::ib::Psn near(proto::ib::Psn psn);

    Random dice_;
    HostileAims aims_;
};

}  // namespace wireproof::hostile
