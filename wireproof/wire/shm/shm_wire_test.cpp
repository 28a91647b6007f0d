// Nodes of one process: what they carry, how they meet and part, and how they sleep. Time is turned
// by hand.
#include "wireproof/wire/shm/shm_wire.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace wireproof {
namespace {

constexpr PeerId zero{0};
constexpr PeerId one{1};

ConstBytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(ConstBytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) text.push_back(static_cast<char>(byte));
    return text;
}

std::string unique_name() {
    static int count = 0;
    return "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

ShmWire open(const ShmWire::Config& config) {
    auto wire = ShmWire::open(config);
    EXPECT_TRUE(wire.has_value()) << wire.error().message;
    return std::move(*wire);
}

std::string error_of(const ShmWire::Config& config) {
    const auto wire = ShmWire::open(config);
    return wire ? "none" : wire.error().message;
}

std::pair<ShmWire, ShmWire> pair(const ShmWire::Config& config = {}) {
    auto wires = ShmWire::pair(config);
    WIREPROOF_CHECK(wires.has_value());
    return std::move(*wires);
}

/// The first letter is written in place, the rest is pointed at.
bool commit(ShmWire& wire, PeerId to, std::string_view text) {
    TxFrame* const frame = wire.lane(to).claim();
    if (frame == nullptr) return false;
    if (!text.empty()) {
        frame->add_header<1>()[0] = static_cast<std::byte>(text.front());
        frame->add_payload(bytes_of(text.substr(1)));
    }
    wire.lane(to).commit();
    return true;
}

class Time {
public:
    Instant now() const { return now_; }
    Instant pass() { return now_ = now_ + Duration::milliseconds(2); }

private:
    Instant now_{Duration::milliseconds(5)};
};

bool send(ShmWire& wire, PeerId to, std::string_view text) {
    if (!commit(wire, to, text)) return false;
    wire.flush(Instant());
    return true;
}

/// "<peer>:<text>" of the next frame, "nothing" without one.
std::string next(ShmWire& wire, Instant now = Instant()) {
    const auto frame = wire.receive(now);
    if (!frame) return "nothing";
    EXPECT_EQ(frame->integrity, Integrity::intact);
    return std::to_string(static_cast<int>(frame->from)) + ":" + text_of(frame->bytes);
}

std::string event(ShmWire& wire) {
    const auto event = wire.next_event();
    if (!event) return "none";
    return std::to_string(static_cast<int>(event->first)) +
           (event->second == WireEvent::peer_gone ? " gone" : " anew");
}

/// Lets time pass until both are connected; false: they never are.
bool meet(ShmWire& a, PeerId of_a, ShmWire& b, PeerId of_b, Time& time) {
    for (int i = 0; i < 500; ++i) {
        if (a.connected(of_a) && b.connected(of_b)) return true;
        a.receive(time.pass());
        b.receive(time.now());
    }
    return false;
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(ShmWire, CarriesFramesBothWaysAsTheyWereSent) {
    auto [a, b] = pair();
    EXPECT_EQ(a.lane(one).terms().frame_max, 16U * 1024 - 8);
    EXPECT_TRUE(a.lane(one).terms().carries_all);
    EXPECT_TRUE(a.lane(one).terms().carries_intact);
    EXPECT_EQ(next(b), "nothing");
    ASSERT_TRUE(commit(a, one, "first"));
    ASSERT_TRUE(commit(a, one, ""));
    EXPECT_EQ(next(b), "nothing");  // not flushed
    a.flush(Instant());
    ASSERT_TRUE(send(b, zero, "back"));
    EXPECT_EQ(next(b), "0:first");
    EXPECT_EQ(next(b), "0:");
    EXPECT_EQ(next(b), "nothing");
    EXPECT_EQ(next(a), "1:back");
    EXPECT_EQ(a.counters().frames_sent, 2U);
    EXPECT_EQ(b.counters().bytes_received, 5U);
    EXPECT_EQ(event(a) + event(b), "nonenone");
    EXPECT_EQ(a.next_deadline(), never);
}

TEST(ShmWire, CarriesTheLongestFrameRoundTheRingManyTimes) {
    auto [a, b] = pair({.frame_max = 1016, .lines = 64});
    for (int i = 0; i < 1000; ++i) {
        const std::string text(static_cast<std::size_t>(1016 - i % 200),
                               static_cast<char>('a' + i % 26));
        ASSERT_TRUE(send(a, one, text)) << i;
        ASSERT_EQ(next(b), "0:" + text);
        ASSERT_EQ(next(b), "nothing");
    }
}

TEST(ShmWire, AFullRingStopsOneLaneAndLosesNothing) {
    auto [a, b] = pair({.frame_max = 56, .lines = 64});
    int sent = 0;
    while (commit(a, one, "frame " + std::to_string(sent))) ++sent;
    EXPECT_EQ(sent, 62);
    EXPECT_EQ(a.counters().full_rings, 1U);
    a.flush(Instant());
    for (int i = 0; i < sent; ++i) ASSERT_EQ(next(b), "0:frame " + std::to_string(i));
    EXPECT_EQ(next(b), "nothing");
    EXPECT_TRUE(send(a, one, "again"));
    EXPECT_EQ(next(b), "0:again");
}

TEST(ShmWire, SaysNothingNowAndThenSoThatTheCallersLoopComesRound) {
    auto [a, b] = pair({.batch = 3});
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(send(a, one, "x"));
    std::string heard;
    for (int i = 0; i < 5; ++i) heard += next(b);
    EXPECT_EQ(heard, "0:x0:x0:xnothing0:x");
}

TEST(ShmWire, RefusesAConfigThatCannotWork) {
    const std::string name = unique_name();
    EXPECT_EQ(error_of({}), "shm wire: no name of the job to meet at");
    EXPECT_EQ(error_of({.name = name, .nodes = 1}), "shm wire: nodes is 1, not 2 to 4096");
    EXPECT_EQ(error_of({.name = name, .node = 2}), "shm wire: node 2 of 2");
    EXPECT_EQ(error_of({.name = name, .lines = 100}),
              "shm wire: lines is 100, not a power of two in whole pages up to 4194304");
    EXPECT_EQ(error_of({.name = name, .frame_max = 1024, .lines = 64}),
              "shm wire: frame_max is 1024, not 48 to 1016");
    EXPECT_EQ(error_of({.name = name, .batch = 0}), "shm wire: batch is 0");
    EXPECT_EQ(error_of({.name = std::string(100, 'x')}),
              "shm wire: @wireproof/" + std::string(100, 'x') + "/1 is longer than 107 bytes");
}

TEST(ShmWire, NodesMeetInWhateverOrderTheyCome) {
    for (const std::size_t first : {0U, 1U}) {
        const std::string name = unique_name();
        Time time;
        ShmWire early = open({.name = name, .node = first});
        const auto late_number = static_cast<PeerId>(1 - first);
        EXPECT_EQ(early.lane(late_number).claim(), nullptr);
        for (int i = 0; i < 50; ++i) EXPECT_EQ(next(early, time.pass()), "nothing");
        // Only the one who calls has something to do later.
        EXPECT_EQ(early.next_deadline() != never, first == 1U);
        ShmWire late = open({.name = name, .node = 1 - first});
        const auto early_number = static_cast<PeerId>(first);
        ASSERT_TRUE(meet(early, late_number, late, early_number, time));
        EXPECT_EQ(early.next_deadline(), never);
        ASSERT_TRUE(send(late, early_number, "here"));
        EXPECT_EQ(next(early, time.now()), std::to_string(1 - first) + ":here");
        EXPECT_EQ(event(early) + event(late), "nonenone");  // a first life is no event
    }
}

TEST(ShmWire, FramesThatArrivedAreReceivedBeforeThePeerIsGone) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    {
        ShmWire b = open({.name = name, .node = 1});
        ASSERT_TRUE(meet(a, one, b, zero, time));
        ASSERT_TRUE(send(b, zero, "last words"));
        ASSERT_TRUE(commit(b, zero, "never flushed"));
    }
    EXPECT_EQ(event(a), "none");
    EXPECT_EQ(next(a, time.pass()), "1:last words");
    EXPECT_EQ(event(a), "none");
    EXPECT_EQ(next(a, time.pass()), "nothing");
    EXPECT_EQ(event(a), "1 gone");
    EXPECT_EQ(a.lane(one).claim(), nullptr);
    EXPECT_EQ(a.counters().peers_gone, 1U);
}

TEST(ShmWire, ALaterLifeIsAnEventBeforeItsFirstFrame) {
    for (const std::size_t stays : {0U, 1U}) {
        const std::string name = unique_name();
        Time time;
        const auto other = static_cast<PeerId>(1 - stays);
        const auto self = static_cast<PeerId>(stays);
        const std::string number = std::to_string(1 - stays);
        ShmWire a = open({.name = name, .node = stays});
        auto b = std::make_unique<ShmWire>(open({.name = name, .node = 1 - stays}));
        ASSERT_TRUE(meet(a, other, *b, self, time));
        ASSERT_TRUE(send(*b, self, "old"));
        b.reset();
        EXPECT_EQ(next(a, time.pass()), number + ":old");
        EXPECT_EQ(next(a, time.pass()), "nothing");
        EXPECT_EQ(event(a), number + " gone");
        b = std::make_unique<ShmWire>(open({.name = name, .node = 1 - stays}));
        ASSERT_TRUE(meet(a, other, *b, self, time));
        ASSERT_TRUE(send(*b, self, "new"));
        EXPECT_EQ(next(a, time.pass()), "nothing");
        EXPECT_FALSE(a.prepare_to_sleep());
        EXPECT_EQ(event(a), number + " anew");
        EXPECT_EQ(next(a, time.pass()), number + ":new");
        EXPECT_EQ(event(*b), "none");
    }
}

TEST(ShmWire, ALifeThatReplacesAnotherUnnoticedWaitsUntilTheOldFramesAreReceived) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    auto b = std::make_unique<ShmWire>(open({.name = name, .node = 1}));
    ASSERT_TRUE(meet(a, one, *b, zero, time));
    ASSERT_TRUE(send(*b, zero, "old"));
    b.reset();
    b = std::make_unique<ShmWire>(open({.name = name, .node = 1}));  // calls before a looks
    EXPECT_EQ(next(a, time.pass()), "1:old");
    EXPECT_EQ(next(a, time.pass()), "nothing");
    for (int i = 0; i < 5; ++i) b->receive(time.pass()), a.receive(time.now());
    std::string events;
    for (std::string last; last != "none";) events += (last = event(a)) + " ";
    EXPECT_TRUE(events == "1 anew none " || events == "1 gone 1 anew none ") << events;
    ASSERT_TRUE(meet(a, one, *b, zero, time));
    ASSERT_TRUE(send(*b, zero, "new"));
    EXPECT_EQ(next(a, time.pass()), "1:new");
}

