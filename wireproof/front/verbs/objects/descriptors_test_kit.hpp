// Counts and limits the open descriptors of this process.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <iterator>

namespace wireproof::verbs::test {

/// How many descriptors are open.
inline std::size_t descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// While this object exists, new descriptors have smaller numbers than this. Open ones stay open.
class Below {
public:
    explicit Below(rlim_t number) {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        const rlimit few{number, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    }
    Below(const Below&) = delete;
    Below& operator=(const Below&) = delete;
    ~Below() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

private:
    rlimit before_{};
};

}  // namespace wireproof::verbs::test
