// Tests that a peer which writes without end, and reads nothing, takes a bounded part of each call
// and of the memory and descriptors of this process. README.md has the bounds.
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <array>
#include <vector>

#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof {
namespace {

using namespace shm_test;

/// Writes notes into the ring until it is full, at most so many. Returns how many.
std::size_t write_withdrawals(RingProducer& ring, std::size_t most) {
    std::size_t written = 0;
    for (; written < most; ++written) {
        const Bytes room = ring.claim();
        if (room.empty()) break;
        ShareNote{.kind = ShareNote::Kind::withdraw, .address = written}.encode(
            room.first<ShareNote::size>());
        ring.commit(ShareNote::size, RingWord::control);
    }
    ring.publish();
    return written;
}

std::size_t count_frames(RingConsumer& ring) {
    std::size_t count = 0;
    while (ring.next()) ++count;
    return count;
}

/// Bytes that were sent here and that the other end has not read.
int unread(const ControlSocket& socket) {
    int bytes = -1;
    EXPECT_EQ(::ioctl(socket.handle(), SIOCOUTQ, &bytes), 0);
    return bytes;
}

TEST(ShmBounds, OneCallTakesSixtyFourNotesOfAPeer) {
    PeerByHand peer;
    RingProducer out = peer.producer();
    RingConsumer in = peer.consumer();
    ASSERT_EQ(write_withdrawals(out, 1000), 1000U);
    const Bytes room = out.claim();
    std::ranges::fill(room.first(5), std::byte{'x'});
    out.commit(5);
    out.publish();
    Time time;
    std::string received;
    std::size_t answers = 0;
    int calls = 0;
    for (; received.empty() && calls < 100; ++calls) {
        const std::string frame = next(*peer.wire, time.now());
        if (frame != "nothing") received = frame;
        EXPECT_EQ(peer.wire->prepare_to_sleep(), !received.empty());
        const std::size_t more = count_frames(in);
        EXPECT_LE(more, 64U);
        answers += more;
    }
    EXPECT_EQ(received, "1:xxxxx");
    EXPECT_EQ(answers, 1000U);
    EXPECT_EQ(calls, 16);
}

TEST(ShmBounds, APeerThatReadsNoAnswersIsEnded) {
    PeerByHand peer;
    RingProducer out = peer.producer();
    const std::size_t most = PeerMemory::regions_max + 2 * std::size_t{8192};
    Time time;
    std::size_t written = 0;
    while (peer.wire->connected(one) && written <= most) {
        written += write_withdrawals(out, 10'000);
        for (int i = 0; i < 200; ++i) {
            EXPECT_EQ(next(*peer.wire, time.now()), "nothing");
            peer.wire->flush(time.now());
        }
    }
    EXPECT_GT(written, PeerMemory::regions_max);
    EXPECT_LE(written, most);
    EXPECT_EQ(event(*peer.wire), "1 gone");
    EXPECT_EQ(peer.wire->counters().malformed_peers, 1U);
}

TEST(ShmBounds, APeerThatReadsTheAnswersMayWithdrawForEver) {
    PeerByHand peer;
    RingProducer out = peer.producer();
    RingConsumer in = peer.consumer();
    const std::size_t wanted = PeerMemory::regions_max + 10'000;
    Time time;
    std::size_t written = 0;
    std::size_t answers = 0;
    for (int i = 0; i < 100'000 && answers < wanted; ++i) {
        written += write_withdrawals(out, std::min<std::size_t>(1000, wanted - written));
        EXPECT_EQ(next(*peer.wire, time.now()), "nothing");
        peer.wire->flush(time.now());
        answers += count_frames(in);
    }
    EXPECT_EQ(answers, wanted);
    EXPECT_TRUE(peer.wire->connected(one));
}

TEST(ShmBounds, OnePollReadsSixteenMessagesOfAPeer) {
    PeerByHand peer;
    Time time;
    std::array<std::byte, 4> bell{};
    store_le<std::uint32_t>(bell, static_cast<std::uint32_t>(ShmMessage::bell));
    const int empty = unread(peer.socket);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(peer.socket.send(bell));
    const int all = unread(peer.socket) - empty;
    for (int looks = 1; looks <= 7; ++looks) {
        EXPECT_EQ(next(*peer.wire, time.pass()), "nothing");
        EXPECT_EQ(unread(peer.socket) - empty, all / 100 * std::max(0, 100 - 16 * looks));
    }
    EXPECT_TRUE(peer.wire->connected(one));
}

TEST(ShmBounds, OneLookAcceptsSixtyFourCallers) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    std::vector<ControlSocket> callers;
    for (int i = 0; i < 100; ++i) {
        auto caller = connect_to({name, 0});
        ASSERT_TRUE(caller.has_value());
        callers.push_back(std::move(*caller));
    }
    const std::size_t before = open_descriptors();
    EXPECT_EQ(next(a, time.pass()), "nothing");
    EXPECT_EQ(open_descriptors(), before + 64);
    EXPECT_EQ(a.counters().refused_hellos, 0U);
    EXPECT_EQ(next(a, time.pass()), "nothing");
    EXPECT_EQ(open_descriptors(), before + 64);
    EXPECT_EQ(a.counters().refused_hellos, 36U);
}

TEST(ShmBounds, MemoryOfAPeerKeepsNoDescriptorOpen) {
    PeerByHand peer;
    Time time;
    const std::size_t before = open_descriptors();
    for (std::uint32_t number = 1; number <= 1025; ++number) {
        const Descriptor memory = std::move(*make_sealed_memory("many", 4096));
        std::array<std::byte, MemoryNote::size> message{};
        MemoryNote{.allocation = number, .writable = true, .bytes = 4096}.encode(message);
        ASSERT_TRUE(peer.socket.send(message, memory.handle()));
        EXPECT_EQ(next(*peer.wire, time.pass()), "nothing");
        EXPECT_EQ(peer.wire->connected(one), number <= PeerMemory::allocations_max);
    }
    EXPECT_LE(open_descriptors(), before);
    EXPECT_EQ(event(*peer.wire), "1 gone");
}

/// Whether memory of a peer with these limits is mapped.
bool maps(PeerMemory& memory, std::uint32_t number, std::size_t bytes) {
    EXPECT_TRUE(memory.add_allocation({.allocation = number, .writable = true, .bytes = bytes},
                                      std::move(*make_sealed_memory("one", bytes))));
    EXPECT_TRUE(memory.add({.kind = ShareNote::Kind::share,
                            .writable = true,
                            .allocation = number,
                            .address = number * std::uint64_t{1} << 32,
                            .bytes = bytes}));
    return memory.maps(number * std::uint64_t{1} << 32, bytes);
}

TEST(ShmBounds, SoMuchOfAPeerIsMappedAndNoMore) {
    PeerMemory few({}, {}, {.mappings = 2, .bytes = 1 << 20});
    EXPECT_TRUE(maps(few, 1, 4096));
    EXPECT_TRUE(maps(few, 2, 4096));
    EXPECT_FALSE(maps(few, 3, 4096));
    few.remove(std::uint64_t{1} << 32);
    EXPECT_TRUE(few.remove_allocation(1));
    EXPECT_TRUE(maps(few, 4, 4096));
    PeerMemory small({}, {}, {.mappings = 100, .bytes = 12'288});
    EXPECT_TRUE(maps(small, 1, 8192));
    EXPECT_FALSE(maps(small, 2, 8192));
    EXPECT_TRUE(maps(small, 3, 4096));
    EXPECT_FALSE(maps(small, 4, 4096));
    for (const std::size_t peers : {1U, 2U, 16U, 255U, 65'535U}) {
        const auto limits = PeerMemory::Limits::of_each(peers);
        EXPECT_LE(limits.mappings * std::min<std::size_t>(peers, 255), 16'384U);
        EXPECT_GE(limits.mappings, 1U);
        EXPECT_LE(limits.bytes, (std::uint64_t{1} << 45) / peers);
    }
    EXPECT_EQ(PeerMemory::Limits::of_each(1).mappings, PeerMemory::allocations_max);
}

}  // namespace
}  // namespace wireproof
