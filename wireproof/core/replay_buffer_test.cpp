#include "wireproof/core/replay_buffer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wireproof {
namespace {

struct Mark {
    int number = 0;
};
using Buffer = ReplayBuffer<Mark>;

ConstBytes as_bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
std::string text_of(const Buffer& buffer, std::size_t index) {
    const ConstBytes bytes = buffer.message(index);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
Fingerprint::Value print(const Buffer& buffer) {
    Fingerprint sink;
    buffer.fingerprint(sink, [&](const Mark& mark, bool sent) {
        sink.add(mark.number);
        sink.add(sent);
    });
    return sink.value();
}

TEST(ReplayBuffer, KeepsCopiesInOrderPastTheEndOfItsRoom) {
    Buffer buffer({.slots = 3, .payload_max = 4});
    for (int i = 0; i < 3; ++i) buffer.push(as_bytes_of("m" + std::to_string(i)), {i});
    EXPECT_TRUE(buffer.full());
    for (int i = 3; i < 20; ++i) {
        buffer.mark_sent();
        buffer.purge(1);
        buffer.push(as_bytes_of("m" + std::to_string(i)), {i});
        for (int at = 0; at < 3; ++at) {
            EXPECT_EQ(buffer[static_cast<std::size_t>(at)].number, i - 2 + at);
            EXPECT_EQ(text_of(buffer, static_cast<std::size_t>(at)),
                      "m" + std::to_string(i - 2 + at));
        }
    }
}

TEST(ReplayBuffer, ReadsLentMessagesWhereTheyAre) {
    Buffer buffer({.slots = 2, .payload_max = 4, .lent = true});
    std::string message = "old";
    buffer.push(as_bytes_of(message), {});
    message = "new";
    EXPECT_EQ(text_of(buffer, 0), "new");
}

TEST(ReplayBuffer, CountsWhatWasSent) {
    Buffer buffer({.slots = 3, .payload_max = 4});
    for (int i = 0; i < 3; ++i) buffer.push({}, {i});
    EXPECT_EQ(buffer.mark_sent().number, 0);
    EXPECT_EQ(buffer.mark_sent().number, 1);
    EXPECT_TRUE(buffer.has_unsent());
    buffer.purge(1);
    EXPECT_EQ(buffer.sent(), 1U);
    EXPECT_EQ(buffer.size(), 2U);
    buffer.clear();  // a frame that was never sent, too
    EXPECT_EQ(buffer.sent(), 0U);
    EXPECT_TRUE(buffer.empty());
}

TEST(ReplayBuffer, FingerprintsTellMarksMessagesAndSentApart) {
    const auto made = [](const std::string& text, int number, bool sent) {
        Buffer buffer({.slots = 2, .payload_max = 4});
        buffer.push(as_bytes_of(text), {number});
        if (sent) buffer.mark_sent();
        return print(buffer);
    };
    EXPECT_EQ(made("a", 1, false), made("a", 1, false));
    EXPECT_NE(made("a", 1, false), made("b", 1, false));
    EXPECT_NE(made("a", 1, false), made("a", 2, false));
    EXPECT_NE(made("a", 1, false), made("a", 1, true));
}

}  // namespace
}  // namespace wireproof
