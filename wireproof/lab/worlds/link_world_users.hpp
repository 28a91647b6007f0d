// The users at both ends of a link in a random world: what they submit, and what they check.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "wireproof/core/link_engine.hpp"
#include "wireproof/lab/worlds/link_world_plan.hpp"

namespace wireproof::lab {

class LinkWorldUsers {
public:
    /// `ways_apart`: as in DrawnLink.
    LinkWorldUsers(const LinkWorldPlan& plan, bool ways_apart)
        : plan_(plan), ways_apart_(ways_apart), dice_(plan.network_seed) {}

    /// The message that the user of `node` wants to submit now, if any.
    std::optional<ConstBytes> wish(std::size_t node, Instant now);
    void submitted(std::size_t node) { ++sides_[node].submitted; }
    /// When this user wants to submit its next message; `never`: at once, or it has no more.
    Instant next_wish(std::size_t node, Instant now) const;

    /// Checks what an end delivers. Returns what is wrong; empty: nothing.
    std::string take(std::size_t node, const LinkDelivery& delivery);
    /// Both ends begin a new life: all messages so far may be lost.
    void begin_life();

    bool up(std::size_t node) const { return sides_[node].up; }
    /// All messages were submitted, and each of them was delivered or may be lost.
    bool fulfilled() const;
    std::uint64_t submitted_of_both() const { return sides_[0].submitted + sides_[1].submitted; }
    std::uint64_t delivered_of_both() const { return sides_[0].delivered + sides_[1].delivered; }
    std::uint64_t downs() const { return downs_; }

private:
    struct Side {
        bool up = false;
        std::size_t submitted = 0;
        std::size_t may_miss = 0;   // the messages before this one may be lost
        std::size_t next = 0;       // of the peer's user: the message that it expects
        std::size_t delivered = 0;  // to the peer's user
        Instant waits_until;
        bool hesitated = false;  // before the next message
    };

    const LinkWorldPlan& plan_;
    bool ways_apart_;
    Random dice_;
    std::array<Side, 2> sides_;
    std::uint64_t downs_ = 0;
};

}  // namespace wireproof::lab
