#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <thread>

#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/job/job_number.hpp"
#include "wireproof/host/job/rendezvous_board.hpp"
#include "wireproof/host/rendezvous/rendezvous.hpp"
#include "wireproof/host/rendezvous/rendezvous_text.hpp"
#include "wireproof/os/socket_address.hpp"

namespace wireproof::host {
namespace {

using std::chrono::milliseconds;
/// It only ends a test that hangs.
constexpr milliseconds patience(120'000);

/// The test may run in a job itself, so each one begins with an environment of no launcher.
class FindJob : public testing::Test {
protected:
    FindJob() {
        for (const char* variable : {"PMIX_NAMESPACE",
                                     "PMIX_RANK",
                                     "PMI_FD",
                                     "PMI_RANK",
                                     "PMI_SIZE",
                                     "WIREPROOF_RENDEZVOUS",
                                     "WIREPROOF_TOKEN",
                                     "WIREPROOF_RANK",
                                     "WIREPROOF_SIZE",
                                     "WIREPROOF_JOB",
                                     "WIREPROOF_PEERS",
                                     "WIREPROOF_LAUNCHER",
                                     "RANK",
                                     "WORLD_SIZE",
                                     "MASTER_ADDR",
                                     "MASTER_PORT",
                                     "OMPI_COMM_WORLD_RANK",
                                     "OMPI_COMM_WORLD_SIZE",
                                     "SLURM_PROCID",
                                     "SLURM_NTASKS",
                                     "SLURM_STEP_NUM_TASKS"}) {
            ::unsetenv(variable);
        }
    }
    static void set(const char* variable, const std::string& value) {
        ::setenv(variable, value.c_str(), 1);
    }
    static std::string error() {
        const auto board = find_job(milliseconds(200));
        return board ? "found by " + (*board)->place().launcher : board.error().message;
    }
    /// The part of the error after the ways that were passed over.
    static std::string last_error() {
        const std::string all = error();
        const std::size_t at = all.rfind("; ");
        return at == all.npos ? all : all.substr(at + 2);
    }
};

std::string free_address() {
    const auto server =
        RendezvousServer::open({1, "x"}, RendezvousServer::Reach::this_host).value();
    return "127.0.0.1:" + std::to_string(server.port());
}

TEST_F(FindJob, WithoutALauncherOneLineNamesAllWays) {
    const std::string text = error();
    EXPECT_EQ(text.find('\n'), text.npos);
    for (const char* part :
         {"no job joined: torchrun: WIREPROOF_LAUNCHER is not set",
          "PMIx: ", "PMI2: PMI_FD is not set", "PMI-1: PMI_FD is not set",
          "wireproof launch: WIREPROOF_RENDEZVOUS is not set",
          "WIREPROOF_RANK: WIREPROOF_RENDEZVOUS is not set",
          "Slurm or Open MPI: neither OMPI_COMM_WORLD_SIZE nor SLURM_STEP_NUM_TASKS is set",
          "WIREPROOF_PEERS: WIREPROOF_PEERS is not set"}) {
        EXPECT_NE(text.find(part), text.npos) << part << " in " << text;
    }
}

TEST_F(FindJob, WireproofLaunchGivesPlaceAndJob) {
    set("WIREPROOF_RENDEZVOUS", "127.0.0.1:7000");
    set("WIREPROOF_TOKEN", "secret");
    set("WIREPROOF_SIZE", "3");
    set("WIREPROOF_RANK", "2");
    set("WIREPROOF_JOB", "00000000000000ff");
    const auto board = find_job(patience);
    ASSERT_TRUE(board) << board.error().message;
    const JobPlace& place = (*board)->place();
    EXPECT_EQ(place.rank, 2U);
    EXPECT_EQ(place.size, 3U);
    EXPECT_EQ(place.job, 0xFFU);
    EXPECT_EQ(place.launcher, "wireproof launch");
    EXPECT_TRUE((*board)->addresses().empty());
}

TEST_F(FindJob, ALauncherWithABadVariableEndsTheSearch) {
    set("WIREPROOF_RENDEZVOUS", "127.0.0.1:7000");
    set("WIREPROOF_RANK", "0");
    set("WIREPROOF_PEERS", "127.0.0.1:7000");
    set("WIREPROOF_JOB", "00000000000000ff");
    EXPECT_EQ(last_error(), "wireproof launch: WIREPROOF_TOKEN is not set");
    set("WIREPROOF_TOKEN", "secret");
    set("WIREPROOF_SIZE", "1");
    for (const char* job : {"", "ff", "00000000000000fg", "-0000000000000ff", "0x000000000000ff",
                            "00000000000000ff0"}) {
        set("WIREPROOF_JOB", job);
        EXPECT_EQ(last_error(),
                  "wireproof launch: WIREPROOF_JOB is no number of 16 hexadecimal digits");
    }
}

TEST_F(FindJob, RanksOfAnyLauncherMeetAtRank0) {
    for (const bool torchrun : {true, false}) {
        const char* const rank = torchrun ? "RANK" : "WIREPROOF_RANK";
        set("WIREPROOF_TOKEN", "secret");
        set(torchrun ? "WORLD_SIZE" : "WIREPROOF_SIZE", "2");
        const std::string address = free_address();
        if (torchrun) {
            set("WIREPROOF_LAUNCHER", "torchrun");
            set("MASTER_ADDR", "localhost");
            const std::string port = address.substr(address.rfind(':') + 1);
            set("MASTER_PORT", std::to_string(std::stoi(port) - 1));
        } else {
            ::unsetenv("WIREPROOF_LAUNCHER");
            set("WIREPROOF_RENDEZVOUS", address);
        }
        const auto entries = [] {
            const auto board = find_job(patience);
            EXPECT_TRUE(board) << board.error().message;
            if (!board) return std::vector<std::string>();
            const JobPlace& place = (*board)->place();
            EXPECT_EQ(place.size, 2U);
            const std::string entry =
                place.launcher + " " + std::to_string(place.rank) + " " + job_text(place.job);
            return (*board)->exchange(entry, patience).value_or(std::vector<std::string>());
        };
        const pid_t other = ::fork();
        if (other == 0) {
            set(rank, "1");
            ::_exit(entries().size() == 2 ? 0 : 1);
        }
        set(rank, "0");
        const auto all = entries();
        int status = 0;
        ASSERT_EQ(::waitpid(other, &status, 0), other);
        EXPECT_EQ(status, 0);
        ASSERT_EQ(all.size(), 2U);
        const std::string job = all[0].substr(all[0].rfind(' '));
        const std::string launcher = torchrun ? "torchrun" : "WIREPROOF_RANK";
        EXPECT_EQ(all[0], launcher + " 0" + job);
        EXPECT_EQ(all[1], launcher + " 1" + job);
    }
}

TEST_F(FindJob, RanksOfAnyLauncherNeedASecret) {
    const std::string none =
        "WIREPROOF_TOKEN is not set: without a secret of the job, whoever reaches rank 0 could be "
        "a rank";
    set("WIREPROOF_RENDEZVOUS", "127.0.0.1:7000");
    set("WIREPROOF_RANK", "0");
    const std::string way = "WIREPROOF_RANK: ";
    EXPECT_EQ(last_error(), way + "WIREPROOF_SIZE is not set");
    set("WIREPROOF_SIZE", "2");
    EXPECT_EQ(last_error(), way + none);
    set("WIREPROOF_TOKEN", "two words");
    EXPECT_EQ(last_error(), way + "WIREPROOF_TOKEN is no word of 1 to 128 characters");
    set("WIREPROOF_RENDEZVOUS", "host:7000");
    EXPECT_EQ(last_error(),
              way + "WIREPROOF_RENDEZVOUS: bad address \"host:7000\": not a numeric IPv4 address");
}

TEST_F(FindJob, TheVariablesOfTorchrunCountOnlyIfAskedFor) {
    set("RANK", "0");
    set("WORLD_SIZE", "1");
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", "7000");
    set("WIREPROOF_TOKEN", "secret");
    EXPECT_NE(error().find("torchrun: WIREPROOF_LAUNCHER is not set; "), std::string::npos);
    const auto error_with = [](const char* variable, const char* value) {
        const std::string before = std::getenv(variable) != nullptr ? std::getenv(variable) : "";
        if (value != nullptr) {
            set(variable, value);
        } else {
            ::unsetenv(variable);
        }
        const std::string said = error();
        set(variable, before);
        return said.substr(said.find(": ") + 2);
    };
    EXPECT_EQ(error_with("WIREPROOF_LAUNCHER", "flux"),
              "torchrun: WIREPROOF_LAUNCHER is flux, and only torchrun needs it");
    set("WIREPROOF_LAUNCHER", "torchrun");
    EXPECT_EQ(error_with("RANK", nullptr), "torchrun: RANK is not set");
    EXPECT_EQ(error_with("WORLD_SIZE", "0"), "torchrun: WORLD_SIZE is no number from 1 to 65536");
    EXPECT_EQ(error_with("MASTER_ADDR", nullptr), "torchrun: MASTER_ADDR is not set");
    EXPECT_EQ(error_with("MASTER_PORT", "65535"),
              "torchrun: MASTER_PORT is no number from 1 to 65534");
    EXPECT_EQ(error_with("WIREPROOF_TOKEN", nullptr).find("torchrun: WIREPROOF_TOKEN is not set: "),
              0U);
}

TEST_F(FindJob, AScheduledTaskMeetsTheOthersAtRank0) {
    set("SLURM_PROCID", "0");
    set("SLURM_STEP_NUM_TASKS", "1");
    ::setenv("SLURM_NTASKS", "4", 1);
    EXPECT_NE(error().find("SLURM_STEP_NUM_TASKS is set, but WIREPROOF_RENDEZVOUS is not"),
              std::string::npos);
    set("WIREPROOF_RENDEZVOUS", free_address());
    const auto board = find_job(patience);
    ASSERT_TRUE(board) << board.error().message;
    EXPECT_EQ((*board)->place().launcher, "Slurm");
    EXPECT_NE((*board)->place().job, 0U);
    EXPECT_EQ((*board)->exchange("a", patience).value(), std::vector<std::string>{"a"});

    // mpirun in a Slurm job.
    set("OMPI_COMM_WORLD_RANK", "0");
    set("OMPI_COMM_WORLD_SIZE", "1");
    set("WIREPROOF_RENDEZVOUS", free_address());
    const auto other = find_job(patience);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ((*other)->place().launcher, "Open MPI");
    EXPECT_NE((*other)->place().job, (*board)->place().job);
}

TEST_F(FindJob, AScheduledTaskSaysWhatIsWrong) {
    set("SLURM_STEP_NUM_TASKS", "2");
    set("WIREPROOF_RENDEZVOUS", free_address());
    const std::string way = "Slurm or Open MPI: ";
    EXPECT_EQ(last_error(), way + "SLURM_PROCID is not set");
    set("SLURM_PROCID", "2");
    EXPECT_EQ(last_error(), way + "SLURM_PROCID is no number from 0 to 1");
    set("SLURM_PROCID", "0");
    EXPECT_EQ(last_error(), way + "rendezvous of rank 0: not all ranks arrived at " +
                                std::string(std::getenv("WIREPROOF_RENDEZVOUS")));
    set("WIREPROOF_TOKEN", "two words");
    EXPECT_EQ(last_error(), way + "WIREPROOF_TOKEN is no word of 1 to 128 characters");
    for (const char* address : {"", "host", "127.0.0.1", "127.0.0.1:0", "node:7000", "1.2.3.4:x"}) {
        set("WIREPROOF_RENDEZVOUS", address);
        const std::string begin = "WIREPROOF_RENDEZVOUS: bad address \"" + std::string(address);
        EXPECT_EQ(last_error().find(way + begin + "\": "), 0U) << last_error();
    }
    set("SLURM_STEP_NUM_TASKS", "0");
    EXPECT_EQ(last_error(), way + "SLURM_STEP_NUM_TASKS is no number from 1 to 65536");
}

TEST_F(FindJob, PeersAreByRankAndGiveTheSameJobToAll) {
    set("WIREPROOF_PEERS", "127.0.0.1:7000,[::1]:7001");
    set("WIREPROOF_RANK", "1");
    const auto board = find_job(patience);
    ASSERT_TRUE(board) << board.error().message;
    EXPECT_EQ((*board)->addresses(), (std::vector<std::string>{"127.0.0.1:7000", "[::1]:7001"}));
    EXPECT_EQ((*board)->place().rank, 1U);
    EXPECT_EQ((*board)->place().size, 2U);
    EXPECT_EQ((*board)->place().launcher, "WIREPROOF_PEERS");
    set("WIREPROOF_RANK", "0");
    EXPECT_EQ(find_job(patience).value()->place().job, (*board)->place().job);
    set("WIREPROOF_PEERS", "127.0.0.1:7000,[::1]:7002");
    EXPECT_NE(find_job(patience).value()->place().job, (*board)->place().job);
}

TEST_F(FindJob, PeersThatAreNoneAreNamedByRank) {
    set("WIREPROOF_RANK", "0");
    const std::string way = "WIREPROOF_PEERS: WIREPROOF_PEERS: the address of rank ";
    const char* const no_port = "an address without port: add one, as in :7000";
    const char* const not_numeric = "not a numeric IPv4 address";
    const auto bad = [](const char* rank, const char* address, const char* why) {
        return std::string(rank) + ": bad address \"" + address + "\": " + why;
    };
    for (const auto& [peers, wrong] :
         {std::pair("", bad("0", "", no_port)), std::pair("a:1", bad("0", "a:1", not_numeric)),
          std::pair("1.1.1.1:1,", bad("1", "", no_port)),
          std::pair("1.1.1.1:1,,1.1.1.1:2", bad("1", "", no_port)),
          std::pair("1.1.1.1:0", bad("0", "1.1.1.1:0", "its port is 0")),
          std::pair("1.1.1.1:1, 1.1.1.1:2", bad("1", " 1.1.1.1:2", not_numeric)),
          std::pair("1.1.1.1:1,1.1.1.1:1", std::string("1 is there twice"))}) {
        set("WIREPROOF_PEERS", peers);
        EXPECT_EQ(last_error(), way + wrong) << peers;
    }
    set("WIREPROOF_PEERS", "1.1.1.1:1");
    set("WIREPROOF_RANK", "1");
    EXPECT_EQ(last_error(), "WIREPROOF_PEERS: WIREPROOF_RANK is no number from 0 to 0");
    ::unsetenv("WIREPROOF_RANK");
    EXPECT_EQ(last_error(), "WIREPROOF_PEERS: WIREPROOF_RANK is not set");
}

class RankZeroServes : public testing::Test {
protected:
    RendezvousBoard board(std::uint32_t rank, std::uint32_t size,
                          const std::string& token = "secret") const {
        return {JobPlace{rank, size, 0, "test"}, RendezvousBoard::Service::of_rank_0,
                RendezvousPlace{address_, token, rank, size}};
    }

    std::string address_ = free_address();
};

TEST_F(RankZeroServes, AllExchangeSeveralTimesInAnyOrderOfStart) {
    constexpr std::uint32_t size = 6;
    constexpr std::size_t rounds = 5;
    const auto entry = [](std::size_t rank, std::size_t round) {
        return std::string(rank == 3 ? JobBoard::entry_max : rank * round,
                           static_cast<char>(rank + 16 * round));
    };
    std::vector<std::uint64_t> jobs(size);
    std::vector<std::thread> ranks;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            if (rank % 3 == 0) std::this_thread::sleep_for(milliseconds(100));
            RendezvousBoard own = board(rank, size);
            ASSERT_TRUE(own.agree_on_job(patience));
            jobs[rank] = own.place().job;
            for (std::size_t round = 0; round < rounds; ++round) {
                const auto all = own.exchange(entry(rank, round), patience);
                ASSERT_TRUE(all) << all.error().message;
                for (std::size_t other = 0; other < size; ++other) {
                    EXPECT_EQ((*all)[other], entry(other, round));
                }
            }
        });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(jobs, std::vector<std::uint64_t>(size, jobs[0]));
}

TEST_F(RankZeroServes, PatienceEndsForAll) {
    const std::string late = "not all ranks arrived";
    RendezvousBoard first = board(0, 3);
    Expected<std::vector<std::string>> all = unexpected("not asked");
    std::thread zero([&] { all = first.exchange("a", patience); });
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!Rendezvous::connect({address_, "secret", 1, 3}, patience) &&
           std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(milliseconds(1));
    }
    const auto second = board(1, 3).exchange("b", milliseconds(300));
    EXPECT_FALSE(second);
    EXPECT_NE(second.error().message.find(late), late.npos) << second.error().message;
    Expected<std::vector<std::string>> again = unexpected("not asked");
    std::thread one([&] { again = board(1, 3).exchange("again", patience); });
    EXPECT_TRUE(board(2, 3).exchange("c", patience));
    one.join();
    zero.join();
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(*all, (std::vector<std::string>{"a", "again", "c"}));
    EXPECT_TRUE(again);

