// RoCEv2 between addresses of the loopback network, and between it and hand-made datagrams. Every
// test has addresses of its own, for all of them speak on port 4791.
#include "wireproof/wire/udp/rocev2_wire.hpp"

#include <gtest/gtest.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

using Packet = std::vector<std::byte>;

constexpr Instant now{};
constexpr PeerId first{0};

/// 127.x.y.z, a host of its own by test and process: tests run side by side.
Address host(unsigned number) {
    const std::uint64_t seed = mix64(static_cast<std::uint64_t>(::getpid()));
    Address address{.family = Address::Family::ipv4};
    address.host = {127, static_cast<std::uint8_t>(1 + seed % 250),
                    static_cast<std::uint8_t>(seed >> 8), static_cast<std::uint8_t>(1 + number)};
    return address;
}

Rocev2Wire open(const Rocev2Wire::Config& config) {
    auto wire = Rocev2Wire::open(config);
    WIREPROOF_CHECK(wire.has_value());
    return std::move(*wire);
}

/// Random bytes in whole words; what they mean is none of the wire's business.
Packet packet_of(std::size_t size, std::uint64_t seed = 1) {
    Random random(seed);
    Packet packet(size);
    for (auto& byte : packet) byte = static_cast<std::byte>(random.next());
    return packet;
}

/// The first sixteen bytes are written in place, the rest is pointed at.
void commit(Rocev2Wire& wire, PeerId to, const Packet& packet) {
    TxFrame* frame = wire.lane(to).claim();
    ASSERT_NE(frame, nullptr);
    const std::size_t head = std::min<std::size_t>(packet.size(), 16);
    std::copy_n(packet.begin(), head, frame->add_room(head).begin());
    frame->add_payload(ConstBytes(packet).subspan(head));
    wire.lane(to).commit();
}

bool arrives(int handle) {
    pollfd wanted{handle, POLLIN, 0};
    return ::poll(&wanted, 1, 1'000) == 1;
}

/// What arrives next, after a bounded wait; empty without.
Packet next(Rocev2Wire& wire, PeerId* from = nullptr, Instant at = now) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (wire.prepare_to_sleep() && !arrives(wire.wait_handle())) break;
        if (const auto frame = wire.receive(at)) {
            EXPECT_EQ(frame->integrity, Integrity::intact);
            if (from != nullptr) *from = frame->from;
            return {frame->bytes.begin(), frame->bytes.end()};
        }
    }
    return {};
}

/// Without waiting: what came on loopback is there once it was sent.
bool nothing_comes(Rocev2Wire& wire) {
    return !wire.receive(now) && !wire.receive(now);
}

TEST(Rocev2Wire, CarriesPacketsOfEverySizeBothWays) {
    Rocev2Wire a = open({.local = host(0), .peers = {host(1)}});
    Rocev2Wire b = open({.local = host(1), .peers = {host(0)}});
    EXPECT_EQ(a.local_address().port, 4791);
    EXPECT_EQ(a.lane(first).terms().frame_max, 1056U);
    EXPECT_TRUE(a.lane(first).terms().carries_intact);
    EXPECT_FALSE(a.lane(first).terms().carries_all);
    for (std::size_t size = 12; size <= 1056; size += 4) {
        const Packet packet = packet_of(size, size);
        commit(a, first, packet);
        a.flush(now);
        EXPECT_EQ(next(b), packet) << size;
        commit(b, first, packet);
        b.flush(now);
        EXPECT_EQ(next(a), packet) << size;
    }
    EXPECT_EQ(b.counters().udp.frames_received, 262U);
    EXPECT_EQ(b.counters().icrc_wrong, 0U);
    EXPECT_EQ(b.counters().identified, 0U);
}

