#include "wireproof/host/memory_guard.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/host/fork_test_kit.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::host {
namespace {

const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

/// Mapped pages, one of which the test may unmap or protect.
class Pages {
public:
    explicit Pages(std::size_t count, int file = -1)
        : size_(count * page),
          at_(static_cast<std::byte*>(::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                                             file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
                                             file, 0))) {}
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() { ::munmap(at_, size_); }

    std::byte* operator[](std::size_t number) const { return at_ + number * page; }
    /// The address range stays reserved. Otherwise the next mapping, for example a thread's stack,
    /// could lie there.
    void unmap(std::size_t number) {
        ::mmap((*this)[number], page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    void protect(std::size_t number) { ::mprotect((*this)[number], page, PROT_READ); }

private:
    std::size_t size_;
    std::byte* at_;
};

/// A clock that advances by a second at each call, so that keep_memory_guard always acts.
Instant later() {
    static Instant now;
    now = now + Duration::milliseconds(1000);
    return now;
}

bool copies(std::byte* to, const std::byte* from, std::size_t size) {
    keep_memory_guard(later());
    return copy_guarded(to, from, size);
}

using test::in_child;

TEST(MemoryGuard, CopiesWhatIsThere) {
    const Pages pages(2);
    std::vector<std::byte> data(page + 13, std::byte{7});
    EXPECT_TRUE(copies(pages[0] + 5, data.data(), data.size()));
    EXPECT_EQ(std::memcmp(pages[0] + 5, data.data(), data.size()), 0);
}

TEST(MemoryGuard, SaysWhatIsNotThere) {
    Pages pages(3);
    std::vector<std::byte> data(2 * page);
    pages.unmap(1);
    for (int again = 0; again < 3; ++again) {
        EXPECT_FALSE(copies(pages[1], data.data(), 8));
        EXPECT_FALSE(copies(data.data(), pages[1], 8));
        EXPECT_FALSE(copies(pages[0] + page - 100, data.data(), 200)) << "from a page that is";
        EXPECT_FALSE(copies(data.data(), pages[0], 2 * page));
        EXPECT_TRUE(copies(pages[0], data.data(), page));
        EXPECT_TRUE(copies(pages[2], data.data(), page));
    }
}

TEST(MemoryGuard, SaysWhatMayNotBeWritten) {
    Pages pages(1);
    std::byte data{};
    pages.protect(0);
    EXPECT_FALSE(copies(pages[0], &data, 1));
    EXPECT_TRUE(copies(&data, pages[0], 1));
}

TEST(MemoryGuard, SaysThatAFileBecameShorter) {
    const int file = ::memfd_create("shorter", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(2 * page)), 0);
    const Pages pages(2, file);
    std::byte data{};
    EXPECT_TRUE(copies(pages[1], &data, 1));
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(page)), 0);
    EXPECT_FALSE(copies(pages[1], &data, 1));
    EXPECT_TRUE(copies(pages[0], &data, 1));
    ::close(file);
}

TEST(MemoryGuard, GuardsAnyThreadThoughItBlocksAllSignals) {
    Pages pages(1);
    pages.unmap(0);
    std::thread([&] {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
        std::byte data{};
        EXPECT_FALSE(copies(&data, pages[0], 1));
    }).join();
}

// gtest and sanitizers have their own handlers, so the test runs in a child.
TEST(MemoryGuard, AFaultOfTheProgramsOwnEndsIt) {
    for (const int signal : {SIGSEGV, SIGBUS}) {
        EXPECT_EQ(in_child([signal] {
                      ::signal(signal, SIG_DFL);
                      keep_memory_guard(later());
                      ::raise(signal);
                      return 0;
                  }),
                  -signal);
    }
    Pages pages(1);
    pages.unmap(0);
    EXPECT_EQ(in_child([&] {
                  ::signal(SIGSEGV, SIG_DFL);
                  keep_memory_guard(later());
                  return std::to_integer<int>(*const_cast<volatile std::byte*>(pages[0]));
              }),
              -SIGSEGV);
}

TEST(MemoryGuard, AFaultOfTheProgramsOwnGoesToItsHandler) {
    Pages pages(1);
    pages.unmap(0);
    const auto run = [&](bool before) {
        return in_child([&] {
            static volatile bool copied = false;
            if (!before) keep_memory_guard(later());
            struct sigaction own {};
            own.sa_flags = SA_SIGINFO;
            own.sa_sigaction = [](int, siginfo_t* info, void*) {
                ::_exit(copied && info->si_code > 0 && info->si_addr != nullptr ? 42 : 1);
            };
            ::sigaction(SIGSEGV, &own, nullptr);
            std::byte data{};
            if (copies(&data, pages[0], 1)) return 2;
            copied = true;
            return std::to_integer<int>(*const_cast<volatile std::byte*>(pages[0]));
        });
    };
    EXPECT_EQ(run(true), 42);
    EXPECT_EQ(run(false), 42) << "set after the guard's, which is set again";
}

sigjmp_buf programs_way_out;

TEST(MemoryGuard, AHandlerThatJumpsOutMayDoSoAgainAndAgain) {
    Pages pages(1);
    pages.unmap(0);
    EXPECT_EQ(in_child([&] {
                  struct sigaction own {};
                  own.sa_flags = SA_NODEFER;
                  own.sa_handler = [](int) { siglongjmp(programs_way_out, 1); };
                  ::sigaction(SIGSEGV, &own, nullptr);
                  keep_memory_guard(later());
                  volatile int caught = 0;
                  for (int i = 0; i < 3; ++i) {
                      if (sigsetjmp(programs_way_out, 0) != 0) {
                          caught = caught + 1;
                          continue;
                      }
                      (void)*const_cast<volatile std::byte*>(pages[0]);
                  }
                  return static_cast<int>(caught);
              }),
              3);
}

// Python's handler does this: it restores the handler that it found, which is the guard's, and
// raises the signal again.
TEST(MemoryGuard, HandlersThatCallEachOtherEnd) {
    static struct sigaction found;
    EXPECT_EQ(in_child([] {
                  ::signal(SIGSEGV, SIG_DFL);
                  keep_memory_guard(later());
                  struct sigaction own {};
                  own.sa_flags = SA_NODEFER;
                  own.sa_handler = [](int signal) {
                      static volatile int calls = 0;
                      calls = calls + 1;
                      if (calls > 3) ::_exit(1);
                      ::sigaction(signal, &found, nullptr);
                      ::raise(signal);
                  };
                  ::sigaction(SIGSEGV, &own, &found);
                  keep_memory_guard(later());
                  ::raise(SIGSEGV);
                  return 0;
              }),
              -SIGSEGV);
}

TEST(MemoryGuard, WhatIsIgnoredStaysIgnored) {
    EXPECT_EQ(in_child([] {
                  ::signal(SIGBUS, SIG_IGN);
                  keep_memory_guard(later());
                  ::raise(SIGBUS);
                  return 7;
              }),
              7);
}

}  // namespace
}  // namespace wireproof::host
