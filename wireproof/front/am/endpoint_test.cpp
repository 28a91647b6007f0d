// Endpoints on UDP sockets of this machine, in real time. No test measures speed: limits only end
// tests that hang.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "wireproof/am.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/am/node_test_kit.hpp"
#include "wireproof/front/am/options.hpp"

namespace wireproof::am {
namespace {

using namespace test;

TEST(AmEndpoint, CarriesRequestsRepliesStoresAndGets) {
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    EXPECT_EQ(a.self(), 0U);
    EXPECT_EQ(b.self(), 1U);
    EXPECT_EQ(b.nodes(), 2U);
    EXPECT_EQ(a.message_max(), 1424U);
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
    ASSERT_EQ(a.get_async(1, *address, destination, nullptr), Status::ok);
    ASSERT_TRUE(settle(a, b));
    EXPECT_EQ(answered, 17U);
    EXPECT_EQ(argument, 23U);
    EXPECT_EQ(memory, source);
    EXPECT_EQ(destination.size(), source.size());
    EXPECT_EQ(b.unregister_memory(0, *address), Status::ok);
}

TEST(AmEndpoint, CarriesMessagesOfAnyLength) {
    for (const bool shm : {false, true}) {
        const Options options = options_on(shm);
        Endpoint a = open(options, 0);
        Endpoint b = open(options, 1);
        const auto source = pattern(a.message_max() + 1);
        b.handle(ask, [](const Message& m) {
            EXPECT_EQ(m.words().size(), m.bytes().size() / 4);
            EXPECT_EQ(m.reply(answer, m.bytes()), Status::ok);
        });
        std::size_t wanted = 0;
        int answers = 0;
        a.handle(answer, [&](const Message& m) {
            ++answers;
            EXPECT_TRUE(std::equal(m.bytes().begin(), m.bytes().end(), source.begin(),
                                   source.begin() + static_cast<std::ptrdiff_t>(wanted)));
        });
        for (const std::size_t size : std::vector<std::size_t>{0, 1, 3, 4, 5, 7, 8, 13, 17, 1001}) {
            answers = 0;
            wanted = size;
            for (int i = 0; i < 3; ++i) {
                ASSERT_EQ(a.request(1, ask, std::span(source).first(size)), Status::ok);
            }
            ASSERT_TRUE(run({&a, &b}, [&] { return answers == 3; })) << size;
        }
        EXPECT_EQ(a.request(1, ask, source), Status::too_long);
        EXPECT_EQ(a.request(1, ask, std::span(source).first(source.size() - 1)), Status::ok);
        wanted = source.size() - 1;
        EXPECT_TRUE(settle(a, b));
    }
}

TEST(AmEndpoint, ANodeAloneRegistersMemoryForNoPeer) {
    Endpoint a = open(options_for(1), 0);
    std::vector<std::byte> memory(8);
    const auto address = a.register_memory(memory, {.get = true});
    ASSERT_TRUE(address);
    EXPECT_EQ(a.unregister_memory(*address), Status::ok);
}

// With congestion control, the sender of a long store asks how much has arrived. By default there
// is none to a loopback peer.
TEST(AmEndpoint, ControlsCongestionOnLoopbackOnlyIfItIsAskedTo) {
    using Control = CongestionControl;
    using Algorithm = CongestionAlgorithm;
    for (const auto& [wanted, algorithm] : {std::pair{Control::between_hosts, Algorithm::by_loss},
                                            std::pair{Control::always, Algorithm::by_loss},
                                            std::pair{Control::always, Algorithm::by_path}}) {
        Options options = options_for(2);
        options.congestion_control = wanted;
        options.congestion_algorithm = algorithm;
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
        EXPECT_EQ(counters.keepalives > counters.timeouts + 5, wanted == Control::always);
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
    std::string report;
    a.on_peer_lost([&](const PeerLost& lost) {
        EXPECT_EQ(lost.message(),
                  lost.cause.empty() ? "node 1 is silent" : "node 1 is unreachable: " + lost.cause);
        report = lost.cause;
    });
    const auto source = pattern(10);
    EXPECT_EQ(a.store(1, 0, source, stored), Status::peer_lost);
    EXPECT_EQ(report.substr(0, 20), "Connection refused (") << "nobody has its port";
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
    ASSERT_EQ(a.get_async(1, 0, {}, [&](Status) { try_to_block(a); }), Status::ok);
    ASSERT_TRUE(settle(a, b));
    EXPECT_EQ(statuses, std::vector<Status>(2, Status::not_allowed));
}

TEST(AmEndpoint, WaitReturnsOnItsConditionOrAtItsLimit) {
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    const auto begun = Clock::now();
    EXPECT_FALSE(a.wait([] { return false; }, milliseconds(100)));
    EXPECT_GE(Clock::now() - begun, milliseconds(100));
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
}

TEST(AmEndpoint, WaitReportsADeadPeerThoughItOwesNothing) {
    Options options = options_for(2);
    options.peer_timeout = milliseconds(200);
    Endpoint a = open(options, 0);
    std::vector<std::size_t> lost;
    a.on_peer_lost([&](const PeerLost& report) {
        EXPECT_EQ(report.why, PeerLost::Why::silent);
        EXPECT_TRUE(report.undelivered.empty());
        lost.push_back(report.peer);
    });
    int answers = 0;
    a.handle(answer, [&](const Message&) { ++answers; });
    const auto begun = Clock::now();
    {
        Endpoint dying = open(options, 1);
        dying.handle(ask, echo());
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        ASSERT_TRUE(run({&a, &dying}, [&] { return answers == 1 && a.idle(); }));
    }
    ASSERT_TRUE(a.wait([&] { return !lost.empty(); }, patience));
    EXPECT_GE(Clock::now() - begun, options.peer_timeout);  // node 1 was last heard after `begun`
    EXPECT_EQ(lost, std::vector<std::size_t>{1});
}

/// The error of open() with these options: one line.
std::string why_not(const Options& options) {
    auto opened = Endpoint::open(options);
    const std::string text = opened ? "it opens" : opened.error();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_NE(text, "");
    return text;
}

std::string why_not(const Options& good, const std::string& second) {
    Options options = good;
    options.peers[1] = second;
    return why_not(options);
}

TEST(AmEndpointOptions, OfNodesAreNamedWhereTheyAreWrong) {
    const Options good = options_for(2);
    EXPECT_EQ(why_not(good), "it opens");
    Options options = good;
    options.self = 2;
    EXPECT_EQ(why_not(options), "node 2 is not one of the 2 peers");
    options.peers.clear();
    options.self = 0;
    EXPECT_EQ(why_not(options), "node 0 is not one of the 0 peers");
    options = good;
    options.peers.resize(65'537, good.peers[0]);
    EXPECT_EQ(why_not(options), "65537 peers are more than 16 bits can number");
    options.peers.assign(257, "shm:many");
    EXPECT_EQ(why_not(options), "257 peers on shared memory are more than 256");
    options.peers.pop_back();
    EXPECT_TRUE(read_options(options));
    const Endpoint first = open(good, 0);
    EXPECT_EQ(why_not(good), "cannot bind " + good.peers[0] + ": Address already in use");
}

TEST(AmEndpointOptions, OfAddressesAreRefusedWhereNoPeerCanHaveThem) {
    const Options good = options_for(2);
    for (const char* bad :
         {"localhost:7000", "127.0.0.1", "127.0.0.1:70000", "x", " ", "[fe80::1]:7000"}) {
        const std::string begin = "peers[1]: bad address \"" + std::string(bad) + "\": ";
        EXPECT_EQ(why_not(good, bad).substr(0, begin.size()), begin);
    }
    const auto refused = [&](const char* bad) {
        const std::string why = why_not(good, bad);
        const std::string begin = "peers[1]: " + std::string(bad) + " ";
        return why.substr(0, begin.size()) == begin ? why.substr(begin.size()) : why;
    };
    EXPECT_EQ(refused("0.0.0.0:7000"), "means every address of a host, and names no peer");
    EXPECT_EQ(refused("255.255.255.255:7000"), "is a broadcast address, and no peer's");
    EXPECT_EQ(refused("224.0.0.1:7000"), "is a multicast address, and no peer's");
    EXPECT_EQ(refused("127.0.0.1:0"), "has port 0, which no peer can have");
    EXPECT_EQ(why_not(good, good.peers[0]), "peers[0] and peers[1] are both " + good.peers[0]);
    EXPECT_EQ(why_not(good, "[::1]:7000"), "peers[1] is [::1]:7000 and peers[0] is " +
                                               good.peers[0] + ": all are IPv4, or all are IPv6");
    EXPECT_EQ(why_not(good, "shm:x"), "peers[1] is shm:x and peers[0] is " + good.peers[0] +
                                          ": all are on shared memory, or none");
    Options options = good;
    options.peers[0] = "shm:x";
    EXPECT_EQ(why_not(options), "peers[1] is " + good.peers[1] +
                                    " and peers[0] is shm:x: all are on shared memory, or none");
    options.peers[1] = "shm:y";
    EXPECT_EQ(why_not(options), "peers on shared memory have one name, not shm:x and shm:y");
    // The node itself may listen on every address of this host, on any port.
    const std::string port = good.peers[0].substr(good.peers[0].find(':'));
    options = good;
    options.peers[0] = "0.0.0.0" + port;
    EXPECT_EQ(why_not(options), "it opens");
    options.peers[0] = "0.0.0.0:0";
    EXPECT_EQ(why_not(options), "it opens");
}

TEST(AmEndpointOptions, OfFiguresAreNamedWithTheirBounds) {
    const Options good = options_for(2);
    const auto with = [&](auto change) {
        Options options = good;
        change(options);
        return why_not(options);
    };
    for (const std::size_t mtu : {std::size_t{0}, std::size_t{10}, std::size_t{107},
                                  std::size_t{65'536}, ~std::size_t{0}}) {
        EXPECT_EQ(with([&](Options& o) { o.mtu = mtu; }),
                  "mtu is " + std::to_string(mtu) + ", not 108 to 65535");
    }
    for (const std::size_t mtu : {std::size_t{108}, std::size_t{65'535}}) {
        EXPECT_EQ(with([&](Options& o) { o.mtu = mtu; }), "it opens");
    }
    // The header of IPv6 is 20 bytes longer.
    const auto over_ipv6 = [](std::size_t mtu) {
        Options options = options_for(2);
        options.peers = {"[::1]:7000", "[::1]:7001"};
        options.mtu = mtu;
        return read_options(options);
    };
    ASSERT_FALSE(over_ipv6(127));
    EXPECT_EQ(over_ipv6(127).error().message, "mtu is 127, not 128 to 65535");
    for (const std::size_t mtu : {128U, 1280U, 1500U, 65'535U}) {
        const auto read = over_ipv6(mtu);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_LE(read->config.packet_max + 48, mtu);
        EXPECT_GT(read->config.packet_max + 48 + 8, mtu);
    }
    for (const milliseconds time : {milliseconds(0), milliseconds(-5), milliseconds(86'400'001),
                                    milliseconds::max(), milliseconds::min()}) {
        EXPECT_EQ(with([&](Options& o) { o.peer_timeout = time; }),
                  "peer_timeout is " + std::to_string(time.count()) + " ms, not 1 to 86400000");
    }
    for (const milliseconds time : {milliseconds(1), milliseconds(86'400'000)}) {
        EXPECT_EQ(with([&](Options& o) { o.peer_timeout = time; }), "it opens");
    }
    for (const std::size_t peers : {std::size_t{0}, std::size_t{65'536}}) {
        EXPECT_EQ(with([&](Options& o) { o.active_peers = peers; }),
                  "active_peers is " + std::to_string(peers) + ", not 1 to 65535");
    }
    for (const std::size_t peers : {std::size_t{1}, std::size_t{65'535}}) {
        EXPECT_EQ(with([&](Options& o) { o.active_peers = peers; }), "it opens");
    }
    const std::pair<const char*, double Faults::*> faults[] = {{"loss", &Faults::loss},
                                                               {"bit_error", &Faults::bit_error},
                                                               {"duplicate", &Faults::duplicate},
                                                               {"reorder", &Faults::reorder}};
    for (const auto& named : faults) {
        const std::string name = named.first;
        double Faults::*const fault = named.second;
        for (const double bad : {7.0, -1.0, std::nan(""), HUGE_VAL, 1.000001}) {
            EXPECT_EQ(with([&](Options& o) { o.faults.*fault = bad; }),
                      "faults." + name + " is " + std::to_string(bad) + ", not 0 to 1");
        }
        EXPECT_EQ(with([&](Options& o) { o.faults.*fault = 1; }), "it opens");
    }
    EXPECT_EQ(with([](Options& o) { o.congestion_control = CongestionControl{3}; }),
              "congestion_control has no valid value");
    EXPECT_EQ(with([](Options& o) { o.congestion_algorithm = CongestionAlgorithm{2}; }),
              "congestion_algorithm has no valid value");
}

TEST(AmEndpoint, HasNoHandlerZero) {
    Endpoint a = open(options_for(2), 0);
    EXPECT_EQ(a.handle(0, echo()), Status::not_allowed);
    EXPECT_EQ(a.handle(65'535, echo()), Status::ok);
    EXPECT_EQ(a.request(1, 0), Status::not_allowed);
}

TEST(AmEndpoint, AllocatesOrSaysWhyNot) {
    Endpoint a = open(options_for(2), 0);
    EXPECT_EQ(a.allocate(0).error(), "no bytes to allocate");
    for (const std::size_t much : {~std::size_t{0}, std::size_t{1} << 62}) {
        EXPECT_EQ(a.allocate(much).error(), "cannot allocate " + std::to_string(much) + " bytes");
    }
    const auto memory = a.allocate(1000);
    ASSERT_TRUE(memory) << memory.error();
    EXPECT_EQ(memory->size(), 1000U);
    EXPECT_TRUE(std::all_of(memory->begin(), memory->end(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(AmEndpoint, CountersMayBeReadFromInsideItsCallbacks) {
    const Options options = options_for(2);
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    std::uint64_t last = 0;
    std::uint32_t heard = 0;
    b.handle(ask, [&](const Message&) {
        const std::uint64_t accepted = received(b, RxVerdict::accepted, 0);
        EXPECT_GE(accepted, last);  // one packet may carry several requests
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
    EXPECT_EQ(name_of(Status::closed), "closed");
    EXPECT_EQ(verdict_names[static_cast<std::size_t>(RxVerdict::foreign)], "foreign");
}

}  // namespace
}  // namespace wireproof::am
