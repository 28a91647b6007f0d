// Both ends are in this process: each Peers is one device, on an address of its own.
#include "wireproof/front/verbs/peers.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include "wireproof/proto/ib/packet.hpp"

namespace wireproof::verbs {
namespace {

Address address_of(std::uint8_t last) {
    Address address;
    address.family = Address::Family::ipv4;
    address.port = rocev2_port;
    address.host = {127, 91, static_cast<std::uint8_t>(::getpid() & 0xFF), last};
    return address;
}

Rocev2Wire udp_at(std::uint8_t last) {
    auto wire = Rocev2Wire::open(
        {.local = address_of(last), .peers_max = 16, .frame_max = ib::packet_max(4096)});
    EXPECT_TRUE(wire.has_value()) << wire.error().message;
    return std::move(*wire);
}

struct End {
    explicit End(std::uint8_t last, bool shares = true) : peers(udp_at(last), shares) {}

    PeerId knows(std::uint8_t last) {
        const auto peer = peers.find(address_of(last), 16);
        EXPECT_TRUE(peer.has_value());
        return *peer;
    }
    /// The base header of a packet and a byte that tells which one it is.
    bool send(Instant now, PeerId to, char which) {
        PeerLane lane = peers.lane(to);
        TxFrame* const frame = lane.claim();
        if (frame == nullptr) return false;
        const Bytes packet = frame->add_room(16);
        std::fill(packet.begin(), packet.end(), static_cast<std::byte>(which));
        lane.commit();
        peers.flush(now);
        return true;
    }
    /// All that comes, by what each packet tells.
    std::string take(Instant now) {
        std::string came;
        while (const auto frame = peers.receive(now)) {
            came += static_cast<char>(frame->bytes.empty() ? std::byte{'?'} : frame->bytes.back());
        }
        return came;
    }
    bool shares(PeerId peer) { return peers.lane(peer).is_shared(); }

    Peers peers;
};

class Clock {
public:
    Instant pass() { return now_ = now_ + Duration::milliseconds(2); }
    Instant now() const { return now_; }

private:
    Instant now_{Duration::milliseconds(5)};
};

void meet(End& a, End& b, Clock& clock) {
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(a.take(clock.pass()), "");
        EXPECT_EQ(b.take(clock.now()), "");
    }
}

/// `a` accepts a caller, and then reads what it says.
void hear(End& a, Clock& clock) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(a.take(clock.pass()), "");
}

bool is_alive(End& end, PeerId peer, Instant now) {
    ib::Neighbours neighbours;
    end.peers.judge(now, neighbours);
    return neighbours.is_alive(peer);
}

TEST(VerbsPeers, OfOneHostShareMemoryOnceTheyMet) {
    Clock clock;
    End a(1);
    End b(2);
    const PeerId to_b = a.knows(2);
    const PeerId to_a = b.knows(1);
    a.peers.call(to_b);
    EXPECT_TRUE(a.peers.holds(clock.now(), to_b));
    meet(a, b, clock);
    EXPECT_FALSE(a.peers.holds(clock.now(), to_b));
    EXPECT_TRUE(a.shares(to_b));
    EXPECT_TRUE(b.shares(to_a));
    for (char which = 'a'; which <= 'z'; ++which) a.send(clock.now(), to_b, which);
    EXPECT_EQ(b.take(clock.pass()), "abcdefghijklmnopqrstuvwxyz");
    b.send(clock.now(), to_a, 'x');
    EXPECT_EQ(a.take(clock.pass()), "x");
    EXPECT_EQ(a.peers.udp().counters().udp.frames_sent, 0U);
    EXPECT_EQ(a.peers.shared_counters().frames_sent, 26U);
}

