// What other processes see of an Endpoint.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/host/counters/counter_reader.hpp"
#include "wireproof/host/fork_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using host::PublishedRow;
using host::PublishedSection;
using std::chrono::milliseconds;

/// The Endpoints of this process that are shown, by the number of the node.
std::vector<PublishedSection> shown() {
    auto read = host::read_counters(::getpid());
    EXPECT_TRUE(read.skipped.empty());
    return read.sections;
}

std::string detail(const host::CounterDetails& details, const std::string& key) {
    for (const auto& [name, value] : details) {
        if (name == key) return value;
    }
    return {};
}

std::uint64_t total(const PublishedSection& section, const std::string& name) {
    for (std::size_t i = 0; i < section.totals.size(); ++i) {
        if (section.totals[i].name == name) return section.values[i];
    }
    ADD_FAILURE() << "no " << name;
    return 0;
}

std::uint64_t value(const PublishedSection& section, const PublishedRow& row,
                    const std::string& name) {
    for (std::size_t i = 0; i < row.values.size(); ++i) {
        if (section.row_counters[i].name == name) return row.values[i];
    }
    ADD_FAILURE() << "no " << name;
    return 0;
}

/// Two nodes in this thread.
struct TwoNodes {
    explicit TwoNodes(const std::string& name, bool publish = true)
        : first(open(name, 0, publish)), second(open(name, 1, publish)) {
        if (name.empty()) {
            EXPECT_TRUE(first.set_peer_address(1, second.local_address()));
            EXPECT_TRUE(second.set_peer_address(0, first.local_address()));
        }
        second.handle(1, [this](const Message&) { ++arrived; });
    }
    static Endpoint open(const std::string& name, std::size_t self, bool publish) {
        Options options;
        options.self = self;
        options.peers = {name, name};
        if (name.empty()) options.peers[self] = "127.0.0.1:0";
        options.publish_counters = publish;
        options.peer_timeout = std::chrono::hours(24);  // no keep-alive ends a sleep
        return std::move(*Endpoint::open(options));
    }
    void send(int count) {
        const int end = arrived + count;
        for (int posted = 0; arrived < end || !first.idle() || !second.idle();) {
            if (posted < count && first.request(1, 1) == Status::ok) ++posted;
            first.poll();
            second.poll();
        }
    }
    /// After that the values of both are shown: an Endpoint copies them before it sleeps.
    void settle() {
        for (Endpoint* const node : {&first, &second}) {
            for (int i = 0; i < 1000 && !node->arm(); ++i) node->poll();
        }
    }
    /// Expects that what is shown of a node is what its Endpoint returns.
    static void expect_same(const PublishedSection& section, const Endpoint& node,
                            std::size_t peer) {
        const PeerCounters counters = node.counters(peer);
        ASSERT_EQ(section.rows.size(), 1U);
        const PublishedRow& row = section.rows[0];
        EXPECT_EQ(row.name, std::to_string(peer));
        for (std::size_t i = 0; i < verdict_names.size(); ++i) {
            EXPECT_EQ(value(section, row, "received." + std::string(verdict_names[i])),
                      counters.received[i]);
        }
        EXPECT_EQ(value(section, row, "mismatched"), counters.mismatched);
        EXPECT_EQ(value(section, row, "sent"), counters.sent);
        EXPECT_EQ(value(section, row, "resent"), counters.resent);
        EXPECT_EQ(value(section, row, "acks"), counters.acks);
        EXPECT_EQ(value(section, row, "nacks"), counters.nacks);
        EXPECT_EQ(value(section, row, "overruns"), counters.overruns);
        EXPECT_EQ(value(section, row, "marked"), counters.marked);
        EXPECT_EQ(value(section, row, "marked_at_peer"), counters.marked_at_peer);
        EXPECT_EQ(value(section, row, "keepalives"), counters.keepalives);
        EXPECT_EQ(value(section, row, "hellos"), counters.hellos);
        EXPECT_EQ(value(section, row, "timeouts"), counters.timeouts);
        EXPECT_EQ(value(section, row, "sessions"), counters.sessions);
        EXPECT_EQ(value(section, row, "unhandled_replies"), counters.unhandled_replies);
        EXPECT_EQ(value(section, row, "unsent"), counters.unsent);
        EXPECT_EQ(value(section, row, "refused"), counters.refused);
    }

    int arrived = 0;
    Endpoint first;
    Endpoint second;
};

TEST(EndpointCounters, AreShownFromTheStart) {
    TwoNodes nodes("");
    const auto all = shown();
    ASSERT_EQ(all.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(all[i].source, host::CounterSource::endpoint);
        EXPECT_EQ(detail(all[i].details, "node"), std::to_string(i));
        EXPECT_EQ(detail(all[i].details, "nodes"), "2");
        EXPECT_TRUE(all[i].rows.empty()) << "no peer has been met";
        EXPECT_EQ(all[i].rows_missing, 0U);
    }
    EXPECT_EQ(detail(all[1].details, "address"), nodes.second.local_address());
}