TEST(ShmWire, RoomClaimedInAFormerLifeMayStillBeWritten) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    auto b = std::make_unique<ShmWire>(open({.name = name, .node = 1}));
    ASSERT_TRUE(meet(a, one, *b, zero, time));
    TxFrame* const claimed = a.lane(one).claim();
    ASSERT_NE(claimed, nullptr);
    b = std::make_unique<ShmWire>(open({.name = unique_name(), .node = 1}));
    EXPECT_EQ(next(a, time.pass()), "nothing");
    EXPECT_EQ(event(a), "1 gone");
    std::ranges::fill(claimed->add_room(100), std::byte{1});
    a.lane(one).commit();
    a.flush(time.now());
    EXPECT_EQ(a.counters().frames_sent, 0U);
}

TEST(ShmWire, RefusesStrangersAndCountsThem) {
    const std::string name = unique_name();
    const ShmWire::Config config{.name = name, .node = 0};
    Time time;
    ShmWire a = open(config);
    std::uint64_t refused = 0;
    for (int i = 0; i < 4; ++i) {
        ShmWire::Config other = config;
        other.node = 1;
        if (i == 0) other.job = 7;
        if (i == 1) other.frame_max = 2000;
        if (i == 2) other.lines = 4096, other.frame_max = 16 * 1024 - 8;
        if (i == 3) other.nodes = 3;
        ShmWire b = open(other);
        for (int turn = 0; turn < 4; ++turn) b.receive(time.pass()), a.receive(time.now());
        EXPECT_FALSE(b.connected(zero));
        EXPECT_FALSE(a.connected(one));
        EXPECT_GT(a.counters().refused_hellos, refused);
        EXPECT_GT(b.counters().refused_by_peers, 0U);
        for (int turn = 0; turn < 2; ++turn) a.receive(time.pass());  // its last call
        refused = a.counters().refused_hellos;
    }
    // What is no greeting at all.
    auto socket = connect_to({name, 0});
    ASSERT_TRUE(socket.has_value());
    ASSERT_TRUE(socket->send(bytes_of("good morning")));
    a.receive(time.pass());
    a.receive(time.pass());
    EXPECT_EQ(a.counters().refused_hellos, refused + 1);
    // A proper greeting with something else for the memory.
    for (const std::size_t size : {std::size_t{0}, std::size_t{4096}}) {
        socket = connect_to({name, 0});
        std::array<std::byte, Greeting::size> hello{};
        Greeting{.node = 1, .nodes = 2, .frame_max = 16 * 1024 - 8, .lines = 8192}.encode(hello);
        const Descriptor memory =
            size == 0 ? Descriptor(::dup(0)) : std::move(*make_sealed_memory("short", size));
        ASSERT_TRUE(socket->send(hello, memory.handle()));
        a.receive(time.pass());
        a.receive(time.pass());
    }
    EXPECT_EQ(a.counters().refused_hellos, refused + 3);
    EXPECT_FALSE(a.connected(one));
    // And none of this kept the right one out.
    ShmWire b = open({.name = name, .node = 1});
    EXPECT_TRUE(meet(a, one, b, zero, time));
}

