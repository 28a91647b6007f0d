#include "wireproof/core/message_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wireproof {
namespace {

struct Mark {
    int number = 0;
};
using Queue = MessageQueue<Mark>;

ConstBytes as_bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
std::string text_of(const Queue& queue, std::size_t index) {
    const ConstBytes bytes = queue.message(index);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
Fingerprint::Value print(const Queue& queue) {
    Fingerprint sink;
    queue.fingerprint(sink, [&](const Mark& mark, std::size_t index) {
        sink.add(mark.number);
        sink.add(index);
    });
    return sink.value();
}

TEST(MessageQueue, KeepsCopiesInOrderPastTheEndOfItsRoom) {
    Queue queue({.slots = 3, .message_max = 4});
    for (int i = 0; i < 3; ++i) queue.push(as_bytes_of("m" + std::to_string(i)), {i});
    EXPECT_TRUE(queue.full());
    for (int i = 3; i < 20; ++i) {
        queue.pop(1);
        queue.push(as_bytes_of("m" + std::to_string(i)), {i});
        for (int at = 0; at < 3; ++at) {
            EXPECT_EQ(queue[static_cast<std::size_t>(at)].number, i - 2 + at);
            EXPECT_EQ(text_of(queue, static_cast<std::size_t>(at)),
                      "m" + std::to_string(i - 2 + at));
        }
    }
}

TEST(MessageQueue, ReadsLentMessagesWhereTheyAre) {
    Queue queue({.slots = 2, .message_max = 4, .lent = true});
    std::string message = "old";
    queue.push(as_bytes_of(message), {});
    message = "new";
    EXPECT_EQ(text_of(queue, 0), "new");
}

TEST(MessageQueue, LosesItsOldestMessagesFirst) {
    Queue queue({.slots = 4, .message_max = 4});
    for (int i = 0; i < 4; ++i) queue.push(as_bytes_of("m" + std::to_string(i)), {i});
    queue.pop(2);
    ASSERT_EQ(queue.size(), 2U);
    EXPECT_EQ(text_of(queue, 0), "m2");
    queue.mark(1).number = 7;
    EXPECT_EQ(queue[1].number, 7);
    queue.clear();
    EXPECT_TRUE(queue.empty());
}

TEST(MessageQueue, FingerprintsTellMarksAndMessagesApart) {
    const auto made = [](const std::string& text, int number) {
        Queue queue({.slots = 2, .message_max = 4});
        queue.push(as_bytes_of(text), {number});
        return print(queue);
    };
    EXPECT_EQ(made("a", 1), made("a", 1));
    EXPECT_NE(made("a", 1), made("b", 1));
    EXPECT_NE(made("a", 1), made("a", 2));
}

}  // namespace
}  // namespace wireproof
