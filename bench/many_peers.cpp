// The cost of the peers that a process has in its list: resident memory, the time to open, a round
// trip with the only peer that lives, and a poll that finds nothing; then the rate with 1, 16 and
// 256 peers that live and are active at once. It uses UDP on loopback addresses. Each line of the
// output is measured in a new process, so that its memory is not mixed with that of others. The
// living peers are bare engines on sockets of their own, in another process: the measured process
// shares only processors with them. For the other addresses no socket exists.
//
//      cmake --preset release -DWIREPROOF_BENCH=ON
//      cmake --build --preset release --target many_peers
//      build/release/bench/many_peers [PEERS_MAX]
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/host/steady_clock.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::am {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint16_t ask = 1;
constexpr std::uint16_t answer = 2;
constexpr std::size_t in_flight = 8;  // requests to each active peer

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Resident memory of this process, in bytes.
double resident() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    WIREPROOF_CHECK(file != nullptr);
    long size = 0;
    long pages = 0;
    WIREPROOF_CHECK(std::fscanf(file, "%ld %ld", &size, &pages) == 2);
    std::fclose(file);
    return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// Puts the two processes of a line on different processors, if there are two.
void pin(unsigned processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor % static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN)), &set);
    (void)::sched_setaffinity(0, sizeof set, &set);
}

/// Each node has a loopback address of its own. All nodes of a run use one port.
std::string address_of(std::size_t node) {
    static const std::size_t port = 10'000 + static_cast<std::size_t>(::getpid()) % 20'000;
    return "127." + std::to_string(1 + node / 62'500) + "." + std::to_string(node / 250 % 250) +
           "." + std::to_string(1 + node % 250) + ":" + std::to_string(port);
}

Address parsed(std::size_t node) {
    return *Address::parse(address_of(node));
}

// The peers that live.

/// Replies to each request of node 0 with the same words.
class Echo {
public:
    explicit Echo(std::size_t node) : wire_(opened(node)), connection_(config(node), nothing_) {}

    void turn(Instant now) {
        pump(connection_, wire_, PeerId{0}, now, [this](const Delivery& delivery) {
            const auto* request = std::get_if<Request>(&delivery);
            if (request == nullptr) return;
            (void)connection_.reply(HandlerId{answer}, request->arguments);
        });
    }

private:
    static UdpWire opened(std::size_t node) {
        UdpWire::Config config;
        config.local = parsed(node);
        config.peers = {parsed(0)};
        config.frame_max = Config::ethernet().packet_max;
        config.batch = config.batch_most = 16;
        config.segments = false;
        auto wire = UdpWire::open(config);
        WIREPROOF_CHECK(wire);
        return std::move(*wire);
    }
    static Config config(std::size_t node) {
        Config config = Config::ethernet();
        config.node = static_cast<std::uint16_t>(node);
        config.peer = 0;
        config.seed = node + 1;
        return config;
    }

    UdpWire wire_;
    MemoryTable nothing_;
    Connection connection_;
};

[[noreturn]] void live(std::size_t peers, int ready) {
    pin(1);
    std::deque<Echo> echoes;
    for (std::size_t i = 1; i <= peers; ++i) echoes.emplace_back(i);
    WIREPROOF_CHECK(::write(ready, "", 1) == 1);
    const host::SteadyClock clock;
    while (true) {
        const Instant now = clock.now();
        for (Echo& echo : echoes) echo.turn(now);
    }
}

/// A number of living peers in a child process, which ends when this object ends.
class Living {
public:
    explicit Living(std::size_t peers) {
        std::array<int, 2> ready{};
        WIREPROOF_CHECK(::pipe(ready.data()) == 0);
        process_ = ::fork();
        WIREPROOF_CHECK(process_ >= 0);
        if (process_ == 0) child(peers, ready[1]);
        char byte = 0;
        ::close(ready[1]);
        WIREPROOF_CHECK(::read(ready[0], &byte, 1) == 1);
        ::close(ready[0]);
    }
    Living(const Living&) = delete;
    Living& operator=(const Living&) = delete;
    ~Living() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }

private:
    [[noreturn]] static void child(std::size_t peers, int ready) { live(peers, ready); }

    pid_t process_;
};

// The process with the long list of peers.

class Asker {
public:
    explicit Asker(std::size_t peers) : waiting_(peers + 1) {
        Options options;
        for (std::size_t i = 0; i <= peers; ++i) options.peers.push_back(address_of(i));
        const double before = resident();
        const auto begin = Clock::now();
        auto opened = Endpoint::open(options);
        open_seconds_ = seconds_since(begin);
        if (!opened) std::fprintf(stderr, "many_peers: %s\n", opened.error().c_str());
        WIREPROOF_CHECK(opened);
        endpoint_.emplace(std::move(*opened));
        (void)endpoint_->handle(answer, [this](const Message& message) {
            ++answers_;
            --waiting_[message.peer()];
        });
        bytes_ = resident() - before;
    }