TEST(ShmWire, StrangersWhoSayNothingDoNotKeepNodesOut) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    std::vector<ControlSocket> silent;
    for (int i = 0; i < 200; ++i) {
        if (auto socket = connect_to({name, 0})) silent.push_back(std::move(*socket));
        a.receive(time.pass());
    }
    EXPECT_EQ(silent.size(), 200U);
    ShmWire b = open({.name = name, .node = 1});
    EXPECT_TRUE(meet(a, one, b, zero, time));
    EXPECT_GT(a.counters().refused_hellos, 100U);
}

TEST(ShmWire, APlaceIsTakenOnceAndADeadOwnersPathIsReplaced) {
    const std::string name = unique_name();
    const ShmWire holder = open({.name = name, .node = 0});
    EXPECT_EQ(error_of({.name = name, .node = 0}),
              "shm wire: cannot listen at @wireproof/" + name + "/0: a node lives there");

    const std::string folder = testing::TempDir() + unique_name();
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    const std::string path = folder + "/job";
    {
        const ShmWire living = open({.name = path, .node = 0});
        EXPECT_TRUE(std::filesystem::exists(path + ".0"));
        EXPECT_EQ(error_of({.name = path, .node = 0}),
                  "shm wire: cannot listen at " + path + ".0: a node lives there");
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    // As a killed owner leaves it: bound, and nobody listens.
    {
        const Descriptor dead(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        (path + ".0").copy(at.sun_path, sizeof at.sun_path - 1);
        ASSERT_EQ(::bind(dead.handle(), static_cast<sockaddr*>(static_cast<void*>(&at)), sizeof at),
                  0);
    }
    EXPECT_FALSE(std::filesystem::is_empty(folder));
    {
        Time time;
        ShmWire a = open({.name = path, .node = 0});
        ShmWire b = open({.name = path, .node = 1});
        EXPECT_TRUE(meet(a, one, b, zero, time));
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove(folder);
    EXPECT_EQ(error_of({.name = folder + "/none", .node = 0}),
              "shm wire: cannot listen at " + folder + "/none.0: No such file or directory");
}

TEST(ShmWire, LeavesNoDescriptorOpen) {
    const std::size_t before = open_descriptors();
    {
        Time time;
        const std::string name = unique_name();
        ShmWire a = open({.name = name, .node = 0});
        ShmWire b = open({.name = name, .node = 1});
        ASSERT_TRUE(meet(a, one, b, zero, time));
        // Epoll, listener and socket for each: the rings need no descriptor once mapped.
        EXPECT_EQ(open_descriptors(), before + 6);
        auto [c, d] = pair();
        ASSERT_TRUE(send(c, one, "x"));
        const Bytes memory = *c.allocate_shared(10'000);
        ASSERT_TRUE(c.share(one, 5, memory, true, true));
        c.flush(Instant());
        EXPECT_EQ(next(d), "0:x");
        EXPECT_EQ(next(d), "nothing");
        EXPECT_TRUE(d.write_memory(zero, 5, bytes_of("hello")));
    }
    EXPECT_EQ(open_descriptors(), before);
}

bool rings(const ShmWire& wire) {
    pollfd wanted{wire.wait_handle(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
}

TEST(ShmWire, RingsTheBellOnceForASleeperAndNeverForOthers) {
    auto [a, b] = pair();
    ASSERT_TRUE(send(a, one, "awake"));
    EXPECT_FALSE(rings(b));
    EXPECT_FALSE(b.prepare_to_sleep());  // a frame is there
    EXPECT_EQ(next(b), "0:awake");
    EXPECT_EQ(next(b), "nothing");
    EXPECT_TRUE(b.prepare_to_sleep());
    EXPECT_FALSE(rings(b));
    ASSERT_TRUE(commit(a, one, "wake"));
    EXPECT_FALSE(rings(b));
    a.flush(Instant());
    EXPECT_TRUE(rings(b));
    ASSERT_TRUE(send(a, one, "up"));
    EXPECT_EQ(a.counters().doorbells_rung, 1U);
    EXPECT_EQ(next(b), "0:wake");
    EXPECT_EQ(next(b), "0:up");
    EXPECT_EQ(next(b), "nothing");
    ASSERT_TRUE(send(a, one, "awake again"));
    EXPECT_EQ(a.counters().doorbells_rung, 1U);
    EXPECT_EQ(next(b), "0:awake again");
    EXPECT_EQ(next(b), "nothing");
    EXPECT_TRUE(b.prepare_to_sleep());
    EXPECT_FALSE(rings(b)) << "the old bell is still heard";
}

TEST(ShmWire, RoomWakesASleeperThatLackedIt) {
    auto [a, b] = pair({.frame_max = 56, .lines = 64});
    for (const bool wants_more : {true, false}) {
        while (b.receive(Instant()) || b.receive(Instant())) {
        }
        int sent = 0;
        for (; sent < 50; ++sent) ASSERT_TRUE(send(a, one, "x"));
        while (wants_more && send(a, one, "x")) ++sent;
        ASSERT_TRUE(a.prepare_to_sleep());
        for (int i = 0; i < 20; ++i) EXPECT_EQ(next(b), "0:x");
        EXPECT_EQ(rings(a), wants_more);
        EXPECT_EQ(b.counters().doorbells_rung, 1U);
        EXPECT_EQ(next(a), "nothing");
    }
    // Room that came before the sleep is said once.
    while (send(a, one, "x")) {
    }
    for (int i = 0; i < 20; ++i) EXPECT_EQ(next(b), "0:x");
    EXPECT_FALSE(a.prepare_to_sleep());
    EXPECT_TRUE(a.prepare_to_sleep());
}

TEST(ShmWire, ADyingPeerWakesASleeper) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    auto b = std::make_unique<ShmWire>(open({.name = name, .node = 1}));
    ASSERT_TRUE(meet(a, one, *b, zero, time));
    while (!a.prepare_to_sleep()) a.receive(time.now());
    EXPECT_FALSE(rings(a));
    b.reset();
    EXPECT_TRUE(rings(a));
    EXPECT_EQ(next(a, time.now()), "nothing");
    EXPECT_EQ(event(a), "1 gone");
}

TEST(ShmWire, EndsAPeerThatWritesWhatIsNoLength) {
    auto sockets = ControlSocket::pair();
    ASSERT_TRUE(sockets.has_value());
    auto a = ShmWire::adopt({.node = 0}, std::move(sockets->first));
    ASSERT_TRUE(a.has_value());
    Segment segment = std::move(*Segment::create(8192));
    std::array<std::byte, Greeting::size> hello{};
    Greeting{.node = 1, .nodes = 2, .frame_max = 16 * 1024 - 8, .lines = 8192}.encode(hello);
    ASSERT_TRUE(sockets->second.send(hello, segment.memory().handle()));
    EXPECT_EQ(next(*a, Instant(Duration::milliseconds(2))), "nothing");
    ASSERT_TRUE(a->connected(one));
    TxFrame* const claimed = a->lane(one).claim();
    ASSERT_NE(claimed, nullptr);
    shared_word<std::uint32_t>(segment.ring_filled_by(1).lines_at).store(~0U);
    EXPECT_EQ(next(*a), "nothing");
    EXPECT_EQ(event(*a), "1 gone");
    EXPECT_EQ(a->counters().malformed_peers, 1U);
    EXPECT_FALSE(a->connected(one));
    EXPECT_EQ(a->lane(one).claim(), nullptr);
    EXPECT_EQ(next(*a, Instant(Duration::milliseconds(9))), "nothing");
}

TEST(ShmWire, LanesStayWhereTheyAreWhenTheWireMoves) {
    auto [a, b] = pair();
    ShmLane* const lane = &a.lane(one);
    ShmWire moved = std::move(a);
    EXPECT_EQ(&moved.lane(one), lane);
    ASSERT_TRUE(send(moved, one, "still here"));
    EXPECT_EQ(next(b), "0:still here");
}

TEST(ShmWire, TakesTurnsAmongPeers) {
    const std::string name = unique_name();
    Time time;
    std::vector<ShmWire> wires;
    for (std::size_t i = 0; i < 3; ++i) {
        wires.push_back(open({.name = name, .node = i, .nodes = 3}));
    }
    for (int i = 0; i < 20; ++i) {
        time.pass();
        for (ShmWire& wire : wires) wire.receive(time.now());
    }
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(send(wires[1], zero, "1"));
        ASSERT_TRUE(send(wires[2], zero, "2"));
    }
    std::string order;
    for (int i = 0; i < 200; ++i) order += text_of(wires[0].receive(time.now())->bytes);
    EXPECT_EQ(order.substr(0, 64), std::string(32, order[0]) + std::string(32, order[32]));
    EXPECT_NE(order[0], order[32]);
    EXPECT_EQ(std::ranges::count(order, '1'), 100);
}

}  // namespace
}  // namespace wireproof
