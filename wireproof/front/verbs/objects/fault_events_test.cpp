// What a script of faults does without the program's help: receives that fail, and events.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

using namespace std::chrono_literals;

/// Devices that open while this object exists have these faults.
class Script {
public:
    explicit Script(const std::string& text)
        : path_(testing::TempDir() + "faults-" + std::to_string(::getpid()) + ".toml") {
        std::ofstream(path_) << text;
        ::setenv("WIREPROOF_VERBS_FAULTS", path_.c_str(), 1);
    }
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;
    ~Script() {
        ::unsetenv("WIREPROOF_VERBS_FAULTS");
        ::unlink(path_.c_str());
    }

private:
    std::string path_;
};

/// Waits for the next event, acknowledges it and returns it. Empty: none came in time.
std::optional<ibv_async_event> next_event(ibv_context* context,
                                          std::chrono::milliseconds limit = patience) {
    pollfd waits{context->async_fd, POLLIN, 0};
    ibv_async_event event{};
    if (::poll(&waits, 1, static_cast<int>(limit.count())) != 1) return std::nullopt;
    if (ibv_get_async_event(context, &event) != 0) return std::nullopt;
    ibv_ack_async_event(&event);
    return event;
}

ibv_qp_state state_of(const End& end) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr created{};
    EXPECT_EQ(ibv_query_qp(end.pair, &attributes, IBV_QP_STATE, &created), 0);
    return attributes.qp_state;
}

TEST(FaultEvents, TheNthReceiveEndsAsChosen) {
    const Script script(
        "[[completion]]\nof = \"receive\"\nqueue_pair = 2\nnth = 2\nstatus = \"LOC_PROT_ERR\"\n");
    Pair pair;
    for (std::uint64_t id = 1; id <= 3; ++id) {
        ASSERT_EQ(pair.b.post_receive(id, pair.b.piece(0, 64)), 0);
    }
    ASSERT_EQ(pair.a.post(IBV_WR_SEND, 1, pair.a.piece(0, 64), {}), 0);
    EXPECT_EQ(pair.a.wait().status, IBV_WC_SUCCESS);
    ASSERT_EQ(pair.a.post(IBV_WR_SEND, 2, pair.a.piece(0, 64), {}), 0);
    EXPECT_EQ(pair.a.wait().status, IBV_WC_REM_OP_ERR);
    EXPECT_EQ(pair.b.wait().status, IBV_WC_SUCCESS);
    const ibv_wc failed = pair.b.wait();
    EXPECT_EQ(failed.status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(failed.wr_id, 2U);
    EXPECT_EQ(pair.b.wait().status, IBV_WC_WR_FLUSH_ERR);
    const auto event = next_event(pair.b.context);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->event_type, IBV_EVENT_QP_FATAL);
    EXPECT_EQ(event->element.qp, pair.b.pair);
}

TEST(FaultEvents, ADeviceThatFailsTakesItsQueuePairsAlong) {
    const Script script("[[event]]\nwhat = \"DEVICE_FATAL\"\nat_packet = 6\n");
    Pair pair;
    for (int i = 0; i < 5; ++i) ASSERT_EQ(pair.b.post_receive(1, pair.b.piece(0, 64)), 0);
    for (int i = 0; i < 5 && state_of(pair.a) == IBV_QPS_RTS; ++i) {
        pair.a.post(IBV_WR_SEND, 1, pair.a.piece(0, 64), {});
        pair.a.wait();
    }
    for (const End* end : {&pair.a, &pair.b}) {
        const auto event = next_event(end->context);
        ASSERT_TRUE(event);
        EXPECT_EQ(event->event_type, IBV_EVENT_DEVICE_FATAL);
        EXPECT_FALSE(next_event(end->context, 0ms)) << "of its queue pairs, none is told";
        EXPECT_EQ(state_of(*end), IBV_QPS_ERR);
    }
    ibv_wc last = pair.b.wait();
    while (last.status == IBV_WC_SUCCESS) last = pair.b.wait();
    EXPECT_EQ(last.status, IBV_WC_WR_FLUSH_ERR);
}

TEST(FaultEvents, OfAQueuePairNamesThatOneAndEndsIt) {
    for (const auto& [what, type] :
         {std::pair{"QP_FATAL", IBV_EVENT_QP_FATAL}, std::pair{"QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR},
          std::pair{"QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR}}) {
        const Script script(std::string("[[event]]\nqueue_pair = 1\nat_packet = 1\nwhat = \"") +
                            what + "\"\n");
        Pair pair;
        ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 1, pair.a.piece(0, 8), pair.b.contact()), 0);
        const auto event = next_event(pair.a.context);  // although the program makes no call
        ASSERT_TRUE(event);
        EXPECT_EQ(event->event_type, type);
        EXPECT_EQ(event->element.qp, pair.a.pair);
        EXPECT_EQ(state_of(pair.a), IBV_QPS_ERR);
        EXPECT_EQ(state_of(pair.b), IBV_QPS_RTS);
        EXPECT_FALSE(next_event(pair.a.context, 20ms)) << "it is told once";
    }
}

TEST(FaultEvents, ALimitOfASharedReceiveQueueIsReportedForEach) {
    const Script script("[[event]]\nwhat = \"SRQ_LIMIT_REACHED\"\nat_packet = 1\n");
    Pair pair;
    ibv_context* const context = open_device();
    ibv_pd* const domain = ibv_alloc_pd(context);
    ibv_srq_init_attr asked{};
    asked.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
    ibv_srq* const queue = ibv_create_srq(domain, &asked);
    ASSERT_NE(queue, nullptr);
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 1, pair.a.piece(0, 8), pair.b.contact()), 0);
    const auto event = next_event(context);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(event->element.srq, queue);
    EXPECT_EQ(ibv_destroy_srq(queue), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
}

