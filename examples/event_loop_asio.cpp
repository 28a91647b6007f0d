// An Endpoint in a program that uses asio, with one thread and one io_context. asio waits for the
// descriptor of the Endpoint and for its next deadline. The Endpoint never blocks.
#include <asio.hpp>
#include <wireproof/am.hpp>

#include <chrono>
#include <cstdio>

using namespace wireproof::am;

/// Polls an Endpoint when it is due. The Endpoint must outlive the Pump. The io_context must not
/// run after the Pump is destroyed.
class Pump {
public:
    Pump(asio::io_context& context, Endpoint& endpoint)
        : endpoint_(endpoint), readable_(context, endpoint.event_fd()), due_(context) {
        turn();
    }
    /// The Endpoint owns the descriptor, so asio must not close it.
    ~Pump() { readable_.release(); }
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    /// Call this also after each call with which the program gives work to the Endpoint.
    void turn() {
        do {
            endpoint_.poll();
        } while (!endpoint_.arm());
        readable_.cancel();  // ends the wait of the last turn
        readable_.async_wait(asio::posix::stream_descriptor::wait_read,
                             [this](const asio::error_code& error) {
                                 if (!error) turn();
                             });
        const auto timeout = endpoint_.next_timeout();
        if (timeout == std::chrono::nanoseconds::max()) {
            due_.cancel();
            return;
        }
        due_.expires_after(timeout);  // also ends the wait of the last turn
        due_.async_wait([this](const asio::error_code& error) {
            if (!error) turn();
        });
    }

private:
    Endpoint& endpoint_;
    asio::posix::stream_descriptor readable_;
    asio::steady_timer due_;
};

int main() {
    Options options;
    options.peers = {"127.0.0.1:0", ""};
    auto asker = Endpoint::open(options);
    options.peers = {"", "127.0.0.1:0"};
    options.self = 1;
    auto answerer = Endpoint::open(options);
    if (!asker || !answerer) {
        std::fprintf(stderr, "event_loop_asio: %s\n", (asker ? answerer : asker).error().c_str());
        return 1;
    }
    if (!asker->set_peer_address(1, answerer->local_address()) ||
        !answerer->set_peer_address(0, asker->local_address())) {
        return 1;
    }

    asio::io_context context;
    Pump asking(context, *asker);
    Pump answering(context, *answerer);
    constexpr std::uint16_t ask = 1;
    constexpr std::uint16_t answer = 2;
    answerer->handle(ask, [](const Message& m) { m.reply(answer, {m.words()[0] + 1}); });
    asker->handle(answer, [](const Message& m) { std::printf("answer %u\n", m.words()[0]); });

    // A timer of the program: it sends a request every 20 ms.
    asio::steady_timer ticks(context);
    unsigned tick = 0;
    const std::function<void(const asio::error_code&)> on_tick = [&](const asio::error_code&) {
        if (++tick > 3) return context.stop();
        if (asker->request(1, ask, {10 * tick}) != Status::ok) return context.stop();
        asking.turn();
        ticks.expires_after(std::chrono::milliseconds(20));
        ticks.async_wait(on_tick);
    };
    on_tick({});
    context.run();
    return tick > 3 ? 0 : 1;
}
