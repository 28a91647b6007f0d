// A job of PMI2 with a library whose answers the test sets.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "fake_pmi2.hpp"

#include "wireproof/base/random.hpp"
#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/job/pmi_parts.hpp"

namespace wireproof::host {
namespace {

using std::chrono::milliseconds;
/// It only ends a test that hangs.
constexpr milliseconds patience(120'000);

test::FakePmi2& loaded() {
    void* const library = ::dlopen(WIREPROOF_FAKE_PMI2, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fputs(::dlerror(), stderr);
        std::abort();
    }
    return *reinterpret_cast<test::FakePmi2Door>(::dlsym(library, "fake_pmi2"))();
}

/// This process is rank 0 of two. The socket is where the launcher would be.
class Pmi2 : public testing::Test {
protected:
    Pmi2() : fake_(loaded()) {
        fake_ = {};
        fake_.size = 2;
        ::unsetenv("PMIX_NAMESPACE");
        ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data());
        ::setenv("PMI_FD", std::to_string(ends_[0]).c_str(), 1);
        put(1, 0, "0000000000000007");
    }
    ~Pmi2() override {
        for (const int end : ends_) ::close(end);
    }

    void put(std::size_t rank, std::size_t exchange, const std::string& entry) {
        const auto parts = pmi_parts(entry);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            fake_.values["wireproof-" + std::to_string(exchange) + "-" + std::to_string(rank) +
                         "-" + std::to_string(i)] = parts[i];
        }
    }
    static std::string error() {
        const auto board = find_job(patience);
        return board ? "" : board.error().message.substr(board.error().message.rfind("; ") + 2);
    }

    test::FakePmi2& fake_;
    std::array<int, 2> ends_{};
};

TEST_F(Pmi2, GivesPlaceJobAndEntriesOfAnyLength) {
    const std::string longest(JobBoard::entry_max, '\xff');
    put(1, 1, longest);
    put(1, 2, "");
    {
        const auto board = find_job(patience);
        ASSERT_TRUE(board) << board.error().message;
        EXPECT_EQ((*board)->place().launcher, "PMI2");
        EXPECT_EQ((*board)->place().rank, 0U);
        EXPECT_EQ((*board)->place().size, 2U);
        EXPECT_NE((*board)->place().job, 7U);  // rank 0 draws it
        EXPECT_EQ((*board)->exchange(std::string("\0;=", 3), patience).value(),
                  (std::vector<std::string>{std::string("\0;=", 3), longest}));
        EXPECT_EQ((*board)->exchange(longest, patience).value(),
                  (std::vector<std::string>{longest, ""}));
        EXPECT_FALSE((*board)->exchange(longest + "x", patience));
        EXPECT_EQ(fake_.fences, 3U);
        EXPECT_LT(fake_.longest_value, 1024U);
        EXPECT_EQ(fake_.finalized, 0U);
    }
    EXPECT_EQ(fake_.finalized, 1U);
}

TEST_F(Pmi2, AllRanksTakeTheNumberOfRankZero) {
    fake_.rank = 1;
    put(0, 0, "00000000000000aa");
    EXPECT_EQ(find_job(patience).value()->place().job, 0xAAU);
    put(0, 0, "nothing");
    EXPECT_EQ(error(), "PMI2: rank 0 has not sent the number of the job");
}

TEST_F(Pmi2, ACallThatFailsIsNamed) {
    for (const char* call : {"PMI2_Init", "PMI2_Job_GetId", "PMI2_KVS_Put", "PMI2_KVS_Fence"}) {
        fake_.fails = call;
        EXPECT_EQ(error(), "PMI2: " + std::string(call) + " failed with code 14");
    }
    fake_.fails = "PMI2_KVS_Get";
    EXPECT_EQ(error(), "PMI2: rank 0: PMI2_KVS_Get of wireproof-0-0-0 failed with code 14");
    fake_.fails.clear();
    fake_.rank = 2;
    EXPECT_EQ(error(), "PMI2: this is rank 2 of 2");
    ::setenv("PMI_FD", "x", 1);
    EXPECT_EQ(error(), "PMI2: PMI_FD is no number from 0 to 2147483647");
}

TEST_F(Pmi2, AFenceThatDoesNotEndIsLeftInTime) {
    fake_.fence_waits_on = ends_[0];
    const auto start = std::chrono::steady_clock::now();
    const auto board = find_job(milliseconds(200));
    ASSERT_FALSE(board);
    EXPECT_NE(board.error().message.find("PMI2: not all ranks arrived"), std::string::npos);
    EXPECT_LT(std::chrono::steady_clock::now() - start, patience);
    // There is no limit for others who use the socket later.
    timeval limit{};
    socklen_t length = sizeof limit;
    ::getsockopt(ends_[0], SOL_SOCKET, SO_RCVTIMEO, &limit, &length);
    EXPECT_EQ(limit.tv_sec + limit.tv_usec, 0);
}

TEST_F(Pmi2, ValuesOfAnotherProcessDoNoHarm) {
    Random random(3);
    const auto board = find_job(patience);
    ASSERT_TRUE(board);
    std::size_t refused = 0;
    for (std::size_t exchange = 1; exchange < 2000; ++exchange) {
        put(1, exchange, std::string(random.below(1200), 'x'));
        std::string& value = fake_.values["wireproof-" + std::to_string(exchange) + "-1-0"];
        value.resize(random.below(1200), '6');
        for (int i = 0; i < 3 && !value.empty(); ++i) {
            value[random.below(value.size())] = static_cast<char>(random.next());
        }
        if (!(*board)->exchange("a", patience)) ++refused;
    }
    EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace wireproof::host
