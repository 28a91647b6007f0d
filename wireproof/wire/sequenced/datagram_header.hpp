// The header before the frames in a datagram of a sequenced wire. The check covers the header and
// the lengths, but not the frames: the protocol inside finds damage in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

//   byte  0     1     2     3     4 ..... 7    8 ..... 11   12 ..... 15   16 ..... 19
//      ┌─────┬─────┬───────────┬────────────┬────────────┬─────────────┬────────────┐
//      │0x51 │ 1:  │  number   │  link id   │  sender's  │ receiver's  │  datagram  │
//      │ 'Q' │vers.│ of frames │            │   epoch    │epoch, or 0: │  counter   │
//      │     │     │     n     │            │  never 0   │   unknown   │            │
//      └─────┴─────┴───────────┴────────────┴────────────┴─────────────┴────────────┘
//        20 ..... 21   22 ..... 23       18+2n .. 19+2n   20+2n .. 23+2n   24+2n ...
//      ┌─────────────┬──────────── … ──────────────────┬────────────────┬───────── … ──
//      │  length of  │  length of                      │   CRC-32C of   │ frame 1,
//      │   frame 1   │   frame 2                       │ all before it  │ frame 2 …
//      └─────────────┴──────────── … ──────────────────┴────────────────┴───────── … ──
//
// Integers are little-endian.
struct DatagramHeader {
    static constexpr std::size_t fixed_size = 20;
    static constexpr std::size_t length_size = 2;
    static constexpr std::size_t check_size = 4;
    static constexpr std::byte magic{0x51};
    static constexpr std::byte version{1};
    static constexpr std::size_t frame_limit = 0xFFFF;  // of bytes in a frame, and of frames

    static constexpr std::size_t size(std::size_t frames) {
        return fixed_size + frames * length_size + check_size;
    }

    std::uint16_t frames = 0;
    std::uint32_t link = 0;
    std::uint32_t from = 0;  // epochs
    std::uint32_t to = 0;
    std::uint32_t counter = 0;

    /// Writes everything before the frames. `lengths` has the lengths of the frames as on the wire,
    /// and `out` has size(frames) bytes.
    void encode(ConstBytes lengths, Bytes out) const;

    /// Whether it is a datagram of a sequenced wire.
    static bool stands_before(ConstBytes datagram);
    /// Decodes the header of a whole datagram. Nothing if the check fails, the lengths are cut off,
    /// or the sender's epoch is 0.
    static std::optional<DatagramHeader> decode(ConstBytes datagram);
};

}  // namespace wireproof
