#include "wireproof/os/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "wireproof/os/pipe.hpp"

namespace wireproof {
namespace {

bool is_open(int handle) {
    return ::fcntl(handle, F_GETFD) >= 0;
}

TEST(Descriptor, IsClosedOnceByItsLastOwner) {
    Descriptor outer;
    int handle = -1;
    {
        Pipe pipe = Pipe::make();
        ASSERT_TRUE(pipe.is_open());
        handle = pipe.from.handle();
        outer = std::move(pipe.from);
        EXPECT_FALSE(pipe.from.is_open());
    }
    EXPECT_TRUE(is_open(handle));
    EXPECT_EQ(outer.close(), 0);
    EXPECT_FALSE(is_open(handle));
    EXPECT_EQ(outer.close(), 0);
}

TEST(Descriptor, ThatGetsAnotherOneClosesItsOwnAtOnce) {
    Pipe pipe = Pipe::make();
    ASSERT_TRUE(pipe.is_open());
    const int from = pipe.from.handle();
    pipe.from = std::move(pipe.to);
    EXPECT_FALSE(is_open(from));
    EXPECT_TRUE(pipe.from.is_open());
    EXPECT_FALSE(pipe.to.is_open());
}

TEST(Descriptor, ReleasedStaysOpen) {
    Pipe pipe = Pipe::make();
    ASSERT_TRUE(pipe.is_open());
    const int handle = pipe.from.release();
    EXPECT_FALSE(pipe.from.is_open());
    EXPECT_TRUE(is_open(handle));
    const Descriptor again(handle);
}

TEST(Descriptor, TellsTheErrorOfCloseAndKeepsErrno) {
    Pipe pipe = Pipe::make();
    ASSERT_TRUE(pipe.is_open());
    Descriptor twice(pipe.from.handle());
    pipe.from.close();
    errno = ENOENT;
    EXPECT_EQ(twice.close(), EBADF);
    EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace wireproof
