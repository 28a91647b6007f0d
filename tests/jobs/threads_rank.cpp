// A process of a job with an Endpoint for each of its threads. Each thread greets the nodes of all
// threads of all processes.
//
// usage: threads_rank THREADS
#include <wireproof/am.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

using namespace wireproof::am;

namespace {

constexpr std::uint16_t greeting = 1;
constexpr std::uint16_t answer = 2;
constexpr std::chrono::minutes patience(2);  // only ends a job that hangs

/// True: this node greeted each other node, and each other node greeted it.
bool greet_all(Endpoint& node) {
    std::vector<int> wanted(node.nodes(), 2);
    wanted[node.self()] = 0;
    bool lost = false;
    node.handle(greeting, [&](const Message& m) {
        --wanted[m.peer()];
        m.reply(answer);
    });
    node.handle(answer, [&](const Message& m) { --wanted[m.peer()]; });
    node.on_peer_lost([&](const PeerLost& peer) { lost = lost || wanted[peer.peer] != 0; });
    for (std::size_t peer = 0; peer < node.nodes(); ++peer) {
        if (peer == node.self()) continue;
        while (node.request(peer, greeting) == Status::would_block) node.poll();
    }
    node.wait([&] {
        return lost || std::all_of(wanted.begin(), wanted.end(), [](int n) { return n == 0; });
    });
    return !lost;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const auto threads = static_cast<std::size_t>(std::atoi(arguments[1]));
    auto nodes = Endpoint::join_threads(threads);
    if (!nodes) {
        std::fprintf(stderr, "threads_rank: %s\n", nodes.error().c_str());
        return 1;
    }
    const auto again = Endpoint::join();
    std::mutex output;
    std::atomic<bool> failed = static_cast<bool>(again);
    std::vector<std::thread> running;
    for (Endpoint& node : *nodes) {
        running.emplace_back([&] {
            const bool greeted = greet_all(node);
            {
                const std::lock_guard lock(output);
                for (std::size_t peer = 0; peer < node.nodes(); ++peer) {
                    if (peer == node.self()) continue;
                    std::printf("rank %zu of %zu greeted rank %zu: %s\n", node.self(), node.nodes(),
                                peer, name_of(node.counters(peer).path).data());
                }
            }
            if (!greeted || node.close(patience) != Status::ok) failed = true;
        });
    }
    for (std::thread& thread : running) thread.join();
    return failed ? 1 : 0;
}
