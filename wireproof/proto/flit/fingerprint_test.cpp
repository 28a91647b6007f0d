// What the fingerprint of an end contains. It must differ if the ends can act differently. Where it
// is equal although the ends are not, a search of all states has fewer states.
#include <gtest/gtest.h>

#include "wireproof/proto/flit/pair_test_kit.hpp"

namespace wireproof::flit {
namespace {

Fingerprint::Value value_of(const Transmitter& sender, Instant tick = {}) {
    Fingerprint sink;
    sender.fingerprint(Instant(), tick, sink);
    return sink.value();
}
Fingerprint::Value value_of(const Receiver& receiver, Instant now = {}) {
    Fingerprint sink;
    receiver.fingerprint(now, sink);
    return sink.value();
}
Fingerprint::Value value_of(const Link& link, Instant now = {}) {
    Fingerprint sink;
    link.fingerprint(now, sink);
    return sink.value();
}

/// A receiver on demand, and a Nak that has the same number in each test.
struct Receiving {
    explicit Receiving(std::uint32_t ack_after) : config(demand()), receiver(with(ack_after)) {}

    void take(std::uint32_t flits) {
        const std::array<std::byte, 1> content{};
        for (std::uint32_t i = 0; i < flits; ++i) {
            EXPECT_EQ(receiver.on_flit(Instant(), {true, true, Command::ack, 1},
                                       ConstBytes(content), stats),
                      RxVerdict::accepted);
            EXPECT_TRUE(receiver.next_message());
        }
    }
    void send() {
        const bool acks = receiver.nak() == Nak::none;
        receiver.notice_left(Instant(), acks ? Command::ack : Command::standard_nak, stats);
    }
    void lose_payload() {
        receiver.on_invalid(Instant(), stats);
        receiver.on_invalid(Instant(), stats);
        EXPECT_EQ(receiver.nak(), Nak::standard);
    }
    Receiver with(std::uint32_t ack_after) {
        config.ack_after = ack_after;
        config.ack_latency = Duration::microseconds(1);
        return Receiver(config);
    }

    Config config;
    Receiver receiver;
    Stats stats;
};

// One of them has taken two flits since its last Ack, the other one only one.
TEST(FlitFingerprint, HasTheFlitsThatAnAckWaitsForUntilItIsDue) {
    for (const std::uint32_t ack_after : {1U, 2U, 3U, 4U}) {
        Receiving two(ack_after);
        Receiving one(ack_after);
        two.take(2);
        one.take(1);
        one.send();
        one.take(1);
        EXPECT_EQ(value_of(two.receiver) == value_of(one.receiver), ack_after == 1) << ack_after;
    }
}

// A Nak acknowledges. If one more flit makes an Ack due, an Ack is due after each Nak.
TEST(FlitFingerprint, HasAnAckThatWaitsDuringANakOnlyIfItMayStillWaitAfterwards) {
    for (const std::uint32_t ack_after : {1U, 2U, 3U}) {
        Receiving waits(ack_after);
        Receiving owes_none(ack_after);
        waits.receiver.owe_ack();
        EXPECT_NE(value_of(waits.receiver), value_of(owes_none.receiver));
        waits.lose_payload();
        owes_none.lose_payload();
        EXPECT_EQ(value_of(waits.receiver) == value_of(owes_none.receiver), ack_after == 1)
            << ack_after;
    }
}

/// A sender whose selective replays jump.
struct Sending {
    explicit Sending(std::uint32_t explicit_after_jump)
        : config(with(explicit_after_jump)), sender(config) {
        for (int i = 0; i < 6; ++i) sender.submit({});
    }

    static Config with(std::uint32_t explicit_after_jump) {
        Config config = demand(Config::pcie6_selective());
        config.first_number = 1;
        config.explicit_after_jump = explicit_after_jump;
        config.replay_num_limit = 0;
        return config;
    }
    void send(std::uint32_t number, bool must_be_explicit) {
        const auto next = sender.next_payload();
        ASSERT_TRUE(next);
        EXPECT_EQ(Numbers::wire(next->number), number);
        EXPECT_EQ(next->must_be_explicit, must_be_explicit);
        sender.payload_left(Instant(), Instant(), *next, next->must_be_explicit, 256, stats);
    }
    void send_three() {
        for (const std::uint32_t number : {1U, 2U, 3U}) send(number, false);
    }
    void give(Command command, std::uint32_t number) {
        EXPECT_TRUE(sender.on_notice(Instant(), Instant(), command, number, stats));
    }
    /// Flit 1 leaves again alone, and an Ack of what was acknowledged already ends the ignoring.
    void send_one_again() {
        give(Command::selective_nak, config.modulus);
        send(1, true);
        give(Command::ack, config.modulus);
    }