TEST(Rocev2Wire, CarriesABatchInOrder) {
    Rocev2Wire a = open({.local = host(0), .peers = {host(1)}, .batch = 8});
    Rocev2Wire b = open({.local = host(1), .peers = {host(0)}});
    std::vector<Packet> packets;  // they stay put until the flush
    for (std::uint64_t i = 0; i < 8; ++i) packets.push_back(packet_of(64 + 4 * i, i));
    for (const Packet& packet : packets) commit(a, first, packet);
    EXPECT_EQ(a.lane(first).claim(), nullptr);
    a.flush(now);
    for (const Packet& packet : packets) EXPECT_EQ(next(b), packet);
}

TEST(Rocev2Wire, ADamagedPacketIsToldByItsIcrcAlone) {
    Rocev2Wire a = open({.local = host(0), .peers = {host(1)}});
    Rocev2Wire b = open({.local = host(1), .peers = {host(0)}});
    const Packet packet = packet_of(40);
    const std::size_t bits = 8 * packet.size();
    for (std::size_t bit = 64; bit < bits; ++bit) {  // behind the congestion bits
        Rocev2Lane& lane = a.lane(first);
        std::ranges::copy(packet, lane.claim()->add_all(packet.size()).begin());
        lane.commit_damaged(bit);
        commit(a, first, packet);
        a.flush(now);
        EXPECT_EQ(next(b), packet) << bit;
    }
    EXPECT_EQ(b.counters().icrc_wrong, bits - 64);
    EXPECT_EQ(b.counters().udp.frames_received, bits - 64);
}

TEST(Rocev2Wire, CarriesPacketsOverIpv6) {
    const Address one = *Address::parse("[::1]:4791");
    Address other = one;
    other.port = 47'910;  // the loopback network has one address
    auto opened = Rocev2Wire::open({.local = one, .peers = {other}});
    if (!opened) GTEST_SKIP() << opened.error().message;
    Rocev2Wire a = std::move(*opened);
    Rocev2Wire b = open({.local = other, .peers = {one}});
    const Packet packet = packet_of(100);
    commit(a, first, packet);
    a.flush(now);
    EXPECT_EQ(next(b), packet);
    commit(b, first, packet);
    b.flush(now);
    EXPECT_EQ(next(a), packet);
}

TEST(Rocev2Wire, TakesPacketsOverIpv6WhoseSenderLeftTheUdpChecksumOut) {
    const Address here = *Address::parse("[::1]:47912");
    auto opened = Rocev2Wire::open({.local = here, .peers = {*Address::parse("[::1]:47913")}});
    if (!opened) GTEST_SKIP() << opened.error().message;
    const auto socket = UdpSocket::open({.local = *Address::parse("[::1]:0")});
    ASSERT_TRUE(socket);
    const int on = 1;
    ASSERT_EQ(::setsockopt(socket->handle(), IPPROTO_UDP, UDP_NO_CHECK6_TX, &on, sizeof on), 0);
    Packet packet = packet_of(40);
    const IcrcCover cover({.from = socket->local_address(), .to = here, .packet = 40});
    const std::uint32_t icrc = cover.icrc(packet);
    packet.resize(44);
    store_le<std::uint32_t>(Bytes(packet).last<4>(), icrc);
    const SocketAddress there = to_socket_address(here);
    ASSERT_EQ(
        ::sendto(socket->handle(), packet.data(), packet.size(), 0, &there.any, length_of(there)),
        44);
    EXPECT_EQ(next(*opened).size(), 40U);
}

