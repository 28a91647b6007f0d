// A port with several queue pairs: delivery of packets, turns, copies; and the states of queue
// pairs.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/port/port_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;

// UC-25
TEST(Port, TakesPacketsOfAConnectionFromItsPeerOnly) {
    Pair pair;
    pair.receives(1);
    pair.send(10);
    const auto packet = pair.a.leaving(pair.now).at(0);
    EXPECT_EQ(pair.b.give(pair.now, packet, PeerId{4}), foreign);
    EXPECT_EQ(pair.b.port.counters().foreign_source, 1U);
    EXPECT_TRUE(pair.b.received().empty());
    EXPECT_EQ(pair.b.give(pair.now, packet), accepted);
}

TEST(Port, CountsWhatNoQueuePairSawByItsReason) {
    Pair pair;
    pair.send(10);
    const auto good = pair.a.leaving(pair.now).at(0);
    PacketBytes packet = good;
    packet[7] = std::byte{0x55};
    EXPECT_EQ(pair.b.give(pair.now, packet), foreign);
    EXPECT_EQ(pair.b.port.counters().unknown_queue_pair, 1U);
    packet = good;
    packet[3] = std::byte{0xFE};
    EXPECT_EQ(pair.b.give(pair.now, packet), foreign);
    EXPECT_EQ(pair.b.port.counters().foreign_partition, 1U);
    EXPECT_EQ(pair.b.give(pair.now, PacketBytes(11)), malformed);
    EXPECT_EQ(pair.b.port.counters().malformed[0], 1U);
    const RxFrame damaged{.bytes = good, .from = other_end, .integrity = Integrity::damaged};
    EXPECT_EQ(pair.b.port.on_frame(pair.now, damaged), corrupt);
    EXPECT_EQ(pair.b.port.counters().damaged, 1U);
    EXPECT_EQ(pair.b.port.counters().received_as(foreign), 2U);
}

TEST(Port, QueuePairsTakeTurns) {
    Pair pair;
    QueuePairConfig config = pair.a.port.queue_pair(pair.a.number)->config();
    std::vector<std::uint32_t> numbers = {pair.a.number};
    for (int i = 0; i < 2; ++i) {
        config.number = 0;
        const auto number = pair.a.port.add_queue_pair(config).value();
        EXPECT_EQ(pair.a.port.modify(number, to_init()), ModifyStatus::done);
        QueuePairChange to_rtr = pair.to_rtr(0);
        to_rtr.address = PeerId{5};
        EXPECT_EQ(pair.a.port.modify(number, to_rtr), ModifyStatus::done);
        EXPECT_EQ(pair.a.port.modify(number, pair.to_rts(0)), ModifyStatus::done);
        numbers.push_back(number);
    }
    const Piece piece = pair.a.piece(0, 600);
    for (const std::uint32_t number : numbers) {
        EXPECT_EQ(pair.a.port.post_send(number, {.terms = {}, .pieces = std::span(&piece, 1)}),
                  PostStatus::accepted);
    }
    // Three queue pairs with three packets each.
    std::vector<std::string> order;
    for (const auto& packet : pair.a.leaving(pair.now)) order.push_back(name(packet));
    ASSERT_EQ(order.size(), 9U);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(order[i], order[i / 3 * 3]) << i;

    for (const std::uint32_t number : numbers) {
        (void)pair.a.port.post_send(number, {.terms = {}, .pieces = std::span(&piece, 1)});
    }
    PacketBytes room(packet_max(4096));
    TxFrame out;
    std::size_t to_five = 0;
    for (;; ++to_five) {
        out.open(room, {.frame_max = room.size()});
        if (!pair.a.port.poll_transmit_to(pair.now, PeerId{5}, out)) break;
    }
    EXPECT_EQ(to_five, 6U);
    EXPECT_EQ(pair.a.leaving(pair.now).size(), 3U);
}

