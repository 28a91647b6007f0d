#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "wireproof/collective.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr std::uint16_t team_handler = 9;

Team team_of(Endpoint& endpoint) {
    auto made = Team::create(endpoint, team_handler);
    WIREPROOF_CHECK(static_cast<bool>(made));
    return std::move(*made);
}

/// All ranks of a job. Each has its Team from the begin.
struct Job {
    explicit Job(const Options& options) {
        for (std::size_t i = 0; i < options.peers.size(); ++i)
            endpoints.push_back(open(options, i));
        for (Endpoint& endpoint : endpoints) teams.emplace_back(team_of(endpoint));
    }
    void poll_all() {
        for (Endpoint& endpoint : endpoints) endpoint.poll();
    }
    [[nodiscard]] bool wait(const std::vector<Team::Request>& requests) {
        const auto end = Clock::now() + patience;
        const auto done = [](const Team::Request& request) { return request.done(); };
        while (!std::all_of(requests.begin(), requests.end(), done)) {
            if (Clock::now() > end) return false;
            poll_all();
        }
        return true;
    }
    /// Calls `run` with each rank, each in its own thread.
    template <class Run>
    void in_threads(Run&& run) {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < teams.size(); ++i) threads.emplace_back([&, i] { run(i); });
        for (std::thread& thread : threads) thread.join();
    }

    std::vector<Endpoint> endpoints;
    std::vector<Team> teams;
};

Options quick(bool shm, std::size_t nodes) {
    Options options = options_on(shm, nodes);
    options.peer_timeout = milliseconds(1000);
    return options;
}

void run_each_operation(Team& team, std::size_t elements) {
    const std::size_t rank = team.rank();
    const std::size_t ranks = team.ranks();
    EXPECT_EQ(team.barrier(), Status::ok);
    std::vector<std::int64_t> values(elements);
    std::iota(values.begin(), values.end(), static_cast<std::int64_t>(1000 * rank));
    const auto bytes = std::as_writable_bytes(std::span(values));
    EXPECT_EQ(team.broadcast(bytes, ranks - 1), Status::ok);
    EXPECT_EQ(values.back(), static_cast<std::int64_t>(1000 * (ranks - 1) + elements - 1));
    std::vector<double> terms(elements, static_cast<double>(rank) + 0.5);
    EXPECT_EQ(team.all_reduce(terms, Reduction::sum), Status::ok);
    const double n = static_cast<double>(ranks);
    EXPECT_EQ(terms, std::vector<double>(elements, n * (n - 1) / 2 + n / 2));
    std::array<std::uint32_t, 1> highest = {static_cast<std::uint32_t>(rank)};
    EXPECT_EQ(team.all_reduce(highest, Reduction::max), Status::ok);
    EXPECT_EQ(highest[0], ranks - 1);
    std::vector<std::int64_t> from(elements * ranks);
    std::vector<std::int64_t> to(elements * ranks);
    for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<std::int64_t>(100 * rank + i / elements);
    }
    EXPECT_EQ(
        team.all_to_all(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(to))),
        Status::ok);
    for (std::size_t i = 0; i < to.size(); ++i) {
        ASSERT_EQ(to[i], static_cast<std::int64_t>(100 * (i / elements) + rank));
    }
}

class AmTeam : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(On, AmTeam, testing::Values(false, true),
                         [](const auto& shm) { return shm.param ? "SharedMemory" : "Udp"; });

TEST_P(AmTeam, BlockingCallsAreRightForOneToFourRanks) {
    for (std::size_t ranks = GetParam() ? 2 : 1; ranks <= 4; ++ranks) {
        Job job(options_on(GetParam(), ranks));
        job.in_threads([&](std::size_t rank) {
            for (const std::size_t elements : {1U, 7U, 300U, 9000U}) {
                run_each_operation(job.teams[rank], elements);
            }
            // peer_lost: another rank has closed its Endpoint first.
            EXPECT_NE(job.endpoints[rank].close(patience), Status::timed_out);
        });
    }
}

