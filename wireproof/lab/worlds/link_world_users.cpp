#include "wireproof/lab/worlds/link_world_users.hpp"

#include <algorithm>

namespace wireproof::lab {

std::optional<ConstBytes> LinkWorldUsers::wish(std::size_t node, Instant now) {
    Side& side = sides_[node];
    if (!side.up || side.submitted == plan_.messages[node].size()) return std::nullopt;
    if (now < side.waits_until) return std::nullopt;
    if (!side.hesitated && dice_.chance(plan_.hesitation)) {
        side.hesitated = true;
        side.waits_until = now + plan_.wait;
        if (plan_.wait > Duration()) return std::nullopt;
    }
    return plan_.messages[node][side.submitted];
}

Instant LinkWorldUsers::next_wish(std::size_t node, Instant now) const {
    const Side& side = sides_[node];
    return side.up && side.waits_until > now ? side.waits_until : never;
}

std::string LinkWorldUsers::take(std::size_t node, const LinkDelivery& delivery) {
    Side& own = sides_[node];
    switch (delivery.what) {
        case LinkDelivery::What::up:
            if (own.up) return "an end comes up twice";
            own.up = true;
            return {};
        case LinkDelivery::What::down:
            if (!own.up) return "an end goes down that is not up";
            own.up = false;
            ++downs_;
            begin_life();
            return {};
        case LinkDelivery::What::message: break;
    }
    if (!own.up && !ways_apart_) return "a message arrives while the link is down";
    Side& from = sides_[1 - node];
    const auto& messages = plan_.messages[1 - node];
    const auto is_next = [&] {
        const auto& wanted = messages[from.next];
        return std::equal(wanted.begin(), wanted.end(), delivery.bytes.begin(),
                          delivery.bytes.end());
    };
    while (from.next < from.may_miss && !is_next()) ++from.next;
    if (from.next == from.submitted)
        return "a message arrives that was not sent, or arrived before";
    if (!is_next()) return "message " + std::to_string(from.next) + " is lost, repeated or changed";
    ++from.next;
    ++from.delivered;
    return {};
}

void LinkWorldUsers::begin_life() {
    for (Side& side : sides_) side.may_miss = side.submitted;
}

bool LinkWorldUsers::fulfilled() const {
    for (std::size_t node = 0; node < 2; ++node) {
        const Side& side = sides_[node];
        if (side.submitted < plan_.messages[node].size()) return false;
        if (side.next < side.submitted && side.may_miss < side.submitted) return false;
    }
    return true;
}

}  // namespace wireproof::lab
