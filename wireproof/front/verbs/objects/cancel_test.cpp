// Threads that the program cancels (pthread_cancel). They end at cancellation points of the
// program, or while a call of this library waits for an event, and nowhere else.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>

#include "wireproof/front/verbs/cm/cm_test_kit.hpp"
#include "wireproof/front/verbs/objects/cancel_test_kit.hpp"
#include "wireproof/front/verbs/objects/descriptors_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

/// The value of a thread that runs `what`. PTHREAD_CANCELED: it was cancelled.
template <class What>
class CancelledThread {
public:
    explicit CancelledThread(What what) : what_(std::move(what)) {
        EXPECT_EQ(::pthread_create(&thread_, nullptr, &run, this), 0);
    }
    void cancel() const { EXPECT_EQ(::pthread_cancel(thread_), 0); }
    void* join() const {
        void* result = nullptr;
        EXPECT_EQ(::pthread_join(thread_, &result), 0);
        return result;
    }

private:
    static void* run(void* self) {
        static_cast<CancelledThread*>(self)->what_();
        return nullptr;
    }
    What what_;
    pthread_t thread_{};
};

/// Runs `what` in a thread that is cancelled before. The result is true if the thread ended later,
/// at a cancellation point of its own.
template <class What>
bool ends_after(What what) {
    bool came_back = false;
    const CancelledThread thread([&] {
        ::pthread_cancel(::pthread_self());
        what();
        came_back = true;
        ::pthread_testcancel();
        ADD_FAILURE() << "the thread is not cancelled";
    });
    EXPECT_EQ(thread.join(), PTHREAD_CANCELED);
    return came_back;
}

TEST(VerbsCancel, AThreadEndsAfterACallAndNotInIt) {
    Pair pair;
    End& a = pair.a;
    const Contact to = pair.b.contact();
    ibv_wc one{};
    EXPECT_TRUE(ends_after([&] { EXPECT_GE(ibv_poll_cq(a.completions, 1, &one), 0); }));
    EXPECT_TRUE(ends_after([&] { EXPECT_EQ(ibv_req_notify_cq(a.completions, 0), 0); }));
    EXPECT_TRUE(
        ends_after([&] { EXPECT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, a.piece(0, 100), to, 4096), 0); }));
    EXPECT_TRUE(ends_after([&] { EXPECT_EQ(a.post_receive(2, a.piece(0, 100)), 0); }));
    EXPECT_TRUE(ends_after([&] {
        ibv_port_attr attributes{};
        EXPECT_EQ(___ibv_query_port(a.context, 1, &attributes), 0);
    }));
    EXPECT_TRUE(ends_after([] { const End whole; }));
    EXPECT_TRUE(ends_after([&] {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_ERR;
        EXPECT_EQ(ibv_modify_qp(pair.b.pair, &attributes, IBV_QP_STATE), 0);
    }));
    EXPECT_EQ(a.wait().wr_id, 1U);  // the device still works
}

TEST_F(Cm, AThreadEndsAfterACommandAndNotInIt) {
    EXPECT_TRUE(ends_after([&] { listen(); }));
    std::uint32_t id = 0;
    EXPECT_TRUE(ends_after([&] { id = client.created(uid_of_asker); }));
    EXPECT_TRUE(ends_after([&] { EXPECT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0); }));
    EXPECT_TRUE(ends_after([&] { EXPECT_EQ(client.destroy(id), 0); }));
    EXPECT_TRUE(ends_after([] { const CmFile file; }));
    connect();
}

#if WIREPROOF_CANCELS_WAITS

TEST(VerbsCancel, AThreadThatAwaitsACompletionEventIsCancelled) {
    const End end(IBV_QPT_RC, true);
    ibv_cq* queue = nullptr;
    void* user = nullptr;
    EXPECT_FALSE(ends_after([&] { ibv_get_cq_event(end.channel, &queue, &user); }));
    ibv_async_event event{};
    EXPECT_FALSE(ends_after([&] { ibv_get_async_event(end.context, &event); }));
}

TEST_F(Cm, AThreadThatAwaitsAnEventIsCancelledAndLeavesItToAnother) {
    EXPECT_FALSE(ends_after([&] {
        rdma_ucm_event_resp answer{};
        server.ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, answer);
    }));
    connect();
}

/// Waits until the thread is in read(2).
void until_reading(const std::atomic<pid_t>& thread) {
    const auto end = std::chrono::steady_clock::now() + patience;
    const std::string reads = std::to_string(SYS_read) + " ";
    for (std::string call; call.rfind(reads, 0) != 0;) {
        ASSERT_LT(std::chrono::steady_clock::now(), end);
        std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
        std::getline(file, call);
        std::this_thread::yield();
    }
}

// The thread keeps the channel from the close to its own end.
TEST_F(Cm, AChannelThatIsClosedWhileAThreadAwaitsItsEventIsReleasedWithTheThread) {
    const std::size_t before = descriptors();
    auto file = std::make_unique<CmFile>();
    std::atomic<pid_t> number = 0;
    const CancelledThread thread([&number, handle = file->handle()] {
        number = ::gettid();
        rdma_ucm_event_resp answer{};
        struct {
            rdma_ucm_cmd_hdr header;
            rdma_ucm_get_event command;
        } bytes{{RDMA_USER_CM_CMD_GET_EVENT, sizeof(rdma_ucm_get_event), sizeof answer},
                {.response = reinterpret_cast<std::uintptr_t>(&answer)}};
        wireproof_rdma_cm_write(handle, &bytes, sizeof bytes);
    });
    until_reading(number);
    file.reset();
    EXPECT_GT(descriptors(), before);
    thread.cancel();
    EXPECT_EQ(thread.join(), PTHREAD_CANCELED);
    EXPECT_EQ(descriptors(), before);
}

#endif

}  // namespace
}  // namespace wireproof::verbs::test
