#include "wireproof/front/verbs/device/settings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "wireproof/front/verbs/device/addressing.hpp"

namespace wireproof::verbs {
namespace {

/// The environment from which a test reads settings.
std::map<std::string, std::string, std::less<>> given;

std::string_view given_variable(const char* name) {
    const auto found = given.find(name);
    return found == given.end() ? std::string_view() : found->second;
}

Expected<Settings> settings_with(std::map<std::string, std::string, std::less<>> variables) {
    given = std::move(variables);
    return settings_of(&given_variable);
}

class VerbsSettingsFile : public testing::Test {
protected:
    void write(const std::string& text) { std::ofstream(path_) << text; }
    Expected<Settings> read(std::map<std::string, std::string, std::less<>> variables = {}) {
        variables[file_variable] = path_;
        return settings_with(std::move(variables));
    }

    std::string path_ = testing::TempDir() + "verbs_settings_" + std::to_string(::getpid());

    void TearDown() override { std::remove(path_.c_str()); }
};

TEST(VerbsSettings, EmptyTextsChooseNothing) {
    const auto settings = settings_with({{"WIREPROOF_VERBS_SEED", ""}});
    ASSERT_TRUE(settings);
    EXPECT_FALSE(settings->address);
    EXPECT_FALSE(settings->seed);
    EXPECT_EQ(settings->receive_buffer, Settings().receive_buffer);
}

TEST(VerbsSettings, AnAddressHasThePortOfRocev2) {
    const auto settings = settings_with({{"WIREPROOF_VERBS_ADDRESS", "10.0.0.7"},
                                         {"WIREPROOF_VERBS_SEED", "18446744073709551615"},
                                         {"WIREPROOF_VERBS_RECEIVE_BUFFER", "212992"}});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->address->to_string(), "10.0.0.7:4791");
    EXPECT_EQ(settings->seed, ~std::uint64_t{0});
    EXPECT_EQ(settings->receive_buffer, 212'992);
    EXPECT_EQ(settings_with({{"WIREPROOF_VERBS_ADDRESS", "fd00::1"}})->address->to_string(),
              "[fd00::1]:4791");
}

TEST(VerbsSettings, WhatIsWrongIsNamed) {
    const std::map<std::string, std::vector<std::string>> wrong = {
        {"ADDRESS", {"localhost", "10.0.0", "10.0.0.1:5", "0.0.0.0", "224.0.0.1", "::"}},
        {"NO_SHM", {"2", "yes", " 1"}},
        {"CONGESTION", {"1", "yes", "by_path", "Path"}},
        {"POLL", {"0", "spins", "Spin", "yield"}},
        {"SEED", {"x", "-1", "1 ", "18446744073709551616"}},
        {"RECEIVE_BUFFER", {"4095", "1073741825", "-1", "64K", "1e6", "99999999999"}}};
    for (const auto& [name, texts] : wrong) {
        const std::string variable = "WIREPROOF_VERBS_" + name;
        for (const std::string& text : texts) {
            const auto settings = settings_with({{variable, text}});
            ASSERT_FALSE(settings) << variable << "=" << text;
            EXPECT_EQ(settings.error().message.find(variable + ": "), 0U)
                << settings.error().message;
        }
    }
}

TEST(VerbsSettings, MemoryIsSharedUnlessItIsSwitchedOff) {
    EXPECT_TRUE(settings_with({})->shared_memory);
    EXPECT_TRUE(settings_with({{"WIREPROOF_VERBS_NO_SHM", "0"}})->shared_memory);
    EXPECT_FALSE(settings_with({{"WIREPROOF_VERBS_NO_SHM", "1"}})->shared_memory);
}

TEST(VerbsSettings, CongestionControlIsByPathToOtherHostsUnlessItIsChosen) {
    using proto::ib::Congestion;
    const auto to = [](const char* text, bool other_host) {
        return settings_with({{"WIREPROOF_VERBS_CONGESTION", text}})->congestion.to(other_host);
    };
    for (const char* usual : {"", "auto"}) {
        EXPECT_EQ(to(usual, true), Congestion::by_path);
        EXPECT_EQ(to(usual, false), Congestion::off);
    }
    for (const bool other_host : {false, true}) {
        EXPECT_EQ(to("on", other_host), Congestion::by_path);
        EXPECT_EQ(to("path", other_host), Congestion::by_path);
        EXPECT_EQ(to("loss", other_host), Congestion::by_loss);
        EXPECT_EQ(to("off", other_host), Congestion::off);
    }
}

TEST(VerbsSettings, EmptyPollsSleepUnlessTheyAreToSpin) {
    EXPECT_EQ(settings_with({})->empty_poll, EmptyPoll::sleeps);
    EXPECT_EQ(settings_with({{"WIREPROOF_VERBS_POLL", "sleep"}})->empty_poll, EmptyPoll::sleeps);
    EXPECT_EQ(settings_with({{"WIREPROOF_VERBS_POLL", "spin"}})->empty_poll, EmptyPoll::spins);
}

TEST(VerbsSettings, EachHasNamesOfItsOwn) {
    std::set<std::string> names;
    for (const Setting& setting : all_settings()) {
        EXPECT_TRUE(names.insert(setting.option).second);
        EXPECT_TRUE(names.insert(setting.key).second);
        EXPECT_TRUE(names.insert(setting.variable).second);
        EXPECT_EQ(std::string(setting.variable).find("WIREPROOF_VERBS_"), 0U);
        EXPECT_EQ(std::string(setting.option).find("--"), 0U);
    }
}

TEST_F(VerbsSettingsFile, HasTheSameSettings) {
    write("address = \"10.0.0.7\"\nseed = 5\nreceive_buffer = 65536\n");
    const auto settings = read();
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(settings->address->to_string(), "10.0.0.7:4791");
    EXPECT_EQ(settings->seed, 5U);
    EXPECT_EQ(settings->receive_buffer, 65536);
}

TEST_F(VerbsSettingsFile, TheEnvironmentWinsOverIt) {
    write("seed = 5\nreceive_buffer = 65536\n");
    const auto settings = read({{"WIREPROOF_VERBS_SEED", "7"}});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->seed, 7U);
    EXPECT_EQ(settings->receive_buffer, 65536);
}

TEST_F(VerbsSettingsFile, WhatIsWrongInItIsReportedWithItsPosition) {
    const std::map<std::string, std::string> wrong = {
        {"seed = 5\nsede = 5\n", ":2:1: unknown key \"sede\""},
        {"\nseed = -1\n", ":2:8: \"seed\": '-1' is not a number"},
        {"seed = [1]\n", ":1:8: \"seed\" must be a text or a number"},
        {"seed = \"\"\n", ":1:8: \"seed\" must be"},
        {"address = \"here\"\n", ":1:11: \"address\": "},
        {"seed =\n", ":1:"}};
    for (const auto& [text, error] : wrong) {
        write(text);
        const auto settings = read();
        ASSERT_FALSE(settings) << text;
        EXPECT_EQ(settings.error().message.find(path_ + error), 0U) << settings.error().message;
    }
}

TEST_F(VerbsSettingsFile, OneThatCannotBeReadIsNamed) {
    const auto settings = read();
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().message.find("WIREPROOF_VERBS_CONFIG: " + path_ + ": "), 0U);
    EXPECT_FALSE(settings_with({{file_variable, "/tmp"}}));
    write(std::string(2 << 20, '\n'));
    EXPECT_FALSE(read());
}

