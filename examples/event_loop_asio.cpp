// Endpoints and Devices in a program that uses asio, with one thread and one io_context. asio waits
// for the descriptor of each of them and for its next deadline. No call blocks.
#include <asio.hpp>
#include <wireproof/am.hpp>
#include <wireproof/ib.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace am = wireproof::am;
namespace ib = wireproof::ib;

namespace {

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "event_loop_asio: %s\n", why.c_str());
    std::exit(1);
}

template <class T>
T opened(wireproof::Result<T> result) {
    if (!result) fail(result.error());
    return std::move(*result);
}

/// Polls an Endpoint or a Device when it is due. `polled` must outlive the Pump. The io_context
/// must not run after the Pump is destroyed.
template <class Polled>
class Pump {
public:
    /// `on_turn` runs after each turn that asio has started.
    Pump(
        asio::io_context& context, Polled& polled, std::function<void()> on_turn = [] {})
        : polled_(polled),
          on_turn_(std::move(on_turn)),
          readable_(context, polled.event_fd()),
          due_(context) {
        turn();
    }
    /// `polled` owns the descriptor, so asio must not close it.
    ~Pump() { readable_.release(); }
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    /// Call this also after each call with which the program gives work to `polled`.
    void turn() {
        do {
            polled_.poll();
        } while (!polled_.arm());
        readable_.cancel();  // ends the wait of the last turn
        readable_.async_wait(asio::posix::stream_descriptor::wait_read,
                             [this](const asio::error_code& error) { wake_up(error); });
        const auto timeout = polled_.next_timeout();
        if (timeout == std::chrono::nanoseconds::max()) {
            due_.cancel();
            return;
        }
        due_.expires_after(timeout);  // also ends the wait of the last turn
        due_.async_wait([this](const asio::error_code& error) { wake_up(error); });
    }
    unsigned wake_ups() const { return wake_ups_; }

private:
    void wake_up(const asio::error_code& error) {
        if (error) return;
        ++wake_ups_;
        turn();
        on_turn_();
    }

    Polled& polled_;
    std::function<void()> on_turn_;
    asio::posix::stream_descriptor readable_;
    asio::steady_timer due_;
    unsigned wake_ups_ = 0;
};

/// One side of a reliable connection.
struct Side {
    explicit Side(const std::string& address)
        : device(opened(ib::Device::open({.address = address}))),
          domain(device),
          completions(device, 16),
          pair(opened(ib::QueuePair::create(domain, completions, completions))) {}

    ib::Device device;
    ib::ProtectionDomain domain;
    ib::CompletionQueue completions;
    ib::QueuePair pair;
};

}  // namespace

int main() {
    am::Options options;
    options.peers = {"127.0.0.1:0", ""};
    am::Endpoint asker = opened(am::Endpoint::open(options));
    options.peers = {"", "127.0.0.1:0"};
    options.self = 1;
    am::Endpoint answerer = opened(am::Endpoint::open(options));
    if (!asker.set_peer_address(1, answerer.local_address()) ||
        !answerer.set_peer_address(0, asker.local_address())) {
        fail("an address is refused");
    }
    constexpr std::uint16_t ask = 1;
    constexpr std::uint16_t answer = 2;
    answerer.handle(ask, [](const am::Message& m) { m.reply(answer, {m.words()[0] + 1}); });
    asker.handle(answer, [](const am::Message& m) { std::printf("answer %u\n", m.words()[0]); });

    Side sender("127.71.3.1");
    Side receiver("127.71.3.2");
    if (sender.pair.connect(receiver.pair.contact()) != ib::Status::ok ||
        receiver.pair.connect(sender.pair.contact()) != ib::Status::ok) {
        fail("no connection");
    }

    asio::io_context context;
    Pump asking(context, asker);
    Pump answering(context, answerer);
    Pump sending(context, sender.device);
    Pump receiving(context, receiver.device, [&] {
        while (const auto done = receiver.completions.poll()) {
            std::printf("received %u\n", done->immediate.value_or(0));
        }
    });

    // A timer of the program: every 20 ms it sends a request and an InfiniBand message.
    asio::steady_timer ticks(context);
    unsigned tick = 0;
    const std::function<void(const asio::error_code&)> on_tick = [&](const asio::error_code&) {
        if (++tick > 3) return context.stop();
        const bool sent = asker.request(1, ask, {10 * tick}) == am::Status::ok &&
                          receiver.pair.post_receive(tick, ib::Piece()) == ib::Status::ok &&
                          sender.pair.send(tick, ib::Piece(), tick) == ib::Status::ok;
        if (!sent) fail("cannot send");
        asking.turn();
        sending.turn();
        ticks.expires_after(std::chrono::milliseconds(20));
        ticks.async_wait(on_tick);
    };
    on_tick({});
    context.run();
    const unsigned wake_ups =
        asking.wake_ups() + answering.wake_ups() + sending.wake_ups() + receiving.wake_ups();
    std::printf("woke up %u times\n", wake_ups);
}
