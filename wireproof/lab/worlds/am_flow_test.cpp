// Tests of the check of each transfer: a correct peer breaks no rule, and each kind of wrong
// delivery breaks the rule about it. Correct engines would not show that a rule is missing.
#include "wireproof/lab/worlds/am_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "wireproof/lab/common/am_content.hpp"
#include "wireproof/lab/common/am_net.hpp"

namespace wireproof::lab {
namespace {

am::Config one_message_a_packet() {
    am::Config config = am::Config::sp2();
    config.bundle_max = config.open_bytes = 0;
    config.cookie = 1;
    return config;
}

AmTrafficPlan traffic() {
    return {.packets = 200,
            .requests = 1,
            .stores = 1,
            .gets = 1,
            .answered = 0.5,
            .refused = 0.2,
            .message_max = 16,
            .bytes_max = 2'000};
}

/// Node 0 posts operations, node 1 answers. Each delivery passes through `tamper`, which may change
/// it, and returns how often it is delivered.
class Asked final : public AmUser {
public:
    using Tamper = std::function<int(am::Delivery&)>;

    explicit Asked(const AmTrafficPlan& plan, Tamper tamper = {})
        : tamper_(std::move(tamper)),
          net_({.frame_max = 256, .seed = 1}, one_message_a_packet(), 1),
          flow_(plan, net_.at(0, 1).config(), 7) {
        net_.have_handlers(AmFlow::handlers());
        flow_.register_memory(net_.memory(1, 0));
    }

    /// Returns the first error, found at once or at the end.
    std::string run() {
        net_.run(*this, {.until = Instant(Duration::milliseconds(500))});
        return flow_.violation().empty() ? flow_.unfinished() : flow_.violation();
    }
    const AmFlow& flow() const { return flow_; }

    Instant on_turn(std::size_t node, Instant now) override {
        if (node == 0 && flow_.post(net_.at(0, 1))) return now + Duration::microseconds(1);
        return never;
    }
    void on_delivery(std::size_t node, std::size_t peer, Instant,
                     const am::Delivery& delivery) override {
        am::Delivery told = delivery;
        const int times = tamper_ ? tamper_(told) : 1;
        for (int i = 0; i < times; ++i) tell(told, net_.at(node, peer));
    }
    void on_departure(std::size_t node, std::size_t, const TxFrame& frame,
                      ConstBytes start) override {
        const std::size_t size = net_.at(0, 1).config().header_size();
        const auto header = am::decode(net_.at(0, 1).config().layout, start);
        ASSERT_TRUE(header);
        if (!am::is_numbered(header->kind) || frame.resent()) return;
        if (node == 0) {
            flow_.on_asking(*header);
        } else {
            flow_.on_answering(*header, start.subspan(size));
        }
    }

private:
    void tell(const am::Delivery& delivery, am::Connection& connection) {
        if (const auto* request = std::get_if<am::Request>(&delivery)) {
            flow_.on_request(*request, connection);
        } else if (const auto* stored = std::get_if<am::Stored>(&delivery)) {
            flow_.on_stored(*stored, connection);
        } else if (const auto* reply = std::get_if<am::Reply>(&delivery)) {
            flow_.on_reply(*reply);
        } else if (const auto* refused = std::get_if<am::Refused>(&delivery)) {
            flow_.on_refused(*refused);
        } else if (const auto* store = std::get_if<am::StoreEnded>(&delivery)) {
            flow_.on_store_ended(*store);
        } else if (const auto* get = std::get_if<am::GetEnded>(&delivery)) {
            flow_.on_get_ended(*get);
        }
    }

    Tamper tamper_;
    AmNet net_;
    AmFlow flow_;
};

/// Tampers with the third delivery of a kind: calls `wrong` for it.
template <class Kind>
Asked::Tamper third(std::function<int(Kind&)> wrong) {
    return [wrong = std::move(wrong), met = 0](am::Delivery& delivery) mutable {
        auto* const kind = std::get_if<Kind>(&delivery);
        return kind != nullptr && ++met == 3 ? wrong(*kind) : 1;
    };
}

template <class Kind>
std::string found(std::function<int(Kind&)> wrong) {
    return Asked(traffic(), third<Kind>(std::move(wrong))).run();
}

bool says(const std::string& found, std::string_view sentence) {
    EXPECT_EQ(found.substr(0, sentence.size()), sentence);
    return found.starts_with(sentence);
}

TEST(AmFlow, AnHonestPeerBreaksNoRule) {
    Asked asked(traffic());
    EXPECT_EQ(asked.run(), "");
    EXPECT_GT(asked.flow().operations(), 40U);
    EXPECT_GT(asked.flow().answers(), 10U);
}

TEST(AmFlow, WhatIsDeliveredTwiceIsNoticed) {
    EXPECT_NE(found<am::Request>([](am::Request&) { return 2; }), "");
    EXPECT_NE(found<am::Stored>([](am::Stored&) { return 2; }), "");
    EXPECT_NE(found<am::Reply>([](am::Reply&) { return 2; }), "");
    EXPECT_TRUE(says(found<am::StoreEnded>([](am::StoreEnded&) { return 2; }),
                     "a transfer ended that was not under way"));
    EXPECT_TRUE(says(found<am::GetEnded>([](am::GetEnded&) { return 2; }),
                     "a transfer ended that was not under way"));
}

TEST(AmFlow, WhatIsNotDeliveredIsNoticed) {
    EXPECT_NE(found<am::Request>([](am::Request&) { return 0; }), "");
    EXPECT_NE(found<am::Stored>([](am::Stored&) { return 0; }), "");
    EXPECT_NE(found<am::Reply>([](am::Reply&) { return 0; }), "");
    EXPECT_NE(found<am::Refused>([](am::Refused&) { return 0; }), "");
    EXPECT_NE(found<am::StoreEnded>([](am::StoreEnded&) { return 0; }), "");
    EXPECT_NE(found<am::GetEnded>([](am::GetEnded&) { return 0; }), "");
}

TEST(AmFlow, WhatIsChangedIsNoticed) {
    const auto other = [](auto& delivery) {
        delivery.handler = am::HandlerId{4'321};
        return 1;
    };
    EXPECT_TRUE(says(found<am::Request>(other), "a request arrived out of order or changed"));
    EXPECT_TRUE(says(found<am::Stored>(other), "a store arrived out of order or changed"));
    EXPECT_TRUE(says(found<am::Reply>(other), "a reply arrived out of order or changed"));
    EXPECT_TRUE(says(found<am::Refused>(other), "a refusal arrived out of order or changed"));
    const auto longer = [](auto& delivery) {
        static const std::vector<std::byte> words(64);
        delivery.arguments = words;
        return 1;
    };
    EXPECT_TRUE(says(found<am::Request>(longer), "a request arrived out of order or changed"));
    EXPECT_TRUE(says(found<am::Reply>(longer), "a reply arrived out of order or changed"));
    EXPECT_TRUE(says(found<am::Stored>([](am::Stored& stored) {
                         ++stored.argument;
                         return 1;
                     }),
                     "a store arrived out of order or changed"));
}

TEST(AmFlow, AReasonThatIsWrongIsNoticed) {
    const auto other = [](auto& ended) {
        ended.reason = ended.reason == am::Reason::none ? am::Reason::forbidden : am::Reason::none;
        return 1;
    };
    EXPECT_TRUE(says(found<am::StoreEnded>(other), "a store ended with another reason"));
    EXPECT_TRUE(says(found<am::GetEnded>(other), "a get ended with another reason"));
    EXPECT_TRUE(says(found<am::Refused>([](am::Refused& refused) {
                         refused.reason = am::Reason::forbidden;
                         return 1;
                     }),
                     "a refusal arrived out of order or changed"));
}

// Damages the first store that has bytes. It does not matter which byte is wrong, and when.
TEST(AmFlow, AByteThatIsWrongIsNoticed) {
    for (const bool last : {true, false}) {
        bool done = false;
        Asked asked(traffic(), [&](am::Delivery& delivery) {
            auto* const stored = std::get_if<am::Stored>(&delivery);
            if (stored == nullptr || stored->memory.empty() || done) return 1;
            done = true;
            (last ? stored->memory.back() : stored->memory.front()) ^= std::byte{1};
            return 1;
        });
        EXPECT_TRUE(says(asked.run(), "a store's handler ran before its bytes were there"));
    }
    // A wrong byte outside the place of the store.
    bool done = false;
    Asked asked(traffic(), [&](am::Delivery& delivery) {
        auto* const stored = std::get_if<am::Stored>(&delivery);
        if (stored == nullptr || stored->memory.empty() || done) return 1;
        done = true;
        *(stored->memory.data() + stored->memory.size() + 1) ^= std::byte{1};
        return 1;
    });
    EXPECT_TRUE(says(asked.run(), "a store's handler ran before its bytes were there"));
}

// Words and bytes in the wrong order, and the content of another key.
TEST(AmContent, IsLikeNoOther) {
    constexpr std::size_t size = 64;
    std::vector<std::byte> bytes(size);
    const Content content(12);
    content.write(bytes);
    EXPECT_TRUE(content.is(bytes));
    EXPECT_FALSE(Content(13).is(bytes));
    for (const std::size_t part : {1U, 2U, 4U, 8U, 16U}) {
        for (std::size_t at = 0; at + 2 * part <= size; at += part) {
            std::vector<std::byte> swapped = bytes;
            const auto first = swapped.begin() + static_cast<std::ptrdiff_t>(at);
            const auto second = first + static_cast<std::ptrdiff_t>(part);
            if (std::equal(first, second, second)) continue;  // two bytes may be equal by chance
            std::swap_ranges(first, second, second);
            EXPECT_FALSE(content.is(swapped)) << part << " bytes at " << at;
        }
    }
    for (std::size_t at = 0; at + 8 <= size; at += 4) {
        const auto word = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        EXPECT_FALSE(std::equal(word, word + 4, word + 4)) << "the words at " << at;
    }
}

}  // namespace
}  // namespace wireproof::lab
