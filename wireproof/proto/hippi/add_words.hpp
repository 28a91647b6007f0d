// Bytes into a fingerprint eight at a time: a state with a window of micropackets is told apart at
// an eighth of the cost.
#pragma once

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::hippi {

inline void add_words(Fingerprint& sink, ConstBytes bytes) {
    sink.add(bytes.size());
    while (bytes.size() >= 8) {
        sink.add(load_le<std::uint64_t>(bytes.first<8>()));
        bytes = bytes.subspan(8);
    }
    for (const std::byte byte : bytes) sink.add(std::to_integer<unsigned>(byte));
}

}  // namespace wireproof::hippi
