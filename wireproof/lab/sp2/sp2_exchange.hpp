// A program that checks instead of measuring: every node sends requests and stores to every other,
// or all to one that hardly polls, and each message and byte is held against what was sent.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/lab/sp2/sp2_pairs.hpp"

namespace wireproof::lab {

struct Sp2Exchange {
    std::uint64_t requests = 20;     // for each ordered pair of nodes that talks; each is answered
    std::uint64_t stores = 2;        // of such a pair
    std::size_t store_bytes = 3000;  // of each
    bool to_one = false;             // only node 0 is sent to
    Duration work{};                 // what node 0 computes before it polls again
    Duration time_limit = Duration::milliseconds(60'000);
};

struct Sp2Exchanged {
    std::string wrong;  // the first thing that was; empty: all arrived, once, in order and whole
    std::uint64_t requests = 0;
    std::uint64_t replies = 0;
    std::uint64_t stores = 0;
    std::uint64_t packets = 0;    // sent by all nodes
    std::uint64_t resent = 0;     // of those
    std::uint64_t overflows = 0;  // packets lost because a receive FIFO was full
    Duration taken{};
};

Sp2Exchanged exchange(Sp2Am& am, const Sp2Exchange& plan, const Sp2Progress& progress = {});

}  // namespace wireproof::lab