TEST(EndpointCounters, AreThoseOfTheEndpointOnUdp) {
    TwoNodes nodes("");
    nodes.send(100);
    nodes.settle();
    const auto all = shown();
    ASSERT_EQ(all.size(), 2U);
    TwoNodes::expect_same(all[0], nodes.first, 1);
    TwoNodes::expect_same(all[1], nodes.second, 0);
    EXPECT_EQ(detail(all[0].rows[0].details, "path"), "udp");
    EXPECT_EQ(detail(all[0].rows[0].details, "address"), nodes.second.local_address());
    EXPECT_EQ(total(all[0], "wire.frames_sent"), value(all[0], all[0].rows[0], "sent"));
    EXPECT_GT(total(all[0], "wire.bytes_sent"), 100U);
    for (const auto& counter : all[0].totals) {
        EXPECT_NE(counter.name.substr(0, 7), "shared.") << "it has no shared memory";
    }
}

TEST(EndpointCounters, AreThoseOfTheEndpointOnSharedMemory) {
    TwoNodes nodes("shm:counters-" + std::to_string(::getpid()));
    std::vector<std::byte> bytes(64);
    const auto memory = nodes.second.allocate(bytes.size());
    ASSERT_TRUE(memory);
    const auto address = nodes.second.register_memory(*memory, {.get = true, .store = true});
    ASSERT_TRUE(address);
    nodes.send(100);
    ASSERT_EQ(nodes.first.get(1, *address, bytes), Status::ok);
    nodes.settle();
    const auto all = shown();
    ASSERT_EQ(all.size(), 2U);
    TwoNodes::expect_same(all[0], nodes.first, 1);
    TwoNodes::expect_same(all[1], nodes.second, 0);
    EXPECT_EQ(detail(all[0].rows[0].details, "path"), "shared memory");
    EXPECT_GE(total(all[0], "shared.frames_sent"), 4U);
    EXPECT_EQ(total(all[0], "shared.frames_sent"), total(all[1], "shared.frames_received"));
    EXPECT_EQ(total(all[0], "node.gets_at_once"), 1U);
    EXPECT_EQ(total(all[0], "node.stores_at_once"), 0U);
    EXPECT_EQ(total(all[0], "node.sessions_cut"), 0U);
}

// Nobody has met the other, so this is all that shows why there is silence.
TEST(EndpointCounters, ShowAPeerOfAnotherJobThatNobodyHasMet) {
    Options options;
    options.peers = {"127.0.0.1:0", ""};
    Endpoint first = std::move(*Endpoint::open(options));
    options.peers = {first.local_address(), "127.0.0.1:0"};
    options.self = 1;
    options.job = 1;
    Endpoint second = std::move(*Endpoint::open(options));
    ASSERT_TRUE(first.set_peer_address(1, second.local_address()));
    ASSERT_EQ(second.request(0, 1), Status::ok);
    const auto foreign = static_cast<std::size_t>(RxVerdict::foreign);
    while (first.counters(1).received[foreign] < 2) {
        first.poll();
        second.poll();
    }
    for (int i = 0; i < 1000 && !first.arm(); ++i) first.poll();
    const auto all = shown();
    ASSERT_EQ(all.size(), 2U);
    ASSERT_EQ(all[0].rows.size(), 1U);
    EXPECT_EQ(all[0].rows[0].name, "1");
    EXPECT_EQ(value(all[0], all[0].rows[0], "received.foreign"),
              first.counters(1).received[foreign]);
    EXPECT_EQ(value(all[0], all[0].rows[0], "sessions"), 0U);
}

// Polls alone copy the values, but not each of them.
TEST(EndpointCounters, AreCopiedAtMostEach10MillisecondsWhileItPolls) {
    TwoNodes nodes("");
    std::size_t copies = 0;
    std::uint64_t updated = 0;
    const auto begin = std::chrono::steady_clock::now();
    auto now = begin;
    for (; copies < 5 && now - begin < patience; now = std::chrono::steady_clock::now()) {
        nodes.send(1);
        const auto all = shown();
        ASSERT_EQ(all.size(), 2U);
        if (all[0].updated_ns != updated) ++copies;
        updated = all[0].updated_ns;
    }
    EXPECT_EQ(copies, 5U);
    EXPECT_LE(copies, static_cast<std::size_t>((now - begin) / milliseconds(10)) + 2);
}

TEST(EndpointCounters, AnEventLoopThatIsAboutToSleepCopiesThem) {
    TwoNodes nodes("");
    nodes.send(10);
    std::this_thread::sleep_for(milliseconds(15));
    nodes.first.poll();  // copies
    nodes.send(10);      // within 10 ms, unless the machine is slow
    for (int i = 0; i < 1000 && !nodes.first.arm(); ++i) nodes.first.poll();
    EXPECT_EQ(value(shown()[0], shown()[0].rows[0], "sent"), nodes.first.counters(1).sent);
}

