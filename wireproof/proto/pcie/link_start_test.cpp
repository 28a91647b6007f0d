// Start-up, credits between two ends, and the end of a link (docs/rules/pcie.md).
#include <gtest/gtest.h>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/pcie/pair_test_kit.hpp"

namespace wireproof::pcie {
namespace {

using enum RxVerdict;
using State = Link::State;

// PCIE-28
TEST(PcieStart, NoTlpLeavesBeforeTheLinkIsActive) {
    const Instant now;
    End a(test_config());
    EXPECT_EQ(a.link.submit(message(4)), SubmitStatus::no_room);
    Names names;
    while (const auto frame = a.poll(now)) names.push_back(frame->name());
    EXPECT_EQ(names, (Names{"InitFC1-P", "InitFC1-NP", "InitFC1-Cpl"}));
    EXPECT_EQ(a.link.next_deadline(), now + test_config().init_every);
}

// PCIE-28: FC_INIT1 ends when all three kinds have arrived, FC_INIT2 with the first InitFC2.
TEST(PcieStart, PassesThroughBothStatesOfInitialisation) {
    Instant now;
    End a(test_config());
    End b(test_config());
    const auto triple = [&](End& end) {
        std::vector<Frame> frames;
        while (auto frame = end.poll(now)) frames.push_back(std::move(*frame));
        return frames;
    };
    const auto from_b = triple(b);
    a.give(now, from_b[0]);
    a.give(now, from_b[1]);
    EXPECT_EQ(a.link.state(), State::fc_init1);
    a.give(now, from_b[2]);
    EXPECT_EQ(a.link.state(), State::fc_init2);
    a.give(now, from_b[0]);  // the peer may still be in FC_INIT1
    EXPECT_EQ(a.link.state(), State::fc_init2);
    const auto from_a = triple(a);
    ASSERT_EQ(from_a.size(), 3U);  // the rest of the first triple is not sent
    EXPECT_EQ(from_a[0].name(), "InitFC2-P");
    b.give(now, from_a[0]);
    b.give(now, from_a[1]);
    EXPECT_EQ(b.link.state(), State::fc_init1);
    b.give(now, from_a[2]);  // an InitFC2 counts in FC_INIT1, too
    EXPECT_EQ(b.link.state(), State::fc_init2);
    EXPECT_EQ(a.ups, 0);
    a.give(now, triple(b)[0]);
    EXPECT_EQ(a.link.state(), State::active);
    EXPECT_EQ(a.ups, 1);
    EXPECT_EQ(b.ups, 0);
}

// PCIE-28: a TLP ends FC_INIT2, too, and it is delivered.
TEST(PcieStart, ATlpBringsALinkUpThatWaitedForAnInitFc2) {
    Pair pair;
    pair.submit(1);
    const auto tlp = pair.frames(pair.a).at(0);
    End late(test_config());
    const Instant now;
    EXPECT_EQ(late.give(now, tlp), refused);  // FC_INIT1 drops it
    End other(test_config());
    while (const auto frame = other.poll(now)) late.give(now, *frame);
    EXPECT_EQ(late.link.state(), State::fc_init2);
    EXPECT_EQ(late.give(now, tlp), accepted);
    EXPECT_EQ(late.link.state(), State::active);
    EXPECT_EQ(late.ups, 1);
    EXPECT_EQ(late.got.size(), 1U);
}

// PCIE-37
TEST(PcieStart, BothSidesComeUpThoughHalfOfTheDllpsAreLost) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random(seed);
        Instant now;
        End a(test_config());
        End b(test_config());
        int rounds = 0;
        const auto carry = [&](End& from, End& to) {
            while (const auto frame = from.poll(now)) {
                if (random.chance(0.5)) to.give(now, *frame);
            }
        };
        while (a.link.state() != State::active || b.link.state() != State::active) {
            ASSERT_LT(++rounds, 200) << seed;
            carry(a, b);
            carry(b, a);
            now = std::min({a.link.next_deadline(), b.link.next_deadline(),
                            now + Duration::microseconds(100)});
            if (a.link.next_deadline() <= now) a.on_deadline(now);
            if (b.link.next_deadline() <= now) b.on_deadline(now);
        }
        EXPECT_EQ(a.ups + b.ups, 2);
        // Then there is silence: neither end answers an answer.
        for (int i = 0; i < 4; ++i) {
            carry(a, b);
            carry(b, a);
        }
        EXPECT_EQ(a.poll(now), std::nullopt);
        EXPECT_EQ(b.poll(now), std::nullopt);
        EXPECT_EQ(std::min(a.link.next_deadline(), b.link.next_deadline()), never);
    }
}

// PCIE-37: an end answers one late InitFC2, and the peer does not answer that.
TEST(PcieStart, ALateInitFc2StartsNoEcho) {
    Pair pair;
    std::array<std::byte, Dllp::size> late;
    Dllp::flow_control(DllpKind::init_fc2, FlowType::posted, {}).encode(late, true);
    EXPECT_EQ(pair.a.give(pair.now, {{late.begin(), late.end()}}), control);
    int frames = 0;
    for (int turn = 0; turn < 10; ++turn) {
        while (const auto frame = pair.a.poll(pair.now)) {
            ++frames;
            pair.b.give(pair.now, *frame);
        }
        while (const auto frame = pair.b.poll(pair.now)) {
            ++frames;
            pair.a.give(pair.now, *frame);
        }
    }
    EXPECT_EQ(frames, 1);
}

