#include "wireproof/host/job/sharing_proof.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "wireproof/host/fork_test_kit.hpp"
#include "wireproof/host/job/job_number.hpp"

namespace wireproof::host {
namespace {

class Sharing : public testing::Test {
protected:
    const std::uint64_t job_ = random_job_number();
};

TEST_F(Sharing, RanksOfOneJobReachEachOther) {
    const auto zero = SharingProof::listen(job_, 0);
    const auto one = SharingProof::listen(job_, 1);
    const auto stranger = SharingProof::listen(job_ + 1, 2);
    ASSERT_TRUE(zero && one && stranger);
    EXPECT_TRUE(zero->reaches(1));
    EXPECT_TRUE(one->reaches(0));
    EXPECT_TRUE(zero->reaches(0));
    EXPECT_FALSE(zero->reaches(2));
    EXPECT_FALSE(stranger->reaches(0));
}

TEST_F(Sharing, ARankIsReachedFromAnotherProcessUntilItsProofIsGone) {
    const auto look = [this] {
        return test::in_child(
            [this] { return SharingProof::listen(job_, 1).value().reaches(0) ? 1 : 0; });
    };
    {
        const auto zero = SharingProof::listen(job_, 0);
        EXPECT_EQ(look(), 1);
    }
    EXPECT_EQ(look(), 0);
}

// Nobody accepts the connections. They must not fill the queue for ever.
TEST_F(Sharing, AnyNumberOfLooksIsPossible) {
    const auto zero = SharingProof::listen(job_, 0).value();
    for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(zero.reaches(0)) << i;
}

TEST_F(Sharing, ANameThatIsTakenIsAnError) {
    const auto zero = SharingProof::listen(job_, 0);
    const auto again = SharingProof::listen(job_, 0);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message,
              "abstract socket wireproof-" + job_text(job_) + "-0: Address already in use");
}

TEST_F(Sharing, AnotherNetworkNamespaceIsNotReached) {
    const auto zero = SharingProof::listen(job_, 0);
    constexpr int not_here = 255;
    const int result = test::in_child([this] {
        if (::unshare(CLONE_NEWNET) != 0) return not_here;
        return SharingProof::listen(job_, 1).value().reaches(0) ? 1 : 0;
    });
    if (result == not_here) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(result, 0);
}

TEST_F(Sharing, AnotherUserIsNotReached) {
    constexpr uid_t other = 65'533;
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const auto zero = SharingProof::listen(job_, 0);
    EXPECT_EQ(test::in_child([this] {
                  if (::setuid(other) != 0) return 2;
                  return SharingProof::listen(job_, 1).value().reaches(0) ? 1 : 0;
              }),
              0);
}

}  // namespace
}  // namespace wireproof::host
