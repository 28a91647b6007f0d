// ECN through a router that marks: three network namespaces, and a rule of nftables that sets each
// ECT(0) to CE. The tests are skipped if namespaces are not permitted, or `ip` or `nft` is missing.
#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wireproof/wire/udp/namespaces_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::test {
namespace {

constexpr PeerId router_peer{0};
constexpr int packets = 12;

struct Seen {
    int frames = 0;
    int marked = 0;
};

template <class W>
void send_frame(W& wire) {
    const std::vector<std::byte> bytes(400, std::byte{1});
    for (int i = 0; i < packets; ++i) {
        TxFrame* const frame = wire.lane(router_peer).claim();
        ASSERT_NE(frame, nullptr);
        std::ranges::copy(ConstBytes(bytes).first(12), frame->add_room(12).begin());
        frame->add_payload(ConstBytes(bytes).subspan(12));
        wire.lane(router_peer).commit();
    }
    wire.flush(Instant());
}

template <class W>
Seen seen_by(W& wire) {
    Seen seen;
    for (int silent = 0; silent < 2 && seen.frames < packets;) {
        pollfd wanted{wire.wait_handle(), POLLIN, 0};
        if (wire.prepare_to_sleep()) ::poll(&wanted, 1, patience);
        const auto frame = wire.receive(Instant());
        silent = frame ? 0 : silent + 1;
        if (!frame) continue;
        ++seen.frames;
        seen.marked += frame->marked ? 1 : 0;
    }
    return seen;
}

class EcnRouter : public ::testing::Test {
protected:
    Address near(bool ipv6) const {
        return *Address::parse(ipv6 ? "[fd92:1::1]:4791" : "10.92.1.1:4791");
    }
    Address far(bool ipv6) const {
        return *Address::parse(ipv6 ? "[fd92:2::1]:4791" : "10.92.2.1:4791");
    }

    /// For each pair of configs, a wire at the near host sends to one at the far host. Returns what
    /// arrived.
    template <class W, class Config>
    std::vector<Seen> through_router(const std::vector<Config>& configs) {
        std::vector<Seen> seen;
        std::thread([&] { cross<W>(configs, seen); }).join();
        return seen;
    }

private:
    template <class W, class Config>
    void cross(const std::vector<Config>& configs, std::vector<Seen>& seen) {
        const Namespace near_host;
        const Namespace far_host;
        const Namespace router;
        if (!router.is_there() || !ran("ip link show lo")) {
            GTEST_SKIP() << "no network namespaces here";
        }
        if (!mark_all()) GTEST_SKIP() << "no nftables here";
        ASSERT_TRUE(ran("ip link add ra type veth peer name va"));
        ASSERT_TRUE(ran("ip link add rb type veth peer name vb"));
        ASSERT_TRUE(ran("ip link set va netns " + near_host.path()));
        ASSERT_TRUE(ran("ip link set vb netns " + far_host.path()));
        set_up("ra", 1, 254);
        set_up("rb", 2, 254);
        ASSERT_TRUE(ran("(echo 1 >/proc/sys/net/ipv4/ip_forward)"));
        ASSERT_TRUE(ran("(echo 1 >/proc/sys/net/ipv6/conf/all/forwarding)"));
        near_host.enter();
        set_up("va", 1, 1);
        ASSERT_TRUE(is_ready("va"));
        far_host.enter();
        set_up("vb", 2, 1);
        ASSERT_TRUE(is_ready("vb"));
        for (const Config& config : configs) {
            Config of_receiver = config;
            std::swap(of_receiver.local, of_receiver.peers.front());
            far_host.enter();
            auto receiver = W::open(of_receiver);
            ASSERT_TRUE(receiver) << receiver.error().message;
            near_host.enter();
            auto sender = W::open(config);
            ASSERT_TRUE(sender) << sender.error().message;
            send_frame(*sender);
            seen.push_back(seen_by(*receiver));
        }
    }

    static bool mark_all() {
        return ran("nft add table inet router") &&
               ran("nft add chain inet router passes '{ type filter hook forward priority 0; }'") &&
               ran("nft add rule inet router passes ip ecn ect0 ip ecn set ce") &&
               ran("nft add rule inet router passes ip6 ecn ect0 ip6 ecn set ce");
    }

    static void set_up(const std::string& device, int network, int host) {
        const std::string of = std::to_string(network);
        const std::string number = std::to_string(host);
        ASSERT_TRUE(ran("ip address add 10.92." + of + "." + number + "/24 dev " + device));
        ASSERT_TRUE(
            ran("ip address add fd92:" + of + "::" + number + "/64 dev " + device + " nodad"));
        ASSERT_TRUE(ran("ip link set " + device + " up"));
        if (host != 1) return;
        ASSERT_TRUE(ran("ip route add default via 10.92." + of + ".254"));
        ASSERT_TRUE(ran("ip route add default via fd92:" + of + "::254"));
    }
};

TEST_F(EcnRouter, MarksFramesOfAWireThatUsesEcn) {
    std::vector<UdpWire::Config> configs;
    for (const bool ipv6 : {false, true}) {
        for (const bool segments : {false, true}) {
            for (const Ecn ecn : {Ecn::on, Ecn::read}) {
                UdpWire::Config config{.local = near(ipv6), .peers = {far(ipv6)}};
                config.segments = segments;
                config.ecn = ecn;
                configs.push_back(config);
            }
        }
    }
    const std::vector<Seen> seen = through_router<UdpWire>(configs);
    if (IsSkipped()) return;
    ASSERT_EQ(seen.size(), configs.size());
    for (std::size_t i = 0; i < configs.size(); ++i) {
        EXPECT_EQ(seen[i].frames, packets) << i;
        EXPECT_EQ(seen[i].marked, configs[i].ecn == Ecn::on ? packets : 0) << i;
    }
}

// The router changes the IP header after the sender has computed the ICRC. A raw socket gets
// super-packets whole, so the receiver that reads headers gets packets one by one.
TEST_F(EcnRouter, MarksRocev2PacketsAndTheyStayWhole) {
    std::vector<Rocev2Wire::Config> configs;
    for (const bool ipv6 : {false, true}) {
        for (const auto super : {SuperPackets::nowhere, SuperPackets::everywhere}) {
            Rocev2Wire::Config config{.local = near(ipv6), .peers = {far(ipv6)}};
            config.super_packets = super;
            config.ecn = Ecn::on;
            configs.push_back(config);
        }
    }
    configs.push_back(configs.front());
    configs.back().identification = IdentificationSource::shown_if_permitted;
    const std::vector<Seen> seen = through_router<Rocev2Wire>(configs);
    if (IsSkipped()) return;
    ASSERT_EQ(seen.size(), configs.size());
    for (std::size_t i = 0; i < configs.size(); ++i) {
        EXPECT_EQ(seen[i].frames, packets) << i;
        EXPECT_EQ(seen[i].marked, packets) << i;
    }
}

}  // namespace
}  // namespace wireproof::test
