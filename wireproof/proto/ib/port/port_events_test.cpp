#include "wireproof/proto/ib/transport/port_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using What = PortEvent::What;
using About = PortEvent::About;

std::vector<PortEvent> all_of(PortEvents events) {
    std::vector<PortEvent> all;
    while (const auto event = events.next()) all.push_back(*event);
    return all;
}

TEST(PortEvents, HaveTheOrderOfEachObjectAndEachKindOnce) {
    constexpr std::uint32_t objects = 8;  // of each sort
    constexpr auto kinds = static_cast<std::uint64_t>(What::receives_flushed) + 1;
    Random dice(1);
    PortEvents events;
    for (const About about :
         {About::completion_queue, About::shared_receive_queue, About::queue_pair}) {
        for (std::uint32_t number = 0; number < objects; ++number) events.add(about, number);
    }
    std::map<std::pair<About, std::uint32_t>, std::vector<What>> model;
    for (int i = 0; i < 20'000; ++i) {
        const auto number = static_cast<std::uint32_t>(dice.below(objects));
        const auto what = static_cast<What>(dice.below(kinds));
        std::vector<What>& waiting = model[{PortEvent::about(what), number}];
        if (dice.chance(0.5)) {
            events.tell(what, number);
            if (std::ranges::find(waiting, what) == waiting.end()) waiting.push_back(what);
        } else if (dice.chance(0.9)) {
            const auto event = events.next();
            if (!event) continue;
            std::vector<What>& of = model[{PortEvent::about(event->what), event->number}];
            ASSERT_FALSE(of.empty());
            EXPECT_EQ(event->what, of.front());
            of.erase(of.begin());
        } else {
            events.remove(PortEvent::about(what), number);
            events.add(PortEvent::about(what), number);
            waiting.clear();
        }
        const auto telling =
            std::ranges::count_if(model, [](const auto& one) { return !one.second.empty(); });
        ASSERT_EQ(events.telling(), static_cast<std::size_t>(telling));
    }
    std::size_t left = 0;
    for (const auto& [object, waiting] : model) left += waiting.size();
    EXPECT_GT(left, 0U);
    EXPECT_EQ(all_of(events).size(), left) << "of a copy";
    EXPECT_EQ(all_of(events).size(), left) << "the copy changed the original";
}

// The program that a queue pair's event wakes may poll the queue at once.
TEST(PortEvents, AnEventOfAQueueComesBeforeLaterEventsOfQueuePairs) {
    PortEvents events;
    events.add(About::completion_queue, 1);
    events.add(About::queue_pair, 1);
    events.add(About::queue_pair, 2);
    events.tell(What::access_refused, 1);
    events.tell(What::overrun, 1);
    events.tell(What::completion, 1);
    events.tell(What::receives_flushed, 1);
    events.tell(What::receives_flushed, 2);
    EXPECT_EQ(all_of(events), (std::vector<PortEvent>{{What::access_refused, 1},
                                                      {What::overrun, 1},
                                                      {What::completion, 1},
                                                      {What::receives_flushed, 2},
                                                      {What::receives_flushed, 1}}));
}

TEST(PortEvents, OfAnObjectThatWasRemovedAreGone) {
    PortEvents events;
    for (std::uint32_t number = 0; number < 3; ++number) events.add(About::queue_pair, number);
    for (std::uint32_t number = 0; number < 3; ++number) events.tell(What::established, number);
    for (const std::uint32_t number : {1U, 0U, 2U}) {
        events.remove(About::queue_pair, number);
        events.add(About::queue_pair, number);
    }
    EXPECT_EQ(events.telling(), 0U);
    EXPECT_TRUE(all_of(events).empty());
    events.tell(What::drained, 1);
    EXPECT_EQ(all_of(events), (std::vector<PortEvent>{{What::drained, 1}}));
}

/// RC queue pairs of one port, each with a shared receive queue of its own. One completion queue is
/// for all of them, and the user arms it. The peer sends one message to each queue pair and never
/// answers.
class Crowd {
public:
    explicit Crowd(std::size_t pairs) : memory_(4096) {
        all = port.add_completion_queue(4 * pairs);
        key_ = port.memory()
                   .add_region({.domain = domain,
                                .address = End::base,
                                .memory = memory_,
                                .access = {true, true, true, true, true}})
                   .value();
        for (std::size_t i = 0; i < pairs; ++i) {
            queues.push_back(port.add_shared_receive_queue(domain, 1, 1));
            numbers.push_back(port.add_queue_pair({.transport = Transport::rc,
                                                   .domain = domain,
                                                   .send_completions = all,
                                                   .receive_completions = all,
                                                   .shared_receives = queues.back(),
                                                   .limits = {.sends = 1, .receives = 1},
                                                   .signal_all = true})
                                  .value());
        }
    }

    /// All that happens until each queue pair has failed.
    void fail() {
        port.request_notify(all, false);
        const Piece piece{End::base, 8, key_};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            ASSERT_EQ(port.modify(numbers[i], {.state = QueuePairState::reset}),
                      ModifyStatus::done);
            ASSERT_EQ(port.modify(numbers[i], to_init(Access{})), ModifyStatus::done);
            ASSERT_EQ(connect(port, numbers[i],
                              {.peer = other_end, .dest_queue_pair = 1, .retry_count = 0}),
                      ModifyStatus::done);
            ASSERT_EQ(port.post_receive(queues[i], {.pieces = std::span(&piece, 1)}),
                      PostStatus::accepted);
            port.shared_receive_queue(queues[i]).limit = 1;
            ASSERT_EQ(port.post_send(numbers[i], {.terms = {}, .pieces = std::span(&piece, 1)}),
                      PostStatus::accepted);
        }
        for (const std::uint32_t number : numbers) {
            port.on_frame(now, {.bytes = message_to(number), .from = other_end});
        }
        std::vector<std::byte> room(packet_max(test_mtu * 4));
        for (TxFrame out;;) {
            out.open(room, {.frame_max = room.size()});
            if (!port.poll_transmit(now, out)) break;
        }
        now = port.next_deadline();
        port.on_deadline(now);
        ASSERT_EQ(port.next_deadline(), never) << "a queue pair did not fail in the same call";
    }

    Port port{{.path_mtu = 1024}};
    Instant now;
    CompletionQueueId all{};
    std::vector<SharedReceiveQueueId> queues;
    std::vector<std::uint32_t> numbers;

