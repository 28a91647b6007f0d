#include "wireproof/proto/ib/port/queue_pair_list.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "wireproof/base/random.hpp"

namespace wireproof::proto::ib {
namespace {

using To = QueuePairList::To;

/// The same results from a look at every queue pair.
class Model {
public:
    std::map<std::uint32_t, To> members;  // by number

    std::optional<std::uint32_t> after(std::uint32_t number, const PeerId* peer,
                                       bool datagrams_only) const {
        for (auto one = members.upper_bound(number); one != members.end(); ++one) {
            const To& to = one->second;
            const bool fits = peer == nullptr || !to.peer || *to.peer == *peer;
            if (fits && (to.datagrams || !datagrams_only)) return one->first;
        }
        return std::nullopt;
    }
    std::vector<PeerId> peers(std::uint32_t number) const {
        std::vector<PeerId> peers;
        const auto add = [&](const To& to) {
            if (to.peer && std::ranges::find(peers, *to.peer) == peers.end()) {
                peers.push_back(*to.peer);
            }
        };
        const auto first = members.upper_bound(number);
        for (auto one = first; one != members.end(); ++one) add(one->second);
        for (auto one = members.begin(); one != first; ++one) add(one->second);
        return peers;
    }
};

TEST(QueuePairList, SaysWhatALookAtEveryQueuePairWouldSay) {
    constexpr std::uint32_t slots = 64;
    // Some numbers are the first and the last ones of 24 bits, and their order is not that of
    // slots.
    const auto number_of = [](std::uint32_t slot) {
        return slot % 2 == 0 ? slot / 2 + 1 : 0xFFFFFF - slot / 2;
    };
    Random dice(1);
    QueuePairList list;
    Model model;
    list.reserve(slots);
    for (int i = 0; i < 20'000; ++i) {
        const auto slot = static_cast<std::uint32_t>(dice.below(slots));
        if (dice.chance(0.45)) {
            list.remove(slot);
            model.members.erase(number_of(slot));
        } else {
            const PeerId peer{static_cast<std::uint16_t>(dice.below(3) * 0x7FFF)};
            const To to{.peer = dice.chance(0.8) ? std::optional(peer) : std::nullopt,
                        .datagrams = dice.chance(0.3)};
            list.put({number_of(slot), slot}, to);
            model.members[number_of(slot)] = to;
        }
        ASSERT_EQ(list.size(), model.members.size());
        const std::uint32_t number = number_of(static_cast<std::uint32_t>(dice.below(slots)));
        const PeerId peer{static_cast<std::uint16_t>(dice.below(3) * 0x7FFF)};
        const PeerId* const wanted = dice.chance(0.3) ? nullptr : &peer;
        const bool datagrams_only = dice.chance(0.3);
        const auto next = list.after(number, wanted, datagrams_only);
        const auto expected = model.after(number, wanted, datagrams_only);
        ASSERT_EQ(next.has_value(), expected.has_value());
        if (next) {
            ASSERT_EQ(next->number, *expected);
            ASSERT_EQ(number_of(next->slot), *expected);
        }
        std::vector<PeerId> peers;
        list.peers(number, peers);
        ASSERT_EQ(peers, model.peers(number));
    }
}

TEST(QueuePairSlots, AreFewAndNeverOfTwoQueuePairs) {
    Random dice(1);
    QueuePairSlots slots;
    std::map<std::uint32_t, std::uint32_t> used;  // by slot: the number
    std::size_t most = 0;
    for (std::uint32_t number = 1; number < 5'000; ++number) {
        if (used.size() > 20 || (!used.empty() && dice.chance(0.5))) {
            const auto one = std::next(used.begin(), static_cast<int>(dice.below(used.size())));
            slots.remove(one->first);
            used.erase(one);
        }
        EXPECT_TRUE(used.emplace(slots.add(number), number).second);
        most = std::max(most, used.size());
        for (const auto& [slot, of] : used) ASSERT_EQ(slots.number(slot), of);
    }
    EXPECT_EQ(slots.size(), most);
}

}  // namespace
}  // namespace wireproof::proto::ib
