// One conversation, step by step, over each road. On all roads both ends must receive the same, the
// number of packets must be the same, and the memory must have the same bytes afterwards.
#include <gtest/gtest.h>

#include "tests/parity/am_conversation.hpp"

namespace wireproof::parity {
namespace {

using am::Config;
using am::HandlerId;
using am::Kind;
using am::PostStatus;
using am::test::pattern;

constexpr std::uint64_t forbidden_address = 0x900000;

template <class Road>
class AmParity : public testing::Test {};
TYPED_TEST_SUITE(AmParity, Roads, RoadNames);

/// A configuration whose timers do not expire in this test, even on a slow machine.
Config untimed(Config config) {
    config = small(config);
    config.keepalive_after = config.keepalive_max = Duration::milliseconds(1'000'000);
    config.ack_after = {};
    config.probe_after = {};  // a pause of the host must not look like a loss
    config.peer_timeout = Duration::milliseconds(10'000'000);
    return config;
}

template <class Road>
class Transcript {
public:
    explicit Transcript(const Config& config)
        : talk(config), chunk(config.chunk_bytes()), source(pattern(chunk * 2 + 100)) {
        const auto bytes = pattern(talk.memory_size, 5);
        talk.ends[0].memory = bytes;  // of equal size, so the registered address stays valid
    }

    /// Waits until nothing more arrives. Returns the logs of both ends since the last step.
    Log after(PostStatus status) {
        EXPECT_EQ(status, PostStatus::accepted);
        EXPECT_TRUE(talk.settle());
        Log log;
        for (std::size_t node = 0; node < 2; ++node) {
            for (const std::string& line : std::exchange(talk.ends[node].log, {})) {
                log.push_back(std::to_string(node) + " " + line);
            }
        }
        return log;
    }

    PostStatus store(std::size_t node, std::uint64_t address, std::size_t size, std::uint64_t tag) {
        return talk.ends[node].engine.store(
            {address, ConstBytes(source).first(size), HandlerId(9), 5, tag});
    }
    PostStatus get(std::size_t node, std::uint64_t address, Bytes destination, std::uint64_t tag) {
        return talk.ends[node].engine.get({address, destination, tag});
    }

    Conversation<Road> talk;
    std::size_t chunk;
    std::vector<std::byte> source;
};

/// Uses each operation of the interface, step by step.
template <class Road>
void hold_conversation(Transcript<Road>& t) {
    auto& talk = t.talk;
    constexpr auto base = Conversation<Road>::base;
    EXPECT_EQ(t.after(talk.request(0, 1, {1, 2})),
              (Log{"0 BEGAN", "0 REP 2(1,2)", "1 BEGAN", "1 REQ 1(1,2)"}));
    EXPECT_EQ(t.after(talk.request(1, 1, {})), (Log{"0 REQ 1()", "1 REP 2()"}));
    EXPECT_EQ(talk.request(0, 1, {3}), PostStatus::accepted);
    EXPECT_EQ(talk.request(1, 1, {9}), PostStatus::accepted);
    // The two channels take turns packet by packet, and a bundle is one packet.
    const bool bundles = talk.ends[0].engine.config().bundle_max > 0;
    EXPECT_EQ(t.after(talk.request(0, 1, {4})),
              bundles ? (Log{"0 REP 2(3)", "0 REP 2(4)", "0 REQ 1(9)", "1 REQ 1(3)", "1 REQ 1(4)",
                             "1 REP 2(9)"})
                      : (Log{"0 REP 2(3)", "0 REQ 1(9)", "0 REP 2(4)", "1 REQ 1(3)", "1 REQ 1(4)",
                             "1 REP 2(9)"}));
    const std::string size = std::to_string(t.source.size());
    EXPECT_EQ(t.after(t.store(0, base + 1, t.source.size(), 11)),
              (Log{"0 STORE_ENDED 11", "0 REP 3()", "1 STORED 9(5) " + size}));
    EXPECT_EQ(t.after(t.store(0, base, 0, 12)),
              (Log{"0 STORE_ENDED 12", "0 REP 3()", "1 STORED 9(5) 0"}));
    std::vector<std::byte> got(t.chunk + 1);
    EXPECT_EQ(t.after(t.get(1, base + 77, got, 13)), Log{"1 GET_ENDED 13"});
    EXPECT_TRUE(am::test::same(got, ConstBytes(talk.ends[0].memory).subspan(77, got.size())));
    EXPECT_EQ(t.after(talk.request(0, 40, {1})), (Log{"0 REFUSED 40 no_handler", "1 REQ 40(1)"}));
    EXPECT_EQ(t.after(t.get(1, forbidden_address, got, 15)), Log{"1 GET_ENDED 15 forbidden"});
    EXPECT_EQ(t.after(talk.request(1, 1, {5})), (Log{"0 REQ 1(5)", "1 REP 2(5)"}));
    // The stored bytes are in their place, and the bytes around them are unchanged.
    const ConstBytes memory = talk.ends[1].memory;
    EXPECT_TRUE(am::test::same(memory.subspan(1, t.source.size()), t.source));
    const ConstBytes rest = memory.subspan(1 + t.source.size());
    EXPECT_EQ(memory[0], std::byte{0});
    EXPECT_TRUE(
        std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{}; }));
}

