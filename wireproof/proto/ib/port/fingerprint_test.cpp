// Two histories after which the engine behaves differently have different fingerprints: the
// fingerprint covers all state on which an engine decides.
#include <gtest/gtest.h>

#include <functional>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using History = std::function<void(RcPair&)>;

Fingerprint::Value fingerprint(const End& end, Instant now) {
    Fingerprint sink;
    end.port.fingerprint(now, sink);
    return sink.value();
}

/// The fingerprint of the end that answers.
Fingerprint::Value after(const History& history) {
    RcPair pair;
    history(pair);
    return fingerprint(pair.b, pair.now);
}

void expect_apart(const History& one, const History& other) {
    EXPECT_EQ(after(one), after(one));
    EXPECT_NE(after(one), after(other));
}

/// One request of `a` reaches `b`. The answers of `b` leave or wait.
History asked(WorkTerms terms, std::size_t length, bool answered) {
    return [=](RcPair& pair) {
        const std::uint32_t second = pair.b.port.memory()
                                         .add_region({.domain = domain,
                                                      .address = End::base,
                                                      .memory = pair.b.memory,
                                                      .access = {true, true, true, true, false}})
                                         .value();
        WorkTerms asks = terms;
        asks.remote_key = terms.remote_key == 0 ? pair.b.key : second;
        EXPECT_EQ(pair.a.post(asks, pair.a.piece(0, length)), PostStatus::accepted);
        pair.give(pair.a_leaving());
        if (answered) pair.b.leaving(pair.now);
    };
}

constexpr std::uint64_t place = End::base + 0x4000;
const WorkTerms read{.request = Request::read, .remote_address = place};
const WorkTerms read_elsewhere{.request = Request::read, .remote_address = place + 8};
const WorkTerms read_by_second_key{
    .request = Request::read, .remote_address = place, .remote_key = 1};
const WorkTerms add{.request = Request::fetch_add, .remote_address = place};
const WorkTerms add_elsewhere{.request = Request::fetch_add, .remote_address = place + 8};
const WorkTerms add_by_second_key{
    .request = Request::fetch_add, .remote_address = place, .remote_key = 1};

TEST(IbFingerprint, SeesWhatAReadIsAnsweredWithNowAndAgain) {
    for (const bool answered : {false, true}) {
        expect_apart(asked(read, 10, answered), asked(read_by_second_key, 10, answered));
        expect_apart(asked(read, 10, answered), asked(read_elsewhere, 10, answered));
        expect_apart(asked(read, 10, answered), asked(read, 20, answered));
    }
}

TEST(IbFingerprint, SeesWhichAtomicIsAnsweredAgain) {
    expect_apart(asked(add, 8, true), asked(add_elsewhere, 8, true));
    expect_apart(asked(add, 8, true), asked(add_by_second_key, 8, true));
}

TEST(IbFingerprint, SeesThePacketThatADueAckWillName) {
    const auto history = [](std::size_t repeated) {
        return [repeated](RcPair& pair) {
            pair.receives(2);
            pair.send(10);
            pair.read(10);
            pair.send(10);
            const auto packets = pair.a_leaving();
            pair.give(packets);
            pair.b.leaving(pair.now);
            pair.give({packets[repeated]});
        };
    };
    expect_apart(history(0), history(2));
}

TEST(IbFingerprint, SeesWhetherAReadHasBeenForgotten) {
    const auto history = [](bool forgets) {
        return [forgets](RcPair& pair) {
            pair.read(10);
            pair.read(10);
            pair.give(pair.a_leaving());
            pair.b.leaving(pair.now);
            pair.b.modify({.state = QueuePairState::sqd});
            if (forgets) pair.b.modify({.max_dest_rd_atomic = std::uint8_t{0}});
            if (forgets) pair.b.modify({.max_dest_rd_atomic = std::uint8_t{4}});
        };
    };
    expect_apart(history(false), history(true));
}

TEST(IbFingerprint, SeesWhatReceiveRequestsAskFor) {
    const auto history = [](std::uint64_t id, std::size_t offset, std::size_t length) {
        return [=](RcPair& pair) {
            EXPECT_EQ(pair.b.receive(id, pair.b.piece(offset, length)), PostStatus::accepted);
        };
    };
    expect_apart(history(1, 0, 10), history(2, 0, 10));
    expect_apart(history(1, 0, 10), history(1, 8, 10));
    expect_apart(history(1, 0, 10), history(1, 0, 20));
}