TEST_P(AmTeam, PollsOfTheEndpointContinueOperations) {
    Job job(options_on(GetParam(), 3));
    std::vector<std::array<float, 2>> values(3, {1, 2});
    std::vector<std::vector<std::byte>> bytes(3, std::vector<std::byte>(100'000));
    bytes[1].back() = std::byte{5};
    std::vector<Team::Request> requests;
    for (std::size_t rank = 0; rank < 3; ++rank) {
        Team& team = job.teams[rank];
        requests.push_back(team.start_barrier());
        requests.push_back(team.start_broadcast(bytes[rank], 1));
        requests.push_back(team.start_all_reduce(values[rank], Reduction::sum));
    }
    EXPECT_EQ(requests[0].status(), Status::would_block);
    ASSERT_TRUE(job.wait(requests));
    for (const Team::Request& request : requests) EXPECT_EQ(request.status(), Status::ok);
    for (std::size_t rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(values[rank], (std::array<float, 2>{3, 6}));
        EXPECT_EQ(bytes[rank].back(), std::byte{5});
    }
}

TEST_P(AmTeam, ARankMayRunAheadOfAnother) {
    Job job(options_on(GetParam(), 2));
    constexpr std::size_t count = 100;
    std::vector<std::uint32_t> sent(count);
    std::vector<std::uint32_t> got(count, 0);
    std::iota(sent.begin(), sent.end(), 1);
    const auto each = [](std::vector<std::uint32_t>& all, std::size_t i) {
        return std::as_writable_bytes(std::span(all).subspan(i, 1));
    };
    std::vector<Team::Request> requests;
    for (std::size_t i = 0; i < count; ++i) {
        requests.push_back(job.teams[0].start_broadcast(each(sent, i), 0));
    }
    ASSERT_TRUE(job.wait({requests[20]}));
    for (int i = 0; i < 1000; ++i) job.poll_all();
    EXPECT_FALSE(requests[40].done());  // more than 32 operations ahead
    for (std::size_t i = 0; i < count; ++i) {
        requests.push_back(job.teams[1].start_broadcast(each(got, i), 0));
    }
    ASSERT_TRUE(job.wait(requests));
    EXPECT_EQ(got, sent);
}

TEST_P(AmTeam, ALostRankEndsTheOperationsThatNeedIt) {
    Job job(quick(GetParam(), 4));
    std::vector<Team::Request> requests;  // in one thread no rank is lost before it ends
    for (Team& team : job.teams) requests.push_back(team.start_barrier());
    ASSERT_TRUE(job.wait(requests));
    for (const Team::Request& request : requests) EXPECT_EQ(request.status(), Status::ok);
    std::vector<Endpoint>& all = job.endpoints;
    ASSERT_TRUE(run({&all[0], &all[1], &all[2], &all[3]}, [&] { return all[2].leave(); }));
    EXPECT_EQ(all[2].close(patience), Status::ok);
    EXPECT_EQ(job.teams[2].barrier(), Status::closed);
    job.in_threads([&](std::size_t rank) {
        if (rank == 2) return;
        std::array<double, 1> value = {1};
        EXPECT_EQ(job.teams[rank].all_reduce(value, Reduction::sum), Status::peer_lost);
        EXPECT_EQ(job.teams[rank].barrier(), Status::peer_lost);
        (void)job.endpoints[rank].close(milliseconds(2000));
    });
}

// Only polls: no call of the Endpoint blocks.
TEST_P(AmTeam, ALostRankEndsOutstandingOperationsToo) {
    Job job(quick(GetParam(), 3));
    std::vector<Team::Request> requests;
    for (Team& team : job.teams) requests.push_back(team.start_barrier());
    ASSERT_TRUE(job.wait(requests));
    std::vector<Team::Request> later;
    for (std::size_t rank = 0; rank < 2; ++rank) {
        later.push_back(job.teams[rank].start_barrier());
        later.push_back(job.teams[rank].start_barrier());
    }
    for (int i = 0; i < 100; ++i) job.poll_all();
    { const Endpoint gone = std::move(job.endpoints[2]); }
    ASSERT_TRUE(job.wait(later));
    for (const Team::Request& request : later) EXPECT_EQ(request.status(), Status::peer_lost);
}

TEST(AmTeamUdp, ARankThatNeverAnsweredIsLost) {
    const Options options = quick(false, 3);
    Endpoint endpoint = open(options, 0);
    Team team = team_of(endpoint);
    std::array<std::byte, 8> bytes{};
    EXPECT_EQ(team.broadcast(bytes, 2), Status::peer_lost);
}

TEST_P(AmTeam, ARankThatLeavesAfterTheLastBarrierHarmsNobody) {
    for (int times = 0; times < 10; ++times) {
        Options options = options_on(GetParam(), 4);
        options.peer_timeout = patience;
        Job job(options);
        job.in_threads([&](std::size_t rank) {
            std::array<std::int32_t, 1> value = {1};
            EXPECT_EQ(job.teams[rank].all_reduce(value, Reduction::sum), Status::ok);
            EXPECT_EQ(job.teams[rank].barrier(), Status::ok);
            (void)job.endpoints[rank].close(2 * patience);
        });
    }
}

TEST_P(AmTeam, DifferentSizesEndTheOperation) {
    Job job(options_on(GetParam(), 2));
    std::array<std::vector<std::byte>, 2> bytes = {std::vector<std::byte>(8),
                                                   std::vector<std::byte>(100'000)};
    std::vector<Team::Request> requests;
    for (std::size_t i = 0; i < 2; ++i) {
        requests.push_back(job.teams[i].start_all_to_all(bytes[i], bytes[i]));
    }
    ASSERT_TRUE(job.wait(requests));
    for (const Team::Request& request : requests) EXPECT_EQ(request.status(), Status::not_allowed);
    EXPECT_EQ(job.teams[0].barrier(), Status::not_allowed);
}

TEST_P(AmTeam, ARankWithoutATeamEndsTheOperation) {
    const Options options = options_on(GetParam(), 2);
    Endpoint first = open(options, 0);
    Served second(open(options, 1));
    second.start();
    Team team = team_of(first);
    EXPECT_EQ(team.barrier(), Status::no_handler);
}

TEST_P(AmTeam, WrongArgumentsEndNothing) {
    Job job(options_on(GetParam(), 2));
    Team& team = job.teams[0];
    std::array<std::byte, 6> bytes{};
    EXPECT_EQ(team.broadcast(bytes, 2), Status::no_such_peer);
    EXPECT_EQ(team.all_to_all(bytes, std::span(bytes).first(4)), Status::not_allowed);
    EXPECT_EQ(team.all_to_all(std::span(bytes).first(3), std::span(bytes).first(3)),
              Status::not_allowed);
    ASSERT_TRUE(job.wait({team.start_barrier(), job.teams[1].start_barrier()}));
    EXPECT_FALSE(Team::create(job.endpoints[0], 10));
}

TEST_P(AmTeam, OperationsMayBeginInAHandler) {
    Job job(options_on(GetParam(), 2));
    std::optional<Team::Request> in_handler;
    job.endpoints[1].handle(ask, [&](const Message&) {
        EXPECT_EQ(job.teams[1].barrier(), Status::not_allowed);
        in_handler = job.teams[1].start_barrier();
        EXPECT_EQ(in_handler->wait(), Status::would_block);
    });
    ASSERT_EQ(job.endpoints[0].request(1, ask), Status::ok);
    const Team::Request request = job.teams[0].start_barrier();
    ASSERT_TRUE(job.wait({request}));
    EXPECT_EQ(request.status(), Status::ok);
    ASSERT_TRUE(in_handler);
    ASSERT_TRUE(job.wait({*in_handler}));
}

TEST_P(AmTeam, TheEndOfTheEndpointOrOfTheTeamEndsItsOperations) {
    Job job(options_on(GetParam(), 2));
    Endpoint moved = std::move(job.endpoints[0]);
    Team::Request first = job.teams[0].start_barrier();
    EXPECT_EQ(first.wait(milliseconds(1)), Status::timed_out);
    EXPECT_EQ(first.status(), Status::would_block);
    { const Endpoint ended = std::move(moved); }
    EXPECT_EQ(first.status(), Status::closed);
    EXPECT_TRUE(first.test());
    EXPECT_EQ(job.teams[0].barrier(), Status::closed);
    Team::Request second = job.teams[1].start_barrier();
    { const Team ended = std::move(job.teams[1]); }
    EXPECT_EQ(second.wait(), Status::closed);
    EXPECT_EQ(job.teams[1].barrier(), Status::closed);
    EXPECT_EQ(job.teams[1].ranks(), 0U);
    EXPECT_FALSE(Team::create(job.endpoints[1], team_handler));
}

TEST(AmTeamUdp, LossAndReorderingDoNotMatter) {
    Options options = options_on(false, 3);
    options.faults = {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05};
    Job job(options);
    std::atomic<std::size_t> finished = 0;
    job.in_threads([&](std::size_t rank) {
        for (int times = 0; times < 10; ++times) run_each_operation(job.teams[rank], 500);
        // Others may still need that this rank sends a lost frame again.
        ++finished;
        const auto end = Clock::now() + patience;
        while (finished < 3 && Clock::now() < end) job.endpoints[rank].wait({}, milliseconds(1));
        EXPECT_EQ(finished, 3U);
    });
}

// A window has room for fewer packets than these broadcasts need.
TEST(AmTeamUdp, AFullWindowDelaysMessagesOnly) {
    Job job(options_on(false, 2));
    std::vector<std::byte> sent(16'000, std::byte{1});
    std::vector<std::byte> got(16'000);
    std::vector<Team::Request> requests;
    for (int i = 0; i < 30; ++i) requests.push_back(job.teams[0].start_broadcast(sent, 0));
    for (int i = 0; i < 30; ++i) requests.push_back(job.teams[1].start_broadcast(got, 0));
    EXPECT_FALSE(requests[29].done());
    ASSERT_TRUE(job.wait(requests));
    EXPECT_EQ(got, sent);
}

}  // namespace
}  // namespace wireproof::am::test