// Nothing arrives, so only the copy before the sleep can show the values.
TEST(EndpointCounters, AWaitThatIsAboutToSleepCopiesThem) {
    TwoNodes nodes("shm:sleep-" + std::to_string(::getpid()));
    std::this_thread::sleep_for(milliseconds(15));
    nodes.first.poll();  // copies
    nodes.send(10);      // within 10 ms, unless the machine is slow
    const std::uint64_t sent = nodes.first.counters(1).sent;
    std::atomic<bool> over = false;
    std::thread waits([&] { nodes.first.wait([&] { return over.load(); }, 2 * patience); });
    const auto end = std::chrono::steady_clock::now() + patience;
    std::uint64_t seen = 0;
    while (seen < sent && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(milliseconds(1));
        const auto all = shown();
        if (!all[0].rows.empty()) seen = value(all[0], all[0].rows[0], "sent");
    }
    EXPECT_GE(seen, sent) << "the wait may also have asked the peer, which is silent";
    over = true;
    nodes.first.wake();
    waits.join();
}

TEST(EndpointCounters, AreNotShownIfTheOptionSaysSo) {
    TwoNodes nodes("", false);
    nodes.send(10);
    EXPECT_TRUE(shown().empty());
}

TEST(EndpointCounters, EndWithTheEndpointAndMoveWithIt) {
    TwoNodes nodes("");
    Endpoint moved = std::move(nodes.first);
    EXPECT_EQ(shown().size(), 2U);
    moved.close(milliseconds(1));
    ASSERT_EQ(shown().size(), 1U);
    EXPECT_EQ(detail(shown()[0].details, "node"), "1");
    nodes.second = TwoNodes::open("", 0, true);
    ASSERT_EQ(shown().size(), 1U);
    EXPECT_EQ(detail(shown()[0].details, "node"), "0");
}

TEST(EndpointCounters, ShowTheNewAddressOfAPeer) {
    TwoNodes nodes("");
    nodes.send(1);
    nodes.settle();
    ASSERT_EQ(detail(shown()[0].rows[0].details, "address"), nodes.second.local_address());
    const Endpoint third = TwoNodes::open("", 1, false);
    ASSERT_TRUE(nodes.first.set_peer_address(1, third.local_address()));
    nodes.settle();
    EXPECT_EQ(detail(shown()[0].rows[0].details, "address"), third.local_address());
}

TEST(EndpointCounters, OfAParentAreNotWrittenByItsChild) {
    TwoNodes nodes("");
    nodes.send(10);
    nodes.settle();
    const std::uint64_t sent = nodes.first.counters(1).sent;
    EXPECT_EQ(host::test::in_child([&] {
                  nodes.first.poll();
                  nodes.first.wait({}, milliseconds(20));
                  if (!shown().empty()) return 1;
                  TwoNodes own("");
                  own.send(3);
                  return shown().size() == 2 ? 42 : 2;
              }),
              42);
    ASSERT_EQ(shown().size(), 2U);
    EXPECT_EQ(value(shown()[0], shown()[0].rows[0], "sent"), sent);
}

// With more peers than are copied before a sleep, the sleep ends once for the copy, and then lasts.
TEST(EndpointCounters, ManyPeersAreCopiedDuringAWait) {
    constexpr std::size_t peers = 12;
    Options options;
    options.peer_timeout = std::chrono::hours(24);  // no keep-alive ends a sleep
    options.peers.assign(peers + 1, "");
    options.peers[0] = "127.0.0.1:0";
    auto first = Endpoint::open(options);
    ASSERT_TRUE(first);
    std::vector<Endpoint> others;
    for (std::size_t i = 1; i <= peers; ++i) {
        Options of_peer;
        of_peer.peer_timeout = options.peer_timeout;
        of_peer.self = i;
        of_peer.peers.assign(peers + 1, "");
        of_peer.peers[0] = first->local_address();
        of_peer.peers[i] = "127.0.0.1:0";
        of_peer.publish_counters = false;
        others.push_back(std::move(*Endpoint::open(of_peer)));
        ASSERT_TRUE(first->set_peer_address(i, others.back().local_address()));
    }
    first->poll();
    const auto meet = [&] {
        for (std::size_t i = 1; i <= peers; ++i) {
            EXPECT_EQ(first->request(i, 1), Status::ok);
        }
        while (!first->idle() || !std::ranges::all_of(others, &Endpoint::idle)) {
            first->poll();
            for (Endpoint& other : others) other.poll();
        }
    };
    meet();
    std::this_thread::sleep_for(milliseconds(15));
    first->poll();  // copies
    meet();
    std::vector<std::uint64_t> sent(peers + 1);
    for (std::size_t i = 1; i <= peers; ++i) sent[i] = first->counters(i).sent;
    // Another process would see the values while the Endpoint still waits.
    std::atomic<bool> seen = false;
    std::atomic<bool> over = false;
    std::thread reader([&] {
        while (!over && !seen) {
            const auto all = shown();
            seen = all.size() == 1 && all[0].rows.size() == peers &&
                   std::ranges::all_of(all[0].rows, [&](const PublishedRow& row) {
                       return value(all[0], row, "sent") >= sent[std::stoul(row.name)];
                   });
            if (seen) first->wake();
            std::this_thread::sleep_for(milliseconds(1));
        }
    });
    EXPECT_TRUE(first->wait([&] { return seen.load(); }, patience));
    over = true;
    reader.join();
}

}  // namespace
}  // namespace wireproof::am::test
