// PMI-1, the process interface of MPICH's launcher (mpiexec.hydra), of Flux and others: each
// request is a line of words "name=value" on the descriptor PMI_FD, and so is each answer. No
// library is needed. The launcher keeps what the ranks put.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wireproof/host/job/pmi_board.hpp"
#include "wireproof/host/job/pmi_parts.hpp"
#include "wireproof/host/job/ways.hpp"
#include "wireproof/host/rendezvous/environment.hpp"

namespace wireproof::host {
namespace {

/// The value of a word of a line. Empty: there is none.
std::string value_of(std::string_view line, std::string_view name) {
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        const std::string_view word = line.substr(0, end);
        if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=') {
            return std::string(word.substr(name.size() + 1));
        }
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return {};
}

/// The conversation with the launcher. It does not own the descriptor.
class Pmi1 {
public:
    explicit Pmi1(int handle) : handle_(handle) {}

    /// Sends "cmd=REQUEST" and returns the line of the answer, which must begin with "cmd=ANSWER".
    Expected<std::string> ask(const std::string& request, std::string_view answer,
                              const Deadline& deadline) {
        const std::string name = request.substr(0, request.find(' '));
        if (const auto sent = send("cmd=" + request + "\n", deadline); !sent) {
            return unexpected(name + ": " + sent.error().message);
        }
        auto line = receive(deadline);
        if (!line) return unexpected(name + ": " + line.error().message);
        const std::string code = value_of(*line, "rc");
        if (value_of(*line, "cmd") != answer || (!code.empty() && code != "0")) {
            return unexpected(name + ": the launcher answers \"" + printed(*line) + "\"");
        }
        return line;
    }

private:
    static constexpr std::size_t line_max = 8192;

    static std::string printed(std::string line) {
        line.resize(std::min<std::size_t>(line.size(), 200));
        for (char& c : line) {
            if (c < ' ' || c > '~') c = '?';
        }
        return line;
    }
    static tl::unexpected<Error> failed() { return unexpected(std::strerror(errno)); }

    /// An error: the time is up, or the launcher is gone.
    Expected<void> wait_for(short what, const Deadline& deadline) const {
        do {
            constexpr std::int64_t turn_max = 60'000;
            const std::int64_t left = std::min<std::int64_t>(deadline.left().count(), turn_max);
            pollfd wanted{.fd = handle_, .events = what, .revents = 0};
            const int ready = ::poll(&wanted, 1, static_cast<int>(left));
            if (ready > 0) return {};
            if (ready < 0 && errno != EINTR) return failed();
        } while (!deadline.past());
        return unexpected("the launcher does not answer");
    }
    Expected<void> send(const std::string& text, const Deadline& deadline) const {
        for (std::size_t sent = 0; sent < text.size();) {
            if (const auto ready = wait_for(POLLOUT, deadline); !ready) return ready;
            ssize_t now = ::send(handle_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
            if (now < 0 && errno == ENOTSOCK) {
                now = ::write(handle_, text.data() + sent, text.size() - sent);
            }
            if (now > 0) sent += static_cast<std::size_t>(now);
            if (now < 0 && errno != EAGAIN && errno != EINTR) return failed();
        }
        return {};
    }
    Expected<std::string> receive(const Deadline& deadline) {
        while (true) {
            const std::size_t end = arrived_.find('\n');
            if (end != arrived_.npos) {
                std::string line = arrived_.substr(0, end);
                arrived_.erase(0, end + 1);
                return line;
            }
            if (arrived_.size() > line_max) return unexpected("a line that is too long");
            if (const auto ready = wait_for(POLLIN, deadline); !ready) {
                return tl::unexpected(ready.error());
            }
            std::array<char, 4096> part;
            const ssize_t now = ::read(handle_, part.data(), part.size());
            if (now == 0) return unexpected("the launcher has ended");
            if (now > 0) arrived_.append(part.data(), static_cast<std::size_t>(now));
            if (now < 0 && errno != EAGAIN && errno != EINTR) return failed();
        }
    }

    int handle_;
    std::string arrived_;
};

class Pmi1Board final : public PmiBoard {
public:
    Pmi1Board(JobPlace place, Pmi1 pmi, std::string name)
        : PmiBoard(std::move(place)), pmi_(std::move(pmi)), name_(std::move(name)) {}
    /// A launcher takes it for an accident if a rank ends without this.
    ~Pmi1Board() override {
        (void)pmi_.ask("finalize", "finalize_ack", Deadline(std::chrono::seconds(5)));
    }
    Pmi1Board(const Pmi1Board&) = delete;
    Pmi1Board& operator=(const Pmi1Board&) = delete;

private:
    Expected<void> put(const std::string& key, const std::string& value,
                       const Deadline& deadline) override {
        return pmi_
            .ask("put kvsname=" + name_ + " key=" + key + " value=" + value, "put_result", deadline)
            .map([](const std::string&) {});
    }
    Expected<void> fence(const Deadline& deadline) override {
        const auto met = pmi_.ask("barrier_in", "barrier_out", deadline);
        if (!met && deadline.past()) return unexpected("not all ranks arrived");
        return met.map([](const std::string&) {});
    }
    Expected<std::string> get(const std::string& key, const Deadline& deadline) override {
        return pmi_.ask("get kvsname=" + name_ + " key=" + key, "get_result", deadline)
            .map([](const std::string& line) { return value_of(line, "value"); });
    }

    Pmi1 pmi_;
    std::string name_;  // of the job, for the launcher
};

Expected<WayResult> join_pmi1(Pmi1 pmi, JobPlace place, const Deadline& deadline) {
    const auto begun = pmi.ask("init pmi_version=1 pmi_subversion=1", "response_to_init", deadline);
    if (!begun) return tl::unexpected(begun.error());
    const auto most = pmi.ask("get_maxes", "maxes", deadline);
    if (!most) return tl::unexpected(most.error());
    const auto length = number_of(value_of(*most, "vallen_max"), 1'000'000'000);
    if (!length || *length <= pmi_part_max) {
        return unexpected("get_maxes: the launcher cannot carry a value of " +
                          std::to_string(pmi_part_max) + " characters");
    }
    const auto name = pmi.ask("get_my_kvsname", "my_kvsname", deadline);
    if (!name) return tl::unexpected(name.error());
    auto board =
        std::make_unique<Pmi1Board>(std::move(place), std::move(pmi), value_of(*name, "kvsname"));
    const auto agreed = board->agree_on_job(deadline.left());
    if (!agreed) return tl::unexpected(agreed.error());
    return WayResult::found(std::move(board));
}

}  // namespace

Expected<WayResult> try_pmi1(std::chrono::milliseconds patience) {
    for (const char* variable : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) {
        if (!is_set(variable)) return WayResult::lacking(not_set(variable));
    }
    const auto handle = number_in("PMI_FD", 0, INT32_MAX);
    if (!handle) return tl::unexpected(handle.error());
    const auto size = number_in("PMI_SIZE", 1, INT32_MAX);
    if (!size) return tl::unexpected(size.error());
    const auto rank = number_in("PMI_RANK", 0, *size - 1);
    if (!rank) return tl::unexpected(rank.error());
    return join_pmi1(Pmi1(static_cast<int>(*handle)), JobPlace{*rank, *size, 0, "PMI-1"},
                     Deadline(patience));
}

}  // namespace wireproof::host