    all = first.exchange("nobody comes", milliseconds(300));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().message, "rendezvous of rank 0: " + late + " at " + address_);
    // Nobody serves now.
    const auto alone = board(1, 3).exchange("b", milliseconds(100));
    ASSERT_FALSE(alone);
    EXPECT_NE(alone.error().message.find(address_), std::string::npos);
}

// The answer is longer than a socket holds. Rank 0 must stay until all of it is sent.
TEST_F(RankZeroServes, ALongAnswerReachesASlowRank) {
    constexpr std::uint32_t size = 48;
    const std::string entry(rendezvous_entry_max, 'x');
    std::thread zero([&] {
        RendezvousBoard first = board(0, size);
        EXPECT_TRUE(first.exchange(entry, patience));
    });
    std::vector<std::thread> ranks;
    for (std::uint32_t rank = 2; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            const auto all = board(rank, size).exchange(entry, patience);
            ASSERT_TRUE(all) << all.error().message;
        });
    }
    // Rank 1 sends its entry, and reads nothing for some time.
    const SocketAddress address = to_socket_address(*Address::parse(address_));
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int small = 4096;
    ::setsockopt(socket.handle(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    while (::connect(socket.handle(), &address.any, length_of(address)) != 0) {
        std::this_thread::sleep_for(milliseconds(20));
    }
    const std::string request = request_line({"secret", 1, entry.size()}) + entry;
    ASSERT_EQ(::send(socket.handle(), request.data(), request.size(), 0), ssize_t(request.size()));
    for (std::thread& rank : ranks) rank.join();
    std::this_thread::sleep_for(milliseconds(300));
    std::string answer;
    std::array<char, 65'536> part;
    while (const ssize_t now = ::recv(socket.handle(), part.data(), part.size(), 0)) {
        if (now < 0) break;
        answer.append(part.data(), static_cast<std::size_t>(now));
    }
    zero.join();
    const auto all = parse_answer(answer, size);
    ASSERT_TRUE(all && *all) << answer.size();
    EXPECT_EQ((*all)->at(1), entry);
}

TEST_F(RankZeroServes, ARankOfAnotherJobIsRefused) {
    RendezvousBoard first = board(0, 2);
    std::thread second([&] {
        const auto refused = board(1, 2, "other").exchange("b", patience);
        ASSERT_FALSE(refused);
        EXPECT_NE(refused.error().message.find("the token is that of another job"),
                  std::string::npos);
        EXPECT_TRUE(board(1, 2).exchange("b", patience));
    });
    EXPECT_TRUE(first.exchange("a", patience));
    second.join();
}

TEST_F(RankZeroServes, APortThatIsTakenAndAnEntryThatIsTooLongAreErrors) {
    RendezvousBoard one = board(0, 1);
    EXPECT_FALSE(one.exchange(std::string(JobBoard::entry_max + 1, 'x'), patience));
    ASSERT_TRUE(one.exchange("", patience));
    const auto taken = board(0, 1).exchange("", patience);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().message, "rendezvous of rank 0: " + address_ +
                                         ": cannot listen for the ranks: Address already in use");
}

TEST(JobNumber, IsReadBack) {
    EXPECT_EQ(job_text(0), "0000000000000000");
    EXPECT_EQ(job_text(0xFEDCBA9876543210), "fedcba9876543210");
    EXPECT_EQ(parse_job("fedcba9876543210"), 0xFEDCBA9876543210);
    EXPECT_NE(random_job_number(), random_job_number());
    EXPECT_NE(hash_of("a"), hash_of("b"));
    EXPECT_EQ(hash_of("a"), hash_of("a"));
}

}  // namespace
}  // namespace wireproof::host
