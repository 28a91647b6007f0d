// Messages, stores and gets through the interface for C.
#include "wireproof/front/c/endpoint.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "wireproof/front/c/c_test_kit.hpp"

namespace wireproof::c {
namespace {

using namespace test;

class CEndpoint : public testing::TestWithParam<bool> {};  // true: on shared memory
INSTANTIATE_TEST_SUITE_P(On, CEndpoint, testing::Bool(),
                         [](const auto& on) { return on.param ? "Shm" : "Udp"; });

/// Replies with the bytes of the request and "!". `user` counts replies that must fail.
void reply_twice(wireproof_endpoint* end, const wireproof_message* message, void* user) {
    const std::string text =
        std::string(static_cast<const char*>(message->bytes), message->length) + "!";
    EXPECT_EQ(wireproof_endpoint_reply(end, 0, text.data(), text.size()), WIREPROOF_NOT_ALLOWED);
    EXPECT_EQ(wireproof_endpoint_reply(end, answer, text.data(), text.size()), WIREPROOF_OK);
    if (wireproof_endpoint_reply(end, answer, "", 0) == WIREPROOF_NOT_ALLOWED) {
        ++*static_cast<int*>(user);
    }
}

TEST_P(CEndpoint, ARequestRunsAHandlerThatRepliesOnce) {
    const Pair pair(GetParam());
    int refused = 0;
    Got got;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, reply_twice, &refused), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_handle(pair.a(), answer, keep, &got), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "hello", 5), WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return got.count == 1; }));
    EXPECT_EQ(got.bytes, "hello!");
    EXPECT_EQ(got.message.size, sizeof(wireproof_message));
    EXPECT_EQ(got.message.peer, 1U);
    EXPECT_EQ(got.message.handler, answer);
    EXPECT_EQ(got.message.memory, nullptr);
    EXPECT_EQ(got.message.memory_length, 0U);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(wireproof_endpoint_reply(pair.b(), answer, "", 0), WIREPROOF_NOT_ALLOWED)
        << "no handler runs";
    EXPECT_TRUE(pair.settle());
    EXPECT_EQ(got.count, 1);
}

TEST_P(CEndpoint, AHandlerThatIsRemovedRunsNoMore) {
    const Pair pair(GetParam());
    Got got;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, keep, &got), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, nullptr, 0), WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return got.count == 1; }));
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, nullptr, nullptr), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_handle(pair.b(), 0, keep, &got), WIREPROOF_NOT_ALLOWED);
    struct Refused {
        std::size_t peer = 9;
        std::uint16_t handler = 0;
    } refused;
    ASSERT_EQ(wireproof_endpoint_on_refused(
                  pair.a(),
                  [](wireproof_endpoint*, std::size_t peer, std::uint16_t handler, void* user) {
                      *static_cast<Refused*>(user) = {peer, handler};
                  },
                  &refused),
              WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, nullptr, 0), WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return refused.handler != 0; }));
    EXPECT_EQ(refused.peer, 1U);
    EXPECT_EQ(refused.handler, ask);
    EXPECT_EQ(got.count, 1);
}

TEST_P(CEndpoint, StoresAndGetsEndWithTheirStatus) {
    const Pair pair(GetParam());
    void* memory = nullptr;
    ASSERT_EQ(wireproof_endpoint_allocate(pair.b(), 64, &memory), WIREPROOF_OK);
    std::uint64_t address = 0;
    ASSERT_EQ(wireproof_endpoint_register_memory(pair.b(), WIREPROOF_EACH_PEER, memory, 64,
                                                 WIREPROOF_MAY_GET | WIREPROOF_MAY_STORE, &address),
              WIREPROOF_OK);
    Got got;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), stored, keep, &got), WIREPROOF_OK);
    wireproof_status put = not_ended;
    ASSERT_EQ(wireproof_endpoint_store_async(pair.a(), 1, address + 8, "twelve bytes", 12, stored,
                                             77, ended, &put),
              WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return put != not_ended && got.count == 1; }));
    EXPECT_EQ(put, WIREPROOF_OK);
    EXPECT_EQ(got.message.memory, static_cast<char*>(memory) + 8);
    EXPECT_EQ(got.message.memory_length, 12U);
    EXPECT_EQ(got.message.argument, 77U);
    EXPECT_EQ(got.message.length, 0U);

    std::array<char, 12> bytes{};
    wireproof_status taken = not_ended;
    ASSERT_EQ(wireproof_endpoint_get_async(pair.a(), 1, address + 8, bytes.data(), bytes.size(),
                                           ended, &taken),
              WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return taken != not_ended; }));
    EXPECT_EQ(taken, WIREPROOF_OK);
    EXPECT_EQ(std::string(bytes.data(), bytes.size()), "twelve bytes");

    wireproof_status outside = not_ended;
    ASSERT_EQ(
        wireproof_endpoint_get_async(pair.a(), 1, address + 60, bytes.data(), 5, ended, &outside),
        WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return outside != not_ended; }));
    EXPECT_EQ(outside, WIREPROOF_FORBIDDEN);
    wireproof_status unknown = not_ended;
    ASSERT_EQ(wireproof_endpoint_store_async(pair.a(), 1, address, "x", 1, 99, 0, ended, &unknown),
              WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return unknown != not_ended; }));
    EXPECT_EQ(unknown, WIREPROOF_NO_HANDLER);

    EXPECT_EQ(wireproof_endpoint_deallocate(pair.b(), memory, 64), WIREPROOF_WOULD_BLOCK);
    ASSERT_TRUE(pair.run([&] {
        return wireproof_endpoint_unregister_memory(pair.b(), WIREPROOF_EACH_PEER, address) ==
               WIREPROOF_OK;
    }));
    EXPECT_TRUE(pair.run(
        [&] { return wireproof_endpoint_deallocate(pair.b(), memory, 64) == WIREPROOF_OK; }));
    EXPECT_EQ(wireproof_endpoint_unregister_memory(pair.b(), 0, address), WIREPROOF_NOT_ALLOWED);
}

