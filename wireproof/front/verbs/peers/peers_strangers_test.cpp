// Processes of this host that are not devices: the messages that they send, the descriptors that
// they pass on, and the bytes that they write into shared memory.
#include <poll.h>
#include <sys/mman.h>

#include "wireproof/front/verbs/objects/descriptors_test_kit.hpp"
#include "wireproof/front/verbs/peers/peers_test_kit.hpp"

namespace wireproof::verbs::peers_test {
namespace {

TEST(VerbsPeers, APeerThatSaysWhatNoDeviceSaysIsLetGo) {
    Clock clock;
    End a(1);
    for (const std::size_t size : {1U, 47U, 48U, 49U, 128U}) {
        Stranger stranger;
        stranger.say(std::vector<std::byte>(size, std::byte{0xA5}));
        hear(a, clock);
        EXPECT_TRUE(stranger.is_refused()) << size;
    }
    for (const auto kind :
         {PeerMessage::Kind::welcome, PeerMessage::Kind::ping, PeerMessage::Kind::pong}) {
        Stranger stranger;
        stranger.say({.kind = kind, .life = 7, .address = address_of(2)});
        hear(a, clock);
        EXPECT_TRUE(stranger.is_refused());
    }
    Stranger itself;  // no other process has the device's own address
    itself.say({.kind = PeerMessage::Kind::hello, .life = 7, .address = address_of(1)});
    hear(a, clock);
    EXPECT_TRUE(itself.is_refused());
    Stranger twice;
    twice.greet(-1);
    hear(a, clock);
    ASSERT_TRUE(twice.answer());
    EXPECT_TRUE(is_alive(a, a.knows(2), clock.now()));
    twice.greet(-1);
    hear(a, clock);
    EXPECT_FALSE(is_alive(a, a.knows(2), clock.now()));
}

// The device uses only one kind of descriptor: an end of a socket pair of this user.
TEST(VerbsPeers, AForeignDescriptorIsNoMemory) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(::pipe(pipe_ends.data()), 0);
    const Descriptor from(pipe_ends[0]);
    const Descriptor to(pipe_ends[1]);
    const Descriptor file(::memfd_create("foreign", MFD_CLOEXEC));
    for (const int descriptor : {-1, from.handle(), file.handle()}) {
        Clock clock;
        End a(1);
        Stranger stranger;
        stranger.greet(descriptor);
        hear(a, clock);
        const auto welcome = stranger.answer();
        ASSERT_TRUE(welcome);
        EXPECT_EQ(welcome->kind, PeerMessage::Kind::welcome);
        EXPECT_FALSE(welcome->memory);
        EXPECT_FALSE(a.shares(a.knows(2)));
    }
}

TEST(VerbsPeers, ASecondCallOfTheSameLifeIsRefusedAndThatOfAnotherTakesItsPlace) {
    Clock clock;
    End a(1);
    Stranger first;
    first.greet(-1);
    hear(a, clock);
    ASSERT_TRUE(first.answer());
    Stranger again;
    again.greet(-1);
    hear(a, clock);
    EXPECT_TRUE(again.is_refused());
    EXPECT_FALSE(first.is_refused());
    Stranger other;
    other.greet(-1, 8);
    hear(a, clock);
    EXPECT_TRUE(other.answer());
    EXPECT_TRUE(first.is_refused());
}

TEST(VerbsPeers, AWelcomeThatNobodyAskedForEndsThePeer) {
    Clock clock;
    End a(1);
    Stranger stranger;
    stranger.greet(-1);
    hear(a, clock);
    ASSERT_TRUE(stranger.answer());
    stranger.say(PeerMessage::Kind::welcome);
    hear(a, clock);
    EXPECT_TRUE(stranger.is_refused());
}

TEST(VerbsPeers, ACalledProcessThatSaysAnythingBeforeItsWelcomeIsLetGo) {
    using Kind = PeerMessage::Kind;
    for (const Kind kind : {Kind::hello, Kind::ping, Kind::pong}) {
        Clock clock;
        End a(1);
        const auto listener = Listener::open(Stranger::place_of(2));
        const PeerId peer = a.knows(2);
        a.peers.call(peer);
        Stranger called(*listener->accept());
        ASSERT_TRUE(called.answer());
        EXPECT_TRUE(a.peers.holds(clock.now(), peer));
        called.say(kind);
        hear(a, clock);
        EXPECT_TRUE(called.is_refused());
        EXPECT_FALSE(a.peers.holds(clock.now(), peer));
        EXPECT_FALSE(is_alive(a, peer, clock.now()));
    }
}

// When it does not share, it closes the end of the pair that it was offered.
TEST(VerbsPeers, ACalledProcessSharesMemoryOnlyWhereBothWantTo) {
    for (const bool offered : {true, false}) {
        Clock clock;
        End a(1, offered);
        const auto listener = Listener::open(Stranger::place_of(2));
        const PeerId peer = a.knows(2);
        a.peers.call(peer);
        Stranger called(*listener->accept());
        const auto hello = called.answer();
        ASSERT_TRUE(hello);
        EXPECT_EQ(hello->memory, offered);
        ASSERT_EQ(called.came_along().is_open(), offered);
        const auto end = ControlSocket::adopt(std::move(called.came_along()));
        called.say(PeerMessage::Kind::welcome, !offered);
        hear(a, clock);
        EXPECT_FALSE(a.peers.needs_preparing());
        EXPECT_FALSE(a.peers.holds(clock.now(), peer));
        EXPECT_TRUE(is_alive(a, peer, clock.now()));
        ControlSocket::Message nothing;
        if (!offered) continue;
        EXPECT_EQ(end->receive(nothing), ControlSocket::Received::ended);
    }
}

TEST(VerbsPeers, AnEndOfAPairThatCameWithoutAnOfferIsClosed) {
    Clock clock;
    End a(1);
    auto pair = ControlSocket::pair();
    Stranger stranger;
    stranger.greet(pair->second.handle(), 7, false);
    pair->second.close();
    hear(a, clock);
    const auto welcome = stranger.answer();
    ASSERT_TRUE(welcome);
    EXPECT_FALSE(welcome->memory);
    ControlSocket::Message nothing;
    EXPECT_EQ(pair->first.receive(nothing), ControlSocket::Received::ended);
}

TEST(VerbsPeers, ASilentCallerIsClosedFirstWhereThereAreTooMany) {
    Clock clock;
    End a(1);
    std::vector<Stranger> silent(64);
    for (int i = 0; i < 3; ++i) hear(a, clock);
    EXPECT_FALSE(silent[0].is_refused());
    Stranger talks;
    hear(a, clock);
    EXPECT_TRUE(silent[0].is_refused());
    EXPECT_FALSE(silent[1].is_refused());
    talks.greet(-1);
    hear(a, clock);
    EXPECT_TRUE(talks.answer());
}

// The messages of one process must not keep the device from its packets.
TEST(VerbsPeers, OnePollAcceptsSixteenCallersAndReadsSixteenMessages) {
    Clock clock;
    End a(1);
    std::vector<Stranger> callers(17);
    for (Stranger& caller : callers) caller.say(PeerMessage::Kind::ping);
    a.take(clock.pass());
    a.take(clock.pass());
    EXPECT_TRUE(callers[15].is_refused());
    EXPECT_FALSE(callers[16].is_refused());
    a.take(clock.pass());
    EXPECT_TRUE(callers[16].is_refused());

    Stranger stranger;
    stranger.greet(-1);
    hear(a, clock);
    ASSERT_TRUE(stranger.answer());
    for (int i = 0; i < 40; ++i) stranger.say(PeerMessage::Kind::ping);
    for (const int expected : {16, 16, 8}) {
        a.take(clock.pass());
        int answers = 0;
        while (stranger.answer()) ++answers;
        EXPECT_EQ(answers, expected);
    }
}

/// Makes this process run as another user while the object exists.
class AsUser {
public:
    explicit AsUser(uid_t user) { EXPECT_EQ(::seteuid(user), 0); }
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;
    ~AsUser() { EXPECT_EQ(::seteuid(0), 0); }
};

TEST(VerbsPeers, AProcessOfAnotherUserIsNoPeerAndGivesNoMemory) {
    if (::geteuid() != 0) GTEST_SKIP() << "takes root to be two users";
    constexpr uid_t own = 65534;
    constexpr uid_t other = 65533;
    Clock clock;
    std::optional<End> a;
    std::optional<Stranger> foreign;
    std::optional<Stranger> stranger;
    Expected<Listener> listener;
    Expected<std::pair<ControlSocket, ControlSocket>> pair;
    {
        const AsUser user(own);
        a.emplace(1);
        stranger.emplace();
    }
    {
        const AsUser user(other);
        foreign.emplace();
        listener = Listener::open(Stranger::place_of(2));
        pair = ControlSocket::pair();
    }
    const AsUser user(own);
    foreign->greet(-1);
    hear(*a, clock);
    EXPECT_TRUE(foreign->is_refused());
    const PeerId peer = a->knows(2);
    a->peers.call(peer);
    EXPECT_FALSE(a->peers.holds(clock.now(), peer));
    stranger->greet(pair->second.handle());
    hear(*a, clock);
    const auto welcome = stranger->answer();
    ASSERT_TRUE(welcome);
    EXPECT_FALSE(welcome->memory);
}

// Meanwhile the waiting caller must not wake the device again and again.
TEST(VerbsPeers, ACallerWaitsWhereNoDescriptorIsLeft) {
    Clock clock;
    End a(1);
    Stranger stranger;
    stranger.greet(-1);
    {
        std::vector<Descriptor> taken;
        const test::Below limit(128);
        for (int one = ::dup(0); one >= 0; one = ::dup(0)) taken.emplace_back(one);
        EXPECT_EQ(a.take(clock.pass()), "");
        EXPECT_EQ(a.peers.next_deadline(), clock.now() + accept_pause);
        pollfd waits{a.peers.wait_handles()[0], POLLIN, 0};
        EXPECT_EQ(::poll(&waits, 1, 0), 0);
        for (int i = 0; i < 20; ++i) EXPECT_EQ(a.take(clock.pass()), "");
    }
    EXPECT_FALSE(stranger.answer());
    for (int i = 0; i < 40; ++i) EXPECT_EQ(a.take(clock.pass()), "");
    EXPECT_TRUE(stranger.answer());
}

/// Plays the device's part of a meeting, with memory that it made itself.
struct Hostile {
    explicit Hostile(std::size_t lines) {
        auto ends = ControlSocket::pair();
        WIREPROOF_CHECK(ends.has_value());
        stranger.greet(ends->second.handle());
        own = std::move(ends->first);
        auto made = Segment::create(lines);
        WIREPROOF_CHECK(made.has_value());
        segment = std::move(*made);
    }
    void offer(int descriptor) const {
        Greeting greeting;
        greeting.node = 1;
        greeting.nodes = 2;
        greeting.frame_max = static_cast<std::uint32_t>(proto::ib::packet_max(4096));
        greeting.lines = 8192;
        std::array<std::byte, Greeting::size> message{};
        greeting.encode(message);
        own.send(message, descriptor);
    }

