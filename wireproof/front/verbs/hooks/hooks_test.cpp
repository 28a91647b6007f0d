// The hooks are linked into this program, so a call of libc below is a call of a hook if there is
// one. The device belongs to the test.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "wireproof/front/verbs/hooks/cm_device.h"
#include "wireproof/front/verbs/hooks/device_facts.h"
#include "wireproof/front/verbs/hooks/hooks_test_kit.hpp"

extern "C" {
// Only a C library before 2.33 declares these.
int __xstat(int version, const char* path, struct stat* file);
int __lxstat64(int version, const char* path, struct stat64* file);
int __fxstat(int version, int fd, struct stat* file);
int __open_2(const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
}

using namespace hooks_test;

extern "C" {

int wireproof_device_facts(struct wireproof_facts* facts) {
    struct stat file {};
    fake.is_seen_from_inside = stat(node, &file) == 0;
    fake.interfaces_seen_inside = count_of_interfaces();
    if (fake.address == nullptr) return -1;
    *facts = {};
    auto& address = reinterpret_cast<sockaddr_in&>(facts->address);
    address.sin_family = AF_INET;
    inet_pton(AF_INET, fake.address, &address.sin_addr);
    facts->gids[1][10] = facts->gids[1][11] = 0xFF;
    std::memcpy(facts->gids[1] + 12, &address.sin_addr, 4);
    facts->guid[0] = 0xA2;
    facts->guid[7] = 0x17;
    facts->is_infiniband = fake.is_infiniband ? 1 : 0;
    facts->lid = fake.is_infiniband ? 0x2A : 0;
    std::strcpy(facts->interface, "lo");
    return 0;
}

int wireproof_rdma_cm_open(int flags) {
    return eventfd(0, (flags & O_CLOEXEC) != 0 ? EFD_CLOEXEC : 0);
}

ssize_t wireproof_rdma_cm_write(int, const void* command, size_t bytes) {
    while (fake.awaits) pause();
    fake.commands.emplace_back(static_cast<const char*>(command), bytes);
    return static_cast<ssize_t>(bytes);
}

int wireproof_rdma_cm_close(int fd) {
    fake.closed.push_back(fd);
    return close(fd);
}
}

TEST_F(Hooks, EveryWayToLookAtANodeSeesACharacterFile) {
    for (const char* path : {node, "/dev/infiniband/wireproof0", rdma_cm}) {
        struct stat file {};
        struct stat64 long_file {};
        struct statx extended {};
        EXPECT_TRUE(stat(path, &file) == 0 && is_character_file(file)) << path;
        EXPECT_TRUE(lstat(path, &file) == 0 && is_character_file(file)) << path;
        EXPECT_TRUE(fstatat(AT_FDCWD, path, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
                    is_character_file(file));
        EXPECT_TRUE(__xstat(1, path, &file) == 0 && is_character_file(file)) << path;
        EXPECT_TRUE(stat64(path, &long_file) == 0 && S_ISCHR(long_file.st_mode)) << path;
        EXPECT_TRUE(lstat64(path, &long_file) == 0 && S_ISCHR(long_file.st_mode)) << path;
        EXPECT_TRUE(__lxstat64(1, path, &long_file) == 0 && S_ISCHR(long_file.st_mode)) << path;
        EXPECT_EQ(statx(AT_FDCWD, path, 0, STATX_TYPE, &extended), 0) << path;
        EXPECT_TRUE(S_ISCHR(extended.stx_mode)) << path;
        EXPECT_EQ(access(path, R_OK | W_OK), 0) << path;
        EXPECT_EQ(faccessat(AT_FDCWD, path, R_OK | W_OK, 0), 0) << path;
    }
}

TEST_F(Hooks, EveryWayToOpenAFileOpensTheDevices) {
    const std::string path = device + "/node_type";
    const std::vector<int> opened = {
        open(path.c_str(), O_RDONLY | O_NOFOLLOW), open64(path.c_str(), O_RDONLY),
        openat(AT_FDCWD, path.c_str(), O_RDONLY),  openat64(AT_FDCWD, path.c_str(), O_RDONLY),
        __open_2(path.c_str(), O_RDONLY),          __openat64_2(AT_FDCWD, path.c_str(), O_RDONLY)};
    for (const int fd : opened) {
        std::array<char, 16> text{};
        EXPECT_EQ(read(fd, text.data(), text.size()), 6);
        EXPECT_STREQ(text.data(), "1: CA\n");
        close(fd);
    }
    for (const auto how : {fopen, fopen64}) {
        FILE* const file = how(path.c_str(), "r");
        ASSERT_NE(file, nullptr);
        std::array<char, 16> text{};
        EXPECT_NE(std::fgets(text.data(), text.size(), file), nullptr);
        EXPECT_STREQ(text.data(), "1: CA\n");
        std::fclose(file);
    }
}

TEST_F(Hooks, LeaveNoDescriptorOpen) {
    const auto count = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const auto before = count();
    text_in(device + "/node_type");
    struct stat file {};
    stat((device + "/node_guid").c_str(), &file);
    access((device + "/ports/1/state").c_str(), R_OK);
    close(open_cm());
    EXPECT_EQ(count(), before);
}

TEST_F(Hooks, TextsAreReadOnlyAndHaveTheAddressesOfTheOpenDevice) {
    struct stat file {};
    const std::string gid = device + "/ports/1/gids/1";
    EXPECT_EQ(text_in(gid), "0000:0000:0000:0000:0000:0000:0000:0000\n");
    fake.address = "127.0.0.9";
    EXPECT_EQ(text_in(gid), "0000:0000:0000:0000:0000:ffff:7f00:0009\n");
    EXPECT_EQ(text_in(device + "/node_guid"), "a200:0000:0000:0017\n");
    EXPECT_EQ(text_in(device + "/ports/1/gid_attrs/ndevs/1"), "lo\n");
    EXPECT_EQ(text_in(device + "/ports/1/gid_attrs/types/0"), "RoCE v2\n");
    EXPECT_EQ(text_in(device + "/ports/1/link_layer"), "Ethernet\n");
    fake.is_infiniband = true;
    EXPECT_EQ(text_in(device + "/ports/1/gid_attrs/types/0"), "IB/RoCE v1\n");
    EXPECT_EQ(text_in(device + "/ports/1/link_layer"), "InfiniBand\n");
    ASSERT_EQ(stat(gid.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode, S_IFREG | 0444u);
    EXPECT_EQ(text_in(device + "/ports/2/gids/1"), "");
    EXPECT_EQ(text_in(device + "/ports/1/gids/2"), "");
}

TEST_F(Hooks, APathMayBeWrittenInManyWays) {
    for (const char* path : {"//sys/class//infiniband/wireproof0/node_type",
                             "/sys/./class/infiniband/wireproof0/./node_type",
                             "/sys/class/infiniband/wireproof0/ports/../node_type"}) {
        EXPECT_EQ(text_in(path), "1: CA\n") << path;
    }
    const std::string long_path = "/infiniband/" + std::string(5000, 'a');
    EXPECT_EQ(text_in(long_path), "");
    EXPECT_EQ(errno, ENAMETOOLONG);
}

TEST_F(Hooks, WhatIsNotOfTheDeviceIsTheSystems) {
    struct stat file {};
    for (const char* path : {"/sys/class/infiniband_other", "/dev/infiniband/uverbs00",
                             "/sys/class/infiniband/wireproof0/board_id", "/infiniband", ""}) {
        EXPECT_EQ(stat(path, &file), -1) << path;
        EXPECT_EQ(errno, ENOENT) << path;
        EXPECT_EQ(opendir(path), nullptr) << path;
        EXPECT_EQ(errno, ENOENT) << path;
    }
    EXPECT_EQ(open(device.c_str(), O_RDONLY), -1) << "a folder can be listed, and no more";
    const auto folder = std::filesystem::path(testing::TempDir()) / "infiniband";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "wireproof0") << "the user's";
    EXPECT_EQ(text_in(folder / "wireproof0"), "the user's");
    const int made = open((folder / "made").c_str(), O_CREAT | O_WRONLY | O_EXCL, 0640);
    ASSERT_NE(made, -1);
    EXPECT_EQ(fstat(made, &file), 0);
    EXPECT_EQ(file.st_mode & 0700u, 0600u);
    close(made);
    std::filesystem::remove_all(folder);
}

TEST_F(Hooks, EverythingThatAFolderListsIsThere) {
    std::vector<std::string> folders = {"/dev/infiniband", "/sys/class/infiniband",
                                        "/sys/class/infiniband_verbs", "/sys/class/misc/rdma_cm"};
    std::size_t files = 0;
    while (!folders.empty()) {
        const std::string folder = folders.back();
        folders.pop_back();
        const auto names = names_in(folder);
        ASSERT_GT(names.size(), 2u) << folder;
        EXPECT_EQ(std::vector(names.begin(), names.begin() + 2),
                  (std::vector<std::string>{".", ".."}));
        EXPECT_TRUE(std::is_sorted(names.begin() + 2, names.end())) << folder;
        EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << folder;
        for (auto name = names.begin() + 2; name != names.end(); ++name) {
            struct stat file {};
            const std::string path = folder + "/" + *name;
            ASSERT_EQ(stat(path.c_str(), &file), 0) << path;
            const bool is_interface = path == device + "/device/net/lo";
            if (S_ISDIR(file.st_mode) && !is_interface) folders.push_back(path);
            if (S_ISREG(file.st_mode)) {
                EXPECT_EQ(text_in(path).back(), '\n') << path;
            }
            ++files;
        }
    }
    EXPECT_GT(files, 30u);
    EXPECT_EQ(names_in(device + "/device/net"), (std::vector<std::string>{".", "..", "lo"}));
    EXPECT_EQ(text_in(device + "/device/net/lo/address"), "00:00:00:00:00:00\n");
}

TEST_F(Hooks, CommandsGoToTheDevice) {
    const int fd = open_cm();
    ASSERT_NE(fd, -1);
    struct stat file {};
    EXPECT_TRUE(fstat(fd, &file) == 0 && is_character_file(file));
    EXPECT_TRUE(__fxstat(1, fd, &file) == 0 && is_character_file(file));
    EXPECT_TRUE(fstatat(fd, "", &file, AT_EMPTY_PATH) == 0 && is_character_file(file));
    EXPECT_TRUE(takes_commands(fd));
    EXPECT_EQ(fake.commands, std::vector<std::string>{"a command"});
    EXPECT_EQ(close(fd), 0);
    EXPECT_EQ(fake.closed, std::vector{fd});
    EXPECT_EQ(close(fd), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(fake.closed.size(), 1u);
}

TEST_F(Hooks, TheDeviceWakesAProgramByTheSameDescriptor) {
    const int fd = open_cm();
    const std::uint64_t one = 1;
    EXPECT_EQ(write(fd, &one, sizeof one), 8);
    EXPECT_TRUE(fake.commands.empty());
    std::uint64_t events = 0;
    EXPECT_EQ(read(fd, &events, sizeof events), 8);
    EXPECT_EQ(events, 1u);
    close(fd);
}

TEST_F(Hooks, ADescriptorThatIsReplacedOrClosedInARangeIsClosedInTheDevice) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    for (const auto replace : {+[](int from, int to) { return dup2(from, to); },
                               +[](int from, int to) { return dup3(from, to, O_CLOEXEC); },
                               +[](int, int to) {
                                   const auto number = static_cast<unsigned>(to);
                                   return close_range(number, number, 0);
                               }}) {
        fake = FakeDevice();
        const int fd = open_cm();
        EXPECT_NE(replace(ends[1], fd), -1);
        EXPECT_EQ(fake.closed, std::vector{fd});
        EXPECT_FALSE(takes_commands(fd));
        close(fd);
        EXPECT_EQ(fake.closed.size(), 1u);
    }
    const int fd = open_cm();
    EXPECT_EQ(dup2(-1, fd), -1);
    EXPECT_EQ(close_range(static_cast<unsigned>(fd), ~0U, 1U << 2), 0) << "at exec, not now";
    EXPECT_TRUE(takes_commands(fd));
    close(fd);
    close(ends[0]);
    close(ends[1]);
}

TEST_F(Hooks, ANumberThatWasClosedUnnoticedIsItsNewOwners) {
    const int fd = open_cm();
    std::array<int, 2> ends{};
    ASSERT_EQ(syscall(SYS_close, fd), 0);
    ASSERT_EQ(pipe(ends.data()), 0);
    const int end = ends[0] == fd ? ends[0] : ends[1];
    ASSERT_EQ(end, fd) << "the lowest number is free";
    struct stat file {};
    EXPECT_TRUE(fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode));
    EXPECT_FALSE(takes_commands(fd));
    EXPECT_EQ(close(fd), 0);
    EXPECT_TRUE(fake.closed.empty());
    close(ends[0] == fd ? ends[1] : ends[0]);
}

TEST_F(Hooks, ADuplicateTakesNoCommandAndDisturbsNothing) {
    const int fd = open_cm();
    const int second = dup(fd);
    EXPECT_EQ(write(second, "a command", 9), -1);
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(close(second), 0);
    EXPECT_TRUE(fake.closed.empty());
    EXPECT_TRUE(takes_commands(fd));
    close(fd);
}

TEST_F(Hooks, AForkedChildDoesNotReachTheParentsDevice) {
    const int fd = open_cm();
    EXPECT_EQ(in_child([&] {
                  if (write(fd, "a command", 9) != -1 || errno != EIO) return 1;
                  if (close(fd) != 0 || !fake.closed.empty()) return 2;
                  const int own = open_cm();
                  if (own != fd || !takes_commands(own)) return 3;
                  if (close(own) != 0 || fake.closed.size() != 1) return 4;
                  std::array<int, 2> ends{};
                  if (pipe(ends.data()) != 0 || ends[0] != fd) return 5;
                  return write(ends[1], "more than eight", 15) == 15 ? 0 : 6;
              }),
              0);
    EXPECT_TRUE(takes_commands(fd));
    close(fd);
}

TEST_F(Hooks, AChildThatSharesTheMemoryLeavesTheDescriptorToTheParent) {
    const int fd = open_cm();
    const pid_t child = vfork();
    if (child == 0) {
        close(fd);
        close_range(3, ~0U, 0);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(fake.closed.empty());
    EXPECT_TRUE(takes_commands(fd));
    close(fd);
    EXPECT_EQ(fake.closed, std::vector{fd});
}

TEST_F(Hooks, AChildMayCloseAllThatItHas) {
    open_cm();
    EXPECT_EQ(in_child([] {
                  closefrom(3);
                  return fake.closed.empty() && open_cm() == 3 ? 0 : 1;
              }),
              0);
    closefrom(open_cm());
    EXPECT_EQ(fake.closed.size(), 1u);
}

TEST_F(Hooks, ThreadsOpenAndCloseAtOnce) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) {
                const int fd = open("/dev/infiniband/uverbs0", O_RDWR);
                DIR* const folder = opendir("/sys/class/infiniband");
                wrong += fd == -1 || folder == nullptr;
                close(fd);
                closedir(folder);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST_F(Hooks, ThereIsABoundOnFoldersAndItIsReported) {
    std::vector<DIR*> all;
    while (DIR* const folder = opendir(device.c_str())) all.push_back(folder);
    EXPECT_EQ(errno, EMFILE);
    EXPECT_GE(all.size(), 16u);
    for (DIR* const folder : all) EXPECT_EQ(closedir(folder), 0);
    EXPECT_GT(names_in(device).size(), 2u);
}

TEST_F(Hooks, ALoopbackAddressOfTheDeviceIsShownOnAnInterfaceThatDoesNotExist) {
    const std::size_t before = count_of_interfaces();
    fake.address = "127.0.0.9";
    ifaddrs* all = nullptr;
    ASSERT_EQ(getifaddrs(&all), 0);
    const ifaddrs* last = all;
    while (last->ifa_next != nullptr) last = last->ifa_next;
    EXPECT_STREQ(last->ifa_name, "wireproof0");
    EXPECT_EQ(last->ifa_flags & unsigned{IFF_LOOPBACK}, 0u);
    EXPECT_NE(last->ifa_flags & unsigned{IFF_UP}, 0u);
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto& address = reinterpret_cast<const sockaddr_in&>(*last->ifa_addr);
    inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    EXPECT_STREQ(text.data(), "127.0.0.9");
    freeifaddrs(all);
    EXPECT_EQ(count_of_interfaces(), before + 1);
    fake.address = "192.0.2.1";
    EXPECT_EQ(count_of_interfaces(), before) << "the system shows it, if it has it";
    freeifaddrs(nullptr);
}

TEST_F(Hooks, TheDevicesOwnCallsAreTheSystems) {
    fake.address = "127.0.0.9";
    const std::size_t seen = count_of_interfaces();
    EXPECT_EQ(fake.interfaces_seen_inside, seen - 1);
    EXPECT_FALSE(fake.is_seen_from_inside);
}

// The program runs itself again as a file of another user whose rights it takes on (set-user-ID).
TEST_F(Hooks, AProcessWithRaisedPrivilegesIsNotHooked) {
    if (getauxval(AT_SECURE) != 0) {
        struct stat file {};
        fake.address = "127.0.0.9";
        EXPECT_EQ(stat(node, &file), -1);
        EXPECT_EQ(access(node, F_OK), -1);
        EXPECT_EQ(text_in(device + "/node_type"), "");
        EXPECT_EQ(names_in(device).size(), 0u);
        EXPECT_EQ(open_cm(), -1);
        EXPECT_EQ(fopen((device + "/node_type").c_str(), "r"), nullptr);
        const std::size_t seen = count_of_interfaces();
        EXPECT_EQ(fake.interfaces_seen_inside, 0u);
        EXPECT_GT(seen, 0u);
        return;
    }
    struct statvfs where {};
    ASSERT_EQ(statvfs(testing::TempDir().c_str(), &where), 0);
    if (geteuid() != 0 || (where.f_flag & ST_NOSUID) != 0) {
        GTEST_SKIP() << "only root can make such a file, and not everywhere";
    }
    namespace fs = std::filesystem;
    const fs::path program = fs::path(testing::TempDir()) / ("hooks_" + std::to_string(getpid()));
    fs::copy_file("/proc/self/exe", program, fs::copy_options::overwrite_existing);
    constexpr uid_t somebody = 65533;
    constexpr uid_t nobody = 65534;
    ASSERT_EQ(chown(program.c_str(), somebody, somebody), 0);
    ASSERT_EQ(chmod(program.c_str(), 04755), 0);
    const int code = in_child([&] {
        if (setuid(nobody) != 0 || dup2(STDERR_FILENO, STDOUT_FILENO) == -1) return 100;
        execl(program.c_str(), program.c_str(),
              "--gtest_filter=Hooks.AProcessWithRaisedPrivilegesIsNotHooked", "--gtest_brief=1",
              nullptr);
        return 101;
    });
    fs::remove(program);
    EXPECT_EQ(code, 0);
}
