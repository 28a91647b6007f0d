// SP AM on the modelled adapters: bursts that overflow a receive FIFO, full windows, polls within
// calls, routes, and the costs of calls.
#include "wireproof/lab/sp2/sp2_am.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "wireproof/lab/sp2/sp2_exchange.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::lab {
namespace {

constexpr am::HandlerId handler{3};
constexpr std::array<std::byte, 16> four_words{};

bool answer(Sp2Am& am, std::size_t node, std::size_t peer, const am::Delivery& delivery) {
    if (!std::holds_alternative<am::Request>(delivery)) return false;
    EXPECT_EQ(am.reply(node, peer, handler, ConstBytes(four_words).first(4)),
              am::PostStatus::accepted);
    return true;
}

void expect_nobody_given_up(Sp2Am& am) {
    for (std::size_t node = 1; node < am.nodes(); ++node) {
        EXPECT_EQ(am.at(0, node).stats().sessions, am.at(node, 0).stats().sessions);
        EXPECT_TRUE(am.at(0, node).established() && am.at(node, 0).established());
    }
}

TEST(Sp2Am, EightNodesAllToAllLoseNothingAndResendNothing) {
    Sp2Am am(Sp2AmConfig::of_nodes(8));
    const Sp2Exchanged all = exchange(am, {});
    EXPECT_EQ(all.wrong, "");
    EXPECT_EQ(all.requests, 8u * 7 * 20);
    EXPECT_EQ(all.replies, all.requests);
    EXPECT_EQ(all.stores, 8u * 7 * 2);
    EXPECT_EQ(all.overflows, 0u);
    EXPECT_EQ(all.resent, 0u);
}

// AM-20
TEST(Sp2Am, SevenSendersOverflowASlowPollersFifoAndNoDataIsLost) {
    Sp2Am am(Sp2AmConfig::of_nodes(8));
    // The windows of seven peers have 525 packets; the FIFO has 448 entries.
    const Sp2Exchange burst{.requests = 100,
                            .stores = 3,
                            .store_bytes = 20'000,
                            .to_one = true,
                            .work = Duration::microseconds(50)};
    const Sp2Exchanged all = exchange(am, burst);
    EXPECT_EQ(all.wrong, "");
    EXPECT_EQ(all.requests, 700u);
    EXPECT_EQ(all.replies, 700u);
    EXPECT_EQ(all.stores, 21u);
    EXPECT_GT(all.overflows, 500u) << "the test means to overflow";
    EXPECT_GE(all.resent, all.overflows / 2) << "one resend may fill in for what was lost twice";
    const std::uint64_t needed = 700 * 2 + 21 * (1 + 90 + 3);
    EXPECT_LT(all.packets, needed * 4);
    expect_nobody_given_up(am);
}

// AM-20: all nodes send to all others, and one of them is slow.
TEST(Sp2Am, ASlowNodeAmongEightDelaysButLosesNothing) {
    Sp2Am am(Sp2AmConfig::of_nodes(8));
    const Sp2Exchange plan{
        .requests = 100, .stores = 1, .store_bytes = 20'000, .work = Duration::microseconds(50)};
    const Sp2Exchanged all = exchange(am, plan);
    EXPECT_EQ(all.wrong, "");
    EXPECT_EQ(all.replies, 5600u);
    EXPECT_GT(all.overflows, 0u);
    for (std::size_t node = 1; node < 8; ++node) {
        EXPECT_EQ(am.machine().wire(node).counts().overflows, 0u) << "only the slow one overflows";
    }
}

TEST(Sp2Am, ABadSwitchIsMadeGood) {
    Sp2AmConfig config = Sp2AmConfig::of_nodes(4);
    config.machine.faults = {.loss = 0.02, .bit_error = 1e-6, .duplicate = 0.02, .reorder = 0.02};
    config.machine.seed = 4;
    Sp2Am am(config);
    const Sp2Exchanged all = exchange(am, {.requests = 50, .store_bytes = 20'000});
    EXPECT_EQ(all.wrong, "");
    EXPECT_GT(all.resent, 0u);
}

// Sends requests until the window is full, and continues when there is room.
class Asking : public Sp2Program {
public:
    Asking(Sp2Am& am, int requests) : am_(am), left_(am.nodes(), requests) {}

    Instant on_turn(std::size_t node) override {
        if (left_[node] == 0) return never;
        const auto status = am_.request(node, 1 - node, handler, four_words);
        if (status == am::PostStatus::window_full) {
            if (replies == 0) full.insert(node);
            return never;
        }
        --left_[node];
        if (replies == 0) ++before_any_reply[node];
        return am_.host(node).now();
    }
    void on_delivery(std::size_t node, std::size_t peer, const am::Delivery& delivery) override {
        if (answer(am_, node, peer, delivery)) am_.host(node).spend(work);
        if (std::holds_alternative<am::Reply>(delivery)) ++replies;
    }

    Duration work;  // of a handler
    int replies = 0;
    std::set<std::size_t> full;  // nodes whose window was full before any reply arrived
    std::map<std::size_t, int> before_any_reply;

private:
    Sp2Am& am_;
    std::vector<int> left_;
};

// AM-24
TEST(Sp2Am, WithBothRequestWindowsFullRepliesStillFlow) {
    Sp2AmConfig config = Sp2AmConfig::of_nodes(2);
    config.machine.costs.switch_latency = Duration::milliseconds(2);  // fills a window
    config.protocol.keepalive_after = Duration::milliseconds(10);
    config.machine.receive_entries_per_peer = 256;
    Sp2Am am(config);
    Asking program(am, 200);
    const auto end = am.run(program, [&] { return program.replies == 400; });
    EXPECT_EQ(end.end, sim::RunEnd::done);
    EXPECT_EQ(program.full.size(), 2u) << "the test means to fill both";
    EXPECT_EQ(program.before_any_reply[0], 75);
    EXPECT_EQ(program.before_any_reply[1], 75);
    EXPECT_EQ(am.at(0, 1).stats().resent + am.at(1, 0).stats().resent, 0u);
}

// AM-24, with slow handlers that let small FIFOs overflow.
TEST(Sp2Am, FullWindowsThatOverflowTheFifosEndToo) {
    Sp2AmConfig config = Sp2AmConfig::of_nodes(2);
    config.machine.costs.switch_latency = Duration::milliseconds(2);
    config.protocol.keepalive_after = Duration::milliseconds(10);
    config.machine.receive_entries_per_peer = 32;
    Sp2Am am(config);
    Asking program(am, 200);
    program.work = Duration::microseconds(50);
    const auto end = am.run(program, [&] { return program.replies == 400; });
    EXPECT_EQ(end.end, sim::RunEnd::done);
    EXPECT_EQ(program.full.size(), 2u);
    EXPECT_GT(am.machine().wire(0).counts().overflows, 0u);
    EXPECT_GT(am.machine().wire(1).counts().overflows, 0u);
}

// Node 0 sleeps, and then only calls am_request, all in one turn.
class CallsOnly : public Sp2Program {
public:
    explicit CallsOnly(Sp2Am& am) : am_(am) {}

    Instant on_turn(std::size_t node) override {
        const Instant late(Duration::milliseconds(1));
        if (node == 1) return am_.counts(1).requests < 10 ? ask(1) : never;
        if (am_.host(0).now() < late) {
            am_.host(0).wait_until(late);
            return late;
        }
        if (handled_before >= 0) return never;
        handled_before = handled;
        polls_before = am_.counts(0).polls;
        for (int i = 0; i < 10; ++i) ask(0);
        handled_after = handled;
        polls_after = am_.counts(0).polls;
        return never;
    }
    void on_delivery(std::size_t node, std::size_t peer, const am::Delivery& delivery) override {
        if (answer(am_, node, peer, delivery) && node == 0) ++handled;
    }

    int handled = 0;
    int handled_before = -1;
    int handled_after = -1;
    std::uint64_t polls_before = 0;
    std::uint64_t polls_after = 0;

private:
    Instant ask(std::size_t node) {
        EXPECT_EQ(am_.request(node, 1 - node, handler, four_words), am::PostStatus::accepted);
        return am_.host(node).now();
    }
    Sp2Am& am_;
};

// AM-21
TEST(Sp2Am, EveryRequestCallPolls) {
    Sp2Am am(Sp2AmConfig::of_nodes(2));
    CallsOnly program(am);
    am.run(program, [] { return false; }, {.until = Instant(Duration::milliseconds(5))});
    EXPECT_EQ(program.polls_after - program.polls_before, 10u);
    EXPECT_EQ(am.counts(0).request_polls, am.counts(0).requests);
    EXPECT_LE(program.handled_before, 1) << "the turn itself began with a poll";
    EXPECT_GE(program.handled_after, 10) << "the calls took what had arrived";
}

FrameInfo route_as_channel(ConstBytes packet) {
    FrameInfo info = am::describe_sp2(packet);
    info.channel = am::decode(am::Layout::sp2, packet)->route;
    return info;
}

using Routes = std::map<std::pair<unsigned, unsigned>, std::set<std::uint32_t>>;

Routes routes_of(const Trace& trace) {
    Routes routes;
    for (std::size_t i = 0; i < trace.events().size(); ++i) {
        const TraceEvent& event = trace.events()[i];
        routes[{event.from, event.to}].insert(event.frame.channel);
    }
    return routes;
}

// AM-52
TEST(Sp2Am, APairKeepsItsRouteWhileThePeerAnswers) {
    Sp2AmConfig config = Sp2AmConfig::of_nodes(5);
    config.machine.describe = route_as_channel;
    config.machine.faults.loss = 0.01;
    for (int i = 0; i < 4; ++i) {
        config.machine.route_delays[static_cast<std::size_t>(i)] = Duration::microseconds(40 * i);
    }
    Sp2Am am(config);
    Trace trace(20'000);
    am.machine().fabric().record(&trace);
    EXPECT_EQ(exchange(am, {}).wrong, "");
    std::set<std::uint32_t> all;
    for (const auto& [pair, routes] : routes_of(trace)) {
        EXPECT_EQ(routes.size(), 1u) << pair.first << " to " << pair.second;
        all.insert(routes.begin(), routes.end());
    }
    EXPECT_EQ(all.size(), 4u) << "different pairs use different routes";
}

// AM-52
TEST(Sp2Am, APeerThatKeepAliveFindsSilentIsTriedOnAnotherRoute) {
    Sp2AmConfig config = Sp2AmConfig::of_nodes(2);
    config.machine.describe = route_as_channel;
    Sp2Am am(config);
    Trace trace(20'000);
    am.machine().fabric().record(&trace);
    FaultRule silence;
    silence.nth_first = 1;
    silence.nth_last = 55;
    silence.fate = {.lost = true};
    am.machine().faults(0, 1).add_rule(silence);
    am.machine().faults(1, 0).add_rule(silence);
    EXPECT_EQ(exchange(am, {}).wrong, "");
    EXPECT_GT(routes_of(trace)[std::make_pair(0u, 1u)].size(), 1u);
}

// Makes one call at a time and measures it with the node's clock.
class Timed : public Sp2Program {
public:
    Timed(Sp2Am& am, std::size_t store_bytes) : am_(am), source_(store_bytes), inbox_(store_bytes) {
        EXPECT_TRUE(am.memory(1, 0).add(0x100, inbox_, {.write = true}));
    }

    Instant on_turn(std::size_t node) override {
        const Instant now = am_.host(node).now();
        if (node == 1) {
            if (asked != never && answered == Duration()) answered = now - asked;
            return never;
        }
        if (empty_poll == Duration()) {
            empty_poll = now - Instant();
            EXPECT_EQ(am_.request(0, 1, handler, ConstBytes(four_words).first(4)),
                      am::PostStatus::accepted);
            one_word = am_.host(0).now() - now;
        } else if (replied && stored == Duration() && store_begun == never) {
            store_begun = now;
            am::Connection::Store store;
            store.address = 0x100;
            store.source = source_;
            store.handler = handler;
            EXPECT_EQ(am_.store(0, 1, store), am::PostStatus::accepted);
            return am_.host(0).now();
        } else if (store_begun != never && stored == Duration()) {
            stored = now - store_begun;
        }
        return never;
    }
    void on_delivery(std::size_t node, std::size_t peer, const am::Delivery& delivery) override {
        if (std::holds_alternative<am::Request>(delivery)) asked = am_.host(1).now();
        answer(am_, node, peer, delivery);
        replied = replied || std::holds_alternative<am::Reply>(delivery);
    }

    Duration empty_poll;
    Duration one_word;
    Duration answered;
    Duration stored;

private:
    Sp2Am& am_;
    std::vector<std::byte> source_;
    std::vector<std::byte> inbox_;
    bool replied = false;
    Instant asked = never;
    Instant store_begun = never;
};

TEST(Sp2Am, CallsCostWhatTheyWereFittedTo) {
    Duration chunk;
    for (const std::size_t chunks : {1u, 2u}) {
        Sp2Am am(Sp2AmConfig::of_nodes(2));
        Timed program(am, chunks * 8064);
        am.run(program, [] { return false; }, {.until = Instant(Duration::milliseconds(5))});
        EXPECT_EQ(program.empty_poll, Duration::nanoseconds(1'300));
        EXPECT_EQ(program.one_word, Duration::nanoseconds(7'700));
        EXPECT_EQ(program.answered, Duration::nanoseconds(4'000));
        chunk = program.stored - chunk;
    }
    EXPECT_NEAR(chunk.seconds() * 1e6, 175, 2);
}

TEST(Sp2Am, TheSameRunTakesTheSameTimeToThePicosecond) {
    const auto taken = [] {
        Sp2Am am(Sp2AmConfig::of_nodes(8));
        return exchange(am, {.to_one = true, .work = Duration::microseconds(30)});
    };
    const Sp2Exchanged first = taken();
    const Sp2Exchanged second = taken();
    EXPECT_EQ(first.taken, second.taken);
    EXPECT_EQ(first.packets, second.packets);
}

}  // namespace
}  // namespace wireproof::lab