TEST(Port, CountsTheUnansweredPacketsOfAFarPeer) {
    Pair pair({.transport = Transport::rc, .peer_window = {.start = 20}});
    Port& port = pair.a.port;
    const std::uint32_t number = pair.a.number;
    EXPECT_EQ(port.packets_under_way(Instant(), number), 0U);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(pair.a.post({}, pair.a.piece(0, 8)), PostStatus::accepted);
    }
    EXPECT_EQ(pair.a.leaving(pair.now).size(), 3U);
    EXPECT_EQ(port.packets_under_way(Instant(), number), 3U);
    EXPECT_EQ(port.packets_under_way(Instant(), number + 1), 0U) << "it does not exist";
    port.set_near(port.queue_pair(number)->attributes().address, true);
    EXPECT_EQ(port.packets_under_way(Instant(), number), 0U);
}

TEST(Port, GivesNoPacketOfAConnectionToACallerThatAsksForDatagrams) {
    Pair pair;
    ASSERT_EQ(pair.a.post({}, pair.a.piece(0, 8)), PostStatus::accepted);
    PacketBytes room(packet_max(4096));
    TxFrame out;
    out.open(room, {.frame_max = room.size()});
    std::vector<PeerId> peers;
    pair.a.port.ready_peers(peers);
    ASSERT_EQ(peers.size(), 1U);
    EXPECT_FALSE(pair.a.port.poll_transmit_to(pair.now, peers[0], out, Port::PacketsOf::datagrams));
    EXPECT_TRUE(pair.a.port.poll_transmit_to(pair.now, peers[0], out));
}

TEST(Port, ACopyIsAnotherWorld) {
    Pair pair;
    pair.receives(2);
    pair.send(600);
    const auto packets = pair.a.leaving(pair.now);
    pair.b.give(pair.now, packets[0]);
    Port copy = pair.b.port;
    std::vector<std::byte> memory(65536);
    copy.memory().put_memory(pair.b.key, memory);
    const std::vector<std::byte> before = pair.b.memory;
    for (const std::size_t i : {1U, 2U}) {
        EXPECT_EQ(
            copy.on_frame(pair.now,
                          {.bytes = packets[i], .from = other_end, .integrity = Integrity::intact}),
            accepted);
    }
    EXPECT_TRUE(copy.poll(pair.b.receives));
    EXPECT_EQ(pair.b.memory, before);
    EXPECT_TRUE(pair.b.received().empty());
    EXPECT_EQ(pair.give({packets[1], packets[2]}), (std::vector{accepted, accepted}));
    EXPECT_EQ(pair.b.received().size(), 1U);
    Fingerprint one;
    Fingerprint two;
    pair.b.port.fingerprint(pair.now, one);
    copy.fingerprint(pair.now, two);
    EXPECT_EQ(one.value(), two.value());
}

TEST(Port, NumbersAreTakenOnceAndLimitsAreChecked) {
    Port port({});
    const CompletionQueueId queue = port.add_completion_queue(4);
    const QueuePairConfig config{.transport = Transport::uc,
                                 .number = 1,
                                 .send_completions = queue,
                                 .receive_completions = queue};
    EXPECT_FALSE(port.is_used(queue));
    EXPECT_TRUE(port.add_queue_pair(config));
    EXPECT_FALSE(port.add_queue_pair(config));
    EXPECT_EQ(port.queue_pairs(), 1U);
    EXPECT_TRUE(port.is_used(queue));
    EXPECT_FALSE(port.remove(queue));
    QueuePairConfig wrong = config;
    wrong.number = 0x1000000;
    EXPECT_FALSE(port.add_queue_pair(wrong));
    wrong.number = 0;
    wrong.limits.pieces = 33;
    EXPECT_FALSE(port.add_queue_pair(wrong));
    wrong.limits.pieces = 1;
    wrong.transport = Transport::rd;
    EXPECT_FALSE(port.add_queue_pair(wrong));
    EXPECT_TRUE(port.remove_queue_pair(1));
    EXPECT_FALSE(port.remove_queue_pair(1));
    EXPECT_TRUE(port.remove(queue));
}

