#include "wireproof/host/job/host_facts.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "wireproof/base/random.hpp"
#include "wireproof/host/fork_test_kit.hpp"
#include "wireproof/host/job/interfaces.hpp"

namespace wireproof::host {
namespace {

/// Facts of another host of the same network.
HostFacts host_with(std::vector<std::string> addresses) {
    return {"boot/4.7/0", "boot", std::move(addresses)};
}

/// Runs in a new network namespace with these commands; 255: that is not possible here.
constexpr int not_here = 255;
template <class Body>
int in_network(const std::vector<std::string>& commands, Body&& body) {
    return test::in_child([&] {
        ::unsetenv("WIREPROOF_INTERFACE");
        if (::unshare(CLONE_NEWNET) != 0) return not_here;
        for (const std::string& command : commands) {
            if (std::system(("ip " + command + " >/dev/null 2>&1").c_str()) != 0) return not_here;
        }
        return body();
    });
}

/// Two networks, a default route in the first, and a network of containers.
const std::vector<std::string> two_networks{
    "link set lo up",
    "link add one type veth peer name one_end",
    "link add two type veth peer name two_end",
    "link add bridge type veth peer name bridge_end",
    "link add off type veth peer name off_end",
    "addr add 10.1.0.5/24 dev one",
    "addr add 10.2.0.5/24 dev two",
    "addr add fd00:2::5/64 dev two nodad",
    "addr add 172.17.0.1/16 dev bridge",
    "addr add 10.3.0.5/24 dev off",
    "link set one up",
    "link set one_end up",
    "link set two up",
    "link set two_end up",
    "link set bridge up",
    "link set bridge_end up",
    "route add default via 10.1.0.1",
};

TEST(HostFacts, AreReadBack) {
    for (const HostFacts& facts :
         {host_with({}), host_with({"10.0.0.7"}), host_with({"10.0.0.7", "fd00::7"})}) {
        const auto read = HostFacts::parse(facts.to_text());
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->key, facts.key);
        EXPECT_EQ(read->machine, facts.machine);
        EXPECT_EQ(read->addresses, facts.addresses);
    }
}

TEST(HostFacts, TextsThatAreNoneAreRefused) {
    const std::string start = "wireproof-host 1 ";
    for (const std::string& text : {std::string(),
                                    std::string("wireproof-host 2 a/b/c a"),
                                    start,
                                    start + "a/b/c",
                                    start + "a/b/c ",
                                    start + "a/b/c a ",
                                    start + "a/b/c  a",
                                    start + "a/b a",
                                    start + "a/b/c/d a",
                                    start + "a/b/c a 10.0.0",
                                    start + "a/b/c a 10.0.0.1:7",
                                    start + "a/b/c a 0.0.0.0",
                                    start + "a/b/c a 224.0.0.1",
                                    start + "a/b/c a fe80::1",
                                    start + "a/b/c a fe80::1%eth0",
                                    start + "a/b/c a ::",
                                    start + "a/b/c a ff02::1",
                                    start + "a/b/c a\n",
                                    start + std::string(129, 'a') + "/b/c a",
                                    start + std::string("a/b/c a 10.0.0.1\0", 17)}) {
        EXPECT_FALSE(HostFacts::parse(text)) << text;
    }
    HostFacts many = host_with(std::vector<std::string>(HostFacts::addresses_max, "10.0.0.1"));
    EXPECT_TRUE(HostFacts::parse(many.to_text()));
    many.addresses.emplace_back("10.0.0.1");
    EXPECT_FALSE(HostFacts::parse(many.to_text()));
}

TEST(HostFacts, NoBytesOfAnotherProcessDoHarm) {
    Random random(5);
    const std::string whole = host_with({"10.0.0.7", "192.168.1.1", "fd00::7"}).to_text();
    for (int run = 0; run < 20'000; ++run) {
        std::string text = whole;
        for (std::uint64_t changes = random.below(5); changes > 0; --changes) {
            text[random.below(text.size())] = static_cast<char>(random.next());
        }
        if (random.chance(0.3)) text.resize(random.below(text.size() + 1));
        const auto facts = HostFacts::parse(text);
        if (!facts) continue;
        for (const std::string& address : facts->addresses) {
            EXPECT_TRUE(Address::parse_host(address)) << address;
        }
        EXPECT_TRUE(HostFacts::parse(facts->to_text())) << text;
    }
}

TEST(HostFacts, OfThisHostNameItsKernelNetworkAndUser) {
    ::unsetenv("WIREPROOF_INTERFACE");
    const auto facts = HostFacts::of_this_host();
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_TRUE(facts->key.starts_with(facts->machine + "/"));
    EXPECT_TRUE(facts->key.ends_with("/" + std::to_string(::geteuid())));
    EXPECT_EQ(HostFacts::of_this_host()->key, facts->key);
    EXPECT_TRUE(facts->same_network(*facts));
    HostFacts other_user = *facts;
    other_user.key = facts->key + "7";
    EXPECT_TRUE(facts->same_network(other_user));
    EXPECT_FALSE(facts->same_network(host_with({})));
    EXPECT_EQ(std::count(facts->addresses.begin(), facts->addresses.end(), "127.0.0.1"), 0);
    EXPECT_TRUE(HostFacts::parse(facts->to_text()));
}

TEST(HostFacts, AnotherNetworkNamespaceIsAnotherNetworkOfTheSameMachine) {
    const HostFacts here = HostFacts::of_this_host().value();
    const int result = in_network({}, [&] {
        const auto there = HostFacts::of_this_host();
        return there && there->machine == here.machine && !there->same_network(here) &&
                       there->addresses.empty()
                   ? 0
                   : 1;
    });
    if (result == not_here) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(result, 0);
}

TEST(HostFacts, AddressesAreThoseOfInterfacesThatAreUp) {
    const int result = in_network(two_networks, [] {
        EXPECT_EQ(HostFacts::of_this_host()->addresses,
                  (std::vector<std::string>{"10.1.0.5", "10.2.0.5", "172.17.0.1", "fd00:2::5"}));
        ::setenv("WIREPROOF_INTERFACE", "two", 1);
        EXPECT_EQ(HostFacts::of_this_host()->addresses,
                  (std::vector<std::string>{"10.2.0.5", "fd00:2::5"}));
        ::setenv("WIREPROOF_INTERFACE", "lo", 1);
        EXPECT_EQ(HostFacts::of_this_host().error().message,
                  "WIREPROOF_INTERFACE: lo is not up, or has no address that other hosts can use");
        ::setenv("WIREPROOF_INTERFACE", "three", 1);
        EXPECT_EQ(HostFacts::of_this_host().error().message,
                  "WIREPROOF_INTERFACE: three is no interface of this host");
        ::setenv("WIREPROOF_INTERFACE", "off", 1);
        EXPECT_EQ(HostFacts::of_this_host().error().message,
                  "WIREPROOF_INTERFACE: off is not up, or has no address that other hosts can use");
        return testing::Test::HasFailure() ? 1 : 0;
    });
    if (result == not_here) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(result, 0);
}

TEST(OwnAddress, IsLoopbackIfAllAreHere) {
    const HostFacts here = HostFacts::of_this_host().value();
    const std::array others{here, here};
    EXPECT_EQ(own_address_to(here, others).value(), "127.0.0.1");
    EXPECT_EQ(own_address_to(here, {}).value(), "127.0.0.1");
}

TEST(OwnAddress, IsThatOfTheInterfaceTowardsTheOthers) {
    const int result = in_network(two_networks, [] {
        const HostFacts own = HostFacts::of_this_host().value();
        const auto towards = [&](const std::vector<HostFacts>& others) {
            const auto address = own_address_to(own, others);
            return address ? *address : address.error().message;
        };
        EXPECT_EQ(towards({host_with({"10.1.0.9"})}), "10.1.0.5");
        EXPECT_EQ(towards({host_with({"10.2.0.9"})}), "10.2.0.5");
        EXPECT_EQ(towards({host_with({"fd00:2::9"})}), "fd00:2::5");
        EXPECT_EQ(towards({host_with({"192.168.9.9"})}), "10.1.0.5");
        // A common subnet counts more than the default route, in any order.
        EXPECT_EQ(towards({host_with({"192.168.9.9", "10.2.0.9"})}), "10.2.0.5");
        EXPECT_EQ(towards({host_with({"10.2.0.9", "192.168.9.9"})}), "10.2.0.5");
        // IPv4 counts more than IPv6, and the first interface more than the second.
        EXPECT_EQ(towards({host_with({"fd00:2::9", "10.2.0.9"})}), "10.2.0.5");
        EXPECT_EQ(towards({host_with({"10.2.0.9", "10.1.0.9"})}), "10.1.0.5");
        // One that all reach counts more than one in the subnet of some.
        EXPECT_EQ(towards({host_with({"10.2.0.9", "10.1.0.9"}), host_with({"10.2.0.8"})}),
                  "10.2.0.5");
        EXPECT_EQ(towards({host_with({"10.2.0.9"}), host_with({"192.168.9.9"}),
                           host_with({"192.168.9.8"})}),
                  "10.1.0.5");
        // Those who are here do not count.
        EXPECT_EQ(towards({own, own, host_with({"10.2.0.9"})}), "10.2.0.5");
        // Each host has a network of this number.
        EXPECT_EQ(towards({host_with({"10.2.0.9", "172.17.0.1"})}), "10.2.0.5");
        EXPECT_EQ(towards({host_with({"172.17.0.1"})}),
                  "this host has no route to another host of the job, whose addresses are: "
                  "172.17.0.1");
        EXPECT_EQ(towards({host_with({})}),
                  "no version of IP has an address at each host of the job");
        EXPECT_EQ(towards({host_with({"fd00:9::9"})}),
                  "this host has no route to another host of the job, whose addresses are: "
                  "fd00:9::9");
        return testing::Test::HasFailure() ? 1 : 0;
    });
    if (result == not_here) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(result, 0);
}

// A socket sends IPv4 or IPv6. So all ranks must choose the same one.
TEST(OwnAddress, IsOfTheVersionOfIpThatAllHostsHave) {
    const int result = in_network(two_networks, [] {
        const HostFacts own = HostFacts::of_this_host().value();
        const auto towards = [&](const std::vector<HostFacts>& others) {
            const auto address = own_address_to(own, others);
            return address ? *address : address.error().message;
        };
        const HostFacts both = host_with({"10.2.0.9", "fd00:2::9"});
        EXPECT_EQ(towards({both, both}), "10.2.0.5");
        EXPECT_EQ(towards({both, host_with({"fd00:2::8"})}), "fd00:2::5");
        EXPECT_EQ(towards({host_with({"10.2.0.9"}), host_with({"fd00:2::8"})}),
                  "no version of IP has an address at each host of the job");
        return testing::Test::HasFailure() ? 1 : 0;
    });
    if (result == not_here) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(result, 0);
}

TEST(OwnAddress, AnotherContainerOfThisMachineIsFar) {
    const int result = in_network(two_networks, [] {
        const HostFacts own = HostFacts::of_this_host().value();
        const std::array others{
            HostFacts{own.machine + "/4.7/0", own.machine, {"10.2.0.9", "fd00:2::9"}}};
        EXPECT_EQ(own_address_to(own, others).value(), "10.2.0.5");
        return testing::Test::HasFailure() ? 1 : 0;
    });
    if (result == not_here) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(result, 0);
}

TEST(OwnAddress, IsOfTheInterfaceThatTheUserNames) {
    const int result = in_network(two_networks, [] {
        ::setenv("WIREPROOF_INTERFACE", "two", 1);
        const HostFacts own = HostFacts::of_this_host().value();
        const std::array others{host_with({"10.1.0.9"})};
        EXPECT_EQ(own_address_to(own, others).value(), "10.2.0.5");
        return testing::Test::HasFailure() ? 1 : 0;
    });
    if (result == not_here) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(result, 0);
}

TEST(OwnAddress, AHostWithLoopbackOnlyReachesNoOther) {
    const int result = in_network({"link set lo up"}, [] {
        const HostFacts own = HostFacts::of_this_host().value();
        const std::array others{host_with({"10.1.0.9"})};
        EXPECT_EQ(own_address_to(own, others).error().message,
                  "this host has no address that other hosts can use");
        return testing::Test::HasFailure() ? 1 : 0;
    });
    if (result == not_here) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace wireproof::host
