// Checks that base/publish.hpp stores the last bytes last. They lie on a page that cannot be
// written. When the store faults, all bytes before must be in place. Then the handler makes the
// page writable.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <vector>

#include "wireproof/base/publish.hpp"

namespace wireproof {
namespace {

struct Guarded {
    std::byte* page = nullptr;  // the second page
    std::size_t page_size = 0;
    const std::byte* from = nullptr;
    std::size_t before = 0;  // bytes before this page
    volatile sig_atomic_t faults = 0;
    volatile sig_atomic_t whole = 0;
};
Guarded guarded;

void open_page(int) {
    guarded.faults = guarded.faults + 1;
    guarded.whole =
        std::memcmp(guarded.page - guarded.before, guarded.from, guarded.before) == 0 ? 1 : 0;
    ::mprotect(guarded.page, guarded.page_size, PROT_READ | PROT_WRITE);
}

TEST(Publish, StoresTheLastWordOrByteLast) {
    const auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const pages =
        ::mmap(nullptr, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    struct sigaction mine {};
    mine.sa_handler = open_page;
    struct sigaction before {};
    ASSERT_EQ(::sigaction(SIGSEGV, &mine, &before), 0);

    std::vector<std::byte> from(page_size);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
    guarded.page = static_cast<std::byte*>(pages) + page_size;
    guarded.page_size = page_size;
    guarded.from = from.data();
    // The last aligned word, or the last byte alone.
    for (const std::size_t behind : {std::size_t{8}, std::size_t{1}}) {
        for (const std::size_t front : {std::size_t{8}, std::size_t{100}, std::size_t{4000}}) {
            std::memset(pages, 0, 2 * page_size);
            guarded.before = front;
            guarded.faults = 0;
            guarded.whole = 0;
            ASSERT_EQ(::mprotect(guarded.page, page_size, PROT_READ), 0);
            copy_last_word_last(guarded.page - front, from.data(), front + behind);
            EXPECT_EQ(guarded.faults, 1) << front << ", " << behind;
            EXPECT_EQ(guarded.whole, 1) << front << ", " << behind;
            EXPECT_EQ(std::memcmp(guarded.page - front, from.data(), front + behind), 0);
        }
    }
    ::sigaction(SIGSEGV, &before, nullptr);
    ::munmap(pages, 2 * page_size);
}

}  // namespace
}  // namespace wireproof
