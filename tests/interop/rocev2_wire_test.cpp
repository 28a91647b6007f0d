// Checks what the RoCEv2 wire really sends, with a packet socket on the loopback interface: the
// headers contain the identification with which the ICRC was computed, and tshark finds no error in
// the packets. Skipped if packet sockets are not permitted or tshark is missing.
#include "wireproof/wire/udp/rocev2_wire.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#include "tests/interop/loopback_hosts.hpp"
#include "tests/interop/tshark.hpp"

#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/wire/udp/ipv6_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_datagram.hpp"

namespace wireproof {
namespace {

using Frame = std::vector<std::byte>;

using test::loopback_host;

/// Receives the frames of one sender that arrive at the loopback interface. The kernel drops all
/// others: tests that run at the same time would fill the socket.
class Loopback {
public:
    explicit Loopback(const Address& from)
        : handle_(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0)) {
        sockaddr_ll here{};
        here.sll_family = AF_PACKET;
        here.sll_protocol = htons(ETH_P_ALL);
        here.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
        if (handle_ >= 0 && hear_only(from)) {
            permitted_ = ::bind(handle_, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0;
        }
    }
    ~Loopback() {
        if (handle_ >= 0) ::close(handle_);
    }
    Loopback(const Loopback&) = delete;
    Loopback& operator=(const Loopback&) = delete;

    bool permitted() const { return permitted_; }

    /// The next RoCEv2 packet from a host. The limit only ends a test that hangs.
    Frame next(const Address& from) {
        Frame frame(9000);
        while (true) {
            pollfd wanted{handle_, POLLIN, 0};
            if (::poll(&wanted, 1, 120'000) != 1) return {};
            sockaddr_ll source{};
            socklen_t length = sizeof source;
            const ssize_t got = ::recvfrom(handle_, frame.data(), frame.size(), 0,
                                           reinterpret_cast<sockaddr*>(&source), &length);
            // On loopback a packet socket also sees each frame when it leaves.
            if (got <= 0 || source.sll_pkttype == PACKET_OUTGOING) continue;
            const auto found =
                Rocev2Datagram::find(ConstBytes(frame).first(static_cast<std::size_t>(got)));
            if (!found || found->from.host != from.host) continue;
            frame.resize(static_cast<std::size_t>(got));
            return frame;
        }
    }

private:
    /// Over IPv4 by the sender's host, over IPv6 by its port.
    bool hear_only(const Address& from) const {
        const bool ipv4 = from.family == Address::Family::ipv4;
        std::uint32_t host = 0;
        for (std::size_t i = 0; i < 4; ++i) host = host << 8 | from.host[i];
        const std::uint16_t load = ipv4 ? BPF_LD | BPF_W | BPF_ABS : BPF_LD | BPF_H | BPF_ABS;
        std::array<sock_filter, 6> lines{{
            {BPF_LD | BPF_H | BPF_ABS, 0, 0, 12},
            {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, std::uint32_t(ipv4 ? ETH_P_IP : ETH_P_IPV6)},
            {load, 0, 0, ipv4 ? 26U : 54U},
            {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, ipv4 ? host : from.port},
            {BPF_RET | BPF_K, 0, 0, 0xFFFFFFFF},
            {BPF_RET | BPF_K, 0, 0, 0},
        }};
        const sock_fprog program{static_cast<unsigned short>(lines.size()), lines.data()};
        return ::setsockopt(handle_, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
    }

    int handle_;
    bool permitted_ = false;
};

/// A packet of each opcode, with headers that a receiver can understand.
std::vector<Frame> packets_of_every_opcode() {
    std::vector<Frame> packets;
    std::uint32_t psn = 0xFFFFF0;
    for (const proto::ib::Opcode& opcode : proto::ib::opcodes::all) {
        proto::ib::Headers headers;
        headers.bth.opcode = opcode.byte;
        headers.bth.dest_qp = 0x47;
        headers.bth.psn = proto::ib::Psn(psn++ & 0xFFFFFF);
        headers.reth = {0x7FCF96D34000, 0x67BF, 100};
        headers.atomic = {0x7FCF96D34000, 0x67BF, 1, 2};
        headers.deth = {0x11111111, 0x48};
        std::size_t size = 101;
        if (opcode.payload == proto::ib::PayloadRule::none) size = 0;
        if (opcode.payload == proto::ib::PayloadRule::whole) size = 1024;
        if (opcode.payload == proto::ib::PayloadRule::reserved_16) size = 16;
        const Frame payload(size, std::byte{0xA5});
        const ConstBytes piece(payload);
        Frame room(proto::ib::packet_max(1024));
        TxFrame frame;
        frame.open(room, {.frame_max = room.size()});
        encode(headers, std::span(&piece, 1), frame);
        Frame packet(frame.size());
        frame.gather(packet);
        packets.push_back(packet);
    }
    return packets;
}

/// Sends each packet through the wire. Returns the frames that arrived, or none if the wire does
/// not open.
std::vector<Frame> sent(Loopback& loopback, const std::vector<Frame>& packets, const Address& from,
                        const Address& to) {
    auto wire = Rocev2Wire::open({.local = from, .peers = {to}});
    auto peer = Rocev2Wire::open({.local = to});  // without it the kernel answers with ICMP
    if (!wire) return {};
    std::vector<Frame> frames;
    for (const Frame& packet : packets) {
        TxFrame* frame = wire->lane(PeerId{0}).claim();
        std::ranges::copy(packet, frame->add_room(packet.size()).begin());
        wire->lane(PeerId{0}).commit();
        wire->flush({});
        frames.push_back(loopback.next(from));
    }
    return frames;
}

// UC-2: for the headers on the wire, including the identification.
TEST(Rocev2OnTheWire, EveryIcrcIsRightForTheHeadersThatWereSent) {
    Loopback loopback(loopback_host(0));
    if (!loopback.permitted()) GTEST_SKIP() << "packet sockets need a privilege";
    const std::vector<Frame> packets = packets_of_every_opcode();
    const std::vector<Frame> frames = sent(loopback, packets, loopback_host(0), loopback_host(1));
    for (std::size_t i = 0; i < packets.size(); ++i) {
        ASSERT_FALSE(frames[i].empty()) << i;
        const auto found = Rocev2Datagram::find(frames[i]);
        ASSERT_TRUE(found) << i;
        EXPECT_TRUE(std::ranges::equal(found->packet, packets[i])) << i;
        EXPECT_TRUE(found->icrc_right()) << i;
        EXPECT_EQ(load_le<std::uint16_t>(found->headers.subspan(4).first<2>()), 0U) << i;
        EXPECT_EQ(found->headers[6], std::byte{0x40}) << "may be fragmented";
    }
}

void expect_nothing_but_fields(const std::vector<Frame>& packets,
                               const std::vector<std::string>& lines) {
    ASSERT_EQ(lines.size(), packets.size());
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const auto packet = proto::ib::Packet::decode({.bytes = packets[i]});
        EXPECT_EQ(lines[i], std::to_string(packet->bth().opcode) + " " +
                                std::to_string(packet->bth().psn.value()))
            << packet->opcode->name;
    }
}

TEST(Rocev2OnTheWire, TsharkHasNothingToSayAgainstAnyPacket) {
    Loopback loopback(loopback_host(0));
    if (!loopback.permitted()) GTEST_SKIP() << "packet sockets need a privilege";
    const std::vector<Frame> packets = packets_of_every_opcode();
    const std::vector<Frame> frames = sent(loopback, packets, loopback_host(0), loopback_host(1));
    const auto lines =
        test::dissected(frames, {"infiniband.bth.opcode", "infiniband.bth.psn"}, false);
    if (!lines) GTEST_SKIP() << "tshark is not installed";
    expect_nothing_but_fields(packets, *lines);
}

TEST(Rocev2OnTheWire, NorOverIpv6) {
    if (!test::host_has_ipv6()) GTEST_SKIP() << test::no_ipv6;
    const Address here = test::own_ipv6(0);
    Loopback loopback(here);
    if (!loopback.permitted()) GTEST_SKIP() << "packet sockets need a privilege";
    const std::vector<Frame> packets = packets_of_every_opcode();
    const std::vector<Frame> frames = sent(loopback, packets, here, *Address::parse("[::1]:4791"));
    ASSERT_EQ(frames.size(), packets.size());
    for (const Frame& frame : frames) {
        const auto found = Rocev2Datagram::find(frame);
        ASSERT_TRUE(found);
        EXPECT_TRUE(found->icrc_right());
    }
    const auto lines =
        test::dissected(frames, {"infiniband.bth.opcode", "infiniband.bth.psn"}, false);
    if (!lines) GTEST_SKIP() << "tshark is not installed";
    expect_nothing_but_fields(packets, *lines);
}

}  // namespace
}  // namespace wireproof
