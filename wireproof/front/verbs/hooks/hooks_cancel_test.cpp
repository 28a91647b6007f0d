// Threads that the program cancels (pthread_cancel) while they are in a hook.
#include <pthread.h>

#include "wireproof/front/verbs/hooks/hooks_test_kit.hpp"
#include "wireproof/front/verbs/objects/cancel_test_kit.hpp"

namespace hooks_test {
namespace {

class HooksCancel : public Hooks {};

#if WIREPROOF_CANCELS_WAITS

// A thread may be cancelled while the device awaits an event for it. What the program does at its
// end is hooked, as before.
TEST_F(HooksCancel, AThreadThatIsCancelledInTheDeviceLeavesTheHook) {
    const int fd = open_cm();
    fake.awaits = true;
    pthread_t thread{};
    const auto run = [](void* of) -> void* {
        const auto cleanup = [](void* handle) {
            fake.awaits = false;
            EXPECT_TRUE(takes_commands(*static_cast<int*>(handle)));
        };
        pthread_cleanup_push(cleanup, of);
        pthread_cancel(pthread_self());
        takes_commands(*static_cast<int*>(of));
        pthread_cleanup_pop(0);
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, nullptr, run, const_cast<int*>(&fd)), 0);
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_EQ(fake.commands.size(), 1U);
    close(fd);
}

#endif

// The device library reads files, which is a cancellation point.
TEST_F(HooksCancel, NoThreadIsCancelledInAHook) {
    pthread_t thread{};
    const auto run = [](void* seen) -> void* {
        pthread_cancel(pthread_self());
        struct stat file {};
        const bool found = stat((device + "/node_guid").c_str(), &file) == 0;
        *static_cast<bool*>(seen) = found;
        pthread_testcancel();
        return nullptr;
    };
    bool seen = false;
    ASSERT_EQ(pthread_create(&thread, nullptr, run, &seen), 0);
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace hooks_test
