// Communication management with random, lost, duplicated and delayed datagrams.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/cm/connection_management_test_kit.hpp"

namespace wireproof::proto::ib {
namespace {

using namespace test;

// Valid datagrams with random bytes, and with identifiers that are mostly right. After any sequence
// of them, there is room for the next honest connection, and each datagram is counted once.
TEST_F(Sides, NoDatagramOfChanceBreaksAnything) {
    ConnectionManagement::Config config = of_right;
    config.connections_max = 64;
    config.resolutions_max = 16;
    b = Side(config);
    b.cm.listen(service);
    b.cm.listen_datagrams(service);
    Random dice(3);
    constexpr std::uint64_t datagrams = 100'000;
    std::vector<CmId> known;
    std::uint64_t resolved = 0;
    std::uint32_t asking = 0;
    for (std::uint64_t i = 0; i < datagrams; ++i) {
        std::array<std::byte, cm_datagram_size> bytes{};
        for (std::byte& byte : bytes) byte = std::byte(dice.next());
        // The head of a valid datagram, and one of nine attributes.
        constexpr std::array<unsigned char, 4> head = {1, 7, 2, 3};
        if (!dice.chance(0.05)) std::ranges::copy(std::as_bytes(std::span(head)), bytes.begin());
        bytes[16] = std::byte{0};
        bytes[17] = std::byte(0x10 + dice.below(9));
        if (auto datagram = CmDatagram::decode(bytes)) {
            datagram->transaction = dice.below(2);
            const auto set_ids = [&](auto& message) {
                const auto theirs = static_cast<std::uint32_t>(dice.below(100));
                const auto ours = config.first_id + static_cast<std::uint32_t>(dice.below(300));
                if constexpr (requires { message.service; }) {
                    if (dice.chance(0.8)) message.service = service;
                }
                if constexpr (requires { message.status; }) {
                    message.request_id = dice.chance(0.1) ? asking : ours;
                } else if constexpr (requires { message.request_id; }) {
                    message.request_id = theirs;
                } else {
                    message.local_id = theirs;
                }
                if constexpr (requires { message.local_id + message.service; }) {
                    message.queue_pair = static_cast<std::uint32_t>(dice.below(500));
                }
                if constexpr (requires { message.remote_id; }) message.remote_id = ours;
                if constexpr (requires { message.remote_queue_pair; }) {
                    message.remote_queue_pair = static_cast<std::uint32_t>(dice.below(2));
                }
            };
            std::visit(set_ids, datagram->message);
            datagram->encode(bytes);
        }
        b.cm.on_datagram(now, PeerId{static_cast<std::uint16_t>(dice.below(3))}, bytes);
        for (const CmEvent& event : b.events()) {
            if (event.what == What::requested || event.what == What::asked) {
                known.push_back(event.id);
            }
            resolved += event.what == What::resolved ? 1U : 0U;
        }
        if (dice.chance(0.05)) {
            const auto id =
                b.cm.resolve(now, PeerId{static_cast<std::uint16_t>(dice.below(3))}, {});
            if (id) asking = static_cast<std::uint32_t>(*id);
        }
        if (!known.empty()) {
            const CmId id = known[dice.below(known.size())];
            if (dice.chance(0.1)) b.cm.accept(now, id, {});
            if (dice.chance(0.05)) b.cm.reject(now, id, CmReason::consumer);
            if (dice.chance(0.05)) b.cm.disconnect(now, id);
            if (dice.chance(0.1)) b.cm.answer(now, id, {});
        }
        while (b.cm.poll_transmit()) {
        }
        now = now + Duration::milliseconds(static_cast<std::int64_t>(dice.below(3)));
        b.cm.on_deadline(now);
    }
    const CmCounters& counters = b.cm.counters();
    std::uint64_t sum = counters.taken + counters.duplicates + counters.unknown +
                        counters.out_of_state + counters.refused;
    for (const std::uint64_t count : counters.malformed) sum += count;
    EXPECT_EQ(sum, datagrams);
    for (const std::uint64_t count : {counters.taken, counters.duplicates, counters.unknown,
                                      counters.out_of_state, counters.refused}) {
        EXPECT_GT(count, 100U);
    }
    EXPECT_GT(resolved, 100U);
    // The connections of the random hosts end by their own timers.
    while (b.cm.next_deadline() != never) {
        now = b.cm.next_deadline();
        b.cm.on_deadline(now);
        for (const CmId id : known) b.cm.reject(now, id, CmReason::consumer);
        for (const CmId id : known) b.cm.disconnect(now, id);
        b.events();
        while (b.cm.poll_transmit()) {
        }
    }
    EXPECT_EQ(b.cm.size(), 0U);
    connect();
}

/// How one side sees the connection.
struct View {
    bool up = false;
    bool ended = false;
};

// With lost, duplicated and late datagrams, both sides come up and go down, or neither comes up. No
// event is reported twice.
TEST(ConnectionManagement, EndsWellByAnyRoad) {
    std::size_t up = 0;
    std::size_t failed = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        Random dice(seed);
        const double loss = 0.5 * dice.uniform();
        Side a(of_left);
        Side b(of_right);
        b.cm.listen(service);
        Instant now{};
        const auto id = a.cm.connect(now, right, {.service = service, .queue_pair = 0x11});
        View at_a;
        View at_b;
        struct Late {
            Instant at;
            bool to_a;
            CmDatagram datagram;
        };
        std::vector<Late> road;
        const auto put = [&](Side& from, bool to_a) {
            while (const auto one = from.cm.poll_transmit()) {
                for (int copies = dice.chance(0.2) ? 2 : 1; copies > 0; --copies) {
                    if (dice.chance(loss)) continue;
                    const auto late = Duration::milliseconds(
                        static_cast<std::int64_t>(dice.chance(0.1) ? dice.below(900) : 1));
                    road.push_back({now + late, to_a, one->datagram});
                }
            }
        };
        for (int turns = 0; turns < 2000; ++turns) {
            for (const CmEvent& event : b.events()) {
                if (event.what == What::requested) {
                    EXPECT_TRUE(b.cm.accept(now, event.id, {.queue_pair = 0x22}));
                } else if (event.what == What::established) {
                    EXPECT_FALSE(at_b.up) << seed;
                    at_b.up = true;
                } else {
                    EXPECT_FALSE(at_b.ended) << seed;
                    at_b.ended = true;
                }
            }
            for (const CmEvent& event : a.events()) {
                if (event.what == What::replied) {
                    EXPECT_FALSE(at_a.up) << seed;
                    at_a.up = a.cm.confirm(now, *id);
                } else {
                    EXPECT_FALSE(at_a.ended) << seed;
                    at_a.ended = true;
                }
            }
            if (at_a.up && at_b.up && !at_a.ended) a.cm.disconnect(now, *id);
            put(a, false);
            put(b, true);
            Instant next = earliest(a.cm.next_deadline(), b.cm.next_deadline());
            for (const Late& one : road) next = earliest(next, one.at);
            if (next == never) break;
            now = next;
            a.cm.on_deadline(now);
            b.cm.on_deadline(now);
            for (std::size_t i = 0; i < road.size();) {
                if (road[i].at > now) {
                    ++i;
                    continue;
                }
                std::array<std::byte, cm_datagram_size> bytes{};
                road[i].datagram.encode(bytes);
                const bool to_a = road[i].to_a;
                road.erase(road.begin() + static_cast<std::ptrdiff_t>(i));
                (to_a ? a : b).cm.on_datagram(now, to_a ? right : left, bytes);
            }
        }
        EXPECT_EQ(a.cm.size() + b.cm.size(), 0U) << seed;
        EXPECT_EQ(at_a.up, at_b.up) << seed;
        EXPECT_TRUE(at_a.ended) << seed;
        EXPECT_TRUE(at_b.ended || !at_b.up) << seed;
        ++(at_a.up ? up : failed);
    }
    // With sixteen tries of each datagram, a loss of one half ends few connections.
    EXPECT_GT(up, 390U);
}

struct Resolving {
    explicit Resolving(std::uint64_t seed)
        : dice(seed), loss(0.5 * dice.uniform()), a(of_left), b(of_right) {
        const auto mode = dice.below(4);
        listens = mode != 0;
        status = mode == 1 ? CmServiceStatus::rejected : CmServiceStatus::valid;
        if (listens) b.cm.listen_datagrams(service);
        id = a.cm.resolve(now, right, {.service = service}).value();
    }

