// What the hooks learn of the device, before a program opens it and after that.
#include "wireproof/front/verbs/objects/device_facts.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdlib>

#include "wireproof/front/verbs/hooks/device_facts.h"
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

/// An environment variable that has this value while the object exists.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) {
        const char* const before = std::getenv(name);
        if (before != nullptr) before_ = before;
        ::setenv(name, value.c_str(), 1);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }

private:
    const char* name_;
    std::string before_;
};

TEST(VerbsFacts, AreTheSameBeforeADeviceIsOpenedAtAnAddressOfTheSettings) {
    const Variable address("WIREPROOF_VERBS_ADDRESS", wireproof::test::own_host(7).host_text());
    const Variable link("WIREPROOF_VERBS_LINK", "infiniband");
    wireproof_facts before{};
    ASSERT_EQ(wireproof_device_facts(&before), 0);
    ibv_context* const context = open_device();
    ASSERT_NE(context, nullptr);
    wireproof_facts after{};
    ASSERT_EQ(wireproof_device_facts(&after), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
    EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
    EXPECT_EQ(after.is_infiniband, 1);
    EXPECT_STREQ(after.interface, "lo");
    const auto& host = wireproof::test::own_host(7).host;
    EXPECT_EQ(after.lid, unsigned{host[2]} << 8 | host[3]);
    const auto& shown = reinterpret_cast<const sockaddr_in&>(after.address);
    EXPECT_EQ(std::memcmp(&shown.sin_addr, wireproof::test::own_host(7).host.data(), 4), 0);
}

TEST(VerbsFacts, WithoutAnAddressTheGuidIsKnownBeforeTheDeviceIsOpened) {
    ::unsetenv("WIREPROOF_VERBS_ADDRESS");
    wireproof_facts before{};
    ASSERT_EQ(wireproof_device_facts(&before), 0);
    EXPECT_EQ(before.address.ss_family, 0);
    ibv_device** const list = ibv_get_device_list(nullptr);
    const __be64 guid = ibv_get_device_guid(list[0]);
    ibv_free_device_list(list);
    EXPECT_EQ(std::memcmp(before.guid, &guid, sizeof guid), 0);
}

TEST(VerbsFacts, DoNotReachTheThreadThatOpensTheDevice) {
    const OpensDevice opening;
    wireproof_facts facts{};
    EXPECT_EQ(wireproof_device_facts(&facts), -1);
}

TEST(VerbsFacts, AreNotPublishedFromWrongSettings) {
    const Variable address("WIREPROOF_VERBS_ADDRESS", "nowhere");
    wireproof_facts facts{};
    EXPECT_EQ(wireproof_device_facts(&facts), -1);
}

}  // namespace
}  // namespace wireproof::verbs::test
