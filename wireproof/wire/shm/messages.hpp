// The messages between nodes. Greetings and memory notes travel over the control socket, some with
// a descriptor. Share notes travel in the ring, as frames of the wire's own, so that they keep
// their order with the user's frames. All numbers are little-endian. Each decode() expects bytes
// that cannot be trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

enum class ShmMessage : std::uint32_t {
    hello = 1,  // from the node with the greater number, with the segment
    welcome,    // the answer
    refused,    // the other answer
    bell,       // wake up
    memory,     // an allocation, with its descriptor
};

std::optional<ShmMessage> message_kind(ConstBytes message);

/// Hello and welcome.
struct Greeting {
    static constexpr std::size_t size = 72;
    static constexpr std::uint32_t this_version = 4;

    ShmMessage kind = ShmMessage::hello;
    std::uint32_t version = this_version;
    std::uint64_t job = 0;
    std::uint32_t node = 0;
    std::uint32_t nodes = 0;
    std::uint32_t frame_max = 0;
    std::uint32_t lines = 0;
    bool barrier = false;     // membarrier reaches this process
    std::uint64_t nonce = 0;  // the value at nonce_address in the sender's memory
    std::uint64_t nonce_address = 0;

    void encode(std::span<std::byte, size> to) const;
    static std::optional<Greeting> decode(ConstBytes from);
};

/// "memory": the size of an allocation. Share notes name the allocation by this number.
struct MemoryNote {
    static constexpr std::size_t size = 24;

    std::uint32_t allocation = 0;
    bool writable = false;
    std::uint64_t bytes = 0;

    void encode(std::span<std::byte, size> to) const;
    static std::optional<MemoryNote> decode(ConstBytes from);
};

/// A frame of the wire's own. "forget" names an allocation in which no region is shared any more.
struct ShareNote {
    static constexpr std::size_t size = 48;
    static constexpr std::uint32_t no_allocation = 0;

    enum class Kind : std::uint32_t { share = 1, withdraw, withdrawn, forget };

    Kind kind = Kind::share;
    bool readable = false;
    bool writable = false;
    std::uint32_t allocation = no_allocation;
    std::uint64_t address = 0;  // as the user chose it
    std::uint64_t bytes = 0;
    std::uint64_t memory = 0;  // its address in the sender's process
    std::uint64_t offset = 0;  // its offset in the allocation, if it is in one

    void encode(std::span<std::byte, size> to) const;
    static std::optional<ShareNote> decode(ConstBytes from);
};

}  // namespace wireproof