    double open_seconds() const { return open_seconds_; }
    double bytes() const { return bytes_; }

    /// The median time of a single request and its reply.
    double round_trip() {
        std::vector<double> times;
        for (int i = 0; i < 5'000; ++i) {
            const auto begin = Clock::now();
            exchange();
            if (i >= 100) times.push_back(seconds_since(begin));
        }
        return median(std::move(times));
    }

    /// The time of polls that find nothing, after this node has met one peer.
    double idle_poll() {
        constexpr int polls = 20'000;
        std::vector<double> times;
        for (int round = 0; round < 9; ++round) {
            const auto begin = Clock::now();
            for (int i = 0; i < polls; ++i) (void)endpoint_->poll();
            times.push_back(seconds_since(begin) / polls);
        }
        return median(std::move(times));
    }

    /// Answered requests per second with the first `active` peers at once. The measurement starts
    /// after each peer has met this node and has its buffers, because making these can take some
    /// milliseconds.
    double rate(std::size_t active) {
        (void)stream(active, 2);
        return stream(active, 1);
    }
    /// Memory beyond that after opening.
    double more_bytes(double opened) const { return resident() - opened; }

private:
    double stream(std::size_t active, double seconds) {
        const std::uint64_t before = answers_;
        const auto begin = Clock::now();
        while (seconds_since(begin) < seconds) {
            for (std::size_t peer = 1; peer <= active; ++peer) {
                while (waiting_[peer] < in_flight &&
                       endpoint_->request(peer, ask, {1, 2}) == Status::ok) {
                    ++waiting_[peer];
                }
            }
            (void)endpoint_->poll();
        }
        const double rate = static_cast<double>(answers_ - before) / seconds_since(begin);
        (void)endpoint_->wait([this] { return endpoint_->idle(); }, std::chrono::seconds(5));
        return rate;
    }

    void exchange() {
        const std::uint64_t wanted = answers_ + 1;
        ++waiting_[1];
        WIREPROOF_CHECK(endpoint_->request(1, ask, {1, 2}) == Status::ok);
        WIREPROOF_CHECK(
            endpoint_->wait([&] { return answers_ >= wanted; }, std::chrono::seconds(10)));
    }

    std::vector<std::size_t> waiting_;  // answers, by peer
    std::uint64_t answers_ = 0;
    double open_seconds_ = 0;
    double bytes_ = 0;
    std::optional<Endpoint> endpoint_;
};

void told_of(std::size_t peers) {
    const Living living(1);
    Asker asker(peers);
    const double round_trip = asker.round_trip();
    std::printf("%8zu %12.2f %12.1f %12.1f %14.1f %12.0f\n", peers, asker.bytes() / (1 << 20),
                asker.bytes() / 1024 / static_cast<double>(peers), asker.open_seconds() * 1e3,
                round_trip * 1e6, asker.idle_poll() * 1e9);
}

void active_at_once(std::size_t peers, std::size_t active) {
    const Living living(active);
    const double before = resident();
    Asker asker(peers);
    const double rate = asker.rate(active);
    std::printf("%8zu %12zu %12.0f %12.1f\n", peers, active, rate / 1e3,
                asker.more_bytes(before) / (1 << 20));
}

/// Runs in a child process. Returns false if the child failed.
template <class Run>
bool apart(Run&& run) {
    std::fflush(stdout);
    const pid_t process = ::fork();
    WIREPROOF_CHECK(process >= 0);
    if (process == 0) {
        pin(0);
        run();
        std::fflush(stdout);
        std::_Exit(0);
    }
    int status = 0;
    WIREPROOF_CHECK(::waitpid(process, &status, 0) == process);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace
}  // namespace wireproof::am

int main(int argc, char** argv) {
    using namespace wireproof::am;
    (void)address_of(0);  // chooses the port in this process
    const std::size_t most = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000;
    bool well = true;
    std::printf("%8s %12s %12s %12s %14s %12s\n", "peers", "memory, MiB", "a peer, KiB", "open, ms",
                "round trip, us", "poll, ns");
    for (const std::size_t peers : std::array<std::size_t, 5>{1, 15, 255, 1'000, 10'000}) {
        if (peers <= most) well = apart([peers] { told_of(peers); }) && well;
    }
    std::printf("\n%8s %12s %12s %12s\n", "peers", "active", "k/s", "memory, MiB");
    for (const std::size_t peers : std::array<std::size_t, 3>{256, 1'000, 10'000}) {
        for (const std::size_t active : std::array<std::size_t, 3>{1, 16, 256}) {
            if (peers <= most) well = apart([=] { active_at_once(peers, active); }) && well;
        }
    }
    return well ? 0 : 1;
}
