// Each process of a job greets each other process. The launcher says which processes there are:
//
//     wireproof launch -n 4 -- hello_job
//     mpirun -n 4 hello_job
//     srun -n 4 --mpi=pmix hello_job
#include <wireproof/am.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

using namespace wireproof::am;

int main() {
    constexpr std::chrono::minutes patience(2);  // a rank may get no processor for a while
    Options options;
    options.peer_timeout = patience;
    auto node = Endpoint::join(options, patience);
    if (!node) {
        std::fprintf(stderr, "hello_job: %s\n", node.error().c_str());
        return 1;
    }
    constexpr std::uint16_t greeting = 1;
    constexpr std::uint16_t answer = 2;
    // Of each peer, this rank wants a greeting and an answer. After that the peer may end.
    std::vector<int> wanted(node->nodes(), 2);
    wanted[node->self()] = 0;
    bool lost = false;
    node->handle(greeting, [&](const Message& m) {
        --wanted[m.peer()];
        m.reply(answer);
    });
    node->handle(answer, [&](const Message& m) { --wanted[m.peer()]; });
    node->on_peer_lost([&](const PeerLost& peer) {
        if (wanted[peer.peer] == 0) return;
        std::fprintf(stderr, "rank %zu: %s\n", node->self(), peer.message().c_str());
        lost = true;
    });

    for (std::size_t peer = 0; peer < node->nodes(); ++peer) {
        if (peer == node->self()) continue;
        while (node->request(peer, greeting) == Status::would_block) node->poll();
    }
    node->wait([&] {
        return lost || std::all_of(wanted.begin(), wanted.end(), [](int n) { return n == 0; });
    });
    if (lost) return 1;

    for (std::size_t peer = 0; peer < node->nodes(); ++peer) {
        if (peer == node->self()) continue;
        const PeerCounters counters = node->counters(peer);
        std::printf("rank %zu of %zu greeted rank %zu: %s\n", node->self(), node->nodes(), peer,
                    name_of(counters.path).data());
    }
    node->close(patience);  // until the others have this rank's last messages
}
