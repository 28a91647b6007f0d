#include "wireproof/proto/am/save_bytes.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

TEST(AmSaveBytes, KeepsEachPieceWholeAroundTheEndOfTheRing) {
    SaveBytes saved(10);
    const auto four = pattern(4, 1);
    const auto five = pattern(5, 2);
    const auto first = saved.save(four);
    const auto second = saved.save(four);
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(saved.save(five));  // 2 bytes are left behind, none before
    saved.free_up_to(*first);
    const auto third = saved.save(four);  // skips those two
    ASSERT_TRUE(third);
    EXPECT_EQ(third->at, 0);
    EXPECT_TRUE(same(saved.view(*second), four));
    EXPECT_TRUE(same(saved.view(*third), four));
    EXPECT_FALSE(saved.save(ConstBytes(four).first(3)));
}

TEST(AmSaveBytes, TakesWhatJustFitsAndNothingLonger) {
    SaveBytes saved(10);
    EXPECT_FALSE(saved.save(pattern(11)));
    const auto all = saved.save(pattern(10));
    ASSERT_TRUE(all);
    EXPECT_FALSE(saved.save(pattern(1)));
    saved.free_up_to(*all);
    EXPECT_TRUE(saved.save(pattern(10)));
}

TEST(AmSaveBytes, EmptiedItBeginsAtItsFront) {
    SaveBytes saved(100);
    for (int i = 0; i < 5; ++i) {
        const auto place = saved.save(pattern(30));
        ASSERT_TRUE(place);
        EXPECT_EQ(place->at, 0);
        saved.free_up_to(*place);
    }
}

// A piece without bytes may outlive the round of the ring it was saved in.
TEST(AmSaveBytes, FreeingNothingFreesNothing) {
    SaveBytes saved(16);
    const auto eight = pattern(8, 1);
    const auto first = saved.save(eight);
    const auto nothing = saved.save({});
    ASSERT_TRUE(first && nothing);
    saved.free_up_to(*first);
    const auto second = saved.save(ConstBytes(eight).first(4));
    saved.free_up_to(*nothing);
    const auto third = saved.save(ConstBytes(eight).subspan(4));
    const auto fourth = saved.save(eight);
    ASSERT_TRUE(second && third && fourth);
    EXPECT_TRUE(same(saved.view(*second), ConstBytes(eight).first(4)));
    EXPECT_TRUE(same(saved.view(*third), ConstBytes(eight).subspan(4)));
    EXPECT_FALSE(saved.save(ConstBytes(eight).first(1)));
}

TEST(AmSaveBytes, NeverOverwritesWhatIsStillSaved) {
    struct Piece {
        SaveBytes::Place place;
        std::vector<std::byte> bytes;
    };
    SaveBytes saved(200);
    std::deque<Piece> pieces;
    Random random(5);
    std::size_t refused = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        if (random.chance(0.5)) {
            auto bytes = pattern(random.below(60), i);
            if (const auto place = saved.save(bytes)) {
                pieces.push_back({*place, std::move(bytes)});
            } else {
                ++refused;
            }
        } else if (!pieces.empty()) {
            saved.free_up_to(pieces.front().place);
            pieces.pop_front();
        }
        for (const Piece& piece : pieces) {
            ASSERT_TRUE(same(saved.view(piece.place), piece.bytes)) << i;
        }
    }
    EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace wireproof::am::test