TEST(VerbsAddressing, BothGidsOfAnIpv4AddressLeadToIt) {
    const Address address = *Address::parse("127.0.0.9:4791");
    const proto::ib::Gid gid = gid_of(address);
    EXPECT_EQ(gid, (proto::ib::Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 9}));
    EXPECT_EQ(address_of(gid), address);
    const proto::ib::Gid local = link_local_gid_of(address);
    EXPECT_EQ(local,
              (proto::ib::Gid{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x5E, 0xFE, 127, 0, 0, 9}));
    EXPECT_EQ(address_of(local), address);
}

TEST(VerbsAddressing, TheGidOfAnIpv6AddressIsThat) {
    const Address address = *Address::parse("[fd00::9]:4791");
    EXPECT_EQ(gid_of(address), address.host);
    EXPECT_EQ(address_of(gid_of(address)), address);
}

TEST(VerbsAddressing, NoHostHasTheGidsOfNoneOrOfMany) {
    EXPECT_FALSE(address_of(proto::ib::Gid{}));
    EXPECT_FALSE(address_of(proto::ib::Gid{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(VerbsAddressing, AnAddressVectorNamesAHostByItsGidThroughOurPort) {
    ibv_ah_attr vector{};
    const proto::ib::Gid gid = gid_of(*Address::parse("127.0.0.3:4791"));
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

TEST(VerbsAddressing, OnInfinibandAnAddressVectorMayNameAHostByItsLid) {
    const Address own = *Address::parse("127.0.0.1:4791");
    ibv_ah_attr vector{};
    vector.dlid = 0x0203;
    vector.port_num = 1;
    EXPECT_FALSE(address_of(vector));
    ASSERT_TRUE(address_of(vector, &own));
    EXPECT_EQ(address_of(vector, &own)->to_string(), "127.0.2.3:4791");
    EXPECT_EQ(lid_of(*address_of(vector, &own)), 0x0203);
    for (const int nobody : {0x0000, 0xC000, 0xFFFF}) {
        vector.dlid = static_cast<std::uint16_t>(nobody);
        EXPECT_FALSE(address_of(vector, &own)) << nobody;
    }
    vector.dlid = 0xBFFF;
    EXPECT_TRUE(address_of(vector, &own));
    vector.port_num = 2;
    EXPECT_FALSE(address_of(vector, &own));
}

TEST(VerbsSettings, ALinkIsChosenByName) {
    const char* const variable = "WIREPROOF_VERBS_LINK";
    EXPECT_EQ(settings_with({})->link, Link::ethernet);
    EXPECT_EQ(settings_with({{variable, "ethernet"}})->link, Link::ethernet);
    EXPECT_EQ(settings_with({{variable, "infiniband"}})->link, Link::infiniband);
    const auto settings = settings_with({{variable, "token ring"}});
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().message,
              "WIREPROOF_VERBS_LINK: 'token ring' is neither ethernet nor infiniband");
}

TEST(VerbsAddressing, EveryLoopbackAddressIsOfTheLoopbackInterface) {
    const std::uint32_t interface = interface_of(*Address::parse("127.0.0.1:4791"));
    EXPECT_NE(interface, 0U);
    EXPECT_EQ(interface_of(*Address::parse("127.3.2.1:4791")), interface);
    EXPECT_EQ(interface_of(*Address::parse("192.0.2.1:4791")), 0U);  // for documentation only
}

}  // namespace
}  // namespace wireproof::verbs
