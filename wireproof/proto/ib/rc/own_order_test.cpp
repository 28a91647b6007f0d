// What a queue pair posts begins in the order that its earlier requests need (RC-39, RC-41). Here
// `a` asks, and `b` executes.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

PairSettings asking() {
    PairSettings settings = rc_settings({.timeout = 14});
    settings.queue_pair.limits = {.sends = 64, .receives = 64, .pieces = 2};
    return settings;
}

class RcOwnOrder : public testing::Test {
protected:
    void give_a(const std::vector<PacketBytes>& packets) {
        for (const PacketBytes& packet : packets) pair.a.give(pair.now, packet);
    }

    RcPair pair{asking()};
};

// RC-41: also if the answer is lost. A responder takes the bytes of a Read when it answers.
TEST_F(RcOwnOrder, AReadHasTheBytesFromBeforeWhatIsPostedAfterIt) {
    struct Later {
        Request request;
        std::uint64_t at;  // from the first byte that is read
        std::size_t length;
        bool waits;
    };
    for (const bool lost : {false, true}) {
        for (const Later& later :
             {Later{Request::write, 0, 300, true}, Later{Request::write, 999, 300, true},
              Later{Request::write, 1000, 300, false},
              Later{Request::write, std::uint64_t{0} - 300, 300, false},
              Later{Request::write, std::uint64_t{0} - 300, 301, true},
              Later{Request::write_immediate, 500, 1, true},
              Later{Request::fetch_add, 992, 8, true},
              Later{Request::compare_swap, 1000, 8, false}}) {
            std::fill_n(pair.a.memory.begin() + 0x800, 301, std::byte{0xEE});
            std::fill_n(pair.b.memory.begin() + 0x4000, 2000, std::byte{0x11});
            pair.receives(1);
            pair.read(1000);
            WorkTerms terms{.id = ++pair.posted, .request = later.request};
            terms.remote_address = End::base + 0x4000 + later.at;
            terms.remote_key = pair.b.key;
            terms.swap_or_add = 1;
            EXPECT_EQ(pair.a.post(terms, pair.a.piece(0x800, later.length)), PostStatus::accepted);
            const auto leaving = pair.a_leaving();
            EXPECT_EQ(leaving.size() == 1, later.waits) << later.at;
            pair.give(leaving);
            if (lost) pair.b.leaving(pair.now);
            const std::uint64_t done = pair.posted;
            std::uint64_t completed = 0;
            for (int i = 0; i < 20 && completed < done; ++i) {
                give_a(pair.b.leaving(pair.now));
                pair.give(pair.a_leaving());
                for (const Completion& one : pair.a.sent()) {
                    EXPECT_EQ(one.status, CompletionStatus::success);
                    completed = one.id;
                }
                if (completed < done) pair.pass(rto * 1024);
            }
            EXPECT_EQ(completed, done) << later.at;
            for (std::size_t i = 0; i < 1000; ++i) {
                ASSERT_EQ(pair.a.memory[0x2000 + i], std::byte{0x11}) << later.at << ' ' << i;
            }
        }
    }
}

// RC-39: under loss, too.
TEST_F(RcOwnOrder, AFencedRequestBeginsAfterTheAnswersOfAllReadsAndAtomics) {
    pair.receives(2);
    pair.read(300);
    pair.atomic(Request::fetch_add, 1);
    EXPECT_EQ(pair.a.post({.id = 9, .fence = true}, pair.a.piece(0, 10)), PostStatus::accepted);
    const auto begins = [this] {
        bool begun = false;
        const auto packets = pair.a_leaving();
        for (const PacketBytes& packet : packets) begun |= name(packet).starts_with("SEND");
        pair.give(packets);
        return begun;
    };
    EXPECT_FALSE(begins());
    auto answers = pair.b.leaving(pair.now);
    ASSERT_EQ(answers.size(), 3U);
    pair.a.give(pair.now, answers[0]);
    EXPECT_FALSE(begins());
    pair.a.give(pair.now, answers[2]);  // the second one is lost
    EXPECT_FALSE(begins());
    for (int i = 0; i < 8 && !begins(); ++i) {
        EXPECT_LT(pair.a.sent().size(), 2U);
        give_a(pair.b.leaving(pair.now));
        pair.pass(rto * 1024);
    }
    EXPECT_EQ(pair.b.received().size(), 1U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
