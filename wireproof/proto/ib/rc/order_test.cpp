// What the peer sent after it knew of a Read, an Atomic or a Write is not seen before that is done
// (RC-38 to RC-40). Here `a` asks, `b` executes and then sends a message.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr Duration order_delay = Duration::microseconds(20);
constexpr Duration message_hold = Duration::milliseconds(100);

PairSettings ordering(Duration ack_delay = {}) {
    PairSettings settings = rc_settings({.timeout = 14});
    settings.queue_pair.ack_delay = ack_delay;
    settings.queue_pair.message_hold = message_hold;
    settings.queue_pair.limits = {.sends = 64, .receives = 64, .pieces = 2};
    return settings;
}

class RcOrder : public testing::Test {
protected:
    explicit RcOrder(const PairSettings& settings = ordering()) : pair(settings) {
        for (std::uint64_t id = 200; id < 232; ++id) {
            EXPECT_EQ(pair.a.receive(id, pair.a.piece(0xC000, 64)), PostStatus::accepted);
        }
    }

    /// The program of `b` sends a message.
    void b_sends(Request request = Request::send) {
        WorkTerms terms{.id = ++messages, .request = request};
        terms.remote_address = End::base + 0xD000;
        terms.remote_key = pair.a.key;
        EXPECT_EQ(pair.b.post(terms, pair.b.piece(0x100, 8)), PostStatus::accepted);
    }
    void give_a(const std::vector<PacketBytes>& packets) {
        for (const PacketBytes& packet : packets) pair.a.give(pair.now, packet);
    }
    /// The packets of `b`, without PSNs. They arrive at `a`.
    Names b_says() {
        const auto packets = pair.b.leaving(pair.now);
        give_a(packets);
        Names kinds;
        for (const PacketBytes& packet : packets) {
            kinds.push_back(std::string(describe(packet).kind));
        }
        return kinds;
    }
    /// One poll of a queue of `a`: the id of the completion, or 0.
    std::uint64_t poll(CompletionQueueId queue) {
        const auto one = pair.a.port.poll(queue);
        return one ? one->id : 0;
    }
    std::uint64_t poll_receives() { return poll(pair.a.receives); }
    std::uint64_t poll_sends() { return poll(pair.a.sends); }
    std::size_t notices() {
        std::size_t count = 0;
        for (const PortEvent& event : pair.a.events()) {
            count += event.what == PortEvent::What::completion ? 1U : 0U;
        }
        return count;
    }

    /// A Read of queue pair 0x777 of `a` arrives at another queue pair of `b`. Its answer does not
    /// leave yet.
    std::uint32_t other_owes_an_answer() {
        const std::uint32_t other = pair.b.port
                                        .add_queue_pair({.transport = Transport::rc,
                                                         .domain = domain,
                                                         .send_completions = pair.b.sends,
                                                         .receive_completions = pair.b.receives})
                                        .value();
        QueuePairChange rtr = pair.to_rtr(1);
        rtr.dest_queue_pair = 0x777;
        for (const auto& change : {to_init(), rtr, pair.to_rts(1)}) {
            EXPECT_EQ(pair.b.port.modify(other, change), ModifyStatus::done);
        }
        pair.read(600);
        const auto elsewhere =
            with_bth(pair.a_leaving().at(0), [other](Bth& bth) { bth.dest_qp = other; });
        EXPECT_EQ(pair.b.give(pair.now, elsewhere), RxVerdict::accepted);
        return other;
    }

    RcPair pair;
    std::uint64_t messages = 300;
};

/// `a` posts each kind of one-sided work, and `b` executes it before it sends.
void ask(RcPair& pair, int kind) {
    if (kind == 0) pair.read(10);
    if (kind == 1) pair.atomic(Request::fetch_add, 1);
    if (kind == 2) pair.atomic(Request::compare_swap, 1);
    if (kind == 3) pair.post(Request::write, 10);
    pair.give(pair.a_leaving());
}

// RC-38
TEST_F(RcOrder, AMessageIsNotSeenBeforeWhatCameBeforeItInAnotherQueue) {
    for (int kind = 0; kind < 4; ++kind) {
        ask(pair, kind);
        b_sends();
        b_says();
        EXPECT_EQ(poll_receives(), 0U) << kind;
        EXPECT_EQ(poll_sends(), pair.posted) << kind;
        EXPECT_EQ(poll_receives(), 200U + static_cast<unsigned>(kind));
        EXPECT_EQ(poll_receives(), 0U);
        pair.give(pair.a_leaving());
    }
}

