// For tests of link engines: two ends, and the frames between them, which the test carries by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/link_engine.hpp"

namespace wireproof {

/// The calls work from `a` to `b` unless they name an end. `End` is the protocol's: its link, what
/// was delivered (`got`), poll(), give() and on_deadline().
template <class End, class Frame>
class LinkPair {
public:
    using Names = std::vector<std::string>;

    template <class Config>
    LinkPair(const Config& of_a, const Config& of_b) : a(of_a), b(of_b) {}

    /// Carries all frames in both directions until both ends are quiet.
    void settle() {
        for (bool moved = true; moved;) {
            moved = false;
            while (const auto frame = a.poll(now)) {
                b.give(now, *frame);
                moved = true;
            }
            while (const auto frame = b.poll(now)) {
                a.give(now, *frame);
                moved = true;
            }
        }
    }

    void submit(std::size_t count, std::size_t size = 8) {
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(a.link.submit(message(size, submitted++)), SubmitStatus::accepted);
        }
    }

    /// All frames that leave an end now.
    std::vector<Frame> frames(End& end) {
        std::vector<Frame> all;
        while (auto frame = end.poll(now)) all.push_back(std::move(*frame));
        return all;
    }
    /// Their names. The frames are dropped.
    Names leaving(End& end) { return names_of(frames(end)); }
    static Names names_of(const std::vector<Frame>& frames) {
        Names names;
        for (const Frame& frame : frames) names.push_back(frame.name());
        return names;
    }
    void carry(const std::vector<Frame>& frames, End& to) {
        for (const Frame& frame : frames) to.give(now, frame);
    }
    /// Carries the frames that leave `from` now, and returns their names.
    Names carry(End& from, End& to) {
        const std::vector<Frame> all = frames(from);
        carry(all, to);
        return names_of(all);
    }

    Instant next() const { return std::min(a.link.next_deadline(), b.link.next_deadline()); }
    /// Passes to the next deadline of either end.
    void wait() {
        ASSERT_NE(next(), never);
        pass_to(next());
    }
    void pass_to(Instant then) {
        now = std::max(now, then);
        if (a.link.next_deadline() <= now) a.on_deadline(now);
        if (b.link.next_deadline() <= now) b.on_deadline(now);
    }
    void pass(Duration time) { pass_to(now + time); }

    /// Each submitted message has arrived once and in order.
    void expect_all() const {
        ASSERT_EQ(b.got.size(), submitted);
        for (std::uint32_t i = 0; i < submitted; ++i) {
            EXPECT_EQ(b.got[i], message(b.got[i].size(), i)) << i;
        }
    }

    Fingerprint::Value fingerprint() const {
        Fingerprint sink;
        a.link.fingerprint(now, sink);
        b.link.fingerprint(now, sink);
        return sink.value();
    }

    /// Begins with `seed`, little endian, as far as it has room.
    static std::vector<std::byte> message(std::size_t size, std::uint32_t seed = 1) {
        std::vector<std::byte> bytes(size);
        for (std::size_t i = 0; i < size; ++i) {
            bytes[i] = static_cast<std::byte>(i < 4 ? seed >> (8 * i) : seed + i * 7);
        }
        return bytes;
    }

    Instant now;
    End a;
    End b;
    std::uint32_t submitted = 0;
};

/// Copies a pair in which one of four frames is missing. Both then do the same.
template <class Pair>
void expect_same_future_of_a_copy(Pair pair) {
    pair.submit(4);
    const auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[0]);
    pair.b.give(pair.now, sent[2]);
    Pair copy = pair;
    EXPECT_EQ(pair.fingerprint(), copy.fingerprint());
    pair.settle();
    EXPECT_NE(pair.fingerprint(), copy.fingerprint());
    copy.settle();
    EXPECT_EQ(pair.fingerprint(), copy.fingerprint());
    pair.expect_all();
    copy.expect_all();
}

}  // namespace wireproof
