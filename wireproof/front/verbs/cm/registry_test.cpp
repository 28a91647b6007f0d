#include "wireproof/front/verbs/cm/registry.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

namespace wireproof::verbs::test {
namespace {

constexpr CmService service{0x0106, 7174};
const Address address = *Address::parse("127.0.0.7:4791");

class Registry : public testing::Test {
protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "registryXXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        base = name;
    }
    void TearDown() override { std::filesystem::remove_all(base); }

    std::string folder() const { return base + "/services"; }
    std::size_t files() const {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder())) {
            ++count;
        }
        return count;
    }
    /// Another process that gives the result of `work` on a registry, and then waits for a signal.
    struct Other {
        pid_t process = -1;
        int said = -1;
        ~Other() { end(SIGKILL); }
        void end(int signal) {
            if (process < 0) return;
            ::kill(process, signal);
            ::waitpid(process, nullptr, 0);
            process = -1;
        }
    };
    void in_other(Other& other, const std::function<int(CmServiceFolder&)>& work) const {
        std::array<int, 2> pipe{};
        ASSERT_EQ(::pipe(pipe.data()), 0);
        other.process = ::fork();
        if (other.process == 0) {
            CmServiceFolder registry(folder());
            const char answer = static_cast<char>(work(registry));
            if (::write(pipe[1], &answer, 1) != 1) ::_exit(1);
            ::pause();
            ::_exit(0);
        }
        char answer = 0;
        EXPECT_EQ(::read(pipe[0], &answer, 1), 1);
        other.said = static_cast<unsigned char>(answer);
        ::close(pipe[0]);
        ::close(pipe[1]);
    }
    static int claims(CmServiceFolder& registry) {
        return static_cast<int>(registry.claim(service, address));
    }

    std::string base;
};

TEST_F(Registry, WhatAProcessClaimsAnotherFinds) {
    Other other;
    in_other(other, claims);
    EXPECT_EQ(other.said, static_cast<int>(CmClaim::held));
    CmServiceFolder registry(folder());
    EXPECT_EQ(registry.find(service), address);
    EXPECT_EQ(registry.find({0x0111, 7174}), std::nullopt);
    EXPECT_EQ(registry.claim(service, address), CmClaim::taken);
    EXPECT_EQ(files(), 1U);
}

TEST_F(Registry, WhatAKilledProcessHeldIsDroppedByWhoLooks) {
    for (const bool looks : {true, false}) {
        Other other;
        in_other(other, claims);
        other.end(SIGKILL);
        EXPECT_EQ(files(), 1U);
        CmServiceFolder registry(folder());
        if (looks) {
            EXPECT_EQ(registry.find(service), std::nullopt);
            EXPECT_EQ(files(), 0U);
        }
        EXPECT_EQ(registry.claim(service, address), CmClaim::held);
        EXPECT_EQ(files(), 1U);
    }
    EXPECT_EQ(files(), 0U);  // the destructor gave up the services
}

TEST_F(Registry, WhoClaimsRemovesWhatDeadProcessesLeft) {
    Other dead;
    Other living;
    in_other(dead, claims);
    in_other(living, [](CmServiceFolder& registry) {
        return static_cast<int>(registry.claim({0x0106, 2}, address));
    });
    dead.end(SIGKILL);
    EXPECT_EQ(files(), 2U);
    CmServiceFolder registry(folder());
    EXPECT_EQ(registry.claim({0x0106, 1}, address), CmClaim::held);
    EXPECT_EQ(files(), 2U);
    EXPECT_EQ(registry.find({0x0106, 2}), address);
}

TEST_F(Registry, WhoGivesUpAServiceLeavesNothing) {
    CmServiceFolder registry(folder());
    EXPECT_EQ(registry.claim(service, address), CmClaim::held);
    EXPECT_EQ(registry.claim(service, address), CmClaim::taken);
    EXPECT_EQ(registry.find(service), address);
    registry.give_up(service);
    EXPECT_EQ(files(), 0U);
    EXPECT_EQ(registry.find(service), std::nullopt);
    registry.give_up(service);
}