TEST(IbFingerprint, SeesWhatSharedReceiveRequestsAskFor) {
    const auto of = [](std::uint64_t id) {
        PairSettings settings = rc_settings();
        settings.shared_receives = 4;
        RcPair pair(settings);
        EXPECT_EQ(pair.b.receive(id, pair.b.piece(0, 1000)), PostStatus::accepted);
        const auto waiting = fingerprint(pair.b, pair.now);
        pair.send(600);
        const auto packets = pair.a_leaving();
        pair.give({packets[0]});  // now the queue pair has taken it
        return std::pair(waiting, fingerprint(pair.b, pair.now));
    };
    EXPECT_EQ(of(1), of(1));
    EXPECT_NE(of(1).first, of(2).first);
    EXPECT_NE(of(1).second, of(2).second);
}

TEST(IbFingerprint, SeesWhatThePeerMayDo) {
    const History all = [](RcPair&) {};
    expect_apart(all, [](RcPair& pair) {
        pair.b.modify({.access = Access{.remote_write = true, .remote_read = true}});
    });
    const auto lent = [](std::size_t length, Access access) {
        return [=](RcPair& pair) {
            const Bytes memory = Bytes(pair.b.memory).first(length);
            const MemoryTable::Region region{
                .domain = domain, .address = 64, .memory = memory, .access = access};
            EXPECT_TRUE(pair.b.port.memory().add_region(region));
        };
    };
    expect_apart(lent(8, {}), lent(16, {}));
    expect_apart(lent(8, {}), lent(8, {.remote_read = true}));
}

TEST(IbFingerprint, SeesWhichCompletionsAndEventsWait) {
    const auto history = [](bool polled) {
        return [polled](RcPair& pair) {
            pair.receives(1);
            pair.send(10);
            pair.give(pair.a_leaving());
            pair.b.leaving(pair.now);
            if (polled) pair.b.received();
        };
    };
    expect_apart(history(true), history(false));
    const auto refused = [](bool told) {
        return [told](RcPair& pair) {
            pair.read(10);
            PacketBytes packet = pair.a_leaving().at(0);
            packet[Bth::size + 8] ^= std::byte{1};  // a byte of the key
            pair.give({packet});
            if (told) pair.b.events();
        };
    };
    expect_apart(refused(true), refused(false));
}

// Answers and requests take turns. In both histories an answer left; in one, the queue pair was
// asked once more in vain, so it is again the turn of an answer.
TEST(IbFingerprint, SeesWhoseTurnItIs) {
    const auto history = [](bool asked_for_more) {
        return [asked_for_more](RcPair& pair) {
            pair.receives(1);
            pair.send(10);
            pair.give(pair.a_leaving());
            EXPECT_TRUE(pair.b.poll(pair.now));
            if (asked_for_more) {
                EXPECT_FALSE(pair.b.poll(pair.now));
            }
        };
    };
    expect_apart(history(false), history(true));
    const auto leaves_first = [&](bool asked_for_more) {
        RcPair pair;
        history(asked_for_more)(pair);
        EXPECT_EQ(pair.b.post({.id = 1}, pair.b.piece(0, 10)), PostStatus::accepted);
        pair.read(10);
        pair.give(pair.a_leaving());
        return name(pair.b.leaving(pair.now).at(0));
    };
    EXPECT_EQ(leaves_first(false), "SEND Only fffffc");
    EXPECT_EQ(leaves_first(true), "READ Resp Only ffffff");
}

Fingerprint::Value of_adapter(const Adapter& adapter) {
    Fingerprint sink;
    adapter.fingerprint(sink);
    return sink.value();
}

const Completion read_done{.id = 1, .kind = CompletionKind::read};
const Completion message{.id = 2, .kind = CompletionKind::receive};

// RC-38: a program may poll the message only after the Read, or at once.
TEST(IbFingerprint, TellsWhatCameBeforeAMessageInAnotherQueue) {
    const auto of = [](bool read_first) {
        Adapter adapter{PeerWindows::Config{}};
        const CompletionQueueId sends = adapter.add_completion_queue(4);
        const CompletionQueueId receives = adapter.add_completion_queue(4);
        if (read_first) adapter.complete(sends, read_done);
        adapter.complete(receives, message);
        if (!read_first) adapter.complete(sends, read_done);
        const Fingerprint::Value value = of_adapter(adapter);
        EXPECT_EQ(adapter.next_completion(receives).has_value(), !read_first);
        return value;
    };
    EXPECT_EQ(of(true), of(true));
    EXPECT_NE(of(true), of(false));
}

