// Bits for the positions [base, base + size) of a stream, where base only grows: which packets of a
// window have been received.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

class BitWindow {
public:
    explicit BitWindow(std::uint32_t size) : bits_(size) {}

    bool test(std::uint64_t position) const { return bits_[index(position)]; }
    void set(std::uint64_t position) { bits_[index(position)] = true; }

    void clear(std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t at = first; at < end; ++at) bits_[index(at)] = false;
    }

    void fingerprint(std::uint64_t base, Fingerprint& sink) const {
        for (std::uint64_t i = 0; i < bits_.size(); ++i) sink.add(test(base + i));
    }

private:
    std::size_t index(std::uint64_t position) const {
        return static_cast<std::size_t>(position % bits_.size());
    }

    std::vector<bool> bits_;
};

}  // namespace wireproof::am
