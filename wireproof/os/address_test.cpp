// Tests which texts are addresses, and the error messages for the others.
#include "wireproof/os/address.hpp"

#include <gtest/gtest.h>

#include "wireproof/os/socket_address.hpp"

namespace wireproof {
namespace {

std::string error_of(std::string_view text) {
    const auto address = Address::parse(text);
    return address ? "none" : address.error().message;
}

TEST(Address, ReadsWhatItWrites) {
    for (const char* text : {"127.0.0.1:7000", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:7000",
                             "[::]:0", "[2001:db8::12:0:7]:1", "[fe80::1%3]:9"}) {
        const auto address = Address::parse(text);
        ASSERT_TRUE(address) << address.error().message;
        EXPECT_EQ(address->to_string(), text);
    }
}

TEST(Address, ReadsAScopeByTheNameOfItsInterface) {
    const auto named = Address::parse("[fe80::1%lo]:9");
    ASSERT_TRUE(named) << named.error().message;
    EXPECT_NE(named->scope, 0U);
    EXPECT_EQ(error_of("[fe80::1%no_such_if]:9"),
              "bad address \"[fe80::1%no_such_if]:9\": no interface \"no_such_if\"");
    EXPECT_EQ(error_of("[fe80::1%0]:9"), "bad address \"[fe80::1%0]:9\": no interface \"0\"");
}

TEST(Address, RefusesALinkLocalOneWithoutItsInterface) {
    for (const char* text : {"[fe80::1]:9", "[febf::1]:9"}) {
        EXPECT_EQ(error_of(text), "bad address \"" + std::string(text) +
                                      "\": a link-local address names its interface, as in "
                                      "[fe80::1%eth0]:7000");
    }
    EXPECT_EQ(error_of("[fec0::1]:9"), "none");
}

TEST(Address, ReadsAHostAlone) {
    for (const char* text : {"127.0.0.1", "::1", "2001:db8::12:0:7", "fe80::1%3"}) {
        const auto address = Address::parse_host(text);
        ASSERT_TRUE(address) << address.error().message;
        EXPECT_EQ(address->host_text(), text);
        EXPECT_EQ(address->port, 0);
    }
    using namespace std::string_view_literals;
    EXPECT_FALSE(Address::parse_host("127.0.0.1\0x"sv));
    EXPECT_FALSE(Address::parse_host("::1\0x"sv));
    const auto error = [](const char* text) { return Address::parse_host(text).error().message; };
    for (const char* text : {"", "host", "127.1", "127.0.0.1.", "[127.0.0.1]"}) {
        EXPECT_EQ(error(text),
                  "bad address \"" + std::string(text) + "\": not a numeric IPv4 address");
    }
    for (const char* text : {"[::1]", "127.0.0.1:7", ":", "::1:x"}) {
        EXPECT_EQ(error(text),
                  "bad address \"" + std::string(text) + "\": not a numeric IPv6 address");
    }
}

TEST(Address, GoesToTheKernelAndBack) {
    for (const char* text : {"127.0.0.1:7000", "[2001:db8::12:0:7]:1", "[fe80::1%3]:9"}) {
        const Address address = *Address::parse(text);
        const SocketAddress there = to_socket_address(address);
        EXPECT_EQ(from_socket_address(there), address) << text;
        EXPECT_EQ(from_socket_address(&there.any), address) << text;
    }
    EXPECT_FALSE(from_socket_address(static_cast<const sockaddr*>(nullptr)).is_set());
    const sockaddr local{.sa_family = AF_UNIX, .sa_data = {}};
    EXPECT_FALSE(from_socket_address(&local).is_set());
    EXPECT_FALSE(own_address_of(-1).is_set());
}

TEST(Address, IsLinkLocal) {
    const auto is = [](const char* text) { return Address::parse(text)->is_link_local(); };
    for (const char* text : {"169.254.0.1:7", "[fe80::1%1]:7", "[febf::1%1]:7"}) {
        EXPECT_TRUE(is(text)) << text;
    }
    for (const char* text : {"169.253.0.1:7", "254.128.0.1:7", "[fec0::1]:7", "[a9fe::1]:7"}) {
        EXPECT_FALSE(is(text)) << text;
    }
}

TEST(Address, SaysWhichCannotBeAPeers) {
    const auto why = [](const char* text) { return Address::parse(text)->why_no_peer(); };
    for (const char* text : {"127.0.0.1:7", "192.0.2.1:7", "223.255.255.255:65535", "[::1]:7",
                             "[2001:db8::1]:7", "[fe80::1%1]:7"}) {
        EXPECT_EQ(why(text), "") << text;
    }
    for (const char* text : {"0.0.0.0:7", "[::]:7", "0.0.0.0:0"}) {
        EXPECT_EQ(why(text), "means every address of a host, and names no peer") << text;
    }
    EXPECT_EQ(why("255.255.255.255:7"), "is a broadcast address, and no peer's");
    for (const char* text : {"224.0.0.1:7", "239.255.255.255:7", "[ff02::1%1]:7", "[ff0e::1]:7"}) {
        EXPECT_EQ(why(text), "is a multicast address, and no peer's") << text;
    }
    for (const char* text : {"0.1.2.3:7", "240.0.0.1:7"}) {
        EXPECT_EQ(why(text), "is a reserved address, and no peer's") << text;
    }
    EXPECT_EQ(why("[::ffff:192.0.2.1]:7"), "is an IPv4 address in IPv6 form: write it as IPv4");
    EXPECT_EQ(why("192.0.2.1:0"), "has port 0, which no peer can have");
    EXPECT_EQ(Address::parse_host("192.0.2.1")->why_no_host(), "");
    EXPECT_EQ(Address().why_no_peer(), "is no address");
}

TEST(Address, KnowsWhatNeverLeavesTheHost) {
    for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
        EXPECT_TRUE(Address::parse(text)->is_loopback()) << text;
    }
    for (const char* text : {"128.0.0.1:1", "0.0.0.0:1", "192.0.2.7:1", "[::]:1", "[::2]:1",
                             "[::ffff:128.0.0.1]:1", "[2001:db8::127:1]:1"}) {
        EXPECT_FALSE(Address::parse(text)->is_loopback()) << text;
    }
    EXPECT_FALSE(Address().is_loopback());
}

TEST(Address, KnowsWhichStandsForEachAddressOfAHost) {
    for (const char* text : {"0.0.0.0:7", "[::]:0"}) {
        EXPECT_TRUE(Address::parse(text)->is_any()) << text;
    }
    for (const char* text : {"0.0.0.1:0", "[::1]:0", "[::ffff:0.0.0.0]:0"}) {
        EXPECT_FALSE(Address::parse(text)->is_any()) << text;
    }
    EXPECT_FALSE(Address().is_any());
}

TEST(Address, OfIpv4InIpv6FormHasItsOwnForm) {
    const auto own = [](const char* text) {
        return Address::parse(text)->in_own_form().to_string();
    };
    EXPECT_EQ(own("[::ffff:192.0.2.1]:7"), "192.0.2.1:7");
    for (const char* text : {"192.0.2.1:7", "[::1]:7", "[::fffe:c000:201]:7", "[fe80::1%1]:7"}) {
        EXPECT_EQ(own(text), text);
    }
}

TEST(Address, SaysWhatIsWrong) {
    EXPECT_EQ(error_of("127.0.0.1"),
              "bad address \"127.0.0.1\": an address without port: add one, as in :7000");
    EXPECT_EQ(error_of("[::1]"),
              "bad address \"[::1]\": an address without port: add one, as in :7000");
    EXPECT_EQ(error_of("[::1"), "bad address \"[::1\": a closing bracket is missing");
    EXPECT_EQ(error_of("[::1]7000"),
              "bad address \"[::1]7000\": a colon is missing before the port");
    EXPECT_EQ(error_of("::1:7000"),
              "bad address \"::1:7000\": an IPv6 address stands in brackets, as in [::1]:7000");
    for (const char* text : {"127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1",
                             "127.0.0.1:7000x", "127.0.0.1:http"}) {
        EXPECT_EQ(error_of(text), "bad address \"" + std::string(text) +
                                      "\": the port is not a number from 0 to 65535");
    }
    for (const char* text : {"localhost:7000", ":7000", "127.1:7000", "127.0.0.256:7000"}) {
        EXPECT_EQ(error_of(text),
                  "bad address \"" + std::string(text) + "\": not a numeric IPv4 address");
    }
    for (const char* text : {"[]:7000", "[127.0.0.1]:7000", "[::1::]:7000"}) {
        EXPECT_EQ(error_of(text),
                  "bad address \"" + std::string(text) + "\": not a numeric IPv6 address");
    }
    EXPECT_NE(error_of(""), "none");
}

TEST(Address, SurvivesTheWayThroughTheKernelsForm) {
    for (const char* text :
         {"1.2.3.4:5", "255.0.254.1:65535", "[2001:db8::12:0:7]:1", "[fe80::1%3]:9"}) {
        const auto address = Address::parse(text);
        ASSERT_TRUE(address);
        EXPECT_EQ(from_socket_address(to_socket_address(*address)), *address);
    }
}

TEST(Address, DiffersInEachOfItsParts) {
    const Address here = *Address::parse("[fe80::1%3]:9");
    EXPECT_EQ(here, *Address::parse("[fe80::1%3]:9"));
    for (const char* text : {"[fe80::2%3]:9", "[fe80::1%4]:9", "[fe80::1%3]:8"}) {
        EXPECT_NE(here, *Address::parse(text));
        EXPECT_NE(AddressHash()(here), AddressHash()(*Address::parse(text)));
    }
    EXPECT_FALSE(Address().is_set());
    EXPECT_TRUE(here.is_set());
    EXPECT_EQ(Address().to_string(), "no address");
}

}  // namespace
}  // namespace wireproof
