// The latency-optimised flit of CXL 3: two halves of 128 bytes with a check each, so that a
// receiver can use the first half before it has the second one. The ECC covers both.
//
//   even half, bytes 0 to 127:    | HDR 2 | data 119 | length 1 | CRC of 0 to 121, 6 |
//   odd half, bytes 128 to 255:   | data 116 | ECC, 6 | CRC of 128 to 243, 6 |
//
// The length is that of the message, whose bytes fill the data of the even half first.
#pragma once

#include "wireproof/proto/flit/wire_format.hpp"

namespace wireproof::flit {

inline constexpr std::size_t half_size = 128;         // bytes
inline constexpr std::size_t even_message_max = 119;  // bytes of a message in the even half
inline constexpr std::size_t odd_message_max = 116;

/// Whether the odd half has nothing of a message of this length.
constexpr bool ends_in_even_half(std::size_t length) {
    return length <= even_message_max;
}

/// Writes a flit with this message, at most 235 bytes. If the frame wants no check, the bytes of
/// CRC and ECC are zeros. The message is always copied.
void write_halves(CrcOrder order, const Header& header, ConstBytes message, TxFrame& out);

/// Writes both CRCs, and then the ECC.
void write_half_checks(CrcOrder order, std::span<std::byte, flit_max> flit);

/// Which halves of a received flit may be used.
struct HalvesFinding {
    enum class Even : std::uint8_t {
        none,
        as_received,  // its CRC fits before the correction
        corrected,    // its CRC fits after the correction
    };

    bool valid = false;      // both halves, as they are now
    Even even = Even::none;  // if the flit is not valid: the even half alone
    bool changed = false;    // the ECC found errors, perhaps only in its own bytes
    /// CXL-14: the correction spoilt a half whose CRC had fitted, so nothing that it changed is
    /// used.
    bool suspect = false;
};

/// Checks both halves. If one of them is wrong and `corrects` is set, corrects the flit by its ECC
/// and checks again.
HalvesFinding find_halves(CrcOrder order, bool corrects, std::span<std::byte, flit_max> flit);

/// The part of the message in the even half, and the length of the whole message.
struct EvenHalf {
    ConstBytes message;
    std::size_t length = 0;

    bool is_whole() const { return ends_in_even_half(length); }
    /// Returns nothing if the length is too large. `flit` has at least half_size bytes.
    static std::optional<EvenHalf> of(ConstBytes flit);
};

/// Moves the two parts of a message together, in the flit. Returns nothing if the length is too
/// large.
std::optional<ConstBytes> join_halves(std::span<std::byte, flit_max> flit);

}  // namespace wireproof::flit
