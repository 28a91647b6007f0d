// A program whose counters are known, for the tests of `wireproof stat`. It prints "open" and then
// obeys the lines of its standard input until that ends.
//
//   counted_program pair            two Endpoints on UDP. "send N": node 0 sends N requests, waits
//                                   until all have arrived, and prints "sent"
//   counted_program quiet           the same with Options::publish_counters = false
//   counted_program peers N         an Endpoint that has begun to send to N peers that do not exist
//   counted_program device ADDRESS  a Device with one queue pair
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/ib.hpp"

namespace {

using namespace wireproof;

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "counted_program: %s\n", why.c_str());
    std::exit(1);
}

template <class T>
T opened(Result<T> result) {
    if (!result) fail(result.error());
    return std::move(*result);
}

void say(const char* line) {
    std::puts(line);
    std::fflush(stdout);
}

/// Copies the counters, as before a sleep, however busy the machine is.
template <class T>
void show_counters(T& node) {
    for (int i = 0; i < 1000 && !node.arm(); ++i) node.poll();
}

void wait_for_the_end() {
    say("open");
    for (std::string line; std::getline(std::cin, line);) {
    }
}

int run_pair(bool publish) {
    am::Options options;
    options.publish_counters = publish;
    options.peers = {"127.0.0.1:0", ""};
    am::Endpoint sender = opened(am::Endpoint::open(options));
    options.peers = {sender.local_address(), "127.0.0.1:0"};
    options.self = 1;
    am::Endpoint receiver = opened(am::Endpoint::open(options));
    if (!sender.set_peer_address(1, receiver.local_address())) fail("no address");
    std::size_t arrived = 0;
    receiver.handle(1, [&](const am::Message&) { ++arrived; });
    say("open");
    for (std::string word; std::cin >> word;) {
        std::size_t count = 0;
        if (word != "send" || !(std::cin >> count)) fail("not a command");
        const std::size_t end = arrived + count;
        for (std::size_t posted = 0; arrived < end;) {
            if (posted < count && sender.request(1, 1) == am::Status::ok) ++posted;
            sender.poll();
            receiver.poll();
        }
        while (!sender.idle() || !receiver.idle()) {
            sender.poll();
            receiver.poll();
        }
        show_counters(sender);
        show_counters(receiver);
        say("sent");
    }
    return 0;
}

int run_peers(std::size_t count) {
    am::Options options;
    options.active_peers = count;
    options.peers = {"127.0.0.1:0"};
    for (std::size_t i = 0; i < count; ++i) {
        // Nobody is there: 127.1.0.0/16 is this host, and port 9 is not in use.
        options.peers.push_back("127.1." + std::to_string(i / 250) + "." +
                                std::to_string(i % 250 + 1) + ":9");
    }
    am::Endpoint endpoint = opened(am::Endpoint::open(options));
    for (std::size_t peer = 1; peer <= count; ++peer) {
        if (endpoint.request(peer, 1) != am::Status::ok) fail("no request");
    }
    const auto all_called = [&] {
        for (std::size_t peer = 1; peer <= count; ++peer) {
            if (endpoint.counters(peer).hellos == 0) return false;
        }
        return true;
    };
    endpoint.wait(all_called, std::chrono::minutes(4));  // only catches a hang
    // The counters of many peers are copied each 50 ms.
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    endpoint.poll();
    wait_for_the_end();
    return 0;
}

int run_device(const std::string& address) {
    ib::DeviceOptions options;
    options.address = address;
    ib::Device device = opened(ib::Device::open(options));
    const ib::ProtectionDomain domain(device);
    const ib::CompletionQueue queue(device, 16);
    const auto pair = opened(ib::QueuePair::create(domain, queue, queue));
    show_counters(device);
    wait_for_the_end();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "pair" || what == "quiet") return run_pair(what == "pair");
    if (what == "peers" && argc == 3) return run_peers(std::strtoul(argv[2], nullptr, 10));
    if (what == "device" && argc == 3) return run_device(argv[2]);
    fail("pair, quiet, peers N or device ADDRESS");
}
