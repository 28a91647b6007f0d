// A hostile host that is a peer of the target. It has connections with valid traffic. Between the
// valid packets it sends altered ones, from its own address and from other hosts that it controls.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "tests/hostile/conversation.hpp"
#include "tests/hostile/hostile_packets.hpp"

#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::hostile {

class HostileHost {
public:
    struct Config {
        Address target;
        Address impostor;  // host of the target's honest peer; the kernel chooses the port
        std::size_t path_mtu = 1024;
        std::uint64_t seed = 0;
    };
    HostileHost(UdpWire own, UdpWire stranger, const Config& config);

    Address address() const { return own_.wire.local_address(); }
    Conversation& add_conversation(proto::ib::Transport transport, std::uint64_t seed);
    std::deque<Conversation>& conversations() { return conversations_; }
    proto::ib::Piece open() const;
    void aim(const HostileAims& aims) { packets_ = HostilePackets(config_.seed, aims); }

    /// Sends `count` hostile packets, and valid ones between them.
    void attack(Instant now, std::uint64_t count);
    /// Receives the packets that the target sends to the connections of this host.
    void take_answers(Instant now);

    std::uint64_t sent(Hostility as) const { return sent_[static_cast<std::size_t>(as)]; }
    std::uint64_t good() const { return good_; }
    /// Datagrams that the kernel accepted for sending.
    std::uint64_t datagrams() const;

private:
    struct Mouth {
        UdpWire wire;
        Address address;
    };
    static constexpr std::size_t remembered_max = 256;

    Mouth opened_impostor() const;
    /// The valid packet that a connection of this host sends next; empty: there is none.
    PacketBytes genuine(Instant now);
    void send_harm(Hostility kind, PacketBytes packet, Instant now);
    void send(Mouth& mouth, ConstBytes datagram, Instant now);
    void remember(const PacketBytes& packet);

    Config config_;
    Mouth own_;
    Mouth stranger_;
    Mouth impostor_;
    proto::ib::Port port_;
    std::vector<std::byte> memory_;
    std::uint32_t key_ = 0;
    std::deque<Conversation> conversations_;
    HostilePackets packets_;
    std::vector<PacketBytes> remembered_;
    std::size_t forget_next_ = 0;
    std::array<std::uint64_t, hostility_names.size()> sent_{};
    std::uint64_t good_ = 0;
};

}  // namespace wireproof::hostile