    Config config;
    Transmitter sender;
    Stats stats;
};

TEST(FlitFingerprint, HasTheLastPayloadFlitAsItDecidesWhichOneMustBeExplicit) {
    Sending in_order(1);
    Sending jumped(1);
    for (Sending* end : {&in_order, &jumped}) end->send_three();
    jumped.send_one_again();
    EXPECT_NE(value_of(jumped.sender), value_of(in_order.sender));
    in_order.send(4, false);
    jumped.send(4, true);
    EXPECT_EQ(value_of(jumped.sender), value_of(in_order.sender)) << "the peer counts from here";
}

// The flits that were sent again are acknowledged, so none follows them.
TEST(FlitFingerprint, DoesNotHaveALastPayloadFlitThatIsAcknowledged) {
    Sending one(1);
    Sending two(1);
    for (Sending* end : {&one, &two}) {
        end->send_three();
        end->give(Command::standard_nak, end->config.modulus);
        end->send(1, true);
    }
    two.send(2, false);
    EXPECT_NE(value_of(one.sender), value_of(two.sender));
    for (Sending* end : {&one, &two}) end->give(Command::ack, 3);
    EXPECT_EQ(value_of(one.sender), value_of(two.sender));
    one.send(4, true);
    two.send(4, true);
}

TEST(FlitFingerprint, HasTheExplicitFlitsThatAreDueAfterAJump) {
    Sending in_order(3);
    Sending jumped(3);
    for (Sending* end : {&in_order, &jumped}) end->send_three();
    jumped.send_one_again();
    jumped.send(4, true);
    in_order.send(4, false);
    EXPECT_NE(value_of(jumped.sender), value_of(in_order.sender)) << "5 must be explicit";
    jumped.send(5, true);
    in_order.send(5, false);
    jumped.send(6, true);
    in_order.send(6, false);
    EXPECT_EQ(value_of(jumped.sender), value_of(in_order.sender));
}

// A Nak of another number stops the ignoring of the first one.
TEST(FlitFingerprint, DoesNotHaveAnIgnoreWindowOfNoNumber) {
    Sending end(1);
    end.send_three();
    end.give(Command::standard_nak, end.config.modulus);
    EXPECT_NE(end.sender.nak_ignored(), 0U);
    end.send(1, true);
    end.send(2, false);
    end.give(Command::standard_nak, 1);
    ASSERT_EQ(end.sender.replay(), Replay::standard) << "it goes on";
    EXPECT_EQ(end.sender.nak_ignored(), 0U);
    EXPECT_EQ(end.sender.next_deadline(), Instant() + end.config.time_of(end.config.timeout_flits))
        << "the replay timer";
}

/// An explicit NOP of the peer, which has sent nothing yet.
OnLine ask_for_an_ack(const Config& config) {
    std::array<std::byte, flit_max> room{};
    TxFrame out;
    out.open(room, {.frame_max = room.size(), .carries_intact = true});
    write_flit(config.format, config.crc_order,
               {false, false, Command::explicit_number, config.first_number - 1}, {}, out);
    OnLine flit;
    flit.bytes.resize(out.size());
    out.gather(flit.bytes);
    return flit;
}

// The flit before is in the header of PCI Express and CXL. That of UCIe does not have it.
TEST(FlitFingerprint, HasTheFlitBeforeIfItsFormatSaysIt) {
    for (const Config& format : {Config::pcie6(), Config::cxl3(), Config::ucie_68()}) {
        Config config = demand(format);
        config.trailing_nops = 0;
        Pair pair(config);
        pair.a.check = false;
        pair.a.draw();
        pair.submit(1);
        ASSERT_EQ(pair.flits(pair.a).size(), 1U);
        const auto after_payload = value_of(pair.a.link);
        EXPECT_EQ(pair.a.give(pair.now, ask_for_an_ack(config)), RxVerdict::control);
        ASSERT_EQ(pair.flits(pair.a).size(), 1U);
        EXPECT_EQ(value_of(pair.a.link) == after_payload, !has_usage(config.format));
    }
}

}  // namespace
}  // namespace wireproof::flit
