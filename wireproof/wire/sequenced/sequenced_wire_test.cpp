// Tests frames and datagrams: packing, order, damage, and datagrams of other senders.
#include "wireproof/wire/sequenced/hand_carried.hpp"

namespace wireproof::test {
namespace {

using Datagrams = std::vector<std::vector<std::byte>>;

constexpr std::size_t header_of_one = DatagramHeader::size(1);

/// Datagrams of one frame each, "0", "1" and so on.
Datagrams numbered(Sequenced& wire, int count) {
    Datagrams datagrams;
    for (int i = 0; i < count; ++i) datagrams.push_back(datagram_of(wire, {std::to_string(i)}));
    return datagrams;
}

TEST(SequencedWire, LiesInTheDatagramAsDrawn) {
    Sequenced wire(HandCarried(), {.link = 0xA1A2A3A4, .seed = 3, .first_counter = 0xFFFFFFFF});
    const auto bytes = datagram_of(wire, {"ab", "", "cde"});
    ASSERT_EQ(bytes.size(), 20U + 3 * 2 + 4 + 5);
    const auto header = DatagramHeader::decode(bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->frames, 3U);
    EXPECT_EQ(header->link, 0xA1A2A3A4U);
    EXPECT_EQ(header->from, wire.lives().own());
    EXPECT_EQ(header->to, 0U) << "nobody was heard yet";
    EXPECT_EQ(header->counter, 0xFFFFFFFFU);
    EXPECT_EQ(DatagramHeader::decode(datagram_of(wire, {"f"}))->counter, 0U);
    const ConstBytes rest = ConstBytes(bytes).subspan(20);
    const std::vector<std::byte> lengths{std::byte{2}, {}, {}, {}, std::byte{3}, {}};
    EXPECT_TRUE(std::equal(lengths.begin(), lengths.end(), rest.begin()));
    const std::string_view text(reinterpret_cast<const char*>(rest.data()) + 10, 5);
    EXPECT_EQ(text, "abcde");
}

TEST(SequencedWire, FramesBetweenTwoFlushesShareDatagrams) {
    Ends ends;
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(commit(ends.a, "0123456789"));
    const auto left = leaving(ends.a);
    EXPECT_EQ(left.size(), 3U) << "14 times 2 and 10 bytes, and the header, make 192";
    std::string all;
    for (const auto& datagram : left) {
        EXPECT_LE(datagram.bytes.size(), datagram_max);
        all += give(ends.b, datagram.bytes) + ' ';
    }
    std::string expected;
    for (int i = 0; i < 40; ++i) expected += "0123456789 ";
    EXPECT_EQ(all, expected);
    EXPECT_TRUE(leaving(ends.a).empty()) << "with nothing to send nothing leaves";
}

TEST(SequencedWire, AFrameForWhichTooLittleIsLeftClosesTheDatagram) {
    Ends ends;
    const std::size_t longest = ends.a.capabilities().frame_max;
    EXPECT_EQ(longest, datagram_max - header_of_one);
    EXPECT_TRUE(commit(ends.a, "small"));
    EXPECT_TRUE(commit(ends.a, std::string(longest, 'x')));
    EXPECT_TRUE(commit(ends.a, ""));
    const auto left = leaving(ends.a);
    ASSERT_EQ(left.size(), 3U);
    EXPECT_EQ(give(ends.b, left[0].bytes), "small");
    EXPECT_EQ(give(ends.b, left[1].bytes), std::string(longest, 'x'));
    EXPECT_EQ(left[1].bytes.size(), datagram_max);
    EXPECT_EQ(give(ends.b, left[2].bytes), "");
}

// The datagram that was lost may have been too long for the path.
TEST(SequencedWire, FramesThatLeaveAgainDoNotShareALongDatagram) {
    const std::string frame(30, 'x');
    Sequenced wire(HandCarried(), {.seed = 3, .resent_together_max = 100});
    const auto left_as = [&](std::initializer_list<bool> resent) {
        for (const bool again : resent) EXPECT_TRUE(commit(wire, frame, again));
        std::vector<std::size_t> frames;
        for (const auto& datagram : leaving(wire)) {
            const auto header = DatagramHeader::decode(datagram.bytes);
            frames.push_back(header->frames);
            EXPECT_TRUE(!datagram.resent || datagram.bytes.size() <= 100);
        }
        return frames;
    };
    EXPECT_EQ(left_as({false, false, false, false}), (std::vector<std::size_t>{4}));
    EXPECT_EQ(left_as({true, true, true, true, true}), (std::vector<std::size_t>{2, 2, 1}));
    EXPECT_EQ(left_as({false, false, false, true, false, false}),
              (std::vector<std::size_t>{3, 2, 1}));
    // A frame that is longer than that travels alone.
    EXPECT_TRUE(commit(wire, "small", true));
    EXPECT_TRUE(commit(wire, std::string(150, 'y'), true));
    EXPECT_TRUE(commit(wire, "small", true));
    EXPECT_EQ(leaving(wire).size(), 3U);
}

TEST(SequencedWireDeathTest, AFrameLongerThanTheTermsIsOurs) {
    Sequenced wire(HandCarried(), {.seed = 3, .frame_max = 40});
    EXPECT_EQ(wire.capabilities().frame_max, 40U);
    EXPECT_TRUE(commit(wire, std::string(40, 'x')));
    EXPECT_DEATH(commit(wire, std::string(41, 'x')), "frame_max");
}

TEST(SequencedWire, PromisesNothingButWhatTheCarrierDoesOfBytes) {
    Sequenced wire(HandCarried(), {.seed = 3});
    EXPECT_FALSE(wire.capabilities().carries_all)
        << "the carrier promises it, but a link loses frames";
    EXPECT_FALSE(wire.capabilities().carries_intact);
}

TEST(SequencedWire, ADatagramIsMarkedResentIfAnyOfItsFramesIs) {
    Ends ends;
    commit(ends.a, "new");
    commit(ends.a, "old", true);
    commit(ends.a, "new");
    EXPECT_TRUE(leaving(ends.a).at(0).resent);
    commit(ends.a, "new");
    EXPECT_FALSE(leaving(ends.a).at(0).resent);
}

TEST(SequencedWire, WithoutRoomInTheCarrierNoneIsLentAndNothingIsLost) {
    Ends ends;
    ends.a.inner().room = 1;
    const std::string half(100, 'x');
    EXPECT_TRUE(commit(ends.a, half));
    EXPECT_TRUE(commit(ends.a, half)) << "closes the datagram that has room";
    EXPECT_FALSE(commit(ends.a, half));
    EXPECT_EQ(leaving(ends.a).size(), 2U) << "the first made room for the second";
    EXPECT_TRUE(commit(ends.a, half));
    ends.a.inner().room = 0;
    EXPECT_EQ(leaving(ends.a).size(), 0U);
    ends.a.inner().room = 1;
    EXPECT_EQ(leaving(ends.a).size(), 1U) << "later";
}

// PCIE-39, HIPPI-37: the part that the wire must do.
TEST(SequencedWire, ARepeatedDatagramIsDropped) {
    Ends ends;
    const auto sent = numbered(ends.a, 2);
    EXPECT_EQ(give(ends.b, sent[0]), "0");
    EXPECT_EQ(give(ends.b, sent[0]), "");
    EXPECT_EQ(give(ends.b, sent[1]), "1");
    EXPECT_EQ(give(ends.b, sent[1]), "");
    EXPECT_EQ(give(ends.b, sent[0]), "");
    EXPECT_EQ(ends.b.stats().late, 3U);
}

// PCIE-39, HIPPI-37.
TEST(SequencedWire, AnOvertakenDatagramIsDropped) {
    Ends ends;
    const auto sent = numbered(ends.a, 4);
    EXPECT_EQ(give(ends.b, sent[1]), "1");
    EXPECT_EQ(give(ends.b, sent[0]), "");
    EXPECT_EQ(give(ends.b, sent[3]), "3");
    EXPECT_EQ(give(ends.b, sent[2]), "");
    EXPECT_EQ(ends.b.stats().late, 2U);
    EXPECT_EQ(ends.b.stats().frames_received, 3U) << "with the hello";
}

// PCIE-39: the number of a TLP comes again 4097 TLPs later. HIPPI-37: that of a micropacket, 256
// micropackets later.
TEST(SequencedWire, ADatagramFromLongAgoStaysLateAcrossTheWrapOfTheCounter) {
    Ends ends;
    const auto first = datagram_of(ends.a, {"long ago"});
    std::vector<std::vector<std::byte>> some;
    for (int i = 0; i < 10'000; ++i) {
        auto datagram = datagram_of(ends.a, {"x"});
        EXPECT_EQ(give(ends.b, datagram), "x");
        if (i % 100 == 0) some.push_back(std::move(datagram));
    }
    EXPECT_LT(DatagramHeader::decode(datagram_of(ends.a, {"x"}))->counter, 20'000U)
        << "it started below 2^32";
    EXPECT_EQ(give(ends.b, first), "");
    for (const auto& datagram : some) EXPECT_EQ(give(ends.b, datagram), "");
    EXPECT_EQ(ends.b.stats().late, 1 + some.size());
}

// PCIE-39, HIPPI-37: an old datagram stays old until half of the counter's circle has passed.
TEST(SequencedWire, TheCounterIsNewerByTheSignOfItsDifference) {
    for (const std::uint32_t ahead : {1U, 2U, 0x7FFFFFFFU}) {
        Sequenced a(HandCarried(), {.seed = 1, .first_counter = 0xFFFFFFF0});
        Sequenced later(HandCarried(), {.seed = 1, .first_counter = 0xFFFFFFF0 + ahead});
        Sequenced too_late(HandCarried(), {.seed = 1, .first_counter = 0x7FFFFFF0});
        Sequenced b(HandCarried(), {.seed = 2});
        EXPECT_EQ(give(b, datagram_of(a, {"a"})), "a");
        EXPECT_EQ(give(b, datagram_of(too_late, {"half way round"})), "");
        EXPECT_EQ(give(b, datagram_of(later, {"later"})), "later") << ahead;
    }
}

TEST(SequencedWire, ADatagramOfAnotherLinkIsDropped) {
    Ends ends;
    Sequenced other(HandCarried(), {.link = 6, .seed = 9});
    EXPECT_EQ(give(ends.b, datagram_of(other, {"mine"})), "");
    EXPECT_EQ(ends.b.stats().other_link, 1U);
    EXPECT_TRUE(leaving(ends.b).empty()) << "and not answered";
}

TEST(SequencedWire, ADatagramOfAnotherPeerIsDropped) {
    Ends ends;
    ends.b.inner().from = PeerId{1};
    EXPECT_EQ(give(ends.b, datagram_of(ends.a, {"mine"})), "");
    EXPECT_EQ(ends.b.stats().other_peer, 1U);
}

TEST(SequencedWire, ADatagramThatIsNoneOfOursIsDropped) {
    Ends ends;
    EXPECT_EQ(give(ends.b, std::vector<std::byte>(100, std::byte{0x51})), "");
    EXPECT_EQ(give(ends.b, {}), "");
    EXPECT_EQ(ends.b.stats().not_ours, 2U);
}

TEST(SequencedWire, DamageInTheHeaderDropsTheDatagramAndDamageInAFramePasses) {
    Ends ends;
    const auto sent = datagram_of(ends.a, {"ab", "cd"});
    const std::size_t header = DatagramHeader::size(2);
    for (std::size_t bit = 0; bit < header * 8; ++bit) {
        auto damaged = sent;
        damaged[bit / 8] ^= std::byte{1} << (bit % 8);
        EXPECT_EQ(give(ends.b, damaged), "") << "bit " << bit;
    }
    EXPECT_EQ(ends.b.stats().not_ours + ends.b.stats().damaged, header * 8);
    EXPECT_EQ(ends.b.stats().other_link + ends.b.stats().stranger + ends.b.stats().late, 0U);
    auto damaged = sent;
    damaged[header + 2] ^= std::byte{2};
    EXPECT_EQ(give(ends.b, damaged), "ab ad") << "for the engine to find";
}

TEST(SequencedWire, FramesCarryWhatTheCarrierSaysOfTheirDatagram) {
    Ends ends;
    ends.b.inner().integrity = Integrity::damaged;
    ends.b.inner().arriving.push_back(datagram_of(ends.a, {"a", "b"}));
    for (int i = 0; i < 2; ++i) {
        const auto frame = ends.b.receive(Instant());
        ASSERT_TRUE(frame.has_value());
        EXPECT_EQ(frame->integrity, Integrity::damaged);
        EXPECT_EQ(frame->from, PeerId{0});
    }
}

TEST(SequencedWire, OfADatagramCutShortTheWholeFramesAreTaken) {
    Ends ends;
    auto cut = datagram_of(ends.a, {"one", "two", "three", "four"});
    cut.resize(DatagramHeader::size(4) + 8);
    EXPECT_EQ(give(ends.b, cut), "one two");
    EXPECT_EQ(ends.b.stats().frames_malformed, 2U);
    EXPECT_EQ(give(ends.b, datagram_of(ends.a, {"next"})), "next");
}

TEST(SequencedWire, ForwardsDeadlineAndEventsOfTheCarrier) {
    Ends ends;
    EXPECT_EQ(ends.a.next_deadline(), never);
    ends.a.inner().deadline = Instant(Duration(5));
    EXPECT_EQ(ends.a.next_deadline(), Instant(Duration(5)));
    ends.a.inner().event = {PeerId{1}, WireEvent::peer_gone};
    EXPECT_FALSE(ends.a.next_event().has_value()) << "of somebody else";
    ends.a.inner().event = {PeerId{0}, WireEvent::peer_gone};
    EXPECT_EQ(ends.a.next_event(), std::pair(PeerId{0}, WireEvent::peer_gone));
}

TEST(SequencedWire, AFloodOfWhatIsDroppedLetsTheProgramHaveItsTurn) {
    Ends ends;
    for (int i = 0; i < 10'000; ++i) ends.b.inner().arriving.push_back({});
    EXPECT_FALSE(ends.b.receive(Instant()).has_value());
    EXPECT_GT(ends.b.inner().arriving.size(), 9'000U);
    EXPECT_FALSE(ends.b.prepare_to_sleep());
    EXPECT_EQ(ends.b.next_deadline(), Instant());
    while (!ends.b.inner().arriving.empty()) received(ends.b);
    EXPECT_TRUE(ends.b.prepare_to_sleep());
}

// Random bytes, and datagrams of this wire with some bytes changed, with a right check and with a
// wrong one.
TEST(SequencedWire, NoDatagramIsTooStrange) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random(seed);
        Ends ends;
        for (int i = 0; i < 200; ++i) {
            auto bytes = datagram_of(ends.a, {"frame", "another"});
            for (std::uint64_t n = random.below(4); n > 0; --n) {
                bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
            }
            if (random.chance(0.2)) bytes.resize(random.below(datagram_max));
            if (random.chance(0.5) && bytes.size() >= DatagramHeader::size(3)) {
                const std::size_t frames = random.below(4);
                bytes[0] = DatagramHeader::magic;
                bytes[1] = DatagramHeader::version;
                const std::vector<std::byte> lengths(
                    bytes.begin() + DatagramHeader::fixed_size,
                    bytes.begin() + DatagramHeader::fixed_size +
                        static_cast<std::ptrdiff_t>(frames * DatagramHeader::length_size));
                const DatagramHeader header{
                    .frames = static_cast<std::uint16_t>(frames),
                    .link = random.chance(0.9) ? 5U : 6U,
                    .from = static_cast<std::uint32_t>(random.below(3)) + ends.a.lives().own(),
                    .to = static_cast<std::uint32_t>(random.below(2)) * ends.b.lives().own(),
                    .counter = static_cast<std::uint32_t>(random.next())};
                header.encode(lengths, Bytes(bytes).first(DatagramHeader::size(frames)));
            }
            ends.b.inner().arriving.push_back(std::move(bytes));
        }
        const std::size_t given = ends.b.inner().arriving.size();
        const SequencedStats before = ends.b.stats();
        while (!ends.b.inner().arriving.empty()) {
            received(ends.b);
            new_lives(ends.b);
        }
        const SequencedStats& after = ends.b.stats();
        EXPECT_EQ(after.datagrams_taken + after.dropped(),
                  before.datagrams_taken + before.dropped() + given);
        leaving(ends.b);
    }
}

}  // namespace
}  // namespace wireproof::test
