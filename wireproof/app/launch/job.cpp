#include "wireproof/app/launch/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "wireproof/app/launch/descriptor_limit.hpp"
#include "wireproof/app/launch/line_marks.hpp"
#include "wireproof/app/launch/outlet.hpp"
#include "wireproof/app/launch/output_flags.hpp"
#include "wireproof/app/launch/processes.hpp"
#include "wireproof/app/launch/rank_command.hpp"
#include "wireproof/app/launch/signals.hpp"
#include "wireproof/base/check.hpp"
#include "wireproof/host/rendezvous/rendezvous_server.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/os/pipe.hpp"

extern char** environ;

namespace wireproof::launch {
namespace {

using host::RendezvousServer;

std::string random_hex(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) {
        unsigned char one = 0;
        WIREPROOF_CHECK(::getrandom(&one, 1, 0) == 1);
        text += fmt::format("{:02x}", one);
    }
    return text;
}

/// A remote rank does not inherit the launcher's environment, but it gets the variables of ours.
Variables own_variables() {
    constexpr std::string_view ours = "WIREPROOF_";
    Variables variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (!text.starts_with(ours) || equals == text.npos) continue;
        const std::string_view name = text.substr(0, equals);
        if (name == "WIREPROOF_TOKEN" || name == "WIREPROOF_RENDEZVOUS") continue;
        variables.emplace_back(name, text.substr(equals + 1));
    }
    return variables;
}

/// One of the two streams of a rank, if its lines are marked.
struct Stream {
    Descriptor from;
    LineMarks marks;
    Outlet* to;
};

struct Rank {
    std::size_t number = 0;
    std::string host;     // empty: this one
    pid_t process = 0;    // 0: ended
    Descriptor lifeline;  // of a remote rank
    bool is_cut = false;  // the launcher has given its connection up, and its code is lost
};

class Job {
public:
    explicit Job(const JobPlan& plan, EndWatch watch) : plan_(plan), watch_(std::move(watch)) {}

    Expected<int> run();

private:
    Expected<void> prepare();
    ExpectedOr<void, NotStarted> start_all();
    ExpectedOr<void, NotStarted> start_rank(std::size_t number);
    ExpectedOr<Descriptor, NotStarted> open_stream(std::size_t number, Outlet& to);
    std::vector<std::string> command_of(const Rank& rank) const;

    void wait_for_all();
    void sleep() const;
    void turn();
    bool is_ending() const { return interrupted_ != 0 || kill_at_ != never || cut_at_ != never; }
    void on_signal(int signal);
    void pass_on(int signal);
    void reap_all();
    void on_end(Rank& rank, const siginfo_t& end);
    void signal_rank(const Rank& rank, int signal) const;
    void signal_all(int signal) const;
    void end_all();
    void kill_all();
    static void read_stream(Stream& stream);
    void finish_output();
    std::string name_of(const Rank& rank) const;
    bool is_remote() const { return !plan_.hosts.empty(); }
    Instant now() const { return clock_.now(); }

    const JobPlan& plan_;
    host::SteadyClock clock_;
    EndWatch watch_;
    Signals signals_;
    DescriptorLimit limit_;
    std::optional<RendezvousServer> server_;
    JobNames names_;
    Variables variables_;
    std::string folder_;
    std::vector<Rank> ranks_;
    std::size_t alive_ = 0;
    int code_ = 0;         // of the rank that failed first
    std::string failure_;  // not empty: the launcher itself failed
    int interrupted_ = 0;  // the signal by which the job was asked to end; 0: none
    Instant kill_at_ = never;
    Instant cut_at_ = never;  // when connections to other hosts are given up
    Outlet output_{STDOUT_FILENO};
    Outlet errors_{STDERR_FILENO};
    std::vector<Stream> streams_;
};