/// A datagram socket of a host, to send bytes of any kind.
class Stranger {
public:
    explicit Stranger(const Address& local) : socket_(*UdpSocket::open({.local = local})) {
        const int discover = IP_PMTUDISC_DO;
        ::setsockopt(socket_.handle(), IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
        local_ = socket_.local_address();
    }

    void send(const Address& to, ConstBytes bytes) {
        const SocketAddress there = to_socket_address(to);
        ASSERT_EQ(
            ::sendto(socket_.handle(), bytes.data(), bytes.size(), 0, &there.any, length_of(there)),
            static_cast<ssize_t>(bytes.size()));
    }

    /// A packet and the ICRC that it has with an identification.
    Packet with_icrc(const Address& to, Packet packet, std::uint16_t identification = 0) const {
        const IcrcCover cover(
            {.from = local_, .to = to, .packet = packet.size(), .identification = identification});
        const std::uint32_t icrc = cover.icrc(packet);
        packet.resize(packet.size() + 4);
        store_le<std::uint32_t>(Bytes(packet).last<4>(), icrc);
        return packet;
    }

    Packet receive() {
        if (!arrives(socket_.handle())) return {};
        Packet bytes(2000);
        const ssize_t got = ::recv(socket_.handle(), bytes.data(), bytes.size(), 0);
        bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return bytes;
    }

    const Address& local() const { return local_; }

private:
    UdpSocket socket_;
    Address local_;
};

TEST(Rocev2Wire, WhatLeavesIsThePacketAndItsIcrc) {
    Address there = host(1);
    there.port = rocev2_port;
    Stranger stranger(there);
    Rocev2Wire wire = open({.local = host(0), .peers = {host(1)}});
    const Packet packet = packet_of(52);
    commit(wire, first, packet);
    wire.flush(now);
    const Packet got = stranger.receive();
    ASSERT_EQ(got.size(), 56U);
    const IcrcCover cover({.from = wire.local_address(), .to = there, .packet = 52});
    EXPECT_EQ(load_le<std::uint32_t>(ConstBytes(got).last<4>()), cover.icrc(packet));
    EXPECT_EQ(Packet(got.begin(), got.end() - 4), packet);
}

TEST(Rocev2Wire, APeerMaySendFromAnyPort) {
    Rocev2Wire wire = open({.local = host(0), .peers = {host(1)}});
    Stranger stranger(host(1));
    const Packet packet = packet_of(40);
    stranger.send(wire.local_address(), stranger.with_icrc(wire.local_address(), packet));
    EXPECT_EQ(next(wire), packet);
}

// Each for its reason, and nothing is handed up.
TEST(Rocev2Wire, WhatIsDroppedIsCountedByItsReason) {
    Rocev2Wire wire = open({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    Stranger stranger(host(2));
    const Packet good = peer.with_icrc(here, packet_of(40));
    for (std::size_t size = 0; size < 16; ++size) peer.send(here, ConstBytes(good).first(size));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().too_short, 16U);

    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        if (bit / 8 == 4) continue;  // congestion bits, which are not covered
        Packet damaged = good;
        damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        peer.send(here, damaged);
        EXPECT_TRUE(nothing_comes(wire)) << bit;
    }
    EXPECT_EQ(wire.counters().icrc_wrong, 8 * good.size() - 8);

    stranger.send(here, stranger.with_icrc(here, packet_of(40)));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().udp.unknown_source, 1U);

    peer.send(here, packet_of(1061));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().udp.too_long, 1U);
    EXPECT_EQ(wire.counters().udp.frames_received, 0U);

    peer.send(here, good);
    EXPECT_EQ(next(wire).size(), 40U);
}

TEST(Rocev2Wire, AStrangerBecomesAPeerByARightPacketWhileThereIsRoom) {
    Rocev2Wire wire = open({.local = host(0), .peers_max = 1});
    Stranger one(host(1));
    Stranger two(host(2));
    const Address here = wire.local_address();
    Packet damaged = one.with_icrc(here, packet_of(40));
    damaged[20] ^= std::byte{1};
    one.send(here, damaged);
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.peers(), 0U);
    one.send(here, one.with_icrc(here, packet_of(40)));
    PeerId from{7};
    EXPECT_EQ(next(wire, &from), packet_of(40));
    EXPECT_EQ(from, first);
    EXPECT_EQ(wire.lane(first).address().port, rocev2_port);  // not where it sends from
    two.send(here, two.with_icrc(here, packet_of(40)));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().udp.unknown_source, 1U);
    EXPECT_FALSE(wire.peer_at(host(2)));
    wire.welcome(2);
    two.send(here, two.with_icrc(here, packet_of(40)));
    EXPECT_EQ(next(wire, &from), packet_of(40));
    EXPECT_EQ(from, PeerId{1});
    EXPECT_EQ(wire.peer_at(host(1)), first);
    EXPECT_EQ(wire.peer_at(host(2)), PeerId{1});
}

