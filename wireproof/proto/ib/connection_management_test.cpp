// Two sides and the datagrams between them, moved by hand or by chance.
#include "wireproof/proto/ib/connection_management.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof::ib {
namespace {

using What = CmEvent::What;

constexpr PeerId left{4};   // as the right side numbers it
constexpr PeerId right{9};  // as the left side does
constexpr std::uint64_t service = service_of_port(7174);
constexpr ConnectionManagement::Config of_left{.ca_guid = 1, .first_id = 0x1000};
constexpr ConnectionManagement::Config of_right{.ca_guid = 2, .first_id = 0x2000};

template <std::size_t Size>
PrivateBytes<Size> bytes(unsigned seed) {
    PrivateBytes<Size> bytes{};
    for (std::size_t i = 0; i < Size; ++i) bytes[i] = std::byte(seed + i);
    return bytes;
}

struct Side {
    explicit Side(const ConnectionManagement::Config& config) : cm(config) {}

    std::vector<CmEvent> events() {
        std::vector<CmEvent> all;
        while (auto event = cm.next_event()) all.push_back(std::move(*event));
        return all;
    }
    /// The only one; of another kind is a failure.
    CmEvent event(What what) {
        const auto all = events();
        EXPECT_EQ(all.size(), 1U);
        if (all.empty()) return {};
        EXPECT_EQ(all[0].what, what);
        return all[0];
    }
    bool silent() { return events().empty(); }

    ConnectionManagement cm;
};

class Sides : public testing::Test {
protected:
    /// Moves what waits at both until nothing does; the names of all. Those in `lose` are lost,
    /// each once.
    std::string carry() {
        std::string names;
        while (a.cm.has_outgoing() || b.cm.has_outgoing()) {
            names += carry_one(a.cm, b.cm, left);
            names += carry_one(b.cm, a.cm, right);
        }
        return names;
    }
    std::string carry_one(ConnectionManagement& from, ConnectionManagement& to, PeerId as) {
        const auto one = from.poll_transmit();
        if (!one) return "";
        EXPECT_EQ(one->to, as == left ? right : left);
        const std::string name(name_of(one->datagram.message));
        const auto lost = lose.find(" " + name);
        if (lost != std::string::npos) {
            lose.erase(lost, 1 + name.size());
            return "(" + name + ") ";
        }
        std::array<std::byte, cm_datagram_size> bytes{};
        one->datagram.encode(bytes);
        last_verdict = to.on_datagram(now, as, bytes);
        return name + " ";
    }
    /// To the next deadline of either side.
    void wait() {
        now = earliest(a.cm.next_deadline(), b.cm.next_deadline());
        ASSERT_NE(now, never);
        a.cm.on_deadline(now);
        b.cm.on_deadline(now);
    }

    CmId ask(std::uint32_t queue_pair = 0x11) {
        const auto id = a.cm.connect(now, right,
                                     {.service = service,
                                      .queue_pair = queue_pair,
                                      .starting_psn = Psn(7),
                                      .private_bytes = bytes<92>(1)});
        EXPECT_TRUE(id);
        return id.value_or(CmId{});
    }
    void accept(CmId id) {
        EXPECT_TRUE(b.cm.accept(now, id, {.queue_pair = 0x22, .private_bytes = bytes<196>(2)}));
    }
    /// Both established.
    void connect() {
        b.cm.listen(service);
        here = ask();
        carry();
        there = b.event(What::requested).id;
        accept(there);
        carry();
        a.event(What::replied);
        ASSERT_TRUE(a.cm.confirm(now, here));
        carry();
        b.event(What::established);
    }

