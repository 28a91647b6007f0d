// Each function with NULL, with structs of a wrong size, and on a closed endpoint.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "wireproof/front/c/c_test_kit.hpp"

namespace wireproof::c {
namespace {

using namespace test;

/// The status of each call on an endpoint that returns one, with good arguments otherwise.
std::vector<std::pair<std::string, wireproof_status>> calls(wireproof_endpoint* end) {
    static std::array<char, 8> bytes{};
    void* memory = &memory;
    std::uint64_t address = 1;
    wireproof_counters counters{};
    counters.size = sizeof counters;
    std::size_t handled = 9;
    std::vector<std::pair<std::string, wireproof_status>> all = {
        {"set_peer_address", wireproof_endpoint_set_peer_address(end, 1, "127.0.0.1:9")},
        {"handle", wireproof_endpoint_handle(end, ask, keep, nullptr)},
        {"handle nothing", wireproof_endpoint_handle(end, ask, nullptr, nullptr)},
        {"request", wireproof_endpoint_request(end, 1, ask, "x", 1)},
        {"reply", wireproof_endpoint_reply(end, ask, "x", 1)},
        {"flush", wireproof_endpoint_flush(end, 1, 0)},
        {"store", wireproof_endpoint_store(end, 1, 0, "x", 1, stored, 0)},
        {"store_async",
         wireproof_endpoint_store_async(end, 1, 0, "x", 1, stored, 0, nullptr, nullptr)},
        {"get", wireproof_endpoint_get(end, 1, 0, bytes.data(), 8)},
        {"get_async", wireproof_endpoint_get_async(end, 1, 0, bytes.data(), 8, nullptr, nullptr)},
        {"allocate", wireproof_endpoint_allocate(end, 8, &memory)},
        {"deallocate", wireproof_endpoint_deallocate(end, bytes.data(), 8)},
        {"register_memory",
         wireproof_endpoint_register_memory(end, 1, bytes.data(), 8, WIREPROOF_MAY_GET, &address)},
        {"unregister_memory", wireproof_endpoint_unregister_memory(end, 1, 0)},
        {"unregister_memory of all",
         wireproof_endpoint_unregister_memory(end, WIREPROOF_EACH_PEER, 0)},
        {"poll", wireproof_endpoint_poll(end, &handled)},
        {"wait", wireproof_endpoint_wait(end, 0)},
        {"on_peer_lost", wireproof_endpoint_on_peer_lost(end, nullptr, nullptr)},
        {"on_refused", wireproof_endpoint_on_refused(end, nullptr, nullptr)},
        {"counters", wireproof_endpoint_counters(end, 1, &counters)},
        {"leave", wireproof_endpoint_leave(end, 0)},
        {"close", wireproof_endpoint_close(end, 0)},
    };
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(address, 0U);
    EXPECT_EQ(handled, 0U);
    return all;
}

void expect_closed_getters(wireproof_endpoint* end) {
    EXPECT_EQ(wireproof_endpoint_is_open(end), 0);
    EXPECT_EQ(wireproof_endpoint_self(end), 0U);
    EXPECT_EQ(wireproof_endpoint_nodes(end), 0U);
    EXPECT_EQ(wireproof_endpoint_message_max(end), 0U);
    EXPECT_STREQ(wireproof_endpoint_address(end), "");
    EXPECT_EQ(wireproof_endpoint_event_fd(end), -1);
    EXPECT_EQ(wireproof_endpoint_arm(end), 1);
    EXPECT_EQ(wireproof_endpoint_next_timeout(end), -1);
    EXPECT_EQ(wireproof_endpoint_idle(end), 1);
    wireproof_endpoint_wake(end);
}

TEST(CNull, NoEndpointIsABadArgument) {
    for (const auto& [call, status] : calls(nullptr)) {
        EXPECT_EQ(status, WIREPROOF_BAD_ARGUMENT) << call;
    }
    expect_closed_getters(nullptr);
    EXPECT_STRNE(wireproof_endpoint_error(nullptr), "");
    EXPECT_EQ(wireproof_endpoint_free(nullptr), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_poll(nullptr, nullptr), WIREPROOF_BAD_ARGUMENT);
}

TEST(CNull, AClosedEndpointSaysSo) {
    const Pair pair;
    ASSERT_EQ(wireproof_endpoint_close(pair.a(), patience_ms), WIREPROOF_OK);
    for (const auto& [call, status] : calls(pair.a())) {
        // A reply belongs to a message, and none is handled.
        EXPECT_EQ(status, call == "reply" ? WIREPROOF_NOT_ALLOWED : WIREPROOF_CLOSED) << call;
    }
    expect_closed_getters(pair.a());
    EXPECT_STREQ(wireproof_endpoint_error(pair.a()), "the endpoint is closed");
}

TEST(CNull, PointersOfAnOpenEndpointAreChecked) {
    const Pair pair;
    wireproof_endpoint* const end = pair.a();
    const auto bad = [&](wireproof_status status) {
        const std::string text = wireproof_endpoint_error(end);
        return status == WIREPROOF_BAD_ARGUMENT && text.find("NULL") != std::string::npos;
    };
    std::uint64_t address = 1;
    EXPECT_TRUE(bad(wireproof_endpoint_set_peer_address(end, 1, nullptr)));
    EXPECT_TRUE(bad(wireproof_endpoint_request(end, 1, ask, nullptr, 1)));
    EXPECT_TRUE(bad(wireproof_endpoint_reply(end, ask, nullptr, 1)));
    EXPECT_TRUE(bad(wireproof_endpoint_store(end, 1, 0, nullptr, 1, stored, 0)));
    EXPECT_TRUE(
        bad(wireproof_endpoint_store_async(end, 1, 0, nullptr, 1, stored, 0, nullptr, nullptr)));
    EXPECT_TRUE(bad(wireproof_endpoint_get(end, 1, 0, nullptr, 1)));
    EXPECT_TRUE(bad(wireproof_endpoint_get_async(end, 1, 0, nullptr, 1, nullptr, nullptr)));
    EXPECT_TRUE(bad(wireproof_endpoint_allocate(end, 8, nullptr)));
    EXPECT_TRUE(bad(wireproof_endpoint_deallocate(end, nullptr, 8)));
    EXPECT_TRUE(bad(wireproof_endpoint_register_memory(end, 1, nullptr, 8, 0, &address)));
    EXPECT_EQ(address, 0U);
    EXPECT_TRUE(bad(wireproof_endpoint_register_memory(end, 1, &address, 8, 0, nullptr)));
    EXPECT_TRUE(bad(wireproof_endpoint_counters(end, 1, nullptr)));
    EXPECT_EQ(wireproof_endpoint_register_memory(end, 1, &address, 8, 4, &address),
              WIREPROOF_BAD_ARGUMENT)
        << "a right of no meaning";
    // No bytes may be NULL.
    EXPECT_EQ(wireproof_endpoint_request(end, 1, ask, nullptr, 0), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_register_memory(end, 1, nullptr, 0, 0, &address), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_deallocate(end, nullptr, 0), WIREPROOF_NOT_ALLOWED);
}

TEST(CNull, AWrongSizeOfOptionsOrCountersIsABadArgument) {
    const Pair pair;
    wireproof_counters counters{};
    wireproof_endpoint* opened = pair.a();
    std::array<char, 128> why{};
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{5000}, SIZE_MAX}) {
        counters.size = size;
        EXPECT_EQ(wireproof_endpoint_counters(pair.a(), 1, &counters), WIREPROOF_BAD_ARGUMENT);
        EXPECT_EQ(counters.size, size);
        wireproof_options made = options();
        EXPECT_EQ(wireproof_options_init(&made, size), WIREPROOF_BAD_ARGUMENT);
        made.size = size;
        EXPECT_EQ(wireproof_endpoint_open(&made, &opened, why.data(), why.size()),
                  WIREPROOF_BAD_ARGUMENT);
        EXPECT_EQ(opened, nullptr);
        EXPECT_NE(std::string(why.data()).find("wrong size"), std::string::npos) << why.data();
        EXPECT_EQ(wireproof_endpoint_join(&made, 0, 1, &opened, why.data(), why.size()),
                  WIREPROOF_BAD_ARGUMENT);
    }
    EXPECT_EQ(wireproof_options_init(nullptr, sizeof(wireproof_options)), WIREPROOF_BAD_ARGUMENT);
}

