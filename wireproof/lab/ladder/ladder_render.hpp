// Shows a ladder: as text of 80 columns, as a picture, as a capture file.
#pragma once

#include <string>
#include <vector>

#include "wireproof/lab/ladder/ladder.hpp"

namespace wireproof::lab {

/// "TLP 2", "data 3 ack 5", "null 4".
std::string label_of(const LadderFrame& frame);

/// The result of a frame in a few words; empty if it just arrived.
std::string outcome_of(const LadderFrame& frame);

/// The unit for all times of a ladder: nanoseconds while they have few digits, otherwise a longer
/// unit with three decimals; or bytes on the line.
class TimeUnit {
public:
    explicit TimeUnit(const Ladder& ladder);
    std::string_view name() const { return name_; }
    std::string text(Duration time) const;

private:
    std::string_view name_ = "ns";
    std::int64_t picoseconds_ = 1'000;
};

std::string text_of(const Ladder& ladder);

/// Self-contained: uses no font, script or style from another file.
std::string svg_of(const Ladder& ladder);

/// One packet for each frame on the link, with the bytes that were sent, and a comment for each
/// frame with a fault. One interface for each direction, of LINKTYPE_USER0: bytes of the protocol.
std::vector<std::byte> pcapng_of(const Ladder& ladder);

}  // namespace wireproof::lab
