#include "wireproof/front/verbs/settings.hpp"

#include <gtest/gtest.h>

#include "wireproof/front/verbs/addressing.hpp"

namespace wireproof::verbs {
namespace {

TEST(VerbsSettings, EmptyTextsChooseNothing) {
    const auto settings = parse_settings("", "");
    ASSERT_TRUE(settings);
    EXPECT_FALSE(settings->address);
    EXPECT_FALSE(settings->seed);
}

TEST(VerbsSettings, AnAddressHasThePortOfRocev2) {
    const auto settings = parse_settings("10.0.0.7", "18446744073709551615");
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->address->to_string(), "10.0.0.7:4791");
    EXPECT_EQ(settings->seed, ~std::uint64_t{0});
    EXPECT_EQ(parse_settings("fd00::1", "")->address->to_string(), "[fd00::1]:4791");
}

TEST(VerbsSettings, WhatIsWrongIsNamed) {
    for (const char* address :
         {"localhost", "10.0.0", "10.0.0.1:5", "0.0.0.0", "224.0.0.1", "::"}) {
        const auto settings = parse_settings(address, "");
        ASSERT_FALSE(settings) << address;
        EXPECT_EQ(settings.error().message.find("WIREPROOF_VERBS_ADDRESS: "), 0U)
            << settings.error().message;
    }
    for (const char* seed : {"x", "-1", "1 ", "18446744073709551616"}) {
        const auto settings = parse_settings("", seed);
        ASSERT_FALSE(settings) << seed;
        EXPECT_EQ(settings.error().message.find("WIREPROOF_VERBS_SEED: "), 0U);
    }
}

TEST(VerbsAddressing, BothGidsOfAnIpv4AddressLeadToIt) {
    const Address address = *Address::parse("127.0.0.9:4791");
    const ib::Gid gid = gid_of(address);
    EXPECT_EQ(gid, (ib::Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 9}));
    EXPECT_EQ(address_of(gid), address);
    const ib::Gid local = link_local_gid_of(address);
    EXPECT_EQ(local, (ib::Gid{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x5E, 0xFE, 127, 0, 0, 9}));
    EXPECT_EQ(address_of(local), address);
}

TEST(VerbsAddressing, TheGidOfAnIpv6AddressIsThat) {
    const Address address = *Address::parse("[fd00::9]:4791");
    EXPECT_EQ(gid_of(address), address.host);
    EXPECT_EQ(address_of(gid_of(address)), address);
}

TEST(VerbsAddressing, NoHostHasTheGidsOfNoneOrOfMany) {
    EXPECT_FALSE(address_of(ib::Gid{}));
    EXPECT_FALSE(address_of(ib::Gid{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(VerbsAddressing, AnAddressVectorNamesAHostByItsGidThroughOurPort) {
    ibv_ah_attr vector{};
    const ib::Gid gid = gid_of(*Address::parse("127.0.0.3:4791"));
    std::copy(gid.begin(), gid.end(), vector.grh.dgid.raw);
    vector.is_global = 1;
    vector.port_num = 1;
    vector.grh.sgid_index = 1;
    ASSERT_TRUE(address_of(vector));
    EXPECT_EQ(address_of(vector)->to_string(), "127.0.0.3:4791");
    ibv_ah_attr without = vector;
    without.is_global = 0;
    EXPECT_FALSE(address_of(without));
    ibv_ah_attr port = vector;
    port.port_num = 2;
    EXPECT_FALSE(address_of(port));
    ibv_ah_attr index = vector;
    index.grh.sgid_index = 2;
    EXPECT_FALSE(address_of(index));
}

TEST(VerbsAddressing, EveryLoopbackAddressIsOfTheLoopbackInterface) {
    const std::uint32_t interface = interface_of(*Address::parse("127.0.0.1:4791"));
    EXPECT_NE(interface, 0U);
    EXPECT_EQ(interface_of(*Address::parse("127.3.2.1:4791")), interface);
    EXPECT_EQ(interface_of(*Address::parse("192.0.2.1:4791")), 0U);  // for documentation: of nobody
}

}  // namespace
}  // namespace wireproof::verbs