/// The packets that one end has sent, as "REQ 4 REP 1 CHUNK 19 …".
template <class Road>
std::string numbered(const Conversation<Road>& talk, std::size_t node) {
    const am::Stats& stats = talk.ends[node].engine.stats();
    std::string out;
    const auto add = [&](const char* name, Kind kind) {
        out += (out.empty() ? "" : " ") + std::string(name) + " " +
               std::to_string(stats.sent_of(kind));
    };
    add("REQ", Kind::request);
    add("REP", Kind::reply);
    add("CHUNK", Kind::chunk);
    add("OPEN", Kind::open);
    add("GET_REQ", Kind::get_request);
    return out;
}

template <class Road>
void check_costs(const Conversation<Road>& talk, const std::array<std::uint64_t, 2>& controls) {
    for (std::size_t node = 0; node < 2; ++node) {
        const am::Stats& stats = talk.ends[node].engine.stats();
        EXPECT_EQ(stats.resent, 0U);
        EXPECT_EQ(stats.sent_of(Kind::nack), 0U);
        EXPECT_EQ(stats.sent_of(Kind::keepalive), 0U);
        EXPECT_EQ(stats.sessions, 1U);
        EXPECT_EQ(talk.received(node), talk.received_as(node, RxVerdict::accepted) +
                                           talk.received_as(node, RxVerdict::control));
        // Where frames may arrive late, an end may acknowledge a complete chunk in its own packet.
        if (!Road::repeatable) continue;
        EXPECT_EQ(talk.received_as(node, RxVerdict::control), controls[node]);
    }
}

TYPED_TEST(AmParity, ThePapersConfigurationSaysTheSameOnEveryRoad) {
    Transcript<TypeParam> t(untimed(Config::sp2()));
    hold_conversation(t);
    // The store has chunks of 8, 8 and 1 packets, the get has chunks of 8 and 1.
    EXPECT_EQ(numbered(t.talk, 0), "REQ 4 REP 4 CHUNK 26 OPEN 2 GET_REQ 0");
    EXPECT_EQ(numbered(t.talk, 1), "REQ 3 REP 6 CHUNK 0 OPEN 0 GET_REQ 2");
    EXPECT_EQ(t.talk.received_as(0, RxVerdict::accepted), 11U);
    EXPECT_EQ(t.talk.received_as(1, RxVerdict::accepted), 36U);
    check_costs(t.talk, {3, 2});
}

// Requests or replies of one turn leave in one packet.
TYPED_TEST(AmParity, TodaysConfigurationSaysTheSameOnEveryRoad) {
    Transcript<TypeParam> t(untimed(Config::ethernet()));
    const auto both = [&t](std::uint32_t word) { return t.talk.request(0, 1, {word}); };
    hold_conversation(t);
    EXPECT_EQ(both(6), PostStatus::accepted);
    EXPECT_EQ(t.after(both(7)), (Log{"0 REP 2(6)", "0 REP 2(7)", "1 REQ 1(6)", "1 REQ 1(7)"}));
    for (const std::size_t node : {0U, 1U}) {
        EXPECT_EQ(t.talk.ends[node].engine.stats().sent_of(Kind::bundle), 2U);
        EXPECT_EQ(t.talk.ends[node].engine.stats().resent, 0U);
    }
    // A store that fits in its OPEN is one packet.
    const am::Stats& stats = t.talk.ends[0].engine.stats();
    const std::uint64_t opens = stats.sent_of(Kind::open);
    const std::uint64_t chunks = stats.sent_of(Kind::chunk);
    EXPECT_EQ(t.after(t.store(0, Conversation<TypeParam>::base + 5, 64, 16)),
              (Log{"0 STORE_ENDED 16", "0 REP 3()", "1 STORED 9(5) 64"}));
    EXPECT_EQ(stats.sent_of(Kind::open), opens + 1);
    EXPECT_EQ(stats.sent_of(Kind::chunk), chunks);
    const ConstBytes memory = t.talk.ends[1].memory;
    EXPECT_TRUE(am::test::same(memory.subspan(5, 64), ConstBytes(t.source).first(64)));
}

TYPED_TEST(AmParity, WithoutBundlesItSaysTheSameOnEveryRoad) {
    Config config = Config::ethernet();
    config.bundle_max = 0;
    Transcript<TypeParam> t(untimed(config));
    hold_conversation(t);
    // The store has one chunk packet less than above, because its OPEN carries the first bytes.
    EXPECT_EQ(numbered(t.talk, 0), "REQ 4 REP 4 CHUNK 25 OPEN 2 GET_REQ 0");
    EXPECT_EQ(numbered(t.talk, 1), "REQ 3 REP 6 CHUNK 0 OPEN 0 GET_REQ 2");
    EXPECT_EQ(t.talk.received_as(0, RxVerdict::accepted), 11U);
    EXPECT_EQ(t.talk.received_as(1, RxVerdict::accepted), 35U);
    check_costs(t.talk, {2, 2});
}

}  // namespace
}  // namespace wireproof::parity
