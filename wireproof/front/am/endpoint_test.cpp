// Endpoints on UDP sockets of this machine and in real time. No test asks how fast something is,
// only that it comes before a generous limit.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "wireproof/am.hpp"
#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using test::pattern;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint16_t ask = 1;
constexpr std::uint16_t answer = 2;
constexpr std::uint16_t stored = 3;
constexpr milliseconds patience{30'000};

/// A plain socket on a port of the kernel's choice.
class RawSocket {
public:
    RawSocket() : handle_(::socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in local = loopback(0);
        socklen_t length = sizeof local;
        sockaddr& any = reinterpret_cast<sockaddr&>(local);
        WIREPROOF_CHECK(::bind(handle_, &any, length) == 0);
        WIREPROOF_CHECK(::getsockname(handle_, &any, &length) == 0);
        port_ = ntohs(local.sin_port);
    }
    RawSocket(const RawSocket&) = delete;
    RawSocket& operator=(const RawSocket&) = delete;
    ~RawSocket() { ::close(handle_); }

    std::uint16_t port() const { return port_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    void send(const RawSocket& to, ConstBytes bytes) const { send(to.port(), bytes); }
    void send(std::uint16_t to, ConstBytes bytes) const {
        sockaddr_in there = loopback(to);
        const auto sent = ::sendto(handle_, bytes.data(), bytes.size(), 0,
                                   reinterpret_cast<sockaddr*>(&there), sizeof there);
        ASSERT_EQ(sent, static_cast<ssize_t>(bytes.size()));
    }

private:
    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }

    int handle_;
    std::uint16_t port_ = 0;
};

/// Addresses that were free a moment ago, all different.
std::vector<std::string> free_addresses(std::size_t count) {
    std::vector<RawSocket> sockets(count);
    std::vector<std::string> addresses;
    for (const RawSocket& socket : sockets) addresses.push_back(socket.address());
    return addresses;
}

Options options_for(std::size_t nodes) {
    Options options;
    options.peers = free_addresses(nodes);
    options.seed = 1;
    return options;
}

Endpoint open(Options options, std::size_t self, std::uint64_t seed = 0) {
    options.self = self;
    options.seed = seed != 0 ? seed : options.seed + self;
    auto opened = Endpoint::open(options);
    if (!opened) ADD_FAILURE() << opened.error();
    WIREPROOF_CHECK(static_cast<bool>(opened));
    return std::move(*opened);
}

/// Turns endpoints of one thread until `done`, or too late.
template <class Done>
[[nodiscard]] bool run(std::initializer_list<Endpoint*> endpoints, Done&& done) {
    const auto end = Clock::now() + patience;
    while (!done()) {
        if (Clock::now() > end) return false;
        std::size_t handled = 0;
        for (Endpoint* endpoint : endpoints) handled += endpoint->poll();
        if (handled == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
}

[[nodiscard]] bool settle(Endpoint& a, Endpoint& b) {
    return run({&a, &b}, [&] { return a.idle() && b.idle(); });
}

/// An endpoint that a thread of its own serves. It is that thread's until stop().
class Served {
public:
    explicit Served(Endpoint served) : endpoint(std::move(served)) {}
    ~Served() { stop(); }

    void start() {
        thread_ = std::thread([this] {
            while (!stop_) endpoint.wait([this] { return stop_.load(); }, milliseconds(20));
        });
    }
    void stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }

    Endpoint endpoint;

private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

Handler echo() {
    return [](const Message& m) { EXPECT_EQ(m.reply(answer, {m.words()[0]}), Status::ok); };
}

std::uint64_t received(const Endpoint& endpoint, RxVerdict verdict, std::size_t peer = 1) {
    return endpoint.counters(peer).received[static_cast<std::size_t>(verdict)];
}

TEST(AmEndpoint, CarriesRequestsRepliesStoresAndGets) {
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    EXPECT_EQ(a.self(), 0U);
    EXPECT_EQ(b.self(), 1U);
    EXPECT_EQ(b.nodes(), 2U);
    EXPECT_EQ(a.words_max(), 356U);
    std::vector<std::byte> memory(50'000);
    auto address = b.register_memory(0, memory, {.get = true, .store = true});
    ASSERT_TRUE(address);
    const auto again = b.register_memory(0, std::span(memory).first(10), {});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error(), "memory overlaps what is registered for peer 0");
    EXPECT_EQ(b.register_memory(1, memory, {}).error(), "no peer 1");

    b.handle(ask, echo());
    std::uint32_t argument = 0;
    b.handle(stored, [&](const Message& m) { argument = m.argument(); });
    std::uint32_t answered = 0;
    a.handle(answer, [&](const Message& m) { answered = m.words()[0]; });
    const auto source = pattern(50'000);
    std::vector<std::byte> destination(50'000);
    ASSERT_EQ(a.request(1, ask, {17}), Status::ok);
    ASSERT_EQ(a.store_async(1, *address, source, stored, 23, nullptr), Status::ok);
    ASSERT_EQ(a.get(1, *address, destination, nullptr), Status::ok);
    ASSERT_TRUE(settle(a, b));
    EXPECT_EQ(answered, 17U);
    EXPECT_EQ(argument, 23U);
    EXPECT_EQ(memory, source);
    EXPECT_EQ(destination.size(), source.size());
    EXPECT_EQ(b.unregister_memory(0, *address), Status::ok);
}

// Whose path is shared asks how much of a long store has come; a loopback peer's is not.
TEST(AmEndpoint, ControlsCongestionWhereItIsToldButNotOfItselfOnLoopback) {
    for (const auto wanted : {CongestionControl::between_hosts, CongestionControl::always}) {
        Options options = options_for(2);
        options.congestion_control = wanted;
        Endpoint a = open(options, 0);
        Endpoint b = open(options, 1);
        std::vector<std::byte> memory(500'000);
        const auto source = pattern(memory.size(), 1);
        auto address = b.register_memory(0, memory, {.store = true});
        ASSERT_TRUE(address);
        std::size_t ended = 0;
        b.handle(stored, [](const Message&) {});
        ASSERT_EQ(a.store_async(1, *address, source, stored, 0, [&](Status) { ++ended; }),
                  Status::ok);
        ASSERT_TRUE(run({&a, &b}, [&] { return ended == 1; }));
        EXPECT_EQ(memory, source);
        const PeerCounters counters = a.counters(1);
        EXPECT_EQ(counters.keepalives > counters.timeouts + 5, wanted == CongestionControl::always);
    }
}

TEST(AmEndpoint, DeliversExactlyOnceAndInOrderWithFaultsOfEveryKind) {  // AM-15
    Options options = options_for(2);
    options.faults = {.loss = 0.2, .bit_error = 2e-5, .duplicate = 0.2, .reorder = 0.2};
    Endpoint ends[2] = {open(options, 0), open(options, 1)};
    constexpr std::uint32_t wanted = 1'000;
    std::array<std::uint32_t, 2> posted{};
    std::array<std::uint32_t, 2> asked{};
    std::array<std::uint32_t, 2> answered{};
    std::array<std::vector<std::byte>, 2> memory{std::vector<std::byte>(200'000),
                                                 std::vector<std::byte>(200'000)};
    const std::array<std::vector<std::byte>, 2> source{pattern(200'000, 1), pattern(200'000, 2)};
    std::array<int, 2> stores{};
    for (std::size_t i = 0; i < 2; ++i) {
        Endpoint& end = ends[i];
        end.handle(ask, [&, i](const Message& m) {
            EXPECT_EQ(m.words()[0], asked[i]++);
            EXPECT_EQ(m.reply(answer, {m.words()[0]}), Status::ok);
        });
        end.handle(answer, [&, i](const Message& m) { EXPECT_EQ(m.words()[0], answered[i]++); });
        end.handle(stored, [&, i](const Message&) {
            ++stores[i];
            EXPECT_EQ(memory[i], source[1 - i]);
        });
        end.on_peer_lost([](const PeerLost&) { ADD_FAILURE() << "lost a living peer"; });
        auto address = end.register_memory(1 - i, memory[i], {.store = true});
        ASSERT_TRUE(address);
        ASSERT_EQ(ends[1 - i].store_async(i, *address, source[1 - i], stored, 0, nullptr),
                  Status::ok);
    }
    ASSERT_TRUE(run({&ends[0], &ends[1]}, [&] {
        for (std::size_t i = 0; i < 2; ++i) {
            if (posted[i] < wanted && ends[i].request(1 - i, ask, {posted[i]}) == Status::ok) {
                ++posted[i];
            }
        }
        return posted == std::array{wanted, wanted} && ends[0].idle() && ends[1].idle();
    }));
    EXPECT_EQ(asked, (std::array{wanted, wanted}));
    EXPECT_EQ(answered, (std::array{wanted, wanted}));
    EXPECT_EQ(stores, (std::array{1, 1}));
    EXPECT_GT(received(ends[0], RxVerdict::corrupt), 0U);
    EXPECT_GT(received(ends[0], RxVerdict::duplicate), 0U);
    EXPECT_GT(ends[0].counters(1).resent, 0U);
}

TEST(AmEndpoint, AStoredSourceMayBeOverwrittenAtOnce) {  // AM-25
    Options options = options_for(2);
    options.faults.loss = 0.2;
    Endpoint a = open(options, 0);
    Served b(open(options, 1));
    constexpr std::size_t size = 20'000;
    std::vector<std::byte> memory(10 * size);
    auto address = b.endpoint.register_memory(0, memory, {.store = true});
    ASSERT_TRUE(address);
    std::uint32_t arrived = 0;
    b.endpoint.handle(stored, [&](const Message& m) { EXPECT_EQ(m.argument(), arrived++); });
    b.start();
    std::vector<std::byte> source(size);
    for (std::uint32_t i = 0; i < 10; ++i) {
        const auto bytes = pattern(size, i);
        std::copy(bytes.begin(), bytes.end(), source.begin());
        ASSERT_EQ(a.store(1, *address + i * size, source, stored, i), Status::ok);
        std::fill(source.begin(), source.end(), std::byte{0xEE});
    }
    ASSERT_TRUE(a.wait([&] { return a.idle(); }, patience));
    EXPECT_EQ(a.store(1, *address + 1, memory, stored), Status::forbidden);  // AM-47
    EXPECT_EQ(a.store(1, *address, source, 0), Status::not_allowed);
    EXPECT_EQ(a.store(0, *address, source, stored), Status::no_such_peer);
    b.stop();
    EXPECT_EQ(arrived, 10U);
    for (std::uint32_t i = 0; i < 10; ++i) {
        const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(i * size);
        EXPECT_EQ(std::vector<std::byte>(begin, begin + size), pattern(size, i));
    }
}

TEST(AmEndpoint, AStoreReturnsAtOnceWhenItsPeerIsLost) {
    Options options = options_for(2);
    options.peer_timeout = milliseconds(100);
    Endpoint a = open(options, 0);
    const auto source = pattern(10);
    EXPECT_EQ(a.store(1, 0, source, stored), Status::peer_lost);
}

TEST(AmEndpoint, NeverBlocksInsideACallback) {
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    std::vector<Status> statuses;
    const auto source = pattern(10);
    const auto try_to_block = [&](Endpoint& endpoint) {
        statuses.push_back(endpoint.store(1 - endpoint.self(), 0, source, stored));
        EXPECT_FALSE(endpoint.wait([] { return false; }));
        EXPECT_TRUE(endpoint.wait([] { return true; }));
    };
    b.handle(ask, [&](const Message&) { try_to_block(b); });
    ASSERT_EQ(a.request(1, ask), Status::ok);
    ASSERT_EQ(a.get(1, 0, {}, [&](Status) { try_to_block(a); }), Status::ok);
    ASSERT_TRUE(settle(a, b));
    EXPECT_EQ(statuses, std::vector<Status>(2, Status::not_allowed));
}

TEST(AmEndpoint, WaitReturnsOnItsConditionOrAtItsLimit) {
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    int asked = 0;
    const auto begun = Clock::now();
    EXPECT_FALSE(a.wait([&] { return ++asked < 0; }, milliseconds(200)));
    EXPECT_GE(Clock::now() - begun, milliseconds(200));
    EXPECT_LT(asked, 20) << "it sleeps where nothing is due";
    EXPECT_TRUE(a.wait([] { return true; }, milliseconds(0)));
    EXPECT_FALSE(a.wait([] { return false; }, milliseconds(0)));
    EXPECT_FALSE(a.wait([] { return false; }, milliseconds(-5)));

    Served b(open(options, 1));
    b.endpoint.handle(ask, echo());
    b.start();
    bool answered = false;
    a.handle(answer, [&](const Message&) { answered = true; });
    ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
    EXPECT_TRUE(a.wait([&] { return answered; }, milliseconds::max()));
    asked = 0;
    EXPECT_FALSE(a.wait([&] { return ++asked < 0; }, milliseconds(300)));
    EXPECT_LT(asked, 500) << "both ask each other for signs of life, no more";
}

TEST(AmEndpoint, WaitReportsADeadPeerThoughItOwesNothing) {
    Options options = options_for(3);
    options.peer_timeout = milliseconds(200);
    Endpoint a = open(options, 0);
    Served living(open(options, 2));
    living.endpoint.handle(ask, echo());
    living.start();
    std::vector<std::size_t> lost;
    a.on_peer_lost([&](const PeerLost& report) {
        EXPECT_EQ(report.why, PeerLost::Why::silent);
        EXPECT_TRUE(report.undelivered.empty());
        lost.push_back(report.peer);
    });
    int answers = 0;
    a.handle(answer, [&](const Message&) { ++answers; });
    {
        Served dying(open(options, 1));
        dying.endpoint.handle(ask, echo());
        dying.start();
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        ASSERT_EQ(a.request(2, ask, {1}), Status::ok);
        ASSERT_TRUE(a.wait([&] { return answers == 2 && a.idle(); }, patience));
    }
    const auto begun = Clock::now();
    ASSERT_TRUE(a.wait([&] { return !lost.empty(); }, patience));
    EXPECT_GE(Clock::now() - begun, milliseconds(150));  // it was heard until it died
    EXPECT_FALSE(a.wait([] { return false; }, milliseconds(600)));
    EXPECT_EQ(lost, std::vector<std::size_t>{1}) << "once, and not the living one";
}

TEST(AmEndpoint, SaysInOneLineWhyItDoesNotOpen) {
    const auto error = [](const Options& options) {
        auto opened = Endpoint::open(options);
        const std::string text = opened ? "none" : opened.error();
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_NE(text, "");
        return text;
    };
    const auto contains = [](const std::string& text, const std::string& part) {
        return testing::AssertionResult(text.find(part) != std::string::npos) << text;
    };
    const Options good = options_for(2);
    Options options = good;
    options.self = 2;
    EXPECT_EQ(error(options), "node 2 is not one of the 2 peers");
    options.peers.clear();
    options.self = 0;
    EXPECT_EQ(error(options), "node 0 is not one of the 0 peers");
    for (const char* bad : {"localhost:7000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "x"}) {
        options = good;
        options.peers[1] = bad;
        EXPECT_TRUE(contains(error(options), bad));
    }
    options = good;
    options.peers[1] = "";
    EXPECT_NE(error(options), "none");
    options.peers[1] = options.peers[0];
    EXPECT_TRUE(contains(error(options), options.peers[0]));
    options.peers[1] = "[::1]:7000";
    EXPECT_TRUE(contains(error(options), "[::1]:7000"));
    options = good;
    options.mtu = 60;
    EXPECT_TRUE(contains(error(options), "mtu 60: "));
    options.mtu = 0;
    EXPECT_TRUE(contains(error(options), "mtu 0: "));
    options.mtu = 100'000;
    EXPECT_NE(error(options), "none");
    options = good;
    options.peers.resize(65'537, good.peers[0]);
    EXPECT_EQ(error(options), "65537 peers are more than 16 bits can number");
    const Endpoint first = open(good, 0);
    EXPECT_TRUE(contains(error(good), good.peers[0])) << "the port is busy";
}

TEST(AmEndpoint, CountsForeignFramesAndDeliversNone) {  // AM-49
    const RawSocket peer;
    const RawSocket stranger;
    const std::string own = free_addresses(1)[0];
    const auto port = static_cast<std::uint16_t>(std::stoi(own.substr(own.find(':') + 1)));
    Options options;
    options.peers = {own, peer.address()};
    options.job = 5;
    Endpoint a = open(options, 0, 1);
    for (std::uint16_t id = 1; id < 20; ++id) {
        a.handle(id, [](const Message&) { ADD_FAILURE() << "a stranger's message"; });
    }
    a.on_peer_lost([](const PeerLost&) { ADD_FAILURE() << "there was none to lose"; });

    Config config = Config::ethernet();
    config.node = 1;
    config.peer = 0;
    const auto sealed = [](const Header& header, ConstBytes data) {
        std::vector<std::byte> packet(48 + data.size());
        const Bytes head = Bytes(packet).first(48);
        encode(header, Layout::ethernet, head);
        std::copy(data.begin(), data.end(), packet.begin() + 48);
        store_checksum(Layout::ethernet, head, checksum(Layout::ethernet, head, data));
        return packet;
    };
    const auto hello = [&](std::uint64_t job, std::uint64_t terms) {
        std::array<std::byte, HelloBody::size> body{};
        HelloBody{job, 99, 0, terms}.encode(body);
        return sealed({.dst = 0, .src = 1, .kind = Kind::hello, .count = 1}, body);
    };
    Header request{.dst = 0, .src = 1, .kind = Kind::request, .count = 1, .cookie = 1234};
    request.number = config.first_number[0];
    request.id = 1;
    const auto word = test::words({7});
    auto to_other = request;
    to_other.dst = 3;
    auto damaged = sealed(request, word);
    damaged[50] ^= std::byte{1};

    const std::vector<std::pair<RxVerdict, std::vector<std::byte>>> frames = {
        {RxVerdict::malformed, {}},
        {RxVerdict::malformed, pattern(47)},
        {RxVerdict::malformed, pattern(1473)},
        {RxVerdict::corrupt, pattern(48)},
        {RxVerdict::corrupt, pattern(1472)},
        {RxVerdict::corrupt, damaged},
        {RxVerdict::foreign, sealed(request, word)},
        {RxVerdict::foreign, sealed(to_other, word)},
        {RxVerdict::foreign, hello(6, config.terms())},
        {RxVerdict::foreign, hello(5, config.terms() + 1)},
    };
    std::array<std::uint64_t, 10> expected{};
    for (const auto& [verdict, bytes] : frames) {
        peer.send(port, bytes);
        stranger.send(port, bytes);
        if (bytes.size() > 1472) continue;  // more than the wire takes in
        ++expected[static_cast<std::size_t>(verdict)];
    }
    EXPECT_TRUE(run({&a}, [&] { return a.counters(1).received == expected; }))
        << testing::PrintToString(a.counters(1).received);
    EXPECT_EQ(a.counters(1).mismatched, 1U);
    EXPECT_EQ(a.counters(1).sent, 0U) << "and nobody was answered";
    EXPECT_EQ(a.counters(1).sessions, 0U);
}

TEST(AmEndpoint, NodesOfDifferentJobsOrMtusNeverMeet) {
    Options options = options_for(2);
    options.peer_timeout = milliseconds(200);
    for (const bool other_job : {true, false}) {
        Options other = options;
        (other_job ? other.job : other.mtu) += 1000;
        Endpoint a = open(options, 0);
        Endpoint b = open(other, 1);
        b.handle(ask, [](const Message&) { ADD_FAILURE(); });
        bool lost = false;
        a.on_peer_lost([&](const PeerLost& report) {
            lost = true;
            EXPECT_EQ(report.undelivered.size(), 1U);
        });
        ASSERT_EQ(a.request(1, ask), Status::ok);
        EXPECT_TRUE(run({&a, &b}, [&] { return lost; }));
        EXPECT_GT(received(b, RxVerdict::foreign, 0), 0U);
        EXPECT_EQ(b.counters(0).mismatched, other_job ? 0 : received(b, RxVerdict::foreign, 0));
        EXPECT_EQ(b.counters(0).sent, 0U);
    }
}

TEST(AmEndpoint, ARestartedPeerIsReportedAndTrafficGoesOn) {  // AM-49
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    a.handle(ask, echo());
    std::uint32_t answers = 0;
    a.handle(answer, [&](const Message&) { ++answers; });
    std::vector<PeerLost::Why> lost;
    a.on_peer_lost([&](const PeerLost& report) { lost.push_back(report.why); });
    {
        Endpoint b = open(options, 1, 10);
        b.handle(ask, echo());
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        ASSERT_TRUE(run({&a, &b}, [&] { return answers == 1 && a.idle() && b.idle(); }));
    }
    Endpoint b = open(options, 1, 11);
    b.handle(ask, echo());
    b.on_peer_lost([](const PeerLost&) { ADD_FAILURE() << "the new life lost nobody"; });
    std::uint32_t answers_of_b = 0;
    b.handle(answer, [&](const Message&) { ++answers_of_b; });
    ASSERT_EQ(b.request(0, ask, {2}), Status::ok);
    ASSERT_TRUE(run({&a, &b}, [&] { return answers_of_b == 1; }));
    EXPECT_EQ(lost, std::vector<PeerLost::Why>{PeerLost::Why::restarted});
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(a.request(1, ask, {i}), Status::ok);
    ASSERT_TRUE(settle(a, b));
    EXPECT_EQ(answers, 101U);
    EXPECT_EQ(lost.size(), 1U);
    EXPECT_EQ(a.counters(1).sessions, 2U);
}

TEST(AmEndpoint, CountersMayBeReadFromInsideItsCallbacks) {
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    std::uint64_t last = 0;
    std::uint32_t heard = 0;
    b.handle(ask, [&](const Message&) {
        const std::uint64_t accepted = received(b, RxVerdict::accepted, 0);
        EXPECT_GE(accepted, last);  // several may have come in one packet
        last = accepted;
        ++heard;
    });
    for (std::uint32_t i = 0; i < 50; ++i) {
        ASSERT_EQ(a.request(1, ask), Status::ok);
        b.poll();
    }
    ASSERT_TRUE(settle(a, b));
    EXPECT_EQ(heard, 50U);
    EXPECT_GE(last, 1U);
    const PeerCounters counters = a.counters(1);
    EXPECT_EQ(counters.sent, last + counters.hellos + counters.keepalives);
    EXPECT_EQ(a.counters(0).sent, 0U);
    EXPECT_EQ(a.counters(1000).sent, 0U);
}

TEST(AmEndpoint, MayBeMovedWhileATransferIsUnderWay) {
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    std::vector<std::byte> memory(100'000);
    auto address = b.register_memory(0, memory, {.store = true});
    b.handle(stored, [](const Message& m) { EXPECT_EQ(m.reply(answer), Status::ok); });
    bool answered = false;
    a.handle(answer, [&](const Message&) { answered = true; });
    const auto source = pattern(100'000);
    ASSERT_EQ(a.store_async(1, *address, source, stored, 0, nullptr), Status::ok);
    a.poll();
    Endpoint moved = std::move(a);
    a = std::move(b);
    ASSERT_TRUE(settle(moved, a));
    EXPECT_TRUE(answered);
    EXPECT_EQ(memory, source);
}

TEST(AmEndpoint, NamesEveryStatusAndVerdict) {
    EXPECT_EQ(name_of(Status::ok), "ok");
    EXPECT_EQ(name_of(Status::would_block), "would_block");
    EXPECT_EQ(name_of(Status::forbidden), "forbidden");
    EXPECT_EQ(verdict_names[static_cast<std::size_t>(RxVerdict::foreign)], "foreign");
}

}  // namespace
}  // namespace wireproof::am