// PCIE-29: the sender never sends more than the peer has room for, even if frames are lost.
TEST(PcieStart, CreditsHoldTheSenderBackAndUpdatesLetItGoOn) {
    Config config = test_config();
    config.credits[0] = {2, 8};
    Pair pair(config);
    pair.submit(200, 64);
    int rounds = 0;
    Random random(5);
    while (pair.b.got.size() < 200) {
        ASSERT_LT(++rounds, 20'000);
        int tlps = 0;
        while (const auto frame = pair.a.poll(pair.now)) {
            tlps += frame->name().starts_with("TLP") && !frame->resent ? 1 : 0;
            if (!random.chance(0.2)) pair.b.give(pair.now, *frame);
        }
        EXPECT_LE(tlps, 2);
        while (const auto frame = pair.b.poll(pair.now)) {
            if (!random.chance(0.2)) pair.a.give(pair.now, *frame);
        }
        pair.wait();
    }
    pair.expect_all();
}

// PCIE-32
TEST(PcieStart, ALinkThatGoesDownForgetsEverything) {
    Pair pair;
    pair.submit(3);
    const auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[0]);
    for (End* end : {&pair.a, &pair.b}) {
        end->link.on_wire_event(pair.now, WireEvent::peer_gone);
        end->draw();
        EXPECT_EQ(end->link.state(), State::inactive);
        EXPECT_EQ(end->downs, 1);
        EXPECT_EQ(end->link.transmitter().outstanding() + end->link.transmitter().waiting(), 0U);
        EXPECT_EQ(end->link.receiver().next_rcv_seq(), 4090U);
        EXPECT_EQ(end->link.next_deadline(), never);
        EXPECT_EQ(pair.leaving(*end), Names{});
        EXPECT_EQ(end->give(pair.now, sent[1]), refused);
    }
    pair.a.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.start();
    EXPECT_EQ(pair.a.ups, 2);
    pair.submitted = 0;
    pair.b.got.clear();
    pair.submit(2);
    pair.settle();
    pair.expect_all();
}

// PCIE-32: a message that was not taken and an answer that is due do not survive the end of the
// link.
TEST(PcieStart, ALinkThatComesBackIsAsANewOne) {
    const auto fingerprint = [](const Link& link) {
        Fingerprint sink;
        link.fingerprint(Instant(), sink);
        return sink.value();
    };
    Pair pair;
    pair.submit(1);
    const Frame tlp = pair.frames(pair.a).at(0);
    for (const DllpKind kind : {DllpKind::init_fc1, DllpKind::init_fc2}) {
        std::array<std::byte, Dllp::size> late;
        Dllp::flow_control(kind, FlowType::posted, {}).encode(late, true);
        EXPECT_EQ(pair.b.give(pair.now, {{late.begin(), late.end()}}), control);
    }
    EXPECT_EQ(pair.b.link.on_frame(pair.now, RxFrame{.bytes = tlp.bytes}), accepted);
    pair.b.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.draw();
    EXPECT_TRUE(pair.b.got.empty());
    EXPECT_EQ(fingerprint(pair.b.link), fingerprint(Link(test_config())));
}

// PCIE-32: a restarted peer takes this end down and up again.
TEST(PcieStart, ANewLifeOfThePeerIsADownAndAnUp) {
    Pair pair;
    pair.submit(2);
    pair.leaving(pair.a);
    pair.b.link = Link(test_config());
    pair.a.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.a.draw();
    pair.start();
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_EQ(pair.a.ups, 2);
    EXPECT_EQ(pair.a.link.transmitter().waiting(), 0U);
}

TEST(PcieStart, ASignOfLifeLeavesAsOftenAsAskedFor) {
    Config config = test_config();
    config.sign_of_life = Duration::milliseconds(3);
    Pair pair(config);
    for (int i = 0; i < 5; ++i) {
        pair.pass(Duration::milliseconds(3));
        EXPECT_EQ(pair.leaving(pair.a), Names{"UpdateFC-P"});
        EXPECT_EQ(pair.leaving(pair.b), Names{"UpdateFC-P"});
    }
}

TEST(PcieStart, ConfigurationsThatCannotWorkAreRefused) {
    EXPECT_TRUE(Config().check());
    EXPECT_TRUE(Config::of_link({Speed::gen1, 16}).check());
    EXPECT_TRUE(Config::of_datagrams(1400).check());
    EXPECT_EQ(Config::of_datagrams(1446).payload_max, 1416U);
    EXPECT_EQ(Config::of_datagrams(9000).payload_max, 4096U);
    EXPECT_FALSE(Config::of_datagrams(28).check());
    const auto refuses = [](auto&& change) {
        Config config;
        change(config);
        EXPECT_FALSE(config.check());
    };
    refuses([](Config& config) { config.modulus = 4095; });
    refuses([](Config& config) { config.modulus = 8192; });
    refuses([](Config& config) { config.first_number = 4096; });
    refuses([](Config& config) { config.outstanding = 2048; });
    refuses([](Config& config) { config.payload_max = 4097; });
    refuses([](Config& config) { config.replay_slots = 0; });
    refuses([](Config& config) { config.replay_floor = config.replay_after * 2; });
    refuses([](Config& config) { config.credits[1] = {128, 0}; });
    refuses([](Config& config) { config.credits[1] = {1, 10}; });
    refuses([](Config& config) { config.replay_after = Duration(); });
}

}  // namespace
}  // namespace wireproof::pcie
