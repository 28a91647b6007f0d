// Super-packets of RoCEv2 between two hosts: network namespaces that a pair of veth devices joins.
// Each packet must have the right ICRC for the headers with which it arrives, both if the kernel
// cuts super-packets up for a device that takes none, and if they cross whole. The tests are
// skipped if namespaces are not permitted or `ip` is missing.
#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <thread>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/wire/udp/namespaces_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::test {
namespace {

using Packet = std::vector<std::byte>;

constexpr PeerId other_host{0};
constexpr std::size_t frame_max = 1056;

Address near_end(bool ipv6) {
    return *Address::parse(ipv6 ? "[fd91::1]:4791" : "10.91.0.1:4791");
}

Address far_end(bool ipv6) {
    return *Address::parse(ipv6 ? "[fd91::2]:4791" : "10.91.0.2:4791");
}

struct Way {
    /// The sender's device takes no super-packets, so the kernel cuts them up.
    bool cut = true;
    bool ipv6 = false;
    SuperPackets sent = SuperPackets::everywhere;
    SuperPackets received = SuperPackets::on_loopback;
    IdentificationSource identification = IdentificationSource::worked_out;
};

struct Counted {
    Rocev2Counters sender;
    Rocev2Counters receiver;
};

/// Waits for the next packet. Empty: none arrived.
Packet next_packet(Rocev2Wire& wire) {
    for (int attempt = 0; attempt < 3; ++attempt) {
        pollfd wanted{wire.wait_handle(), POLLIN, 0};
        if (wire.prepare_to_sleep() && ::poll(&wanted, 1, patience) != 1) break;
        if (const auto frame = wire.receive(Instant())) {
            return {frame->bytes.begin(), frame->bytes.end()};
        }
    }
    return {};
}

void exchange(Rocev2Wire& sender, Rocev2Wire& receiver) {
    Random random(7);
    for (int round = 0; round < 20; ++round) {
        std::vector<Packet> packets(60);  // must stay valid until the flush
        const std::size_t size = 12 + 4 * random.below((frame_max - 12) / 4 + 1);
        for (Packet& packet : packets) {
            packet.resize(random.below(20) == 0 ? 12 : size);
            for (std::byte& byte : packet) byte = static_cast<std::byte>(random.next());
            TxFrame* const frame = sender.lane(other_host).claim();
            ASSERT_NE(frame, nullptr);
            std::ranges::copy(ConstBytes(packet).first(12), frame->add_room(12).begin());
            frame->add_payload(ConstBytes(packet).subspan(12));
            sender.lane(other_host).commit();
        }
        sender.flush(Instant());
        for (const Packet& packet : packets) ASSERT_EQ(next_packet(receiver), packet) << round;
    }
}

class Rocev2Hosts : public ::testing::Test {
protected:
    /// The counters of both ends after 1200 packets crossed.
    Counted crossed(const Way& way) {
        Counted counted;
        std::thread([&] { cross(way, counted); }).join();
        return counted;
    }

private:
    void cross(const Way& way, Counted& counted) {
        const Namespace far;
        if (!far.is_there() || !ran("ip link show lo"))
            GTEST_SKIP() << "no network namespaces here";
        const Namespace near;
        ASSERT_TRUE(ran("ip link add va type veth peer name vb"));
        ASSERT_TRUE(ran("ip link set vb netns " + far.path()));
        const char* const all = way.cut ? " gso_max_segs 1" : "";
        ASSERT_TRUE(
            ran("ip address add 10.91.0.1/24 dev va && ip address add fd91::1/64 dev va nodad"));
        ASSERT_TRUE(ran(std::string("ip link set va up") + all));
        far.enter();
        ASSERT_TRUE(
            ran("ip address add 10.91.0.2/24 dev vb && ip address add fd91::2/64 dev vb nodad"));
        ASSERT_TRUE(ran("ip link set vb up"));
        ASSERT_TRUE(is_ready("vb"));
        auto receiver = Rocev2Wire::open({.local = far_end(way.ipv6),
                                          .peers = {near_end(way.ipv6)},
                                          .frame_max = frame_max,
                                          .identification = way.identification,
                                          .super_packets = way.received});
        near.enter();
        ASSERT_TRUE(is_ready("va"));
        auto sender = Rocev2Wire::open({.local = near_end(way.ipv6),
                                        .peers = {far_end(way.ipv6)},
                                        .frame_max = frame_max,
                                        .super_packets = way.sent});
        ASSERT_TRUE(receiver) << receiver.error().message;
        ASSERT_TRUE(sender) << sender.error().message;
        exchange(*sender, *receiver);
        counted = {sender->counters(), receiver->counters()};
    }
};

void expect_all_came(const Counted& counted) {
    EXPECT_EQ(counted.sender.udp.frames_sent, 1200U);
    EXPECT_EQ(counted.sender.udp.segments_refused, 0U);
    EXPECT_EQ(counted.receiver.udp.frames_received, 1200U);
    EXPECT_EQ(counted.receiver.icrc_wrong, 0U);
    EXPECT_EQ(counted.receiver.identification_jumped, 0U);
    EXPECT_EQ(counted.receiver.too_short, 0U);
    EXPECT_EQ(counted.receiver.udp.kernel_dropped, 0U);
}

// The receiver uses only the identification in the headers, as an adapter does.
TEST_F(Rocev2Hosts, EachThatTheKernelCutsHasTheIcrcOfItsHeaders) {
    const Counted counted = crossed({.identification = IdentificationSource::shown});
    if (IsSkipped()) return;
    expect_all_came(counted);
    EXPECT_GT(counted.sender.udp.super_packets_sent, 20U);
    EXPECT_EQ(counted.receiver.identified, 0U);
}

TEST_F(Rocev2Hosts, AReceiverWithoutPrivilegeWorksTheirIdentificationsOut) {
    const Counted counted = crossed({});
    if (IsSkipped()) return;
    expect_all_came(counted);
    EXPECT_EQ(counted.receiver.udp.super_packets_received, 0U);
    EXPECT_GT(counted.receiver.identified, 1000U);
}

TEST_F(Rocev2Hosts, TheReceiversKernelMayJoinWhatTheSendersCut) {
    const Counted counted = crossed({.received = SuperPackets::everywhere});
    if (IsSkipped()) return;
    expect_all_came(counted);
}

TEST_F(Rocev2Hosts, SuperPacketsMayCrossWhole) {
    const Counted counted = crossed({.cut = false, .received = SuperPackets::everywhere});
    if (IsSkipped()) return;
    expect_all_came(counted);
    EXPECT_EQ(counted.receiver.udp.super_packets_received, counted.sender.udp.super_packets_sent);
    EXPECT_EQ(counted.receiver.identified, 0U);
}

TEST_F(Rocev2Hosts, OverIpv6TheyAreRightToo) {
    for (const bool cut : {true, false}) {
        const Counted counted =
            crossed({.cut = cut, .ipv6 = true, .received = SuperPackets::everywhere});
        if (IsSkipped()) return;
        expect_all_came(counted);
        EXPECT_GT(counted.sender.udp.super_packets_sent, 20U);
    }
}

TEST_F(Rocev2Hosts, NoneLeavesForAnotherHostUnlessItIsAskedFor) {
    const Counted counted = crossed({.sent = SuperPackets::on_loopback});
    if (IsSkipped()) return;
    expect_all_came(counted);
    EXPECT_EQ(counted.sender.udp.super_packets_sent, 0U);
    EXPECT_EQ(counted.receiver.identified, 0U);
}

}  // namespace
}  // namespace wireproof::test