TEST(IbFingerprint, HasNothingOfAQueueThatWasRemoved) {
    const auto of = [](int waiting) {
        Adapter adapter{PeerWindows::Config{}};
        const CompletionQueueId sends = adapter.add_completion_queue(4);
        const CompletionQueueId receives = adapter.add_completion_queue(4);
        for (int i = 0; i < waiting; ++i) adapter.complete(sends, read_done);
        adapter.complete(receives, message);
        adapter.remove(sends);
        return of_adapter(adapter);
    };
    EXPECT_EQ(of(0), of(3));
}

// RC-40
TEST(IbFingerprint, TellsWhichMessagesWaitForWhatAndHowLong) {
    const auto of = [](std::uint64_t id, bool solicited, std::uint32_t until, Duration wait) {
        MessageHold hold;
        hold.begin(Psn(until), Instant() + wait);
        EXPECT_TRUE(hold.take({.id = id}, solicited));
        hold.end();
        Fingerprint sink;
        hold.fingerprint(Instant(), sink);
        return sink.value();
    };
    const Duration wait = Duration::milliseconds(1);
    EXPECT_EQ(of(1, false, 5, wait), of(1, false, 5, wait));
    EXPECT_NE(of(1, false, 5, wait), of(2, false, 5, wait));
    EXPECT_NE(of(1, false, 5, wait), of(1, true, 5, wait));
    EXPECT_NE(of(1, false, 5, wait), of(1, false, 6, wait));
    EXPECT_NE(of(1, false, 5, wait), of(1, false, 5, wait * 2));
}

// RC-38
TEST(IbFingerprint, TellsWhichQueuePairsWaitForAnAnswerToLeave) {
    const auto of = [](std::uint32_t queue_pair, bool woken) {
        OwedAnswers owed;
        const OwedAnswers::Number answer = owed.owe({}, 1, false);
        owed.wait(queue_pair);
        if (woken) owed.settle(answer);
        Fingerprint sink;
        owed.fingerprint(sink);
        return sink.value();
    };
    for (const bool woken : {false, true}) {
        EXPECT_EQ(of(2, woken), of(2, woken));
        EXPECT_NE(of(2, woken), of(3, woken));
    }
}

/// The fingerprint of the end that asks.
TEST(IbFingerprint, SeesWhatIsAskedFor) {
    const auto of = [](const WorkTerms& terms, std::vector<Piece> pieces) {
        RcPair pair;
        for (Piece& piece : pieces) piece.key = pair.a.key;
        EXPECT_EQ(pair.a.port.post_send(pair.a.number, {.terms = terms, .pieces = pieces}),
                  PostStatus::accepted);
        return fingerprint(pair.a, pair.now);
    };
    const Piece piece{End::base, 16, 0};
    const WorkTerms send{};
    EXPECT_EQ(of(send, {piece}), of(send, {piece}));
    EXPECT_NE(of(send, {piece}), of(send, {Piece{End::base + 8, 16, 0}}));
    EXPECT_NE(of(send, {}), of({.fence = true}, {}));
    WorkTerms bind{.request = Request::bind_window};
    bind.bind.key_byte = 1;
    WorkTerms other = bind;
    other.bind.key_byte = 2;
    EXPECT_NE(of(bind, {}), of(other, {}));
}

// RC-10: a Read that was asked for again fails one timeout earlier than one that was not.
TEST(IbFingerprint, SeesHowOftenAReadMayStillBeAskedForAgain) {
    const auto of = [](bool asked_again) {
        RcPair pair({.retry_count = std::uint8_t{1}});
        pair.read(10);
        EXPECT_EQ(names(pair.a_leaving()), Names{"READ Request fffffe"});
        if (asked_again) {
            pair.pass(rto);
            EXPECT_EQ(names(pair.a_leaving()), Names{"READ Request fffffe"});
        }
        const Fingerprint::Value value = fingerprint(pair.a, pair.now);
        pair.pass(rto);
        EXPECT_EQ(statuses(pair.a.sent()),
                  asked_again ? Statuses{CompletionStatus::retry_exceeded} : Statuses{});
        return value;
    };
    EXPECT_EQ(of(false), of(false));
    EXPECT_EQ(of(true), of(true));
    EXPECT_NE(of(false), of(true));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