    /// The device accepts the memory. Returns the ring into which the hostile process writes.
    RingMemory share_with(End& a, Clock& clock) const {
        hear(a, clock);
        offer(segment.memory().handle());
        hear(a, clock);
        hear(a, clock);
        EXPECT_TRUE(a.shares(a.knows(2)));
        return segment.ring_filled_by(1);
    }

    Stranger stranger;
    ControlSocket own;
    Segment segment;
};

TEST(VerbsPeers, MemoryThatIsTooShortOrCanShrinkIsRefused) {
    const Descriptor unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(unsealed.handle(), 4 << 20), 0);
    for (const bool sealed : {true, false}) {
        const std::size_t before = test::descriptors();
        {
            Clock clock;
            End a(1);
            Hostile hostile(64);  // lines; a device needs thousands
            hear(a, clock);
            hostile.offer(sealed ? hostile.segment.memory().handle() : unsealed.handle());
            hear(a, clock);
            const PeerId peer = a.knows(2);
            EXPECT_FALSE(a.shares(peer));
            a.peers.holds(clock.now(), peer);
            EXPECT_TRUE(a.peers.holds(clock.now(), peer));
            for (int i = 0; i < 51; ++i) hear(a, clock);
            EXPECT_FALSE(a.peers.holds(clock.now(), peer));
            EXPECT_TRUE(a.send(clock.now(), peer, 'x'));  // by UDP
        }
        EXPECT_EQ(test::descriptors(), before);
    }
}

