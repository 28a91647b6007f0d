// Tests how nodes meet, part, meet again, and refuse strangers.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof {
namespace {

using namespace shm_test;

TEST(ShmWire, RefusesAConfigThatCannotWork) {
    const std::string name = unique_name();
    EXPECT_EQ(error_of({}), "shm wire: no name of the job to meet at");
    EXPECT_EQ(error_of({.name = name, .nodes = 1}), "shm wire: nodes is 1, not 2 to 65536");
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
        // Only the node that calls has a deadline.
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

/// This process may open so many further descriptors, and no more, while the object exists.
class NoDescriptors {
public:
    explicit NoDescriptors(int besides = 0) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int free = ::dup(0);
        ::close(free);
        const rlimit none{static_cast<rlim_t>(free + besides), before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;
    ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

bool is_readable(int handle) {
    pollfd wanted{.fd = handle, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, 0) == 1;
}

TEST(ShmWire, ACallerWaitsUntilThereIsADescriptorForIt) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name});
    ShmWire b = open({.name = name, .node = 1});
    EXPECT_EQ(next(b, time.pass()), "nothing");  // calls a
    {
        const NoDescriptors none;
        EXPECT_TRUE(is_readable(a.wait_handle()));
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(next(a, time.pass()), "nothing");
            EXPECT_FALSE(is_readable(a.wait_handle())) << "a sleeper would not sleep";
            EXPECT_GT(a.next_deadline(), time.now());
            ASSERT_LE(a.next_deadline(), time.now() + Duration::milliseconds(10));
            while (time.now() < a.next_deadline()) time.pass();
        }
        EXPECT_FALSE(a.connected(one));
        EXPECT_EQ(a.trouble(one).cause, "cannot accept a caller: Too many open files");
    }
    ASSERT_TRUE(meet(a, one, b, zero, time));
    EXPECT_EQ(a.trouble(one).cause, "");
    EXPECT_EQ(a.next_deadline(), never);
    ASSERT_TRUE(send(b, zero, "here"));
    EXPECT_EQ(next(a, time.now()), "1:here");
}

TEST(ShmWire, ACallerSaysWhyItCannotMeetAPeer) {
    const std::string name = unique_name();
    Time time;
    ShmWire caller = open({.name = name, .node = 1});
    const auto cause_of_calls = [&] {
        for (int i = 0; i < 50; ++i) EXPECT_EQ(next(caller, time.pass()), "nothing");
        return caller.trouble(zero).cause;
    };
    EXPECT_EQ(cause_of_calls(), "") << "nobody has come";
    {
        const NoDescriptors none;
        EXPECT_EQ(cause_of_calls(), "cannot call @wireproof/" + name + "/0: Too many open files");
    }
    EXPECT_EQ(cause_of_calls(), "");
    ShmWire there = open({.name = name, .job = 7});
    {
        const NoDescriptors none(1);  // one is free, for the socket
        EXPECT_EQ(cause_of_calls(),
                  "cannot make 1052672 bytes of shared memory: Too many open files");
    }
    for (int i = 0; i < 100; ++i) caller.receive(time.pass()), there.receive(time.now());
    EXPECT_GT(caller.counters().refused_by_peers, 0U);
    EXPECT_EQ(caller.trouble(zero).cause,
              "the node there refuses this one: it is of another job, has other settings, or has "
              "no memory");
    there = open({.name = unique_name()});
    EXPECT_EQ(cause_of_calls(), "");
}

TEST(ShmWire, OnlyMembersMeet) {
    const std::string name = unique_name();
    EXPECT_EQ(error_of({.name = name, .nodes = 3, .members = {true, true}}),
              "shm wire: members has 2 entries for 3 nodes");
    EXPECT_EQ(error_of({.name = name, .node = 2, .nodes = 3, .members = {true, true, false}}),
              "shm wire: node 2 is no member");
    Time time;
    ShmWire a = open({.name = name, .node = 0, .nodes = 3, .members = {true, true, false}});
    ShmWire b = open({.name = name, .node = 1, .nodes = 3, .members = {true, true, false}});
    // Node 2 does not know that it is no member for the others: it calls them, and they refuse.
    ShmWire stranger = open({.name = name, .node = 2, .nodes = 3});
    ASSERT_TRUE(meet(a, one, b, zero, time));
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(next(stranger, time.pass()), "nothing");
        EXPECT_EQ(next(a, time.now()), "nothing");
        EXPECT_EQ(next(b, time.now()), "nothing");
    }
    EXPECT_FALSE(stranger.connected(zero) || stranger.connected(one));
    EXPECT_FALSE(a.connected(PeerId{2}) || b.connected(PeerId{2}));
    EXPECT_GT(stranger.counters().refused_by_peers, 0U);
    EXPECT_EQ(a.lane(PeerId{2}).claim(), nullptr);
    EXPECT_EQ(a.next_deadline(), never);  // nobody is left to call
    EXPECT_EQ(b.next_deadline(), never);
    ASSERT_TRUE(send(b, zero, "here"));
    EXPECT_EQ(next(a, time.now()), "1:here");
    // A node calls those with smaller numbers, but not one that is no member.
    const std::string other = unique_name();
    ShmWire c = open({.name = other, .node = 1, .nodes = 3, .members = {false, true, true}});
    ShmWire d = open({.name = other, .node = 2, .nodes = 3, .members = {false, true, true}});
    ASSERT_TRUE(meet(c, PeerId{2}, d, one, time));
    EXPECT_EQ(c.next_deadline(), never);
    EXPECT_EQ(d.next_deadline(), never);
}