// UC-24: what each state receives and sends.
TEST(Port, StatesReceiveAndSendAsTheyShould) {
    Pair pair;
    pair.receives(2);
    pair.send(10);
    const auto packet = pair.a.leaving(pair.now).at(0);
    pair.b.modify({.state = QueuePairState::reset});
    EXPECT_EQ(pair.b.receive(1, pair.b.piece(0, 100)), PostStatus::wrong_state);
    EXPECT_EQ(pair.b.give(pair.now, packet), refused);
    pair.b.modify(to_init());
    EXPECT_EQ(pair.b.receive(1, pair.b.piece(0, 100)), PostStatus::accepted);
    EXPECT_EQ(pair.b.post({}, pair.b.piece(0, 1)), PostStatus::wrong_state);
    EXPECT_EQ(pair.b.give(pair.now, packet), refused);
    pair.b.modify(pair.to_rtr(1));
    EXPECT_EQ(pair.b.give(pair.now, packet), accepted);
    EXPECT_EQ(pair.b.events(), (std::vector{PortEvent{PortEvent::What::established, 0x101}}));
    EXPECT_EQ(pair.b.post({}, pair.b.piece(0, 1)), PostStatus::wrong_state);
    pair.b.modify(pair.to_rts(1));
    EXPECT_EQ(pair.b.post({}, pair.b.piece(0, 1)), PostStatus::accepted);
    EXPECT_EQ(ids(pair.b.received()), std::vector<std::uint64_t>{1});
    EXPECT_EQ(pair.b.receive(2, pair.b.piece(0, 100)), PostStatus::accepted);
    pair.b.modify({.state = QueuePairState::error});
    EXPECT_EQ(statuses(pair.b.sent()), Statuses{CompletionStatus::flushed});
    EXPECT_EQ(statuses(pair.b.received()), Statuses{CompletionStatus::flushed});
    EXPECT_EQ(pair.b.post({}, pair.b.piece(0, 1)), PostStatus::accepted);
    EXPECT_EQ(pair.b.receive(3, pair.b.piece(0, 100)), PostStatus::accepted);
    EXPECT_EQ(statuses(pair.b.sent()), Statuses{CompletionStatus::flushed});
    EXPECT_EQ(statuses(pair.b.received()), Statuses{CompletionStatus::flushed});
    EXPECT_EQ(pair.b.give(pair.now, packet), refused);
    EXPECT_EQ(pair.b.counters().wrong_state, 3U);
}

// A late packet of an earlier connection with the same number must not establish this one. A side
// that waits for the RTU must continue to repeat its reply.
TEST(Port, OnlyAPacketInSequenceEstablishes) {
    for (const Transport transport : {Transport::uc, Transport::rc}) {
        PairSettings settings;
        settings.transport = transport;
        Pair pair(settings);
        pair.receives(4);
        for (int i = 0; i < 3; ++i) pair.send(10);
        const auto packets = pair.a.leaving(pair.now);
        ASSERT_EQ(packets.size(), 3U);
        const auto begin_with = [&](std::uint32_t psn) {
            pair.b.modify({.state = QueuePairState::reset});
            pair.b.modify(to_init());
            QueuePairChange ready = pair.to_rtr(1);
            ready.receive_psn = Psn(psn);
            pair.b.modify(ready);
        };
        const std::vector<PortEvent> established{{PortEvent::What::established, 0x101}};
        begin_with(0xFFFFFF);  // the packets are FFFFFE, FFFFFF and 000000
        pair.b.give(pair.now, packets[0]);
        EXPECT_TRUE(pair.b.events().empty()) << "a packet from before";
        pair.b.give(pair.now, packets[2]);
        EXPECT_TRUE(pair.b.events().empty()) << "a packet behind a gap";
        begin_with(0xFFFFFF);
        pair.b.give(pair.now, packets[0]);
        pair.b.give(pair.now, packets[1]);
        EXPECT_EQ(pair.b.events(), established);
        pair.b.give(pair.now, packets[2]);
        EXPECT_TRUE(pair.b.events().empty()) << "told once";
    }
}

TEST(Port, ChosenNumbersGoOnFromTheFirstAndFromTwoAfterTheLast) {
    Port port({.first_number = 0xFFFFFD});
    const CompletionQueueId queue = port.add_completion_queue(4);
    const auto added = [&](std::uint32_t number = 0) {
        return port
            .add_queue_pair({.transport = Transport::uc,
                             .number = number,
                             .send_completions = queue,
                             .receive_completions = queue})
            .value();
    };
    added(3);
    EXPECT_EQ(added(), 0xFFFFFDU);
    EXPECT_EQ(added(), 0xFFFFFEU);
    EXPECT_EQ(added(), 2U);
    EXPECT_EQ(added(), 4U);
    EXPECT_TRUE(port.remove_queue_pair(4));
    EXPECT_EQ(added(), 5U) << "a number is not used again at once";
}

