// Two nodes in one program: node 0 sends requests and node 1 replies. They use UDP on the loopback
// interface, and one frame in ten is lost on purpose.
#include <wireproof/am.hpp>

#include <cstdio>

using namespace wireproof::am;

int main() {
    Options options;
    options.peers = {"127.0.0.1:7400", "127.0.0.1:7401"};
    options.faults.loss = 0.1;
    auto asker = Endpoint::open(options);
    options.self = 1;
    auto answerer = Endpoint::open(options);
    if (!asker || !answerer) {
        std::fprintf(stderr, "hello_am: %s\n", (asker ? answerer : asker).error().c_str());
        return 1;
    }

    constexpr std::uint16_t square = 1;
    constexpr std::uint16_t answer = 2;
    answerer->handle(square, [](const Message& m) {
        m.reply(answer, {m.words()[0], m.words()[0] * m.words()[0]});
    });
    unsigned answers = 0;
    asker->handle(answer, [&](const Message& m) {
        std::printf("%u squared is %u\n", m.words()[0], m.words()[1]);
        ++answers;
    });

    for (unsigned n = 1; n <= 5; ++n) {
        if (asker->request(1, square, {n}) != Status::ok) return 1;
    }
    while (answers < 5) {
        asker->poll();
        answerer->poll();
    }
}
