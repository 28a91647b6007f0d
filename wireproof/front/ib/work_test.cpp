// Memory windows, shared receives, inline work, unsignalled work, and notifications of completions.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "wireproof/front/ib/device_test_kit.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;

constexpr Access bindable{.local_write = true,
                          .remote_write = true,
                          .remote_read = true,
                          .remote_atomic = true,
                          .window_bind = true};

class Windows : public Devices {
protected:
    void open_bindable(Transport transport = Transport::reliable) {
        open({.transport = transport}, bindable);
        a->put(0, "through the window");
    }
    WorkStatus bind(MemoryWindow& window, const WindowBind& bind) {
        EXPECT_EQ(b->pair.bind(50, window, *b->region, bind), Status::ok);
        return next(*b).status;
    }
    WindowBind middle() const {
        return {
            .address = b->region->address() + 1000, .length = 100, .peer = {.remote_write = true}};
    }
    /// Writes as the peer, which learns the key in another way.
    WorkStatus write(std::uint32_t key, std::uint64_t address, std::size_t length = 18) {
        EXPECT_EQ(a->pair.write(60, a->region->piece(0, length), {address, key}), Status::ok);
        return next(*a).status;
    }
};

TEST_F(Windows, ShowWhatTheyAreBoundToAndNothingElse) {
    for (const WindowType type : {WindowType::type_1, WindowType::type_2a, WindowType::type_2b}) {
        open_bindable();
        MemoryWindow window = b->domain.create_window(type);
        const std::uint32_t unbound = window.key();
        ASSERT_EQ(bind(window, middle()), WorkStatus::success);
        EXPECT_NE(window.key(), unbound);
        const std::uint64_t address = b->region->address() + 1000;
        EXPECT_EQ(write(window.key(), address), WorkStatus::success);
        EXPECT_EQ(b->text(1000, 18), "through the window");
        EXPECT_EQ(write(window.key(), address + 82), WorkStatus::success);
        EXPECT_EQ(write(window.key(), address + 83), WorkStatus::remote_access_error);
        EXPECT_EQ(b->text(1083 + 17, 1), std::string(1, '\0'));
    }
}

TEST_F(Windows, OfTypeOneAreBoundAgainAndTheirOldKeyEnds) {
    open_bindable();
    MemoryWindow window = b->domain.create_window(WindowType::type_1);
    ASSERT_EQ(bind(window, middle()), WorkStatus::success);
    const std::uint32_t first = window.key();
    ASSERT_EQ(bind(window, middle()), WorkStatus::success);
    EXPECT_EQ(write(window.key(), b->region->address() + 1000), WorkStatus::success);
    EXPECT_EQ(write(first, b->region->address() + 1000), WorkStatus::remote_access_error);
}

TEST_F(Windows, OfTypeTwoEndByAnInvalidationOnEitherSide) {
    for (const WindowType type : {WindowType::type_2a, WindowType::type_2b}) {
        open_bindable();
        MemoryWindow window = b->domain.create_window(type);
        ASSERT_EQ(bind(window, middle()), WorkStatus::success);
        ASSERT_EQ(b->pair.invalidate(51, window), Status::ok);
        EXPECT_EQ(next(*b).status, WorkStatus::success);
        ASSERT_EQ(bind(window, middle()), WorkStatus::success);
        // The peer has used the window, and invalidates it by its Send.
        ASSERT_EQ(b->pair.post_receive(7, b->region->piece(0, 100)), Status::ok);
        ASSERT_EQ(a->pair.send_invalidate(8, a->region->piece(0, 4), window.key()), Status::ok);
        EXPECT_EQ(next(*a).status, WorkStatus::success);
        const Completion told = next(*b);
        EXPECT_EQ(told.id, 7U);
        EXPECT_EQ(told.invalidated, window.key());
        EXPECT_EQ(write(window.key(), b->region->address() + 1000),
                  WorkStatus::remote_access_error);
    }
}

TEST_F(Windows, OfTypeTwoMayBeCountedFromZero) {
    open_bindable();
    MemoryWindow window = b->domain.create_window(WindowType::type_2b);
    WindowBind bound = middle();
    bound.zero_based = true;
    ASSERT_EQ(bind(window, bound), WorkStatus::success);
    EXPECT_EQ(write(window.key(), 5), WorkStatus::success);
    EXPECT_EQ(b->text(1005, 18), "through the window");
}