TEST_P(CEndpoint, RightsAreThoseThatTheBitsSay) {
    const Pair pair(GetParam());
    std::array<char, 8> readable{};
    std::array<char, 8> writable{};
    std::uint64_t read = 0;
    std::uint64_t write = 0;
    ASSERT_EQ(wireproof_endpoint_register_memory(pair.b(), 0, readable.data(), 8, WIREPROOF_MAY_GET,
                                                 &read),
              WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_register_memory(pair.b(), 0, writable.data(), 8,
                                                 WIREPROOF_MAY_STORE, &write),
              WIREPROOF_OK);
    Got got;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), stored, keep, &got), WIREPROOF_OK);
    std::array<wireproof_status, 4> statuses;
    statuses.fill(not_ended);
    std::array<char, 8> here{};
    wireproof_endpoint* const a = pair.a();
    ASSERT_EQ(wireproof_endpoint_get_async(a, 1, read, here.data(), 8, ended, &statuses[0]), 0);
    ASSERT_EQ(wireproof_endpoint_get_async(a, 1, write, here.data(), 8, ended, &statuses[1]), 0);
    ASSERT_EQ(wireproof_endpoint_store_async(a, 1, read, "x", 1, stored, 0, ended, &statuses[2]),
              0);
    ASSERT_EQ(wireproof_endpoint_store_async(a, 1, write, "x", 1, stored, 0, ended, &statuses[3]),
              0);
    ASSERT_TRUE(pair.settle());
    EXPECT_EQ(statuses, (std::array<wireproof_status, 4>{WIREPROOF_OK, WIREPROOF_FORBIDDEN,
                                                         WIREPROOF_FORBIDDEN, WIREPROOF_OK}));
    EXPECT_EQ(got.count, 1);
    EXPECT_EQ(writable[0], 'x');
}

TEST_P(CEndpoint, AnErrorHasATextUntilTheNextOne) {
    const Pair pair(GetParam());
    wireproof_endpoint* const end = pair.a();
    EXPECT_STREQ(wireproof_endpoint_error(end), "");
    const std::string long_text(wireproof_endpoint_message_max(end) + 1, 'x');
    EXPECT_EQ(wireproof_endpoint_request(end, 1, ask, long_text.data(), long_text.size()),
              WIREPROOF_TOO_LONG);
    const std::string most = std::to_string(wireproof_endpoint_message_max(end));
    EXPECT_EQ(wireproof_endpoint_error(end), std::to_string(long_text.size()) +
                                                 " bytes are more than a message has, " + most +
                                                 ": store has room for more");
    EXPECT_EQ(c::why_too_long(*end, SIZE_MAX / 2),
              std::to_string(SIZE_MAX / 2) + " bytes are more than a transfer has, 2^62");
    std::uint64_t address = 0;
    EXPECT_EQ(wireproof_endpoint_register_memory(end, 7, &address, 8, 0, &address),
              WIREPROOF_FAILED);
    EXPECT_NE(std::string(wireproof_endpoint_error(end)).find("peer"), std::string::npos);
    EXPECT_EQ(wireproof_endpoint_request(end, 5, ask, "", 0), WIREPROOF_NO_SUCH_PEER);
    EXPECT_STREQ(wireproof_endpoint_error(end),
                 "no peer has this number, or its address is not known yet");
    EXPECT_EQ(wireproof_endpoint_poll(end, nullptr), WIREPROOF_OK);
    EXPECT_STRNE(wireproof_endpoint_error(end), "") << "a success keeps it";
}