TEST(CNull, OptionsOfNoMeaningAreNamed) {
    const auto why_of = [](auto&& change) {
        const char* one = "127.0.0.1:0";
        wireproof_options made = options();
        made.peers = &one;
        made.nodes = 1;
        change(made);
        wireproof_endpoint* opened = nullptr;
        std::array<char, 128> why{};
        const auto status = wireproof_endpoint_open(&made, &opened, why.data(), why.size());
        EXPECT_EQ(opened, nullptr);
        return std::to_string(status) + " " + why.data();
    };
    const auto bad = [](const std::string& member) {
        return "11 the value of " + member + " in the options has no meaning";
    };
    EXPECT_EQ(why_of([](auto& o) { o.peers = nullptr; }), bad("peers"));
    EXPECT_EQ(why_of([](auto& o) { o.nodes = SIZE_MAX; }), bad("nodes"));
    EXPECT_EQ(why_of([](auto& o) { o.congestion_control = 3; }), bad("congestion_control"));
    EXPECT_EQ(why_of([](auto& o) { o.congestion_algorithm = 2; }), bad("congestion_algorithm"));
    EXPECT_EQ(why_of([](auto& o) { o.trust_payload = 2; }), bad("trust_payload"));
    EXPECT_EQ(why_of([](auto& o) { o.publish_counters = 2; }), bad("publish_counters"));
    EXPECT_EQ(why_of([](auto& o) { o.reserved = 1; }), bad("reserved"));
    EXPECT_EQ(why_of([](auto& o) { o.reserved_2 = 1; }), bad("reserved_2"));
    // The other values are those of the Endpoint, which names the option itself.
    EXPECT_EQ(why_of([](auto& o) { o.mtu = 0; }).substr(0, 6), "10 mtu");
    EXPECT_NE(why_of([](auto& o) { o.peer_timeout_ms = UINT64_MAX; }).find("peer_timeout"),
              std::string::npos);
    EXPECT_EQ(why_of([](auto& o) { o.nodes = 0; }).substr(0, 3), "10 ");
    EXPECT_EQ(why_of([](auto& o) { o.fault_loss = 2; }).substr(0, 3), "10 ");
}

