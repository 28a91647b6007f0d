// Parts of engines that are reset: then they are as new ones, whatever they did before.
#include "wireproof/core/backoff.hpp"
#include "wireproof/core/go_back_n.hpp"
#include "wireproof/core/message_queue.hpp"
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/core/rtt_estimator.hpp"
#include "wireproof/core/timer_table.hpp"

namespace wireproof {
namespace {

constexpr std::uint64_t histories = 200;

TEST(NewLife, ABackoffThatIsReset) {
    for (const bool on : {false, true}) {
        for (std::uint64_t seed = 1; seed <= histories; ++seed) {
            Random random(seed);
            Backoff backoff(on);
            for (std::uint64_t step = random.below(30); step > 0; --step) {
                if (random.chance(0.7)) {
                    backoff.retransmits(Instant());
                } else {
                    backoff.answered(random.below(20));
                }
            }
            backoff.reset();
            EXPECT_EQ(fingerprint_at(Instant(), backoff), fingerprint_at(Instant(), Backoff(on)));
            EXPECT_EQ(backoff.unanswered().times, 0U);
        }
    }
}

TEST(NewLife, ARoundTripThatIsForgotten) {
    const RttEstimator as_new(Duration::milliseconds(20), Duration::microseconds(10));
    for (std::uint64_t seed = 1; seed <= histories; ++seed) {
        Random random(seed);
        RttEstimator used = as_new;
        Instant now;
        std::size_t out = 0;
        for (std::uint64_t step = 1 + random.below(30); step > 0; --step) {
            now = now + Duration::microseconds(static_cast<std::int64_t>(random.below(100)));
            if (random.chance(0.5)) {
                used.sent(now, ++out);
            } else {
                const std::size_t freed = random.below(out + 1);
                used.freed(now, freed);
                out -= freed;
            }
        }
        used.forget();
        EXPECT_EQ(fingerprint_at(now, used), fingerprint_at(now, as_new)) << seed;
        EXPECT_EQ(used.limit(), as_new.limit());
    }
}

TEST(NewLife, AMessageQueueThatIsCleared) {
    struct Mark {
        int number = 0;
    };
    const auto print = [](const MessageQueue<Mark>& queue) {
        Fingerprint sink;
        queue.fingerprint(sink, [&](const Mark& mark, std::size_t) { sink.add(mark.number); });
        return sink.value();
    };
    const MessageQueue<Mark> as_new({.slots = 4, .message_max = 8});
    for (std::uint64_t seed = 1; seed <= histories; ++seed) {
        Random random(seed);
        MessageQueue<Mark> used = as_new;
        for (std::uint64_t step = random.below(30); step > 0; --step) {
            const std::array<std::byte, 8> bytes{static_cast<std::byte>(random.next())};
            if (!used.full()) used.push(ConstBytes(bytes).first(random.below(9)), {1});
            if (random.chance(0.3)) used.pop(random.below(used.size() + 1));
        }
        used.clear();
        EXPECT_EQ(print(used), print(as_new)) << seed;
        used.push({}, {2});
        EXPECT_EQ(used.size(), 1U);
    }
}

// What a sender sends, hears and resends before does not matter after a reset. After forget(), only
// the next number remains.
TEST(NewLife, AGoBackNSenderThatIsReset) {
    const GoBackNTerms terms{.modulus = 7,
                             .first = 5,
                             .wait = Duration::milliseconds(10),
                             .wait_floor = Duration(1),
                             .backs_off = true};
    const GoBackN<struct Tag> as_new(terms);
    for (std::uint64_t seed = 1; seed <= histories; ++seed) {
        Random random(seed);
        GoBackN<struct Tag> used = as_new;
        Instant now;
        for (std::uint64_t step = random.below(60); step > 0; --step) {
            now = now + Duration::microseconds(static_cast<std::int64_t>(random.below(100)));
            if (used.outstanding() > 0 && random.chance(0.2)) used.begin_replay(now);
            if (used.outstanding() > 0 && random.chance(0.3)) {
                used.free(now, 1 + random.below(used.outstanding()));
            }
            if (used.replaying() && !used.replay_held()) {
                used.resend(100);
            } else if (!used.replaying() && !used.window_full(6)) {
                used.send(now);
            }
        }
        GoBackNTerms from_here = terms;
        from_here.first = used.next().value();
        GoBackN<struct Tag> forgetful = used;
        forgetful.forget();
        EXPECT_EQ(fingerprint_at(now, forgetful),
                  fingerprint_at(now, GoBackN<struct Tag>(from_here)));
        used.reset();
        EXPECT_EQ(fingerprint_at(now, used), fingerprint_at(now, as_new)) << seed;
        EXPECT_EQ(used.wait(), as_new.wait());
        EXPECT_EQ(used.unanswered().since, never);
    }
}

}  // namespace
}  // namespace wireproof