    void put(Side& from, bool to_a) {
        while (const auto one = from.cm.poll_transmit()) {
            ++(to_a ? answers : questions);
            for (int copies = dice.chance(0.2) ? 2 : 1; copies > 0; --copies) {
                if (dice.chance(loss)) continue;
                const auto late = Duration::milliseconds(
                    static_cast<std::int64_t>(dice.chance(0.1) ? dice.below(900) : 1));
                road.push_back({now + late, to_a, one->datagram});
            }
        }
    }
    void arrive() {
        for (std::size_t i = 0; i < road.size();) {
            if (road[i].at > now) {
                ++i;
                continue;
            }
            std::array<std::byte, cm_datagram_size> bytes{};
            road[i].datagram.encode(bytes);
            const bool to_a = road[i].to_a;
            road.erase(road.begin() + static_cast<std::ptrdiff_t>(i));
            if (!to_a) ++arrived;
            (to_a ? a : b).cm.on_datagram(now, to_a ? right : left, bytes);
        }
    }
    void user_answers() {
        for (const CmEvent& event : b.events()) {
            EXPECT_EQ(event.what, What::asked);
            EXPECT_FALSE(asked) << "asked twice";
            asked = event.id;
            answer_at = now + Duration::milliseconds(static_cast<std::int64_t>(dice.below(1000)));
        }
        if (answer_at > now) return;
        answer_at = never;
        EXPECT_TRUE(b.cm.answer(now, *asked, {.status = status, .queue_pair = 0x22, .qkey = 0x33}));
    }
    void run() {
        for (int turns = 0; turns < 2000; ++turns) {
            user_answers();
            for (CmEvent& event : a.events()) told.push_back(std::move(event));
            put(a, false);
            put(b, true);
            Instant next = earliest(a.cm.next_deadline(), b.cm.next_deadline());
            next = earliest(next, answer_at);
            for (const Late& one : road) next = earliest(next, one.at);
            if (next == never) return;
            now = next;
            a.cm.on_deadline(now);
            b.cm.on_deadline(now);
            arrive();
        }
    }

