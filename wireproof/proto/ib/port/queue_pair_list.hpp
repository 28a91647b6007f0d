// The queue pairs of a port that may have something to send, in ascending order for each peer, so
// that they take turns. If a port has many queue pairs, most are not here and cost no time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/core/frame.hpp"

namespace wireproof::proto::ib {

/// Slots of queue pairs. They are smaller than the greatest number of queue pairs that existed at
/// the same time, so a table can have an entry for each.
class QueuePairSlots {
public:
    std::uint32_t add(std::uint32_t number) {
        if (free_ == none) {
            numbers_.push_back(number);
            return static_cast<std::uint32_t>(numbers_.size() - 1);
        }
        const std::uint32_t slot = free_;
        free_ = std::exchange(numbers_[slot], number);
        return slot;
    }
    /// Needs no memory.
    void remove(std::uint32_t slot) { numbers_[slot] = std::exchange(free_, slot); }
    /// The queue pair that has this slot.
    std::uint32_t number(std::uint32_t slot) const { return numbers_[slot]; }
    /// All slots are smaller.
    std::size_t size() const { return numbers_.size(); }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    std::vector<std::uint32_t> numbers_;  // of a free slot: the slot that was free before it
    std::uint32_t free_ = none;           // the slot that became free last
};

/// Each queue pair has a slot and a number from 1 on. The number decides about its turn.
///
/// This is a treap: a binary tree in the order of (peer, number), and a heap by a value that
/// depends on the slot alone. So a step takes the logarithm of the number of queue pairs that are
/// ready, and the tree does not depend on the past.
class QueuePairList {
public:
    /// Where a queue pair sends. The queue pairs of one port and peer are in two groups, because
    /// datagrams may leave while packets of connections wait. A queue pair without a peer has
    /// nothing to send, or will fail when it is asked.
    struct To {
        std::optional<PeerId> peer = {};
        bool datagrams = false;
    };
    struct Member {
        std::uint32_t number = 0;
        std::uint32_t slot = 0;
    };

    /// Allocates the memory for slots below this number.
    void reserve(std::size_t slots) {
        if (slots > nodes_.size()) nodes_.resize(slots);
    }
    void put(const Member& one, const To& to) {
        Node& node = nodes_[one.slot];
        const Key key = key_of(group_of(to), one.number);
        if (node.key == key) return;
        remove(one.slot);
        node.key = key;
        insert(one.slot);
    }
    void remove(std::uint32_t slot) {
        const Key key = nodes_[slot].key;
        if (key == 0) return;
        Link* at = &root_;
        while (*at != slot + 1) at = key < node(*at).key ? &node(*at).left : &node(*at).right;
        Link left = nodes_[slot].left;
        Link right = nodes_[slot].right;
        while (left != none && right != none) {
            if (rank(left) > rank(right)) {
                *at = left;
                at = &node(left).right;
                left = *at;
            } else {
                *at = right;
                at = &node(right).left;
                right = *at;
            }
        }
        *at = left != none ? left : right;
        nodes_[slot] = {};
        count(key, -1);
    }
    std::size_t size() const { return size_; }

    /// The queue pair with the next larger number, of those that send to this peer or have no peer.
    /// Without a peer: of all. With `datagrams_only`, only those for datagrams.
    std::optional<Member> after(std::uint32_t number, const PeerId* peer,
                                bool datagrams_only) const {
        std::optional<Member> first;
        const auto look = [&](Group group) {
            if (datagrams_only && !of_datagrams(group)) return;
            const auto one = next_in(group, number);
            if (one && (!first || one->number < first->number)) first = one;
        };
        if (peer == nullptr) {
            for_each_group(look);
        } else {
            if (without_peer_ > 0) {
                look(group_of({{}, false}));
                look(group_of({{}, true}));
            }
            look(group_of({*peer, false}));
            if (for_datagrams_ > 0) look(group_of({*peer, true}));
        }
        return first;
    }
    /// The peers to which they send, each once, in the order of the first turns after `number`.
    void peers(std::uint32_t number, std::vector<PeerId>& peers) const {
        turns_.clear();
        for_each_group([&](Group group) {
            if (group < groups_a_peer) return;  // without a peer
            const PeerId peer = peer_of(group);
            const auto next = next_in(group, number);
            // Numbers have 24 bits. Those before `number` have their turn after all others.
            const Turn turn = next ? next->number : first_in(group) + (Turn{1} << number_bits);
            if (!turns_.empty() && turns_.back().peer == peer) {
                turns_.back().turn = std::min(turns_.back().turn, turn);
            } else {
                turns_.push_back({turn, peer});
            }
        });
        std::ranges::sort(turns_, {}, &PeersTurn::turn);
        peers.clear();
        for (const PeersTurn& one : turns_) peers.push_back(one.peer);
    }

private:
    using Link = std::uint32_t;  // a slot, counted from 1
    static constexpr Link none = 0;
    using Group = std::uint32_t;
    using Key = std::uint64_t;  // group and number
    using Turn = std::uint32_t;
    static constexpr unsigned number_bits = 24;
    static constexpr Group groups_a_peer = 2;

