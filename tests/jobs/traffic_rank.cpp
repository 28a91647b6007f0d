// A rank that sends requests to all others until one of them is lost. The rank that the command
// line names kills itself amid the traffic.
//
// usage: traffic_rank RANK_THAT_DIES PEER_TIMEOUT_IN_MS
#include <signal.h>
#include <wireproof/am.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace wireproof::am;
using Clock = std::chrono::steady_clock;

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const auto dies = static_cast<std::size_t>(std::atoi(arguments[1]));
    Options options;
    options.peer_timeout = std::chrono::milliseconds(std::atoi(arguments[2]));
    auto node = Endpoint::join(options);
    if (!node) {
        std::fprintf(stderr, "traffic_rank: %s\n", node.error().c_str());
        return 1;
    }
    constexpr std::uint16_t ask = 1;
    constexpr std::uint16_t answer = 2;
    Clock::time_point turn = Clock::now();  // not later than what the node takes for its time
    std::vector<Clock::time_point> heard(node->nodes(), turn);
    std::vector<unsigned> answers(node->nodes());
    bool lost = false;
    node->handle(ask, [](const Message& m) { m.reply(answer); });
    node->handle(answer, [&](const Message& m) {
        heard[m.peer()] = turn;
        ++answers[m.peer()];
    });
    node->on_peer_lost([&](const PeerLost& peer) {
        const auto silence = Clock::now() - heard[peer.peer];
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silence).count();
        const char* const why = peer.why == PeerLost::Why::gone     ? "gone"
                                : peer.why == PeerLost::Why::silent ? "silent"
                                                                    : "otherwise";
        std::printf("rank %zu lost rank %zu after %lld ms: %s, %s\n", node->self(), peer.peer,
                    static_cast<long long>(ms), why,
                    name_of(node->counters(peer.peer).path).data());
        std::fflush(stdout);
        lost = lost || peer.peer == dies;
    });
    const auto all_answered = [&](unsigned wanted) {
        for (std::size_t peer = 0; peer < node->nodes(); ++peer) {
            if (peer != node->self() && answers[peer] < wanted) return false;
        }
        return true;
    };
    const auto end = Clock::now() + std::chrono::seconds(240);  // only catches a hang
    while (!lost && Clock::now() < end) {
        if (node->self() == dies && all_answered(100)) ::raise(SIGKILL);
        for (std::size_t peer = 0; peer < node->nodes(); ++peer) {
            if (peer != node->self()) (void)node->request(peer, ask);
        }
        turn = Clock::now();
        node->wait([&] { return lost; }, std::chrono::milliseconds(1));
    }
    // The others may still need answers of this rank.
    node->wait([] { return false; }, options.peer_timeout);
    return lost ? 0 : 3;
}
