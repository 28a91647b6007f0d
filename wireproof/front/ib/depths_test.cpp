// How many Reads are outstanding at once. The scripted peer answers none of them: the queue pair
// number that it names does not exist, and it counts the packets for that number.
#include <gtest/gtest.h>

#include <string>

#include "wireproof/front/ib/scripted_peer_test_kit.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t depths_service = service_of_port(7174);
constexpr std::uint64_t reads = 20;

/// Posts more Reads than may be outstanding. Returns how many leave while no answer comes.
std::uint64_t outstanding(End& end, ScriptedPeer& peer) {
    const std::uint64_t before = peer.packets();
    for (std::uint64_t id = 0; id < reads; ++id) {
        EXPECT_EQ(end.pair.read(id, end.region->piece(0, 8), {0x1000, 7}), Status::ok);
    }
    end.device.poll();
    return peer.packets() - before;
}

TEST(Depths, OfAContactBoundWhatIsOutstandingToItsPeer) {
    struct Case {
        std::size_t ours;
        std::optional<std::size_t> peers;
        std::uint64_t outstanding;
    };
    for (const Case& one : {Case{16, {}, 1}, {16, 1, 1}, {16, 5, 5}, {3, 5, 3}, {16, 255, 16}}) {
        ScriptedPeer peer(31);
        End end(32, 1024, {.initiator_depth = one.ours});
        Contact contact{.address = host(31), .queue_pair = peers_number};
        if (one.peers) contact.responder_resources = *one.peers;
        ASSERT_EQ(end.pair.connect(contact), Status::ok);
        EXPECT_EQ(outstanding(end, peer), one.outstanding);
    }
}

TEST(Depths, AContactSaysWhatItsQueuePairKeeps) {
    End end(33, 1024, {.responder_resources = 5});
    EXPECT_EQ(end.pair.contact().responder_resources, 5U);
    EXPECT_EQ(end.pair.contact(*end.region).responder_resources, 5U);
    EXPECT_EQ(end.pair.connect({.address = host(34), .queue_pair = 2, .responder_resources = 0}),
              Status::bad_contact);
}

// The depth of each side is limited by the resources of the other. All four values differ, so that
// a swap is noticed.
TEST(Depths, OfARequestThatIsAcceptedAreAnsweredEachByItsCounterpart) {
    End passive(35, 1024, {.initiator_depth = 9, .responder_resources = 12});
    auto listener = Listener::open(passive.device, depths_service);
    ASSERT_TRUE(listener);
    ScriptedPeer peer(36);
    auto accepted = Result<void>::failure("no request came");
    const proto::ib::CmReply reply =
        peer.connect_while(35,
                           {.service = depths_service,
                            .queue_pair = peers_number,
                            .responder_resources = 3,
                            .initiator_depth = 7,
                            .path_mtu = proto::ib::path_mtu_code(1024)},
                           [&] {
                               auto asked = listener->wait(patience);
                               if (asked) accepted = asked->accept(passive.pair, {}, patience);
                           });
    ASSERT_TRUE(accepted) << accepted.error();
    EXPECT_EQ(reply.responder_resources, 7) << "what the asker may have outstanding";
    EXPECT_EQ(reply.initiator_depth, 3) << "what the asker keeps";
    EXPECT_EQ(outstanding(passive, peer), 3U);
}

TEST(Depths, OfAReplyBoundWhatIsOutstandingToItsPeer) {
    ScriptedPeer peer(37);
    End active(38, 1024, {.initiator_depth = 9, .responder_resources = 12});
    auto met = Result<std::vector<std::byte>>::failure("not asked");
    const proto::ib::CmRequest request = peer.accept_while(
        depths_service,
        {.queue_pair = peers_number, .responder_resources = 1, .initiator_depth = 4},
        [&] { met = active.pair.connect(host(37), depths_service, {}, patience); });
    ASSERT_TRUE(met) << met.error();
    EXPECT_EQ(request.initiator_depth, 9);
    EXPECT_EQ(request.responder_resources, 12);
    EXPECT_EQ(outstanding(active, peer), 1U);
}

TEST(QueuePairOptions, AreRefusedByNameWhereNoQueuePairCanHaveThem) {
    End end(39, 1024, {});
    const auto error = [&](const QueuePairOptions& options) {
        const auto pair = QueuePair::create(end.domain, end.completions, end.completions, options);
        return pair ? "none" : pair.error();
    };
    EXPECT_EQ(error({.sends = 0}), "sends is 0, not 1 to 65536");
    EXPECT_EQ(error({.sends = SIZE_MAX}),
              "sends is " + std::to_string(SIZE_MAX) + ", not 1 to 65536");
    EXPECT_EQ(error({.receives = 0}), "receives is 0, not 1 to 65536");
    EXPECT_EQ(error({.receives = 65'537}), "receives is 65537, not 1 to 65536");
    EXPECT_EQ(error({.pieces = 0}), "pieces is 0, not 1 to 32");
    EXPECT_EQ(error({.pieces = 33}), "pieces is 33, not 1 to 32");
    EXPECT_EQ(error({.inlined = 4097}), "inlined is 4097, not 0 to 4096");
    EXPECT_EQ(error({.initiator_depth = 0}), "initiator_depth is 0, not 1 to 16");
    EXPECT_EQ(error({.initiator_depth = 17}), "initiator_depth is 17, not 1 to 16");
    EXPECT_EQ(error({.responder_resources = 0}), "responder_resources is 0, not 1 to 16");
    EXPECT_EQ(error({.responder_resources = 17}), "responder_resources is 17, not 1 to 16");
    EXPECT_EQ(error({.transport = static_cast<Transport>(3)}), "transport has no valid value");
    EXPECT_EQ(error({.pieces = 32, .inlined = 0, .initiator_depth = 16}), "none");
}

}  // namespace
}  // namespace wireproof::ib::test
