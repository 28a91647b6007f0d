// How many descriptors this process has, and may have.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <iterator>

namespace wireproof::verbs::test {

/// That are open.
inline std::size_t descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// While it lives no descriptor has that number or a greater one, but those that are open.
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
