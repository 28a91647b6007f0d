// Which texts are addresses, and what a person is told of those that are not.
#include "wireproof/wire/udp/address.hpp"

#include <gtest/gtest.h>

#include "wireproof/wire/udp/socket.hpp"

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
    EXPECT_NE(error_of("[fe80::1%no_such_interface]:9"), "none");
    EXPECT_NE(error_of("[fe80::1%0]:9"), "none");
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

TEST(Address, SaysWhatIsWrong) {
    EXPECT_EQ(error_of("127.0.0.1"),
              "bad address \"127.0.0.1\": an address without port; add one, as in :7000");
    EXPECT_EQ(error_of("[::1]"),
              "bad address \"[::1]\": an address without port; add one, as in :7000");
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
