// How FLUSH without re-initialisation ends.
#include "wireproof/proto/ue/pair_test_kit.hpp"

namespace wireproof::ue {
namespace {

// LLR-34: an end that waits for management begins again when its peer does. Both flushed, so their
// lives are the same.
TEST(UeFlush, ThePeersInitOfTheSameLifeEndsFlush) {
    Config config = test_config();
    config.re_init_on_flush = false;
    Pair pair(config);
    for (End* end : {&pair.a, &pair.b}) {
        EXPECT_EQ(end->link.submit(message(8)), SubmitStatus::accepted);
        while (end->downs == 0) {
            pair.frames(pair.a);  // all is lost
            pair.frames(pair.b);
            pair.wait();
        }
        EXPECT_EQ(end->link.transmitter().state(), Transmitter::State::flush);
    }
    EXPECT_EQ(pair.a.link.transmitter().init_data(), pair.b.link.transmitter().init_data());
    pair.settle();
    EXPECT_EQ(pair.a.ups + pair.b.ups, 2) << "both wait";
    pair.b.link.re_init();
    pair.start();
    EXPECT_EQ(pair.a.ups + pair.b.ups, 4);
}

// LLR-34: the life of a peer that restarted is older. This end answers with its own.
TEST(UeFlush, ThePeersInitOfAnOlderLifeEndsFlush) {
    Config config = test_config();
    config.re_init_on_flush = false;
    config.first_init_data = 7;
    Pair pair(config);
    pair.submit(1);
    while (pair.a.downs == 0) {
        pair.frames(pair.a);
        pair.wait();
    }
    EXPECT_EQ(pair.a.link.transmitter().state(), Transmitter::State::flush);
    config.first_init_data = 5;
    pair.b = End(config);
    const auto init = pair.frames(pair.b);
    ASSERT_EQ(init.size(), 1U);
    EXPECT_EQ(pair.a.give(pair.now, init[0]), RxVerdict::refused);
    EXPECT_EQ(pair.a.link.transmitter().state(), Transmitter::State::init);
    EXPECT_EQ(pair.a.link.transmitter().init_data(), 8U);
    pair.start();
    EXPECT_EQ(pair.b.link.transmitter().init_data(), 8U);
    EXPECT_EQ(pair.a.ups, 2);
}

// The message belongs to the life that ends. In both ways to flush, the caller hears of the end
// only.
TEST(UeFlush, AMessageThatTheCallerHasNotTakenIsDropped) {
    for (const bool both_ways : {false, true}) {
        Config config = test_config();
        config.restarts_both_ways = both_ways;
        config.pcs_lost_status_timer_max = Duration::microseconds(5);
        Pair pair(config);
        EXPECT_EQ(pair.a.link.submit(message(8)), SubmitStatus::accepted);
        const auto frame = pair.a.poll(pair.now);
        ASSERT_TRUE(frame);
        Link& link = pair.b.link;
        EXPECT_EQ(link.on_frame(pair.now, {.bytes = frame->bytes, .integrity = Integrity::check}),
                  RxVerdict::accepted);
        Link taken = link;
        const auto delivery = taken.next_delivery();
        ASSERT_TRUE(delivery);
        EXPECT_EQ(delivery->what, LinkDelivery::What::message);
        link.on_pcs(pair.now, false);
        link.on_deadline(pair.now + config.pcs_lost_status_timer_max);
        EXPECT_EQ(link.stats().flushes, 1U);
        const auto down = link.next_delivery();
        ASSERT_TRUE(down);
        EXPECT_EQ(down->what, LinkDelivery::What::down);
        EXPECT_FALSE(link.next_delivery());
    }
}

}  // namespace
}  // namespace wireproof::ue
