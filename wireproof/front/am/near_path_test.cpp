#include "wireproof/front/am/near_path.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

TEST(AmAddressRange, IsTheSmallestThatContainsAll) {
    AddressRange range;
    range.add(100, 10, true);
    range.add(200, 1, false);
    EXPECT_FALSE(range.meets(99, 1));
    EXPECT_TRUE(range.meets(99, 2));
    EXPECT_TRUE(range.meets(150, 1)) << "between the two";
    EXPECT_TRUE(range.meets(200, 100));
    EXPECT_FALSE(range.meets(201, 100));
    range.add(500, 8, true);
    EXPECT_FALSE(range.meets(100, 300));
    EXPECT_TRUE(range.meets(507, 0)) << "0 bytes count as 1";
}

TEST(AmAddressRange, EndsAtTheHighestAddress) {
    AddressRange range;
    range.add(~std::uint64_t{0} - 9, 100, true);
    EXPECT_TRUE(range.meets(~std::uint64_t{0}, 1));
    EXPECT_FALSE(range.meets(0, 1));
}

class AmNearPath : public testing::Test {
protected:
    AmNearPath() : wires_(std::move(*ShmWire::pair({}))), wire_(std::ref(wires_.first)) {
        path.add(1);
    }
    ShmWire& own() { return wires_.first; }
    ShmWire& peer() { return wires_.second; }

private:
    std::pair<ShmWire, ShmWire> wires_;
    host::AnyWire wire_;

protected:
    NearPath path{wire_, &wires_.first, 3};
};

TEST_F(AmNearPath, KnowsTheHandlersThatStoresFoundUntilThePeerRemovesOne) {
    EXPECT_FALSE(path.has_handler(1, 5));
    path.found(1, 5, path.notice_of(1));
    EXPECT_TRUE(path.has_handler(1, 5));
    EXPECT_FALSE(path.has_handler(1, 6));
    peer().set_notice(1);
    EXPECT_FALSE(path.has_handler(1, 5)) << "it may be the one";
    path.found(1, 6, path.notice_of(1));
    EXPECT_TRUE(path.has_handler(1, 6));
    EXPECT_FALSE(path.has_handler(1, 5)) << "still";
}

TEST_F(AmNearPath, AStoreProvesNothingIfThePeerRemovedAHandlerMeanwhile) {
    const auto posted = path.notice_of(1);
    peer().set_notice(1);
    path.found(1, 5, posted);
    EXPECT_FALSE(path.has_handler(1, 5));
}

TEST_F(AmNearPath, ForgetsAHandlerThatAStoreMissedAndAllWithTheSession) {
    path.found(1, 5, path.notice_of(1));
    path.found(1, 6, path.notice_of(1));
    path.missed(1, 5);
    EXPECT_FALSE(path.has_handler(1, 5));
    EXPECT_TRUE(path.has_handler(1, 6));
    path.session_ended(1);
    EXPECT_FALSE(path.has_handler(1, 6));
}

TEST_F(AmNearPath, KnowsNothingOfAPeerThatIsNotNear) {
    EXPECT_EQ(path.notice_of(2), std::nullopt);
    path.found(2, 5, path.notice_of(2));
    EXPECT_FALSE(path.has_handler(2, 5));
}

TEST_F(AmNearPath, CountsWhatItWrote) {
    const auto memory = peer().allocate_shared(64);
    ASSERT_TRUE(memory);
    ASSERT_TRUE(peer().share(PeerId{0}, 4096, *memory, true, true));
    const std::vector<std::byte> source(64, std::byte{7});
    EXPECT_FALSE(path.write(1, 4096, source)) << "this node was not told of it";
    EXPECT_EQ(path.written(), 0U);
    peer().flush(Instant());
    own().receive(Instant());
    EXPECT_TRUE(path.write(1, 4096, source));
    EXPECT_EQ(path.written(), 1U);
    EXPECT_TRUE(std::equal(source.begin(), source.end(), memory->begin()));
}

}  // namespace
}  // namespace wireproof::am
