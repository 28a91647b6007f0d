#include "wireproof/app/launch/host_list.hpp"

#include <gtest/gtest.h>

namespace wireproof::launch {
namespace {

using Hosts = std::vector<std::string>;

TEST(HostList, EachPlaceHasItsHost) {
    EXPECT_EQ(parse_hosts("a").value(), Hosts({"a"}));
    EXPECT_EQ(parse_hosts("a,b:3,a").value(), Hosts({"a", "b", "b", "b", "a"}));
    EXPECT_EQ(parse_hosts("me@node-1.lan:2").value(), Hosts({"me@node-1.lan", "me@node-1.lan"}));
}

TEST(HostList, AnAddressMayBeIPv6) {
    EXPECT_EQ(parse_hosts("fe80::1%eth0").value(), Hosts({"fe80::1%eth0"}));
    EXPECT_EQ(parse_hosts("[::1]").value(), Hosts({"::1"}));
    EXPECT_EQ(parse_hosts("[::1]:2,10.0.0.7").value(), Hosts({"::1", "::1", "10.0.0.7"}));
}

TEST(HostList, AWrongListIsRefusedInOneLine) {
    for (const char* text :
         {"",     ",",      "a,",   ",a",     "a,,b",        "a:",
          "a:0",  "a:x",    "a:-1", "a:1.5",  ":2",          "-oProxyCommand=x",
          "-v",   "[-v]:2", "a b",  "a;b",    "$(a)",        "a\nb",
          "[::1", "[::1]2", "[]:1", "a:1025", "a:1000,b:25", "a:99999999999999999999"}) {
        const auto hosts = parse_hosts(text);
        ASSERT_FALSE(hosts) << text;
        EXPECT_FALSE(hosts.error().message.empty());
    }
    EXPECT_EQ(parse_hosts("a,b:x").error().message, "\"x\" is no number of ranks from 1 to 1024");
}

}  // namespace
}  // namespace wireproof::launch