TEST_F(Windows, ABindThatARuleForbidsEndsInError) {
    open({}, all);
    MemoryWindow window = b->domain.create_window(WindowType::type_2a);
    EXPECT_EQ(bind(window, middle()), WorkStatus::window_bind_error);
    EXPECT_TRUE(b->pair.failed());
}

TEST_F(Windows, AndRegionsOfAnotherDeviceAreRefused) {
    open_bindable();
    MemoryWindow window = b->domain.create_window(WindowType::type_2a);
    MemoryWindow foreign = a->domain.create_window(WindowType::type_2a);
    const std::uint32_t key = foreign.key();
    EXPECT_EQ(b->pair.bind(50, foreign, *b->region, middle()), Status::bad_contact);
    EXPECT_EQ(b->pair.bind(51, window, *a->region, middle()), Status::bad_contact);
    EXPECT_EQ(b->pair.invalidate(52, foreign), Status::bad_contact);
    EXPECT_EQ(foreign.key(), key) << "nothing was posted";
    EXPECT_EQ(bind(window, middle()), WorkStatus::success);
}

// After the region is gone, its memory may be freed at once.
TEST_F(Windows, ShowNothingOnceTheRegionHasGone) {
    open_bindable();
    MemoryWindow window = b->domain.create_window(WindowType::type_1);
    ASSERT_EQ(bind(window, middle()), WorkStatus::success);
    const std::uint64_t address = b->region->address() + 1000;
    b->region.reset();
    EXPECT_EQ(write(window.key(), address), WorkStatus::remote_access_error);
    EXPECT_EQ(b->text(1000, 18), std::string(18, '\0'));
}

TEST_F(Windows, WorkOnUnreliablePairsTooButForInvalidationFromAfar) {
    open_bindable(Transport::unreliable);
    MemoryWindow window = b->domain.create_window(WindowType::type_2b);
    ASSERT_EQ(bind(window, middle()), WorkStatus::success);
    ASSERT_EQ(b->pair.post_receive(7, Piece()), Status::ok);
    ASSERT_EQ(
        a->pair.write(60, a->region->piece(0, 18), {b->region->address() + 1000, window.key()}, 1),
        Status::ok);
    EXPECT_EQ(next(*b).id, 7U);
    EXPECT_EQ(b->text(1000, 18), "through the window");
    EXPECT_EQ(a->pair.send_invalidate(8, Piece(), window.key()), Status::not_supported);
}

TEST_F(Devices, InlineBytesAreTheCallersAtOnce) {
    open({.inlined = 40});
    ASSERT_EQ(b->pair.post_receive(1, b->region->piece(0, 100)), Status::ok);
    ASSERT_EQ(b->pair.post_receive(2, Piece()), Status::ok);
    std::string text = "not registered at all";
    const auto bytes = std::as_bytes(std::span(text));
    ASSERT_EQ(a->pair.send_inline(1, bytes, 77), Status::ok);
    ASSERT_EQ(a->pair.write_inline(2, bytes.first(3), b->remote(500), 78), Status::ok);
    text.assign(text.size(), '?');
    EXPECT_EQ(next(*b).immediate, 77U);
    EXPECT_EQ(next(*b).immediate, 78U);
    EXPECT_EQ(b->text(0, 21), "not registered at all");
    EXPECT_EQ(b->text(500, 3), "not");
    const std::string too_long(41, 'x');
    EXPECT_EQ(a->pair.send_inline(3, std::as_bytes(std::span(too_long))), Status::too_long);
}

