// Endpoints that share memory, in one process and in several.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "wireproof/am.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/node_test_kit.hpp"
#include "wireproof/front/am/shm_endpoint_test_kit.hpp"
#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof::am {
namespace {

using std::chrono::milliseconds;
using test::answer;
using test::ask;
using test::patience;
using test::pattern;

bool same(std::span<const std::byte> left, std::span<const std::byte> right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

/// Two endpoints in this thread: while one waits, the test must poll the other.
struct Two {
    explicit Two(Faults faults = {}) {
        const std::string name = test::shared_place();
        for (std::size_t i = 0; i < 2; ++i) {
            Options options = test::at_place(name, i, 2);
            options.faults = faults;
            auto opened = Endpoint::open(options);
            EXPECT_TRUE(opened) << opened.error();
            ends.push_back(std::move(*opened));
        }
    }
    template <class Until>
    bool turn_until(Until&& until) {
        const auto limit = std::chrono::steady_clock::now() + patience;
        while (!until()) {
            for (Endpoint& end : ends) end.poll();
            if (std::chrono::steady_clock::now() > limit) return false;
        }
        return true;
    }
    std::vector<Endpoint> ends;
};

TEST(ShmEndpoint, AnswersRequests) {
    Two two;
    two.ends[1].handle(ask, [](const Message& m) { m.reply(answer, {m.words()[0] * 2}); });
    std::vector<std::uint32_t> answers;
    two.ends[0].handle(answer, [&](const Message& m) { answers.push_back(m.words()[0]); });
    std::uint32_t posted = 0;
    ASSERT_TRUE(two.turn_until([&] {
        if (posted < 5000 && two.ends[0].request(1, ask, {posted}) == Status::ok) ++posted;
        return answers.size() == 5000;
    }));
    for (std::uint32_t i = 0; i < 5000; ++i) ASSERT_EQ(answers[i], 2 * i);
    EXPECT_EQ(two.ends[0].counters(1).resent, 0U);
    // A process that was stopped may be asked for signs of life, and answers with a NACK.
    EXPECT_LE(two.ends[0].counters(1).nacks, two.ends[1].counters(0).keepalives);
}

/// The frames of this end that carry a message or a part of a transfer.
std::uint64_t carried_by(const Endpoint& end) {
    const PeerCounters counters = end.counters(1);
    return counters.sent - counters.acks - counters.nacks - counters.keepalives;
}

// A transfer takes one copy, and a short message that reports it.
TEST(ShmEndpoint, StoresIntoAllocatedMemoryAndGetsFromIt) {
    Two two;
    auto memory = two.ends[1].allocate(1 << 20);
    ASSERT_TRUE(memory) << memory.error();
    const auto address = two.ends[1].register_memory(0, *memory, {.get = true, .store = true});
    ASSERT_TRUE(address) << address.error();
    std::vector<std::size_t> sizes;
    two.ends[1].handle(stored, [&](const Message& m) {
        sizes.push_back(m.memory().size());
        EXPECT_EQ(m.argument(), 7U);
    });
    // The first stores go in packets: the session has not begun, or the sender does not know of the
    // memory yet.
    const auto source = pattern(100'000);
    for (std::uint64_t i = 0; i < 20; ++i) {
        bool done = false;
        Status status = Status::would_block;
        ASSERT_TRUE(two.turn_until([&] {
            if (status == Status::would_block) {
                status = two.ends[0].store_async(1, *address + i * 1000, source, stored, 7,
                                                 [&](Status how) { done = how == Status::ok; });
            }
            return done;
        }));
        EXPECT_TRUE(same(memory->subspan(i * 1000, source.size()), source));
    }
    EXPECT_EQ(sizes, std::vector<std::size_t>(20, source.size()));
    const std::uint64_t carried = carried_by(two.ends[0]);

    std::vector<std::byte> fetched(source.size());
    bool done = false;
    ASSERT_EQ(two.ends[0].get_async(1, *address + 19'000, fetched,
                                    [&](Status how) { done = how == Status::ok; }),
              Status::ok);
    ASSERT_TRUE(two.turn_until([&] { return done; }));
    EXPECT_EQ(fetched, source);
    EXPECT_LE(carried_by(two.ends[0]) - carried, 3U);  // no packets were needed
}

TEST(ShmEndpoint, StoresIntoPrivateMemory) {
    Two two;
    std::vector<std::byte> memory(50'000);
    const auto address = two.ends[1].register_memory(0, memory, {.get = false, .store = true});
    ASSERT_TRUE(address);
    int count = 0;
    two.ends[1].handle(stored, [&](const Message&) { ++count; });
    const auto source = pattern(memory.size());
    for (int i = 0; i < 5; ++i) {
        bool done = false;
        ASSERT_EQ(
            two.ends[0].store_async(1, *address, source, stored, 0, [&](Status) { done = true; }),
            Status::ok);
        ASSERT_TRUE(two.turn_until([&] { return done; }));
    }
    EXPECT_EQ(memory, source);
    EXPECT_EQ(count, 5);
    // Transfers are refused where the registration does not permit them.
    bool refused = false;
    ASSERT_EQ(two.ends[0].store_async(1, *address + 1, source, stored, 0,
                                      [&](Status how) { refused = how == Status::forbidden; }),
              Status::ok);
    std::vector<std::byte> fetched(10);
    bool kept = false;
    ASSERT_EQ(two.ends[0].get_async(1, *address, fetched,
                                    [&](Status how) { kept = how == Status::forbidden; }),
              Status::ok);
    ASSERT_TRUE(two.turn_until([&] { return refused && kept; }));
}

// One copy by the kernel takes two microseconds, even if it is short.
TEST(ShmNode, AShortStoreIntoPrivateMemoryTravelsInAPacket) {
    Config config = Config::shared_memory();
    ShmWire::Config shm;
    shm.frame_max = config.packet_max;
    auto wires = ShmWire::pair(shm);
    ASSERT_TRUE(wires.has_value());
    config.node = 0;
    config.peer = 1;
    config.seed = 1;
    Node storing(host::AnyWire(std::move(wires->first)), config, 2);
    std::swap(config.node, config.peer);
    config.seed = 2;
    Node other(host::AnyWire(std::move(wires->second)), config, 2);
    constexpr std::uint64_t shared_at = 0x10000;
    constexpr std::uint64_t private_at = 0x20000;
    const auto shared = other.wire().allocate_shared(8192);
    ASSERT_TRUE(shared.has_value());
    std::vector<std::byte> alone(8192);
    ASSERT_TRUE(other.register_memory(0, shared_at, *shared, {.get = true, .store = true}));
    ASSERT_TRUE(other.register_memory(0, private_at, alone, {.get = true, .store = true}));
    std::vector<std::size_t> sizes;
    other.handle(stored, [&](const Message& m) { sizes.push_back(m.memory().size()); });
    Instant now(Duration::milliseconds(1));
    const auto turn = [&] {
        for (int i = 0; i < 3; ++i) {
            now = now + Duration::microseconds(1);
            storing.poll(now);
            other.poll(now);
        }
    };
    other.handle(tell, [](const Message&) {});
    // Begins the session and learns of the memory.
    ASSERT_EQ(storing.post(1, tell, {}), Status::ok);
    for (int i = 0; i < 100 && !storing.idle(); ++i) turn();
    ASSERT_TRUE(storing.connected(1));

    const auto at_once = [&](std::uint64_t address, std::size_t size) {
        const std::uint64_t before = storing.stores_at_once();
        const auto source = pattern(size);
        bool done = false;
        EXPECT_EQ(storing.store_async(1, address, source, stored, 0,
                                      [&](Status how) { done = how == Status::ok; }),
                  Status::ok);
        for (int i = 0; i < 10 && !done; ++i) turn();
        EXPECT_TRUE(done);
        EXPECT_EQ(sizes.back(), size);
        const Bytes memory = address == shared_at ? *shared : Bytes(alone);
        EXPECT_TRUE(same(memory.first(size), source));
        return storing.stores_at_once() > before;
    };
    EXPECT_TRUE(at_once(shared_at, 1));
    EXPECT_TRUE(at_once(shared_at, 8192));
    EXPECT_FALSE(at_once(private_at, 1));
    EXPECT_FALSE(at_once(private_at, config.open_bytes));
    if (shm_test::copies_are_forbidden()) GTEST_SKIP() << shm_test::copies_forbidden;
    EXPECT_EQ(storing.store_at_once(1, private_at, pattern(1), stored, 0), Status::ok);
    EXPECT_TRUE(at_once(private_at, config.open_bytes + 1));
    EXPECT_TRUE(at_once(private_at, 8192));

    // While a short store is in flight, a store to other addresses can be done at once. A store to
    // the same addresses must wait.
    for (int i = 0; i < 100 && !storing.idle(); ++i) turn();
    const auto older = pattern(100);
    const auto newer = pattern(100, 7);
    const auto store_short = [&](std::uint64_t address) {
        return storing.store_async(1, address, older, stored, 0, {});
    };
    const auto goes_at_once = [&](std::uint64_t address) {
        return storing.store_at_once(1, address, newer, stored, 0).has_value();
    };
    ASSERT_EQ(store_short(private_at + 1000), Status::ok);
    EXPECT_TRUE(goes_at_once(shared_at));
    EXPECT_TRUE(goes_at_once(private_at + 900));
    EXPECT_TRUE(goes_at_once(private_at + 1100));
    EXPECT_FALSE(goes_at_once(private_at + 901));
    EXPECT_FALSE(goes_at_once(private_at + 1099));
    ASSERT_EQ(store_short(private_at + 3000), Status::ok);
    EXPECT_FALSE(goes_at_once(private_at + 1050));
    EXPECT_FALSE(goes_at_once(private_at + 3050));
    EXPECT_TRUE(goes_at_once(private_at + 3100));
    for (int i = 0; i < 100 && !storing.idle(); ++i) turn();
    EXPECT_TRUE(same(Bytes(alone).subspan(1000, 100), older));
    EXPECT_TRUE(goes_at_once(private_at + 1050));
    ASSERT_EQ(store_short(private_at + 3000), Status::ok);
    EXPECT_TRUE(goes_at_once(private_at + 1050)) << "what has arrived is forgotten";
}

TEST(ShmEndpoint, MemoryIsFreedOnlyAfterThePeerHasConfirmed) {
    Two two;
    auto memory = two.ends[1].allocate(4096);
    ASSERT_TRUE(memory);
    two.ends[1].handle(stored, [](const Message&) {});
    const auto address = two.ends[1].register_memory(0, *memory, {.get = true, .store = true});
    ASSERT_TRUE(address);
    const auto source = pattern(64);
    for (int i = 0; i < 3; ++i) {  // then the handler is known to exist
        bool done = false;
        ASSERT_EQ(
            two.ends[0].store_async(1, *address, source, stored, 0, [&](Status) { done = true; }),
            Status::ok);
        ASSERT_TRUE(two.turn_until([&] { return done; }));
    }
    Status status = two.ends[1].unregister_memory(0, *address);
    EXPECT_EQ(status, Status::would_block);
    ASSERT_TRUE(two.turn_until([&] {
        if (status == Status::would_block) status = two.ends[1].unregister_memory(0, *address);
        return status != Status::would_block;
    }));
    EXPECT_EQ(status, Status::ok);
    EXPECT_EQ(two.ends[1].unregister_memory(0, *address), Status::not_allowed);
    Status how = Status::ok;
    ASSERT_EQ(two.ends[0].store_async(1, *address, source, stored, 0, [&](Status s) { how = s; }),
              Status::ok);
    ASSERT_TRUE(two.turn_until([&] { return how != Status::ok; }));
    EXPECT_EQ(how, Status::forbidden);
}

// The peer has not polled since, so it does not know that the Endpoint has ended.
TEST(ShmEndpoint, NoPeerStoresIntoMemoryOfAnEndpointThatHasEnded) {
    Two two;
    std::vector<std::byte> memory(8192);
    two.ends[1].handle(stored, [](const Message&) {});
    const auto address = two.ends[1].register_memory(0, memory, {.get = true, .store = true});
    ASSERT_TRUE(address);
    const auto source = pattern(memory.size());
    for (int i = 0; i < 3; ++i) {  // then the handler is known to exist
        bool done = false;
        ASSERT_EQ(
            two.ends[0].store_async(1, *address, source, stored, 0, [&](Status) { done = true; }),
            Status::ok);
        ASSERT_TRUE(two.turn_until([&] { return done; }));
    }
    two.ends.pop_back();
    const std::vector<std::byte> freed(memory.size(), std::byte{1});  // stands for a later use
    memory = freed;
    EXPECT_EQ(two.ends[0].store(1, *address, source, stored), Status::peer_lost);
    EXPECT_EQ(memory, freed);
}

TEST(ShmEndpoint, KeepsItsPromisesUnderFaults) {
    Two two({.loss = 0.05, .bit_error = 1e-6, .duplicate = 0.05, .reorder = 0.05});
    auto memory = two.ends[1].allocate(300'000);
    ASSERT_TRUE(memory);
    const auto address = two.ends[1].register_memory(0, *memory, {.get = true, .store = true});
    ASSERT_TRUE(address);
    two.ends[1].handle(stored, [](const Message&) {});
    std::vector<std::uint32_t> heard;
    two.ends[1].handle(tell, [&](const Message& m) { heard.push_back(m.words()[0]); });
    const auto source = pattern(memory->size());
    bool done = false;
    ASSERT_EQ(two.ends[0].store_async(1, *address, source, stored, 0, [&](Status) { done = true; }),
              Status::ok);
    std::uint32_t posted = 0;
    ASSERT_TRUE(two.turn_until([&] {
        if (posted < 1000 && two.ends[0].request(1, tell, {posted}) == Status::ok) ++posted;
        return done && heard.size() == 1000;
    }));
    EXPECT_TRUE(same(*memory, source));
    for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(heard[i], i);
    EXPECT_GT(two.ends[0].counters(1).resent, 0U);
}

TEST(ShmEndpoint, NamesWhatCannotBe) {
    Options options = test::at_place("shm:", 0, 2);
    EXPECT_FALSE(Endpoint::open(options));
    options.peers = {"shm:one", "shm:another"};
    EXPECT_FALSE(Endpoint::open(options));
    const std::string name = test::shared_place();
    auto first = Endpoint::open(test::at_place(name, 0, 2));
    ASSERT_TRUE(first);
    const auto second = Endpoint::open(test::at_place(name, 0, 2));
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().find(name.substr(4)), std::string::npos) << second.error();
}

// Tests with several processes.

class Child {
public:
    template <class Body>
    explicit Child(Body&& body) : pid_(::fork()) {
        if (pid_ != 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::alarm(250);  // ends a child that hangs
        ::_exit(body() ? 0 : 1);
    }
    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    Child& operator=(Child&&) = delete;
    ~Child() {
        if (pid_ > 0) kill();
    }
    void kill() {
        ::kill(pid_, SIGKILL);
        ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }
    bool succeeded() {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

private:
    pid_t pid_;
};

/// Other programs have files there, too.
std::size_t files_in_shm(const std::string& name) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
        count += entry.path().string().find(name.substr(4)) != std::string::npos ? 1U : 0U;
    }
    return count;
}

constexpr std::uint32_t messages_each = 2000;

/// Sends to all nodes, receives from all, and answers. True: each message came once and in order.
bool exchange_with_all(const Options& options) {
    auto opened = Endpoint::open(options);
    if (!opened) return false;
    Endpoint& end = *opened;
    const std::size_t nodes = end.nodes();
    std::vector<std::uint32_t> heard(nodes, 0);
    std::vector<std::uint32_t> answered(nodes, 0);
    std::vector<std::uint32_t> posted(nodes, 0);
    bool right = true;
    end.handle(ask, [&](const Message& m) {
        right = right && m.words()[0] == heard[m.peer()]++;
        m.reply(answer, {m.words()[0]});
    });
    end.handle(answer,
               [&](const Message& m) { right = right && m.words()[0] == answered[m.peer()]++; });
    const std::size_t others = nodes - 1;
    const auto all = [&](const std::vector<std::uint32_t>& counts) {
        return std::accumulate(counts.begin(), counts.end(), std::size_t{0}) ==
               others * messages_each;
    };
    const bool finished = end.wait(
        [&] {
            for (std::size_t peer = 0; peer < nodes; ++peer) {
                if (peer == end.self()) continue;
                for (int i = 0; i < 16 && posted[peer] < messages_each; ++i) {
                    if (end.request(peer, ask, {posted[peer]}) != Status::ok) break;
                    ++posted[peer];
                }
            }
            return all(heard) && all(answered);
        },
        patience);
    // The process that ends first must not leave an acknowledgement unsent.
    return finished && right && end.wait([&] { return end.idle(); }, patience);
}

TEST(ShmEndpoint, EightProcessesExchangeWithAllAndFinish) {
    const std::string name = test::shared_place();
    std::vector<Child> nodes;
    for (std::size_t i = 0; i < 8; ++i) {
        nodes.emplace_back([&] { return exchange_with_all(test::at_place(name, i, 8)); });
    }
    for (Child& node : nodes) EXPECT_TRUE(node.succeeded());
    EXPECT_EQ(files_in_shm(name), 0U);
}

TEST(ShmEndpoint, AKilledProcessIsReportedToTheOthersAsGone) {
    constexpr std::size_t count = 4;
    const std::string name = test::shared_place();
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const auto life = [&](std::size_t self) {
        auto opened = Endpoint::open(test::at_place(name, self, count));
        if (!opened) return false;
        Endpoint& end = *opened;
        std::size_t met = 0;
        end.handle(tell, [&](const Message&) { ++met; });
        std::vector<std::size_t> lost;
        end.on_peer_lost([&](const PeerLost& peer) {
            if (peer.why == PeerLost::Why::gone) lost.push_back(peer.peer);
        });
        for (std::size_t peer = 0; peer < count; ++peer) {
            if (peer == self) continue;
            if (end.request(peer, tell, {1}) != Status::ok) return false;
        }
        if (!end.wait([&] { return met == count - 1 && end.idle(); }, patience)) return false;
        char done = 1;
        if (::write(ready[1], &done, 1) != 1) return false;
        // A process leaves when it knows that node 0 is lost. The others then report it as lost,
        // too.
        const auto heard = [&] { return std::count(lost.begin(), lost.end(), 0U) == 1; };
        return end.wait(heard, patience);
    };
    std::vector<Child> nodes;
    for (std::size_t i = 0; i < count; ++i) nodes.emplace_back([&, i] { return life(i); });
    for (std::size_t i = 0; i < count; ++i) {
        char done = 0;
        ASSERT_EQ(::read(ready[0], &done, 1), 1);
    }
    nodes[0].kill();
    for (std::size_t i = 1; i < count; ++i) EXPECT_TRUE(nodes[i].succeeded()) << i;
    ::close(ready[0]);
    ::close(ready[1]);
}

}  // namespace
}  // namespace wireproof::am
