#include "wireproof/core/around_wire.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace wireproof {
namespace {

struct Offering {
    int wait_handle() const { return 42; }
    bool prepare_to_sleep() { return false; }
    void settle(PeerId peer) { settled.push_back(peer); }
    void unsettle(PeerId peer) { std::erase(settled, peer); }
    void abandon() { abandoned = true; }
    PeerTrouble trouble(PeerId peer) const {
        return {.frames_refused = static_cast<std::uint64_t>(peer)};
    }

    std::vector<PeerId> settled;
    bool abandoned = false;
};

struct Bare {};

template <class W>
struct Around : AroundWire<Around<W>, W> {
    W& inner() { return wire; }
    const W& inner() const { return wire; }

    W wire;
};

TEST(AroundWire, MakesEveryCallOnTheWireInside) {
    Around<Around<Offering>> wire;
    Offering& inside = wire.inner().inner();
    EXPECT_EQ(wire.wait_handle(), 42);
    EXPECT_FALSE(wire.prepare_to_sleep());
    wire.settle(PeerId{3});
    EXPECT_EQ(inside.settled, std::vector{PeerId{3}});
    wire.unsettle(PeerId{3});
    EXPECT_TRUE(inside.settled.empty());
    EXPECT_EQ(wire.trouble(PeerId{5}).frames_refused, 5U);
    EXPECT_FALSE(inside.abandoned);
    wire.abandon();
    EXPECT_TRUE(inside.abandoned);
}

TEST(AroundWire, AnswersForAWireThatHasNoSuchCall) {
    Around<Bare> wire;
    EXPECT_EQ(wire.wait_handle(), -1);
    EXPECT_TRUE(wire.prepare_to_sleep());
    wire.settle(PeerId{0});
    wire.unsettle(PeerId{0});
    wire.abandon();
    EXPECT_EQ(wire.trouble(PeerId{0}).cause, "");
}

// Each of these would lose its call in silence. A wire around one of them does not compile.
struct OnlySettles {
    void settle(PeerId) {}
};
struct OnlyPrepares {
    bool prepare_to_sleep() { return true; }
};
struct SettlesNumbers : Offering {
    void settle(std::vector<int>) {}
};
struct AbandonsForAReason {
    void abandon(int) {}
};
struct TellsText {
    const char* trouble(PeerId) const { return ""; }
};

static_assert(has_whole_calls<Bare> && has_whole_calls<Offering>);
static_assert(has_whole_calls<Around<Bare>>);
static_assert(!has_whole_calls<OnlySettles> && !has_whole_calls<OnlyPrepares>);
static_assert(!has_whole_calls<SettlesNumbers> && !has_whole_calls<AbandonsForAReason>);
static_assert(!has_whole_calls<TellsText>);

}  // namespace
}  // namespace wireproof