    struct Late {
        Instant at;
        bool to_a;
        CmDatagram datagram;
    };
    Random dice;
    double loss;
    Side a;
    Side b;
    bool listens = false;
    CmServiceStatus status = CmServiceStatus::valid;
    CmId id{};
    Instant now{};
    std::vector<Late> road;
    std::optional<CmId> asked;
    Instant answer_at = never;
    std::vector<CmEvent> told;
    std::size_t questions = 0;  // sent
    std::size_t arrived = 0;    // copies that arrived
    std::size_t answers = 0;    // that left
};

// With lost, duplicated and late datagrams, the asker gets one event, and it is right. The other
// side gets one event.
TEST(ConnectionManagement, ResolvesByAnyRoad) {
    std::size_t resolved = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        Resolving world(seed);
        world.run();
        EXPECT_EQ(world.a.cm.size() + world.b.cm.size(), 0U) << seed;
        ASSERT_EQ(world.told.size(), 1U) << seed;
        EXPECT_EQ(world.told[0].id, world.id) << seed;
        EXPECT_EQ(world.asked.has_value(), world.listens && world.arrived > 0) << seed;
        EXPECT_LE(world.questions, 16U) << seed;
        EXPECT_EQ(world.a.cm.counters().resent, world.questions - 1) << seed;
        EXPECT_LE(world.answers, world.arrived) << seed;
        EXPECT_EQ(world.b.cm.counters().resent, 0U) << seed;
        if (world.told[0].what != What::resolved) {
            EXPECT_EQ(world.told[0].what, What::unanswered) << seed;
            EXPECT_EQ(world.questions, 16U) << seed;
            continue;
        }
        ++resolved;
        const auto& reply = std::get<CmServiceReply>(world.told[0].message);
        EXPECT_EQ(reply.status, world.listens ? world.status : CmServiceStatus::unsupported)
            << seed;
        EXPECT_EQ(reply.queue_pair, world.listens ? 0x22U : 0U) << seed;
        EXPECT_EQ(reply.service, service) << seed;
    }
    // With sixteen tries, a loss of one half leaves few questions without an answer.
    EXPECT_GT(resolved, 390U);
}

}  // namespace
}  // namespace wireproof::proto::ib