// RC-38: a program may poll only one of its queues.
TEST_F(RcOrder, TheSecondPollGivesTheMessageWhateverTheProgramPolled) {
    for (std::uint64_t i = 0; i < 3; ++i) {
        ask(pair, 0);
        b_sends();
        b_says();
        EXPECT_EQ(poll_receives(), 0U);
        EXPECT_EQ(poll_receives(), 200U + i);
        pair.give(pair.a_leaving());
    }
    EXPECT_EQ(pair.a.sent().size(), 3U);
}

// RC-38: the rest of a list is polled in the same call. The program has had no chance to poll
// another queue.
TEST_F(RcOrder, APollThatFoundACompletionIsNoChanceToPollAnotherQueue) {
    b_sends();
    b_says();
    ask(pair, 0);
    b_sends();
    b_says();
    EXPECT_EQ(poll_receives(), 200U);
    EXPECT_FALSE(pair.a.port.next_completion(pair.a.receives));
    EXPECT_EQ(poll_receives(), 0U);
    EXPECT_EQ(poll_sends(), pair.posted);
    EXPECT_EQ(poll_receives(), 201U);
}

// RC-38: what the program saw before, it does not wait for.
TEST_F(RcOrder, AMessageThatCameAfterAnEmptyPollIsSeenAtOnce) {
    ask(pair, 0);
    b_says();
    EXPECT_EQ(poll_receives(), 0U);  // the Read is done, and the program may know that
    b_sends();
    b_says();
    EXPECT_EQ(poll_receives(), 200U);
    ask(pair, 0);
    b_says();
    EXPECT_EQ(poll_sends(), 1U);
    EXPECT_EQ(poll_sends(), 2U);
    b_sends();
    b_says();
    EXPECT_EQ(poll_receives(), 201U);
}

// RC-38: for the program the message comes after the poll that did not show it.
TEST_F(RcOrder, AProgramThatSleepsIsWokenForTheMessageThatItDidNotSee) {
    const auto arrives = [this](bool asked) {
        if (asked) pair.a.port.request_notify(pair.a.receives, false);
        ask(pair, 0);
        b_sends();
        b_says();
    };
    arrives(true);
    EXPECT_EQ(notices(), 1U);
    pair.a.port.request_notify(pair.a.receives, false);  // as a program does before its last look
    EXPECT_EQ(poll_receives(), 0U);
    EXPECT_EQ(notices(), 1U);
    EXPECT_EQ(poll_receives(), 200U);
    EXPECT_EQ(notices(), 0U);

    arrives(false);
    EXPECT_EQ(poll_receives(), 0U);
    EXPECT_EQ(notices(), 0U);
    pair.a.port.request_notify(pair.a.receives, false);
    EXPECT_EQ(notices(), 1U);
    EXPECT_EQ(poll_receives(), 201U);

    arrives(false);
    pair.a.port.request_notify(pair.a.receives, true);  // the message is not solicited
    EXPECT_EQ(poll_receives(), 0U);
    EXPECT_EQ(notices(), 0U);
}

// RC-38: it does not matter that requests and answers take turns.
TEST_F(RcOrder, AMessageLeavesAfterTheDataThatWasAskedForBefore) {
    for (int i = 0; i < 2; ++i) {
        pair.read(600);
        pair.give(pair.a_leaving());
        b_sends();
        EXPECT_EQ(b_says(),
                  (Names{"READ Resp First", "READ Resp Middle", "READ Resp Last", "SEND Only"}));
        pair.give(pair.a_leaving());
        (void)pair.b.leaving(pair.now);
    }
}

// RC-38: a stream of Reads holds back no message for ever.
TEST_F(RcOrder, AMessageWaitsForNoDataThatWasAskedForLater) {
    pair.read(300);
    pair.give(pair.a_leaving());
    b_sends();
    pair.read(600);
    pair.give(pair.a_leaving());
    const Names said = b_says();
    ASSERT_EQ(said.size(), 6U);
    EXPECT_EQ(said[0], "READ Resp First");
    EXPECT_EQ(said[1], "READ Resp Last");
    EXPECT_NE(said.back(), "SEND Only");
}

// RC-38: of any queue pair.
TEST_F(RcOrder, AMessageLeavesOnceTheAnswerOfAnotherQueuePairHasLeft) {
    other_owes_an_answer();
    b_sends();
    EXPECT_EQ(b_says(),
              (Names{"READ Resp First", "READ Resp Middle", "READ Resp Last", "SEND Only"}));
}