/// The kernel's identification is hidden from sender and receiver; what the ICRC was made with is
/// as good to a receiver.
TEST(Rocev2Wire, WorksOutTheIdentificationThatAPeerCountsUp) {
    Rocev2Wire wire = open({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    const auto send = [&](unsigned identification) {
        const auto id = static_cast<std::uint16_t>(identification);
        peer.send(here, peer.with_icrc(here, packet_of(48, identification), id));
    };
    for (unsigned id = 65'500; id < 65'600; id += 3) {  // 65'536 is 0 and needs no working out
        send(id);
        EXPECT_EQ(next(wire), packet_of(48, id)) << id;
    }
    EXPECT_EQ(wire.counters().identified, 33U);
    // Its counter went on while it sent elsewhere: the first packet shows it, and is lost.
    send(10'000);
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().identification_jumped, 1U);
    send(10'002);
    EXPECT_EQ(next(wire), packet_of(48, 10'002));
    EXPECT_EQ(wire.counters().icrc_wrong, 0U);
}

TEST(Rocev2Wire, AStrangersFirstIdentificationIsKeptWithIt) {
    Rocev2Wire wire = open({.local = host(0), .peers_max = 1});
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
    Rocev2Wire wire = open({.local = host(0), .peers = {host(1)}});
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

// The identifications and times of a capture of Soft-RoCE that sent a packet each four seconds.
TEST(Rocev2Wire, APeerThatPausesForSecondsLosesNoPacket) {
    Rocev2Wire wire = open({.local = host(0), .peers = {host(1)}});
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

/// Datagrams with IP headers of our own, as a kernel makes them that counts identifications up.
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
    Rocev2Wire wire = open({.local = host(0), .peers = {host(1)}});
    for (std::uint16_t id = 0x7FF0; id < 0x8010; ++id) {
        const Packet packet = packet_of(68, id);
        const Address here = wire.local_address();
        raw.send(port_of_a_peer(), here, id, counted(port_of_a_peer(), here, packet, id));
        EXPECT_EQ(next(wire), packet);
    }
    EXPECT_EQ(wire.counters().identified, 32U);
}

// Any identification that is in the header, and no other.
TEST(Rocev2Wire, BelievesTheIdentificationThatItIsShown) {
    RawSender raw;
    if (!raw.permitted()) GTEST_SKIP() << "raw sockets need a privilege";
    Rocev2Wire wire =
        open({.local = host(0), .peers = {host(1)}, .identification = IdentificationSource::shown});
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
    Rocev2Wire wire =
        open({.local = host(0), .peers = {host(1)}, .identification = IdentificationSource::shown});
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
    here.port = 4790;  // another program's
    raw.send(there, here, 5, good);
    EXPECT_EQ(drops(), (std::array<std::uint64_t, 4>{1, 1, 1, 1}));
    here.port = rocev2_port;
    raw.send(there, here, 5, good);
    EXPECT_EQ(next(wire).size(), 40U);
}

// What a child would do, done in this process: both handles are gone.
TEST(Rocev2Wire, LetsGoOfBothSocketsInAForkedChild) {
    const RawSender raw;
    if (!raw.permitted()) GTEST_SKIP() << "raw sockets need a privilege";
    const auto open_handles = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const auto before = open_handles();
    Rocev2Wire wire = open({.local = host(0), .identification = IdentificationSource::shown});
    EXPECT_TRUE(wire.shows_identifications());
    EXPECT_EQ(open_handles(), before + 2);
    wire.abandon();
    EXPECT_EQ(open_handles(), before);
}

// Broadcasting takes a permission that the socket never asked for.
TEST(Rocev2Wire, WhatTheKernelRefusesIsNamedAndCountedForItsPeer) {
    constexpr PeerId second{1};
    Rocev2Wire wire =
        open({.local = host(0), .peers = {host(1), *Address::parse("255.255.255.255:0")}});
    const Rocev2Wire peer = open({.local = host(1)});
    const Packet packet = packet_of(40);  // lent until the flush
    commit(wire, first, packet);
    commit(wire, second, packet);
    commit(wire, second, packet);
    wire.flush(now);
    EXPECT_EQ(wire.trouble(first).cause, "");
    EXPECT_EQ(wire.trouble(second).cause, "Permission denied (sendmsg)");
    EXPECT_EQ(wire.trouble(second).frames_refused, 2U);
    EXPECT_EQ(wire.counters().udp.send_errors.to_string(), "Permission denied (2 packets)");
}

TEST(Rocev2Wire, APeerThatIsHeardIsReachedAgain) {
    const auto refused = [](Rocev2Wire& wire) {
        const Packet packet = packet_of(40);
        commit(wire, first, packet);
        wire.flush(now);
        return wire.trouble(first).cause;
    };
    Rocev2Wire wire = open({.local = host(0), .peers = {*Address::parse("255.255.255.255:0")}});
    EXPECT_EQ(refused(wire), "Permission denied (sendmsg)");
    ASSERT_TRUE(wire.set_peer(first, host(1)));
    Stranger peer(host(1));
    peer.send(wire.local_address(), peer.with_icrc(wire.local_address(), packet_of(40)));
    EXPECT_EQ(next(wire), packet_of(40));
    EXPECT_EQ(wire.trouble(first).cause, "");
}

TEST(Rocev2Wire, SaysWhatItCannotBeOpenedWith) {
    const auto error = [](const Rocev2Wire::Config& config) {
        const auto wire = Rocev2Wire::open(config);
        return wire ? "none" : wire.error().message;
    };
    EXPECT_EQ(error({.local = *Address::parse("0.0.0.0:0")}),
              "RoCEv2 wire: the local address must be that of one interface, for every packet's "
              "check covers it");
    EXPECT_EQ(error({}), error({.local = *Address::parse("[::]:0")}));
    EXPECT_EQ(error({.local = host(0), .frame_max = 5000}),
              "RoCEv2 wire: frame_max is 5000, not 12 to 4140");
    EXPECT_EQ(error({.local = host(0), .batch = 0}), "RoCEv2 wire: batch is 0, not 1 to 1024");
    EXPECT_NE(error({.local = host(0), .peers = {*Address::parse("[::1]:0")}}).find("same family"),
              std::string::npos);
    EXPECT_NE(error({.local = host(0), .peers = {host(1), host(1)}}).find("peer 0 already"),
              std::string::npos);
    const Rocev2Wire taken = open({.local = host(0)});
    EXPECT_NE(error({.local = host(0)}).find("in use"), std::string::npos);
}

TEST(Rocev2Wire, KnowsHowLongAPacketTheWayCarries) {
    EXPECT_EQ(Rocev2Wire::frame_max_between(host(0), host(1)), 4140U);  // loopback has 65536
    EXPECT_FALSE(Rocev2Wire::frame_max_between(host(0), *Address::parse("[::1]:0")));
    const Address ipv6 = *Address::parse("[::1]:0");
    EXPECT_EQ(Rocev2Wire::frame_max_between(ipv6, ipv6).value_or(4140), 4140U);  // if there is one
}

TEST(Rocev2Wire, CarriesTheLongestPacketWhole) {
    Rocev2Wire a = open({.local = host(0), .peers = {host(1)}, .frame_max = 4140});
    Rocev2Wire b = open({.local = host(1), .peers = {host(0)}, .frame_max = 4140});
    const Packet longest = packet_of(4140);
    commit(a, first, longest);
    a.flush(now);
    EXPECT_EQ(next(b), longest);
}

}  // namespace
}  // namespace wireproof
