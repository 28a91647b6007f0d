// Stores and gets between nodes on memory links in simulated time.
#include <gtest/gtest.h>

#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

TEST(AmNode, RefusesTransfersToMemoryThatIsNotThere) {  // AM-47
    Job job(quick(), 3);
    std::vector<std::byte> memory(20'000);
    std::vector<std::byte> readable(20'000);
    ASSERT_TRUE(job[1].register_memory(0, 0x10000, memory, {.store = true}));
    ASSERT_TRUE(job[1].register_memory(0, 0x20000, readable, {.get = true}));
    ASSERT_TRUE(job[1].register_memory(2, 0x30000, readable, {.get = true, .store = true}));
    EXPECT_FALSE(job[1].register_memory(0, 0x10000 + 19'999, readable, {})) << "overlaps";
    job[1].handle(stored, [&](const Message&) { ADD_FAILURE() << "a forbidden store arrived"; });
    std::vector<Status> ends;
    const Done done = [&](Status status) { ends.push_back(status); };
    const auto source = pattern(20'000);
    std::vector<std::byte> destination(20'000);
    const auto store = [&](std::uint64_t address, std::size_t size) {
        return job[0].store_async(1, address, ConstBytes(source).first(size), stored, 0, done);
    };
    const auto get = [&](std::uint64_t address, std::size_t size) {
        return job[0].get(1, address, Bytes(destination).first(size), done);
    };
    ASSERT_EQ(store(0x50000, 20'000), Status::ok);  // not registered
    ASSERT_EQ(store(0x10001, 20'000), Status::ok);  // one byte too far
    ASSERT_EQ(store(0x20000, 1), Status::ok);       // the wrong right
    ASSERT_EQ(store(0x30000, 1), Status::ok);       // registered for another peer
    ASSERT_EQ(store(~std::uint64_t{0}, 2), Status::ok);
    ASSERT_EQ(get(0x10000, 1), Status::ok);
    ASSERT_EQ(get(0x20000, 20'000), Status::ok);
    ASSERT_EQ(get(0x1FFFF, 2), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(std::count(ends.begin(), ends.end(), Status::forbidden), 7);
    EXPECT_EQ(std::count(ends.begin(), ends.end(), Status::ok), 1);
    EXPECT_EQ(memory, std::vector<std::byte>(20'000));
    EXPECT_EQ(destination, readable);
}

TEST(AmNode, UnregistersNoMemoryThatATransferUses) {
    Job job({}, 2, {}, 8);  // the link holds only 8 frames
    std::vector<std::byte> memory = pattern(200'000, 3);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.get = true, .store = true}));
    job[1].handle(stored, nothing);
    const auto source = pattern(200'000);
    std::vector<std::byte> destination(200'000);
    for (const bool storing : {true, false}) {
        bool ended = false;
        const Done done = [&](Status status) { ended = status == Status::ok; };
        ASSERT_EQ(storing ? job[0].store_async(1, base, source, stored, 0, done)
                          : job[0].get(1, base, destination, done),
                  Status::ok);
        job.turns(5);
        EXPECT_EQ(job[1].unregister_memory(0, base), Status::would_block);
        ASSERT_TRUE(job.run([&] { return ended; }));
    }
    EXPECT_EQ(destination, source);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(job[1].unregister_memory(0, base + 1), Status::not_allowed);
    EXPECT_EQ(job[1].unregister_memory(1, base), Status::no_such_peer);
    EXPECT_EQ(job[1].unregister_memory(0, base), Status::ok);
    EXPECT_EQ(job[1].unregister_memory(0, base), Status::not_allowed);
    Status end = Status::ok;
    ASSERT_EQ(job[0].get(1, base, destination, [&](Status status) { end = status; }), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(end, Status::forbidden);
}

TEST(AmNode, EndsAStoreOnceAndAfterTheBytesAreInPlace) {  // AM-26
    Job job;
    std::vector<std::byte> memory(100'000);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.store = true}));
    const auto source = pattern(100'000);
    std::vector<std::string> events;
    job[1].handle(stored, [&](const Message& m) {
        events.push_back("handler " + std::to_string(m.argument()));
        EXPECT_EQ(m.memory().data(), memory.data());
        EXPECT_EQ(m.memory().size(), memory.size());
        EXPECT_EQ(memory, source);
        EXPECT_EQ(m.words().size(), 0U);
    });
    ASSERT_EQ(job[0].store_async(1, base, source, stored, 42,
                                 [&](Status status) {
                                     EXPECT_EQ(memory, source);
                                     events.push_back("done " + std::string(name_of(status)));
                                 }),
              Status::ok);
    EXPECT_TRUE(events.empty());
    ASSERT_TRUE(job.settle());
    job.turns(1000);
    EXPECT_EQ(events, (std::vector<std::string>{"handler 42", "done ok"}));
}

TEST(AmNode, EndsAGetAfterAllBytesAreInPlace) {  // AM-27
    Job job;
    std::vector<std::byte> memory = pattern(100'000);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.get = true}));
    std::vector<std::byte> destination(99'990);
    int ends = 0;
    ASSERT_EQ(job[0].get(1, base + 10, destination,
                         [&](Status status) {
                             ++ends;
                             EXPECT_EQ(status, Status::ok);
                             EXPECT_TRUE(std::equal(destination.begin(), destination.end(),
                                                    memory.begin() + 10, memory.end()));
                         }),
              Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(ends, 1);
}

TEST(AmNode, RunsTheHandlerOfAStoreOfNoBytes) {  // AM-28
    Job job;
    std::uint32_t argument = 0;
    int ends = 0;
    job[1].handle(stored, [&](const Message& m) {
        EXPECT_TRUE(m.memory().empty());
        argument = m.argument();
    });
    std::vector<std::byte> memory(1);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.get = true, .store = true}));
    const Done done = [&](Status status) { ends += status == Status::ok ? 1 : 100; };
    ASSERT_EQ(job[0].store_async(1, base + 1, {}, stored, 5, done), Status::ok);
    ASSERT_EQ(job[0].get(1, base + 1, {}, done), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(argument, 5U);
    EXPECT_EQ(ends, 2);
}

TEST(AmNode, LetsTheEndOfATransferBeginAnother) {
    Job job;
    std::vector<std::byte> memory(5'000);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.get = true, .store = true}));
    job[1].handle(stored, nothing);
    std::vector<std::byte> bytes = pattern(5'000);
    const auto sent = bytes;
    int transfers = 0;
    Done again;
    again = [&](Status status) {
        ASSERT_EQ(status, Status::ok);
        if (++transfers == 50) return;
        if (transfers % 2 == 1) std::fill(bytes.begin(), bytes.end(), std::byte{0});
        EXPECT_EQ(transfers % 2 == 1 ? job[0].get(1, base, bytes, again)
                                     : job[0].store_async(1, base, bytes, stored, 0, again),
                  Status::ok);
        EXPECT_EQ(job.request(0, 1, missing), Status::ok) << "and other messages as well";
    };
    ASSERT_EQ(job[0].store_async(1, base, bytes, stored, 0, again), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(transfers, 50);
    EXPECT_EQ(bytes, sent);
}

}  // namespace
}  // namespace wireproof::am