    Instant now{};
    Side a{of_left};
    Side b{of_right};
    CmId here{};
    CmId there{};
    std::string lose;  // names, a space before each
    RxVerdict last_verdict = RxVerdict::accepted;
};

TEST_F(Sides, ConnectByThreeDatagramsAndPartByTwo) {
    b.cm.listen(service);
    here = ask();
    EXPECT_EQ(carry(), "REQ ");
    const CmEvent asked = b.event(What::requested);
    EXPECT_EQ(asked.peer, left);
    const auto& request = std::get<CmRequest>(asked.message);
    EXPECT_EQ(request.queue_pair, 0x11U);
    EXPECT_EQ(request.starting_psn, Psn(7));
    EXPECT_EQ(request.ca_guid, 1U);
    EXPECT_EQ(request.private_bytes, bytes<92>(1));
    accept(asked.id);
    EXPECT_EQ(carry(), "REP ");
    const CmEvent replied = a.event(What::replied);
    EXPECT_EQ(replied.id, here);
    EXPECT_EQ(std::get<CmReply>(replied.message).queue_pair, 0x22U);
    EXPECT_EQ(std::get<CmReply>(replied.message).private_bytes, bytes<196>(2));
    EXPECT_TRUE(a.cm.confirm(now, here));
    EXPECT_EQ(carry(), "RTU ");
    EXPECT_EQ(b.event(What::established).id, asked.id);
    EXPECT_EQ(a.cm.next_deadline(), never);
    EXPECT_EQ(b.cm.next_deadline(), never);

    EXPECT_TRUE(b.cm.disconnect(now, asked.id, bytes<220>(3)));
    EXPECT_EQ(carry(), "DREQ DREP ");
    const CmEvent parted = a.event(What::disconnected);
    EXPECT_EQ(std::get<CmDisconnect>(parted.message).private_bytes, bytes<220>(3));
    b.event(What::disconnected);
    EXPECT_EQ(a.cm.counters().resent + b.cm.counters().resent, 0U);
    // Remembered for a while, and not longer.
    EXPECT_EQ(a.cm.size(), 1U);
    wait();
    EXPECT_EQ(a.cm.size() + b.cm.size(), 0U);
}

TEST_F(Sides, WhicheverDatagramIsLostIsSentAgain) {
    for (const char* lost :
         {" REQ", " REP", " RTU", " DREQ", " DREP", " REQ REP RTU", " REP REP REP"}) {
        a = Side(of_left);
        b = Side(of_right);
        lose = lost;
        b.cm.listen(service);
        here = ask();
        bool parted = false;
        for (int turns = 0; turns < 20 && !parted; ++turns) {
            carry();
            for (const CmEvent& event : b.events()) {
                if (event.what == What::requested) accept(event.id);
                if (event.what == What::established) a.cm.disconnect(now, here);
            }
            for (const CmEvent& event : a.events()) {
                if (event.what == What::replied) {
                    EXPECT_TRUE(a.cm.confirm(now, here));
                }
                parted = parted || event.what == What::disconnected;
            }
            if (!a.cm.has_outgoing() && !b.cm.has_outgoing() && !parted) wait();
        }
        EXPECT_TRUE(parted) << lost;
        EXPECT_EQ(lose, "") << lost;
        // Of a lost REP both sides lack an answer.
        const std::string names(lost);
        const auto losses = static_cast<std::uint64_t>(std::ranges::count(names, ' '));
        const std::uint64_t resent = a.cm.counters().resent + b.cm.counters().resent;
        EXPECT_GE(resent, losses) << lost;
        EXPECT_LE(resent, 2 * losses) << lost;
    }
}

TEST_F(Sides, ARequestThatComesAgainIsAnsweredAgain) {
    b.cm.listen(service);
    here = ask();
    carry();
    there = b.event(What::requested).id;
    // While the user thinks: it takes a while, so the other side waits.
    const Instant first = a.cm.next_deadline();
    wait();
    EXPECT_EQ(carry(), "REQ MRA ");
    EXPECT_TRUE(b.silent());
    EXPECT_GT(a.cm.next_deadline(), first + cm_response_time(of_right.delay));
    wait();
    accept(there);
    lose = " REP";
    EXPECT_EQ(carry(), "REQ (REP) REP ");
    a.event(What::replied);
    EXPECT_EQ(b.cm.counters().duplicates, 2U);
    // REP again, whether the user has answered or not.
    wait();
    EXPECT_EQ(carry(), "REP ");
    EXPECT_TRUE(a.silent());
    a.cm.confirm(now, here);
    lose = " RTU";
    carry();
    wait();
    EXPECT_EQ(carry(), "REP RTU ");
    b.event(What::established);
    EXPECT_EQ(a.cm.counters().duplicates, 2U);
}

TEST_F(Sides, WhoAsksToPartIsAnsweredEvenByWhoForgot) {
    connect();
    lose = " DREP";
    a.cm.disconnect(now, here);
    EXPECT_EQ(carry(), "DREQ (DREP) ");
    b.event(What::disconnected);
    a.cm.on_deadline(a.cm.next_deadline());
    EXPECT_EQ(carry(), "DREQ DREP ");
    a.event(What::disconnected);
    EXPECT_TRUE(b.silent());

    a = Side(of_left);
    b = Side(of_right);
    connect();
    b = Side(of_right);
    a.cm.disconnect(now, here);
    EXPECT_EQ(carry(), "DREQ DREP ");
    EXPECT_EQ(b.cm.counters().unknown, 1U);
    a.event(What::disconnected);
}

TEST_F(Sides, BothMayAskToPartAtOnce) {
    connect();
    a.cm.disconnect(now, here);
    b.cm.disconnect(now, there);
    carry();
    a.event(What::disconnected);
    b.event(What::disconnected);
}

TEST_F(Sides, ReasonsAreTold) {
    const auto reason = [](const CmEvent& event) {
        return std::get<CmReject>(event.message).reason;
    };
    here = ask();
    EXPECT_EQ(carry(), "REQ REJ ");
    EXPECT_EQ(reason(a.event(What::rejected)), CmReason::invalid_service);
    EXPECT_EQ(b.cm.counters().refused, 1U);
    EXPECT_EQ(b.cm.size(), 0U);

    b.cm.listen(service);
    here = ask();
    carry();
    there = b.event(What::requested).id;
    EXPECT_TRUE(b.cm.reject(now, there, CmReason::consumer, bytes<148>(4)));
    lose = " REJ";
    EXPECT_EQ(carry(), "(REJ) ");
    wait();
    // The refusal, once more.
    EXPECT_EQ(carry(), "REQ REJ ");
    const CmEvent refused = a.event(What::rejected);
    EXPECT_EQ(reason(refused), CmReason::consumer);
    EXPECT_EQ(std::get<CmReject>(refused.message).private_bytes, bytes<148>(4));
    EXPECT_FALSE(b.cm.accept(now, there, {}));

    here = ask();
    carry();
    accept(b.event(What::requested).id);
    carry();
    a.event(What::replied);
    EXPECT_TRUE(a.cm.reject(now, here, CmReason::consumer));
    carry();
    EXPECT_EQ(reason(b.event(What::rejected)), CmReason::consumer);
    EXPECT_TRUE(b.cm.stop_listening(service));
    EXPECT_FALSE(b.cm.stop_listening(service));
}

TEST_F(Sides, NoMoreConnectionsAreTakenThanThereIsRoomFor) {
    ConnectionManagement::Config small = of_right;
    small.connections_max = 1;
    b = Side(small);
    connect();
    ask(0x12);
    EXPECT_EQ(carry(), "REQ REJ ");
    EXPECT_EQ(std::get<CmReject>(a.event(What::rejected).message).reason, CmReason::no_resources);
    EXPECT_FALSE(b.cm.connect(now, left, {}));
}

// Its host began anew: the old connection is nobody's.
TEST_F(Sides, AQueuePairThatAsksTwiceHasGivenUpItsConnection) {
    connect();
    ConnectionManagement::Config again = of_left;
    again.first_id = 0x1FFF;
    a = Side(again);
    ask();
    EXPECT_EQ(carry(), "REQ REJ ");
    EXPECT_EQ(std::get<CmReject>(a.event(What::rejected).message).reason,
              CmReason::stale_connection);
    EXPECT_EQ(b.event(What::disconnected).id, there);
    ask();
    EXPECT_EQ(carry(), "REQ ");
    b.event(What::requested);
}

TEST_F(Sides, WhoIsNeverAnsweredGivesUpAndSaysSo) {
    ask();
    const Instant began = now;
    std::size_t sent = 0;
    std::string last;
    while (a.cm.next_deadline() != never) {
        while (const auto one = a.cm.poll_transmit()) {
            last = name_of(one->datagram.message);
            sent += last == "REQ" ? 1U : 0U;
        }
        now = a.cm.next_deadline();
        a.cm.on_deadline(now);
        const auto events = a.events();
        if (!events.empty()) {
            EXPECT_EQ(events[0].what, What::unanswered);
            EXPECT_EQ(now - began, cm_response_time(16) * 16);
        }
    }
    EXPECT_EQ(sent, 16U);
    EXPECT_EQ(last, "REJ");
    EXPECT_EQ(a.cm.size(), 0U);
}

// A side that heard the request and was not heard is told by it.
TEST_F(Sides, GivingUpEndsWhatTheOtherSideBegan) {
    b.cm.listen(service);
    ask();
    carry();
    there = b.event(What::requested).id;
    while (a.events().empty()) {
        now = a.cm.next_deadline();
        a.cm.on_deadline(now);
    }
    carry();
    EXPECT_EQ(std::get<CmReject>(b.event(What::rejected).message).reason, CmReason::timeout);
    EXPECT_FALSE(b.cm.accept(now, there, {}));
}

TEST_F(Sides, APacketOnTheQueuePairIsAsGoodAsRtu) {
    b.cm.listen(service);
    here = ask();
    carry();
    there = b.event(What::requested).id;
    EXPECT_FALSE(b.cm.note_first_packet(there));
    accept(there);
    carry();
    a.cm.confirm(now, here);
    EXPECT_TRUE(b.cm.note_first_packet(there));
    b.event(What::established);
    carry();
    EXPECT_TRUE(b.silent());
    EXPECT_EQ(b.cm.counters().duplicates, 1U);
}

TEST_F(Sides, WhatIsOfNobodyOrNotOfThisStateIsCountedAndChangesNothing) {
    connect();
    const auto give = [&](PeerId from, const CmMessage& message) {
        std::array<std::byte, cm_datagram_size> bytes{};
        CmDatagram{.transaction = 5, .message = message}.encode(bytes);
        return b.cm.on_datagram(now, from, bytes);
    };
    const auto own = static_cast<std::uint32_t>(there);
    const std::uint32_t theirs = static_cast<std::uint32_t>(here);
    for (const CmMessage& message : std::vector<CmMessage>{
             CmDelay{.local_id = theirs, .remote_id = own},
             CmReject{.local_id = theirs, .remote_id = own},
             CmDisconnected{.local_id = theirs, .remote_id = own},
             CmDisconnect{.local_id = theirs, .remote_id = own, .remote_queue_pair = 0x23}}) {
        EXPECT_EQ(give(left, message), RxVerdict::stale) << name_of(message);
    }
    EXPECT_EQ(b.cm.counters().out_of_state, 4U);
    // Of the right identifier and the wrong host.
    for (const CmMessage& message : std::vector<CmMessage>{
             CmDelay{.remote_id = own}, CmReject{.remote_id = own}, CmReply{.remote_id = own},
             CmReady{.remote_id = own}, CmDisconnected{.remote_id = own},
             CmDisconnect{.remote_id = own, .remote_queue_pair = 0x22}}) {
        EXPECT_EQ(give(PeerId{77}, message), RxVerdict::foreign) << name_of(message);
    }
    EXPECT_EQ(b.cm.counters().unknown, 6U);
    EXPECT_EQ(b.cm.on_datagram(now, left, {}), RxVerdict::malformed);
    EXPECT_EQ(b.cm.counters().malformed[static_cast<std::size_t>(NotCm::length)], 1U);
    EXPECT_TRUE(b.silent());
    EXPECT_TRUE(b.cm.disconnect(now, there));
}

// Bytes of chance in good datagrams, with identifiers that are right more often than not: whatever
// comes, there is room for the next honest connection afterwards, and each datagram counts once.
TEST_F(Sides, NoDatagramOfChanceBreaksAnything) {
    ConnectionManagement::Config config = of_right;
    config.connections_max = 64;
    b = Side(config);
    b.cm.listen(service);
    Random dice(3);
    constexpr std::uint64_t datagrams = 100'000;
    std::vector<CmId> known;
    for (std::uint64_t i = 0; i < datagrams; ++i) {
        std::array<std::byte, cm_datagram_size> bytes{};
        for (std::byte& byte : bytes) byte = std::byte(dice.next());
        // The head of a good one, and one of seven attributes.
        constexpr std::array<unsigned char, 4> head = {1, 7, 2, 3};
        if (!dice.chance(0.05)) std::ranges::copy(std::as_bytes(std::span(head)), bytes.begin());
        bytes[16] = std::byte{0};
        bytes[17] = std::byte(0x10 + dice.below(7));
        if (auto datagram = CmDatagram::decode(bytes)) {
            const auto set_ids = [&](auto& message) {
                message.local_id = static_cast<std::uint32_t>(dice.below(100));
                if constexpr (requires { message.service; }) {
                    if (dice.chance(0.8)) message.service = service;
                    message.queue_pair = static_cast<std::uint32_t>(dice.below(500));
                } else {
                    message.remote_id =
                        config.first_id + static_cast<std::uint32_t>(dice.below(300));
                }
                if constexpr (requires { message.remote_queue_pair; }) {
                    message.remote_queue_pair = static_cast<std::uint32_t>(dice.below(2));
                }
            };
            std::visit(set_ids, datagram->message);
            datagram->encode(bytes);
        }
        b.cm.on_datagram(now, PeerId{static_cast<std::uint16_t>(dice.below(3))}, bytes);
        for (const CmEvent& event : b.events()) {
            if (event.what == What::requested) known.push_back(event.id);
        }
        if (!known.empty()) {
            const CmId id = known[dice.below(known.size())];
            if (dice.chance(0.1)) b.cm.accept(now, id, {});
            if (dice.chance(0.05)) b.cm.reject(now, id, CmReason::consumer);
            if (dice.chance(0.05)) b.cm.disconnect(now, id);
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
    // The hosts of chance go on for no more than their connections' time.
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

/// Both sides' view of one connection.
struct View {
    bool up = false;
    bool ended = false;
};

// Lost, repeated and late datagrams: both sides come up and go down, or neither comes up; nothing
// is told twice.
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
    // With sixteen tries of each, half of all lost ends few of them.
    EXPECT_GT(up, 390U);
}

}  // namespace
}  // namespace wireproof::ib