// RC-38: no message waits for the answers of a queue pair that has ended.
TEST_F(RcOrder, AMessageGoesOnIfTheQueuePairOfTheAnswersEnds) {
    const std::uint32_t other = other_owes_an_answer();
    b_sends();
    // The queue pairs take turns, and still the message is the last packet.
    std::vector<PacketBytes> first;
    first.push_back(pair.b.poll(pair.now).value());
    EXPECT_TRUE(name(first[0]).starts_with("READ Resp First"));
    ASSERT_TRUE(pair.b.port.remove_queue_pair(other));
    EXPECT_EQ(b_says(), Names{"SEND Only"});
}

// RC-40 is for an ACK that may be held. Another one leaves in its turn.
TEST_F(RcOrder, AnAckThatIsNeverHeldMayLeaveAfterTheMessage) {
    pair.receives(2, 64);
    for (int kind = 0; kind < 2; ++kind) {
        ask(pair, kind);
        pair.send(8);
        pair.give(pair.a_leaving());
        const auto answer = pair.b.poll(pair.now);
        ASSERT_TRUE(answer);
        give_a({*answer});
        b_sends();
        EXPECT_EQ(b_says(), (Names{"SEND Only", "ACK"})) << kind;
        pair.give(pair.a_leaving());
    }
}

class RcOrderOfAcks : public RcOrder {
protected:
    RcOrderOfAcks() : RcOrder(ordering(order_delay)) {
        pair.receives(16, 64);
        // The program of `b` answers in time, so its acknowledgements wait for its answers.
        pair.send(8);
        pair.give(pair.a_leaving());
        b_says();
        b_sends();
        b_says();
        pair.give(pair.a_leaving());
        pair.a.sent();
        pair.a.received();
    }

    /// `a` reads and sends. The answer of the Read is lost, and a message of `b` arrives.
    void message_overtakes_a_lost_answer() {
        pair.read(8);
        pair.send(8);
        pair.give(pair.a_leaving());
        (void)pair.b.leaving(pair.now);
        b_sends();
        b_says();
    }
};

// RC-38: a program that sees the message may rely on its Write.
TEST_F(RcOrderOfAcks, TheAckOfAWriteLeavesBeforeTheMessage) {
    pair.post(Request::write, 8);
    pair.give(pair.a_leaving());
    EXPECT_EQ(b_says(), Names{});
    b_sends();
    EXPECT_EQ(b_says(), (Names{"ACK", "SEND Only"}));
}

// RC-38: with a Read behind it, the ACK of a Write names less than all that was executed.
TEST_F(RcOrderOfAcks, TheMessageWaitsNoLongerThanForTheAckOfTheWrite) {
    pair.post(Request::write, 8);
    pair.read(8);
    pair.give(pair.a_leaving());
    b_sends();
    EXPECT_EQ(b_says(), (Names{"ACK", "READ Resp Only", "SEND Only"}));
}

// RC-38: only the ACK on which a program may rely leaves early.
TEST_F(RcOrderOfAcks, AfterAnAckThatLeftEarlyTheNextOneWaits) {
    pair.post(Request::write, 8);
    pair.give(pair.a_leaving());
    b_sends();
    EXPECT_EQ(b_says(), (Names{"ACK", "SEND Only"}));
    pair.give(pair.a_leaving());
    pair.send(8);
    pair.give(pair.a_leaving());
    EXPECT_EQ(b_says(), Names{});
}

// RC-37, RC-38: nothing relies on the completion of a Send, and nobody sees a Write in a
// completion.
TEST_F(RcOrderOfAcks, OtherAcksWaitAsBefore) {
    pair.send(8);
    pair.give(pair.a_leaving());
    b_sends();
    EXPECT_EQ(b_says(), (Names{"SEND Only", "ACK"}));
    pair.give(pair.a_leaving());
    (void)pair.b.leaving(pair.now);
    pair.post(Request::write, 8);
    pair.give(pair.a_leaving());
    b_sends(Request::write);
    EXPECT_EQ(b_says(), (Names{"WRITE Only", "ACK"}));
}

// RC-40: the ACK of a later request says that the answer of a Read is lost. It leaves before the
// message.
TEST_F(RcOrderOfAcks, TheAckThatRevealsALostAnswerLeavesBeforeTheMessage) {
    pair.read(8);
    pair.send(8);
    pair.give(pair.a_leaving());
    EXPECT_EQ(b_says(), Names{"READ Resp Only"});
    b_sends();
    EXPECT_EQ(b_says(), (Names{"ACK", "SEND Only"}));
}

