// A job of PMI-1. The test is the launcher: it answers what comes over the other end of PMI_FD.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/job/pmi_parts.hpp"

namespace wireproof::host {
namespace {

using std::chrono::milliseconds;

/// Answers until the rank has closed its end.
class Pmi1Launcher {
public:
    explicit Pmi1Launcher(int handle) : handle_(handle), thread_([this] { serve(); }) {}
    Pmi1Launcher(const Pmi1Launcher&) = delete;
    Pmi1Launcher& operator=(const Pmi1Launcher&) = delete;
    ~Pmi1Launcher() { thread_.join(); }

    /// What the rank has asked, in order. Call it when the thread answers nothing.
    std::vector<std::string> asked;
    std::map<std::string, std::string> values;         // by key; what others have put, too
    std::map<std::string, std::string> other_answers;  // by the word after "cmd="

private:
    void serve() {
        std::string arrived;
        char byte = 0;
        while (::read(handle_, &byte, 1) == 1) {
            arrived += byte;
            if (byte != '\n') continue;
            arrived.pop_back();
            const std::string answer = answer_to(arrived);
            arrived.clear();
            // In two pieces, as a stream may deliver it.
            const std::size_t half = answer.size() / 2;
            if (!put(answer.substr(0, half)) || !put(answer.substr(half))) return;
        }
    }
    bool put(const std::string& text) const {
        return ::send(handle_, text.data(), text.size(), MSG_NOSIGNAL) == ssize_t(text.size());
    }
    static std::string word(const std::string& line, const std::string& name) {
        const std::size_t at = line.find(" " + name + "=");
        if (at == line.npos) return "";
        const std::size_t begin = at + name.size() + 2;
        return line.substr(begin, line.find(' ', begin) - begin);
    }
    std::string answer_to(const std::string& line) {
        const std::string name = line.substr(4, line.find(' ') - 4);
        asked.push_back(name);
        if (const auto other = other_answers.find(name); other != other_answers.end()) {
            return other->second;
        }
        if (name == "init") return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
        if (name == "get_maxes") return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n";
        if (name == "get_my_kvsname") return "cmd=my_kvsname kvsname=kvs_7\n";
        if (name == "barrier_in") return "cmd=barrier_out\n";
        if (name == "finalize") return "cmd=finalize_ack\n";
        if (word(line, "kvsname") != "kvs_7") return "cmd=wrong_job rc=-1\n";
        if (name == "put") {
            EXPECT_LT(word(line, "key").size(), 64U);
            EXPECT_LT(word(line, "value").size(), 1024U);
            values[word(line, "key")] = word(line, "value");
            return "cmd=put_result rc=0 msg=success\n";
        }
        const auto found = values.find(word(line, "key"));
        if (found == values.end()) return "cmd=get_result rc=-1 msg=key_not_found value=unknown\n";
        return "cmd=get_result rc=0 msg=success value=" + found->second + "\n";
    }

    int handle_;
    std::thread thread_;
};

/// This process is rank 0 of two.
class Pmi1Job : public testing::Test {
protected:
    /// It only ends a test that hangs.
    static constexpr milliseconds patience{120'000};

    Pmi1Job() {
        for (const char* other : {"PMIX_NAMESPACE", "SLURM_STEP_NUM_TASKS", "WIREPROOF_LAUNCHER"}) {
            ::unsetenv(other);
        }
        ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data());
        ::setenv("PMI_FD", std::to_string(ends_[0]).c_str(), 1);
        ::setenv("PMI_RANK", "0", 1);
        ::setenv("PMI_SIZE", "2", 1);
    }
    ~Pmi1Job() override {
        close_end();
        ::close(ends_[1]);
        for (const char* ours : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) ::unsetenv(ours);
    }
    /// Then the launcher ends, too.
    void close_end() {
        if (ends_[0] >= 0) ::close(std::exchange(ends_[0], -1));
    }