Expected<int> Job::run() {
    const auto ready = prepare();
    if (!ready) return tl::unexpected(ready.error());
    const auto started = start_all();
    if (!started) {
        kill_all();
        wait_for_all();
        const NotStarted& why = started.error();
        const std::string line = fmt::format("{}: {}", why.what, std::strerror(why.error));
        if (!why.is_program) return unexpected(line);
        plan_.report(line);
        return why.error == ENOENT ? exit_no_program : exit_not_run;
    }
    wait_for_all();
    finish_output();
    if (!failure_.empty()) return unexpected(failure_);
    return code_;
}

Expected<void> Job::prepare() {
    if (signals_.handle() < 0) return unexpected("the system has no descriptor for signals");
    constexpr std::size_t of_the_launcher = 32;
    const std::size_t of_a_rank = 1U + (is_remote() ? 1U : 0U) + (plan_.prefix ? 2U : 0U);
    const auto enough = limit_.raise_to(of_the_launcher + plan_.size * of_a_rank);
    if (!enough) return enough;
    names_ = {random_hex(8), random_hex(16), plan_.size, 0};
    const host::RendezvousTable::Config config{static_cast<std::uint32_t>(plan_.size),
                                               names_.token};
    auto server = RendezvousServer::open(config, is_remote() ? RendezvousServer::Reach::other_hosts
                                                             : RendezvousServer::Reach::this_host);
    if (!server) return tl::unexpected(server.error());
    server_.emplace(std::move(*server));
    names_.port = server_->port();
    if (is_remote()) {
        std::error_code error;
        folder_ = std::filesystem::current_path(error);
        if (error) return unexpected("the working folder: " + error.message());
        variables_ = own_variables();
    }
    // A stream keeps the address of its place, so the vectors must not grow.
    ranks_.reserve(plan_.size);
    streams_.reserve(2 * plan_.size);
    return {};
}

ExpectedOr<void, NotStarted> Job::start_all() {
    for (std::size_t number = 0; number < plan_.size; ++number) {
        const auto started = start_rank(number);
        if (!started) return started;
        turn();
        if (is_ending()) break;
    }
    return {};
}

std::vector<std::string> Job::command_of(const Rank& rank) const {
    if (!is_remote()) return plan_.program;
    Variables variables = variables_;
    for (auto& one : rank_variables(names_, rank.number, rank.host)) {
        std::erase_if(variables, [&](const auto& other) { return other.first == one.first; });
        variables.push_back(std::move(one));
    }
    return remote_command({.ssh = plan_.ssh,
                           .host = rank.host,
                           .folder = folder_,
                           .address = plan_.address,
                           .port = names_.port,
                           .variables = std::move(variables),
                           .program = plan_.program});
}

ExpectedOr<Descriptor, NotStarted> Job::open_stream(std::size_t number, Outlet& to) {
    Pipe pipe = Pipe::make();
    if (!pipe.is_open()) return tl::unexpected(NotStarted{"cannot make a pipe", errno, false});
    ::fcntl(pipe.from.handle(), F_SETFL, O_NONBLOCK);
    streams_.push_back({std::move(pipe.from), LineMarks(fmt::format("[{}] ", number)), &to});
    return std::move(pipe.to);
}

ExpectedOr<void, NotStarted> Job::start_rank(std::size_t number) {
    Rank rank{number, is_remote() ? plan_.hosts[number] : "", 0, {}};
    Start one;
    one.command = command_of(rank);
    one.before_exec = [this] {
        signals_.restore();
        limit_.restore();
        if (plan_.before_exec) plan_.before_exec();
    };
    Descriptor input;
    if (is_remote()) {
        Pipe pipe = Pipe::make();
        if (!pipe.is_open()) return tl::unexpected(NotStarted{"cannot make a pipe", errno, false});
        input = std::move(pipe.from);
        one.input = input.handle();
        rank.lifeline = std::move(pipe.to);
        const int lifeline = rank.lifeline.handle();
        ::fcntl(lifeline, F_SETFL, O_NONBLOCK);
        const std::string token = names_.token + "\n";
        WIREPROOF_CHECK(::write(lifeline, token.data(), token.size()) == ssize_t(token.size()));
    } else {
        one.watch = &watch_;
        one.variables = rank_variables(names_, number, "localhost");
        one.variables.emplace_back("WIREPROOF_TOKEN", names_.token);
        one.variables.emplace_back("WIREPROOF_RENDEZVOUS",
                                   fmt::format("127.0.0.1:{}", names_.port));
    }
    Descriptor output;
    Descriptor errors;
    if (plan_.prefix) {
        for (const auto& [to, end, outlet] : {std::tuple(&output, &one.output, &output_),
                                              std::tuple(&errors, &one.errors, &errors_)}) {
            auto opened = open_stream(number, *outlet);
            if (!opened) return tl::unexpected(opened.error());
            *to = std::move(*opened);
            *end = to->handle();
        }
    }
    const auto process = start(one);
    if (!process) return tl::unexpected(process.error());
    rank.process = *process;
    ranks_.push_back(std::move(rank));
    ++alive_;
    return {};
}