// The peer sees a notice without a frame, a flush or a receive. Each life of the peer sees it
// again.
TEST(ShmWire, ANoticeIsSeenAtOnceByThePeersThatAreThere) {
    for (const std::size_t stays : {0U, 1U}) {
        const std::string name = unique_name();
        Time time;
        const auto other = static_cast<PeerId>(1 - stays);
        const auto self = static_cast<PeerId>(stays);
        ShmWire a = open({.name = name, .node = stays});
        a.set_notice(7);
        EXPECT_EQ(a.notice_of(other), std::nullopt);
        {
            ShmWire b = open({.name = name, .node = 1 - stays});
            ASSERT_TRUE(meet(a, other, b, self, time));
            EXPECT_EQ(a.notice_of(other), 0U);
            EXPECT_EQ(b.notice_of(self), 7U);
            a.set_notice(8);
            b.set_notice(3);
            EXPECT_EQ(a.notice_of(other), 3U);
            EXPECT_EQ(b.notice_of(self), 8U);
        }
        EXPECT_EQ(next(a, time.pass()), "nothing");
        EXPECT_EQ(a.notice_of(other), std::nullopt);
        ShmWire b = open({.name = name, .node = 1 - stays});
        ASSERT_TRUE(meet(a, other, b, self, time));
        EXPECT_EQ(a.notice_of(other), 0U);
        EXPECT_EQ(b.notice_of(self), 8U);
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

// In a forked child, the sockets are copies of its parent's; here they are the only ones.
TEST(ShmWire, AWireThatIsAbandonedKeepsNoSocketToItsPeerNorItsPlace) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    ShmWire b = open({.name = name, .node = 1});
    ASSERT_TRUE(meet(a, one, b, zero, time));
    b.abandon();
    EXPECT_EQ(next(a, time.pass()), "nothing");
    EXPECT_EQ(event(a), "1 gone");
    EXPECT_EQ(error_of({.name = name, .node = 1}), "none");
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
        for (int turn = 0; turn < 2; ++turn) a.receive(time.pass());  // the last call of b
        refused = a.counters().refused_hellos;
    }
    // Messages that are no greetings.
    auto socket = connect_to({name, 0});
    ASSERT_TRUE(socket.has_value());
    ASSERT_TRUE(socket->send(bytes_of("good morning")));
    a.receive(time.pass());
    a.receive(time.pass());
    EXPECT_EQ(a.counters().refused_hellos, refused + 1);
    // A right greeting, but its descriptor is not the memory of a segment.
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
    // After all this, the right node is still accepted.
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
              "shm wire: cannot listen at @wireproof/" + name + "/0: another node listens there");

    const std::string folder = testing::TempDir() + unique_name();
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    const std::string path = folder + "/job";
    {
        const ShmWire living = open({.name = path, .node = 0});
        EXPECT_TRUE(std::filesystem::exists(path + ".0"));
        EXPECT_EQ(error_of({.name = path, .node = 0}),
                  "shm wire: cannot listen at " + path + ".0: another node listens there");
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    // The state that a killed owner leaves: the path is bound, and nobody listens.
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

TEST(ShmWire, APathIsTakenFromNoOwnerThatMayLive) {
    const std::string folder = testing::TempDir() + unique_name();
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    const std::string path = folder + "/job";
    const auto refused = [&](const std::string& why) {
        EXPECT_EQ(error_of({.name = path, .node = 0}),
                  "shm wire: cannot listen at " + path + ".0: " + why);
        EXPECT_TRUE(std::filesystem::exists(path + ".0"));
    };
    {
        // So many callers wait that the kernel takes no more.
        const ShmWire busy = open({.name = path, .node = 0});
        std::vector<ControlSocket> callers;
        while (auto caller = connect_to({path, 0})) {
            callers.push_back(std::move(*caller));
            ASSERT_LT(callers.size(), 10'000U);
        }
        refused("another node listens there");
    }
    std::ofstream(path + ".0") << "a file of somebody else\n";
    refused("a file that is no socket is there");
    std::filesystem::remove(path + ".0");
    {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        (path + ".0").copy(at.sun_path, sizeof at.sun_path - 1);
        const Descriptor other(::socket(AF_UNIX, SOCK_DGRAM, 0));  // of another program
        ASSERT_EQ(
            ::bind(other.handle(), static_cast<sockaddr*>(static_cast<void*>(&at)), sizeof at), 0);
        refused("Protocol wrong type for socket");
    }
    std::filesystem::remove_all(folder);
}

TEST(ShmWire, LeavesNoDescriptorOpen) {
    const std::size_t before = open_descriptors();
    {
        Time time;
        const std::string name = unique_name();
        ShmWire a = open({.name = name, .node = 0});
        ShmWire b = open({.name = name, .node = 1});
        ASSERT_TRUE(meet(a, one, b, zero, time));
        // Each node has epoll, listener and socket: the rings need no descriptor once they are
        // mapped.
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

}  // namespace
}  // namespace wireproof