TEST(VerbsPeers, TwoCallsThatCrossBecomeOne) {
    Clock clock;
    End a(1);
    End b(2);
    const PeerId to_b = a.knows(2);
    const PeerId to_a = b.knows(1);
    a.peers.call(to_b);
    b.peers.call(to_a);
    meet(a, b, clock);
    EXPECT_TRUE(a.shares(to_b));
    EXPECT_TRUE(b.shares(to_a));
    EXPECT_EQ(a.peers.shared_counters().connections, 1U);
    EXPECT_EQ(b.peers.shared_counters().connections, 1U);
}

TEST(VerbsPeers, ShareNothingIfOneIsToldNotTo) {
    for (const bool first : {true, false}) {
        Clock clock;
        End a(1, first);
        End b(2, !first);
        const PeerId to_b = a.knows(2);
        a.peers.call(to_b);
        meet(a, b, clock);
        EXPECT_FALSE(a.shares(to_b));
        EXPECT_FALSE(a.peers.holds(clock.now(), to_b));
        EXPECT_TRUE(is_alive(a, to_b, clock.now()));
        a.send(clock.now(), to_b, 'x');
        EXPECT_EQ(b.take(clock.pass()), "x");
        EXPECT_EQ(a.peers.udp().counters().udp.frames_sent, 1U);
    }
}

TEST(VerbsPeers, NobodyIsWaitedForWhereNobodyIs) {
    End a(1);
    const PeerId to_b = a.knows(2);
    a.peers.call(to_b);
    EXPECT_FALSE(a.peers.holds(Instant(), to_b));
    EXPECT_FALSE(is_alive(a, to_b, Instant()));
}

// What was sent by UDP before is received before what comes through memory.
TEST(VerbsPeers, PacketsWaitForAPeerThatDoesNotAnswerAndThenLeaveInOrder) {
    Clock clock;
    End a(1);
    End b(2);
    const PeerId to_b = a.knows(2);
    a.peers.call(to_b);
    EXPECT_TRUE(a.peers.holds(clock.now(), to_b));
    EXPECT_EQ(a.peers.next_deadline(), clock.now() + Duration::milliseconds(100));
    for (int i = 0; i < 50; ++i) EXPECT_EQ(a.take(clock.pass()), "");
    EXPECT_FALSE(a.peers.holds(clock.now(), to_b));
    EXPECT_EQ(a.peers.next_deadline(), never);
    a.send(clock.now(), to_b, '1');
    // It answers by UDP until it hears that the memory is there.
    std::string came;
    for (char which = '2'; which <= '9'; ++which) {
        came += b.take(clock.pass());
        EXPECT_EQ(a.take(clock.now()), "");
        a.send(clock.now(), to_b, which);
    }
    came += b.take(clock.pass());
    came += b.take(clock.pass());
    EXPECT_EQ(came, "123456789");
    EXPECT_TRUE(a.shares(to_b));
}

TEST(VerbsPeers, APeerThatAnswersIsNotStopped) {
    Clock clock;
    End a(1, false);
    End b(2, false);
    const PeerId to_b = a.knows(2);
    a.peers.call(to_b);
    meet(a, b, clock);
    EXPECT_TRUE(is_alive(a, to_b, clock.now()));  // it was not asked yet
    EXPECT_TRUE(is_alive(a, to_b, clock.now()));
    b.take(clock.pass());
    a.take(clock.pass());
    EXPECT_FALSE(is_alive(a, to_b, clock.now()));  // it answered, so a lost answer is its fault
    for (int i = 0; i < 50; ++i) clock.pass();
    EXPECT_FALSE(is_alive(a, to_b, clock.now()));
    EXPECT_TRUE(is_alive(a, to_b, clock.now()));  // asked again, and silent
}

TEST(VerbsPeers, WhatADeadPeerLeftIsReceivedAndANewOneIsMet) {
    Clock clock;
    End a(1);
    const PeerId to_b = a.knows(2);
    {
        End b(2);
        a.peers.call(to_b);
        meet(a, b, clock);
        const PeerId to_a = b.knows(1);
        b.send(clock.now(), to_a, 'x');
    }
    EXPECT_EQ(a.take(clock.pass()), "x");
    EXPECT_EQ(a.take(clock.pass()), "");
    EXPECT_FALSE(a.shares(to_b));
    EXPECT_FALSE(is_alive(a, to_b, clock.now()));
    End b(2);
    b.peers.call(b.knows(1));
    meet(a, b, clock);
    EXPECT_TRUE(a.shares(to_b));
}

