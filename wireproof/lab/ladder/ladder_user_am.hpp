// The users of SP AM at both ends of a ladder.
#pragma once

#include <vector>

#include "wireproof/lab/ladder/ladder_user.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::lab {

/// The users of SP AM. Handler 1 is for requests, 2 for replies, 3 for stores. Each side has memory
/// for the stores of the other, and memory from which the other gets.
class AmLadderUser {
public:
    using Engine = am::Connection;
    static constexpr Duration nothing_more = Wishes::nothing_more;

    explicit AmLadderUser(const Scenario& scenario)
        : config_(std::get<am::Config>(scenario.engine)), wishes_(scenario) {
        for (const Side side : {Side::a, Side::b}) {
            lay_out(side);
            ends_.emplace_back(config_of(scenario, side), tables_[index(side)]);
        }
    }
    AmLadderUser(const AmLadderUser&) = delete;
    AmLadderUser& operator=(const AmLadderUser&) = delete;
    ~AmLadderUser() = default;

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
    /// Frames may be lost on the cable.
    static constexpr bool may_lose = true;
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
