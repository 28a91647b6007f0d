// What completions say about their work, how programs are notified of them, and the names of
// values.
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "wireproof/front/ib/device_test_kit.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;

class Operations : public Devices {};

TEST_F(Operations, AreNamedByEachCompletion) {
    Access bindable = all;
    bindable.window_bind = true;
    open({}, bindable);
    MemoryWindow window = b->domain.create_window(WindowType::type_2b);
    const std::size_t at = (8 - b->region->address() % 8) % 8;
    const Piece piece = a->region->piece(0, 8);
    ASSERT_EQ(b->pair.bind(1, window, *b->region,
                           {.address = b->region->address(), .length = 8, .peer = {}}),
              Status::ok);
    EXPECT_EQ(next(*b).operation, Operation::bind);
    ASSERT_EQ(b->pair.invalidate(2, window), Status::ok);
    EXPECT_EQ(next(*b).operation, Operation::invalidate);
    ASSERT_EQ(a->pair.write(3, piece, b->remote(at)), Status::ok);
    EXPECT_EQ(next(*a).operation, Operation::write);
    ASSERT_EQ(a->pair.read(4, piece, b->remote(at)), Status::ok);
    EXPECT_EQ(next(*a).operation, Operation::read);
    ASSERT_EQ(a->pair.fetch_add(5, piece, b->remote(at), 1), Status::ok);
    EXPECT_EQ(next(*a).operation, Operation::fetch_add);
    ASSERT_EQ(a->pair.compare_swap(6, piece, b->remote(at), 1, 2), Status::ok);
    EXPECT_EQ(next(*a).operation, Operation::compare_swap);
    for (const std::uint64_t id : {7U, 8U, 9U}) {
        ASSERT_EQ(b->pair.post_receive(id, b->region->piece(0, 8)), Status::ok);
    }
    ASSERT_EQ(a->pair.send(10, piece), Status::ok);
    EXPECT_EQ(next(*a).operation, Operation::send);
    ASSERT_EQ(a->pair.write(11, piece, b->remote(at), 77), Status::ok);
    EXPECT_EQ(next(*a).operation, Operation::write);
    const Completion sent = next(*b);
    EXPECT_EQ(sent.operation, Operation::receive);
    EXPECT_TRUE(sent.is_receive());
    const Completion written = next(*b);
    EXPECT_EQ(written.operation, Operation::receive_write);
    EXPECT_TRUE(written.is_receive());
    b->pair.disconnect();
    const Completion flushed = next(*b);
    EXPECT_EQ(flushed.id, 9U);
    EXPECT_EQ(flushed.status, WorkStatus::flushed);
    EXPECT_EQ(flushed.operation, Operation::receive);
}

// RC-38: a program that polls the queue of messages first does not see the answer before its Read,
// and a program that waits for messages alone gets them.
TEST_F(Operations, AreSeenBeforeTheMessagesThatThePeerSentAfterThem) {
    open();
    CompletionQueue reads(a->device, 64);
    CompletionQueue messages(a->device, 64);
    a->pair = *QueuePair::create(a->domain, reads, messages, {});
    b->pair = *QueuePair::create(b->domain, b->completions, b->completions, {});
    connect();
    for (const bool waits : {false, true}) {
        ASSERT_EQ(a->pair.post_receive(1, a->region->piece(0, 8)), Status::ok);
        ASSERT_EQ(b->pair.post_receive(2, b->region->piece(0, 8)), Status::ok);
        ASSERT_EQ(a->pair.read(3, a->region->piece(8, 8), b->remote(0)), Status::ok);
        ASSERT_EQ(a->pair.send(4, a->region->piece(8, 8)), Status::ok);
        ASSERT_EQ(next(*b).operation, Operation::receive);
        ASSERT_EQ(b->pair.send(5, b->region->piece(8, 8)), Status::ok);
        ASSERT_EQ(next(*b).operation, Operation::send);
        if (waits) {
            const auto message = messages.wait(patience);
            ASSERT_TRUE(message);
            EXPECT_EQ(message->operation, Operation::receive);
            EXPECT_EQ(reads.poll().value().operation, Operation::read);
            continue;
        }
        // Both have arrived.
        a->device.wait([] { return false; }, 1ms);
        EXPECT_FALSE(messages.poll());
        EXPECT_FALSE(a->device.arm());  // the program must not sleep now
        EXPECT_EQ(reads.poll().value().operation, Operation::read);
        EXPECT_EQ(messages.poll().value().operation, Operation::receive);
        EXPECT_EQ(reads.poll().value().operation, Operation::send);
    }
}

TEST_F(Operations, AreNotifiedOnceAfterARequestForNotification) {
    open();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 8), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).id, 1U);
    EXPECT_FALSE(a->completions.notified()) << "nobody asked";
    a->completions.request_notify();
    EXPECT_FALSE(a->completions.notified());
    ASSERT_EQ(a->pair.write(2, a->region->piece(0, 8), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).id, 2U);
    EXPECT_TRUE(a->completions.notified());
    EXPECT_FALSE(a->completions.notified());
}

/// True: the first `values` values of the enumeration have different names, none empty, and no
/// other value has a name.
template <class Enumeration>
bool has_names(int values) {
    std::set<std::string_view> names;
    for (int i = 0; i < values; ++i) names.insert(name_of(static_cast<Enumeration>(i)));
    return names.size() == static_cast<std::size_t>(values) && !names.contains("") &&
           name_of(static_cast<Enumeration>(values)).empty();
}

TEST(Names, BelongToOneValueEach) {
    EXPECT_TRUE(has_names<Status>(9));
    EXPECT_TRUE(has_names<WorkStatus>(12));
    EXPECT_TRUE(has_names<Operation>(9));
    EXPECT_EQ(name_of(Status::bad_contact), "bad_contact");
    EXPECT_EQ(name_of(WorkStatus::receiver_not_ready), "receiver-not-ready retries exceeded");
    EXPECT_EQ(name_of(Operation::receive_write), "receive_write");
}

}  // namespace
}  // namespace wireproof::ib::test
