// Tests IPv4 identifications, which the ICRC covers: the wire computes them, or a raw socket shows
// them.
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "wireproof/wire/udp/rocev2_test_kit.hpp"

namespace wireproof::test {
namespace {

/// The kernel's identification is hidden from sender and receiver. So this test may compute the
/// ICRC with any identification: the receiver sees no difference.
TEST(Rocev2Wire, WorksOutTheIdentificationThatAPeerCountsUp) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    const auto send = [&](unsigned identification) {
        const auto id = static_cast<std::uint16_t>(identification);
        peer.send(here, peer.with_icrc(here, packet_of(48, identification), id));
    };
    for (unsigned id = 65'500; id < 65'600; id += 3) {  // 65'536 is 0 and is not computed
        send(id);
        EXPECT_EQ(next(wire), packet_of(48, id)) << id;
    }
    EXPECT_EQ(wire.counters().identified, 33U);
    // The peer's counter went on while it sent to other hosts. The first packet after that shows
    // the new value and is lost.
    send(10'000);
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().identification_jumped, 1U);
    send(10'002);
    EXPECT_EQ(next(wire), packet_of(48, 10'002));
    EXPECT_EQ(wire.counters().icrc_wrong, 0U);
}

TEST(Rocev2Wire, AStrangersFirstIdentificationIsKeptWithIt) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .strangers_max = 1});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    peer.send(here, peer.with_icrc(here, packet_of(48), 10'000));
    EXPECT_EQ(next(wire), packet_of(48));
    peer.send(here, peer.with_icrc(here, packet_of(48), 20'000));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().identification_jumped, 1U);
}

// A packet may have waited since the wire was last seen empty.
TEST(Rocev2Wire, ThePauseOfAPeerBeginsWhenItsLastPacketMayHaveCome) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    const auto at = [](std::int64_t milliseconds) {
        return Instant(Duration::milliseconds(milliseconds));
    };
    EXPECT_FALSE(wire.receive(at(0)));
    peer.send(here, peer.with_icrc(here, packet_of(48), 10'000));
    EXPECT_EQ(next(wire, nullptr, at(1'000)), packet_of(48));
    peer.send(here, peer.with_icrc(here, packet_of(52), 11'000));
    EXPECT_EQ(next(wire, nullptr, at(1'001)), packet_of(52));
    EXPECT_EQ(wire.counters().identification_jumped, 0U);
}

// After a datagram that was asked for alone, the wire does not know whether another one waits, and
// returns nothing once. That does not mean that later packets arrived after that.
TEST(Rocev2Wire, PacketsThatWaitedWhileTheReceiverPausedAreTakenOneByOne) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    EXPECT_FALSE(wire.receive(now));
    // Sent within 10 s, while nobody receives. The peer's counter goes on with the time.
    constexpr std::array<std::uint16_t, 3> sent{1'000, 5'000, 9'000};
    for (const std::uint16_t id : sent) {
        peer.send(here, peer.with_icrc(here, packet_of(48, id), id));
    }
    for (const std::uint16_t id : sent) {
        const Instant at(Duration::milliseconds(10'000 + id / 1'000));
        const auto frame = wire.receive(at);
        ASSERT_TRUE(frame) << id;
        EXPECT_EQ(Packet(frame->bytes.begin(), frame->bytes.end()), packet_of(48, id));
        EXPECT_FALSE(wire.receive(at)) << "nothing, without a look";
    }
    EXPECT_EQ(wire.counters().identification_jumped, 0U);
    // From now on a jump is seen: the wire knows that nothing waited.
    const Instant later(Duration::milliseconds(10'020));
    EXPECT_FALSE(wire.receive(later));
    peer.send(here, peer.with_icrc(here, packet_of(48), 9'001));
    EXPECT_TRUE(wire.receive(later));
    EXPECT_FALSE(wire.receive(later));
    peer.send(here, peer.with_icrc(here, packet_of(48), 9'500));
    EXPECT_FALSE(wire.receive(later));
    EXPECT_EQ(wire.counters().identification_jumped, 1U);
}

TEST(Rocev2Wire, PacketsThatWaitedSinceTheWireWasOpenedAreNear) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    constexpr std::array<std::uint16_t, 3> sent{1'000, 5'000, 9'000};
    for (const std::uint16_t id : sent) {
        peer.send(here, peer.with_icrc(here, packet_of(48, id), id));
    }
    const Instant at(Duration::milliseconds(10'000));
    for (const std::uint16_t id : sent) {
        EXPECT_EQ(next(wire, nullptr, at), packet_of(48, id));
    }
}

// The identifications and times are from a capture of Soft-RoCE, which sent a packet each four
// seconds.
TEST(Rocev2Wire, APeerThatPausesForSecondsLosesNoPacket) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    struct Sent {
        std::int64_t milliseconds;
        std::uint16_t identification;
    };
    constexpr std::array sent{Sent{0, 0x96C6}, Sent{4'009, 0x9A74}, Sent{8'027, 0x9AFB},
                              Sent{12'033, 0x9E76}, Sent{16'043, 0xA034}};
    for (const Sent& one : sent) {
        const Instant at(Duration::milliseconds(one.milliseconds));
        EXPECT_FALSE(wire.receive(at));
        const Packet packet = packet_of(48, one.identification);
        peer.send(here, peer.with_icrc(here, packet, one.identification));
        EXPECT_EQ(next(wire, nullptr, at), packet) << one.milliseconds;
    }
    EXPECT_EQ(wire.counters().identified, 5U);
    EXPECT_EQ(wire.counters().identification_jumped, 0U);
    EXPECT_EQ(wire.counters().icrc_wrong, 0U);
}

/// Sends datagrams with its own IP headers, like a kernel that counts identifications up.
class RawSender {
public:
    RawSender() : handle_(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW)) {}
    ~RawSender() {
        if (handle_ >= 0) ::close(handle_);
    }
    RawSender(const RawSender&) = delete;
    RawSender& operator=(const RawSender&) = delete;

    bool permitted() const { return handle_ >= 0; }

    void send(const Address& from, const Address& to, std::uint16_t id, ConstBytes payload) {
        Packet datagram(28 + payload.size());
        const auto put = [&](std::size_t at, std::size_t value) {
            datagram[at] = static_cast<std::byte>(value >> 8);
            datagram[at + 1] = static_cast<std::byte>(value);
        };
        datagram[0] = std::byte{0x45};
        put(2, datagram.size());
        put(4, id);
        datagram[6] = std::byte{0x40};
        datagram[8] = std::byte{64};
        datagram[9] = std::byte{17};
        std::memcpy(&datagram[12], from.host.data(), 4);
        std::memcpy(&datagram[16], to.host.data(), 4);
        put(20, from.port);
        put(22, to.port);
        put(24, 8 + payload.size());
        std::memcpy(&datagram[28], payload.data(), payload.size());
        const SocketAddress there = to_socket_address(to);
        ASSERT_EQ(
            ::sendto(handle_, datagram.data(), datagram.size(), 0, &there.any, length_of(there)),
            static_cast<ssize_t>(datagram.size()));
    }

private:
    int handle_;
};

/// A payload with the ICRC of a datagram that has this identification.
Packet counted(const Address& from, const Address& to, const Packet& packet, std::uint16_t id) {
    const IcrcCover cover({.from = from, .to = to, .packet = packet.size(), .identification = id});
    Packet payload = packet;
    payload.resize(packet.size() + 4);
    store_le<std::uint32_t>(Bytes(payload).last<4>(), cover.icrc(packet));
    return payload;
}

Address port_of_a_peer() {
    Address from = host(1);
    from.port = 0xC123;
    return from;
}

TEST(Rocev2Wire, TakesRealDatagramsWithCountedIdentifications) {
    RawSender raw;
    if (!raw.permitted()) GTEST_SKIP() << "raw sockets need a privilege";
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    for (std::uint16_t id = 0x7FF0; id < 0x8010; ++id) {
        const Packet packet = packet_of(68, id);
        const Address here = wire.local_address();
        raw.send(port_of_a_peer(), here, id, counted(port_of_a_peer(), here, packet, id));
        EXPECT_EQ(next(wire), packet);
    }
    EXPECT_EQ(wire.counters().identified, 32U);
}

// The wire accepts any identification that is in the header, and no other.
TEST(Rocev2Wire, BelievesTheIdentificationThatItIsShown) {
    RawSender raw;
    if (!raw.permitted()) GTEST_SKIP() << "raw sockets need a privilege";
    Rocev2Wire wire = open_rocev2(
        {.local = host(0), .peers = {host(1)}, .identification = IdentificationSource::shown});
    const Address here = wire.local_address();
    const Address there = port_of_a_peer();
    Random random(9);
    for (int i = 0; i < 50; ++i) {
        const auto id = static_cast<std::uint16_t>(1 + random.below(65'534));
        const Packet packet = packet_of(12 + 4 * random.below(262), id);
        raw.send(there, here, id, counted(there, here, packet, id));
        EXPECT_EQ(next(wire), packet);
        const auto other = static_cast<std::uint16_t>(id + 1);
        raw.send(there, here, other, counted(there, here, packet, id));
        EXPECT_TRUE(nothing_comes(wire));
    }
    EXPECT_EQ(wire.counters().icrc_wrong, 50U);
    EXPECT_EQ(wire.counters().identified, 0U);
    EXPECT_EQ(wire.counters().identification_jumped, 0U);
}

TEST(Rocev2Wire, ShownDatagramsAreDroppedForTheSameReasons) {
    RawSender raw;
    if (!raw.permitted()) GTEST_SKIP() << "raw sockets need a privilege";
    Rocev2Wire wire = open_rocev2(
        {.local = host(0), .peers = {host(1)}, .identification = IdentificationSource::shown});
    Address here = wire.local_address();
    const Address there = port_of_a_peer();
    const Packet good = counted(there, here, packet_of(40), 5);
    const auto drops = [&] {
        EXPECT_TRUE(nothing_comes(wire));
        const Rocev2Counters& counters = wire.counters();
        return std::array{counters.too_short, counters.icrc_wrong, counters.udp.unknown_source,
                          counters.udp.too_long};
    };
    raw.send(there, here, 5, ConstBytes(good).first(15));
    EXPECT_EQ(drops(), (std::array<std::uint64_t, 4>{1, 0, 0, 0}));
    Packet damaged = good;
    damaged[30] ^= std::byte{1};
    raw.send(there, here, 5, damaged);
    EXPECT_EQ(drops(), (std::array<std::uint64_t, 4>{1, 1, 0, 0}));
    Address stranger = host(2);
    stranger.port = 0xC124;
    raw.send(stranger, here, 5, counted(stranger, here, packet_of(40), 5));
    EXPECT_EQ(drops(), (std::array<std::uint64_t, 4>{1, 1, 1, 0}));
    raw.send(there, here, 5, counted(there, here, packet_of(1060), 5));
    EXPECT_EQ(drops(), (std::array<std::uint64_t, 4>{1, 1, 1, 1}));
    here.port = 4790;  // a port of another program
    raw.send(there, here, 5, good);
    EXPECT_EQ(drops(), (std::array<std::uint64_t, 4>{1, 1, 1, 1}));
    here.port = rocev2_port;
    raw.send(there, here, 5, good);
    EXPECT_EQ(next(wire).size(), 40U);
}

// A raw socket receives datagrams for every host until it is bound.
TEST(Rocev2Wire, NoneForAnotherHostIsTakenWhileAShowingWireOpens) {
    RawSender raw;
    if (!raw.permitted()) GTEST_SKIP() << "raw sockets need a privilege";
    std::atomic<int> sent = 0;
    std::atomic<bool> done = false;
    std::thread others([&] {
        Address there = host(3);
        there.port = rocev2_port;
        const Packet packet = packet_of(40);
        for (; sent < 1'000'000 && !done; ++sent) raw.send(port_of_a_peer(), there, 5, packet);
    });
    while (sent == 0) std::this_thread::yield();
    std::uint64_t taken = 0;
    for (int i = 0; i < 500; ++i) {
        Rocev2Wire wire = open_rocev2(
            {.local = host(0), .peers = {host(1)}, .identification = IdentificationSource::shown});
        EXPECT_TRUE(nothing_comes(wire));
        taken += wire.counters().udp.unknown_source + wire.counters().icrc_wrong;
    }
    done = true;
    others.join();
    EXPECT_EQ(taken, 0U);
}

// This process does what a forked child would do: both handles are closed.
TEST(Rocev2Wire, LetsGoOfBothSocketsInAForkedChild) {
    const RawSender raw;
    if (!raw.permitted()) GTEST_SKIP() << "raw sockets need a privilege";
    const auto open_handles = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const auto before = open_handles();
    Rocev2Wire wire =
        open_rocev2({.local = host(0), .identification = IdentificationSource::shown});
    EXPECT_TRUE(wire.shows_identifications());
    EXPECT_EQ(open_handles(), before + 2);
    wire.abandon();
    EXPECT_EQ(open_handles(), before);
}

}  // namespace
}  // namespace wireproof::test
