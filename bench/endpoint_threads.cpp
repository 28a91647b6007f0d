// The rate of messages of a program whose threads have Endpoints of their own. Each thread has two
// that exchange requests and replies, so the threads share nothing but the library and the machine.
//
// usage: endpoint_threads [SECONDS]
#include <unistd.h>
#include <wireproof/am.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace wireproof::am;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint16_t ask = 1;
constexpr std::uint16_t answer = 2;

/// One pair of Endpoints in one thread. Returns the number of answers.
std::uint64_t converse(const std::vector<std::string>& peers, const std::atomic<bool>& stop) {
    Options options;
    options.peers = peers;
    auto asker = Endpoint::open(options);
    if (asker && peers[1].empty()) options.peers = {asker->local_address(), peers[0]};
    options.self = 1;
    auto answerer = Endpoint::open(options);
    if (!asker || !answerer) {
        std::fprintf(stderr, "endpoint_threads: %s\n", (asker ? answerer : asker).error().c_str());
        std::exit(1);
    }
    if (peers[1].empty()) (void)asker->set_peer_address(1, answerer->local_address());
    std::uint64_t answers = 0;
    answerer->handle(ask, [](const Message& m) { m.reply(answer, {m.words()[0]}); });
    asker->handle(answer, [&](const Message&) { ++answers; });
    while (!stop) {
        for (std::uint32_t i = 0; i < 16; ++i) (void)asker->request(1, ask, {i});
        answerer->poll();
        asker->poll();
    }
    return answers;
}

double rate(bool shm, unsigned threads, double seconds) {
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> answers = 0;
    std::vector<std::thread> running;
    const auto begun = Clock::now();
    for (unsigned i = 0; i < threads; ++i) {
        const std::string name =
            "shm:threads-" + std::to_string(::getpid()) + "-" + std::to_string(i);
        const std::vector<std::string> peers =
            shm ? std::vector<std::string>(2, name) : std::vector<std::string>{"127.0.0.1:0", ""};
        running.emplace_back([&, peers] { answers += converse(peers, stop); });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    for (std::thread& thread : running) thread.join();
    const std::chrono::duration<double> took = Clock::now() - begun;
    return static_cast<double>(answers) / took.count();
}

}  // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 1;
    std::printf("%-14s %16s %16s %8s\n", "wire", "1 thread", "2 threads", "ratio");
    for (const bool shm : {true, false}) {
        const double one = rate(shm, 1, seconds);
        const double two = rate(shm, 2, seconds);
        std::printf("%-14s %14.0f/s %14.0f/s %8.2f\n", shm ? "shared memory" : "udp", one, two,
                    two / one);
    }
}
