// For tests of the hooks: a device that belongs to the test, and what a program sees of it.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace hooks_test {

struct FakeDevice {
    const char* address = nullptr;  // an IPv4 address; null: the device is not open
    bool is_infiniband = false;
    bool is_seen_from_inside = false;
    std::vector<std::string> commands;
    bool awaits = false;  // an event, when a command comes
    std::vector<int> closed;
    std::size_t interfaces_seen_inside = 0;
};
inline FakeDevice fake;

inline constexpr const char* node = "/dev/infiniband/uverbs0";
inline constexpr const char* rdma_cm = "/dev/infiniband/rdma_cm";
inline const std::string device = "/sys/class/infiniband/wireproof0";

inline std::size_t count_of_interfaces() {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return 0;
    std::size_t count = 0;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) ++count;
    freeifaddrs(all);
    return count;
}

inline bool is_character_file(const struct stat& file) {
    return S_ISCHR(file.st_mode);
}

inline std::string text_in(const std::string& path) {
    std::array<char, 128> text{};
    const int fd = open(path.c_str(), O_RDONLY);
    if (fd == -1) return "";
    const ssize_t length = read(fd, text.data(), text.size());
    close(fd);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

inline std::vector<std::string> names_in(const std::string& path) {
    std::vector<std::string> names;
    DIR* const folder = opendir(path.c_str());
    if (folder == nullptr) return names;
    while (const dirent* entry = readdir(folder)) names.emplace_back(entry->d_name);
    closedir(folder);
    return names;
}

/// The exit code of a child that runs `what`.
template <class What>
int in_child(What&& what) {
    const pid_t child = fork();
    if (child == 0) _exit(what());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Hooks : public testing::Test {
protected:
    Hooks() { fake = FakeDevice(); }

    static int open_cm() { return open(rdma_cm, O_RDWR | O_CLOEXEC); }
    static bool takes_commands(int fd) {
        const std::size_t before = fake.commands.size();
        const bool written = write(fd, "a command", 9) == 9;
        return written && fake.commands.size() == before + 1;
    }
};

}  // namespace hooks_test
