// How often and how soon reliable queue pairs retransmit, as their options say.
#include <gtest/gtest.h>

#include "wireproof/front/ib/scripted_peer_test_kit.hpp"
#include "wireproof/front/ib/timer_codes.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t retries_service = service_of_port(7176);
/// Each value differs from its default and from the others.
const QueuePairOptions chosen{
    .ack_timeout = 20ms, .retry_count = 2, .rnr_retry_count = 5, .min_rnr_timer = 20ms};

TEST(TimerCodes, AreTheShortestThatAreNotShorter) {
    EXPECT_EQ(ack_timeout_code(0ns), 0) << "for ever";
    EXPECT_EQ(ack_timeout_code(8'192ns), 1);
    EXPECT_EQ(ack_timeout_code(8'193ns), 2);
    EXPECT_EQ(ack_timeout_code(20ms), 13);
    EXPECT_EQ(ack_timeout_code(ack_timeout_max), 31);
    EXPECT_EQ(rnr_timer_code(10us), 1);
    EXPECT_EQ(rnr_timer_code(11us), 2);
    EXPECT_EQ(rnr_timer_code(20ms), 22);
    EXPECT_EQ(rnr_timer_code(491'520us), 31);
    EXPECT_EQ(rnr_timer_code(491'521us), 0) << "the longest";
    EXPECT_EQ(rnr_timer_code(rnr_timer_max), 0);
}

TEST(TimerCodes, OfTheDefaultsAreTheEngines) {
    const QueuePairOptions options;
    EXPECT_EQ(ack_timeout_code(options.ack_timeout), proto::ib::Connection().timeout);
    EXPECT_EQ(rnr_timer_code(options.min_rnr_timer), proto::ib::Connection().min_rnr_timer);
    EXPECT_EQ(options.retry_count, proto::ib::Connection().retry_count);
    EXPECT_EQ(options.rnr_retry_count, proto::ib::Connection().rnr_retry);
}

TEST(Retries, AreRefusedByNameWhereInfiniBandHasNoSuch) {
    End end(41, 1024, {});
    const auto error = [&](const QueuePairOptions& options) {
        const auto pair = QueuePair::create(end.domain, end.completions, end.completions, options);
        return pair ? "none" : pair.error();
    };
    EXPECT_EQ(error({.ack_timeout = 8'191ns}),
              "ack_timeout is 8191 ns, not 0 or 8192 to 8796093022208 ns");
    EXPECT_EQ(error({.ack_timeout = -1ns}),
              "ack_timeout is -1 ns, not 0 or 8192 to 8796093022208 ns");
    EXPECT_EQ(error({.ack_timeout = 3h}),
              "ack_timeout is 10800000000000 ns, not 0 or 8192 to 8796093022208 ns");
    EXPECT_EQ(error({.retry_count = 8}), "retry_count is 8, not 0 to 7");
    EXPECT_EQ(error({.rnr_retry_count = 8}), "rnr_retry_count is 8, not 0 to 7");
    EXPECT_EQ(error({.min_rnr_timer = 9us}), "min_rnr_timer is 9 us, not 10 to 655360 us");
    EXPECT_EQ(error({.min_rnr_timer = 1s}), "min_rnr_timer is 1000000 us, not 10 to 655360 us");
    EXPECT_EQ(error({.ack_timeout = 0ns, .retry_count = 0, .rnr_retry_count = 0}), "none");
    EXPECT_EQ(error({.ack_timeout = ack_timeout_max, .min_rnr_timer = rnr_timer_max}), "none");
}

/// Posts a Write that no peer answers. Returns how often it was sent before it ended.
std::uint64_t packets_of_a_write(End& end, ScriptedPeer& peer) {
    const std::uint64_t before = peer.packets();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(end.pair.write(1, end.region->piece(0, 8), {0x1000, 7}), Status::ok);
    const auto ended = end.completions.wait(patience);
    EXPECT_TRUE(ended && ended->status == WorkStatus::retry_exceeded);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 3 * 20ms);
    return peer.packets() - before;
}

TEST(Retries, OfAContactAreAsOftenAsTheOptionsSay) {
    ScriptedPeer peer(42);
    End end(43, 1024, chosen);
    ASSERT_EQ(end.pair.connect({.address = host(42), .queue_pair = peers_number}), Status::ok);
    EXPECT_EQ(packets_of_a_write(end, peer), 3U);
}

TEST(Retries, WaitForAReceiverAsLongAsItsOptionsSay) {
    End sender(44, 1024, {.rnr_retry_count = 2});
    End receiver(45, 1024, {.min_rnr_timer = 20ms});
    ASSERT_EQ(sender.pair.connect(receiver.pair.contact()), Status::ok);
    ASSERT_EQ(receiver.pair.connect(sender.pair.contact()), Status::ok);
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(sender.pair.send(1, sender.region->piece(0, 8)), Status::ok);
    std::optional<Completion> ended;
    EXPECT_TRUE(sender.device.wait(
        [&] {
            receiver.device.poll();
            ended = sender.completions.poll();
            return ended.has_value();
        },
        patience));
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->status, WorkStatus::receiver_not_ready);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2 * 20ms);
}

TEST(Retries, OfARequestAreCountedAndSent) {
    ScriptedPeer peer(46);
    End active(47, 1024, chosen);
    auto met = Result<std::vector<std::byte>>::failure("not asked");
    const proto::ib::CmRequest request = peer.accept_while(
        retries_service,
        {.queue_pair = peers_number, .responder_resources = 1, .initiator_depth = 1},
        [&] { met = active.pair.connect(host(46), retries_service, {}, patience); });
    ASSERT_TRUE(met) << met.error();
    EXPECT_EQ(request.primary.ack_timeout, 13);
    EXPECT_EQ(request.retry_count, 2);
    EXPECT_EQ(request.rnr_retry, 5);
    EXPECT_EQ(packets_of_a_write(active, peer), 3U);
}

TEST(Retries, OfAnAcceptedRequestAreCountedAndSent) {
    End passive(48, 1024, chosen);
    auto listener = Listener::open(passive.device, retries_service);
    ASSERT_TRUE(listener);
    ScriptedPeer peer(49);
    auto accepted = Result<void>::failure("no request came");
    const proto::ib::CmReply reply =
        peer.connect_while(48,
                           {.service = retries_service,
                            .queue_pair = peers_number,
                            .path_mtu = proto::ib::path_mtu_code(1024)},
                           [&] {
                               auto asked = listener->wait(patience);
                               if (asked) accepted = asked->accept(passive.pair, {}, patience);
                           });
    ASSERT_TRUE(accepted) << accepted.error();
    EXPECT_EQ(reply.rnr_retry, 5);
    EXPECT_EQ(packets_of_a_write(passive, peer), 3U);
}

}  // namespace
}  // namespace wireproof::ib::test