TEST(CNull, OpenAndJoinTakeNoText) {
    EXPECT_EQ(wireproof_endpoint_open(nullptr, nullptr, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    wireproof_endpoint* opened = nullptr;
    EXPECT_EQ(wireproof_endpoint_open(nullptr, &opened, nullptr, 9), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_endpoint_join(nullptr, 0, 1, nullptr, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_endpoint_join(nullptr, 0, 0, &opened, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
}

TEST(CNull, NamesOfStatuses) {
    EXPECT_STREQ(wireproof_status_name(WIREPROOF_OK), "ok");
    EXPECT_STREQ(wireproof_status_name(WIREPROOF_TIMED_OUT), "timed_out");
    EXPECT_STREQ(wireproof_status_name(WIREPROOF_NOT_BUILT), "not_built");
    EXPECT_STREQ(wireproof_status_name(-1), "unknown");
    EXPECT_STREQ(wireproof_status_name(WIREPROOF_NOT_BUILT + 1), "unknown");
    EXPECT_STREQ(wireproof_status_name(std::numeric_limits<wireproof_status>::min()), "unknown");
    EXPECT_EQ(wireproof_version(), static_cast<std::uint32_t>(WIREPROOF_VERSION));
    EXPECT_EQ(wireproof_version_text(), std::to_string(WIREPROOF_VERSION_MAJOR) + "." +
                                            std::to_string(WIREPROOF_VERSION_MINOR) + "." +
                                            std::to_string(WIREPROOF_VERSION_PATCH));
}

}  // namespace
}  // namespace wireproof::c