    struct Node {
        Key key = 0;  // 0: not in the tree
        Link left = none;
        Link right = none;
    };
    struct PeersTurn {
        Turn turn = 0;
        PeerId peer = {};
    };

    static Group group_of(const To& to) {
        const Group first = to.peer ? (static_cast<Group>(*to.peer) + 1) * groups_a_peer : 0;
        return first + (to.datagrams ? 1U : 0U);
    }
    static PeerId peer_of(Group group) { return static_cast<PeerId>(group / groups_a_peer - 1); }
    static bool of_datagrams(Group group) { return group % groups_a_peer != 0; }
    static Key key_of(Group group, std::uint32_t number) {
        return Key{group} << number_bits | number;
    }
    static Group group_of(Key key) { return static_cast<Group>(key >> number_bits); }

    Node& node(Link link) { return nodes_[link - 1]; }
    const Node& node(Link link) const { return nodes_[link - 1]; }
    static std::uint64_t rank(Link link) { return mix64(link); }

    void insert(std::uint32_t slot) {
        const Link link = slot + 1;
        const Key key = node(link).key;
        Link* at = &root_;
        while (*at != none && rank(*at) > rank(link)) {
            at = key < node(*at).key ? &node(*at).left : &node(*at).right;
        }
        Link rest = *at;
        *at = link;
        Link* left = &node(link).left;
        Link* right = &node(link).right;
        while (rest != none) {
            if (node(rest).key < key) {
                *left = rest;
                left = &node(rest).right;
                rest = *left;
            } else {
                *right = rest;
                right = &node(rest).left;
                rest = *right;
            }
        }
        *left = *right = none;
        count(key, 1);
    }
    void count(Key key, int change) {
        const auto add = [change](std::size_t& to) { to += static_cast<std::size_t>(change); };
        add(size_);
        if (group_of(key) < groups_a_peer) add(without_peer_);
        if (of_datagrams(group_of(key))) add(for_datagrams_);
    }
    /// The first one with at least this key. `none` if there is none.
    Link from(Key key) const {
        Link found = none;
        for (Link at = root_; at != none;) {
            const bool fits = node(at).key >= key;
            if (fits) found = at;
            at = fits ? node(at).left : node(at).right;
        }
        return found;
    }
    std::optional<Member> next_in(Group group, std::uint32_t number) const {
        const Link link = from(key_of(group, number) + 1);
        if (link == none || group_of(node(link).key) != group) return std::nullopt;
        return Member{number_of(link), link - 1};
    }
    /// The group has a member.
    std::uint32_t first_in(Group group) const { return number_of(from(key_of(group, 0))); }
    std::uint32_t number_of(Link link) const {
        return static_cast<std::uint32_t>(node(link).key) & ((1U << number_bits) - 1);
    }
    template <class Use>
    void for_each_group(Use&& use) const {
        for (Link at = from(0); at != none;) {
            const Group group = group_of(node(at).key);
            use(group);
            at = from(key_of(group + 1, 0));
        }
    }

    std::vector<Node> nodes_;  // by slot
    Link root_ = none;
    std::size_t size_ = 0;
    // Of these. Most ports have none, and then nobody looks for them.
    std::size_t without_peer_ = 0;
    std::size_t for_datagrams_ = 0;
    mutable std::vector<PeersTurn> turns_;  // kept to reuse its memory
};

}  // namespace wireproof::proto::ib
