// Builds the ends of a point from its settings. All times are bytes on the line.
#pragma once

#include <vector>

#include "wireproof/lab/link_retry/retry_am_end.hpp"
#include "wireproof/lab/link_retry/retry_ib_end.hpp"
#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

/// The memory from which the engines of a point and their copies send, and to which they write. It
/// must outlive them all.
struct RetryMemory {
    explicit RetryMemory(std::size_t payload)
        : source(payload, std::byte{0x5A}), landing(payload) {}

    std::vector<std::byte> source;
    std::vector<std::byte> landing;
    am::MemoryTable none;
};

/// The end of node 0 (the sender) or of node 1.
template <class End>
End build_end(const RetrySettings& s, const RetryLink& link, RetryMemory& memory, int node);

template <>
PcieEnd build_end(const RetrySettings&, const RetryLink&, RetryMemory&, int);
template <>
HippiEnd build_end(const RetrySettings&, const RetryLink&, RetryMemory&, int);
template <>
AmGoBackNEnd build_end(const RetrySettings&, const RetryLink&, RetryMemory&, int);
template <>
AmSelectiveEnd build_end(const RetrySettings&, const RetryLink&, RetryMemory&, int);
template <>
RcEnd build_end(const RetrySettings&, const RetryLink&, RetryMemory&, int);
template <>
UcEnd build_end(const RetrySettings&, const RetryLink&, RetryMemory&, int);

}  // namespace wireproof::lab
