// For tests: two ends of a link, and flits between them that the test carries by hand.
#pragma once

#include "wireproof/proto/flit/line_test_kit.hpp"

namespace wireproof::flit {

using Names = std::vector<std::string>;

inline std::string name_of(const Config& config, ConstBytes flit) {
    const FrameInfo info = describe_of(config.format)(flit);
    return std::string(info.kind) + (info.number ? " " + std::to_string(*info.number) : "") +
           (info.ack ? " ack " + std::to_string(*info.ack) : "");
}

/// Two ends, and flits that the test carries by hand.
class Pair {
public:
    explicit Pair(const Config& config) : config_(config), a(config), b(config) {}

    std::vector<OnLine> flits(LineEnd& end) {
        std::vector<OnLine> all;
        while (true) {
            const bool quiet = end.link.quiet();
            auto flit = end.poll(now);
            if (!flit) break;
            EXPECT_FALSE(quiet);
            all.push_back(std::move(*flit));
            if (all.size() > 1000) {
                ADD_FAILURE() << "an end never stops sending";
                break;
            }
        }
        return all;
    }
    Names names(const std::vector<OnLine>& flits) const {
        Names all;
        for (const OnLine& flit : flits) all.push_back(name_of(config_, flit.bytes));
        return all;
    }
    Names leaving(LineEnd& end) { return names(flits(end)); }
    void carry(LineEnd& from, LineEnd& to) {
        for (const OnLine& flit : flits(from)) to.give(now, flit);
    }
    void settle() {
        for (int turn = 0; turn < 20; ++turn) {
            carry(a, b);
            carry(b, a);
        }
        EXPECT_TRUE(flits(a).empty());
        EXPECT_TRUE(flits(b).empty());
    }
    void submit(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            EXPECT_EQ(a.link.submit(message(8, a.submitted++)), SubmitStatus::accepted);
        }
    }
    /// Passes to the next deadline of either end.
    void wait() {
        const Instant next = earliest(a.link.next_deadline(), b.link.next_deadline());
        ASSERT_NE(next, never);
        now = std::max(now, next);
        for (LineEnd* end : {&a, &b}) {
            if (end->link.next_deadline() <= now) end->link.on_deadline(now);
            end->draw();
        }
    }
    static OnLine lost() { return {}; }

    Config config_;
    LineEnd a;
    LineEnd b;
    Instant now;
};

inline Config demand(Config config = Config::pcie6()) {
    config.continuous = config.starts_up = false;
    config.first_number = config.modulus - 1;
    return config;
}

}  // namespace wireproof::flit
