// The registration of memory: where it is refused, and how a region changes.
#include <sys/mman.h>
#include <unistd.h>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

TEST(Verbs, MemoryIsRegisteredOnlyWhereItIsMappedAndMayBeWritten) {
    End end;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const pages = ::mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    ibv_mr* const readable = ibv_reg_mr(end.domain, pages, 2 * page, IBV_ACCESS_REMOTE_READ);
    EXPECT_NE(readable, nullptr) << std::strerror(errno);
    EXPECT_EQ(ibv_reg_mr(end.domain, pages, page, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EFAULT);
    if (readable != nullptr) ibv_dereg_mr(readable);
    ::munmap(static_cast<char*>(pages) + page, page);
    EXPECT_EQ(ibv_reg_mr(end.domain, pages, page + 1, 0), nullptr);
    EXPECT_EQ(errno, EFAULT);
    ::munmap(pages, page);
}

TEST(Verbs, RightsThatMakeNoSenseAreRefused) {
    End end;
    const auto refused = [&end](int access) {
        errno = 0;
        return ibv_reg_mr(end.domain, end.memory.data(), 8, access) == nullptr ? errno : 0;
    };
    EXPECT_EQ(refused(IBV_ACCESS_REMOTE_WRITE), EINVAL);
    EXPECT_EQ(refused(IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
    EXPECT_EQ(refused(IBV_ACCESS_ZERO_BASED), EINVAL);
    // Rights for features that the device does not have.
    for (const int feature : {int{IBV_ACCESS_ON_DEMAND}, 1 << 8, 1 << 9}) {
        EXPECT_EQ(refused(IBV_ACCESS_LOCAL_WRITE | feature), EOPNOTSUPP) << feature;
    }
    EXPECT_EQ(ibv_reg_mr(end.domain, nullptr, SIZE_MAX, IBV_ACCESS_ON_DEMAND), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_rereg_mr(end.region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_ON_DEMAND),
              IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_mr* const relaxed = ibv_reg_mr(end.domain, end.memory.data(), 8,
                                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
    EXPECT_NE(relaxed, nullptr);  // the flag is only a hint
    if (relaxed != nullptr) ibv_dereg_mr(relaxed);
}

TEST(Verbs, ARegionThatIsRegisteredAnewKeepsItsKey) {
    Pair pair;
    const Contact b = pair.b.contact();
    ASSERT_EQ(ibv_rereg_mr(pair.b.region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
              0);
    EXPECT_EQ(pair.b.region->rkey, b.key);
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_READ, 1, pair.a.piece(0, 8), b), 0);
    EXPECT_EQ(pair.a.wait().status, IBV_WC_SUCCESS);
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 2, pair.a.piece(0, 8), b), 0);
    EXPECT_EQ(pair.a.wait().status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_rereg_mr(pair.b.region, 0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(ibv_rereg_mr(pair.b.region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_REMOTE_WRITE),
              IBV_REREG_MR_ERR_INPUT);
}

}  // namespace
}  // namespace wireproof::verbs::test