    /// What the other rank has put.
    static void put(Pmi1Launcher& launcher, std::size_t exchange, const std::string& entry) {
        const auto parts = pmi_parts(entry);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            launcher.values["wireproof-" + std::to_string(exchange) + "-1-" + std::to_string(i)] =
                parts[i];
        }
    }
    static std::string error_of_pmi1() {
        const auto board = find_job(patience);
        if (board) return "";
        const std::size_t at = board.error().message.rfind("; ");
        return board.error().message.substr(at + 2);
    }

    std::array<int, 2> ends_{};
};

TEST_F(Pmi1Job, GivesPlaceJobAndEntriesOfAnyLength) {
    const std::string longest(JobBoard::entry_max, '\xff');
    {
        Pmi1Launcher launcher(ends_[1]);
        put(launcher, 0, "0000000000000007");
        put(launcher, 1, longest);
        put(launcher, 2, "");
        {
            const auto board = find_job(patience);
            ASSERT_TRUE(board) << board.error().message;
            EXPECT_EQ((*board)->place().launcher, "PMI-1");
            EXPECT_EQ((*board)->place().rank, 0U);
            EXPECT_EQ((*board)->place().size, 2U);
            EXPECT_NE((*board)->place().job, 7U);  // rank 0 draws it
            EXPECT_EQ((*board)->exchange(std::string("\0;=", 3), patience).value(),
                      (std::vector<std::string>{std::string("\0;=", 3), longest}));
            EXPECT_EQ((*board)->exchange(longest, patience).value(),
                      (std::vector<std::string>{longest, ""}));
            EXPECT_EQ(std::count(launcher.asked.begin(), launcher.asked.end(), "barrier_in"), 3);
            EXPECT_NE(launcher.asked.back(), "finalize");
        }
        EXPECT_EQ(launcher.asked.back(), "finalize");
        close_end();
    }
}

TEST_F(Pmi1Job, ARefusalIsSaidInOneLine) {
    const std::vector<std::pair<std::string, std::string>> refusals = {
        {"init", "cmd=response_to_init rc=-1\n"},
        {"get_maxes", "cmd=maxes vallen_max=1000\n"},
        {"get_my_kvsname", "cmd=nonsense\n"},
        {"put", "cmd=put_result rc=1 msg=no_room\n"},
        {"barrier_in", "\n"},
        {"get", "cmd=get_result rc=0 value=strange\n"},
    };
    const std::vector<std::string> errors = {
        "init: the launcher answers \"cmd=response_to_init rc=-1\"",
        "get_maxes: the launcher cannot carry a value of 1000 characters",
        "get_my_kvsname: the launcher answers \"cmd=nonsense\"",
        "put: the launcher answers \"cmd=put_result rc=1 msg=no_room\"",
        "barrier_in: the launcher answers \"\"",
        "rank 0: no entry of Wireproof",
    };
    Pmi1Launcher launcher(ends_[1]);
    for (std::size_t i = 0; i < refusals.size(); ++i) {
        launcher.other_answers = {refusals[i]};
        EXPECT_EQ(error_of_pmi1(), "PMI-1: " + errors[i]);
    }
    close_end();
}

TEST_F(Pmi1Job, ALauncherThatIsSilentOrGoneIsLeftInTime) {
    const auto error = [] {
        const auto board = find_job(milliseconds(200));
        return board ? "" : board.error().message.substr(board.error().message.rfind("; ") + 2);
    };
    EXPECT_EQ(error(), "PMI-1: init: the launcher does not answer");
    ::shutdown(ends_[1], SHUT_RDWR);
    EXPECT_EQ(error(), "PMI-1: init: Broken pipe");
    ::setenv("PMI_FD", "x", 1);
    EXPECT_EQ(error(), "PMI-1: PMI_FD is no number from 0 to 2147483647");
    ::setenv("PMI_FD", "0", 1);
    ::setenv("PMI_RANK", "2", 1);
    EXPECT_EQ(error(), "PMI-1: PMI_RANK is no number from 0 to 1");
}

}  // namespace
}  // namespace wireproof::host