TEST_F(Devices, UnsignalledWorkIsSilentUnlessItFails) {
    open({.sends = 4});
    for (std::uint64_t id = 1; id <= 3; ++id) {
        ASSERT_EQ(a->pair.write(id, a->region->piece(0, 8), b->remote(0), {}, {.signalled = false}),
                  Status::ok);
    }
    ASSERT_EQ(a->pair.write(4, a->region->piece(0, 8), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).id, 4U);
    // The unsignalled work left no completion in the queue.
    for (std::uint64_t id = 5; id <= 8; ++id) {
        ASSERT_EQ(
            a->pair.write(id, a->region->piece(0, 8), b->remote(30'000), {}, {.signalled = false}),
            Status::ok);
    }
    const Completion failed = next(*a);
    EXPECT_EQ(failed.id, 5U);
    EXPECT_EQ(failed.status, WorkStatus::remote_access_error);
    for (std::uint64_t id = 6; id <= 8; ++id) EXPECT_EQ(next(*a).status, WorkStatus::flushed);
}

TEST_F(Devices, OnlySolicitedCompletionsNotifyWhoAskedForThose) {
    open();
    for (std::uint64_t id = 1; id <= 4; ++id) {
        ASSERT_EQ(b->pair.post_receive(id, b->region->piece(0, 100)), Status::ok);
    }
    const auto send = [&](bool solicited) {
        ASSERT_EQ(a->pair.send(9, a->region->piece(0, 4), {}, {.solicited = solicited}),
                  Status::ok);
        EXPECT_EQ(next(*a).status, WorkStatus::success);
    };
    b->completions.request_notify(true);
    send(false);
    EXPECT_FALSE(b->completions.wait_notified(1ms));
    send(true);
    EXPECT_TRUE(b->completions.wait_notified(patience));
    // One request_notify gives one notification.
    send(true);
    EXPECT_FALSE(b->completions.wait_notified(1ms));
    b->completions.request_notify();
    send(false);
    EXPECT_TRUE(b->completions.wait_notified(patience));
    for (std::uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(b->completions.poll()->id, id);
}

// A bind is done locally and sends nothing, so no packet wakes the device.
TEST_F(Windows, ACompletionWithoutAPacketNotifiesAtOnce) {
    open_bindable();
    MemoryWindow window = b->domain.create_window(WindowType::type_1);
    b->device.wait([] { return false; }, 5ms);  // afterwards no packet is expected
    b->completions.request_notify();
    EXPECT_EQ(b->pair.bind(50, window, *b->region, middle()), Status::ok);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(b->completions.wait_notified(2 * patience));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, patience) << "only the limit ended it";
    const auto done = b->completions.poll();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->status, WorkStatus::success);
}

TEST_F(Devices, ReceivesMayBeSharedByQueuePairs) {
    open();
    auto shared = SharedReceiveQueue::create(b->domain, 3, 2);
    ASSERT_TRUE(shared);
    auto one = QueuePair::create(b->domain, b->completions, b->completions, *shared);
    auto two = QueuePair::create(b->domain, b->completions, b->completions, *shared);
    auto to_one = QueuePair::create(a->domain, a->completions, a->completions);
    auto to_two = QueuePair::create(a->domain, a->completions, a->completions);
    ASSERT_TRUE(one && two && to_one && to_two);
    for (auto [here, there] : {std::pair(&*one, &*to_one), std::pair(&*two, &*to_two)}) {
        ASSERT_EQ(here->connect(there->contact()), Status::ok);
        ASSERT_EQ(there->connect(here->contact()), Status::ok);
    }
    EXPECT_EQ(one->post_receive(1, Piece()), Status::not_supported);
    for (std::uint64_t id = 1; id <= 3; ++id) {
        ASSERT_EQ(shared->post_receive(id, b->region->piece(id * 100, 100)), Status::ok);
    }
    EXPECT_EQ(shared->post_receive(4, Piece()), Status::queue_full);
    a->put(0, "abc");
    ASSERT_EQ(to_two->send(1, a->region->piece(0, 1)), Status::ok);
    EXPECT_EQ(next(*b).id, 1U);
    ASSERT_EQ(to_one->send(2, a->region->piece(1, 1)), Status::ok);
    const Completion second = next(*b);
    EXPECT_EQ(second.id, 2U);
    EXPECT_EQ(second.queue_pair, one->number());
    ASSERT_EQ(to_two->send(3, a->region->piece(2, 1)), Status::ok);
    EXPECT_EQ(next(*b).queue_pair, two->number());
    EXPECT_EQ(b->text(100, 1) + b->text(200, 1) + b->text(300, 1), "abc");

    const ProtectionDomain other(b->device);
    EXPECT_FALSE(QueuePair::create(other, b->completions, b->completions, *shared));
    EXPECT_FALSE(SharedReceiveQueue::create(b->domain, 0));
    EXPECT_FALSE(SharedReceiveQueue::create(b->domain, 1, 33));
}

}  // namespace
}  // namespace wireproof::ib::test
