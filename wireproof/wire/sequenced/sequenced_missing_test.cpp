// A sequenced wire that tells each missing frame, for link protocols that count what arrives.
#include "wireproof/wire/sequenced/hand_carried.hpp"

namespace wireproof::test {
namespace {

constexpr std::uint32_t missing_max = 5;

std::string give_and_tell(Sequenced& wire, std::vector<std::byte> datagram) {
    wire.inner().arriving.push_back(std::move(datagram));
    return told(wire);
}

std::vector<std::vector<std::byte>> letters(Sequenced& wire, std::string_view all) {
    std::vector<std::vector<std::byte>> datagrams;
    for (const char& letter : all) {
        datagrams.push_back(datagram_of(wire, {std::string_view(&letter, 1)}));
    }
    return datagrams;
}

TEST(SequencedMissing, EachMissingFrameIsReportedBeforeTheNextOne) {
    Ends ends(missing_max);
    const auto sent = letters(ends.a, "abcdef");
    EXPECT_EQ(give_and_tell(ends.b, sent[0]), "a");
    EXPECT_EQ(give_and_tell(ends.b, sent[3]), "? ? d");
    EXPECT_EQ(give_and_tell(ends.b, sent[4]), "e");
    EXPECT_EQ(give_and_tell(ends.b, sent[5]), "f");
    EXPECT_EQ(ends.b.stats().frames_missing, 2U);
    EXPECT_EQ(new_lives(ends.b), 0);
}

TEST(SequencedMissing, WithoutALimitNoneIsReported) {
    Ends ends;
    const auto sent = letters(ends.a, "abcdefghijk");
    EXPECT_EQ(give_and_tell(ends.b, sent[0]), "a");
    EXPECT_EQ(give_and_tell(ends.b, sent[10]), "k");
    EXPECT_EQ(ends.b.stats().frames_missing + ends.b.stats().gaps_too_long, 0U);
}

// The engine has counted it as missing already, so it must not count it twice.
TEST(SequencedMissing, AFrameThatWasReportedMissingIsDroppedWhenItArrives) {
    Ends ends(missing_max);
    const auto sent = letters(ends.a, "abcd");
    EXPECT_EQ(give_and_tell(ends.b, sent[0]), "a");
    EXPECT_EQ(give_and_tell(ends.b, sent[2]), "? c");
    EXPECT_EQ(give_and_tell(ends.b, sent[1]), "");
    EXPECT_EQ(give_and_tell(ends.b, sent[2]), "");
    EXPECT_EQ(give_and_tell(ends.b, sent[3]), "d");
    EXPECT_EQ(ends.b.stats().late, 2U);
}

TEST(SequencedMissing, AMissingDatagramIsAsManyFramesAsItHad) {
    Ends ends(missing_max);
    const auto first = datagram_of(ends.a, {"a", "b"});
    const auto lost = datagram_of(ends.a, {"c", "d", "e"});
    const auto last = datagram_of(ends.a, {"f", "g"});
    EXPECT_EQ(give_and_tell(ends.b, first), "a b");
    EXPECT_EQ(give_and_tell(ends.b, last), "? ? ? f g");
}

TEST(SequencedMissing, OfADatagramCutShortTheRestIsReportedMissing) {
    Ends ends(missing_max);
    auto cut = datagram_of(ends.a, {"one", "two", "three", "four"});
    cut.resize(DatagramHeader::size(4) + 8);
    EXPECT_EQ(give_and_tell(ends.b, cut), "one two ? ?");
    EXPECT_EQ(give_and_tell(ends.b, datagram_of(ends.a, {"next"})), "next");
}

TEST(SequencedMissing, ADamagedHeaderIsMissingFrames) {
    Ends ends(missing_max);
    auto damaged = datagram_of(ends.a, {"a", "b"});
    damaged[9] ^= std::byte{1};
    EXPECT_EQ(give_and_tell(ends.b, damaged), "");
    EXPECT_EQ(give_and_tell(ends.b, datagram_of(ends.a, {"c"})), "? ? c");
}

// Such a datagram tells the epochs. If it took a number, its loss would be told as a frame that was
// never sent.
TEST(SequencedMissing, ADatagramWithoutFramesIsNeverMissed) {
    Ends ends(missing_max);
    EXPECT_EQ(give_and_tell(ends.b, datagram_of(ends.a, {"a"})), "a");
    Sequenced stranger(HandCarried(), {.link = 5, .seed = 9, .missing_max = missing_max});
    EXPECT_EQ(give_and_tell(ends.a, datagram_of(stranger, {"x"})), "");
    const auto challenge = leaving(ends.a);
    ASSERT_EQ(challenge.size(), 1U) << "to the stranger";
    EXPECT_EQ(DatagramHeader::decode(challenge[0].bytes)->frames, 0U);
    EXPECT_EQ(give_and_tell(ends.b, datagram_of(ends.a, {"b"})), "b");
}

TEST(SequencedMissing, AGapUpToTheLimitIsReportedAndALongerOneBeginsANewRunOfBothEnds) {
    {
        Ends ends(missing_max);
        const auto sent = letters(ends.a, "0123456");
        EXPECT_EQ(give_and_tell(ends.b, sent[0]), "0");
        EXPECT_EQ(give_and_tell(ends.b, sent[6]), "? ? ? ? ? 6");
    }
    Ends ends(missing_max);
    const auto sent = letters(ends.a, "01234567");
    EXPECT_EQ(give_and_tell(ends.b, sent[0]), "0");
    EXPECT_EQ(give_and_tell(ends.b, sent[7]), "");
    EXPECT_EQ(ends.b.stats().gaps_too_long, 1U);
    EXPECT_EQ(ends.b.stats().frames_missing, 0U);
    EXPECT_EQ(ends.b.claim(), nullptr) << "no frame moves until the event is taken";
    EXPECT_EQ(new_lives(ends.b), 1);
    for (const auto& late : sent) EXPECT_EQ(give_and_tell(ends.b, late), "") << "of the old life";
    ends.settle_with("again");
    EXPECT_EQ(new_lives(ends.a), 1);
    EXPECT_EQ(new_lives(ends.b), 0);
    EXPECT_EQ(give_and_tell(ends.b, datagram_of(ends.a, {"to b"})), "to b");
    EXPECT_EQ(give_and_tell(ends.a, datagram_of(ends.b, {"to a"})), "to a");
}

TEST(SequencedMissing, FramesThatWaitedForALinkThatIsGoneAreForgotten) {
    Ends ends(missing_max);
    const auto sent = letters(ends.a, "01234567");
    EXPECT_EQ(give_and_tell(ends.b, sent[0]), "0");
    EXPECT_TRUE(commit(ends.b, "of the old life"));
    EXPECT_EQ(give_and_tell(ends.b, sent[7]), "");
    EXPECT_EQ(ends.b.stats().frames_forgotten, 1U);
    EXPECT_EQ(new_lives(ends.b), 1);
    for (const auto& datagram : leaving(ends.b)) {
        EXPECT_EQ(DatagramHeader::decode(datagram.bytes)->frames, 0U);
    }
    ends.settle_with("again");
    EXPECT_EQ(new_lives(ends.a), 1);
}

TEST(SequencedMissing, TheWrapOfTheCounterIsNoGap) {
    Sequenced a(HandCarried(),
                {.seed = 1, .first_counter = 0xFFFFFFFD, .missing_max = missing_max});
    Sequenced b(HandCarried(), {.seed = 2, .missing_max = missing_max});
    EXPECT_EQ(give_and_tell(b, datagram_of(a, {"a"})), "a");
    (void)datagram_of(a, {"b", "c", "d"});
    EXPECT_EQ(give_and_tell(b, datagram_of(a, {"e"})), "? ? ? e");
}

// Whatever the network does: within a life of the link, the frames and the missing ones count as
// the sender counted.
TEST(SequencedMissing, TheReceiverCountsAsTheSenderDid) {
    std::uint64_t missing = 0;
    std::uint64_t restarts = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random(seed);
        Ends ends(20);
        std::vector<std::vector<std::byte>> network;
        std::uint64_t next = 0;
        bool outage = false;
        std::optional<std::uint64_t> counted;  // the number of the frame that comes next
        for (int step = 0; step < 300; ++step) {
            for (std::uint64_t n = random.below(4); n > 0; --n) {
                if (commit(ends.a, std::to_string(next))) ++next;
            }
            if (random.chance(outage ? 0.1 : 0.01)) outage = !outage;
            for (const auto& datagram : leaving(ends.a)) {
                if (!outage && !random.chance(0.1)) network.push_back(datagram.bytes);
            }
            for (const auto& datagram : leaving(ends.b)) {
                ends.a.inner().arriving.push_back(datagram.bytes);
            }
            (void)received(ends.a);
            if (new_lives(ends.a) > 0) network.clear();
            if (network.empty()) continue;
            const std::size_t span = std::min<std::size_t>(3, network.size());
            ends.b.inner().arriving.push_back(network[network.size() - 1 - random.below(span)]);
            while (const auto frame = ends.b.receive(Instant())) {
                if (frame->bytes.empty()) {
                    ++missing;
                    if (counted) ++*counted;
                    continue;
                }
                const std::string text(reinterpret_cast<const char*>(frame->bytes.data()),
                                       frame->bytes.size());
                if (text == "hello") continue;
                EXPECT_EQ(std::stoull(text), counted.value_or(std::stoull(text)))
                    << "seed " << seed;
                counted = std::stoull(text) + 1;
            }
            if (new_lives(ends.b) > 0) {
                counted.reset();
                ++restarts;
            }
        }
    }
    EXPECT_GT(missing, 1'000U);
    EXPECT_GT(restarts, 100U);
}

}  // namespace
}  // namespace wireproof::test
