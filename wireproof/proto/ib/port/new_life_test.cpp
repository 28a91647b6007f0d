// A queue pair that goes to RESET keeps nothing of its connection, whatever happened in it: its
// port is as one on which the queue pair was just added.
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

/// Packets of both ends arrive or are lost, and the ends post requests of all kinds.
class BadPath {
public:
    BadPath(const PairSettings& settings, std::uint64_t seed) : pair(settings), random(seed) {}

    void run(std::uint64_t steps) {
        for (std::uint64_t i = 0; i < steps; ++i) step();
    }

    Pair pair;
    Random random;

private:
    void step() {
        const bool first = random.chance(0.5);
        End& end = first ? pair.a : pair.b;
        End& other = first ? pair.b : pair.a;
        switch (random.below(6)) {
            case 0: post(end, other); break;
            case 1:
                (void)end.receive(random.next(), end.piece(0x8000 + 0x100 * random.below(64),
                                                           1 + random.below(0x600)));
                break;
            case 2:
            case 3: carry(end, other); break;
            case 4:
                pair.pass(Duration::microseconds(static_cast<std::int64_t>(random.below(60))));
                break;
            default:
                if (random.chance(0.1)) end.port.release_acks(end.number);
                break;
        }
    }
    void post(End& from, const End& to) {
        constexpr std::array requests{Request::send, Request::write,     Request::write_immediate,
                                      Request::read, Request::fetch_add, Request::send_invalidate};
        WorkTerms terms{.id = random.next(),
                        .request = requests.at(random.below(requests.size())),
                        .signalled = random.chance(0.5),
                        .fence = random.chance(0.1)};
        terms.remote_address = End::base + 0x4000 + 8 * random.below(100);
        terms.remote_key = random.chance(0.98) ? to.key : to.key + 1;
        const std::size_t length = is_atomic(terms.request) ? 8 : random.below(1500);
        (void)from.post(terms, from.piece(0x400 * random.below(8), length));
    }
    void carry(End& from, End& to) {
        for (std::uint64_t n = 1 + random.below(8); n > 0; --n) {
            const auto packet = from.poll(pair.now);
            if (!packet) return;
            if (random.chance(0.15)) continue;
            if (random.chance(0.1)) {
                to.port.on_frame(pair.now, {.bytes = *packet,
                                            .from = other_end,
                                            .integrity = Integrity::intact,
                                            .marked = true});
            } else {
                to.give(pair.now, *packet);
            }
        }
    }
};

void expect_as_new(const PairSettings& settings) {
    const End as_new(settings, 1);
    std::uint64_t used = 0;
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        BadPath path(settings, seed);
        path.run(20 + path.random.below(200));
        End& end = path.pair.b;
        const auto print = [&] {
            end.sent();
            end.received();
            end.events();
            return fingerprint_at(path.pair.now, end.port);
        };
        const auto fresh = fingerprint_at(path.pair.now, as_new.port);
        if (print() != fresh) ++used;
        end.modify({.state = QueuePairState::reset});
        ASSERT_EQ(print(), fresh) << seed;
    }
    EXPECT_GT(used, 20U);
}

TEST(IbNewLife, AnRcQueuePairInResetIsAsANewOne) {
    expect_as_new(rc_settings());
    PairSettings other = rc_settings({.congestion = Congestion::by_path});
    other.queue_pair.ack_delay = usual_ack_delay;
    other.queue_pair.acks_unasked = true;
    other.queue_pair.backs_off = true;
    other.queue_pair.retries_unlimited = true;
    expect_as_new(other);
    other.connection.congestion = Congestion::by_loss;
    other.queue_pair.credits = true;
    expect_as_new(other);
}

TEST(IbNewLife, AUcQueuePairInResetIsAsANewOne) {
    expect_as_new({.transport = Transport::uc});
}

// Datagrams need no connection: the next PSN is all that a queue pair for them has besides work.
TEST(IbNewLife, ADatagramQueuePairInResetIsAsANewOne) {
    const PairSettings settings{.transport = Transport::ud};
    const End as_new(settings, 0);
    End end(settings, 0);
    end.modify({.state = QueuePairState::init,
                .partition_index = std::uint16_t{0},
                .port = std::uint8_t{1},
                .qkey = 5});
    end.modify({.state = QueuePairState::rtr});
    end.modify({.state = QueuePairState::rts, .send_psn = Psn(0xFFFFFF)});
    EXPECT_EQ(end.receive(1, end.piece(0, 100)), PostStatus::accepted);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(end.post({.to = other_end, .to_queue_pair = 2, .qkey = 5}, end.piece(0, 10)),
                  PostStatus::accepted);
    }
    const Instant now;
    EXPECT_TRUE(end.poll(now));
    EXPECT_NE(fingerprint_at(now, end.port), fingerprint_at(now, as_new.port));
    end.modify({.state = QueuePairState::reset});
    EXPECT_EQ(fingerprint_at(now, end.port), fingerprint_at(now, as_new.port));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