/// Queue pairs with shared receives, and one with a receive of its own, which was created first.
/// All have the same completion queue.
class Crowd {
public:
    explicit Crowd(std::size_t count) {
        ibv_srq_init_attr asked{};
        asked.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
        shared_ = ibv_create_srq(domain_, &asked);
        add(nullptr);
        while (pairs.size() < count) add(shared_);
    }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    ~Crowd() {
        for (ibv_qp* const one : pairs) EXPECT_EQ(ibv_destroy_qp(one), 0);
        EXPECT_EQ(ibv_destroy_srq(shared_), 0);
        EXPECT_EQ(ibv_destroy_cq(completions), 0);
        EXPECT_EQ(ibv_destroy_comp_channel(channel_), 0);
        EXPECT_EQ(ibv_dealloc_pd(domain_), 0);
        EXPECT_EQ(ibv_close_device(context), 0);
    }

    /// The queue pair without shared receives flushes one if it fails.
    void post() const {
        modify(pairs[0], IBV_QPS_INIT);
        ibv_recv_wr request{};
        ibv_recv_wr* bad = nullptr;
        EXPECT_EQ(ibv_post_recv(pairs[0], &request, &bad), 0);
    }
    static void modify(ibv_qp* one, ibv_qp_state to) {
        ibv_qp_attr attributes{};
        attributes.qp_state = to;
        attributes.port_num = 1;
        const int rest = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
        EXPECT_EQ(ibv_modify_qp(one, &attributes, IBV_QP_STATE | (to == IBV_QPS_INIT ? rest : 0)),
                  0);
    }
    /// The completion event, which it acknowledges. False: none came in time.
    bool hears(std::chrono::milliseconds limit = patience) const {
        pollfd waits{channel_->fd, POLLIN, 0};
        ibv_cq* told = nullptr;
        void* user = nullptr;
        if (::poll(&waits, 1, static_cast<int>(limit.count())) != 1) return false;
        if (ibv_get_cq_event(channel_, &told, &user) != 0 || told != completions) return false;
        ibv_ack_cq_events(told, 1);
        return true;
    }

    ibv_context* context = open_device();
    std::vector<ibv_qp*> pairs;
    ibv_cq* completions = nullptr;

private:
    void add(ibv_srq* shared) {
        if (completions == nullptr) completions = ibv_create_cq(context, 16, this, channel_, 0);
        ibv_qp_init_attr asked{};
        asked.send_cq = asked.recv_cq = completions;
        asked.srq = shared;
        asked.cap = {.max_send_wr = 1,
                     .max_recv_wr = 1,
                     .max_send_sge = 1,
                     .max_recv_sge = 1,
                     .max_inline_data = 0};
        asked.qp_type = IBV_QPT_RC;
        pairs.push_back(ibv_create_qp(domain_, &asked));
        ASSERT_NE(pairs.back(), nullptr);
        modify(pairs.back(), IBV_QPS_INIT);
    }

    ibv_pd* domain_ = ibv_alloc_pd(context);
    ibv_comp_channel* channel_ = ibv_create_comp_channel(context);
    ibv_srq* shared_ = nullptr;
};

// RC-42
TEST(FaultEvents, AnArmedQueueKeepsItsEventThoughManyQueuePairsFailAtOnce) {
    const Script script("[[event]]\nwhat = \"DEVICE_FATAL\"\nat_packet = 1\n");
    Crowd crowd(1'100);
    Pair pair;
    crowd.post();
    ASSERT_EQ(ibv_req_notify_cq(crowd.completions, 0), 0);
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 1, pair.a.piece(0, 8), pair.b.contact()), 0);
    EXPECT_TRUE(crowd.hears());
    std::set<ibv_qp*> last;
    for (std::size_t i = 0; i < crowd.pairs.size(); ++i) {
        const auto event = next_event(crowd.context);
        ASSERT_TRUE(event);
        if (event->event_type == IBV_EVENT_DEVICE_FATAL) continue;
        EXPECT_EQ(event->event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
        EXPECT_TRUE(last.insert(event->element.qp).second) << "told twice";
    }
    EXPECT_EQ(last.size(), crowd.pairs.size() - 1);
    EXPECT_FALSE(next_event(crowd.context, 0ms));

    Crowd::modify(crowd.pairs[0], IBV_QPS_RESET);
    crowd.post();
    ASSERT_EQ(ibv_req_notify_cq(crowd.completions, 0), 0);
    EXPECT_FALSE(crowd.hears(0ms));
    Crowd::modify(crowd.pairs[0], IBV_QPS_ERR);
    EXPECT_TRUE(crowd.hears());
}

}  // namespace
}  // namespace wireproof::verbs::test