TEST(VerbsPeers, APacketThatWasHandedOverDoesNotChangeWithTheMemory) {
    Clock clock;
    End a(1);
    const Hostile hostile(8192);
    const RingMemory ring = hostile.share_with(a, clock);
    RingProducer producer(ring, proto::ib::packet_max(4096));
    const Bytes room = producer.claim();
    ASSERT_FALSE(room.empty());
    std::fill_n(room.begin(), 100, std::byte{'x'});
    producer.commit(100);
    producer.publish();
    const auto frame = a.peers.receive(clock.now());
    ASSERT_TRUE(frame);
    std::fill_n(ring.lines_at, 256, std::byte{'y'});
    EXPECT_EQ(std::vector<std::byte>(frame->bytes.begin(), frame->bytes.end()),
              std::vector<std::byte>(100, std::byte{'x'}));
}

// No value of a length word makes the device read outside the ring. The values are random.
TEST(VerbsPeers, RingsOfGarbageEndTheirPeerAndNothingElse) {
    std::uint64_t draw = 88172645463325252U;
    for (int round = 0; round < 200; ++round) {
        Clock clock;
        End a(1);
        const Hostile hostile(8192);
        const RingMemory ring = hostile.share_with(a, clock);
        const PeerId peer = a.knows(2);
        for (std::size_t line = 0; line < 256; ++line) {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            const auto word = static_cast<std::uint32_t>(draw >> (draw % 24));
            shared_word<std::uint32_t>(ring.lines_at + line * line_bytes).store(word);
        }
        shared_word<std::uint64_t>(hostile.segment.ring_filled_by(0).head_at).store(draw);
        while (const auto frame = a.peers.receive(clock.now())) {
            ASSERT_LE(frame->bytes.size(), proto::ib::packet_max(4096));
        }
        for (int i = 0; i < 8192 && a.send(clock.now(), peer, 'x') && a.shares(peer); ++i) {
        }
        a.take(clock.pass());
    }
}

}  // namespace
}  // namespace wireproof::verbs::peers_test