void Job::wait_for_all() {
    while (alive_ > 0) {
        sleep();
        turn();
    }
}

void Job::turn() {
    while (const int signal = signals_.next()) {
        if (signal == SIGCHLD) {
            reap_all();
        } else {
            on_signal(signal);
        }
    }
    server_->turn(now());
    for (Outlet* outlet : {&output_, &errors_}) outlet->write();
    for (Stream& stream : streams_) {
        if (stream.from.is_open() && stream.to->empty()) read_stream(stream);
    }
    if (kill_at_ <= now()) kill_all();
    if (cut_at_ > now()) return;
    for (Rank& rank : ranks_) {
        if (rank.process == 0) continue;
        ::kill(-rank.process, SIGKILL);
        rank.is_cut = is_remote();
    }
    cut_at_ = never;
}

void Job::sleep() const {
    std::vector<pollfd> wanted = {{.fd = signals_.handle(), .events = POLLIN, .revents = 0},
                                  {.fd = server_->handle(), .events = POLLIN, .revents = 0}};
    for (const Outlet* outlet : {&output_, &errors_}) {
        if (!outlet->empty()) {
            wanted.push_back({.fd = outlet->handle(), .events = POLLOUT, .revents = 0});
        }
    }
    for (const Stream& stream : streams_) {
        if (stream.from.is_open() && stream.to->empty()) {
            wanted.push_back({.fd = stream.from.handle(), .events = POLLIN, .revents = 0});
        }
    }
    const Instant next = earliest(kill_at_, cut_at_, server_->next_deadline());
    timespec left{};
    if (next != never) {
        const auto timeout = host::timeout_until(next, clock_).count();
        left = {timeout / 1'000'000'000, timeout % 1'000'000'000};
    }
    ::ppoll(wanted.data(), wanted.size(), next == never ? nullptr : &left, nullptr);
}

// The user sends SIGINT from a terminal, and can send it again. The sender of the other two may not
// come back, so the ranks have little time.
void Job::on_signal(int signal) {
    if (!ends_a_job(signal)) return pass_on(signal);
    if (interrupted_ != 0) return kill_all();
    interrupted_ = signal;
    signal_all(signal);
    if (signal != SIGINT) kill_at_ = earliest(kill_at_, now() + grace);
}

// A shell sees that the launcher has stopped, and continues it later with SIGCONT.
void Job::pass_on(int signal) {
    signal_all(signal);
    if (signal != SIGTSTP) return;
    ::raise(SIGSTOP);
    signal_all(SIGCONT);
}

void Job::reap_all() {
    while (true) {
        siginfo_t end{};
        if (::waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid == 0) return;
        const auto rank = std::find_if(ranks_.begin(), ranks_.end(),
                                       [&](const Rank& one) { return one.process == end.si_pid; });
        if (rank != ranks_.end()) {
            on_end(*rank, end);
        } else if (end.si_pid == watch_.process() && failure_.empty()) {
            failure_ = "the process that watches the job was ended";
            end_all();
        }
        siginfo_t ignored{};
        ::waitid(P_PID, static_cast<id_t>(end.si_pid), &ignored, WEXITED);
    }
}

