// Tests what the two ends see of each other when one of them restarts, and when datagrams from
// before the restart arrive late.
#include "wireproof/wire/sequenced/hand_carried.hpp"

namespace wireproof::test {
namespace {

using Datagrams = std::vector<std::vector<std::byte>>;

Sequenced restarted(std::uint64_t seed) {
    return Sequenced(HandCarried(), {.link = 5, .seed = seed});
}

TEST(SequencedRestart, IsOneNewLifeToThePeerAndNoneToWhoRestarted) {
    Ends ends;
    ends.b = restarted(3);
    ends.settle_with("again");
    EXPECT_EQ(new_lives(ends.a), 1);
    EXPECT_EQ(new_lives(ends.b), 0);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(give(ends.b, datagram_of(ends.a, {"to b"})), "to b");
        EXPECT_EQ(give(ends.a, datagram_of(ends.b, {"to a"})), "to a");
    }
    EXPECT_EQ(new_lives(ends.a) + new_lives(ends.b), 0);
    ends.a = restarted(4);
    ends.settle_with("again");
    EXPECT_EQ(new_lives(ends.a), 0);
    EXPECT_EQ(new_lives(ends.b), 1);
}

TEST(SequencedRestart, IsSeenWithoutAnyFrameFromWhoDidNotRestart) {
    Ends ends;
    ends.b = restarted(3);
    EXPECT_EQ(give(ends.a, datagram_of(ends.b, {"first"})), "") << "a stranger yet";
    EXPECT_EQ(ends.a.stats().stranger, 1U);
    settle(ends.a, ends.b);
    EXPECT_EQ(new_lives(ends.a), 1);
    EXPECT_EQ(give(ends.a, datagram_of(ends.b, {"second"})), "second");
}

TEST(SequencedRestart, NoFrameMovesUntilTheNewLifeWasDrawn) {
    Ends ends;
    commit(ends.a, "to the old life");
    ends.b = restarted(3);
    give(ends.a, datagram_of(ends.b, {"x"}));
    ends.a.inner().room = 0;  // the frame stays where it is
    EXPECT_TRUE(leaving(ends.a).empty());
    ends.a.inner().room = 2;
    const auto left = leaving(ends.a);
    ASSERT_EQ(left.size(), 2U) << "the challenge, and the frame that nobody wants";
    EXPECT_EQ(give(ends.b, left[0].bytes), "");
    EXPECT_EQ(give(ends.b, left[1].bytes), "");
    commit(ends.a, "to the old life, too");
    EXPECT_EQ(give(ends.a, datagram_of(ends.b, {"one", "two"})), "");
    EXPECT_EQ(ends.a.stats().frames_forgotten, 1U);
    EXPECT_EQ(ends.a.claim(), nullptr);
    EXPECT_FALSE(ends.a.prepare_to_sleep());
    EXPECT_EQ(ends.a.next_deadline(), Instant()) << "now";
    EXPECT_EQ(new_lives(ends.a), 1);
    EXPECT_EQ(received(ends.a), "one two");
    for (const auto& datagram : leaving(ends.a)) EXPECT_EQ(give(ends.b, datagram.bytes), "");
    EXPECT_TRUE(ends.a.prepare_to_sleep());
    EXPECT_NE(ends.a.claim(), nullptr);
}

// PCIE-39, HIPPI-37: old frames that survive a restart. A counter alone cannot recognize them.
TEST(SequencedRestart, LateDatagramsOfTheOldLifeChangeNothing) {
    Ends ends;
    std::vector<std::vector<std::byte>> old;
    Sequenced silent = restarted(7);
    old.push_back(datagram_of(silent, {"before anything was heard"}));
    for (int i = 0; i < 5; ++i) old.push_back(datagram_of(ends.b, {"old"}));
    ends.b = restarted(3);
    old.push_back(datagram_of(ends.b, {"to be repeated"}));
    ends.settle_with("again");
    EXPECT_EQ(new_lives(ends.a), 1);
    const auto epochs = ends.a.lives().epochs();
    for (int round = 0; round < 3; ++round) {
        for (const auto& datagram : old) {
            EXPECT_EQ(give(ends.a, datagram), "");
            settle(ends.a, ends.b);
        }
        EXPECT_EQ(give(ends.a, datagram_of(ends.b, {"b"})), "b");
        EXPECT_EQ(give(ends.b, datagram_of(ends.a, {"a"})), "a");
    }
    EXPECT_EQ(ends.a.lives().epochs(), epochs);
    EXPECT_EQ(new_lives(ends.a) + new_lives(ends.b), 0);
}

TEST(SequencedRestart, DatagramsToTheOldLifeAreDropped) {
    Ends ends;
    const auto old = datagram_of(ends.a, {"to b as it was"});
    ends.b = restarted(3);
    EXPECT_EQ(give(ends.b, old), "");
    ends.settle_with("again");
    new_lives(ends.a);
    EXPECT_EQ(give(ends.b, old), "");
    EXPECT_GE(ends.b.stats().former_life, 1U);
    EXPECT_EQ(give(ends.b, datagram_of(ends.a, {"a"})), "a");
}

TEST(SequencedRestart, OfAPeerOfWhichNoFrameWasTakenYetNeedsNoEvent) {
    Sequenced a = restarted(1);
    std::vector<std::byte> empty(DatagramHeader::size(0));
    DatagramHeader{.link = 5, .from = 99}.encode({}, empty);
    EXPECT_EQ(give(a, empty), "");
    EXPECT_EQ(a.lives().peer(), 99U);
    Sequenced b = restarted(2);
    EXPECT_TRUE(commit(b, "hello"));
    settle(a, b);
    EXPECT_EQ(a.lives().peer(), b.lives().own());
    EXPECT_EQ(a.stats().new_lives, 1U);
    EXPECT_EQ(new_lives(a), 0) << "the engine has nothing to forget";
}

TEST(SequencedRestart, OfBothAtOnceNeedsNoEvent) {
    Ends ends;
    ends.a = restarted(3);
    ends.b = restarted(4);
    ends.settle_with("hello");
    EXPECT_EQ(new_lives(ends.a) + new_lives(ends.b), 0);
    EXPECT_EQ(give(ends.b, datagram_of(ends.a, {"a"})), "a");
    EXPECT_EQ(give(ends.a, datagram_of(ends.b, {"b"})), "b");
}

/// A frame has the number of the start that built it, and a number that counts within that start.
struct Book {
    std::uint64_t start = 1;
    std::uint64_t next = 0;
    std::uint64_t heard_start = 0;
    std::uint64_t heard = 0;
    bool told = true;  // the wire has told that the next frame may be from another start
    int taken = 0;
};

void take(Sequenced& wire, Book& book, std::uint64_t seed) {
    for (bool again = true; again;) {
        while (const auto frame = wire.receive(Instant())) {
            const std::string text(reinterpret_cast<const char*>(frame->bytes.data()),
                                   frame->bytes.size());
            const std::uint64_t start = std::stoull(text);
            const std::uint64_t number = std::stoull(text.substr(text.find('.') + 1));
            const bool follows = start == book.heard_start && number > book.heard;
            EXPECT_TRUE(follows || (book.told && start > book.heard_start))
                << text << " after " << book.heard_start << "." << book.heard << ", seed " << seed;
            book.told = false;
            book.heard_start = start;
            book.heard = number;
            ++book.taken;
        }
        again = new_lives(wire) > 0;
        book.told = book.told || again;
    }
}

// PCIE-39, HIPPI-37, and all faults together: the received frames are a part of the sent ones, in
// order and once. Before a frame of another start of the peer, the wire tells a new life.
TEST(SequencedRestart, WhatIsReceivedIsAPartOfWhatWasSentWhateverTheNetworkDoes) {
    int taken = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random(seed);
        std::array<Book, 2> books;
        std::array<Sequenced, 2> wires{restarted(random.next()), restarted(random.next())};
        std::array<Datagrams, 2> network;
        for (int step = 0; step < 600; ++step) {
            const std::size_t end = random.below(2);
            Book& book = books[end];
            if (random.chance(0.01)) {
                wires[end] = restarted(random.next());
                book = {.start = book.start + 1, .taken = book.taken};
            }
            for (std::uint64_t n = random.below(4); n > 0; --n) {
                commit(wires[end], std::to_string(book.start) + "." + std::to_string(book.next++));
            }
            for (const auto& datagram : leaving(wires[end])) {
                if (random.chance(0.9)) network[end].push_back(datagram.bytes);
            }
            const Datagrams& coming = network[1 - end];
            if (coming.empty()) continue;
            const std::size_t span =
                random.chance(0.8) ? std::min<std::size_t>(4, coming.size()) : coming.size();
            wires[end].inner().arriving.push_back(coming[coming.size() - 1 - random.below(span)]);
            take(wires[end], book, seed);
        }
        taken += books[0].taken + books[1].taken;
    }
    EXPECT_GT(taken, 20'000) << "the network carried too little to show anything";
}

}  // namespace
}  // namespace wireproof::test