// UC-23
TEST(Port, ABindLeavesNoPacketAndItsNewKeyAloneWorks) {
    Pair pair;
    const std::uint32_t before = pair.b.port.memory().add_window(domain, WindowType::type_2a);
    WorkTerms bind{.id = 5, .request = Request::bind_window};
    bind.bind = {.window = before,
                 .key_byte = 0x5A,
                 .region = pair.b.key,
                 .address = End::base + 0x4000,
                 .length = 100,
                 .access = {.remote_write = true}};
    EXPECT_EQ(pair.b.post(bind, pair.b.piece(0, 0)), PostStatus::accepted);
    EXPECT_TRUE(pair.b.leaving(pair.now).empty());
    EXPECT_EQ(pair.b.sent(),
              (std::vector{
                  Completion{.id = 5, .kind = CompletionKind::bind_window, .queue_pair = 0x101}}));
    const auto write = [&](std::uint32_t key) {
        const WorkTerms terms{
            .request = Request::write, .remote_address = End::base + 0x4000, .remote_key = key};
        EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 100)), PostStatus::accepted);
        return pair.b.give(pair.now, pair.a.leaving(pair.now).at(0));
    };
    const std::uint32_t after = (before & ~0xFFU) | 0x5A;
    EXPECT_EQ(write(before), refused);
    EXPECT_EQ(write(after), accepted);
    WorkTerms invalidate{.request = Request::local_invalidate, .remote_key = after};
    EXPECT_EQ(pair.b.post(invalidate, pair.b.piece(0, 0)), PostStatus::accepted);
    EXPECT_TRUE(pair.b.leaving(pair.now).empty());
    EXPECT_EQ(write(after), refused);
}

TEST(Port, AWindowEndsWithTheQueuePairThatBoundIt) {
    Pair pair;
    MemoryTable& memory = pair.b.port.memory();
    const KeyBearer owner{domain, pair.b.number};
    const auto key = memory
                         .bind({.window = memory.add_window(domain, WindowType::type_2a),
                                .region = pair.b.key,
                                .address = End::base,
                                .length = 8,
                                .access = {.remote_write = true}},
                               owner)
                         .value();
    EXPECT_TRUE(memory.remote({End::base, 8, key}, RemoteRight::write, owner));
    EXPECT_TRUE(pair.b.port.remove_queue_pair(pair.b.number));
    EXPECT_FALSE(memory.remote({End::base, 8, key}, RemoteRight::write, owner));
}

TEST(Port, AFailedBindIsReportedAndStopsTheSendQueue) {
    Pair pair;
    WorkTerms bind{.id = 1, .request = Request::bind_window};
    EXPECT_EQ(pair.a.post(bind, pair.a.piece(0, 0)), PostStatus::accepted);
    pair.posted = 1;
    pair.send(10);
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
    EXPECT_EQ(statuses(pair.a.sent()),
              (Statuses{CompletionStatus::window_bind_error, CompletionStatus::flushed}));
}

TEST(Port, SharedReceivesAreUsedInOrderAndALowLimitIsReported) {
    Pair pair({.shared_receives = 4});
    pair.b.port.shared_receive_queue(*pair.b.shared).limit = 2;
    pair.receives(3);
    for (int i = 0; i < 3; ++i) pair.send(10);
    pair.settle();
    EXPECT_EQ(ids(pair.b.received()), (std::vector<std::uint64_t>{100, 101, 102}));
    EXPECT_EQ(pair.b.events(), (std::vector{PortEvent{PortEvent::What::limit_reached, 0}}));
    EXPECT_EQ(pair.b.port.post_receive(pair.b.number, {}), PostStatus::not_supported);
    EXPECT_FALSE(pair.b.port.remove(*pair.b.shared));
}

