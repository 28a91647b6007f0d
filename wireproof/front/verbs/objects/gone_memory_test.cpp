// Memory that the program unmaps while it is registered. An adapter pins the memory and would go on
// with pages that nobody else has. Here the work ends with an error, and the process lives.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

constexpr std::size_t size = 65536;

/// One end has a second region of memory, which the test may unmap.
class GoneMemory : public ::testing::Test {
protected:
    GoneMemory() {
        a.connect(b.contact());
        b.connect(a.contact());
    }
    ~GoneMemory() override {
        EXPECT_EQ(ibv_dereg_mr(region_a), 0);
        EXPECT_EQ(ibv_dereg_mr(region_b), 0);
    }
    GoneMemory(const GoneMemory&) = delete;
    GoneMemory& operator=(const GoneMemory&) = delete;

    static void* map() {
        return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    /// Acts like munmap, but the address range stays taken. Otherwise the next mapping could be
    /// there, and the device would use it.
    static void unmap(void* memory) {
        ::mmap(memory, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    static ibv_sge all_of(const ibv_mr* region, std::uint32_t length = size) {
        return {reinterpret_cast<std::uintptr_t>(region->addr), length, region->lkey};
    }
    static Contact target(const ibv_mr* region) {
        Contact contact{};
        contact.address = reinterpret_cast<std::uintptr_t>(region->addr);
        contact.key = region->rkey;
        return contact;
    }

    End a;
    End b;
    void* memory_a = map();
    void* memory_b = map();
    ibv_mr* region_a = ibv_reg_mr(a.domain, memory_a, size, End::all_rights);
    ibv_mr* region_b = ibv_reg_mr(b.domain, memory_b, size, End::all_rights);
};

TEST_F(GoneMemory, ASendOutOfItIsALocalProtectionError) {
    unmap(memory_a);
    ASSERT_EQ(a.post(IBV_WR_SEND, 1, all_of(region_a), {}), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(GoneMemory, AReceiveIntoItFailsAtBothEnds) {
    ASSERT_EQ(b.post_receive(2, all_of(region_b)), 0);
    unmap(memory_b);
    ASSERT_EQ(a.post(IBV_WR_SEND, 1, a.piece(0, 4096), {}), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_REM_OP_ERR);
    EXPECT_EQ(b.wait().status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(GoneMemory, AWriteToItAndAReadFromItAreRemoteAccessErrors) {
    unmap(memory_b);
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
        End asks;
        End answers;
        asks.connect(answers.contact());
        answers.connect(asks.contact());
        ibv_mr* const region =
            ibv_reg_mr(answers.domain, answers.memory.data(), 16, End::all_rights);
        EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory_b, size,
                               End::all_rights),
                  IBV_REREG_MR_ERR_INPUT)
            << "memory that is gone is not registered";
        EXPECT_EQ(ibv_dereg_mr(region), 0);
        void* const memory = map();
        ibv_mr* const goes = ibv_reg_mr(answers.domain, memory, size, End::all_rights);
        unmap(memory);
        ASSERT_EQ(asks.post(opcode, 3, asks.piece(0, 4096), target(goes), 100), 0);
        EXPECT_EQ(asks.wait().status, IBV_WC_REM_ACCESS_ERR);
        EXPECT_EQ(ibv_dereg_mr(goes), 0);
    }
}

TEST_F(GoneMemory, AReadIntoItIsALocalProtectionError) {
    unmap(memory_a);
    ASSERT_EQ(a.post(IBV_WR_RDMA_READ, 4, all_of(region_a, 100), b.contact()), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(GoneMemory, MemoryThatBecomesReadOnlyTakesNothingMore) {
    ::mprotect(memory_b, size, PROT_READ);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 5, a.piece(0, 8), target(region_b)), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_REM_ACCESS_ERR);
    unmap(memory_b);
}

// Another thread may unmap a page between the check of the page and the copy. The status may be
// anything, but the process must live and the work must end.
TEST_F(GoneMemory, MayGoAtAnyMoment) {
    for (int round = 0; round < 20; ++round) {
        End asks;
        End answers;
        asks.connect(answers.contact());
        answers.connect(asks.contact());
        void* const memory = map();
        ibv_mr* const goes = ibv_reg_mr(asks.domain, memory, size, End::all_rights);
        for (int i = 0; i < 8; ++i) {
            ASSERT_EQ(asks.post(IBV_WR_RDMA_WRITE, 6, all_of(goes), answers.contact()), 0);
        }
        std::thread unmaps([memory] { unmap(memory); });
        for (int i = 0; i < 8; ++i) EXPECT_NE(asks.wait().status, IBV_WC_GENERAL_ERR);
        unmaps.join();
        EXPECT_EQ(ibv_dereg_mr(goes), 0);
    }
}

}  // namespace
}  // namespace wireproof::verbs::test
