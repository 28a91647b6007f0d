// What the engine needs from its carrier, and which checks it omits if the carrier does them.
#include <gtest/gtest.h>

#include "wireproof/proto/hippi/pair_test_kit.hpp"

namespace wireproof::hippi::test {
namespace {

using enum RxVerdict;

TEST(HippiFrame, TakesDataThatACableCarriedByReference) {
    Pair pair = Pair::started();
    pair.a.submit(1);
    const Frames frames = pair.take(pair.a);
    const ConstBytes whole(frames[0].bytes);
    RxFrame frame{.bytes = whole.last(control_size), .lent = whole.first(data_size)};
    frame.lent_at = 1;
    EXPECT_EQ(pair.b.engine.on_frame(pair.now, frame), malformed);
    frame.lent_at = 0;
    EXPECT_EQ(pair.b.engine.on_frame(pair.now, frame), accepted);
    pair.b.draw();
    EXPECT_EQ(pair.b.messages, (std::vector<Message>{message(0)}));
}

TEST(HippiFrame, LeavesTheLinkCheckOutWhereTheLaneCarriesIntact) {
    Pair pair = Pair::started();
    pair.a.submit(1);
    std::array<std::byte, unit_size> room{};
    TxFrame out;
    out.open(room, {.frame_max = unit_size, .carries_intact = true});
    ASSERT_TRUE(pair.a.engine.poll_transmit(pair.now, out));
    Frame frame{.bytes = Message(out.size())};
    out.gather(frame.bytes);
    EXPECT_EQ(frame.control().lcrc, 0);
    EXPECT_EQ(pair.b.give(pair.now, frame.bytes, Integrity::intact), accepted);
}

TEST(HippiFrame, PointsAtLentMessagesWhereTheyLie) {
    Config config = near_wrap();
    config.lent = true;
    Pair pair = Pair::started(config);
    const Message lent = message(1, 64);
    ASSERT_EQ(pair.a.engine.submit(lent), SubmitStatus::accepted);
    for (std::size_t unit = 0; unit < 2; ++unit) {
        std::array<std::byte, unit_size> room{};
        TxFrame out;
        out.open(room, {.frame_max = unit_size});
        ASSERT_TRUE(pair.a.engine.poll_transmit(pair.now, out));
        EXPECT_EQ(out.pieces()[0].data(), lent.data() + unit * data_size);
        EXPECT_EQ(out.pieces()[0].size(), data_size);
    }
}

// HIPPI-29: a resent unit has the bytes of the first sending, even if the user's memory has
// changed.
TEST(HippiFrame, ResendsTheCopyThatWasSubmitted) {
    Pair pair = Pair::started();
    Message mine = message(1, 64);
    ASSERT_EQ(pair.a.engine.submit(mine), SubmitStatus::accepted);
    mine = message(2, 64);
    pair.take(pair.a, 1);
    pair.wait(pair.config.retry_after);
    pair.carry(pair.a);
    EXPECT_EQ(pair.b.messages, (std::vector<Message>{message(1, 64)}));
}

TEST(HippiFrame, RefusesFramesWhileADeliveryWaits) {
    Pair pair = Pair::started();
    pair.a.submit(2);
    const Frames frames = pair.take(pair.a);
    EXPECT_EQ(pair.b.engine.on_frame(pair.now, {.bytes = frames[0].bytes}), accepted);
    EXPECT_EQ(pair.b.engine.on_frame(pair.now, {.bytes = frames[1].bytes}), refused);
    pair.b.draw();
    EXPECT_EQ(pair.give(pair.b, frames[1]), accepted);
    EXPECT_EQ(pair.b.numbers(), (std::vector<std::uint64_t>{0, 1}));
}

TEST(HippiFrame, NothingToSendLeavesTheRoomUntouched) {
    Pair pair = Pair::started();
    std::array<std::byte, unit_size> room{};
    TxFrame out;
    out.open(room, {.frame_max = unit_size});
    EXPECT_FALSE(pair.a.engine.poll_transmit(pair.now, out));
    EXPECT_EQ(out.size(), 0);
}

}  // namespace
}  // namespace wireproof::hippi::test
