// Both ends are in this process. Each Peers object is one device with an address of its own.
#include <optional>
#include <utility>

#include "wireproof/front/verbs/objects/descriptors_test_kit.hpp"
#include "wireproof/front/verbs/peers/peers_test_kit.hpp"

namespace wireproof::verbs::peers_test {
namespace {

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

TEST(VerbsPeers, ShareNothingIfOneIsConfiguredNotTo) {
    for (const bool first : {true, false}) {
        Clock clock;
        End a(1, first);
        End b(2, !first);
        const PeerId to_b = a.knows(2);
        a.peers.call(to_b);
        EXPECT_FALSE(a.peers.has_met(to_b));
        meet(a, b, clock);
        EXPECT_TRUE(a.peers.has_met(to_b));
        EXPECT_TRUE(b.peers.has_met(b.knows(1)));
        EXPECT_FALSE(a.shares(to_b));
        EXPECT_FALSE(a.peers.holds(clock.now(), to_b));
        EXPECT_TRUE(is_alive(a, to_b, clock.now()));
        a.send(clock.now(), to_b, 'x');
        EXPECT_EQ(b.take(clock.pass()), "x");
        EXPECT_EQ(a.peers.udp().counters().udp.frames_sent, 1U);
    }
}

// The number of a process that has ended may become that of another host, and of the process again.
TEST(VerbsPeers, AProcessOfThisHostIsForgottenOnlyAfterItHasEnded) {
    Clock clock;
    End a(1);
    const auto used = [&a](PeerId peer) {
        PeerSet peers;
        a.peers.add_used_peers(peers);
        return peers.contains(peer);
    };
    std::optional<End> b(std::in_place, 2);
    const PeerId to_b = a.knows(2);
    EXPECT_FALSE(used(to_b));
    a.peers.call(to_b);
    EXPECT_TRUE(used(to_b));
    meet(a, *b, clock);
    EXPECT_TRUE(a.shares(to_b));
    EXPECT_TRUE(used(to_b));
    b.reset();
    hear(a, clock);
    EXPECT_FALSE(used(to_b));
    EXPECT_TRUE(a.peers.forget_all_but({}).contains(to_b));
    EXPECT_EQ(a.knows(3), to_b);
    EXPECT_FALSE(a.peers.holds(clock.now(), to_b));
    EXPECT_FALSE(is_alive(a, to_b, clock.now()));
    End again(2);
    const PeerId new_b = a.knows(2);
    EXPECT_NE(new_b, to_b);
    a.peers.call(new_b);
    meet(a, again, clock);
    EXPECT_TRUE(a.shares(new_b));
}

TEST(VerbsPeers, NobodyIsWaitedForWhereNobodyIs) {
    End a(1);
    const PeerId to_b = a.knows(2);
    a.peers.call(to_b);
    EXPECT_FALSE(a.peers.holds(Instant(), to_b));
    EXPECT_FALSE(is_alive(a, to_b, Instant()));
    EXPECT_FALSE(a.peers.has_met(to_b));
}

/// Packets to the peer are held. When the peer has not answered for 100 ms, they are held no
/// longer.
void wait_in_vain(End& a, PeerId peer, Clock& clock) {
    a.peers.call(peer);
    EXPECT_TRUE(a.peers.holds(clock.now(), peer));
    EXPECT_EQ(a.peers.next_deadline(), clock.now() + Duration::milliseconds(100));
    for (int i = 0; i < 50; ++i) EXPECT_EQ(a.take(clock.pass()), "");
    EXPECT_FALSE(a.peers.holds(clock.now(), peer));
    EXPECT_EQ(a.peers.next_deadline(), never);
}

// What was sent by UDP before is received before what comes through memory.
TEST(VerbsPeers, PacketsWaitForAPeerThatDoesNotAnswerAndThenLeaveInOrder) {
    Clock clock;
    End a(1);
    End b(2);
    const PeerId to_b = a.knows(2);
    wait_in_vain(a, to_b, clock);
    a.send(clock.now(), to_b, '1');
    // b sends by UDP until it learns that the memory is there.
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

// There are more of them than one turn of UDP receives before the memory has its turn.
TEST(VerbsPeers, WhatComesThroughMemoryDoesNotOvertakeManyThatCameByUdp) {
    Clock clock;
    End a(1);
    End b(2);
    const PeerId to_b = a.knows(2);
    wait_in_vain(a, to_b, clock);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(a.send(clock.now(), to_b, 'u'));
    std::string came;
    for (int i = 0; i < 50; ++i) {
        const auto frame = b.peers.receive(clock.pass());
        if (frame) came += static_cast<char>(frame->bytes.back());
        EXPECT_EQ(a.take(clock.now()), "");
    }
    ASSERT_TRUE(a.shares(to_b));
    EXPECT_TRUE(a.send(clock.now(), to_b, '!'));
    for (int i = 0; i < 3; ++i) came += b.take(clock.pass());
    EXPECT_EQ(came, std::string(100, 'u') + '!');
}

TEST(VerbsPeers, APeerThatAnswersIsNotStopped) {
    Clock clock;
    End a(1, false);
    End b(2, false);
    const PeerId to_b = a.knows(2);
    a.peers.call(to_b);
    meet(a, b, clock);
    EXPECT_TRUE(is_alive(a, to_b, clock.now()));  // a has not asked it yet
    EXPECT_TRUE(is_alive(a, to_b, clock.now()));
    b.take(clock.pass());
    a.take(clock.pass());
    EXPECT_FALSE(is_alive(a, to_b, clock.now()));  // it answered, so a lost packet is its own fault
    for (int i = 0; i < 50; ++i) clock.pass();
    EXPECT_FALSE(is_alive(a, to_b, clock.now()));
    EXPECT_TRUE(is_alive(a, to_b, clock.now()));  // a asked again and has no answer
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
    EXPECT_FALSE(a.peers.needs_preparing()) << "its memory is given back";
    EXPECT_FALSE(is_alive(a, to_b, clock.now()));
    EXPECT_FALSE(a.peers.has_met(to_b));
    End b(2);
    b.peers.call(b.knows(1));
    meet(a, b, clock);
    EXPECT_TRUE(a.shares(to_b));
}

// The device may hear the new process before it has read the memory of the former one, and also
// before it has heard of the end of that one.
TEST(VerbsPeers, WhatADeadPeerLeftIsReceivedAlsoIfANewOneHasCalled) {
    for (const bool ends_first : {true, false}) {
        Clock clock;
        End a(1);
        const PeerId to_b = a.knows(2);
        std::optional<End> b(2);
        a.peers.call(to_b);
        meet(a, *b, clock);
        Stranger caller;
        hear(a, clock);
        EXPECT_TRUE(b->send(clock.now(), b->knows(1), 'x'));
        if (ends_first) b.reset();
        caller.greet(-1);
        b.reset();
        EXPECT_EQ(a.take(clock.pass()), "x");
        EXPECT_EQ(a.peers.next_ended(), to_b);
        EXPECT_FALSE(a.peers.next_ended());
        hear(a, clock);
        const auto welcome = caller.answer();
        ASSERT_TRUE(welcome);
        EXPECT_EQ(welcome->kind, PeerMessage::Kind::welcome);
        EXPECT_TRUE(a.peers.has_met(to_b));
        EXPECT_FALSE(a.peers.needs_preparing());
    }
}

// The process that was called is the first to know that the memory connects both. It may send its
// last packet there, and end before the other process has heard of it.
TEST(VerbsPeers, WhatADeadPeerLeftInMemoryThatWasJustSharedIsReceived) {
    Clock clock;
    End a(1);
    const PeerId to_b = a.knows(2);
    {
        End b(2);
        a.peers.call(to_b);
        const PeerId to_a = b.knows(1);
        for (int i = 0; i < 10; ++i) {
            EXPECT_TRUE(b.send(clock.now(), to_a, 'u'));
            EXPECT_EQ(b.take(clock.pass()), "");
            if (b.shares(to_a)) break;
            EXPECT_EQ(a.take(clock.now()), "u");
        }
        ASSERT_TRUE(b.shares(to_a));
        ASSERT_FALSE(a.shares(to_b));
        EXPECT_TRUE(b.send(clock.now(), to_a, 'x'));
    }
    EXPECT_EQ(a.take(clock.pass()), "ux") << "in the order in which they were sent";
    EXPECT_EQ(a.take(clock.pass()), "");
    EXPECT_FALSE(a.shares(to_b));
    EXPECT_FALSE(a.peers.needs_preparing()) << "its memory is given back";
    EXPECT_FALSE(a.peers.holds(clock.now(), to_b));
}

TEST(VerbsPeers, WithoutDescriptorsForMemoryReachEachOtherByUdp) {
    const std::size_t before = test::descriptors();
    bool shared = false;
    std::size_t by_udp = 0;
    for (rlim_t more = 0; !shared; ++more) {
        ASSERT_LT(more, 100U);
        {
            Clock clock;
            End a(1);
            End b(2);
            const PeerId to_b = a.knows(2);
            {
                const test::Below limit(test::descriptors() + more);
                a.peers.call(to_b);
                meet(a, b, clock);
                for (int i = 0; i < 60 && a.peers.holds(clock.pass(), to_b); ++i) {
                }
                EXPECT_FALSE(a.peers.holds(clock.now(), to_b));
                EXPECT_TRUE(a.send(clock.now(), to_b, 'x'));
                EXPECT_EQ(b.take(clock.pass()), "x") << more;
                shared = a.shares(to_b);
            }
            by_udp += shared ? 0 : 1;
        }
        ASSERT_EQ(test::descriptors(), before) << more;
    }
    EXPECT_GT(by_udp, 3U);
}

}  // namespace
}  // namespace wireproof::verbs::peers_test
