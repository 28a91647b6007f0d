// The users at both ends of a ladder: what they ask their engines to send, and what they check.
// Contents are computed from the seed, so every delivery is compared with what was sent.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/core/link_engine.hpp"
#include "wireproof/lab/common/am_content.hpp"
#include "wireproof/lab/ladder/scenario.hpp"

namespace wireproof::lab {

/// One message of a side, in the order in which the side sends them.
struct Wish {
    Duration at{};
    const Traffic* traffic = nullptr;
};

/// The messages of each side, and how many are posted and delivered.
class Wishes {
public:
    static constexpr Duration nothing_more{-1};

    explicit Wishes(const Scenario& scenario) : seed_(scenario.seed) {
        for (const Traffic& traffic : scenario.traffic) {
            auto& list = of(traffic.from).list;
            for (std::uint32_t i = 0; i < traffic.messages; ++i) {
                list.push_back({traffic.at + traffic.every * i, &traffic});
            }
        }
        for (auto& side : sides_) {
            std::stable_sort(side.list.begin(), side.list.end(),
                             [](const Wish& x, const Wish& y) { return x.at < y.at; });
        }
    }

    Duration first(Side side) const {
        return of(side).list.empty() ? Duration() : of(side).list.front().at;
    }
    const std::vector<Wish>& all(Side side) const { return of(side).list; }
    std::uint64_t asked(Side side) const { return of(side).next; }
    std::uint64_t& delivered(Side side) { return of(side).delivered; }
    std::uint64_t delivered(Side side) const { return of(side).delivered; }

    bool fulfilled() const {
        return sides_[0].list.size() == sides_[1].delivered &&
               sides_[1].list.size() == sides_[0].delivered;
    }

    /// Calls `post(number, wish)` for each message that is due, counted from 0, until it returns
    /// false. Returns the time of the next message.
    template <class Post>
    Duration ask(Side side, Duration now, Post&& post) {
        Of& mine = of(side);
        while (mine.next < mine.list.size()) {
            const Wish& wish = mine.list[mine.next];
            if (wish.at > now) return wish.at;
            if (!post(mine.next, wish)) return nothing_more;  // a frame will bring room
            ++mine.next;
        }
        return nothing_more;
    }

    std::vector<std::byte> content(Side side, std::uint64_t number, std::size_t size) const {
        std::vector<std::byte> bytes(size);
        Content(key(side, number)).write(bytes);
        return bytes;
    }
    bool is_content(Side side, std::uint64_t number, ConstBytes bytes) const {
        return number < of(side).list.size() &&
               bytes.size() == of(side).list[number].traffic->bytes &&
               Content(key(side, number)).is(bytes);
    }

    void expect(bool right, const std::string& what) {
        if (!right && wrong_.empty()) wrong_ = what + " is not what was sent";
    }
    const std::string& wrong() const { return wrong_; }

private:
    struct Of {
        std::vector<Wish> list;
        std::size_t next = 0;
        std::uint64_t delivered = 0;
    };

    std::uint64_t key(Side side, std::uint64_t number) const {
        return mix64(mix64(seed_) + 2 * number + index(side));
    }
    Of& of(Side side) { return sides_[index(side)]; }
    const Of& of(Side side) const { return sides_[index(side)]; }

    std::uint64_t seed_;
    std::array<Of, 2> sides_;
    std::string wrong_;
};

/// The users of a link engine.
template <LinkAdapter Adapter>
class LinkLadderUser {
public:
    using Engine = typename Adapter::Engine;
    /// Frames may be lost on the cable.
    static constexpr bool may_lose = Adapter::may_lose;
    static constexpr Duration nothing_more = Wishes::nothing_more;

    explicit LinkLadderUser(const Scenario& scenario)
        : wishes_(scenario),
          ends_{end_of(scenario, Side::a), end_of(scenario, Side::b)},
          frame_max_(Adapter::frame_max(config_of(scenario))),
          describe_(Adapter::describe_of(config_of(scenario))) {}

    Engine& engine(Side side) { return ends_[index(side)]; }
    bool up() const { return up_[0] && up_[1]; }
    /// Links come up by themselves.
    void want_up(bool) {}
    Duration first_wish(Side side) const { return wishes_.first(side); }
    std::uint64_t asked(Side side) const { return wishes_.asked(side); }
    std::uint64_t delivered(Side side) const { return wishes_.delivered(side); }
    std::uint64_t timeouts(Side side) const { return ends_[index(side)].stats().timeouts; }
    const std::string& wrong() const { return wishes_.wrong(); }

    Describe describe() const { return describe_; }
    std::size_t frame_max() const { return frame_max_; }

    /// The run of an engine that sends forever ends when all messages are delivered and
    /// acknowledged. Another link comes to rest by itself.
    bool finished() const {
        if constexpr (Adapter::comes_to_rest) return false;
        return wishes_.fulfilled() && Adapter::unacknowledged(ends_[0]) == 0 &&
               Adapter::unacknowledged(ends_[1]) == 0;
    }

    Duration ask(Side side, Duration now) {
        return wishes_.ask(side, now, [&](std::uint64_t number, const Wish& wish) {
            const auto bytes = wishes_.content(side, number, wish.traffic->bytes);
            return engine(side).submit(bytes) == SubmitStatus::accepted;
        });
    }

    std::string hear(Side side, const LinkDelivery& delivery) {
        if (delivery.what == LinkDelivery::What::message) {
            const std::uint64_t number = wishes_.delivered(side)++;
            std::string text = "message " + std::to_string(number + 1);
            // After the link was down, the rest is another stream, so its content is not checked.
            if (!went_down_) {
                wishes_.expect(wishes_.is_content(other(side), number, delivery.bytes), text);
            }
            return text;
        }
        up_[index(side)] = delivery.what == LinkDelivery::What::up;
        went_down_ |= !up_[index(side)];
        return up_[index(side)] ? "link up" : "link down";
    }

private:
    static const typename Adapter::Config& config_of(const Scenario& scenario) {
        return std::get<typename Adapter::Config>(scenario.engine);
    }
    static Engine end_of(const Scenario& scenario, Side side) {
        return Engine(Adapter::of_end(config_of(scenario), mix64(scenario.seed + index(side))));
    }

    Wishes wishes_;
    std::array<Engine, 2> ends_;
    std::size_t frame_max_;
    Describe describe_;
    std::array<bool, 2> up_{};
    bool went_down_ = false;
};

}  // namespace wireproof::lab
