#include "wireproof/proto/am/send/save_bytes.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

std::optional<SaveBytes::Place> save(SaveBytes& saved, ConstBytes data) {
    SaveBytes::Place place;
    if (!saved.take(data.size(), place)) return std::nullopt;
    std::copy(data.begin(), data.end(), saved.room(place).begin());
    return place;
}

TEST(AmSaveBytes, KeepsEachPieceWholeAroundTheEndOfTheRing) {
    SaveBytes saved(10);
    const auto four = pattern(4, 1);
    const auto five = pattern(5, 2);
    const auto first = save(saved, four);
    const auto second = save(saved, four);
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(save(saved, five));  // 2 bytes are free at the end, none at the front
    saved.free_up_to(*first);
    const auto third = save(saved, four);  // skips those two
    ASSERT_TRUE(third);
    EXPECT_EQ(third->at, 0);
    EXPECT_TRUE(same(saved.view(*second), four));
    EXPECT_TRUE(same(saved.view(*third), four));
    EXPECT_FALSE(save(saved, ConstBytes(four).first(3)));
}

TEST(AmSaveBytes, TakesWhatJustFitsAndNothingLonger) {
    SaveBytes saved(10);
    EXPECT_FALSE(save(saved, pattern(11)));
    const auto all = save(saved, pattern(10));
    ASSERT_TRUE(all);
    EXPECT_FALSE(save(saved, pattern(1)));
    saved.free_up_to(*all);
    EXPECT_TRUE(save(saved, pattern(10)));
}

TEST(AmSaveBytes, EmptiedItBeginsAtItsFront) {
    SaveBytes saved(100);
    for (int i = 0; i < 5; ++i) {
        const auto place = save(saved, pattern(30));
        const auto behind = save(saved, pattern(60));
        ASSERT_TRUE(place && behind);
        EXPECT_EQ(place->at, 0);
        EXPECT_EQ(behind->at, 30);
        EXPECT_FALSE(save(saved, pattern(30))) << "nothing before them is free";
        saved.free_up_to(*behind);
    }
}

// An empty copy may stay longer than the round of the ring in which it was saved.
TEST(AmSaveBytes, FreeingNothingFreesNothing) {
    SaveBytes saved(16);
    const auto eight = pattern(8, 1);
    const auto first = save(saved, eight);
    const auto nothing = save(saved, {});
    ASSERT_TRUE(first && nothing);
    saved.free_up_to(*first);
    const auto second = save(saved, ConstBytes(eight).first(4));
    saved.free_up_to(*nothing);
    const auto third = save(saved, ConstBytes(eight).subspan(4));
    const auto fourth = save(saved, eight);
    ASSERT_TRUE(second && third && fourth);
    EXPECT_TRUE(same(saved.view(*second), ConstBytes(eight).first(4)));
    EXPECT_TRUE(same(saved.view(*third), ConstBytes(eight).subspan(4)));
    EXPECT_FALSE(save(saved, ConstBytes(eight).first(1)));
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
            if (const auto place = save(saved, bytes)) {
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
