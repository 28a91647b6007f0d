#include "wireproof/host/fork_watch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "wireproof/host/fork_test_kit.hpp"

namespace wireproof::host {
namespace {

using test::in_child;

TEST(ForkWatch, RunsInTheChildAndNeverInTheParent) {
    int runs = 0;
    const ForkWatch watch([&] { ++runs; });
    EXPECT_FALSE(watch.forked());
    EXPECT_EQ(in_child([&] { return watch.forked() ? runs : 100; }), 1);
    EXPECT_FALSE(watch.forked());
    EXPECT_EQ(runs, 0);
}

TEST(ForkWatch, RunsOnceThoughAChildForksAgain) {
    int runs = 0;
    const ForkWatch watch([&] { ++runs; });
    EXPECT_EQ(in_child([&] { return in_child([&] { return watch.forked() ? runs : 100; }); }), 1);
}

TEST(ForkWatch, AChildHasWatchesOfItsOwn) {
    EXPECT_EQ(in_child([] {
                  const ForkWatch own([] {});
                  return own.forked() ? 1 : 0;
              }),
              0);
}

TEST(ForkWatch, ForgetsThoseThatAreGoneWhicheverGoesFirst) {
    int runs = 0;
    const auto watch = [&] { return std::make_unique<ForkWatch>([&] { ++runs; }); };
    for (std::size_t gone = 0; gone < 3; ++gone) {
        std::unique_ptr<ForkWatch> three[] = {watch(), watch(), watch()};
        three[gone].reset();
        EXPECT_EQ(in_child([&] { return runs; }), 2);
    }
    EXPECT_EQ(in_child([&] { return runs; }), 0);
}

TEST(ForkWatch, MayBeMadeInOneThreadWhileAnotherForks) {
    std::thread other([] {
        for (int i = 0; i < 200; ++i) const ForkWatch watch([] {});
    });
    for (int i = 0; i < 10; ++i) EXPECT_EQ(in_child([] { return 7; }), 7);
    other.join();
}

}  // namespace
}  // namespace wireproof::host
