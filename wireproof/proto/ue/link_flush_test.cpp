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

}  // namespace
}  // namespace wireproof::ue
