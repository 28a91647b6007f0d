// A carrier for tests. It keeps the datagrams of each direction until the test delivers them: in
// any order, any number of times, changed or unchanged.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/wire/sequenced/sequenced_wire.hpp"

namespace wireproof::test {

constexpr std::size_t datagram_max = 200;

class HandCarried {
public:
    struct Datagram {
        std::vector<std::byte> bytes;
        bool resent = false;
    };

    HandCarried& lane(PeerId) { return *this; }
    LaneCapabilities capabilities() const {
        return {.frame_max = datagram_max, .carries_all = true};
    }
    TxFrame* claim() {
        if (shelf_.size() >= room) return nullptr;
        next_.assign(datagram_max, std::byte{0});
        frame_.open(next_, capabilities());
        return &frame_;
    }
    void commit() {
        shelf_.push_back({std::vector<std::byte>(frame_.size()), frame_.resent()});
        frame_.gather(shelf_.back().bytes);
    }
    void flush(Instant) {
        for (Datagram& datagram : shelf_) left.push_back(std::move(datagram));
        shelf_.clear();
    }
    std::optional<RxFrame> receive(Instant) {
        if (arriving.empty()) return std::nullopt;
        received_ = std::move(arriving.front());
        arriving.pop_front();
        return RxFrame{.bytes = received_, .from = from, .integrity = integrity, .lent = {}};
    }
    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        return std::exchange(event, std::nullopt);
    }
    Instant next_deadline() const { return deadline; }

    std::vector<Datagram> left;
    std::deque<std::vector<std::byte>> arriving;
    std::size_t room = 1'000;  // datagrams until the next flush
    PeerId from{};
    Integrity integrity = Integrity::check;
    std::optional<std::pair<PeerId, WireEvent>> event;
    Instant deadline = never;

private:
    std::vector<Datagram> shelf_;
    std::vector<std::byte> next_;
    std::vector<std::byte> received_;
    TxFrame frame_;
};

using Sequenced = SequencedWire<HandCarried>;
static_assert(Wire<HandCarried>);
static_assert(Lane<Sequenced>);
static_assert(Wire<Sequenced>);

inline bool commit(Sequenced& wire, std::string_view text, bool resent = false) {
    TxFrame* const frame = wire.lane(PeerId{0}).claim();
    if (frame == nullptr) return false;
    if (!text.empty()) {
        frame->add_header<1>()[0] = static_cast<std::byte>(text.front());
        frame->add_payload(std::as_bytes(std::span(text.substr(1))));
    }
    if (resent) frame->mark_resent();
    wire.lane(PeerId{0}).commit();
    return true;
}

/// The datagrams that left since the last call.
inline std::vector<HandCarried::Datagram> leaving(Sequenced& wire) {
    wire.flush(Instant());
    return std::exchange(wire.inner().left, {});
}

/// The one datagram that leaves with these frames in it.
inline std::vector<std::byte> datagram_of(Sequenced& wire,
                                          std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) EXPECT_TRUE(commit(wire, text));
    auto left = leaving(wire);
    EXPECT_EQ(left.size(), 1U);
    return left.empty() ? std::vector<std::byte>() : left.front().bytes;
}

/// Every frame that the wire returns, as "one two three".
inline std::string received(Sequenced& wire) {
    std::string all;
    while (const auto frame = wire.receive(Instant())) {
        if (!all.empty()) all += ' ';
        for (const std::byte byte : frame->bytes) all += static_cast<char>(byte);
    }
    return all;
}

inline std::string give(Sequenced& wire, std::vector<std::byte> datagram) {
    wire.inner().arriving.push_back(std::move(datagram));
    return received(wire);
}

/// Takes all events, and returns how many of them are new lives.
inline int new_lives(Sequenced& wire) {
    int count = 0;
    while (const auto event = wire.next_event()) count += event->second == WireEvent::new_life;
    return count;
}

/// Delivers all datagrams in order, in both directions, until none leaves.
inline void settle(Sequenced& a, Sequenced& b) {
    for (int turn = 0;; ++turn) {
        ASSERT_LT(turn, 20) << "the two never stop";
        const auto there = leaving(a);
        for (const auto& datagram : there) give(b, datagram.bytes);
        const auto back = leaving(b);
        for (const auto& datagram : back) give(a, datagram.bytes);
        if (there.empty() && back.empty()) return;
    }
}

/// The frames that the wire returns, and "?" for each missing one.
inline std::string told(Sequenced& wire) {
    std::string all;
    while (const auto frame = wire.receive(Instant())) {
        const bool missing = frame->bytes.empty() && frame->integrity == Integrity::damaged;
        if (!all.empty()) all += ' ';
        if (missing) all += '?';
        for (const std::byte byte : frame->bytes) all += static_cast<char>(byte);
    }
    return all;
}

struct Ends {
    Sequenced a;
    Sequenced b;

    explicit Ends(std::uint32_t missing_max = 0)
        : a{HandCarried(), {.link = 5, .seed = 1, .missing_max = missing_max}},
          b{HandCarried(), {.link = 5, .seed = 2, .missing_max = missing_max}} {
        settle_with("hello");
        EXPECT_EQ(new_lives(a) + new_lives(b), 0) << "first contact is no new life";
    }
    void settle_with(std::string_view text) {
        EXPECT_TRUE(commit(a, text));
        EXPECT_TRUE(commit(b, text));
        settle(a, b);
    }
};

}  // namespace wireproof::test