/// Speaks to a device as a process of the same user that is no device.
class Stranger {
public:
    Stranger() { socket_ = *connect_to({"verbs-" + address_of(1).host_text(), 0}); }
    void say(ConstBytes message, int descriptor = -1) { socket_.send(message, descriptor); }
    void say(PeerMessage message, int descriptor = -1) {
        std::array<std::byte, PeerMessage::size> bytes{};
        message.encode(bytes);
        say(bytes, descriptor);
    }
    void greet(int descriptor) {
        say({.kind = PeerMessage::Kind::hello, .memory = true, .life = 7, .address = address_of(2)},
            descriptor);
    }
    std::optional<PeerMessage> answer() {
        ControlSocket::Message message;
        if (socket_.receive(message) != ControlSocket::Received::message) return std::nullopt;
        return PeerMessage::decode(message.bytes());
    }
    bool is_refused() {
        ControlSocket::Message message;
        return socket_.receive(message) == ControlSocket::Received::ended;
    }

private:
    ControlSocket socket_;
};

TEST(VerbsPeers, WhoSaysWhatNoDeviceSaysIsLetGo) {
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
    Stranger itself;  // the device's own address is nobody else's
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

// No descriptor but an end of a socket pair of this user is looked into.
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

std::size_t descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// Takes the device's part of a meeting, with memory of its own making.
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
        greeting.frame_max = static_cast<std::uint32_t>(ib::packet_max(4096));
        greeting.lines = 8192;
        std::array<std::byte, Greeting::size> message{};
        greeting.encode(message);
        own.send(message, descriptor);
    }

    Stranger stranger;
    ControlSocket own;
    Segment segment;
};

TEST(VerbsPeers, MemoryThatIsTooShortOrCanShrinkIsRefused) {
    const Descriptor unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(unsealed.handle(), 4 << 20), 0);
    for (const bool sealed : {true, false}) {
        const std::size_t before = descriptors();
        {
            Clock clock;
            End a(1);
            Hostile hostile(64);  // lines, where thousands are wanted
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
        EXPECT_EQ(descriptors(), before);
    }
}

// A length word of every kind, at random, never leads outside of the ring; and what was handed out
// does not change with the memory.
TEST(VerbsPeers, RingsOfGarbageEndTheirPeerAndNothingElse) {
    std::uint64_t draw = 88172645463325252U;
    for (int round = 0; round < 200; ++round) {
        Clock clock;
        End a(1);
        Hostile hostile(8192);
        hear(a, clock);
        hostile.offer(hostile.segment.memory().handle());
        hear(a, clock);
        hear(a, clock);
        const PeerId peer = a.knows(2);
        ASSERT_TRUE(a.shares(peer));
        const RingMemory ring = hostile.segment.ring_filled_by(1);
        for (std::size_t line = 0; line < 256; ++line) {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            const auto word = static_cast<std::uint32_t>(draw >> (draw % 24));
            shared_word<std::uint32_t>(ring.lines_at + line * line_bytes).store(word);
        }
        shared_word<std::uint64_t>(hostile.segment.ring_filled_by(0).head_at).store(draw);
        while (const auto frame = a.peers.receive(clock.now())) {
            ASSERT_LE(frame->bytes.size(), ib::packet_max(4096));
            ASSERT_TRUE(frame->bytes.data() < ring.lines_at ||
                        frame->bytes.data() >= ring.lines_at + 8192 * line_bytes);
        }
        for (int i = 0; i < 8192 && a.send(clock.now(), peer, 'x') && a.shares(peer); ++i) {
        }
        a.take(clock.pass());
    }
}

}  // namespace
}  // namespace wireproof::verbs
