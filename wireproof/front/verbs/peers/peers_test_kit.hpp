// Peers objects of devices in one process, each with an address of its own, and processes that are
// not devices.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "wireproof/front/verbs/peers/peers.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"

namespace wireproof::verbs::peers_test {

inline Address address_of(std::uint8_t last) {
    Address address = wireproof::test::own_host(last);
    address.port = rocev2_port;
    return address;
}

inline Rocev2Wire udp_at(std::uint8_t last) {
    auto wire = Rocev2Wire::open(
        {.local = address_of(last), .strangers_max = 16, .frame_max = proto::ib::packet_max(4096)});
    EXPECT_TRUE(wire.has_value()) << wire.error().message;
    return std::move(*wire);
}

struct End {
    explicit End(std::uint8_t last, bool shares = true) : peers(udp_at(last), shares) {}

    PeerId knows(std::uint8_t last) {
        const auto peer = peers.find(address_of(last), 16);
        EXPECT_TRUE(peer.has_value());
        return *peer;
    }
    /// Sends a packet of 16 equal bytes. `which` is their value.
    bool send(Instant now, PeerId to, char which) {
        PeerLane lane = peers.lane(to);
        TxFrame* const frame = lane.claim();
        if (frame == nullptr) return false;
        const Bytes packet = frame->add_room(16);
        std::fill(packet.begin(), packet.end(), static_cast<std::byte>(which));
        lane.commit();
        peers.flush(now);
        return true;
    }
    /// Receives all packets that have come. Returns their bytes.
    std::string take(Instant now) {
        std::string came;
        while (const auto frame = peers.receive(now)) {
            came += static_cast<char>(frame->bytes.empty() ? std::byte{'?'} : frame->bytes.back());
        }
        return came;
    }
    bool shares(PeerId peer) { return peers.lane(peer).is_shared(); }

    Peers peers;
};

class Clock {
public:
    Instant pass() { return now_ = now_ + Duration::milliseconds(2); }
    Instant now() const { return now_; }

private:
    Instant now_{Duration::milliseconds(5)};
};

inline void meet(End& a, End& b, Clock& clock) {
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(a.take(clock.pass()), "");
        EXPECT_EQ(b.take(clock.now()), "");
    }
}

/// `a` accepts a caller, and then reads what it says.
inline void hear(End& a, Clock& clock) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(a.take(clock.pass()), "");
}

inline bool is_alive(End& end, PeerId peer, Instant now) {
    proto::ib::Neighbours neighbours;
    end.peers.judge(now, neighbours);
    return neighbours.is_alive(peer);
}

/// Speaks to a device as a process of the same user that is not a device. It calls, or it was
/// called.
class Stranger {
public:
    Stranger() : Stranger(*connect_to(place_of(1))) {}
    explicit Stranger(ControlSocket socket) : socket_(std::move(socket)) {}

    static MeetingPlace place_of(std::uint8_t last) {
        return {"verbs-" + address_of(last).host_text(), 0};
    }
    void say(ConstBytes message, int descriptor = -1) const { socket_.send(message, descriptor); }
    void say(PeerMessage message, int descriptor = -1) const {
        std::array<std::byte, PeerMessage::size> bytes{};
        message.encode(bytes);
        say(bytes, descriptor);
    }
    void greet(int descriptor, std::uint64_t life = 7, bool memory = true) const {
        say({.kind = PeerMessage::Kind::hello,
             .memory = memory,
             .life = life,
             .address = address_of(2)},
            descriptor);
    }
    void say(PeerMessage::Kind kind, bool memory = false) const {
        say({.kind = kind, .memory = memory, .life = 7, .address = address_of(2)});
    }
    std::optional<PeerMessage> answer() {
        if (socket_.receive(heard_) != ControlSocket::Received::message) return std::nullopt;
        return PeerMessage::decode(heard_.bytes());
    }
    /// The descriptor that came with the last answer.
    Descriptor& came_along() { return heard_.descriptor; }
    bool is_refused() { return socket_.receive(heard_) == ControlSocket::Received::ended; }

private:
    ControlSocket socket_;
    ControlSocket::Message heard_;
};

}  // namespace wireproof::verbs::peers_test
