// The device that a hostile host attacks. It has connections to that host, and memory. The test
// knows the value of each byte that the host must not write.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tests/hostile/conversation.hpp"
#include "tests/hostile/guarded_memory.hpp"
#include "tests/hostile/hostile_packets.hpp"

#include "wireproof/front/ib/device.hpp"

namespace wireproof::hostile {

class AttackedDevice {
public:
    AttackedDevice(ib::Device::Inside& device, std::uint64_t seed);

    /// received() also counts packets for this queue pair.
    void also_count(std::uint32_t number) { queue_pairs_.push_back(number); }

    Conversation& add_conversation(proto::ib::Transport transport, std::uint64_t seed);
    std::deque<Conversation>& conversations() { return conversations_; }
    const std::deque<Conversation>& conversations() const { return conversations_; }

    /// The memory that the hostile host may read and write. The host knows its address and key.
    proto::ib::Piece open() const { return place(Area::open); }
    /// Adds all areas and queue pairs to the aims, also those that a real host could only guess.
    void add_aims(HostileAims& aims) const;

    /// Describes in one line a byte that changed and must not change; empty: there is none.
    std::string check_memory() const;

    /// The number of datagrams for each thing that can happen to them at the device. Each datagram
    /// is in one of the counts only.
    std::vector<std::pair<std::string, std::uint64_t>> received() const;

private:
    /// The bytes of all areas except `open` must not change. A gap that belongs to no region is
    /// before and after each area.
    enum class Area : std::size_t { open, readable, local, foreign, count };
    static constexpr std::size_t area_size = 16384;
    static constexpr std::uint32_t domain = 1;
    static constexpr std::uint32_t foreign_domain = 2;

    Bytes bytes(Area area) const;
    proto::ib::Piece place(Area area) const;
    std::uint64_t sum(std::uint64_t proto::ib::QueuePairCounters::*count) const;

    ib::Device::Inside* device_;
    GuardedMemory memory_;
    std::vector<std::byte> original_;  // first contents of all the memory
    std::array<std::uint32_t, static_cast<std::size_t>(Area::count)> keys_{};
    std::deque<Conversation> conversations_;
    std::vector<std::uint32_t> queue_pairs_;  // numbers of the queue pairs that received() counts
};

}  // namespace wireproof::hostile