TEST(Port, ACompletionQueueThatIsTooSmallIsReported) {
    Port port({});
    const CompletionQueueId queue = port.add_completion_queue(1);
    const auto number = port.add_queue_pair({.transport = Transport::uc,
                                             .send_completions = queue,
                                             .receive_completions = queue})
                            .value();
    EXPECT_EQ(port.modify(number, to_init()), ModifyStatus::done);
    for (int i = 0; i < 3; ++i) (void)port.post_receive(number, {});
    EXPECT_EQ(port.modify(number, {.state = QueuePairState::error}), ModifyStatus::done);
    EXPECT_EQ(port.next_delivery(), (PortEvent{PortEvent::What::overrun, 0}));
    EXPECT_FALSE(port.next_delivery());
}

TEST(Port, AQueuePairWhoseCompletionFindsNoRoomGoesIntoError) {
    for (const Transport transport : {Transport::uc, Transport::rc}) {
        Pair pair({.transport = transport});
        ASSERT_TRUE(pair.b.port.completion_queue(pair.b.receives).resize(1));
        pair.receives(4);
        for (int i = 0; i < 3; ++i) pair.send(10);
        pair.settle();
        EXPECT_EQ(pair.b.state(), QueuePairState::error);
        const PortEvent overrun{PortEvent::What::overrun,
                                static_cast<std::uint32_t>(pair.b.receives)};
        const PortEvent lost{PortEvent::What::completion_lost, pair.b.number};
        EXPECT_EQ(pair.b.events(), (std::vector{overrun, lost}));
        // The completion that had room is kept.
        EXPECT_EQ(ids(pair.b.received()), (std::vector<std::uint64_t>{100}));
        EXPECT_EQ(pair.b.port.post_receive(pair.b.number, {}), PostStatus::accepted);
        EXPECT_EQ(pair.b.received().size(), 1U);
    }
}

TEST(Port, AResetOrRemovedQueuePairTakesItsCompletionsAlong) {
    for (const bool removed : {false, true}) {
        Pair pair({.transport = Transport::rc});
        const auto other = pair.b.port
                               .add_queue_pair({.transport = Transport::uc,
                                                .domain = domain,
                                                .send_completions = pair.b.sends,
                                                .receive_completions = pair.b.receives})
                               .value();
        ASSERT_EQ(pair.b.port.modify(other, test::to_init()), ModifyStatus::done);
        pair.receives(4);
        pair.send(10);
        pair.settle();
        ASSERT_EQ(pair.b.port.post_receive(other, {.id = 77}), PostStatus::accepted);
        ASSERT_EQ(pair.b.port.modify(other, {.state = QueuePairState::error}), ModifyStatus::done);
        ASSERT_EQ(pair.b.port.completion_queue(pair.b.receives).size(), 2U);
        if (removed) {
            EXPECT_TRUE(pair.b.port.remove_queue_pair(pair.b.number));
        } else {
            pair.b.modify({.state = QueuePairState::reset});
        }
        EXPECT_EQ(ids(pair.b.received()), (std::vector<std::uint64_t>{77}));
    }
}

TEST(Port, ReportsThePsnsThatComeNext) {
    for (const Transport transport : {Transport::uc, Transport::rc}) {
        Pair pair({.transport = transport});
        EXPECT_EQ(pair.a.port.psns(pair.a.number), (Psns{Psn(0xFFFFFE), Psn(0xFFFFFC)}));
        pair.receives(2);
        for (int i = 0; i < 3; ++i) pair.send(10);
        pair.settle();
        EXPECT_EQ(pair.a.port.psns(pair.a.number)->send, Psn(1));
        EXPECT_EQ(pair.b.port.psns(pair.b.number)->receive,
                  transport == Transport::uc ? Psn(1) : Psn(0));
    }
    EXPECT_FALSE(Port({}).psns(9));
}