// The process is not reaped yet, so its number still belongs to its group.
void Job::on_end(Rank& rank, const siginfo_t& end) {
    ::kill(-rank.process, SIGKILL);  // what the rank left behind
    if (!is_remote()) watch_.remove(rank.process);
    rank.process = 0;
    rank.lifeline.close();
    --alive_;
    server_->on_rank_ended(static_cast<std::uint32_t>(rank.number), now());
    const bool exited = end.si_code == CLD_EXITED;
    int code = exited ? end.si_status : exit_of_signal + end.si_status;
    // The connection of this rank was given up, however the rank ended. It was asked to end so.
    if (rank.is_cut && interrupted_ != 0) code = exit_of_signal + interrupted_;
    if (code == 0) return;
    if (code_ == 0) code_ = code;
    if (!is_ending()) {
        const std::string how = exited ? fmt::format("ended with exit code {}", code)
                                       : fmt::format("was ended by signal {} ({})", end.si_status,
                                                     ::strsignal(end.si_status));
        const bool others = !plan_.keep_going && alive_ > 0;
        plan_.report(
            fmt::format("{} {}{}", name_of(rank), how, others ? "; ending the others" : ""));
    }
    if (!plan_.keep_going) end_all();
}

std::string Job::name_of(const Rank& rank) const {
    if (!is_remote()) return fmt::format("rank {}", rank.number);
    return fmt::format("rank {} on {}", rank.number, rank.host);
}

void Job::signal_rank(const Rank& rank, int signal) const {
    if (rank.process == 0) return;
    if (!is_remote()) {
        ::kill(-rank.process, signal);
        return;
    }
    const std::string line = fmt::format("{}\n", ::sigabbrev_np(signal));
    // The pipe is full only if the other host takes nothing. The connection is cut later.
    if (::write(rank.lifeline.handle(), line.data(), line.size()) < 0) return;
}

void Job::signal_all(int signal) const {
    for (const Rank& rank : ranks_) signal_rank(rank, signal);
}

void Job::end_all() {
    if (kill_at_ != never || cut_at_ != never) return;
    signal_all(SIGTERM);
    signal_all(SIGCONT);  // a stopped process receives SIGTERM only after it continues
    kill_at_ = now() + grace;
}

void Job::kill_all() {
    signal_all(SIGKILL);
    kill_at_ = never;
    cut_at_ = now() + grace;
}

void Job::read_stream(Stream& stream) {
    std::array<char, 65'536> bytes;
    const ssize_t got = ::read(stream.from.handle(), bytes.data(), bytes.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0 && !stream.to->broken()) {
        stream.marks.pass({bytes.data(), static_cast<std::size_t>(got)}, stream.to->waiting());
    } else {
        // The end; or nobody reads the lines, and the rank finds that out by its next write.
        stream.marks.finish(stream.to->waiting());
        stream.from.close();
    }
    stream.to->write();
}

// All ranks have ended. What they wrote is in their pipes. A process that left its group may still
// write into a pipe, so this reads no more than a pipe holds.
void Job::finish_output() {
    constexpr int reads_max = 16;  // 1 MiB
    for (Stream& stream : streams_) {
        for (int i = 0; i < reads_max && stream.from.is_open(); ++i) read_stream(stream);
        stream.marks.finish(stream.to->waiting());
    }
    for (Outlet* outlet : {&output_, &errors_}) {
        while (!outlet->empty()) {
            std::array<pollfd, 2> wanted = {
                pollfd{.fd = outlet->handle(), .events = POLLOUT, .revents = 0},
                pollfd{.fd = signals_.handle(), .events = POLLIN, .revents = 0}};
            ::poll(wanted.data(), wanted.size(), -1);
            const int signal = signals_.next();
            if (ends_a_job(signal)) return;  // the user wants no more of it
            if (signal == SIGTSTP) ::raise(SIGSTOP);
            outlet->write();
        }
    }
}

}  // namespace

Expected<int> run_job(const JobPlan& plan) {
    const OutputFlags restored_at_the_end;
    auto watch = EndWatch::start();
    if (!watch) return tl::unexpected(watch.error());
    return Job(plan, std::move(*watch)).run();
}

}  // namespace wireproof::launch