TEST_P(CEndpoint, FreeEndsOpenTransfersWithClosedAndTheHandleIsStillThere) {
    wireproof_status put = not_ended;
    struct Seen {
        wireproof_status status = not_ended;
        wireproof_status free = not_ended;
        wireproof_status request = not_ended;
        int is_open = -1;
    } seen;
    {
        Pair pair(GetParam());
        ASSERT_EQ(wireproof_endpoint_get_async(
                      pair.b(), 0, 0, &put, 1,
                      [](wireproof_endpoint* end, wireproof_status status, void* user) {
                          *static_cast<Seen*>(user) = {
                              status, wireproof_endpoint_free(end),
                              wireproof_endpoint_request(end, 0, ask, "", 0),
                              wireproof_endpoint_is_open(end)};
                      },
                      &seen),
                  WIREPROOF_OK);
        pair.free_b();
    }
    EXPECT_EQ(seen.status, WIREPROOF_CLOSED);
    EXPECT_EQ(seen.free, WIREPROOF_NOT_ALLOWED);
    EXPECT_EQ(seen.request, WIREPROOF_CLOSED);
    EXPECT_EQ(seen.is_open, 0);
}

TEST_P(CEndpoint, CallsThatAHandlerMustNotMakeAreRefused) {
    const Pair pair(GetParam());
    std::string said;
    ASSERT_EQ(wireproof_endpoint_handle(
                  pair.b(), ask,
                  [](wireproof_endpoint* end, const wireproof_message*, void* user) {
                      std::size_t handled = 9;
                      char byte = 0;
                      for (const wireproof_status status :
                           {wireproof_endpoint_free(end), wireproof_endpoint_close(end, 0),
                            wireproof_endpoint_wait(end, 0), wireproof_endpoint_poll(end, &handled),
                            wireproof_endpoint_flush(end, 0, 0),
                            wireproof_endpoint_request(end, 0, ask, "", 0),
                            wireproof_endpoint_store(end, 0, 0, "", 0, stored, 0),
                            wireproof_endpoint_get(end, 0, 0, &byte, 1)}) {
                          *static_cast<std::string*>(user) +=
                              std::string(wireproof_status_name(status)) + " ";
                      }
                      EXPECT_EQ(handled, 0U);
                  },
                  &said),
              WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "", 0), WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return !said.empty(); }));
    EXPECT_EQ(said,
              "not_allowed not_allowed not_allowed ok not_allowed not_allowed not_allowed "
              "not_allowed ");
    EXPECT_EQ(wireproof_endpoint_is_open(pair.b()), 1);
}

TEST_P(CEndpoint, KnowsItself) {
    const Pair pair(GetParam());
    EXPECT_EQ(wireproof_endpoint_self(pair.b()), 1U);
    EXPECT_EQ(wireproof_endpoint_nodes(pair.b()), 2U);
    EXPECT_GT(wireproof_endpoint_message_max(pair.b()), 1000U);
    EXPECT_EQ(std::string(wireproof_endpoint_address(pair.b())).substr(0, 4),
              GetParam() ? "shm:" : "127.");
}

TEST(CJoin, WithoutALauncherSaysWhatItTried) {
    ::unsetenv("WIREPROOF_PEERS");
    std::array<wireproof_endpoint*, 2> ends{};
    std::array<char, 1024> why{};
    const char* peer = "127.0.0.1:0";
    wireproof_options made = options();
    made.peers = &peer;
    made.nodes = 1;
    EXPECT_EQ(wireproof_endpoint_join(&made, 0, 2, ends.data(), why.data(), why.size()),
              WIREPROOF_FAILED);
    EXPECT_STRNE(why.data(), "");
    EXPECT_EQ(ends[0], nullptr);
}

/// A port that was free a moment ago.
std::string free_address() {
    const char* peer = "127.0.0.1:0";
    wireproof_options made = options();
    made.peers = &peer;
    made.nodes = 1;
    wireproof_endpoint* end = nullptr;
    EXPECT_EQ(wireproof_endpoint_open(&made, &end, nullptr, 0), WIREPROOF_OK);
    const std::string address = wireproof_endpoint_address(end);
    EXPECT_EQ(wireproof_endpoint_free(end), WIREPROOF_OK);
    return address;
}

TEST(CJoin, AProcessIsANodeOfItsJob) {
    ::setenv("WIREPROOF_PEERS", free_address().c_str(), 1);
    ::setenv("WIREPROOF_RANK", "0", 1);
    std::array<wireproof_endpoint*, 2> ends{};
    std::array<char, 1024> why{};
    ASSERT_EQ(wireproof_endpoint_join(nullptr, patience_ms, 1, ends.data(), why.data(), why.size()),
              WIREPROOF_OK)
        << why.data();
    EXPECT_STREQ(why.data(), "");
    EXPECT_EQ(wireproof_endpoint_nodes(ends[0]), 1U);
    EXPECT_EQ(ends[1], nullptr) << "only one was asked for";
    EXPECT_EQ(wireproof_endpoint_free(ends[0]), WIREPROOF_OK);

    ends.fill(reinterpret_cast<wireproof_endpoint*>(&why));
    EXPECT_EQ(wireproof_endpoint_join(nullptr, patience_ms, 2, ends.data(), why.data(), why.size()),
              WIREPROOF_FAILED);
    EXPECT_STREQ(why.data(), "a process joins its job once, and this one did so before");
    EXPECT_EQ(ends[0], nullptr);
    EXPECT_EQ(ends[1], nullptr);
}

}  // namespace
}  // namespace wireproof::c
