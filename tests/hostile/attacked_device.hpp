// The device that a hostile host attacks: connections to that host, memory in which every byte
// that it may not write is known, and an honest connection beside it all.
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

namespace wireproof::cli {

class AttackedDevice {
public:
    AttackedDevice(ib::Device::Inside& device, std::uint64_t seed);

    /// Packets for this queue pair are counted, too.
    void also_count(std::uint32_t number) { queue_pairs_.push_back(number); }

    Conversation& add_conversation(proto::ib::Transport transport, std::uint64_t seed);
    std::deque<Conversation>& conversations() { return conversations_; }
    const std::deque<Conversation>& conversations() const { return conversations_; }

    /// What the hostile host is told of, since it may read and write there.
    proto::ib::Piece open() const { return place(Area::open); }
    /// What it can only guess.
    void add_aims(HostileAims& aims) const;

    /// In one line; empty: nothing was written that may not be.
    std::string check_memory() const;

    /// Datagrams that came or should have, by what became of them; none is in two.
    std::vector<std::pair<std::string, std::uint64_t>> received() const;

private:
    /// Each area but `open` keeps its bytes; they lie between others that no region shows.
    enum class Area : std::size_t { open, readable, local, foreign, count };
    static constexpr std::size_t area_size = 16384;
    static constexpr std::uint32_t domain = 1;
    static constexpr std::uint32_t foreign_domain = 2;

    Bytes bytes(Area area) const;
    proto::ib::Piece place(Area area) const;
    std::uint64_t sum(std::uint64_t proto::ib::QueuePairCounters::*count) const;

    ib::Device::Inside* device_;
    GuardedMemory memory_;
    std::vector<std::byte> original_;  // of all the memory
    std::array<std::uint32_t, static_cast<std::size_t>(Area::count)> keys_{};
    std::deque<Conversation> conversations_;
    std::vector<std::uint32_t> queue_pairs_;  // their numbers, and others to be counted
};

}  // namespace wireproof::cli