private:
    static PacketBytes message_to(std::uint32_t number) {
        Headers headers;
        headers.bth.opcode = opcode_of(Transport::rc, Operation::send_only);
        headers.bth.dest_qp = number;
        return encoded(headers, std::span<const ConstBytes>());
    }

    std::vector<std::byte> memory_;
    std::uint32_t key_ = 0;
};

// RC-42
TEST(PortEvents, AnArmedQueueKeepsItsEventHoweverManyQueuePairsFail) {
    for (const std::size_t pairs : {std::size_t{1}, std::size_t{1'100}, std::size_t{10'000}}) {
        Crowd crowd(pairs);
        for (int round = 0; round < 2; ++round) {
            SCOPED_TRACE(testing::Message() << pairs << " queue pairs, round " << round);
            ASSERT_NO_FATAL_FAILURE(crowd.fail());
            std::map<std::pair<What, std::uint32_t>, int> told;
            std::size_t events = 0;
            while (const auto event = crowd.port.next_delivery()) {
                ++told[{event->what, event->number}];
                ++events;
            }
            EXPECT_EQ((told[{What::completion, static_cast<std::uint32_t>(crowd.all)}]), 1);
            for (std::size_t i = 0; i < pairs; ++i) {
                const auto queue = static_cast<std::uint32_t>(crowd.queues[i]);
                EXPECT_EQ((told[{What::limit_reached, queue}]), 1);
                EXPECT_EQ((told[{What::receives_flushed, crowd.numbers[i]}]), 1);
            }
            EXPECT_EQ(events, 1 + 2 * pairs);
            std::size_t completions = 0;
            while (crowd.port.poll(crowd.all)) ++completions;
            EXPECT_EQ(completions, 2 * pairs);
        }
    }
}

// RC-42: the number of a queue may belong to another one at once.
TEST(PortEvents, AQueueThatWasRemovedTellsNothing) {
    Port port({});
    const CompletionQueueId first = port.add_completion_queue(1);
    const auto pair = port.add_queue_pair({.transport = Transport::ud,
                                           .send_completions = first,
                                           .receive_completions = first,
                                           .limits = {.sends = 1, .receives = 1}})
                          .value();
    port.modify(pair, {.state = QueuePairState::init, .partition_index = 0, .port = 1, .qkey = 1});
    ASSERT_EQ(port.post_receive(pair, {}), PostStatus::accepted);
    port.request_notify(first, false);
    port.modify(pair, {.state = QueuePairState::error});
    ASSERT_EQ(port.completion_queue(first).size(), 1U);
    ASSERT_TRUE(port.remove_queue_pair(pair));
    ASSERT_TRUE(port.remove(first));
    EXPECT_EQ(port.add_completion_queue(1), first);
    EXPECT_FALSE(port.next_delivery());
}

// RC-42
TEST(PortEvents, AnArmedQueueThatCompletesAgainBeforeItsEventIsTakenTellsOne) {
    Port port({});
    const CompletionQueueId queue = port.add_completion_queue(4);
    const auto pair = port.add_queue_pair({.transport = Transport::ud,
                                           .send_completions = queue,
                                           .receive_completions = queue,
                                           .limits = {.sends = 1, .receives = 1}})
                          .value();
    port.modify(pair, {.state = QueuePairState::init, .partition_index = 0, .port = 1, .qkey = 1});
    port.modify(pair, {.state = QueuePairState::error});
    const auto complete = [&] {
        port.request_notify(queue, false);
        EXPECT_EQ(port.post_receive(pair, {}), PostStatus::accepted);  // flushed at once
    };
    const PortEvent event{What::completion, static_cast<std::uint32_t>(queue)};
    complete();
    complete();
    EXPECT_EQ(port.completion_queue(queue).size(), 2U);
    EXPECT_EQ(port.next_delivery(), event);
    EXPECT_FALSE(port.next_delivery());
    complete();
    EXPECT_EQ(port.next_delivery(), event);
}

// A vector of more than all memory throws, as one for which there is no memory does.
TEST(PortEvents, OfAQueuePairForWhichThereIsNoMemoryAreNotTold) {
    Port port({});
    const CompletionQueueId queue = port.add_completion_queue(1);
    QueuePairConfig config{.number = 5, .send_completions = queue, .receive_completions = queue};
    config.limits.sends = ~std::size_t{0};
    EXPECT_THROW((void)port.add_queue_pair(config), std::length_error);
    EXPECT_EQ(port.queue_pairs(), 0U);
    port.report({PortEvent::What::drained, 5});
    EXPECT_EQ(port.next_delivery(), std::nullopt);
    config.limits = {};
    EXPECT_TRUE(port.add_queue_pair(config).has_value());
    port.report({PortEvent::What::drained, 5});
    EXPECT_EQ(port.next_delivery(), (PortEvent{PortEvent::What::drained, 5}));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
