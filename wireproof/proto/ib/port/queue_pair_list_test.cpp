#include "wireproof/proto/ib/port/queue_pair_list.hpp"

#include <gtest/gtest.h>

#include <map>

#include "wireproof/base/random.hpp"

namespace wireproof::proto::ib {
namespace {

TEST(QueuePairList, IsAMapByNumber) {
    Random dice(1);
    QueuePairList list;
    std::map<std::uint32_t, Instant> map;
    list.reserve(64);
    for (int i = 0; i < 5'000; ++i) {
        const auto number = static_cast<std::uint32_t>(dice.below(64));
        if (dice.chance(0.4)) {
            list.remove(number);
            map.erase(number);
        } else {
            const Instant deadline(Duration(static_cast<std::int64_t>(dice.below(1'000))));
            list.put(number, deadline);
            map[number] = deadline;
        }
        ASSERT_EQ(list.size(), map.size());
        std::size_t place = 0;
        Instant next = never;
        for (const auto& [key, deadline] : map) {
            EXPECT_EQ(list[place].number, key);
            EXPECT_EQ(list[place].deadline, deadline);
            EXPECT_EQ(list.after(key), ++place);
            next = earliest(next, deadline);
        }
        EXPECT_EQ(list.next_deadline(), next);
    }
}

}  // namespace
}  // namespace wireproof::proto::ib
