// A program that checks and does not measure: every node sends requests and stores to every other
// node, or all nodes send to one that rarely polls. The program compares each message and byte with
// what was sent.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/lab/sp2/sp2_pairs.hpp"

namespace wireproof::lab {

struct Sp2Exchange {
    std::uint64_t requests = 20;     // for each ordered pair of nodes that talks; each has a reply
    std::uint64_t stores = 2;        // for each such pair
    std::size_t store_bytes = 3000;  // of each store
    bool to_one = false;             // all nodes send only to node 0
    Duration work{};                 // time that node 0 computes between its polls
    Duration time_limit = Duration::milliseconds(60'000);
};

struct Sp2Exchanged {
    std::string wrong;  // first error; empty if all arrived once, in order and undamaged
    std::uint64_t requests = 0;
    std::uint64_t replies = 0;
    std::uint64_t stores = 0;
    std::uint64_t packets = 0;    // sent by all nodes
    std::uint64_t resent = 0;     // of these
    std::uint64_t overflows = 0;  // packets lost because a receive FIFO was full
    Duration taken{};
};

Sp2Exchanged exchange(Sp2Am& am, const Sp2Exchange& plan, const Sp2Progress& progress = {});

}  // namespace wireproof::lab