// RC-40
TEST_F(RcOrderOfAcks, AMessageWaitsForAReadWhoseAnswerIsLost) {
    const std::uint64_t read = pair.read(8);
    pair.send(8);
    pair.give(pair.a_leaving());
    EXPECT_EQ(names(pair.b.leaving(pair.now)).size(), 1U);  // lost
    b_sends();
    EXPECT_EQ(b_says(), (Names{"ACK", "SEND Only"}));
    EXPECT_EQ(pair.a.received().size(), 0U);
    EXPECT_EQ(pair.a.sent().size(), 0U);
    // The Read is asked for again, and then the message is there.
    pair.give(pair.a_leaving());
    b_says();
    EXPECT_EQ(poll_receives(), 0U);
    EXPECT_EQ(poll_sends(), read);
    EXPECT_EQ(poll_receives(), 201U);
}

// RC-40: a second lost packet does not mislead a requester that knows that its path loses packets.
TEST_F(RcOrderOfAcks, OnAPathThatLosesPacketsAMessageWaitsForEachReadThatIsOutstanding) {
    message_overtakes_a_lost_answer();
    pair.give(pair.a_leaving());
    b_says();
    EXPECT_EQ(pair.a.sent().size(), 2U);
    EXPECT_EQ(pair.a.received().size(), 1U);

    pair.read(8);
    pair.give(pair.a_leaving());
    (void)pair.b.leaving(pair.now);
    b_sends();
    b_says();
    EXPECT_EQ(pair.a.received().size(), 0U);
    // For a limited time only.
    pair.pass(message_hold - Duration::nanoseconds(1));
    EXPECT_EQ(pair.a.received().size(), 0U);
    pair.pass(Duration::nanoseconds(1));
    EXPECT_EQ(pair.a.received().size(), 1U);
}

// RC-40
TEST_F(RcOrderOfAcks, APathCountsAsGoodAfter1024Answers) {
    message_overtakes_a_lost_answer();
    pair.give(pair.a_leaving());
    b_says();
    const auto read = [this] {
        pair.read(8);
        pair.give(pair.a_leaving());
        return pair.b.leaving(pair.now);
    };
    for (int answers = 1; answers < 1023; ++answers) {
        give_a(read());
        ASSERT_GT(pair.a.sent().size(), 0U);
    }
    pair.a.received();
    // A message overtakes the last of these answers, which is only late.
    const auto late = read();
    b_sends();
    b_says();
    EXPECT_EQ(pair.a.received().size(), 0U);
    give_a(late);
    EXPECT_EQ(pair.a.sent().size(), 1U);
    EXPECT_EQ(pair.a.received().size(), 1U);
    read();
    b_sends();
    b_says();
    EXPECT_EQ(pair.a.received().size(), 1U);
}

// RC-40: a request that waits for a receive request of the peer holds back no message: the peer may
// wait for the answer to this message.
TEST_F(RcOrderOfAcks, NoMessageWaitsWhileThePeerHasNoReceiveRequest) {
    message_overtakes_a_lost_answer();
    pair.give(pair.a_leaving());
    b_says();
    pair.a.sent();
    pair.a.received();
    for (int i = 0; i < 16; ++i) pair.send(8);
    pair.read(8);
    for (int i = 0; i < 3; ++i) {
        pair.give(pair.a_leaving());
        give_a(pair.b.leaving(pair.now));
        pair.pass(order_delay);
    }
    b_sends();
    give_a(pair.b.leaving(pair.now));
    pair.give(pair.a_leaving());
    give_a(pair.b.leaving(pair.now));
    EXPECT_EQ(pair.a.counters().rnr_waits, 4U);
    EXPECT_EQ(pair.a.received().size(), 1U);
}

// RC-40: messages that wait are completed before all is flushed.
TEST_F(RcOrderOfAcks, AQueuePairThatFailsKeepsTheMessagesThatItReceived) {
    message_overtakes_a_lost_answer();
    pair.a.modify({.state = QueuePairState::error});
    const auto received = pair.a.received();
    ASSERT_GT(received.size(), 1U);
    EXPECT_EQ(received[0].status, CompletionStatus::success);
    EXPECT_EQ(received[1].status, CompletionStatus::flushed);
}

// RC-40
TEST_F(RcOrderOfAcks, AQueuePairThatIsResetForgetsTheMessagesThatWait) {
    message_overtakes_a_lost_answer();
    pair.a.modify({.state = QueuePairState::reset});
    pair.connect(pair.a, 0);
    pair.pass(message_hold);
    EXPECT_EQ(pair.a.received().size(), 0U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
