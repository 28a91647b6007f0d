// Endpoints on shared memory whose peer never comes, or is not reached.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "wireproof/am.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/am/handlers_test_kit.hpp"
#include "wireproof/front/am/shm_endpoint_test_kit.hpp"

namespace wireproof::am {
namespace {

using std::chrono::milliseconds;
using test::stored;
using test::tell;

// AM-50: nobody is there to whom a frame could leave. The peer timeout is short because no peer is
// there that could lack a processor.
TEST(ShmEndpoint, APeerThatNeverComesIsLost) {
    for (const std::size_t self : {0U, 1U}) {
        const std::string name = test::shared_place();
        const std::size_t peer = 1 - self;
        Options options = test::at_place(name, self, 2);
        options.peer_timeout = milliseconds(50);
        auto end = Endpoint::open(options);
        ASSERT_TRUE(end) << end.error();
        std::vector<std::string> lost;
        end->on_peer_lost([&](const PeerLost& report) { lost.push_back(report.message()); });
        ASSERT_EQ(end->request(peer, tell, {1}), Status::ok);
        EXPECT_EQ(end->flush(peer, test::patience), Status::peer_lost);
        std::vector<std::byte> bytes(64);
        EXPECT_EQ(end->store(peer, 4096, bytes, stored), Status::peer_lost);
        EXPECT_EQ(end->get(peer, 4096, bytes), Status::peer_lost);
        const std::string silent = "node " + std::to_string(peer) + " is silent";
        EXPECT_EQ(lost, std::vector<std::string>(3, silent));
        // It comes after all.
        auto late = Endpoint::open(test::at_place(name, peer, 2));
        ASSERT_TRUE(late) << late.error();
        bool heard = false;
        late->handle(tell, [&](const Message&) { heard = true; });
        const auto limit = std::chrono::steady_clock::now() + test::patience;
        while (!heard && std::chrono::steady_clock::now() < limit) {
            if (end->idle()) (void)end->request(peer, tell, {1});
            end->poll();
            late->poll();
        }
        EXPECT_TRUE(heard);
    }
}

TEST(ShmEndpoint, APeerThatIsNotReachedIsReportedWithTheReasonOfTheSystem) {
    const std::string name = test::shared_place();
    Options options = test::at_place(name, 1, 2);
    options.peer_timeout = milliseconds(50);
    auto end = Endpoint::open(options);
    auto there = Endpoint::open(test::at_place(name, 0, 2));
    ASSERT_TRUE(end && there);
    std::string lost;
    end->on_peer_lost([&](const PeerLost& report) { lost = report.message(); });
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const int next = ::dup(0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_EQ(end->request(0, tell, {1}), Status::ok);
    EXPECT_TRUE(end->wait([&] { return !lost.empty(); }, test::patience));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(lost, "node 0 is unreachable: cannot call @wireproof/" + name.substr(4) +
                        "/0: Too many open files");
}

}  // namespace
}  // namespace wireproof::am
