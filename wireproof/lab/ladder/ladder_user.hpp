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
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/proto/am/wire_format.hpp"
#include "wireproof/proto/hippi/link.hpp"
#include "wireproof/proto/pcie/link.hpp"

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

/// The users of the two link engines.
template <class E>
class LadderUser {
public:
    static constexpr Duration nothing_more = Wishes::nothing_more;

    explicit LadderUser(const Scenario& scenario)
        : wishes_(scenario), ends_{end_of(scenario, Side::a), end_of(scenario, Side::b)} {}

    E& engine(Side side) { return ends_[index(side)]; }
    bool up() const { return up_[0] && up_[1]; }
    /// Links come up by themselves.
    void want_up(bool) {}
    Duration first_wish(Side side) const { return wishes_.first(side); }
    std::uint64_t asked(Side side) const { return wishes_.asked(side); }
    std::uint64_t delivered(Side side) const { return wishes_.delivered(side); }
    std::uint64_t timeouts(Side side) const { return ends_[index(side)].stats().timeouts; }
    const std::string& wrong() const { return wishes_.wrong(); }

    static Describe describe() {
        if constexpr (std::same_as<E, pcie::Link>) return pcie::describe;
        if constexpr (std::same_as<E, hippi::Link>) return hippi::describe;
    }
    std::size_t frame_max() const {
        if constexpr (std::same_as<E, pcie::Link>) {
            return ends_[0].message_max() + pcie::tlp_overhead + 4;
        }
        return hippi::unit_size;
    }

    /// PCI Express renews its credits forever, so its run ends when all messages are delivered and
    /// acknowledged. Another link comes to rest by itself.
    bool finished() const {
        if constexpr (std::same_as<E, pcie::Link>) {
            return wishes_.fulfilled() && ends_[0].transmitter().outstanding() == 0 &&
                   ends_[1].transmitter().outstanding() == 0;
        }
        return false;
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
    static E end_of(const Scenario& scenario, Side side) {
        if constexpr (std::same_as<E, hippi::Link>) {
            auto config = std::get<hippi::Config>(scenario.engine);
            config.seed = mix64(scenario.seed + index(side));
            return E(config);
        } else {
            return E(std::get<pcie::Config>(scenario.engine));
        }
    }

    Wishes wishes_;
    std::array<E, 2> ends_;
    std::array<bool, 2> up_{};
    bool went_down_ = false;
};

/// The users of SP AM. Handler 1 is for requests, 2 for replies, 3 for stores. Each side has memory
/// for the stores of the other, and memory from which the other gets.
template <>
class LadderUser<am::Connection> {
public:
    static constexpr Duration nothing_more = Wishes::nothing_more;

    explicit LadderUser(const Scenario& scenario)
        : config_(std::get<am::Config>(scenario.engine)), wishes_(scenario) {
        for (const Side side : {Side::a, Side::b}) {
            lay_out(side);
            ends_.emplace_back(config_of(scenario, side), tables_[index(side)]);
        }
    }
    LadderUser(const LadderUser&) = delete;
    LadderUser& operator=(const LadderUser&) = delete;
    ~LadderUser() = default;

    am::Connection& engine(Side side) { return ends_[index(side)]; }
    bool up() const { return ends_[0].established() && ends_[1].established(); }
    bool finished() const { return false; }
    /// The ends agree on a session only when something waits for it.
    void want_up(bool wanted) { ends_[0].set_awaiting(wanted); }
    Duration first_wish(Side side) const { return wishes_.first(side); }
    std::uint64_t asked(Side side) const { return wishes_.asked(side); }
    std::uint64_t delivered(Side side) const { return wishes_.delivered(side); }
    std::uint64_t timeouts(Side side) const {
        return ends_[index(side)].stats().keepalive_timeouts;
    }
    const std::string& wrong() const { return wishes_.wrong(); }
    Describe describe() const { return am::describe_of(config_.layout); }
    std::size_t frame_max() const { return config_.packet_max; }

    Duration ask(Side side, Duration now) {
        return wishes_.ask(side, now, [&](std::uint64_t number, const Wish& wish) {
            return post(side, number, wish) == am::PostStatus::accepted;
        });
    }

    std::string hear(Side side, const am::Delivery& delivery) {
        return std::visit([&](const auto& one) { return hear_one(side, one); }, delivery);
    }

private:
    static constexpr am::HandlerId request_handler{1};
    static constexpr am::HandlerId reply_handler{2};
    static constexpr am::HandlerId store_handler{3};

    am::Config config_of(const Scenario& scenario, Side side) const {
        am::Config config = config_;
        config.node = static_cast<std::uint16_t>(index(side));
        config.peer = static_cast<std::uint16_t>(index(other(side)));
        config.seed = mix64(scenario.seed + index(side));
        return config;
    }

