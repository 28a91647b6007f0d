// Which socket of this host has an address. The kernel answers.
#include "wireproof/front/verbs/cm/address.hpp"

#include <gtest/gtest.h>

#include "wireproof/wire/udp/own_hosts_test_kit.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::verbs::cm_address_test {
namespace {

Address host(std::uint8_t last, std::uint16_t port = 0) {
    Address address = wireproof::test::own_host(last);
    address.port = port;
    return address;
}

Address named(const char* text) {
    return Address::parse(text).value();
}

/// A socket at a port of the kernel's choice.
UdpSocket at(const Address& address) {
    auto socket = UdpSocket::open({.local = address});
    WIREPROOF_CHECK(socket.has_value());
    return std::move(*socket);
}

class CmSocketAt : public testing::Test {
protected:
    std::optional<std::uint64_t> socket_at(const Address& address) const {
        return verbs::socket_at(address, own.local_address());
    }

    const UdpSocket own = at(host(1));
};

TEST_F(CmSocketAt, AnAddressIsItsNumberWhichNoOtherSocketGets) {
    std::optional<UdpSocket> socket = at(host(2));
    const Address address = socket->local_address();
    const auto number = socket_at(address);
    ASSERT_TRUE(number);
    EXPECT_NE(*number, 0U);
    EXPECT_EQ(socket_at(address), number);
    socket.reset();
    EXPECT_EQ(socket_at(address), 0U);
    socket = at(address);
    ASSERT_TRUE(socket_at(address));
    EXPECT_NE(*socket_at(address), 0U);
    EXPECT_NE(socket_at(address), number);
}

TEST_F(CmSocketAt, AnAddressMayHaveAllAddressesOfThePort) {
    const UdpSocket socket = at(named("0.0.0.0:0"));
    const std::uint16_t port = socket.local_address().port;
    EXPECT_NE(socket_at(host(2, port)).value(), 0U);
    EXPECT_EQ(socket_at(host(3, port)), socket_at(host(2, port)));
}

TEST_F(CmSocketAt, AnIpv6AddressIsFoundToo) {
    auto socket = UdpSocket::open({.local = named("[::1]:0")});
    if (!socket) GTEST_SKIP() << "no IPv6 here";
    const Address address = socket->local_address();
    EXPECT_NE(socket_at(address).value(), 0U);
    *socket = at(host(2));  // closes it
    EXPECT_EQ(socket_at(address), 0U);
}

TEST_F(CmSocketAt, OurOwnAddressOrThatOfAnotherHostIsNotKnown) {
    EXPECT_FALSE(socket_at(own.local_address()));
    EXPECT_FALSE(socket_at(named("192.0.2.1:4791")));
}

// A kernel without this service says of each address that it has no socket.
TEST(CmSocketAtKernel, ThatDoesNotKnowTheSocketOfTheDeviceIsNotBelieved) {
    const UdpSocket socket = at(host(2));
    const Address nobody = UdpSocket(at(host(1))).local_address();
    EXPECT_FALSE(socket_at(socket.local_address(), nobody));
}

}  // namespace
}  // namespace wireproof::verbs::cm_address_test
