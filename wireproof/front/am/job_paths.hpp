// Which ranks of a job share memory with this one, and which it reaches over UDP. All ranks decide
// this from the same entries, so the two ends of a connection always agree.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::am {

/// What a rank tells the others when its sockets are open.
struct RankEntry {
    std::vector<std::string> addresses;  // of its UDP sockets, with ports; one for each thread
    std::size_t descriptors = 0;         // that it has for shared memory
    std::vector<std::size_t> reached;    // the ranks that SharingProof reaches from it, ascending

    /// One line: the addresses, the descriptors, then ranks and ranges of ranks
    /// ("10.0.0.7:4711,10.0.0.7:4712 768 0-2,5").
    std::string to_text() const;
    /// Reads a text of to_text() of a job with `size` ranks and `threads` threads in each. The
    /// error says what is wrong.
    static Expected<RankEntry> parse(std::string_view text, std::size_t size, std::size_t threads);
};

/// The text of a rank that cannot join, in place of any other text: the others then need not wait
/// for it.
std::string failed_rank(std::string_view why);
/// Why the rank of this text cannot join; empty if it can.
std::string failure_in(std::string_view text);

/// How many nodes of one host share memory, at most.
inline constexpr std::size_t sharing_max = 256;

/// Whether rank `self` shares memory with each rank, itself included: each of the two reaches the
/// other, and both are among the first ranks of `group` that have sharing_max nodes together. A
/// node takes a descriptor for each other one, so there are fewer if a rank has few of them.
/// `group` has an entry for each rank: ranks with equal texts may share memory.
std::vector<bool> sharing_ranks(std::size_t self, std::span<const std::string> group,
                                std::span<const RankEntry> entries);

}  // namespace wireproof::am