    // The stores and gets of a side lie one after the other, in one block of memory on each side.
    void lay_out(Side side) {
        std::vector<std::byte>& mine = local_[index(side)];
        std::vector<std::byte>& theirs = remote_[index(side)];
        const std::vector<Wish>& all = wishes_.all(side);
        for (std::uint64_t number = 0; number < all.size(); ++number) {
            const Traffic& traffic = *all[number].traffic;
            places_[index(side)].push_back(mine.size());
            const auto bytes = wishes_.content(side, number, traffic.bytes);
            const bool store = traffic.what == Traffic::What::store;
            mine.insert(mine.end(), bytes.begin(), bytes.end());
            if (!store) std::fill(mine.end() - ptrdiff(bytes.size()), mine.end(), std::byte{0});
            theirs.insert(theirs.end(), bytes.begin(), bytes.end());
            if (store) std::fill(theirs.end() - ptrdiff(bytes.size()), theirs.end(), std::byte{0});
        }
        if (theirs.empty()) return;
        WIREPROOF_CHECK(tables_[index(other(side))].add(0, theirs, {.read = true, .write = true}));
    }
    static std::ptrdiff_t ptrdiff(std::size_t size) { return static_cast<std::ptrdiff_t>(size); }

    am::PostStatus post(Side side, std::uint64_t number, const Wish& wish) {
        const Traffic& traffic = *wish.traffic;
        const std::size_t place = places_[index(side)][number];
        const Bytes local = Bytes(local_[index(side)]).subspan(place, traffic.bytes);
        switch (traffic.what) {
            case Traffic::What::request:
                return engine(side).request(request_handler,
                                            wishes_.content(side, number, traffic.bytes));
            case Traffic::What::store:
                return engine(side).store({.address = place,
                                           .source = local,
                                           .handler = store_handler,
                                           .argument = static_cast<std::uint32_t>(number),
                                           .tag = number});
            case Traffic::What::get:
                return engine(side).get({.address = place, .destination = local, .tag = number});
        }
        return am::PostStatus::not_allowed;
    }

    std::string hear_one(Side side, const am::Request& request) {
        // Requests come in order, but the stores and gets of the same side have numbers between
        // theirs.
        std::uint64_t& next = requests_[index(side)];
        const std::vector<Wish>& all = wishes_.all(other(side));
        while (next < all.size() && all[next].traffic->what != Traffic::What::request) ++next;
        const std::uint64_t number = next++;
        const std::string text = "request " + std::to_string(number + 1);
        wishes_.expect(ended_ || wishes_.is_content(other(side), number, request.arguments), text);
        ++wishes_.delivered(side);
        if (number < all.size() && all[number].traffic->reply) {
            wishes_.expect(
                engine(side).reply(reply_handler, request.arguments) == am::PostStatus::accepted,
                "a reply");
        }
        return text;
    }
    std::string hear_one(Side side, const am::Reply&) {
        ++wishes_.delivered(side);
        return "reply";
    }
    std::string hear_one(Side side, const am::Stored& stored) {
        const std::string text = "store " + std::to_string(stored.argument + 1);
        wishes_.expect(ended_ || wishes_.is_content(other(side), stored.argument, stored.memory),
                       text);
        ++wishes_.delivered(side);
        const std::vector<Wish>& all = wishes_.all(other(side));
        if (stored.argument < all.size() && all[stored.argument].traffic->reply) {
            const std::array<std::byte, 4> word{};
            wishes_.expect(engine(side).reply(reply_handler, word) == am::PostStatus::accepted,
                           "a reply");
        }
        return text;
    }
    std::string hear_one(Side, const am::StoreEnded& ended) {
        return "store " + std::to_string(ended.tag + 1) + " ended";
    }
    std::string hear_one(Side side, const am::GetEnded& ended) {
        const std::string text = "get " + std::to_string(ended.tag + 1);
        const std::size_t place = places_[index(side)][ended.tag];
        const std::size_t size = wishes_.all(side)[ended.tag].traffic->bytes;
        wishes_.expect(
            ended_ || wishes_.is_content(side, ended.tag,
                                         ConstBytes(local_[index(side)]).subspan(place, size)),
            text);
        ++wishes_.delivered(side);
        return text;
    }
    std::string hear_one(Side, const am::Refused&) { return "refused"; }
    std::string hear_one(Side, const am::SessionBegan&) { return "session began"; }
    std::string hear_one(Side, const am::FateUnknown&) { return "fate unknown"; }
    std::string hear_one(Side, const am::SessionEnded&) {
        ended_ = true;
        return "session ended";
    }

    am::Config config_;
    Wishes wishes_;
    std::array<am::MemoryTable, 2> tables_;         // by the side that owns the memory
    std::array<std::vector<std::byte>, 2> local_;   // by the side that asks
    std::array<std::vector<std::byte>, 2> remote_;  // the memory at the peer, by the side that asks
    std::array<std::vector<std::size_t>, 2> places_;
    std::array<std::uint64_t, 2> requests_{};
    std::vector<am::Connection> ends_;
    bool ended_ = false;
};

}  // namespace wireproof::lab