TEST(Port, NamesThePeersThatThereMayBePacketsTo) {
    Port port({});
    const CompletionQueueId queue = port.add_completion_queue(8);
    std::vector<PeerId> peers = {PeerId{9}};
    port.ready_peers(peers);
    EXPECT_TRUE(peers.empty());
    std::vector<std::uint32_t> numbers;
    const auto unconnected = port.add_queue_pair({.transport = Transport::rc,
                                                  .send_completions = queue,
                                                  .receive_completions = queue})
                                 .value();
    ASSERT_EQ(port.modify(unconnected, test::to_init()), ModifyStatus::done);
    for (const PeerId peer : {PeerId{5}, PeerId{2}, PeerId{5}}) {
        numbers.push_back(port.add_queue_pair({.transport = Transport::uc,
                                               .send_completions = queue,
                                               .receive_completions = queue})
                              .value());
        ASSERT_EQ(port.modify(numbers.back(), test::to_init()), ModifyStatus::done);
        ASSERT_EQ(ib::connect(port, numbers.back(), {.peer = peer, .path_mtu = 256}),
                  ModifyStatus::done);
        ASSERT_EQ(port.post_send(numbers.back(), {}), PostStatus::accepted);
    }
    port.ready_peers(peers);
    EXPECT_EQ(peers, (std::vector{PeerId{5}, PeerId{2}}));
    // After the first queue pair has sent, it is the turn of the second.
    PacketBytes room(packet_max(256));
    TxFrame out;
    out.open(room, {.frame_max = room.size()});
    ASSERT_TRUE(port.poll_transmit(Instant(), out));
    port.ready_peers(peers);
    EXPECT_EQ(peers, (std::vector{PeerId{2}, PeerId{5}}));
    for (int i = 0; i < 3; ++i) {
        out.open(room, {.frame_max = room.size()});
        EXPECT_EQ(port.poll_transmit(Instant(), out), i < 2);
    }
    port.ready_peers(peers);
    EXPECT_TRUE(peers.empty());
}

TEST(Port, SharedReceivesMayBecomeMoreOrFewer) {
    Pair pair({.shared_receives = 2});
    pair.receives(2);
    ReceiveRing& ring = pair.b.port.shared_receive_queue(*pair.b.shared).ring;
    EXPECT_FALSE(ring.resize(1));
    EXPECT_EQ(ring.capacity(), 2U);
    ASSERT_TRUE(ring.resize(3));
    EXPECT_EQ(pair.b.receive(102, pair.b.piece(0, 64)), PostStatus::accepted);
    EXPECT_EQ(pair.b.receive(103, pair.b.piece(0, 64)), PostStatus::queue_full);
    for (int i = 0; i < 3; ++i) pair.send(10);
    pair.settle();
    EXPECT_EQ(ids(pair.b.received()), (std::vector<std::uint64_t>{100, 101, 102}));
    EXPECT_TRUE(ring.resize(1));
}

// The port does not ask it while nothing happens to it.
TEST(Port, AQueuePairThatHadNothingToSendIsAskedAgainOnceItMayHave) {
    Pair pair({.transport = Transport::uc});
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
    pair.send(10);
    EXPECT_EQ(pair.a.leaving(pair.now).size(), 1U);
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
    pair.send(600);
    EXPECT_EQ(pair.a.leaving(pair.now).size(), 3U);
}

TEST(Port, AQueuePairUsesItsPeerUntilItIsResetOrRemoved) {
    Pair pair({.transport = Transport::rc, .peer_window = {.start = 4}});
    const auto used = [&pair] {
        PeerSet all;
        pair.a.port.add_used_peers(all);
        EXPECT_FALSE(all.contains(PeerId{4}));
        return all.contains(other_end);
    };
    EXPECT_TRUE(used());
    pair.a.modify({.state = QueuePairState::error});
    EXPECT_TRUE(used());
    pair.a.modify({.state = QueuePairState::reset});
    EXPECT_FALSE(used());
}

TEST(Port, OfAForgottenPeerNothingIsLeft) {
    Pair pair({.transport = Transport::rc, .peer_window = {.start = 4}});
    Port& port = pair.a.port;
    port.neighbours().set_gid(other_end, Gid{1});
    port.neighbours().set_alive(other_end, true);
    port.neighbours().set_acks_unasked(other_end, true);
    port.set_near(other_end, true);
    ASSERT_TRUE(port.remove_queue_pair(pair.a.number));
    PeerSet gone;
    gone.add(other_end);
    port.forget_peers(gone);
    EXPECT_EQ(port.neighbours().gid(other_end), nullptr);
    EXPECT_FALSE(port.neighbours().is_alive(other_end));
    EXPECT_FALSE(port.neighbours().acks_unasked(other_end));
    EXPECT_FALSE(port.windows().is_near(other_end));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
