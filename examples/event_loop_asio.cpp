// An Endpoint in a program that is built around asio: one thread, one io_context. asio waits for
// the Endpoint's descriptor and for its next deadline; the Endpoint never blocks.
#include <asio.hpp>
#include <wireproof/am.hpp>

#include <chrono>
#include <cstdio>

using namespace wireproof::am;

/// Polls an Endpoint whenever that is due. Outlives no run of the io_context.
class Pump {
public:
    Pump(asio::io_context& context, Endpoint& endpoint)
        : endpoint_(endpoint), readable_(context, endpoint.event_fd()), due_(context) {
        turn();
    }
    /// The descriptor is the Endpoint's, so asio must not close it.
    ~Pump() { readable_.release(); }
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    /// Call it also after the program has asked the Endpoint for something.
    void turn() {
        do {
            endpoint_.poll();
        } while (!endpoint_.arm());
        readable_.cancel();  // of the turn before
        readable_.async_wait(asio::posix::stream_descriptor::wait_read,
                             [this](const asio::error_code& error) {
                                 if (!error) turn();
                             });
        const auto timeout = endpoint_.next_timeout();
        if (timeout == std::chrono::nanoseconds::max()) {
            due_.cancel();
            return;
        }
        due_.expires_after(timeout);  // which ends the wait of the turn before
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

    // The program's own timer: a question every 20 ms.
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
