// What a hostile host makes of good packets: other opcodes, numbers, keys, addresses and lengths,
// bytes of chance, and checks that are right, wrong, or right for another IPv4 header.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/cm_messages.hpp"
#include "wireproof/proto/ib/memory_table.hpp"
#include "wireproof/proto/ib/packet.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::cli {

enum class Hostility : std::uint8_t {
    altered,             // fields or bytes changed, the check right
    repeated,            // an earlier packet once more
    invented,            // bytes of chance, the check right
    damaged,             // one bit of packet or check flipped on the way
    unchecked,           // a check of chance
    far_identification,  // the check right with an IPv4 identification far from the last
    meeting,             // a datagram to queue pair 1 that asks for a connection, or speaks of one
    cut,                 // too short for a packet
    too_long,            // for every packet of the path MTU
    stranger,            // altered, of a host that is no peer
    impostor,            // of the honest peer's host, damaged: somebody there has no key to it
};

inline constexpr std::array<std::string_view, 11> hostility_names = {
    "altered", "repeated", "invented", "damaged",  "unchecked", "far_identification",
    "meeting", "cut",      "too_long", "stranger", "impostor"};

/// What is worth aiming at.
struct HostileAims {
    proto::ib::Transport transport = proto::ib::Transport::rc;
    std::vector<std::uint32_t> queue_pairs = {};
    std::vector<proto::ib::Piece> regions = {};
    std::uint64_t service = 0;   // that somebody listens to
    std::size_t packet_max = 0;  // that the target takes, bytes
};

using PacketBytes = std::vector<std::byte>;

class HostilePackets {
public:
    HostilePackets(std::uint64_t seed, HostileAims aims) : dice_(seed), aims_(std::move(aims)) {}

    Random& dice() { return dice_; }

    /// In place; anything may come out, whatever went in.
    void alter(PacketBytes& packet);
    PacketBytes invented();
    /// A write to one of the queue pairs, with a right length.
    PacketBytes plausible();
    /// Of connection management, most fields of chance.
    PacketBytes meeting();

    /// Puts the check behind a packet that goes from here to there.
    struct Way {
        Address from;
        Address to;
    };
    void check(PacketBytes& packet, const Way& way, std::uint16_t identification = 0) const;
    /// Flips one bit that a check covers, of a packet that has one.
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

}  // namespace wireproof::cli
