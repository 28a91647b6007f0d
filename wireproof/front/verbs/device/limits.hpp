// The limits of the device. Queries publish these numbers. Calls that create an object refuse
// larger numbers before they allocate memory.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/proto/ib/transport/send_queue.hpp"

namespace wireproof::verbs::limits {

inline constexpr int queue_pairs = 65536;
inline constexpr int work_requests = 32768;  // of one queue
inline constexpr int pieces = static_cast<int>(proto::ib::SendEntry::pieces_max);
inline constexpr int inline_data = 4096;  // bytes
inline constexpr int completion_queues = 65536;
inline constexpr int completions = 1 << 20;  // of one queue
inline constexpr int completion_vectors = 1;
inline constexpr int memory_regions = 1 << 20;
inline constexpr std::uint64_t memory_region = std::uint64_t{1} << 46;  // bytes
inline constexpr int protection_domains = 1 << 20;
inline constexpr int address_handles = 1 << 20;
inline constexpr int shared_receive_queues = 65536;
inline constexpr int outstanding_reads = 16;  // and Atomics, of one queue pair, each way
/// Queries do not publish this number. perftest lets its own side have as many outstanding as the
/// device of the peer keeps, whatever its own device publishes. Soft-RoCE keeps 128.
inline constexpr int own_outstanding_reads = 128;
/// Hosts that the program names at the same time: by queue pairs, address handles and connections.
inline constexpr std::size_t hosts = 4096;
/// Other hosts, which are known by their packets alone.
inline constexpr std::size_t strangers = 2048;
inline constexpr std::uint64_t message = proto::ib::message_max;
inline constexpr int gids = 2;
inline constexpr int port = 1;  // the only port
/// How much later than the client a server may begin to listen, if both start at the same time.
inline constexpr Duration early_most = Duration::milliseconds(1000);

/// True if a program may ask for this number.
constexpr bool within(std::uint64_t asked, int most) {
    return asked <= static_cast<std::uint64_t>(most);
}

}  // namespace wireproof::verbs::limits