TEST_F(Registry, AForkedChildHoldsNothingOfItsParents) {
    CmServiceFolder registry(folder());
    ASSERT_EQ(registry.claim(service, address), CmClaim::held);
    const pid_t child = ::fork();
    if (child == 0) {
        registry.give_up_all();
        const bool found = registry.find(service) == address;
        const bool taken = registry.claim(service, address) == CmClaim::taken;
        ::_exit(found && taken ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(files(), 1U);
    Other other;
    in_other(other,
             [](CmServiceFolder& theirs) { return theirs.find(service) == address ? 1 : 0; });
    EXPECT_EQ(other.said, 1);
}

TEST_F(Registry, AFolderThatOthersMayWriteToIsNotUsed) {
    std::filesystem::create_directory(folder());
    ::chmod(folder().c_str(), 0777);
    CmServiceFolder registry(folder());
    EXPECT_EQ(registry.claim(service, address), CmClaim::no_folder);
    EXPECT_NE(registry.why_not().find("open to other users"), std::string::npos);
    ::chmod(folder().c_str(), 0700);
    EXPECT_EQ(registry.why_not(), "");
}

TEST_F(Registry, AFolderOfAnotherUserIsNotUsed) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    std::filesystem::create_directory(folder());
    ::chmod(folder().c_str(), 0700);
    ASSERT_EQ(::chown(folder().c_str(), 65534, 65534), 0);
    CmServiceFolder registry(folder());
    EXPECT_EQ(registry.claim(service, address), CmClaim::no_folder);
    EXPECT_NE(registry.why_not().find("another user"), std::string::npos);
}

TEST_F(Registry, SymbolicLinksAreNotFollowed) {
    std::filesystem::create_directory(base + "/real");
    ::chmod((base + "/real").c_str(), 0700);
    std::filesystem::create_symlink(base + "/real", folder());
    CmServiceFolder linked(folder());
    EXPECT_EQ(linked.claim(service, address), CmClaim::no_folder);
    std::filesystem::remove(folder());
    // A file that has the right name, but is a symbolic link.
    CmServiceFolder registry(folder());
    ASSERT_EQ(registry.claim(service, address), CmClaim::held);
    const auto file = std::filesystem::directory_iterator(folder())->path();
    registry.give_up(service);
    std::filesystem::create_symlink("/etc/hostname", file);
    EXPECT_EQ(registry.find(service), std::nullopt);
    EXPECT_EQ(registry.claim(service, address), CmClaim::taken);
}

TEST_F(Registry, FilesThatSayNoAddressLeadNowhere) {
    Other other;
    in_other(other, claims);
    const auto file = std::filesystem::directory_iterator(folder())->path();
    std::ofstream(file) << "nonsense";
    CmServiceFolder registry(folder());
    EXPECT_EQ(registry.find(service), std::nullopt);
}

TEST_F(Registry, ProcessesThatShareOneOfTheirFoldersFindEachOther) {
    const std::string common = base + "/common";
    const std::vector<std::string> of_service = {common};
    const std::vector<std::string> of_session = {common, base + "/runtime"};
    for (const auto& [listens, asks] :
         {std::pair(of_service, of_session), std::pair(of_session, of_service)}) {
        Other other;
        in_other(other, [&folders = listens](CmServiceFolder&) {
            auto& registry = *new CmRegistry(folders);  // until the process is killed
            return static_cast<int>(registry.claim(service, address));
        });
        EXPECT_EQ(other.said, static_cast<int>(CmClaim::held));
        CmRegistry registry(asks);
        EXPECT_EQ(registry.find(service), address);
        EXPECT_EQ(registry.claim(service, address), CmClaim::taken);
        other.end(SIGKILL);
        EXPECT_EQ(registry.find(service), std::nullopt);
    }
}

TEST_F(Registry, AServiceThatIsTakenInOneFolderIsClaimedInNone) {
    const std::string common = base + "/common";
    Other other;
    in_other(other, claims);
    CmRegistry registry({common, folder()});
    EXPECT_EQ(registry.claim(service, address), CmClaim::taken);
    EXPECT_TRUE(std::filesystem::is_empty(common));
    EXPECT_EQ(registry.claim({0x0106, 1}, address), CmClaim::held);
    EXPECT_EQ(files(), 2U);
    registry.give_up_all();
    EXPECT_EQ(files(), 1U);
    EXPECT_TRUE(std::filesystem::is_empty(common));
}

TEST_F(Registry, WithoutAnyFolderTheReasonsAreNamed) {
    CmRegistry without({base + "/no/where", base + "/no/here"});
    EXPECT_EQ(without.claim(service, address), CmClaim::no_folder);
    const std::string why = without.why_no_folder();
    EXPECT_NE(why.find("/no/where: No such file or directory; "), std::string::npos) << why;
    CmRegistry with_one({base + "/no/where", folder()});
    EXPECT_EQ(with_one.claim(service, address), CmClaim::held);
    EXPECT_EQ(with_one.why_no_folder(), "");
}

TEST(RegistryFolders, AreThoseThatEachProcessOfTheUserHasAndTheOneOfTheSession) {
    const char* const before = std::getenv("XDG_RUNTIME_DIR");
    const std::string kept = before == nullptr ? "" : before;
    const std::string common = "/tmp/wireproof-" + std::to_string(::geteuid());
    const std::string own = testing::TempDir();
    ::setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
    EXPECT_EQ(CmRegistry::folders_of_user(), std::vector{common});
    ::setenv("XDG_RUNTIME_DIR", own.c_str(), 1);
    struct stat what {};
    ASSERT_EQ(::stat(own.c_str(), &what), 0);
    if (what.st_uid == ::geteuid()) {
        EXPECT_EQ(CmRegistry::folders_of_user(), (std::vector{common, own + "/wireproof"}));
    }
    ::unsetenv("XDG_RUNTIME_DIR");
    EXPECT_EQ(CmRegistry::folders_of_user(), std::vector{common});
    if (!kept.empty()) ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace wireproof::verbs::test
