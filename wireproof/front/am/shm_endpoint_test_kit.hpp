// For tests of endpoints that share memory.
#pragma once

#include <chrono>
#include <string>

#include "wireproof/am.hpp"
#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof::am::test {

/// Where nodes meet that no other test has.
inline std::string shared_place() {
    return "shm:" + shm_test::unique_name();
}

inline Options at_place(const std::string& place, std::size_t self, std::size_t nodes) {
    Options options;
    options.peers.assign(nodes, place);
    options.self = self;
    options.seed = 100 + self;
    options.peer_timeout = std::chrono::hours(24);  // nobody is lost for lack of a processor
    return options;
}

}  // namespace wireproof::am::test
